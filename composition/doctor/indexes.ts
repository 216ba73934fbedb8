/**
 * Which indexes the declared lists, filters, searches and row filters need, compared with those there are. Pure: models and facts in,
 * findings out. On small tables a missing index is a note, since nothing is slow yet.
 */

import type { IndexFacts, TableFacts } from "../../core/domain/compile/catalogue.ts"
import type { Compiled } from "../../core/domain/compile/compile.ts"
import type { FilterTree } from "../../core/domain/filter/tree.ts"
import { indexed, indexedSort } from "../../core/domain/model/expression.ts"
import type { Field, Model } from "../../core/domain/model/model.ts"
import { quotedName, tableName } from "../../core/domain/model/table.ts"
import { hasOrder } from "../../core/domain/value/traits.ts"
import type { Finding } from "./finding.ts"

/** Whether an index serves every row that statements can ask for: it is whole, or leaves out deleted rows only. */
const serves = (index: IndexFacts, model: Model): boolean => {
  if (!index.valid) return false
  if (index.predicate === null) return true
  const { softDelete } = model
  if (softDelete === null) return false
  const column = quotedName(softDelete.column)
  return index.predicate === `(${column} IS NULL)` || index.predicate === `${column} IS NULL`
}

/** Whether some ordered index begins with these columns. */
const hasPrefix = (table: TableFacts, model: Model, columns: readonly string[]): boolean =>
  table.indexes.some((index) =>
    index.method === "btree" && serves(index, model) && columns.every((column, i) => index.columns[i]?.name === column)
  )

/** Whether some index begins with this column, or with the tenant and then this column. */
const isLed = (table: TableFacts, model: Model, column: string): boolean =>
  hasPrefix(table, model, [column]) || (model.tenant !== null && hasPrefix(table, model, [model.tenant.column, column]))

/** Whether an index serves what ranges of the column hold. */
const isLedByRanges = (table: TableFacts, column: string): boolean =>
  table.indexes.some((index) =>
    index.valid && index.predicate === null && (index.method === "gist" || index.method === "spgist") &&
    index.columns[0]?.name === column
  )

const hasTrigrams = (table: TableFacts, column: string): boolean =>
  table.indexes.some((index) =>
    index.valid && index.predicate === null && (index.method === "gin" || index.method === "gist") &&
    index.columns.some(({ name, operators }) =>
      operators.endsWith("trgm_ops") &&
      (name === column || (name === null && index.definition.includes(quotedName(column))))
    )
  )

/** Whether an inverted index holds the elements of this column. Those of the extension `intarray` serve other operators. */
const hasElements = (table: TableFacts, model: Model, column: string): boolean =>
  table.indexes.some((index) =>
    index.method === "gin" && serves(index, model) &&
    index.columns.some(({ name, operators }) => name === column && operators === "array_ops")
  )

/** The text of an index without what the database writes otherwise: types of constants, brackets, spaces. */
const stripped = (sql: string): string =>
  sql.toLowerCase().replace(/::(?:"[^"]*"|[\w.])+(?:\[\])?/g, "").replace(/else\s+null(?=\s+end)/g, "")
    .replace(/\be(?=')/g, "").replace(/\\+/g, "\\").replace(/[\s()"]/g, "")

/** Whether some ordered index has an expression. */
const hasExpression = (table: TableFacts, model: Model, expression: string): boolean =>
  table.indexes.some((index) =>
    index.method === "btree" && serves(index, model) && stripped(index.definition).includes(stripped(expression))
  )

/** The fields that a condition looks at. */
const fieldsOf = (tree: FilterTree): ReadonlySet<Field> => {
  const fields = new Set<Field>()
  const waiting: FilterTree[] = [tree]
  while (waiting.length > 0) {
    const next = waiting.pop()!
    switch (next.op) {
      case "and":
      case "or":
        waiting.push(...next.items)
        break
      case "not":
        waiting.push(next.item)
        break
      case "search":
        next.fields.forEach((field) => fields.add(field))
        break
      case "pair":
        fields.add(next.field).add(next.other)
        break
      case "some":
      case "count":
        fields.add(next.way.relation.from)
        break
      case "true":
      case "false":
        break
      default:
        fields.add(next.field)
    }
  }
  return fields
}

/** Columns that row filters of some caller use: filters of rules, and the owner where a capability ends in `.own`. */
const rowFilterFields = (model: Model, compiled: Compiled): ReadonlySet<Field> => {
  const fields = new Set<Field>()
  const rule = compiled.rules.get(model.name)?.read
  if (rule?.of === "filter") { for (const field of fieldsOf(rule.tree)) fields.add(field) }
  const capabilities = [...compiled.roles?.values() ?? []].flat()
  const own = capabilities.some((capability) =>
    capability.own && (capability.resource === "*" || capability.resource === model.name) &&
    (capability.operation === "*" || capability.operation === "read")
  )
  if (own && model.owner !== null) fields.add(model.owner)
  return fields
}

/** Findings about the indexes of one table. `rows` above `large` make a missing index a warning. */
export const checkIndexes = (
  model: Model,
  table: TableFacts,
  compiled: Compiled,
  basis: { readonly large: number; readonly trigrams: boolean }
): readonly Finding[] => {
  if (table.kind === "view" || table.kind === "materialized view" || table.kind === "foreign") return []
  const findings: Finding[] = []
  const level = (table.rows ?? 0) > basis.large ? "warning" as const : "note" as const
  const name = tableName(model)
  const tenant = model.tenant
  const keys = model.key.map((field) => field.column)
  const live = model.softDelete === null ? "" : ` where ${quotedName(model.softDelete.column)} is null`
  // On a partitioned table the database makes it partition by partition, and locks each against writes meanwhile.
  const concurrently = table.kind === "partitioned" ? "" : "concurrently "
  /** An index that leads with the tenant and ends with the key, so that it gives whole orders. */
  const index = (columns: readonly string[], expression: string | null = null): string => {
    const lead = tenant === null ? [] : [tenant.column]
    const all = [
      ...new Set(
        expression === null
          ? [...lead, ...columns, ...keys].map(quotedName)
          : [...lead.map(quotedName), expression, ...keys.map(quotedName)]
      )
    ]
    // A filter on the column of soft deletes asks for deleted rows.
    const rows = columns.includes(model.softDelete?.column ?? "") ? "" : live
    return `create index ${concurrently}on ${name} (${all.join(", ")})${rows};`
  }
  const say = (
    check: string,
    field: Field | null,
    message: string,
    sql: readonly string[],
    at: Finding["level"] = level,
    fix: string | null = null
  ): void => {
    findings.push({
      level: at,
      check,
      resource: model.name,
      field: field === null || field.system ? null : field.name,
      message,
      fix,
      sql
    })
  }

  if (tenant !== null && !hasPrefix(table, model, [tenant.column])) {
    say("index", tenant, "No index leads with the tenant column, and every statement asks for one tenant.", [index([])])
  }
  const done = new Set<string>(tenant === null ? [] : [tenant.column])
  const filtering = rowFilterFields(model, compiled)
  for (const field of filtering) {
    if (field.kind === "list" || field.member !== undefined) continue
    if (done.has(field.column) || isLed(table, model, field.column)) continue
    done.add(field.column)
    say("index", field, "Row filters use the column, and no index leads with it.", [index([field.column])])
  }
  for (const field of model.fields) {
    const target = compiled.models.get(field.relation ?? "")
    const isWayBack = [...target?.relations.values() ?? []].some((back) =>
      back.many && back.target === model.name && back.to === field.name
    )
    if (tenant === null || !isWayBack || target!.tenant !== null || !hasPrefix(table, model, [field.column])) continue
    const columns = [field.column, tenant.column]
    if (hasPrefix(table, model, columns) || hasPrefix(table, model, [...columns].reverse())) continue
    const all = [...new Set([...columns, ...keys])].map(quotedName).join(", ")
    say(
      "tenant",
      field,
      `The index on the foreign key does not go on with the tenant: how long a filter through the relation takes tells how many records of other tenants point at one of "${
        target!.name
      }".`,
      [`create index ${concurrently}on ${name} (${all})${live};`],
      "note"
    )
  }
  const virtual = new Set(table.columns.filter((column) => column.virtual).map((column) => column.name))
  for (const field of model.fields) {
    const { column } = field
    if (field.kind === "list") {
      const asked = field.filterable || filtering.has(field)
      if (asked && !virtual.has(column) && !hasElements(table, model, column)) {
        say("index", field, "Rows are filtered by its elements, and no GIN index has them.", [
          `create index ${concurrently}on ${name} using gin (${quotedName(column)});`
        ])
      }
      continue
    }
    const sort = indexedSort(field)
    if (field.sortable && sort !== quotedName(column) && !hasExpression(table, model, sort)) {
      say("index", field, "Lists can be sorted by its declared order, and no index gives that order.", [
        index([column], sort)
      ])
    }
    if (done.has(column) || isLed(table, model, column)) continue
    if (field.kind === "range" && isLedByRanges(table, column)) continue
    if (virtual.has(column)) {
      done.add(column)
      const asked = [
        ...(field.filterable ? [["filtered", "filterable()"]] as const : []),
        ...(field.sortable ? [["sorted", "sortable()"]] as const : []),
        ...(field.searched ? [["searched", "searched()"]] as const : [])
      ]
      if (asked.length === 0) continue
      say(
        "index",
        field,
        `Lists can be ${
          asked.map(([word]) => word).join(" or ")
        } by it, and the database makes no index of a virtual generated column.`,
        [],
        level,
        `Make the column stored, or remove ${asked.map(([, modifier]) => modifier).join(" and ")}.`
      )
      continue
    }
    if (field.sortable && sort === quotedName(column) && !(field.kind === "range" && field.filterable)) {
      done.add(column)
      say("index", field, "Lists can be sorted by it, and no index gives that order.", [index([column])])
    } else if (field.relation !== null) {
      done.add(column)
      say(
        "index",
        field,
        "The field is a foreign key without an index: to find the records that point at one other record, the database reads the whole table.",
        [index([column])]
      )
    } else if (field.kind === "range" && field.filterable) {
      done.add(column)
      say("index", field, "Lists can be filtered by what it holds, and no index serves that.", [
        `create index ${concurrently}on ${name} using gist (${quotedName(column)});`
      ])
    } else if (field.filterable && field.kind !== "boolean" && hasOrder(field.kind)) {
      done.add(column)
      say("index", field, "Lists can be filtered by it, and no index leads with it.", [index([column])])
    }
  }
  for (const field of model.members ?? []) {
    const expression = field.sortable ? indexedSort(field) : indexed(field)
    if ((field.kind === "boolean" && !field.sortable) || hasExpression(table, model, expression)) continue
    const asked = filtering.has(field)
      ? "Row filters use"
      : field.sortable
      ? "Lists can be sorted by"
      : "Lists can be filtered by"
    say("index", field, `${asked} the path, and no index is on it.`, [index([field.column], expression)])
  }
  for (const vector of model.vectors ?? []) {
    const served = table.indexes.some((each) =>
      each.valid && each.predicate === null && (each.method === "gin" || each.method === "gist") &&
      each.columns.some((column) => column.name === vector.column)
    )
    if (!served) {
      say("search", vector, "Words are looked for in it, and no GIN index serves that.", [
        `create index ${concurrently}on ${name} using gin (${quotedName(vector.column)});`
      ])
    }
  }
  if (basis.trigrams) {
    const texts = model.fields.filter((field) => field.kind === "text" && field.searched && !virtual.has(field.column))
    const missing = texts.filter((field) => !hasTrigrams(table, field.column))
    if (missing.length > 0) {
      const padded = (column: string): boolean =>
        table.columns.some((each) => each.name === column && each.base === "bpchar")
      const parts = missing.map(({ column }) =>
        `${padded(column) ? `(${quotedName(column)}::text)` : quotedName(column)} gin_trgm_ops`
      )
      say(
        "search",
        null,
        `Search reads ${missing.map((field) => field.name).join(", ")}, and no trigram index serves ${
          missing.length === 1 ? "it" : "them"
        }.`,
        [`create index ${concurrently}on ${name} using gin (${parts.join(", ")});`]
      )
    }
  }
  for (const each of table.indexes) {
    const columns = each.columns.map((column) => column.name)
    if (!each.valid && table.kind === "partitioned") {
      say(
        "index",
        null,
        `The index ${each.name} is not on every partition, so it is not used.`,
        [],
        "warning",
        "Make it on each partition, and attach these indexes to it: docs/guides/partitions.md."
      )
    } else if (!each.valid) {
      say("index", null, `The index ${each.name} is invalid: it was not built to the end.`, [
        `reindex index concurrently ${tableName({ schema: table.schema, table: each.name })};`
      ], "warning")
    } else if (each.unique && !each.primary && tenant !== null && !columns.includes(tenant.column)) {
      const plain = columns.every((column): column is string => column !== null)
      say(
        "tenant",
        null,
        `The unique index ${each.name} does not lead with the tenant column: a conflict tells one tenant what another has.`,
        plain
          ? [
            `create unique index ${concurrently}on ${name} (${[tenant.column, ...columns].map(quotedName).join(", ")})${
              each.predicate === null ? "" : ` where ${each.predicate}`
            };`
          ]
          : [],
        "warning"
      )
    }
  }
  return findings
}
