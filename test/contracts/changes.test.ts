import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import { Client } from "pg"
import { afterAll, beforeAll, describe } from "vitest"
import { keptChangesSchema, makeChanges } from "../../adapters/postgres/changes.ts"
import { makePostgres } from "../../adapters/postgres/connection.ts"
import { pgAddressOf } from "../../adapters/postgres/socket.ts"
import { compileOrThrow } from "../../composition/create-admin.ts"
import { defineConfig, defineResource, f } from "../../composition/index.ts"
import { eventMigrations } from "../../composition/migrations.ts"
import { type FakeChanges, makeFakeChanges } from "../fakes/changes.ts"
import { openDatabase } from "../support/postgres.ts"
import { changesContract, type ChangesStage } from "./changes.ts"

const table = (name: string) =>
  defineResource(name, {
    table: name,
    primaryKey: "id",
    fields: { id: f.integer(), name: f.text() },
    events: { created: true }
  })
const { models } = compileOrThrow(defineConfig({ resources: [table("things"), table("others")] }))

const fakeStage = (): ChangesStage => {
  let notes: string[] = []
  let names = new Map<number, string>()
  let draft: string[] = []
  const make = (): FakeChanges =>
    makeFakeChanges(() => {
      draft = []
      return {
        handle: { query: () => Promise.reject(new Error("There is no SQL here.")) },
        end: (committed) => void (committed && notes.push(...draft))
      }
    })
  let changes = make()
  return {
    get changes() {
      return changes
    },
    clear: async () => {
      notes = []
      names = new Map()
      changes = make()
    },
    begin: async () => {
      const { commit, write } = changes.begin()
      return {
        insert: async (relation, id, name) => {
          names.set(id, name)
          write({ relation, operation: "insert", before: null, after: { id: String(id), name } })
        },
        rename: async (id, name) => {
          const before = { id: String(id), name: names.get(id)! }
          names.set(id, name)
          write({ relation: "things", operation: "update", before, after: { id: String(id), name } })
        },
        commit: async () => commit(),
        rollback: async () => {}
      }
    },
    pass: async (seconds) => changes.pass(seconds),
    note: async (_, text) => void draft.push(text),
    notes: async () => notes
  }
}

describe("the fake", () => {
  const stage = fakeStage()
  changesContract(() => stage)
})

const keeping = { schema: "kept", keptMs: 3_600_000 }

describe("PostgreSQL", () => {
  let stage: ChangesStage
  let release = async (): Promise<void> => {}
  beforeAll(async () => {
    const database = await openDatabase(
      `create table things (id integer primary key, name text not null); create table others (id integer primary key, name text not null);
      create table notes (id bigint generated always as identity, text text not null);
      ${eventMigrations({ models }).map(({ statements }) => statements).join("\n")}
      ${keptChangesSchema(keeping).join(";\n")}`
    )
    const scope = Scope.makeUnsafe()
    const postgres = await Effect.runPromise(
      Effect.provideService(makePostgres({ url: database.url }), Scope.Scope, scope)
    )
    const open = new Set<Client>()
    stage = {
      changes: makeChanges(postgres, models, keeping),
      clear: async () => {
        for (const client of open) await client.end()
        open.clear()
        await database.execute(
          "truncate kept.events, things, others, notes; truncate service.change, service.dispatcher, service.recent_change, service.watched"
        )
      },
      begin: async () => {
        const client = new Client(pgAddressOf(database.url))
        open.add(client)
        await client.connect()
        await client.query("begin")
        const end = async (how: string) => {
          await client.query(how)
          await client.end()
          open.delete(client)
        }
        return {
          insert: async (into, id, name) => void await client.query(`insert into ${into} values ($1, $2)`, [id, name]),
          rename: async (id, name) => void await client.query("update things set name = $2 where id = $1", [id, name]),
          commit: () => end("commit"),
          rollback: () => end("rollback")
        }
      },
      // Everything is that much older than it was.
      pass: (seconds) =>
        database.execute(
          `update kept.events set at = at - interval '${seconds} seconds';
          update service.dispatcher set until = until - interval '${seconds} seconds' where isfinite(until);
          update service.watched set until = until - interval '${seconds} seconds';
          update service.recent_change set seen_at = seen_at - interval '${seconds} seconds'`
        ),
      note: async (transaction, text) => void await transaction.query("insert into notes (text) values ($1)", [text]),
      notes: async () => (await database.rows("select text from notes order by id")).map(([text]) => text!)
    }
    release = async () => {
      for (const client of open) await client.end()
      await Effect.runPromise(Scope.close(scope, Exit.void))
      await database.drop()
    }
  })
  afterAll(() => release())
  changesContract(() => stage)
})
