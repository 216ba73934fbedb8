/**
 * The changes that a paste, a fill or a delete means: one write a record with all its cells, and what cannot be written with the reason. It asks nothing of
 * the service. Pure.
 */

import type { Draft } from "../field/parse.ts"
import { type Area, columnsIn, rowsIn } from "../grid/range.ts"
import type { Messages } from "../messages/locale.tsx"
import { keyOf, type Resource } from "../model/catalogue.ts"
import type { AnyRecord } from "../model/client.ts"
import { columnAt } from "../model/paths.ts"
import { plain } from "../model/plain.ts"
import { fixedBy, fixedText } from "./fixed.ts"
import type { Table } from "./table.ts"
import { cellText } from "./text.ts"

/** Most records of one batch of the service. */
export const mostRecords = 500

type Data = { readonly [field: string]: unknown }

/** A record, and the values that its fields get. `record` is as it was read: its values and its version. */
export interface Edit {
  readonly key: string
  readonly record: AnyRecord
  readonly data: Data
}

/** A cell that stays as it is. `record` is null beyond the last row, `column` where it is about the whole record. */
export interface Refusal {
  readonly record: AnyRecord | null
  readonly column: string | null
  readonly text: string
  readonly why: string
}

export interface Plan {
  readonly edits: readonly Edit[]
  readonly refused: readonly Refusal[]
  /** Cells that have the value already. */
  readonly same: number
}

/** Where a table goes: from the first cell of a range on. A range that a table fits into several times is filled with it. */
export const targetOf = (area: Area, table: Table): Area => {
  const height = table.length
  const width = Math.max(1, ...table.map(({ length }) => length))
  const fills = rowsIn(area) % height === 0 && columnsIn(area) % width === 0
  return fills ? area : { ...area, bottom: area.top + height - 1, right: area.left + width - 1 }
}

/** The cell of a table for a place of its target; undefined where a row of the table is shorter, and the cell stays as it is. */
export const cellFor = (table: Table, down: number, across: number): string | undefined => {
  const width = Math.max(1, ...table.map(({ length }) => length))
  return table[down % table.length]?.[across % width]
}

/** Values in wire form are the same if their JSON is, whatever the order of members. */
const sorted = (_: string, value: unknown): unknown =>
  typeof value === "object" && value !== null && !Array.isArray(value)
    ? Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => a < b ? -1 : 1))
    : value

const same = (a: unknown, b: unknown): boolean =>
  a === b || JSON.stringify(a ?? null, sorted) === JSON.stringify(b ?? null, sorted)

interface Asked {
  readonly resource: Resource
  /** The columns of the target, from its first on: as many as the list has there. */
  readonly columns: readonly string[]
  /** The records of the target, from its first row on: as many as the list has there. */
  readonly records: readonly AnyRecord[]
  readonly rows: number
  readonly width: number
  /** What a cell gets. Undefined: it stays as it is. `text` is what is shown of it where it is refused. */
  readonly draftFor: (
    down: number,
    across: number,
    record: AnyRecord,
    column: string
  ) => { readonly draft: Draft; readonly text: string } | undefined
  readonly t: Messages
}

export const planOf = ({ columns, draftFor, records, resource, rows, t, width }: Asked): Plan => {
  const edits: Edit[] = []
  const refused: Refusal[] = []
  let unchanged = 0
  for (const [down, record] of records.entries()) {
    const data: { [field: string]: unknown } = {}
    for (const [across, column] of columns.entries()) {
      const given = draftFor(down, across, record, column)
      if (given === undefined) continue
      const { draft: { problem, value }, text } = given
      const path = columnAt(resource, column)
      // What a copy gave and a paste gives back is no change, also where no value can be written.
      if (problem === null ? same(value, record[column]) : path !== undefined && cellText(record, path) === text) {
        unchanged += 1
        continue
      }
      const fixed = fixedBy(resource, column, record)
      const why = fixed === null ? problem : fixedText(fixed, resource, column, t)
      if (why !== null) refused.push({ record, column, text, why })
      else data[column] = value
    }
    const key = keyOf(resource, record)
    if (key !== null && Object.keys(data).length > 0) edits.push({ key, record, data })
  }
  const more = rows - records.length
  if (more > 0) refused.push({ record: null, column: null, text: "", why: t.range.beyondRows(String(more)) })
  const wider = width - columns.length
  if (wider > 0) refused.push({ record: null, column: null, text: "", why: t.range.beyondColumns(String(wider)) })
  return { edits, refused, same: unchanged }
}

/** How many cells edits change. */
export const cellsOf = (edits: readonly Edit[]): number =>
  edits.reduce((sum, { data }) => sum + Object.keys(data).length, 0)

/** The edits that take others back: the values before, on the version that was written. A record that was not answered is left out. */
export const reversed = (
  edits: readonly Edit[],
  written: readonly (AnyRecord | null)[]
): readonly Edit[] =>
  edits.flatMap(({ data, key, record }, at) => {
    const now = written[at]
    if (now == null) return []
    const before = Object.fromEntries(Object.keys(data).map((name) => [name, record[name] ?? null]))
    return [{ key, record: now, data: before }]
  })

/** The edits without what a refusal of one of them names: its cells, or the whole record where it names none of them. `other`: the reason of the record. */
export const without = (
  edits: readonly Edit[],
  at: number,
  reasons: { readonly [field: string]: string },
  other: string
): Pick<Plan, "edits" | "refused"> => {
  const edit = edits[at]
  if (edit === undefined) return { edits, refused: [] }
  const { data, record } = edit
  const named = Object.keys(data).filter((name) => Object.hasOwn(reasons, name))
  const rest = Object.fromEntries(Object.entries(data).filter(([name]) => !named.includes(name)))
  return {
    edits: named.length > 0 && Object.keys(rest).length > 0
      ? edits.with(at, { ...edit, data: rest })
      : edits.toSpliced(at, 1),
    refused: named.length > 0
      ? named.map((column) => ({ record, column, text: plain(data[column]), why: reasons[column] ?? other }))
      : [{ record, column: null, text: "", why: other }]
  }
}

/**
 * Edits that take others back, on the records as they are now. A cell that somebody else changed stays as they left it, unless it has its former value already.
 * `now`: records that were read; others are as they were written.
 */
export const rebased = (
  back: readonly Edit[],
  now: ReadonlyMap<string, AnyRecord>,
  why: string
): Pick<Plan, "edits" | "refused"> => {
  const edits: Edit[] = []
  const refused: Refusal[] = []
  for (const edit of back) {
    const record = now.get(edit.key)
    if (record === undefined) {
      edits.push(edit)
      continue
    }
    const data: { [field: string]: unknown } = {}
    for (const [column, value] of Object.entries(edit.data)) {
      if (same(record[column], edit.record[column])) data[column] = value
      else if (!same(record[column], value)) refused.push({ record, column, text: plain(value), why })
    }
    if (Object.keys(data).length > 0) edits.push({ ...edit, record, data })
  }
  return { edits, refused }
}

/** The cells that a refusal is about: those of its whole record where it names none. */
export const cellRefusals = (refusal: Refusal, edits: readonly Edit[]): readonly Refusal[] => {
  const edit = refusal.column === null ? edits.find(({ record }) => record === refusal.record) : undefined
  return edit === undefined
    ? [refusal]
    : Object.entries(edit.data).map(([column, value]) => ({ ...refusal, column, text: plain(value) }))
}
