/** `reorder` of a batch over HTTP (docs/reference/writes.md#reorder): final order, ETags, rules, and every way past a unique index. */

import { expect, it, vi } from "vitest"
import { type Change, defineConfig } from "../../../core/domain/declare/config.ts"
import { f } from "../../../core/domain/declare/field.ts"
import { defineResource } from "../../../core/domain/declare/resource.ts"
import { property } from "../../generators/property.ts"
import { expectProblem } from "../../support/answer.ts"
import type { Answer, Fixture, TestService } from "../../support/composed.ts"
import { admin, ann, ledger, viewer } from "../../support/ledger.ts"
import { base, batch, on, onBoth, patch } from "./scenes.ts"

const path = `${base}:batchWrite`
const changes: Change[] = []
const hooked = () => ledger({ writeHooks: [(change) => void changes.push(change)] })

const reorder = (keys: readonly unknown[], etags: unknown, more: object = {}) => ({
  op: "reorder",
  resource: "steps",
  field: "place",
  keys,
  etags,
  ...more
})

/** Keys in order of their place, and every record's ETag. */
const listed = async (service: TestService, resource = "steps", filter = "") => {
  const answer = await service.get(
    admin,
    `${base}/${resource}?page_size=500${filter === "" ? "" : `&filter=${encodeURIComponent(filter)}`}`
  )
  const items = [
    ...answer.json["items"] as unknown as ReadonlyArray<
      { readonly id: number; readonly place: number; readonly rev: number; readonly etag: string }
    >
  ]
  items.sort((a, b) => a.place - b.place)
  return {
    ids: items.map(({ id }) => id),
    places: items.map(({ place }) => place),
    revs: new Map(items.map(({ id, rev }) => [id, rev])),
    etags: Object.fromEntries(items.map(({ etag, id }) => [id, etag]))
  }
}

onBoth("reorder", hooked, (use) => {
  it("sets 1, 2, 3, … in the order of the keys, writes what changes only, and answers every key", async () => {
    const before = await listed(use())
    changes.length = 0
    const answer = await batch(use(), ann, [reorder(["1", 3, [2], "5", "4"], before.etags)])
    const after = await listed(use())
    expect(after.ids).toEqual([1, 3, 2, 5, 4])
    expect(after.places).toEqual([1, 2, 3, 4, 5])
    expect(answer.json["results"]).toEqual([{
      records: [1, 3, 2, 5, 4].map((id) => ({ key: String(id), etag: after.etags[id] }))
    }])
    // Record 1 stayed where it was; each of the others was written once, as one update.
    expect(after.etags[1]).toBe(before.etags[1])
    expect([...after.revs].filter(([id, rev]) => rev !== before.revs.get(id)! + 1).map(([id]) => id)).toEqual([1])
    expect(
      changes.map(({ after, before: b, operation }) =>
        JSON.stringify([operation, after!["id"], b!["place"], after!["place"]])
      ).sort()
    )
      .toEqual([2, 3, 4, 5].map((id) => JSON.stringify(["update", id, id, [3, 2, 5, 4][id - 2]])))
  })

  it("needs ETags of what changes only, each of them current", async () => {
    const { etags, ids } = await listed(use())
    const swapped = [ids[1], ids[0], ids[2], ids[3], ids[4]]
    const send = (held: unknown): Promise<Answer> =>
      batch(use(), ann, [{ op: "create", resource: "counters", data: { id: 77 } }, reorder(swapped, held)])
    const named = { operation: 1, op: "reorder", resource: "steps" }
    const first = { ...named, key: String(Math.min(ids[0]!, ids[1]!)) }
    expectProblem(await send({}), "precondition-required", path, first)
    expect((await send({})).json["detail"]).toContain("etags of a reorder")
    expectProblem(await send(undefined), "precondition-required", path, first)
    for (const id of [ids[0]!, ids[1]!]) {
      const its = { ...named, key: String(id) }
      expect((await send({ ...etags, [id]: "\"old\"" })).json).toMatchObject({ status: 412, ...its })
      expect((await send({ ...etags, [id]: 5 })).json).toMatchObject({ status: 428, ...its })
    }
    expect((await listed(use())).etags).toEqual(etags)
    expect((await use().get(admin, `${base}/counters/77`)).status).toBe(404)
    const answer = await batch(use(), ann, [reorder(swapped, { [ids[0]!]: etags[ids[0]!], [ids[1]!]: "*" })])
    expect(answer.status, answer.text).toBe(200)
    expect((await listed(use())).ids).toEqual(swapped)
  })

  it("knows a key in every form that keys are written in", async () => {
    for (const write of [(id: number) => `00${id}`, (id: number) => `%3${id}`, (id: number) => `0%30${id}`]) {
      const { etags, ids } = await listed(use())
      const [a, b, ...rest] = ids as [number, number, ...number[]]
      const held = { [write(a)]: etags[a], [b]: etags[b], nonsense: "*", "%": "*" }
      const answer = await batch(use(), ann, [reorder([write(b), [a], ...rest], held)])
      expect(answer.status, answer.text).toBe(200)
      expect((await listed(use())).ids).toEqual([b, a, ...rest])
    }
    // The record's own form goes before another.
    const { etags, ids } = await listed(use())
    const [a, b] = ids as [number, number]
    for (const held of [{ [`0${a}`]: "\"old\"", [a]: etags[a] }, { [a]: etags[a], [`0${a}`]: "\"old\"" }]) {
      const answer = await batch(use(), ann, [reorder([b, a], { ...held, [b]: "*" })], {}, "?dry_run=true")
      expect(answer.status, answer.text).toBe(200)
    }
  })

  it("refuses what is no integer field, twice the same key, unknown keys and denied callers", async () => {
    const { etags, ids } = await listed(use())
    const cases: ReadonlyArray<readonly [object, number]> = [
      [reorder(ids, etags, { field: "name" }), 400],
      [reorder(ids, etags, { field: "rev" }), 400],
      [reorder(ids, etags, { field: "nope" }), 400],
      [reorder(ids, etags, { resource: "labels", field: "note_id" }), 400],
      [reorder([ids[0], ids[0]], etags), 400],
      [reorder([ids[0], [String(ids[0])]], etags), 400],
      [reorder([ids[1], 999], etags), 404],
      [reorder(Array.from({ length: 501 }, (_, i) => i), etags), 400],
      [reorder(ids, [], {}), 400]
    ]
    for (const [operation, status] of cases) {
      expect((await batch(use(), ann, [operation])).status, JSON.stringify(operation)).toBe(status)
    }
    expect((await batch(use(), ann, [reorder([ids[1], 999], etags)])).json).toMatchObject({ operation: 0, key: "999" })
    expect((await batch(use(), ann, [reorder(ids, etags, { field: "nope" })])).json).not.toHaveProperty("key")
    expect((await batch(use(), viewer, [reorder(ids, etags)])).status).toBe(403)
    expect((await batch(use(), ann, [reorder([], {})])).json).toEqual({ results: [{ records: [] }] })
    expect((await batch(use(), ann, [reorder(ids, {})])).json["results"]![0]!["records"]).toHaveLength(5)
    expect((await listed(use())).etags).toEqual(etags)
  })

  it("orders what the same batch created, by reference", async () => {
    const create = (id: number) => ({
      op: "create",
      resource: "steps",
      ref: `r${id}`,
      data: { id, board: "fresh", place: id }
    })
    const keys = [{ $ref: "r33" }, { $ref: "r31" }, { $ref: "r32" }]
    const answer = await batch(use(), ann, [create(31), create(32), create(33), reorder(keys, {})])
    expect(answer.status, answer.text).toBe(200)
    const places = await Promise.all(
      [33, 31, 32].map(async (id) => (await use().get(ann, `${base}/steps/${id}`)).json["place"])
    )
    expect(places).toEqual([1, 2, 3])
  })

  property(
    "any permutation, any number of times",
    { places: (random) => random.shuffled([0, 1, 2, 3, 4]) },
    { cases: 30 },
    async ({ places }) => {
      const { etags, ids } = await listed(use())
      const board = ids.filter((id) => id < 10)
      expect(board).toHaveLength(places.length)
      const wanted = places.map((place) => board[place])
      expect((await batch(use(), ann, [reorder(wanted, etags)])).status).toBe(200)
      expect((await listed(use())).ids.filter((id) => id < 10)).toEqual(wanted)
    }
  )
})

on("postgres", "reorder past constraints", ledger, (use) => {
  const sql = (text: string) => use().database!.execute(text)
  const swap = async (resource: string): Promise<Answer> => {
    const { etags, ids } = await listed(use(), resource)
    return batch(use(), ann, [reorder([...ids].reverse(), etags, { resource })])
  }

  it("a check that refuses high values: below the lowest; one that refuses low values: above the highest", async () => {
    for (const resource of ["ceilings", "floors"]) {
      const { ids } = await listed(use(), resource)
      const answer = await swap(resource)
      expect(answer.status, answer.text).toBe(200)
      expect(await listed(use(), resource)).toMatchObject({ ids: [...ids].reverse(), places: [1, 2, 3] })
    }
  })

  it("checks on both sides: the problem is the database's, and nothing is written", async () => {
    await sql("alter table ledger.floors add check (place <= 3)")
    const before = await listed(use(), "floors")
    expectProblem(await swap("floors"), "invalid-record", path, {
      operation: 0,
      op: "reorder",
      resource: "floors",
      errors: [{ code: "invalid", message: "The record breaks a rule of the database." }]
    })
    expect(await listed(use(), "floors")).toEqual(before)
  })

  it("checks on both sides, and nothing in the way: nobody has to move out of the range", async () => {
    await sql("alter table ledger.ceilings drop constraint ceilings_place_key")
    await sql("update ledger.ceilings set place = id; alter table ledger.ceilings add check (place between 1 and 3)")
    for (const unique of ["", "add unique (place) deferrable initially deferred"]) {
      if (unique !== "") await sql(`alter table ledger.ceilings ${unique}`)
      const { ids } = await listed(use(), "ceilings")
      const answer = await swap("ceilings")
      expect(answer.status, answer.text).toBe(200)
      expect(await listed(use(), "ceilings")).toMatchObject({ ids: [...ids].reverse(), places: [1, 2, 3] })
    }
  })

  it("the highest value there is: below; and other rows at the limits stay untouched", async () => {
    await sql("insert into ledger.steps values (50, 'edge', 32767, '-', 1), (51, 'edge', 3, '-', 1)")
    const { etags, ids } = await listed(use())
    const main = ids.filter((id) => id < 10)
    expect((await batch(use(), ann, [reorder([...main].reverse(), etags)])).status).toBe(200)
    expect((await listed(use())).ids.filter((id) => id < 10)).toEqual([...main].reverse())
    expect((await listed(use())).revs.get(50)).toBe(1)
  })

  it("a place taken by a record that is not among the keys is a conflict", async () => {
    const { etags, ids } = await listed(use())
    const main = ids.filter((id) => id < 10)
    expectProblem(await batch(use(), ann, [reorder(main.slice(1), etags)]), "conflict", path, {
      operation: 0,
      op: "reorder",
      resource: "steps"
    })
  })

  it("writes five hundred in one go", async () => {
    await sql("insert into ledger.steps select 1000 + n, 'long', n, '-', 1 from generate_series(1, 500) n")
    const all = Object.fromEntries(Array.from({ length: 500 }, (_, i) => [1001 + i, "*"]))
    const keys = Array.from({ length: 500 }, (_, i) => 1500 - i)
    const answer = await batch(use(), ann, [reorder(keys, all)])
    expect(answer.status, answer.text).toBe(200)
    expect(await use().database!.rows("select count(*) from ledger.steps where board = 'long' and place = 1501 - id"))
      .toEqual([["500"]])
    expect((await patch(use(), ann, `${base}/steps/1001`, { place: 1 })).status).toBe(409)
  })
})

on("postgres", "concurrent reorders", ledger, (use) => {
  it("two at the same time: one waits and is stale, none deadlocks, the order is one of theirs", async () => {
    // A deadlock would not be noticed, and end with the statement's time.
    await use().database!.execute(`alter database ${use().database!.name} set deadlock_timeout = '1h'`)
    for (let round = 0; round < 6; round++) {
      const { etags, ids } = await listed(use())
      const main = ids.filter((id) => id < 10)
      const orders = [[...main].reverse(), [main[2], main[0], main[4], main[1], main[3]]]
      const answers = await Promise.all(orders.map((keys) => batch(use(), ann, [reorder(keys, etags)])))
      const statuses = answers.map(({ status }) => status)
      expect([...statuses].sort((a, b) => a - b), answers.map(({ text }) => text).join()).toEqual([200, 412])
      expect((await listed(use())).ids.filter((id) => id < 10)).toEqual(orders[statuses.indexOf(200)])
    }
  })

  it("somebody adds a record behind them meanwhile: tried again, as the places out of the way are taken by then", async () => {
    const { etags, ids } = await listed(use())
    const adding = use().database!.execute(
      `begin; insert into ledger.steps values (90, 'main', ${ids.length + 1}, '-', 1);
      do $$ begin
        while not exists (select from pg_locks where not granted and pg_backend_pid() = any (pg_blocking_pids(pid)))
          loop perform pg_sleep(0.01); end loop;
      end $$;
      commit`
    )
    await vi.waitFor(async () =>
      expect(
        await use().database!.rows(
          "select 1 from pg_stat_activity where wait_event = 'PgSleep' and datname = current_database()"
        )
      ).toHaveLength(1), { timeout: 60_000 })
    const answer = await batch(use(), ann, [reorder([...ids].reverse(), etags)])
    await adding
    expect(answer.status, answer.text).toBe(200)
    expect((await listed(use())).ids).toEqual([...ids].reverse().concat(90))
  })
})

/** One order of all tenants: the places above and below those of a tenant are other tenants'. */
const shared: Fixture = {
  config: defineConfig({
    resources: [defineResource("steps", {
      primaryKey: "id",
      tenant: "tenant_id",
      fields: { id: f.integer(), place: f.integer() }
    })]
  }),
  schema: "create table steps (id integer primary key, tenant_id text not null, place integer not null unique)",
  rows: {
    steps: [1, 2, 3, 4, 5, 6].map((id) => ({ id, tenant_id: id < 3 ? "own" : "other", place: id < 5 ? id : 4 - id }))
  }
}

on("postgres", "reorder in a table of several tenants", () => shared, (use) => {
  it("finds places that are free for all of them, where those of the tenant are not enough", async () => {
    const caller = { ...admin, tenant: "own" }
    const answer = await batch(use(), caller, [reorder([2, 1], { 1: "*", 2: "*" })])
    expect(answer.status, answer.text).toBe(200)
    expect(await use().database!.rows("select id, place from steps where id < 3 order by id")).toEqual([["1", "2"], [
      "2",
      "1"
    ]])
  })
})
