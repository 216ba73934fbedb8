/** Keys in URLs: parts separated by commas, each percent-encoded (docs/reference/resources.md#properties), to canonical cells and back. */

import * as Result from "effect/Result"
import type { FilterTree } from "../filter/tree.ts"
import { allOf } from "../filter/tree.ts"
import type { Model } from "../model/model.ts"
import { problem } from "../problem.ts"
import type { Problem } from "../problem.ts"
import { cellFromText } from "../value/cell.ts"
import type { Cell } from "../value/kind.ts"

/** A refused key: `errors: [{ message }]`. */
export const invalidKey = (message: string): Problem => problem("invalid-key", message, { errors: [{ message }] })

/** Reads a raw path segment as the model's key: canonical texts in key order. */
export const readKey = (model: Model, segment: string): Result.Result<readonly string[], Problem> => {
  const raw = model.key.length === 1 ? [segment] : segment.split(",")
  if (raw.length !== model.key.length) {
    return Result.fail(invalidKey(`The key has ${model.key.length} parts separated by commas.`))
  }
  const cells: string[] = []
  for (const [i, part] of raw.entries()) {
    let text: string
    try {
      text = decodeURIComponent(part)
    } catch {
      return Result.fail(invalidKey("The key is not valid percent-encoded UTF-8."))
    }
    const cell = cellFromText(model.key[i]!, text)
    if (Result.isFailure(cell)) return Result.fail(invalidKey("The key is not of the right form."))
    cells.push(cell.success)
  }
  return Result.succeed(cells)
}

/** The path segment of a record's key cells. */
export const writeKey = (cells: readonly Cell[]): string =>
  cells.map((cell) => encodeURIComponent(cell ?? "")).join(",")

/** The condition "one of these keys". Keys have no null; that of a row is of cells, as any of its values. */
export const keyed = ({ key: fields }: Pick<Model, "key">, keys: ReadonlyArray<readonly Cell[]>): FilterTree => {
  const literal = (cell: Cell | undefined) => ({ of: "literal", text: cell ?? "" }) as const
  const [only] = fields
  return fields.length === 1
    ? { op: "in", field: only!, values: keys.map(([part]) => literal(part)) }
    : {
      op: "or",
      items: keys.map((parts) =>
        allOf(fields.map((field, i) => ({ op: "compare", field, is: "=", value: literal(parts[i]) })))
      )
    }
}

const conditions = new WeakMap<Model, FilterTree>()

/** The condition "this key", with the key's parts as params 0…n-1. */
export const keyCondition = (model: Model): FilterTree => {
  let tree = conditions.get(model)
  if (tree === undefined) {
    tree = allOf(
      model.key.map((field, index) => ({ op: "compare", field, is: "=", value: { of: "param", index } }) as const)
    )
    conditions.set(model, tree)
  }
  return tree
}
