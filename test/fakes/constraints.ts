/**
 * Constraints and indexes of the tables of the records fake, as a database would have them besides keys. They are given as data and judged on whole
 * tables: a fake has few rows.
 */

import { identityOf } from "../../core/domain/model/model.ts"
import type { Field, Model } from "../../core/domain/model/model.ts"
import { cellFromText } from "../../core/domain/value/cell.ts"
import type { Cell, Row } from "../../core/domain/value/kind.ts"
import { RecordsError } from "../../core/ports/records.ts"
import type { RecordsReason } from "../../core/ports/records.ts"

interface ConstraintBase {
  readonly model: Model
  /** Its columns, as an error names them; null where it is about an expression. */
  readonly columns: readonly string[] | null
  /** Checked at the commit, and not with each statement. */
  readonly deferred?: boolean
}

/** A constraint of a table of the fake. */
export type FakeConstraint =
  | ConstraintBase & {
    readonly of: "unique"
    /** What no two rows may have alike; null is alike to nothing. */
    readonly keyOf: (row: Row) => string | null
  }
  | ConstraintBase & { readonly of: "check"; readonly passes: (row: Row) => boolean }
  | ConstraintBase & {
    readonly of: "reference"
    readonly field: Field
    /** The model whose key, of one column, the field holds. */
    readonly to: Model
  }

/** An index of a table of the fake. */
export interface FakeIndex {
  readonly model: Model
  readonly columns: readonly Field[]
  readonly method: "btree" | "gin" | "gist"
  /** Whether it has some rows only. */
  readonly partial: boolean
}

const sameTable = (a: Model, b: Model): boolean => a.schema === b.schema && a.table === b.table

/** A failure of the port; `columns` where they are known. */
export const refusal = (_tag: RecordsReason["_tag"], columns: readonly string[] | null = null): RecordsError =>
  new RecordsError({ reason: { _tag }, ...(columns === null ? {} : { columns }) })

const cellOf = (row: Row, { index }: Field): Cell => row[index] ?? null

/** Whether the rows satisfy a constraint. */
const holds = (constraint: FakeConstraint, rowsOf: (model: Model) => readonly Row[]): boolean => {
  const rows = rowsOf(constraint.model)
  // Writes to another table, of many rows, must not become slow by a reference that nobody uses.
  if (rows.length === 0) return true
  switch (constraint.of) {
    case "check":
      return rows.every(constraint.passes)
    case "unique": {
      const keys = rows.map(constraint.keyOf).filter((key) => key !== null)
      return new Set(keys).size === keys.length
    }
    case "reference": {
      const [key] = identityOf(constraint.to)
      const targets = new Set(rowsOf(constraint.to).map((row) => cellOf(row, key!)))
      return rows.every((row) => {
        const cell = cellOf(row, constraint.field)
        return cell === null || targets.has(cell)
      })
    }
  }
}

const reasons = { unique: "Unique", check: "Check", reference: "ForeignKey" } as const

/**
 * The first of the constraints that the rows break, as the failure that it is; null where there is none. `written`: the model that a statement
 * wrote to, whose columns may be named. Null: all that there are, at a commit.
 */
export const violation = (
  constraints: readonly FakeConstraint[],
  written: Model | null,
  rowsOf: (model: Model) => readonly Row[]
): RecordsError | null => {
  for (const constraint of constraints) {
    const own = written !== null && sameTable(constraint.model, written)
    const touched = written === null || own || (constraint.of === "reference" && sameTable(constraint.to, written))
    if (!touched || holds(constraint, rowsOf)) continue
    return refusal(reasons[constraint.of], own ? constraint.columns : null)
  }
  return null
}

/** Whether a column cannot hold a cell, whatever else its value says: a number out of its range, a text that is none. */
export const isBadCell = (field: Field, cell: Cell): boolean => {
  if (cell === null) return false
  if (field.kind === "integer" || (field.kind === "decimal" && /^-?\d+(?:\.\d+)?$/.test(cell))) {
    return cellFromText(field, cell)._tag === "Failure"
  }
  return cell.includes("\0")
}

/** Whether one of the indexes is of the kind and begins with the columns, if there are any; one of some rows only counts where `partial`. */
export const hasIndex = (
  indexes: readonly FakeIndex[],
  { columns, method, model, partial }: FakeIndex
): boolean =>
  indexes.some((index) =>
    columns.length > 0 && sameTable(index.model, model) && index.method === method && (partial || !index.partial) &&
    columns.every((field, i) => index.columns[i] === field)
  )
