/**
 * Random sequences of writes by several callers, held against the reference: statuses, records, who sees what, and when two ETags are equal.
 */

import { expect } from "vitest"
import { property } from "../../generators/property.ts"
import type { Random } from "../../generators/random.ts"
import { type Step, steps } from "../../generators/writes.ts"
import { startService } from "../../support/composed.ts"
import type { Answer, TestCaller, TestService } from "../../support/composed.ts"
import { admin, ann, bob, foreign, ledger, viewer } from "../../support/ledger.ts"
import { run, sees, shown, versionOf } from "./reference.ts"
import type { Entry, Match, Name, Operation, State } from "./reference.ts"
import { base, onBoth } from "./scenes.ts"

const callers: { readonly [name in Name]: TestCaller } = { ann, bob, admin, foreign, viewer }
const names = Object.keys(callers) as readonly Name[]

// ------------------------------------------------------------------------------------------------------------------ playing

/** The ETags met so far: equal for equal versions, different for different ones. */
class Tags {
  readonly #byVersion = new Map<string, string>()
  readonly #byTag = new Map<string, string>()

  /** Says what is wrong, or null. */
  met(record: string, kind: Entry["kind"], version: string, tag: string | null): string | null {
    if (tag === null || !/^"[\w-]+"$/.test(tag)) return `${record}: no ETag but ${tag}`
    const place = `${record} ${version}`
    const known = this.#byVersion.get(place)
    if (known !== undefined && known !== tag) return `${place}: ETag ${tag}, before ${known}`
    const other = this.#byTag.get(`${record} ${tag}`)
    if (other !== undefined && other !== place) return `${place}: the ETag of ${other}`
    this.#byVersion.set(place, tag)
    this.#byTag.set(`${record} ${tag}`, place)
    return kind === "accounts" || kind === "notes" ? null : "no kind"
  }

  of(record: string, version: string): string | undefined {
    return this.#byVersion.get(`${record} ${version}`)
  }
}

let sequence = 0

/** Plays a sequence, after which some look at everything; answers the first difference, or null. */
const play = async (
  service: TestService,
  steps: readonly Step[],
  looking: readonly Name[],
  tally: (status: number) => void
): Promise<string | null> => {
  const run_ = `m${++sequence}`
  let state: State = []
  const ids: string[] = []
  const tags = new Tags()
  const old = new Map<number, Map<string, string>>()
  const classOf = (name: Name, index: number): string =>
    state[index]!.kind === "accounts"
      ? `r${index}`
      : `r${index} ${name === "admin" || name === "foreign" ? "all" : "some"}`
  const pathOf = (index: number): string => `${base}/${state[index]!.kind}/${ids[index]!}`
  const met = (name: Name, index: number, tag: string | null): string | null => {
    const version = versionOf(name, state[index]!)
    if (tag !== null) {
      old.set(index, (old.get(index) ?? new Map<string, string>()).set(`${classOf(name, index)} ${version}`, tag))
    }
    return tags.met(classOf(name, index), state[index]!.kind, version, tag)
  }

  /** If-Match for an operation on the state as it is inside a batch. */
  const header = async (
    name: Name,
    { match, target }: { readonly match: Match; readonly target: number }
  ): Promise<string | undefined> => {
    if (match === "none") return undefined
    if (match === "any") return "*"
    const version = versionOf(name, state[target]!)
    if (match === "stale") {
      const stale = [...old.get(target) ?? []].find(([key]) =>
        key.startsWith(`${classOf(name, target)} `) && key !== `${classOf(name, target)} ${version}`
      )
      return stale?.[1] ?? "\"none\""
    }
    const known = tags.of(classOf(name, target), version)
    if (known !== undefined) return `W/"weak", ${known}`
    const deleted = state[target]!.kind === "accounts" ? "?show_deleted=true" : ""
    const answer = await service.get(callers[name], pathOf(target) + deleted)
    return answer.headers.get("etag") ?? "\"none\""
  }
  const bodyOf = (operation: Operation, at: number): object => {
    if (operation.op !== "create") return "body" in operation ? operation.body : {}
    return operation.kind === "notes"
      ? { title: `${run_} ${at}`, ...operation.body }
      : { name: run_, ...operation.body }
  }
  const holds = (name: Name, index: number, record: unknown): string | null => {
    const expected = shown(name, state[index]!)
    const actual = record as { readonly [field: string]: unknown }
    const wrong = Object.keys(expected).filter((field) => actual[field] !== expected[field])
    return wrong.length > 0
      ? `record ${index} for ${name}: ${
        wrong.map((field) => `${field} is ${String(actual[field])}, not ${String(expected[field])}`).join()
      }`
      : null
  }
  /** A record as an answer shows it, and its tag. */
  const answered = (name: Name, index: number, record: unknown): string | null => {
    const tag = (record as { readonly etag?: string }).etag ?? null
    return holds(name, index, record) ?? met(name, index, tag)
  }

  const single = async (step: Step, at: number): Promise<string | null> => {
    const { name, operations: [operation] } = step
    const caller = callers[name]
    const outcome = run(state, name, operation!)
    let answer: Answer
    if (operation!.op === "create") {
      answer = await service.call(caller, "POST", `${base}/${operation!.kind}`, { body: bodyOf(operation!, at) })
    } else {
      const ifMatch = await header(name, operation!)
      const headers = ifMatch === undefined ? {} : { "if-match": ifMatch }
      const path = pathOf(operation!.target)
      if (operation!.op === "update") {
        answer = await service.call(caller, "PATCH", path, { body: operation!.body, headers })
      } else if (operation!.op === "delete") answer = await service.call(caller, "DELETE", path, { headers })
      else answer = await service.call(caller, "POST", `${path}:undelete`, { headers })
    }
    if (answer.status !== outcome.status) return `${answer.status}, not ${outcome.status}: ${answer.text}`
    tally(answer.status)
    state = outcome.state
    if (operation!.op === "create" && outcome.index !== null) {
      ids.push(answer.headers.get("location")!.split("/").at(-1)!)
    }
    return outcome.index === null || answer.status === 204 ? null : answered(name, outcome.index, answer.json)
  }

  const together = async ({ name, operations }: Step, at: number): Promise<string | null> => {
    const before = state
    let failed: number | null = null
    let status = 200
    const ops: object[] = []
    const made: Array<number | null> = []
    const refs = new Map<number, string>()
    for (const [i, operation] of operations.entries()) {
      if (operation.op === "create") {
        if (failed === null) refs.set(state.length, `c${i}`)
        ops.push({ op: "create", resource: operation.kind, data: bodyOf(operation, at * 10 + i), ref: `c${i}` })
      } else {
        const own = refs.get(operation.target)
        // What the batch itself made or changed has a version nobody can know yet.
        const fresh = own !== undefined || state[operation.target] !== before[operation.target]
        const etag = fresh && operation.match === "current"
          ? "*"
          : fresh && operation.match === "stale"
          ? "\"none\""
          : await header(name, operation)
        ops.push({
          op: operation.op,
          resource: state[operation.target]!.kind,
          key: own === undefined ? ids[operation.target] : { $ref: own },
          ...(etag === undefined ? {} : { etag }),
          ...(operation.op === "update" ? { data: operation.body } : {})
        })
      }
      const outcome = run(state, name, operation)
      made.push(outcome.index)
      if (outcome.status >= 400 && failed === null) [failed, status] = [i, outcome.status]
      if (failed !== null) break
      state = outcome.state
    }
    const answer = await service.call(callers[name], "POST", `${base}:batchWrite`, { body: { ops } })
    if (answer.status !== status) return `batch: ${answer.status}, not ${status}: ${answer.text}`
    tally(answer.status)
    if (failed !== null) {
      state = before
      return (answer.json as unknown as { readonly operation: number }).operation === failed
        ? null
        : `batch: operation not ${failed}: ${answer.text}`
    }
    const results = answer.json["results"] as unknown as ReadonlyArray<
      { readonly record?: { readonly id: string | number }; readonly etag?: string }
    >
    for (const [i, operation] of operations.entries()) {
      if (operation.op === "create") ids.push(String(results[i]!.record!.id))
    }
    for (const [i, index] of made.entries()) {
      // A later operation may have changed it again; only its last state is known here.
      if (results[i]!.record === undefined || made.lastIndexOf(index) > i) continue
      const wrong = answered(name, index!, { ...results[i]!.record, etag: results[i]!.etag })
      if (wrong !== null) return `batch: ${wrong}`
    }
    return null
  }

  const look = async (): Promise<string | null> => {
    for (const name of looking) {
      const visible: string[] = []
      for (const [index, entry] of state.entries()) {
        const there = sees(name, entry)
        const deleted = entry.kind === "accounts" && entry.deleted
        const plain = await service.get(callers[name], pathOf(index))
        const status = there && !deleted ? 200 : 404
        if (plain.status !== status) return `${name} gets record ${index}: ${plain.status}, not ${status}`
        const answer = there && deleted ? await service.get(callers[name], `${pathOf(index)}?show_deleted=true`) : plain
        if (!there) continue
        const wrong = answer.status === 200
          ? answered(name, index, answer.json)
          : `deleted record ${index} for ${name}: ${answer.status}`
        if (wrong !== null) return wrong
        if (entry.kind === "accounts" && !deleted) visible.push(ids[index]!)
      }
      const listed = await service.get(
        callers[name],
        `${base}/accounts?filter=${encodeURIComponent(`name = "${run_}"`)}&order_by=id&count=exact`
      )
      const items = listed.json["items"] as unknown as ReadonlyArray<{ readonly id: string; readonly etag: string }>
      if (items.map(({ id }) => id).join() !== visible.join()) {
        return `${name} lists ${items.map(({ id }) => id).join()}, not ${visible.join()}`
      }
      for (const item of items) {
        // A note may have the same id.
        const index = ids.findIndex((id, at) => id === item.id && state[at]!.kind === "accounts")
        const wrong = met(name, index, item.etag)
        if (wrong !== null) return wrong
      }
    }
    return null
  }

  for (const [at, step] of steps.entries()) {
    const wrong = await (step.batch ? together(step, at) : single(step, at))
    if (wrong !== null) return `step ${at}: ${wrong}`
  }
  return look()
}

/** Three of the five. */
const looking = (random: Random): readonly Name[] => random.shuffled(names).slice(0, 3)

const sequences = { fake: 2_000, postgres: 200 }

onBoth("writes against the reference", ledger, (use, backend) => {
  /** How often each status was right. */
  const statuses = new Map<number, number>()
  const tally = (status: number): void => void statuses.set(status, (statuses.get(status) ?? 0) + 1)
  let service: TestService | undefined
  let played = 0
  property(
    "no difference in any sequence",
    { steps, looking },
    {
      cases: sequences[backend],
      reaches: (runs) => {
        const all = [200, 201, 204, 400, 403, 404, 409, 412, 428]
        const often = all.filter((status) => (statuses.get(status) ?? 0) > runs / 20)
        if (runs >= 200) expect(often).toEqual(all)
        else expect(often.length).toBeGreaterThan(all.length / 2)
      }
    },
    async ({ looking, steps }) => {
      // The fake looks at every row there is: a new one stays fast.
      if (backend === "fake" && played++ % 40 === 0) service = await startService("fake", ledger())
      expect(await play(service ?? use(), steps, looking, tally)).toBeNull()
    }
  )
})
