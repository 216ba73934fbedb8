import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { makePostgres } from "../../adapters/postgres/connection.ts"
import { makeRates, ratesSchema } from "../../adapters/postgres/rates.ts"
import type { RatesService } from "../../core/ports/rates.ts"
import { makeFakeRates } from "../fakes/rates.ts"
import { openDatabase, type TestDatabase } from "../support/postgres.ts"
import { ratesContract, type RatesStage } from "./rates.ts"

describe("the fake", () => {
  const fake = makeFakeRates()
  ratesContract(() => ({ rates: fake, others: fake, pass: async (milliseconds) => fake.pass(milliseconds) }))
})

describe("PostgreSQL", () => {
  let stage: RatesStage
  let database: TestDatabase
  let another: () => Promise<RatesService>
  let release = async (): Promise<void> => {}
  beforeAll(async () => {
    database = await openDatabase(ratesSchema().join(";\n"))
    const scope = Scope.makeUnsafe()
    const open = () => Effect.runPromise(Effect.provideService(makePostgres({ url: database.url }), Scope.Scope, scope))
    another = async () => makeRates(await open())
    stage = {
      rates: await another(),
      others: await another(),
      // Everything is that much older than it was.
      pass: (milliseconds) =>
        database.execute(
          `update service.delivery_rate set next_at = next_at - interval '${milliseconds} milliseconds',
            line_at = line_at - interval '${milliseconds} milliseconds'`
        )
    }
    release = async () => {
      await Effect.runPromise(Scope.close(scope, Exit.void))
      await database.drop()
    }
  })
  afterAll(() => release())
  ratesContract(() => stage)

  it("keeps no row of a subscription that nothing was sent to for a day", async () => {
    await database.execute(
      "truncate service.delivery_rate; insert into service.delivery_rate select 'old' || i, now() - interval '25 hours', now() - interval '2 days', true from generate_series(1, 3) i; insert into service.delivery_rate values ('new', now() - interval '25 hours', now(), false)"
    )
    // Once an hour in a process: a new one begins with it.
    await Effect.runPromise((await another()).line("mine", 1_000, 1))
    const rows = await database.rows("select subscription from service.delivery_rate order by subscription")
    expect(rows.flat()).toEqual(["mine", "new"])
  })
})
