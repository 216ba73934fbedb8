import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import { afterAll, beforeAll, describe } from "vitest"
import { auditSchema, makeAudit } from "../../adapters/postgres/audit.ts"
import { makePostgres } from "../../adapters/postgres/connection.ts"
import { makeRecords } from "../../adapters/postgres/records.ts"
import { makeFakeAudit } from "../fakes/audit.ts"
import { makeFakeRecords } from "../fakes/records.ts"
import { openDatabase, type TestDatabase } from "../support/postgres.ts"
import { auditContract } from "./audit.ts"

const days = 30

describe("the fake", () => {
  auditContract(() => {
    const store = makeFakeAudit(days)
    const { service } = makeFakeRecords()
    return Promise.resolve({
      store,
      transaction: (work) => service.transaction(({ handle }) => work(handle)),
      age: (past) => Effect.sync(() => store.age(past))
    })
  })
})

describe("PostgreSQL", () => {
  let database: TestDatabase
  const scope = Scope.makeUnsafe()
  beforeAll(async () => {
    database = await openDatabase("")
  })
  afterAll(async () => {
    await Effect.runPromise(Scope.close(scope, Exit.void))
    await database.drop()
  })
  let first = true
  auditContract(async () => {
    // The first finds no table, and makes it with its first entry.
    if (!first) { for (const sql of [...auditSchema(), "truncate service.audit"]) await database.execute(sql) }
    first = false
    const postgres = await Effect.runPromise(
      Effect.provideService(makePostgres({ url: database.url, waitMs: 30_000 }), Scope.Scope, scope)
    )
    const records = makeRecords(postgres)
    return {
      store: makeAudit(postgres, days),
      transaction: (work) => records.transaction(({ handle }) => work(handle)),
      age: (past) =>
        Effect.promise(() => database.execute(`update service.audit set at = at - interval '${past} days'`))
    }
  })
})
