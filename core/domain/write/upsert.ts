/**
 * The readings of one upsert body (AIP-134, `allow_missing`): the body of a create, the body of an update, and the values that the found record must
 * have. It reads no stored record.
 */

import * as Result from "effect/Result"
import type { Access } from "../access/access.ts"
import type { Field, Model } from "../model/model.ts"
import { invalidParameter, problem } from "../problem.ts"
import type { Problem, ProblemError } from "../problem.ts"
import { unknownField } from "../read/list.ts"
import { cellFromJson, compareCells, wireFromCell } from "../value/cell.ts"
import { isJsonObject } from "../value/json-kind.ts"
import type { Cell, Json } from "../value/kind.ts"
import { invalidRecord, valueError } from "./body.ts"
import type { FieldValues } from "./body.ts"

/** The unique field that `match` names; null: the key. A hidden field is answered like an unknown one. */
export const readMatch = ({ restricted }: Access, name: string): Result.Result<Field | null, Problem> => {
  if (name === "") return Result.succeed(null)
  const field = restricted.byName.get(name)
  if (field === undefined) return Result.fail(invalidParameter("match", unknownField(name)))
  return field.unique
    ? Result.succeed(field)
    : Result.fail(invalidParameter("match", `The field "${name}" is not declared unique(): it names no record.`))
}

/** The model as it would be if that field were its key: for reading addresses and keys of batches. */
export const keyedBy = (model: Model, field: Field | null): Model => field === null ? model : { ...model, key: [field] }

interface Bodies {
  readonly create: Json
  readonly update: Json
  /** Values of fields that can be written by a create only. An update accepts them where they are stored already. */
  readonly fixed: FieldValues
}

/**
 * The bodies of both. `names` are the fields that the address gives, with their cells: a body may repeat them, and a create gets them. All values that are
 * wrong in both are reported by the bodies themselves.
 */
export const splitUpsert = (
  { restricted: { byName, creatable, updatable } }: Access,
  names: readonly Field[],
  cells: readonly string[],
  body: Json
): Result.Result<Bodies, Problem> => {
  if (!isJsonObject(body)) return Result.succeed({ create: body, update: body, fixed: new Map() })
  const errors: ProblemError[] = []
  const create: Array<readonly [string, Json]> = names.map((field, i) => [field.name, wireFromCell(field, cells[i]!)])
  const update: Array<readonly [string, Json]> = []
  const fixed = new Map<Field, Cell>()
  for (const [name, value] of Object.entries(body)) {
    const field = byName.get(name)
    const place = field === undefined ? -1 : names.indexOf(field)
    const once = field !== undefined && field.file === null && creatable.has(name) && !updatable.has(name)
    if (place < 0 && !once) {
      create.push([name, value])
      update.push([name, value])
      continue
    }
    const cell = cellFromJson(field!, value)
    if (Result.isFailure(cell)) errors.push(valueError(name, cell.failure))
    else if (place < 0) {
      create.push([name, value])
      fixed.set(field!, cell.success)
    } else if (cell.success === null || compareCells(field!, cell.success, cells[place]!) !== 0) {
      errors.push({ field: name, code: "invalid", message: "The value is not that of the address." })
    }
  }
  return errors.length > 0
    ? Result.fail(invalidRecord(errors))
    : Result.succeed({ create: Object.fromEntries(create), update: Object.fromEntries(update), fixed })
}

/** What an upsert demands: the version of an update, or that there is no record (`If-None-Match: *`, RFC 9110, 13.1.2). */
export const readCreateOnly = (ifMatch: string | null, ifNoneMatch: string | null): Result.Result<boolean, Problem> =>
  ifNoneMatch === null
    ? Result.succeed(false)
    : ifNoneMatch.trim() !== "*" || ifMatch !== null
    ? Result.fail(
      invalidParameter(
        "If-None-Match",
        "With allow_missing it is *, and stands without If-Match: create, but change nothing."
      )
    )
    : Result.succeed(true)

/** A create only, and the record is there. */
export const alreadyThere = (etag: string): Problem =>
  problem("precondition-failed", "There is such a record already.", { etag }, { etag })

/** A version was named, and there is no record that could have it. */
export const nothingToMatch = (): Problem =>
  problem("precondition-failed", "There is no such record, so no version of it matches. Send If-Match: * to create it.")
