/**
 * What writes mean, said once more in the simplest way: a few records in memory, one function for each operation, a status for an answer. It
 * shares no code with the service; the model test holds the two against each other.
 */

export type Name = "ann" | "bob" | "admin" | "foreign" | "viewer"

export interface Account {
  readonly kind: "accounts"
  readonly tenant: 1 | 2
  readonly owner_id: string
  readonly balance: number
  readonly status: "open" | "frozen" | "closed"
  readonly rating: number | null
  readonly zq_note: string | null
  readonly deleted: boolean
  /** Counts the writes. */
  readonly version: number
}

export interface Note {
  readonly kind: "notes"
  readonly owner_id: string
  readonly body: string | null
  readonly zq_mark: string | null
  readonly removed: boolean
}

export type Entry = Account | Note
export type State = readonly Entry[]
export type Body = { readonly [field: string]: string | number | null }

/** What the client sends in If-Match: nothing, `*`, the version it is to match, or one it is not to match. */
export type Match = "none" | "any" | "current" | "stale"

export type Operation =
  | { readonly op: "create"; readonly kind: Entry["kind"]; readonly body: Body }
  | { readonly op: "update"; readonly target: number; readonly body: Body; readonly match: Match }
  | { readonly op: "delete" | "undelete"; readonly target: number; readonly match: Match }

export interface Outcome {
  readonly status: number
  readonly state: State
  /** The record that was made or written; null where nothing is shown. */
  readonly index: number | null
}

const idOf: { readonly [name in Name]: string } = {
  ann: "ann",
  bob: "bob",
  admin: "root",
  foreign: "zoe",
  viewer: "vic"
}
const isAdmin = (name: Name): boolean => name === "admin" || name === "foreign"
const isClerk = (name: Name): boolean => name === "ann" || name === "bob"

/** Whether the caller sees the record, deleted or not. */
export const sees = (name: Name, entry: Entry): boolean => {
  if (entry.kind === "notes") return !entry.removed && (!isClerk(name) || entry.owner_id === idOf[name])
  if (entry.tenant !== (name === "foreign" ? 2 : 1)) return false
  return !isClerk(name) || entry.owner_id === idOf[name]
}

/** The part of a record that the caller reads and the tests look at. */
export const shown = (name: Name, entry: Entry): { readonly [field: string]: unknown } => {
  if (entry.kind === "notes") {
    return { owner_id: entry.owner_id, body: entry.body, ...(isAdmin(name) ? { zq_mark: entry.zq_mark } : {}) }
  }
  return {
    owner_id: entry.owner_id,
    balance: entry.balance.toFixed(2),
    status: entry.status,
    rating: entry.rating,
    ...(isAdmin(name) ? { zq_note: entry.zq_note } : {})
  }
}

/** Equal texts: the same ETag for this caller. */
export const versionOf = (name: Name, entry: Entry): string =>
  entry.kind === "accounts" ? String(entry.version) : JSON.stringify(shown(name, entry))

const hidden = (name: Name, body: Body): boolean => !isAdmin(name) && ("zq_note" in body || "zq_mark" in body)

const broken = (entry: Entry): boolean =>
  entry.kind === "accounts" &&
  (entry.balance < 0 || (entry.status === "closed" && entry.balance !== 0) || entry.zq_note === "zq-refused")

const create = (state: State, name: Name, kind: Entry["kind"], body: Body): Outcome => {
  const refuse = (status: number): Outcome => ({ status, state, index: null })
  if (name === "viewer") return refuse(403)
  if (hidden(name, body)) return refuse(400)
  const owner = body["owner_id"] ?? (isClerk(name) ? idOf[name] : null)
  if (owner === null) return refuse(400)
  const entry: Entry = kind === "notes"
    ? { kind, body: null, zq_mark: null, removed: false, ...body, owner_id: String(owner) }
    : {
      kind,
      tenant: name === "foreign" ? 2 : 1,
      status: "open",
      rating: null,
      zq_note: null,
      deleted: false,
      version: 0,
      ...body,
      balance: Number(body["balance"] ?? 0),
      owner_id: String(owner)
    }
  if (entry.kind === "accounts" && isClerk(name) && "rating" in body && entry.status !== "open") return refuse(400)
  if (broken(entry)) return refuse(400)
  if (isClerk(name) && entry.owner_id !== idOf[name]) return refuse(403)
  return { status: 201, state: [...state, entry], index: state.length }
}

const replace = (state: State, index: number, entry: Entry, status: number): Outcome => ({
  status,
  state: state.map((each, i) => i === index ? entry : each),
  index
})

const change = (state: State, name: Name, operation: Exclude<Operation, { op: "create" }>): Outcome => {
  const refuse = (status: number): Outcome => ({ status, state, index: null })
  const { match, op, target } = operation
  const entry = state[target]!
  const account = entry.kind === "accounts" ? entry : null
  // Updates of accounts have a rule over the record: it is asked when there is one. The others are denied outright.
  if (name === "viewer" && (account === null || op === "delete")) return refuse(403)
  if (op === "update" && hidden(name, operation.body)) return refuse(400)
  if (op === "undelete" && account === null) return refuse(400)
  if (!sees(name, entry) || (account?.deleted === true && op !== "undelete")) return refuse(404)
  if (name === "viewer") return refuse(403)
  if (account !== null && isClerk(name)) {
    if (op === "delete" ? account.status !== "open" : account.status === "frozen") return refuse(403)
  }
  const written = op === "update" ? { ...entry, ...operation.body } as Entry : entry
  const next: Entry = written.kind === "accounts" ? { ...written, balance: Number(written.balance) } : written
  const changes = JSON.stringify(next) !== JSON.stringify(entry)
  if (op === "update" && account !== null) {
    if (isClerk(name) && "rating" in operation.body && account.status !== "open") return refuse(400)
    if (changes && broken(next)) return refuse(400)
  }
  if (op === "update" && match === "none") return refuse(428)
  if (match === "stale") return refuse(412)
  if (op === "undelete" && account?.deleted === false) return refuse(409)
  if (op === "update") {
    if (!changes) return { status: 200, state, index: target }
    if (isClerk(name) && next.owner_id !== idOf[name]) return refuse(403)
    return replace(state, target, next.kind === "accounts" ? { ...next, version: next.version + 1 } : next, 200)
  }
  const gone = op === "delete"
  return replace(
    state,
    target,
    next.kind === "accounts" ? { ...next, deleted: gone, version: next.version + 1 } : { ...next, removed: true },
    gone ? 204 : 200
  )
}

export const run = (state: State, name: Name, operation: Operation): Outcome =>
  operation.op === "create" ? create(state, name, operation.kind, operation.body) : change(state, name, operation)
