import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { makePostgres } from "../../adapters/postgres/connection.ts"
import { makeSubmissions } from "../../adapters/postgres/submissions.ts"
import type { SubmissionsService } from "../../core/ports/submissions.ts"
import { makeFakeSubmissions } from "../fakes/submissions.ts"
import { openDatabase, type TestDatabase } from "../support/postgres.ts"
import { submissionsContract } from "./submissions.ts"

describe("the fake", () => {
  const fake = makeFakeSubmissions()
  submissionsContract(() => fake)
})

describe("PostgreSQL, two instances in turns", () => {
  let instances: readonly SubmissionsService[] = []
  let database: TestDatabase
  let release = async (): Promise<void> => {}
  let turn = 0
  beforeAll(async () => {
    // Nobody made the tables: the first use does.
    database = await openDatabase("")
    const scope = Scope.makeUnsafe()
    const open = () => Effect.runPromise(Effect.provideService(makePostgres({ url: database.url }), Scope.Scope, scope))
    instances = [makeSubmissions(await open()), makeSubmissions(await open())]
    release = async () => {
      await Effect.runPromise(Scope.close(scope, Exit.void))
      await database.drop()
    }
  })
  afterAll(() => release())
  submissionsContract(() => instances[turn++ % 2]!)

  it("does not count attempts of a clock that went ahead", async () => {
    const [forms] = instances
    const admitted = () => Effect.runPromise(forms!.admit("ahead", 1))
    expect(await admitted()).toBe(0)
    expect(await admitted()).toBeGreaterThan(0)
    await database.execute(
      "update service.form_attempt set stamps = (select array_agg(s + interval '1 hour') from unnest(stamps) s)"
    )
    expect(await admitted()).toBe(0)
    expect(await admitted()).toBeGreaterThan(0)
  })
})
