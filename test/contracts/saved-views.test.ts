import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import { afterAll, beforeAll, describe } from "vitest"
import { makePostgres } from "../../adapters/postgres/connection.ts"
import { makeSavedViews, savedViewsSchema } from "../../adapters/postgres/saved-views.ts"
import type { SavedViewsService } from "../../core/ports/saved-views.ts"
import { makeFakeSavedViews } from "../fakes/saved-views.ts"
import { openDatabase } from "../support/postgres.ts"
import { savedViewsContract } from "./saved-views.ts"

describe("the fake", () => {
  const fake = makeFakeSavedViews()
  savedViewsContract(() => fake)
})

describe("PostgreSQL, two instances in turns", () => {
  let instances: readonly SavedViewsService[] = []
  let release = async (): Promise<void> => {}
  let turn = 0
  beforeAll(async () => {
    // An older program made the table, without what came later: the first use adds that.
    const database = await openDatabase("")
    for (const sql of savedViewsSchema()) await database.execute(sql)
    await database.execute("alter table service.saved_view drop column layout")
    const scope = Scope.makeUnsafe()
    const open = () =>
      Effect.runPromise(
        Effect.provideService(makePostgres({ url: database.url, waitMs: 30_000 }), Scope.Scope, scope)
      )
    instances = [makeSavedViews(await open()), makeSavedViews(await open())]
    release = async () => {
      await Effect.runPromise(Scope.close(scope, Exit.void))
      await database.drop()
    }
  })
  afterAll(() => release())
  savedViewsContract(() => instances[turn++ % 2]!)
})
