/** A scope with every kind of field, for tests of the filter language. */

import type { FilterScope } from "../../core/domain/filter/read.ts"
import { always } from "../../core/domain/filter/tree.ts"
import type { FilterTree, Operand } from "../../core/domain/filter/tree.ts"
import type { Field, Model } from "../../core/domain/model/model.ts"
import type { FieldParts } from "./model.ts"
import { makeField } from "./model.ts"

const parts: readonly FieldParts[] = [
  { name: "id", kind: "integer", bits: 64 },
  { name: "small", kind: "integer", bits: 16 },
  { name: "count", kind: "integer", bits: 32, alias: "amount" },
  { name: "name", kind: "text", searched: true, max: 80 },
  { name: "note", kind: "text", searched: true },
  { name: "active", kind: "boolean" },
  { name: "created_at", kind: "timestamp" },
  { name: "due", kind: "date" },
  { name: "total", kind: "decimal", precision: 12, scale: 2 },
  { name: "rate", kind: "decimal" },
  { name: "ratio", kind: "float" },
  { name: "status", kind: "enum", values: ["draft", "paid", "shipped", "it's \"odd\" *"] },
  { name: "level", kind: "enum", values: ["low", "mid", "high"], ordered: true },
  { name: "key", kind: "uuid" },
  { name: "extra", kind: "json" },
  { name: "currency", kind: "currency" },
  { name: "country", kind: "country" },
  { name: "tags", kind: "list" },
  { name: "marks", kind: "list", of: { kind: "decimal", precision: 12, scale: 2 } },
  { name: "days", kind: "list", of: { kind: "date" } },
  { name: "states", kind: "list", of: { kind: "enum", values: ["draft", "paid"] } },
  { name: "plain", kind: "text", filterable: false, sortable: false }
]

export const filterFields: readonly Field[] = parts.map((part, at) => makeField({ optional: true, ...part }, at))

export const filterField = (name: string): Field => {
  const field = filterFields.find((each) => each.name === name)
  if (field === undefined) throw new Error(`no field ${name}`)
  return field
}

export const scopeOf = (fields: readonly Field[], more: Partial<FilterScope> = {}): FilterScope => {
  const names = new Map(fields.map((field) => [field.name, field]))
  for (const field of fields) if (field.alias !== null) names.set(field.alias, field)
  return { names, searched: fields.filter((field) => field.searched), caller: false, ...more }
}

/** A scope with the first field of a model, and one relation to a record of the same model, with the fields of `scope`. */
export const scopeThrough = (name: string, model: Model, scope: FilterScope): FilterScope => {
  const [key] = model.fields
  if (key === undefined) throw new Error(`${model.name} has no field`)
  const relation = { name, target: model.name, many: false, from: key, to: key.name }
  const step = { way: { relation, model, to: key, rows: always }, scope }
  return scopeOf([key], { relations: { names: () => [name], step: (each) => each === name ? step : null } })
}

export const filterScope: FilterScope = scopeOf(filterFields)

const withoutSpan = (value: Operand): Operand => value.of === "literal" ? { of: "literal", text: value.text } : value

/** The tree without the places its functions and values had in a text. */
export const withoutSpans = (tree: FilterTree): FilterTree => {
  switch (tree.op) {
    case "and":
    case "or":
      return { op: tree.op, items: tree.items.map(withoutSpans) }
    case "not":
      return { op: "not", item: withoutSpans(tree.item) }
    case "some":
      return { op: "some", way: tree.way, item: withoutSpans(tree.item) }
    case "count":
      return { op: "count", way: tree.way, item: withoutSpans(tree.item), is: tree.is, number: tree.number }
    case "similar":
      return { op: "similar", field: tree.field, text: tree.text }
    case "regex":
      return { op: "regex", field: tree.field, pattern: tree.pattern }
    case "compare":
      return { ...tree, value: withoutSpan(tree.value) }
    case "in":
    case "has":
      return { ...tree, values: tree.values.map(withoutSpan) }
    default:
      return tree
  }
}
