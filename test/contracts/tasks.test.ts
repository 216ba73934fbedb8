import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import { afterAll, beforeAll, describe } from "vitest"
import { makePostgres } from "../../adapters/postgres/connection.ts"
import { makeRecords } from "../../adapters/postgres/records.ts"
import { makeTaskStore, taskSchema } from "../../adapters/postgres/tasks.ts"
import type { RecordsService } from "../../core/ports/records.ts"
import type { TasksService } from "../../core/ports/tasks.ts"
import { makeFakeRecords } from "../fakes/records.ts"
import { makeFakeTasks } from "../fakes/tasks.ts"
import { openDatabase } from "../support/postgres.ts"
import { tasksContract } from "./tasks.ts"

describe("the fake", () => {
  const { pass, service: tasks } = makeFakeTasks()
  const made = { tasks, records: makeFakeRecords().service, pass: async (_: string, seconds: number) => pass(seconds) }
  tasksContract(() => made)
})

describe("PostgreSQL", () => {
  let made: {
    readonly tasks: TasksService
    readonly records: RecordsService
    readonly pass: (owner: string, seconds: number) => Promise<void>
  }
  let release = async (): Promise<void> => {}
  beforeAll(async () => {
    const schema = taskSchema().join(";\n")
    const database = await openDatabase(schema)
    // Safe to run again.
    await database.execute(schema)
    const scope = Scope.makeUnsafe()
    const postgres = await Effect.runPromise(
      Effect.provideService(makePostgres({ url: database.url }), Scope.Scope, scope)
    )
    made = {
      tasks: makeTaskStore(postgres),
      records: makeRecords(postgres),
      pass: (owner, seconds) =>
        database.execute(
          `update service.task set created_at = created_at - interval '${seconds} seconds', position = (position::numeric - ${seconds})::text
           where owner_id = '${owner}'`
        )
    }
    release = async () => {
      await Effect.runPromise(Scope.close(scope, Exit.void))
      await database.drop()
    }
  })
  afterAll(() => release())
  tasksContract(() => made)
})
