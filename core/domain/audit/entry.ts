/**
 * Entries of the audit: who did what to accounts, keys, subscriptions, jobs and exports, and when. An entry holds ids, names of fields and numbers. It holds no
 * secret, no token and no value of a record, but for the text of a filter, which is shown to whoever may use its fields.
 */

/** What is noted, in the API and in the table. The word before the point is the group that a list can be narrowed to. */
export const auditActs = [
  "account.created",
  "account.invited",
  "account.changed",
  "account.role-changed",
  "account.banned",
  "account.unbanned",
  "account.deleted",
  "account.link-sent",
  "account.password-set",
  "account.password-changed",
  "account.sessions-ended",
  "account.second-factor-on",
  "account.second-factor-off",
  "account.recovery-codes-made",
  "account.passkey-added",
  "account.passkey-removed",
  "key.created",
  "key.revoked",
  "webhook.created",
  "webhook.changed",
  "webhook.deleted",
  "webhook.enabled",
  "webhook.disabled",
  "webhook.secret-rotated",
  "webhook.secret-revealed",
  "webhook.tested",
  "webhook.replayed",
  "webhook.resent",
  "job.run",
  "job.cancelled",
  "job.retried",
  "job.deleted",
  "job.paused",
  "job.resumed",
  "records.exported",
  "records.changed",
  "records.imported"
] as const

export type AuditAct = typeof auditActs[number]

export const auditGroups = ["account", "key", "webhook", "job", "records"] as const

/** What an act was done to. `jobs`: every job of a name; `resource`: records of one. */
export const auditKinds = ["account", "key", "subscription", "delivery", "job", "jobs", "resource"] as const

export type AuditKind = typeof auditKinds[number]

/** What an act was done to. `name`: as it was called then; null: it had none, or nobody knew it. */
export interface AuditSubject {
  readonly kind: AuditKind
  readonly id: string
  readonly name: string | null
}

/** More about an act, small and flat. Texts are at most `longestDetail` long, lists have at most `mostDetails` of them. */
export interface AuditDetails {
  readonly [name: string]: string | number | boolean | null | readonly string[]
}

/** An entry as it is written. */
export interface NewAuditEntry {
  readonly act: AuditAct
  /** Who did it. Null: nobody who is known, such as whoever used a link, or a program on the host. */
  readonly actor: { readonly id: string; readonly name: string | null } | null
  /** The tenant that the actor worked in. */
  readonly tenant: string | null
  /** The id of the API key that was used, which is no secret. Null: none was. */
  readonly key: string | null
  readonly subject: AuditSubject | null
  readonly details: AuditDetails
  /** The id of the request, as in the log. */
  readonly request: string | null
}

/** An entry as it is kept. */
export interface AuditEntry extends NewAuditEntry {
  readonly id: string
  /** RFC 3339 with microseconds. */
  readonly at: string
}

/** Where a page of entries ends. */
export type AuditPosition = Pick<AuditEntry, "at" | "id">

/** A search looks at so many entries. */
export const mostSearchedEntries = 10_000

/** The most days that entries are kept. */
export const mostAuditDays = 36_500

/** Whether entries can be kept for so many days. A program may give anything. */
export const isAuditDays = (days: unknown): boolean =>
  Number.isSafeInteger(days) && Number(days) >= 1 && Number(days) <= mostAuditDays

/** Longest texts of an entry, in UTF-16 units, and most of them in a list. */
const longestDetail = 2_000
const longestName = 200
const mostDetails = 100

const cut = (text: string, most: number): string =>
  text.length <= most ? text : `${text.slice(0, most - 1).replace(/[\ud800-\udbff]$/, "")}…`

// PostgreSQL keeps no such character.
const storable = (text: string): string => text.replaceAll("\0", "")

const bounded = (value: AuditDetails[string]): AuditDetails[string] =>
  typeof value === "string"
    ? cut(storable(value), longestDetail)
    : typeof value === "object" && value !== null
    ? value.slice(0, mostDetails).map((text) => cut(storable(text), longestName))
    : value

/** An entry with texts as long as they are kept. */
export const boundedEntry = ({ actor, details, key, request, subject, ...rest }: NewAuditEntry): NewAuditEntry => {
  const short = (text: string | null): string | null => text === null ? null : cut(storable(text), longestName)
  return {
    ...rest,
    actor: actor === null ? null : { id: cut(storable(actor.id), longestName), name: short(actor.name) },
    key: short(key),
    request: short(request),
    subject: subject === null
      ? null
      : { kind: subject.kind, id: cut(storable(subject.id), longestName), name: short(subject.name) },
    details: Object.fromEntries(Object.entries(details).map(([name, value]) => [name, bounded(value)]))
  }
}

/** A filter as an entry keeps it: "" for none, and null for one that is too long. A part of one would say something else. */
export const keptFilter = (text: string): string | null => text.length > longestDetail ? null : text

/** Which acts a caller asks for: one act, or all of a group. Null: there is no such. */
export const actsOf = (text: string): readonly AuditAct[] | null => {
  const acts = auditActs.filter((act) => act === text || act.startsWith(`${text}.`))
  return acts.length === 0 ? null : acts
}
