import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import { afterAll, beforeAll, describe } from "vitest"
import { makePostgres } from "../../adapters/postgres/connection.ts"
import { makeSubmissions } from "../../adapters/postgres/submissions.ts"
import type { SubmissionsService } from "../../core/ports/submissions.ts"
import { makeFakeSubmissions } from "../fakes/submissions.ts"
import { openDatabase } from "../support/postgres.ts"
import { submissionsContract } from "./submissions.ts"

describe("the fake", () => {
  const fake = makeFakeSubmissions()
  submissionsContract(() => fake)
})

describe("PostgreSQL, two instances in turns", () => {
  let instances: readonly SubmissionsService[] = []
  let release = async (): Promise<void> => {}
  let turn = 0
  beforeAll(async () => {
    // Nobody made the tables: the first use does.
    const database = await openDatabase("")
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
})
