/** The use cases of a person's tasks: progress, refusals, cancel, and for imports the check and the start. Only the owner can access a task. */

import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import { coversRoles, rolesKey, sharedRoles } from "../../domain/access/caller.ts"
import { accessDenied, invalidParameter, notFound, Problem, problem } from "../../domain/problem.ts"
import { csvValue } from "../../domain/task/csv.ts"
import { readPlan } from "../../domain/task/mapping.ts"
import { ended, mostKept, mostListed, taskDocument } from "../../domain/task/task.ts"
import type { Task, TaskRefusal } from "../../domain/task/task.ts"
import type { RecordsError } from "../../ports/records.ts"
import type { TasksApp } from "../app.ts"
import { named, noteWithin } from "../ground/audit.ts"
import { json, readJson } from "../ground/call.ts"
import type { Call, Reply } from "../ground/call.ts"
import { queueProblem, recordsProblem } from "../ground/refusal.ts"
import { inTransaction } from "../write/transaction.ts"
import { bulk } from "./bulk.ts"
import { importAccess, importFile } from "./import.ts"
import { type Tasking, taskNote } from "./tasking.ts"

const withProblems = <A>(effect: Effect.Effect<A, Problem | RecordsError>): Effect.Effect<A, Problem> =>
  Effect.catch(
    effect,
    (error): Effect.Effect<never, Problem> => error instanceof Problem ? Effect.fail(error) : recordsProblem(error)
  )

/**
 * Of the caller's own tasks, those that no more roles act in than the caller has. An API key with fewer roles than its owner must neither read what their
 * other tasks change nor end them. Roles that the owner has lost act in none, so the owner still sees a task that had them.
 */
const ownTasks = (use: Tasking, { access, caller }: Call, tasks: readonly Task[]) => {
  const own = tasks.filter((task) =>
    task.owner.id === caller.id && task.owner.tenant === caller.tenant && access(task.resource) !== null
  )
  const covers = (roles: readonly string[]): boolean => coversRoles(caller.roles, roles)
  return own.every(({ owner }) => covers(owner.roles))
    ? Effect.succeed(own)
    : Effect.map(use.rolesOf(caller.id, caller.tenant), (now) =>
      own.filter(({ owner: { roles } }) => {
        if (now === null || now === "elsewhere") return covers(roles)
        const acting = sharedRoles(roles, now)
        return covers(acting.length > 0 ? acting : now)
      }))
}

/** The caller's own task. For a caller who no longer sees its resource, or has too few roles, it does not exist. */
const ownTask = Effect.fnUntraced(function*(
  use: Tasking,
  call: Call,
  id: string
): Effect.fn.Return<Task, Problem | RecordsError> {
  const task = /^[A-Za-z0-9]{1,64}$/.test(id) ? yield* use.tasks.find(id) : null
  const [own] = yield* ownTasks(use, call, task === null ? [] : [task])
  return own ?? (yield* Effect.fail(notFound()))
})

const documentOf = Effect.fnUntraced(function*(use: Tasking, task: Task): Effect.fn.Return<Reply, RecordsError> {
  const refusals = yield* use.tasks.refusals(task.id, { offset: 0, limit: mostListed })
  return json(200, JSON.stringify(taskDocument(task, refusals)))
})

const wrongState = (task: Task): Problem => problem("conflict", `The task is ${task.state}.`, { state: task.state })

const reload = (use: Tasking, call: Call, id: string) =>
  Effect.flatMap(ownTask(use, call, id), (task) => documentOf(use, task))

/** States in which an import may be checked or started. */
const startable = ["uploaded", "checked"] as const

const begin = Effect.fnUntraced(function*(
  use: Tasking,
  call: Call,
  task: Task,
  verb: "check" | "start",
  body: Uint8Array
): Effect.fn.Return<Reply, Problem | RecordsError> {
  const { request } = task
  if (request.kind !== "import") return yield* Effect.fail(notFound())
  // It runs with the roles of the credential that uploaded the file. Another credential must not use those roles.
  if (rolesKey(call.caller) !== rolesKey(task.owner)) return yield* Effect.fail(accessDenied())
  if (!startable.some((state) => state === task.state)) return yield* Effect.fail(wrongState(task))
  const parsed = yield* Effect.fromResult(body.length === 0 ? Result.succeed({}) : readJson(body))
  const access = yield* Effect.fromResult(Result.gen(() => importAccess(call, task.resource, null)))
  const plan = yield* Effect.fromResult(readPlan(access, request, parsed))
  yield* Effect.fromResult(Result.gen(() => importAccess(call, task.resource, plan.mode)))
  const starting = inTransaction<boolean, Problem>(use.core, (tx) =>
    Effect.gen(function*() {
      const changed = yield* use.tasks.change(task.id, startable, {
        state: verb === "check" ? "checking" : "running",
        request: { ...request, plan },
        position: null,
        error: null,
        restart: true
      }, tx.handle)
      if (changed) yield* Effect.mapError(use.enqueue(task.id, tx.handle), queueProblem)
      if (changed && verb === "start") {
        yield* noteWithin(use.core, call.caller, [taskNote({ ...task, request: { ...request, plan } })], tx.handle)
      }
      return changed
    }))
  const begun = yield* verb === "start" ? named(use.core, call.caller, starting) : starting
  // Asked once the connection is free: many who wait for a second one would wait for each other.
  if (!begun) return yield* Effect.fail(wrongState((yield* use.tasks.find(task.id)) ?? task))
  use.wake()
  const reply = yield* reload(use, call, task.id)
  return { ...reply, status: 202 }
})

const cancel = Effect.fnUntraced(function*(
  use: Tasking,
  call: Call,
  task: Task
): Effect.fn.Return<Reply, Problem | RecordsError> {
  const open = ["uploading", "uploaded", "checking", "checked", "running"] as const
  const changed = yield* use.tasks.change(task.id, open, { state: "cancelled", drop: true })
  if (!changed && !ended.includes(task.state)) return yield* Effect.fail(wrongState(task))
  return yield* reload(use, call, task.id)
})

const columns = ["line", "column", "key", "field", "slug", "message"] as const

const table = (refusals: readonly TaskRefusal[]): string => {
  const text = csvValue("text", "comma", "escape")
  const lines = refusals.map((each) =>
    columns.map((name) => name === "line" ? each.line ?? "" : text(each[name])).join(",")
  )
  return `\uFEFF${columns.join(",")}\r\n${lines.map((line) => `${line}\r\n`).join("")}`
}

const report = Effect.fnUntraced(function*(
  use: Tasking,
  call: Call,
  task: Task
): Effect.fn.Return<Reply, Problem | RecordsError> {
  const [[name, format] = ["format", "csv"], more] = call.query
  if (name !== "format" || more !== undefined) {
    return yield* Effect.fail(
      invalidParameter((more?.[0] ?? name).slice(0, 100), "The only parameter is format.")
    )
  }
  if (format !== "csv" && format !== "ndjson") {
    return yield* Effect.fail(invalidParameter("format", "The parameter must be one of csv, ndjson."))
  }
  const refusals = yield* use.tasks.refusals(task.id, { offset: 0, limit: mostKept })
  return {
    status: 200,
    headers: {
      "content-type": format === "csv"
        ? "text/csv; charset=utf-8; header=present"
        : "application/x-ndjson; charset=utf-8",
      "content-disposition": `attachment; filename="report-${task.id}.${format}"`,
      "cache-control": "no-store"
    },
    body: format === "csv" ? table(refusals) : refusals.map((each) => `${JSON.stringify(each)}\n`).join("")
  }
})

const refuseQuery = (call: Call): Effect.Effect<void, Problem> =>
  call.query.length === 0
    ? Effect.void
    : Effect.fail(invalidParameter(call.query[0]![0].slice(0, 100), "This route takes no parameters."))

/** Where there are no tasks, lists have none, and their routes do not exist. */
export const noTasks: TasksApp = {
  bulk: () => Effect.fail(notFound()),
  import: () => Effect.fail(notFound()),
  task: () => Effect.fail(notFound()),
  tasks: (call) => Effect.as(refuseQuery(call), json(200, "{\"tasks\":[]}"))
}

/** Makes the use cases of tasks. */
export const makeTasks = (use: Tasking): TasksApp => ({
  bulk: bulk.bind(null, use),
  import: importFile.bind(null, use),
  tasks: (call) =>
    withProblems(Effect.flatMap(refuseQuery(call), () =>
      Effect.map(
        Effect.flatMap(use.tasks.list(call.caller), (tasks) => ownTasks(use, call, tasks)),
        (tasks) => json(200, JSON.stringify({ tasks: tasks.map((task) => taskDocument(task, null)) }))
      ))),
  task: (call, id, verb, body) =>
    withProblems(Effect.flatMap(ownTask(use, call, id), (task): Effect.Effect<Reply, Problem | RecordsError> => {
      if (verb === "report") return report(use, call, task)
      return Effect.flatMap(
        refuseQuery(call),
        () =>
          verb === null
            ? documentOf(use, task)
            : verb === "cancel"
            ? cancel(use, call, task)
            : begin(use, call, task, verb, body)
      )
    }))
})
