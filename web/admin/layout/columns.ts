/** The columns of a board: which there are, in which order, and which records each has. Pure. */

import type { MetaField } from "../../client/index.ts"
import type { Group } from "../list/within.ts"
import { plain } from "../model/plain.ts"

export { both, conditionOf, type Group } from "../list/within.ts"

/** A column of a board. */
export interface BoardColumn {
  /** Its value as a text that no other column has. */
  readonly id: string
  /** What a record of the column has in the field. */
  readonly value: unknown
  /** How many records there are; null: not known. */
  readonly count: number | null
}

/** The id of a column: empty for records without a value. */
export const columnId = (value: unknown): string => value === null || value === undefined ? "" : `=${plain(value)}`

const countOf = ({ measures }: Group): number => typeof measures["count"] === "number" ? measures["count"] : 0

/**
 * The columns. Of an enum all declared values in their order, also those without a record; of a relation those that have records, the most frequent first.
 * `groups` null: not counted, or not yet. Records without a value come first, where there may be any.
 */
export const boardColumns = (field: MetaField, groups: readonly Group[] | null): readonly BoardColumn[] => {
  const found = new Map(groups?.map((each) => [columnId(each.group[field.name]), each]))
  const none = found.get("")
  const column = (value: unknown): BoardColumn => {
    const group = found.get(columnId(value))
    return { id: columnId(value), value, count: group === undefined ? (groups === null ? null : 0) : countOf(group) }
  }
  const empty = none === undefined && (!field.optional || groups !== null) ? [] : [column(null)]
  if (field.kind === "enum") {
    const declared = field.values ?? []
    // A value that is declared no more may still be in records.
    const others = [...found].flatMap(([id, { group }]) =>
      id === "" || declared.includes(plain(group[field.name])) ? [] : [group[field.name]]
    )
    return [...empty, ...[...declared, ...others].map(column)]
  }
  return [
    ...empty,
    ...[...found.values()].flatMap(({ group }) => columnId(group[field.name]) === "" ? [] : [column(group[field.name])])
  ]
}

/** The columns in the order in which they stood before, new ones last: none goes aside while somebody looks at it. */
export const keptOrder = (columns: readonly BoardColumn[], before: readonly string[]): readonly BoardColumn[] => {
  const place = ({ id }: BoardColumn): number => {
    const at = before.indexOf(id)
    return at < 0 ? before.length : at
  }
  return before.length === 0 ? columns : columns.toSorted((a, b) => place(a) - place(b))
}

/** The sums of a measure by column and currency. `""` stands for no currency. */
export const sumsByColumn = (
  groups: readonly Group[],
  by: string,
  measure: string,
  currency: string | null
): ReadonlyMap<string, ReadonlyMap<string, string>> => {
  const sums = new Map<string, Map<string, string>>()
  for (const { group, measures } of groups) {
    const value = measures[measure]
    if (typeof value !== "string") continue
    const id = columnId(group[by])
    const own = sums.get(id) ?? new Map<string, string>()
    own.set(currency === null ? "" : plain(group[currency]), value)
    sums.set(id, own)
  }
  return sums
}
