/** Tables with relations between them: to one, to many, to themselves; with keys that lead nowhere, rows of other tenants and deleted rows. */

import type { RowsThrough } from "../../core/domain/filter/evaluate.ts"
import type { FilterScope, Step } from "../../core/domain/filter/read.ts"
import type { FilterTree, Way } from "../../core/domain/filter/tree.ts"
import { allOf, always } from "../../core/domain/filter/tree.ts"
import type { Model } from "../../core/domain/model/model.ts"
import type { Cell, Row } from "../../core/domain/value/kind.ts"
import { relatedIn } from "../fakes/reader.ts"
import { type FieldParts, makeModel } from "../support/model.ts"
import { leaf, tree, type TreeOptions } from "./filter.ts"
import { table } from "./model.ts"
import type { Random } from "./random.ts"

/** A table of a world. `seen`: which of its rows somebody sees who comes through a relation. */
export interface Place {
  readonly parts: readonly FieldParts[]
  readonly definitions: readonly string[]
  readonly model: Model
  readonly rows: readonly Row[]
  readonly seen: FilterTree
  readonly ways: readonly Way[]
}

/** Its tables lead from one to the next, and back. */
export interface World {
  readonly places: readonly Place[]
  readonly related: RowsThrough
}

const columns: readonly (readonly [FieldParts, string])[] = [
  [{ name: "self_id", kind: "integer", bits: 32, optional: true }, "integer"],
  [{ name: "up_id", kind: "integer", bits: 32, optional: true }, "integer"],
  [{ name: "tenant_no", kind: "integer", bits: 32, optional: true }, "integer"],
  [{ name: "gone_at", kind: "timestamp", optional: true }, "timestamptz"]
]

/** A world of three tables, with at most so many rows each. */
export const world = (random: Random, most: number, options: Omit<TreeOptions, "fields"> = {}): World => {
  const made = ["t0", "t1", "t2"].map((name, at) => {
    const { ascii = false } = options
    const { definitions, parts, rows } = table(random, name, most, { ascii, beyond: options.params !== undefined })
    const all = [...parts, ...columns.map(([part]) => part)]
    const relations = [
      { name: "self", target: name, many: false, from: "self_id", to: "id" },
      { name: "selves", target: name, many: true, from: "id", to: "self_id" },
      ...at > 0 ? [{ name: `up`, target: `t${at - 1}`, many: false, from: "up_id", to: "id" }] : [],
      ...at < 2 ? [{ name: `down`, target: `t${at + 1}`, many: true, from: "id", to: "up_id" }] : []
    ]
    const to = (): Cell => random.chance(4) ? null : String(random.below(most + 3))
    return {
      parts: all,
      definitions: [...definitions, ...columns.map(([, type]) => type)],
      model: makeModel({ name, fields: all, relations }),
      rows: rows.map((row): Row => [
        ...row,
        to(),
        to(),
        random.pick(["1", "1", "1", "2", null]),
        random.chance(5) ? "2026-01-01T00:00:00.000000Z" : null
      ])
    }
  })
  const seen = made.map(({ model, rows }) =>
    allOf([
      ...random.chance(2)
        ? [
          {
            op: "compare",
            field: model.byName.get("tenant_no")!,
            is: "=",
            value: options.params === undefined
              ? { of: "literal", text: "1" } as const
              : { of: "caller", value: "tenant" } as const
          } as const
        ]
        : [],
      ...random.chance(2) ? [{ op: "null", field: model.byName.get("gone_at")! } as const] : [],
      ...random.chance(4) ? [leaf(random, { ...options, fields: model.fields, rows })] : []
    ])
  )
  const places = made.map((each, at): Place => ({
    ...each,
    seen: seen[at]!,
    ways: [...each.model.relations.values()].map((relation) => {
      const target = made.findIndex(({ model }) => model.name === relation.target)
      const { model } = made[target]!
      return { relation, model, to: model.byName.get(relation.to)!, rows: seen[target]! }
    })
  }))
  const rowsOf = new Map<Model, readonly Row[]>(places.map(({ model, rows }) => [model, rows]))
  return { places, related: relatedIn((model) => rowsOf.get(model) ?? []) }
}

/** A tree over the rows of a place, with conditions through at most so many relations. */
export const relatedTree = (
  random: Random,
  { places }: World,
  place: Place,
  options: Omit<TreeOptions, "fields">,
  depth = 3,
  levels = 3
): FilterTree => {
  const through = (from: Place, left: number, deep: number): TreeOptions => ({
    ...options,
    fields: from.model.fields,
    rows: from.rows,
    ...left === 0 ? {} : {
      related: () => {
        const way = random.pick(from.ways)
        const target = places.find(({ model }) => model === way.model)!
        const item = random.chance(5)
          ? always
          : tree(random, through(target, left - 1, deep - 1), Math.max(0, deep - 1))
        const condition: FilterTree = random.chance(6)
          ? { op: "count", way, item, is: random.pick(["=", "<", "<=", ">", ">="] as const), number: random.below(4) }
          : { op: "some", way, item }
        return condition
      }
    }
  })
  return tree(random, through(place, depth, levels), levels)
}

/** The names in reach from a place. */
export const scopeOf = (world: World, place: Place): FilterScope => {
  const scopes = new Map<Place, FilterScope>()
  const made = (of: Place): FilterScope => {
    let scope = scopes.get(of)
    if (scope === undefined) {
      const step = (name: string): Step | null => {
        const way = of.ways.find(({ relation }) => relation.name === name)
        return way === undefined
          ? null
          : { way, scope: made(world.places.find(({ model }) => model === way.model)!) }
      }
      scopes.set(
        of,
        scope = {
          names: of.model.byName,
          searched: of.model.fields.filter((field) => field.searched),
          caller: false,
          relations: { names: () => of.ways.map(({ relation }) => relation.name), step }
        }
      )
    }
    return scope
  }
  return made(place)
}
