/** A body with lists of records below it, as the creates of a batch: the record, then those of each list, which refer to it. One level deep. */

import * as Result from "effect/Result"
import { problem } from "../problem.ts"
import type { Problem, ProblemError } from "../problem.ts"
import { isJsonList, isJsonObject } from "../value/json-kind.ts"
import type { Json } from "../value/kind.ts"
import { type BatchOperation, maxOperations } from "./batch.ts"
import { invalidRecord } from "./body.ts"

/** A relation to several records that a body has a list for. */
export interface NestedRelation {
  /** Its name in the body. */
  readonly name: string
  readonly resource: string
  /** The field of these records that has the key of the one above. */
  readonly field: string
}

interface Nested {
  readonly operations: readonly BatchOperation[]
  /** Where the record of each operation stands in the body; empty: it is the body. */
  readonly places: readonly string[]
}

/** The name of the record above. */
const above = "\0"

/** The creates of a body. Its lists are checked for their form only. */
export const nestedOperations = (
  resource: string,
  body: Json,
  relations: readonly NestedRelation[]
): Result.Result<Nested, Problem> => {
  const given = isJsonObject(body) ? body : {}
  const lists = new Map(relations.map((relation) => [relation.name, relation]))
  const record = Object.fromEntries(Object.entries(given).filter(([name]) => !lists.has(name)))
  const operations: BatchOperation[] = [{ op: "create", resource, data: record, ref: above, refers: "" }]
  const places = [""]
  const errors: ProblemError[] = []
  for (const { field, name, resource } of relations) {
    const list = given[name]
    if (!isJsonList(list)) {
      errors.push({ field: name, code: "type", message: "Expected a list of records." })
      continue
    }
    // Those beyond are too many with the record alone.
    for (const [at, item] of list.slice(0, maxOperations).entries()) {
      const place = `${name}[${at}]`
      if (!isJsonObject(item)) {
        errors.push({ field: place, code: "type", message: "The record must be a JSON object." })
      } else if (Object.hasOwn(item, field)) {
        const message = "The field has the key of the record above, and is not given here."
        errors.push({ field: `${place}.${field}`, code: "read-only", message })
      }
      if (errors.length >= maxErrors) return Result.fail(invalidRecord(errors))
      places.push(place)
      const data = { ...(isJsonObject(item) ? item : {}), [field]: { $ref: above } }
      operations.push({ op: "create", resource, data, ref: null, refers: field })
    }
  }
  if (operations.length > maxOperations) {
    const message = `A record and those below it are at most ${maxOperations}.`
    errors.push({ field: relations[0]!.name, code: "max", message })
  }
  return errors.length > 0 ? Result.fail(invalidRecord(errors)) : Result.succeed({ operations, places })
}

const maxErrors = 100

/** The refusal of a record below: its fields are those of the whole body, `lines[2].quantity`. */
export const belowRecord = (error: Problem, place: string): Problem => {
  const { errors = [] } = error.members
  const placed = errors.length === 0
    ? [{ field: place, message: error.detail }]
    : errors.map((each) => ({ ...each, field: each.field === undefined ? place : `${place}.${each.field}` }))
  return problem(error.slug, error.detail, { ...error.members, errors: placed }, error.headers)
}
