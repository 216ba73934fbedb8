// Runs the contract of the records port on the fake, on PostgreSQL, and on PostgreSQL as behind a transaction pooler.
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import { makePostgres } from "../../adapters/postgres/connection.ts"
import { makeRecords } from "../../adapters/postgres/records.ts"
import { makeFakeRecords } from "../fakes/records.ts"
import { openDatabase } from "../support/postgres.ts"
import { contractSchema } from "./records-tables.ts"
import { recordsContract, type RecordsHarness } from "./records.ts"

recordsContract("in memory", async () => {
  let fake = makeFakeRecords()
  return {
    // The tables are emptied by taking a new fake.
    get records() {
      return fake.service
    },
    clear: async () => {
      fake = makeFakeRecords()
    },
    close: async () => {}
  }
})

const onPostgres = (pooler: boolean) => async (): Promise<RecordsHarness> => {
  const database = await openDatabase(contractSchema)
  const scope = Effect.runSync(Scope.make())
  const postgres = await Effect.runPromise(Scope.provide(makePostgres({ url: database.url, pooler }), scope))
  return {
    records: makeRecords(postgres),
    clear: () => database.execute("truncate things, pairs restart identity"),
    close: async () => {
      await Effect.runPromise(Scope.close(scope, Exit.void))
      await database.drop()
    }
  }
}

recordsContract("PostgreSQL", onPostgres(false))
recordsContract("PostgreSQL behind a pooler", onPostgres(true))
