/** The contract of the port to the audit, for the fake and for PostgreSQL. */

import * as Effect from "effect/Effect"
import { expect, it } from "vitest"
import type { NewAuditEntry } from "../../core/domain/audit/entry.ts"
import type { AuditPage, AuditService } from "../../core/ports/audit.ts"
import type { TransactionHandle } from "../../core/ports/records.ts"

const entry = (parts: Partial<NewAuditEntry> = {}): NewAuditEntry => ({
  act: "job.retried",
  actor: { id: "u1", name: "Ada" },
  tenant: null,
  key: null,
  subject: { kind: "job", id: "7", name: "mail" },
  details: {},
  request: null,
  ...parts
})

const all: AuditPage = {
  tenant: null,
  actor: null,
  acts: null,
  since: null,
  until: null,
  search: null,
  searched: [],
  after: null,
  limit: 100
}

export interface AuditBackend {
  readonly store: AuditService
  /** Runs work in a transaction of the records, which rolls back where the work fails. */
  readonly transaction: <E>(work: (handle: TransactionHandle) => Effect.Effect<void, E>) => Effect.Effect<void, unknown>
  /** Makes all entries so many days older. */
  readonly age: (days: number) => Effect.Effect<void>
}

/** `use` gives a backend without entries. */
export const auditContract = (use: () => Promise<AuditBackend>): void => {
  const run = <A, E>(effect: Effect.Effect<A, E>): Promise<A> => Effect.runPromise(effect)

  it("gives back what was added, exactly, the newest first", async () => {
    const { store } = await use()
    const first = entry({
      act: "account.role-changed",
      tenant: "t 1",
      key: "k1",
      subject: { kind: "account", id: "a'b\\\"", name: null },
      details: { before: ["a"], after: ["a", "b,c"], filter: "note = \"ü'\\\\\"", rows: 12, whole: false, more: null },
      request: "r1"
    })
    const second = entry({ actor: null, subject: null, tenant: "t 1" })
    await run(store.add([first, second]))
    const page = await run(store.page({ ...all, tenant: "t 1" }))
    expect(page).toEqual([second, first].map((each) => expect.objectContaining(each)))
    for (const { at, id } of page) {
      expect(at).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/)
      expect(id).toMatch(/^\d+$/)
    }
  })

  it("narrows by who, what, when, tenant and text", async () => {
    const { store } = await use()
    await run(store.add([
      entry({ details: { n: 1 } }),
      entry({ details: { n: 2 }, actor: { id: "u2", name: "Grace Hopper" }, act: "job.run", request: "abc" }),
      entry({ details: { n: 3 }, actor: null, subject: { kind: "key", id: "K%_9", name: null } }),
      entry({ details: { n: 4 }, key: "key9" }),
      entry({ details: { n: 5 }, tenant: "t1" }),
      entry({ details: { n: 6 }, tenant: "t2" })
    ]))
    const found = async (page: Partial<AuditPage>) =>
      (await run(store.page({ ...all, ...page }))).map(({ details }) => details["n"])
    expect(await found({})).toEqual([4, 3, 2, 1])
    expect(await found({ actor: "u2" })).toEqual([2])
    expect(await found({ acts: ["job.run", "key.created"] })).toEqual([2])
    expect(await found({ acts: [] })).toEqual([])
    // Nobody reads entries of another tenant: neither whoever has one, nor whoever has none.
    expect(await found({ tenant: "t1" })).toEqual([5])
    expect(await found({ tenant: "t2", search: "mail" })).toEqual([6])
    expect(await found({ search: "hOPP" })).toEqual([2])
    expect(await found({ search: "%_" })).toEqual([3])
    expect(await found({ search: "abc" })).toEqual([2])
    expect(await found({ search: "ab" })).toEqual([])
    expect(await found({ search: "key9" })).toEqual([4])
    expect(await found({ search: "MAIL" })).toEqual([4, 2, 1])
    const { at } = (await run(store.page({ ...all, limit: 1 })))[0]!
    const [earlier, later] = [-60_000, 60_000].map((ms) => new Date(Date.parse(at) + ms).toISOString()) as [
      string,
      string
    ]
    expect(await found({ since: earlier, until: later })).toEqual([4, 3, 2, 1])
    expect(await found({ since: later })).toEqual([])
    expect(await found({ until: earlier })).toEqual([])
  })

  it("finds no entry by a resource that its reader does not see", async () => {
    const { store } = await use()
    const about = (id: string) => entry({ act: "records.exported", subject: { kind: "resource", id, name: null } })
    await run(store.add([about("salaries"), about("notes")]))
    const found = async (page: Partial<AuditPage>) =>
      (await run(store.page({ ...all, ...page }))).map(({ subject }) => subject?.id)
    expect(await found({ search: "sal", searched: ["notes"] })).toEqual([])
    expect(await found({ search: "not", searched: ["notes"] })).toEqual(["notes"])
    expect(await found({ search: "ada", searched: [] })).toEqual(["notes", "salaries"])
  })

  it("has pages that each entry is on once", async () => {
    const { store } = await use()
    await run(store.add(Array.from({ length: 7 }, (_, n) => entry({ details: { n } }))))
    const seen: unknown[] = []
    let after: AuditPage["after"] = null
    for (;;) {
      const page: Awaited<
        ReturnType<typeof run<ReadonlyArray<{ id: string; at: string; details: NewAuditEntry["details"] }>, unknown>>
      > = await run(store.page({ ...all, limit: 3, after }))
      seen.push(...page.map(({ details }) => details["n"]))
      const last = page.at(-1)
      if (last === undefined) break
      after = { at: last.at, id: last.id }
    }
    expect(seen).toEqual([6, 5, 4, 3, 2, 1, 0])
  })

  it("keeps entries of a transaction that commits, and none of one that rolls back", async () => {
    const { store, transaction } = await use()
    await run(transaction((handle) => store.add([entry({ request: "kept" })], handle)))
    await run(Effect.ignore(
      transaction((handle) => Effect.andThen(store.add([entry({ request: "lost" })], handle), Effect.fail("no")))
    ))
    expect((await run(store.page(all))).map(({ request }) => request)).toEqual(["kept"])
  })

  it("shows no entry that is too old, and removes it", async () => {
    const { age, store } = await use()
    await run(store.add([entry(), entry()]))
    await run(age(29))
    expect(await run(store.page(all))).toHaveLength(2)
    expect(await run(store.forget)).toBe(0)
    await run(age(2))
    expect(await run(store.page(all))).toEqual([])
    expect(await run(store.forget)).toBe(2)
    expect(await run(store.forget)).toBe(0)
  })
}
