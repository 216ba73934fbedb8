/** The port to the audit in memory: the same contract, in one process. */

import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { type AuditEntry, mostSearchedEntries } from "../../core/domain/audit/entry.ts"
import type { AuditService } from "../../core/ports/audit.ts"
import type { FakeHandle } from "./records.ts"

/** An audit that keeps its entries for so many days. `entries`: those that it has, the oldest first. `age` makes them older. */
export const makeFakeAudit = (days = 365): AuditService & {
  readonly entries: readonly AuditEntry[]
  readonly age: (past: number) => void
} => {
  const entries: AuditEntry[] = []
  let lastId = 0
  const kept = (now: number): (entry: AuditEntry) => boolean => {
    const since = new Date(now - days * 86_400_000).toISOString()
    return ({ at }) => at >= since
  }
  return {
    entries,
    age: (past) => {
      const older = (at: string): string =>
        new Date(Date.parse(at) - past * 86_400_000).toISOString().replace("Z", "000Z")
      entries.splice(0, entries.length, ...entries.map((entry) => ({ ...entry, at: older(entry.at) })))
    },
    add: (added, within) =>
      Effect.map(Clock.currentTimeMillis, (now) => {
        const add = (): void => {
          const at = new Date(now).toISOString().replace("Z", "000Z")
          for (const entry of added) entries.push({ ...entry, id: String(++lastId), at })
        }
        const handle = within as Partial<FakeHandle> | undefined
        if (handle?.onCommit === undefined) add()
        else handle.onCommit(add)
      }),
    page: ({ actor, acts, after, limit, search, searched, since, tenant, until }) =>
      Effect.map(Clock.currentTimeMillis, (now) => {
        const has = (text: string | null | undefined): boolean =>
          text?.toLowerCase().includes(search!.toLowerCase()) === true
        return entries.filter(kept(now)).filter((entry) =>
          entry.tenant === tenant &&
          (actor === null || entry.actor?.id === actor) &&
          (acts === null || acts.includes(entry.act)) &&
          (since === null || Date.parse(entry.at) >= Date.parse(since)) &&
          (until === null || Date.parse(entry.at) < Date.parse(until)) &&
          (after === null || entry.at < after.at || (entry.at === after.at && Number(entry.id) < Number(after.id)))
        ).toSorted((a, b) => (a.at < b.at ? 1 : a.at > b.at ? -1 : Number(b.id) - Number(a.id)))
          .slice(0, search === null ? limit : mostSearchedEntries)
          .filter(({ actor: by, key, request, subject }) =>
            search === null || request === search || key === search ||
            [by?.id, by?.name].some(has) ||
            (subject !== null && (subject.kind !== "resource" || searched.includes(subject.id)) &&
              [subject.id, subject.name].some(has))
          ).slice(0, limit)
      }),
    forget: Effect.map(Clock.currentTimeMillis, (now) => {
      const before = entries.length
      entries.splice(0, before, ...entries.filter(kept(now)))
      return before - entries.length
    })
  }
}
