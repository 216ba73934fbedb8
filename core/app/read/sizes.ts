/** How many records several resources have for a caller, in one answer: what a sidebar shows beside its entries. */

import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import type { Bindings } from "../../domain/filter/tree.ts"
import { invalidParameter, type Problem } from "../../domain/problem.ts"
import { listRequest } from "../../domain/read/request.ts"
import { json } from "../ground/call.ts"
import type { Call, Reply } from "../ground/call.ts"
import { bindingsAt, permitted, pipeline, withArguments } from "../ground/core.ts"
import type { Core } from "../ground/core.ts"
import { countRows, recallRows } from "../ground/estimate.ts"
import { guardPlan } from "../ground/guard.ts"
import { recordsProblem } from "../ground/refusal.ts"
import { clockOf, type RequestFiber } from "../ground/timing.ts"
import { type Checked, checkList, sizeOf } from "./list.ts"

/** Most resources of one question. */
const mostSizes = 50

/** Counts that run at once: a sidebar leaves connections to others. */
const atOnce = 3

const readNames = ({ query }: Call): Result.Result<readonly string[], Problem> => {
  const other = query.find(([name]) => name !== "resources")
  if (other !== undefined) return Result.fail(invalidParameter(other[0], "This route takes \"resources\" only."))
  const names = [...new Set(query.flatMap(([, value]) => value.split(",")).map((name) => name.trim()))]
    .filter((name) => name !== "")
  return names.length === 0 || names.length > mostSizes || query.length > 1
    ? Result.fail(
      invalidParameter("resources", `Name 1 to ${mostSizes} resources in one parameter, separated by commas.`)
    )
    : Result.succeed(names)
}

/** The number of records that the first page of a list would tell; a list that is refused has none. */
const sizeOfList = (
  core: Core,
  fiber: RequestFiber,
  { access, args, key, shape }: Checked & Pick<Call, "args">,
  at: Bindings
): Effect.Effect<readonly [size: number, accuracy: string], Problem> => {
  const bindings = args === undefined ? at : { ...at, args }
  const count = { model: access.model, where: shape.page.where, bindings }
  const estimate = recallRows(core, clockOf(fiber), count, key)
  if (estimate !== null) return Effect.succeed(sizeOf(estimate, 0))
  const counted = Effect.catch(countRows(core, key, count), recordsProblem)
  return Effect.flatMap(
    guardPlan(core, access, key, { shape: shape.page, bindings }),
    () => Effect.map(counted, (estimated) => sizeOf(estimated, 0))
  )
}

/**
 * `GET /api/sizes?resources=a,b` answers `{ sizes: { a: { total_size_estimate, total_size_accuracy } } }`. A resource that the caller cannot list, or whose
 * count is refused or fails, is not in it; where every count fails, the answer is the problem of the first.
 */
export const sizes = (core: Core, call: Call): Effect.Effect<Reply, Problem> =>
  pipeline(
    () =>
      Result.map(readNames(call), (names) =>
        names.flatMap((name) => {
          const checked = Result.flatMap(permitted(call, name, "read"), (access) =>
            Result.flatMap(withArguments({ ...call, query: [] }, access), (own) =>
              Result.flatMap(listRequest([]), (request) =>
                Result.map(
                  Result.gen(() => checkList(core, own, access, request)),
                  (list) => own.args === undefined ? list : { ...list, args: own.args }
                ))))
          return Result.isSuccess(checked) ? [[name, checked.success] as const] : []
        })),
    (lists, fiber) => {
      const bindings = bindingsAt(clockOf(fiber), call.caller)
      const counted = Effect.forEach(
        lists,
        ([name, checked]) =>
          Effect.map(Effect.result(sizeOfList(core, fiber, checked, bindings)), (size) => [name, size] as const),
        { concurrency: atOnce }
      )
      return Effect.flatMap(counted, (answers) => {
        const first = answers[0]?.[1]
        if (first !== undefined && Result.isFailure(first) && answers.every(([, size]) => Result.isFailure(size))) {
          return Effect.fail(first.failure)
        }
        const sizes = Object.fromEntries(answers.flatMap(([name, size]) =>
          Result.isFailure(size)
            ? []
            : [[name, { total_size_estimate: size.success[0], total_size_accuracy: size.success[1] }]]
        ))
        return Effect.succeed(json(200, JSON.stringify({ sizes })))
      })
    }
  )
