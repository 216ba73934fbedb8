/**
 * Which foreign keys become relations, and what each way between two records is called. A relation is one field that holds the whole key of
 * another record. It says of every other foreign key why it is none.
 */

import type { ColumnFacts, ForeignKeyFacts, TableFacts } from "../../core/domain/compile/catalogue.ts"
import { objectName } from "../../core/domain/compile/check.ts"
import { kindText, leftOut } from "./column.ts"
import { tableText, unique } from "./names.ts"
import { same } from "./table-key.ts"

/** A table that becomes a resource. */
export interface ResourceTable {
  readonly table: TableFacts
  readonly name: string
  readonly key: readonly string[]
  /** Field names by column. */
  readonly names: ReadonlyMap<string, string>
  /** What a person should know about it. */
  readonly notes: string[]
}

/** A column that becomes a relation: the resource it leads to, and the modifiers that name its two ways. */
export interface Pointer {
  readonly target: string
  readonly modifiers: readonly string[]
}

/** Relations by resource and column. */
export type Pointers = ReadonlyMap<string, ReadonlyMap<string, Pointer>>

const idOf = ({ schema, table }: ForeignKeyFacts["target"]): string => `${schema}\0${table}`

const columnOf = ({ table }: ResourceTable, name: string): ColumnFacts =>
  table.columns.find((column) => column.name === name)!

/**
 * A relation has the kind of the key it points at, so their types must be equal, except for the length of a text. Nor may one of them be only shown (`name`)
 * while the other is asked for: nobody could give a required relation its value then.
 */
const fits = (own: ColumnFacts, key: ColumnFacts): boolean => {
  const [a, b] = [own, key].map((each) => kindText(each)?.replace(/\.max\(\d+\)$/, ""))
  return a === b
}

/**
 * The column of a foreign key that holds the whole key of its target, or null. A foreign key of several columns has one where the target's
 * key is a single one of those that it points at: the others then follow from it.
 */
const holderOf = (foreign: ForeignKeyFacts, target: ResourceTable): string | null =>
  target.key.length === 1 ? foreign.columns[foreign.target.columns.indexOf(target.key[0]!)] ?? null : null

type Targets = ReadonlyMap<string, ResourceTable>

/** The resource that each column of a table leads to. Foreign keys of one column come first. */
const targetsOf = (place: ResourceTable, places: Targets): ReadonlyMap<string, ResourceTable> => {
  const targets = new Map<string, ResourceTable>()
  for (const foreign of place.table.foreignKeys.toSorted((a, b) => a.columns.length - b.columns.length)) {
    const target = places.get(idOf(foreign.target))
    const column = target === undefined ? null : holderOf(foreign, target)
    if (target === undefined || column === null || targets.has(column)) continue
    const own = columnOf(place, column)
    if (leftOut(own, place.key) === null && fits(own, columnOf(target, target.key[0]!))) targets.set(column, target)
  }
  return targets
}

/** Whether a key's kind can be found by following its relations: they must not lead in a circle. */
const grounded = (
  place: ResourceTable,
  targets: ReadonlyMap<ResourceTable, ReadonlyMap<string, ResourceTable>>
): boolean => {
  const seen = new Set<ResourceTable>()
  for (let at: ResourceTable | undefined = place; at !== undefined; at = targets.get(at)?.get(at.key[0]!)) {
    if (seen.has(at)) return false
    seen.add(at)
    if (at.key.length > 1) return true
  }
  return true
}

/** Names of relations, unique on both ends. Names that differ from the default are written down. */
class Ways {
  readonly #taken = new Map<string, Set<string>>()
  #of(resource: string): Set<string> {
    const names = this.#taken.get(resource)
    if (names !== undefined) return names
    const made = new Set<string>()
    this.#taken.set(resource, made)
    return made
  }
  forward(resource: string, field: string): string {
    const name = field.replace(/_id$/, "")
    return unique(objectName(name) === null ? name : `${name}_record`, this.#of(resource))
  }
  back(target: string, source: string, as: string): string {
    const taken = this.#of(target)
    return taken.has(source) ? unique(`${source}_by_${as}`, taken) : unique(source, taken)
  }
}

const listed = (columns: readonly string[]): string => columns.length === 1 ? columns[0]! : `(${columns.join(", ")})`

/** Why a foreign key is no relation; null where a note says so already, of its column. */
const whyNone = (
  place: ResourceTable,
  foreign: ForeignKeyFacts,
  places: Targets,
  all: readonly TableFacts[],
  circular: boolean
): string | null => {
  if (foreign.columns.some((name) => leftOut(columnOf(place, name), place.key) !== null)) return null
  const of = `${listed(foreign.columns)} is no relation: `
  const there = tableText(foreign.target.schema, foreign.target.table)
  const target = places.get(idOf(foreign.target))
  if (target === undefined) {
    return all.some((table) => table.kind === "partition" && same(table, foreign.target))
      ? `${of}it points at ${there}, a partition, and resources are of whole tables`
      : `${of}it points at ${there}, which is no resource here`
  }
  const column = holderOf(foreign, target)
  if (column === null) {
    return target.key.length > 1
      ? `${of}it points at ${there}, whose key has ${target.key.length} columns, and a relation is one field`
      : `${of}it points at ${there}.${listed(foreign.target.columns)}, and the key of ${there} is ${target.key[0]}`
  }
  const [own, key] = [columnOf(place, column), columnOf(target, target.key[0]!)]
  if (!fits(own, key)) {
    return `${column} is no relation: it is ${own.type}, and ${target.table.name}.${key.name} is ${key.type}`
  }
  return circular ? `${of}keys that point at each other in a circle have no kind` : null
}

/** The relations of all resources. What is none is noted at its resource. */
export const drawPointers = (places: readonly ResourceTable[], tables: readonly TableFacts[]): Pointers => {
  const byTable = new Map(
    places.map((place) => [idOf({ ...place.table, table: place.table.name, columns: [] }), place])
  )
  const targets = new Map(places.map((place) => [place, targetsOf(place, byTable)]))
  const ways = new Ways()
  const drawn: Array<{ place: ResourceTable; column: string; target: ResourceTable; as: string }> = []
  for (const place of places) {
    const circular = place.key.length === 1 && !grounded(place, targets)
    const own = targets.get(place)!
    for (const { name: column } of place.table.columns) {
      const target = own.get(column)
      if (target === undefined || (circular && column === place.key[0])) continue
      drawn.push({ place, column, target, as: ways.forward(place.name, place.names.get(column)!) })
    }
    for (const foreign of place.table.foreignKeys) {
      const target = byTable.get(idOf(foreign.target))
      const column = target === undefined ? null : holderOf(foreign, target)
      const lost = circular && column === place.key[0]
      if (column !== null && own.get(column) === target && !lost) continue
      const reason = whyNone(place, foreign, byTable, tables, lost)
      if (reason !== null && !place.notes.includes(reason)) place.notes.push(reason)
    }
  }
  const pointers = new Map<string, Map<string, Pointer>>()
  for (const { as, column, place, target } of drawn) {
    const field = place.names.get(column)!
    const back = ways.back(target.name, place.name, as)
    const modifiers = [
      ...(as === field.replace(/_id$/, "") ? [] : [`as(${JSON.stringify(as)})`]),
      ...(back === place.name ? [] : [`inverse(${JSON.stringify(back)})`])
    ]
    const own = pointers.get(place.name) ?? new Map<string, Pointer>()
    pointers.set(place.name, own.set(column, { target: target.name, modifiers }))
  }
  return pointers
}
