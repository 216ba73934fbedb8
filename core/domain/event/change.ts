/**
 * Captured changes, and their meaning for a resource: a create, an update, a delete and so on of one record. The API does not see soft-deleted records,
 * so their changes are not events. Other modules decide who gets an event.
 */

import type { ChangeOperation, CompiledEvent } from "../model/event.ts"
import type { Field, Model, WireRecord } from "../model/model.ts"
import { wireFromCell } from "../value/cell.ts"
import type { Cell, Row } from "../value/kind.ts"

/** A row as it was captured: canonical cells of the declared columns by their names. */
export type StoredRow = { readonly [column: string]: Cell }

/** Who wrote through the API. */
export interface Actor {
  readonly id: string
  readonly roles: readonly string[]
}

/** A captured change of a table. All of it is text, so that it survives a queue as it is. */
export interface StoredChange {
  /** Decimal text. It increases with every change of a record. */
  readonly sequence: string
  readonly transaction: string
  /** Canonical timestamp. */
  readonly at: string
  /** The table's name in captured changes. */
  readonly relation: string
  readonly operation: "insert" | "update" | "delete" | "reorder" | "truncate"
  readonly before: StoredRow | null
  readonly after: StoredRow | null
  /** Null: not written through the API. */
  readonly actor: Actor | null
}

/** A change of one record of a resource. Rows have the cells of all columns of the model. */
export interface RecordChange {
  readonly model: Model
  readonly operation: ChangeOperation
  readonly before: Row | null
  /** Null when the row was removed. */
  readonly after: Row | null
  readonly stored: StoredChange
}

const rowOf = ({ columns }: Model, stored: StoredRow | null): Row | null =>
  stored === null ? null : columns.map(({ column }) => stored[column] ?? null)

/** Whether the API sees a row at all: there is one, and it is not soft-deleted. */
export const isLive = ({ softDelete }: Model, row: Row | null): boolean =>
  row !== null && (softDelete === null || row[softDelete.index] === null)

/** The meaning of a captured change for a resource over its table. Null: the change is not visible in the API. */
export const recordChange = (model: Model, stored: StoredChange): RecordChange | null => {
  const before = rowOf(model, stored.before)
  const after = rowOf(model, stored.after)
  const was = isLive(model, before)
  const is = isLive(model, after)
  if (!was && !is) return null
  const operation = was && is
    ? stored.operation === "reorder" ? "reorder" : "update"
    : is
    ? before === null ? "create" : "undelete"
    : "delete"
  // The table may have columns that this resource does not declare.
  if (was && is && changedFields(model, before, after).length === 0 && sameSystem(model, before!, after!)) return null
  return { model, operation, before, after, stored }
}

const sameSystem = ({ columns }: Model, before: Row, after: Row): boolean =>
  columns.every(({ index }) => before[index] === after[index])

/** Declared fields whose values differ. If there is only one row: the fields that have a value in it. */
export const changedFields = ({ fields }: Model, before: Row | null, after: Row | null): readonly Field[] =>
  fields.filter(({ index }) => (before?.[index] ?? null) !== (after?.[index] ?? null))

/** The row that decides about a change: the row as written, or for a delete the row before it. */
export const judgedRow = ({ after, before, operation }: RecordChange): Row => (operation === "delete" ? before : after)!

/** The cells of a row by field. */
export const cellsOf = (row: Row) => (field: Field): Cell => row[field.index] ?? null

const wireOf = ({ fields }: Model, row: Row | null): WireRecord | null =>
  row === null
    ? null
    : Object.fromEntries(fields.map((field) => [field.name, wireFromCell(field, row[field.index] ?? null)]))

/** Whether an event stands for a change. Throws what its `match` throws. */
export const matches = (event: CompiledEvent, change: RecordChange): boolean => {
  const { after, before, model, operation } = change
  if (!event.on.has(operation)) return false
  if (event.match === null) return true
  const answer: unknown = event.match({ operation, before: wireOf(model, before), after: wireOf(model, after) })
  if (answer instanceof Promise) throw new TypeError("match answered a promise")
  return Boolean(answer)
}
