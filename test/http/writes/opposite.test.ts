/**
 * Batches that name the same records in different orders, many at once: all of them end with 200, none is lost, and none meets a deadlock. The
 * database never looks for deadlocks here, so that one would hold its batches until they fail with 504 instead of being tried again unseen.
 */

import { expect, it } from "vitest"
import { defineConfig } from "../../../core/domain/declare/config.ts"
import { f } from "../../../core/domain/declare/field.ts"
import { defineResource } from "../../../core/domain/declare/resource.ts"
import { Random } from "../../generators/random.ts"
import type { Fixture, StartOptions, TestCaller, TestService } from "../../support/composed.ts"
import { seed } from "../../support/depth.ts"
import { findPooler, openPooler } from "../../support/pooler.ts"
import { base, batch, on } from "./scenes.ts"

const ann: TestCaller = { id: "ann", roles: ["admin"] }

const counted = (name: string) =>
  defineResource(name, {
    primaryKey: "id",
    version: "rev",
    fields: { id: f.integer(), writer: f.text(), rev: f.integer() }
  })
const config = defineConfig({
  resources: [
    counted("alphas"),
    counted("omegas"),
    defineResource("pairs", {
      primaryKey: ["a", "b"],
      version: "rev",
      fields: { a: f.integer(), b: f.text(), writer: f.text(), rev: f.integer() }
    }),
    defineResource("places", {
      primaryKey: "id",
      fields: { id: f.integer(), place: f.integer().sortable() }
    })
  ]
})

const size = 12
const ids = Array.from({ length: size }, (_, i) => i + 1)

const fixture = (): Fixture => ({
  config,
  schema: `
    create table alphas (id integer primary key, writer text not null, rev integer not null default 1);
    create table omegas (id integer primary key, writer text not null, rev integer not null default 1);
    create table pairs (a integer, b text, writer text not null, rev integer not null default 1, primary key (a, b));
    create table places (id integer primary key, place integer not null unique);
  `,
  rows: {
    alphas: ids.map((id) => ({ id, writer: "nobody", rev: 1 })),
    omegas: ids.map((id) => ({ id, writer: "nobody", rev: 1 })),
    pairs: ids.map((id) => ({ a: id % 3, b: `b${id}`, writer: "nobody", rev: 1 })),
    places: ids.map((id) => ({ id, place: id }))
  }
})

/** One update of each record, by resource and then by key. */
const updates = (writer: string) =>
  [
    ...["alphas", "omegas"].flatMap((resource) => ids.map((key) => ({ resource, key }))),
    ...ids.map((id) => ({ resource: "pairs", key: [id % 3, `b${id}`] }))
  ].map((named) => ({ op: "update", ...named, etag: "*", data: { writer } }))

/** The items in an order of their own for each turn. */
const shuffled = <A>(items: readonly A[], turn: number): readonly A[] => new Random(seed * 1_000 + turn).shuffled(items)

const clients = 12
const rounds = 4
const everyClient = Array.from({ length: clients }, (_, client) => client)

/** Runs the work of each client in each round; the clients at once, the rounds of one client one after another. */
const together = (work: (client: number, round: number) => Promise<void>): Promise<unknown> =>
  Promise.all(everyClient.map(async (client) => {
    for (let round = 0; round < rounds; round++) await work(client, round)
  }))

const scenarios = (use: () => TestService): void => {
  const rows = (sql: string) => use().database!.rows(sql)

  it("updates forwards, backwards and in any order, over three resources", async () => {
    await together(async (client, round) => {
      const forwards = updates(`client ${client} in round ${round}`)
      const ops = client % 3 === 0
        ? forwards
        : client % 3 === 1
        ? [...forwards].reverse()
        : shuffled(forwards, 1 + client + clients * round)
      const answer = await batch(use(), ann, ops, { prefer: "return=minimal" })
      expect(answer.status, answer.text).toBe(200)
      expect(answer.json["results"]).toHaveLength(3 * size)
    })
    // One batch was the last, for all records; and each batch wrote each record once.
    const written = await rows(
      "select distinct writer, rev from (table alphas union all table omegas union all select a, writer, rev from pairs)"
    )
    expect(written).toEqual([[expect.stringMatching(/^client \d+ in round 3$/), String(1 + clients * rounds)]])
  })

  it("reorders, beside updates and deletes", async () => {
    const before = await rows("select sum(rev) from alphas")
    await together(async (client, round) => {
      const own = 1_000 + clients * round + client
      const created = await use().call(ann, "POST", `${base}/alphas`, { body: { id: own, writer: "nobody" } })
      expect(created.status, created.text).toBe(201)
      const keys = shuffled(ids, 1 + client + clients * round)
      const ops = [
        {
          op: "reorder",
          resource: "places",
          field: "place",
          keys,
          etags: Object.fromEntries(ids.map((id) => [id, "*"]))
        },
        { op: "delete", resource: "alphas", key: own },
        ...keys.slice(0, 3).map((key) => ({
          op: "update",
          resource: "alphas",
          key,
          etag: "*",
          data: { writer: `own ${own}` }
        }))
      ]
      const answer = await batch(use(), ann, client % 2 === 0 ? ops : ops.reverse(), { prefer: "return=minimal" })
      expect(answer.status, answer.text).toBe(200)
    })
    expect(await rows("select count(*), count(distinct place), min(place), max(place) from places")).toEqual([
      [String(size), String(size), "1", String(size)]
    ])
    expect(await rows("select count(*) from alphas")).toEqual([[String(size)]])
    // Each batch wrote three of the records once.
    expect(await rows("select sum(rev) from alphas")).toEqual([[String(Number(before[0]![0]) + 3 * clients * rounds)]])
  })
}

/** A database that never looks for deadlocks, straight or behind a pooler. */
const unwatched = (pooler: string | null): StartOptions => ({
  writeConnections: clients,
  through: async (database) => {
    await database.execute(`alter database ${database.name} set deadlock_timeout = '1h'`)
    return pooler === null
      ? { url: database.url, close: () => Promise.resolve() }
      : openPooler(pooler, database)
  }
})

on("postgres", "batches in opposite orders", fixture, scenarios, unwatched(null))

const program = findPooler()
const missing = "PgBouncer is not installed (Debian: apt-get install pgbouncer)"
if (program !== null) {
  on("postgres", "batches in opposite orders through a pooler", fixture, scenarios, unwatched(program))
} else if (process.env["CI"] === "true") {
  it("has its pooler", () => expect.fail(missing))
} else {
  it.skip(`batches in opposite orders through a pooler: ${missing}`, () => {})
}
