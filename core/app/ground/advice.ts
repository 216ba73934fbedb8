/**
 * What would make a refused read cheap: an index that is not there, on whichever table it is missing. It names no column that the caller may not know of, and
 * refuses nothing itself.
 */

import * as Effect from "effect/Effect"
import type { Access } from "../../domain/access/access.ts"
import { allOf, fieldsOf, ownKeys, pathOf, relatedOf } from "../../domain/filter/tree.ts"
import type { FilterTree, OrderKey, RelatedTree } from "../../domain/filter/tree.ts"
import { indexedSort } from "../../domain/model/expression.ts"
import type { Field, Model } from "../../domain/model/model.ts"
import { quotedName, tableName } from "../../domain/model/table.ts"
import type { Problem } from "../../domain/problem.ts"
import type { GroupField } from "../../domain/read/aggregate.ts"
import { isIndexable, suggestIndex } from "../../domain/read/guard.ts"
import type { GuardBound, IndexSuggestion, ScanGuard } from "../../domain/read/guard.ts"
import type { AggregatePlan, CountPlan, PagePlan, RelatedPlan } from "../../domain/read/plan.ts"
import type { PlanEstimate, RecordsService } from "../../ports/records.ts"
import { recordsProblem } from "./refusal.ts"

/** What advice needs of `Core`. */
export interface Advising {
  readonly options: { readonly scanGuard: ScanGuard }
  readonly records: Pick<RecordsService, "indexed">
}

/** What would help: an index that the planner would take, else the bound and its present value. */
export interface Advice {
  readonly hint: string
  readonly suggestion: string | null
}

export const adviceFor = (
  core: Advising,
  access: Access,
  plan: PagePlan | RelatedPlan | CountPlan | AggregatePlan,
  estimate: PlanEstimate,
  bound: GuardBound
): Effect.Effect<Advice, Problem> => {
  const option = `raise options.scanGuard.${bound}, which is ${core.options.scanGuard[bound]}`
  const narrower = bound === "seqScanRows" ? "Filter or order by indexed fields" : "Narrow the filter"
  const otherwise: Advice = { hint: `${narrower}, or ${option}.`, suggestion: null }
  const related = relatedIndexes(access, plan, estimate)
  if (related !== null) {
    return Effect.map(
      firstMissing(core, related),
      (index) => index === null ? otherwise : { hint: index.sql, suggestion: index.sql }
    )
  }
  const index = indexFor(access, plan, estimate)
  if (index === null) return Effect.succeed(otherwise)
  // Columns do not tell indexes on expressions apart.
  const asked = { model: access.model, ...index, columns: index.expression ? [] : index.columns }
  return Effect.map(
    Effect.catch(core.records.indexed(asked), recordsProblem),
    (there) =>
      there === null
        ? otherwise
        : there
        ? {
          hint:
            `An index for this exists, but the planner does not use it: analyze the table, narrow the filter, or ${option}.`,
          suggestion: null
        }
        : { hint: index.sql, suggestion: index.sql }
  )
}

/** An index on some table: the forms in which it is looked for, one at least, and as it is named to the caller. */
export interface TableIndex {
  readonly sql: string
  readonly asked: ReadonlyArray<Parameters<RecordsService["indexed"]>[0]>
}

/** The first of some indexes that is not there, in any of its forms, and can be made. */
export const firstMissing = (
  core: Pick<Advising, "records">,
  indexes: readonly TableIndex[]
): Effect.Effect<TableIndex | null, Problem> =>
  Effect.gen(function*() {
    for (const index of indexes) {
      let there = false
      for (const asked of index.asked) {
        there ||= (yield* Effect.catch(core.records.indexed(asked), recordsProblem)) ?? true
      }
      if (!there) return index
    }
    return null
  })

const equalities = (rows: FilterTree): readonly Field[] =>
  (rows.op === "and" ? rows.items : [rows]).flatMap((item) =>
    item.op === "compare" && item.is === "=" ? [item.field] : []
  )

const btree = (model: Model, columns: readonly Field[]): TableIndex["asked"][number] => ({
  model,
  columns,
  method: "btree",
  partial: true
})

export const createSql = (model: Model, columns: readonly Field[]): string =>
  `create index on ${tableName(model)} (${[...new Set(columns.map(indexedSort))].join(", ")})`

/**
 * The indexes that an order through relations needs, the target's first: its column after the columns in which the caller's rows agree, and each near
 * column. A caller is told of the columns that their path names; who holds the role `admin`, of all.
 */
export const pathIndexes = ({ caller, model }: Access, { field, ways }: Required<OrderKey>): readonly TableIndex[] => {
  const last = ways.at(-1)!
  const equal = equalities(last.rows)
  const named = caller.roles.includes("admin") ? [...equal, field, last.to] : [field, last.to]
  return [
    {
      sql: createSql(last.model, named),
      // Columns do not tell indexes on expressions apart.
      asked: indexedSort(field) !== quotedName(field.column)
        ? [btree(last.model, [])]
        : [btree(last.model, [...equal, field]), ...equal.length === 0 ? [] : [btree(last.model, [field])]]
    },
    ...ways.map(({ relation }, i): TableIndex => {
      const near = i === 0 ? model : ways[i - 1]!.model
      return { sql: createSql(near, [relation.from]), asked: [btree(near, [relation.from])] }
    })
  ]
}

const isTable = (model: Model, scanned: NonNullable<PlanEstimate["scannedTable"]>): boolean =>
  model.table === scanned.table && (model.schema === null || model.schema === scanned.schema)

/** An index for a condition about related records: on the table that was read from end to end, for what the caller asks of it. */
const filterIndex = (
  { item, way }: RelatedTree,
  model: Model,
  scanned: PlanEstimate["scannedTable"],
  all: boolean
): TableIndex | null => {
  if (scanned === undefined) return null
  if (!isTable(way.model, scanned)) {
    return isTable(model, scanned) && !way.relation.many
      ? { sql: createSql(model, [way.relation.from]), asked: [btree(model, [way.relation.from])] }
      : null
  }
  if (way.relation.many) return { sql: createSql(way.model, [way.to]), asked: [btree(way.model, [way.to])] }
  const own = fieldsOf(item)
  const index = suggestIndex(way.model, item, [], (field) => all || own.has(field))
  return index === null ? null : {
    sql: index.sql,
    asked: [{ model: way.model, ...index, columns: index.expression ? [] : index.columns }]
  }
}

/** The indexes that would help a read through relations; null for one that goes through none. */
const relatedIndexes = (
  access: Access,
  plan: PagePlan | RelatedPlan | CountPlan | AggregatePlan,
  estimate: PlanEstimate
): readonly TableIndex[] | null => {
  // Rows of some values are found by the field that pairs with them, whatever their order.
  const path = "shape" in plan && !("keys" in plan) && plan.whole !== true ? pathOf(plan.shape.order) : null
  if (path !== null) return pathIndexes(access, path)
  const related = relatedOf("shape" in plan ? plan.shape.where : plan.where)
  const { scannedTable } = estimate
  if (related.length === 0) return null
  const all = access.caller.roles.includes("admin")
  const model = "shape" in plan ? plan.shape.model : plan.model
  const indexes = related.flatMap((each) => filterIndex(each, model, scannedTable, all) ?? [])
  // Where the record's own table is read, its own conditions may have an index, too.
  return indexes.length === 0 && (scannedTable === undefined || isTable(model, scannedTable)) ? null : indexes
}

const askedFields = (plan: CountPlan | AggregatePlan): readonly Field[] => {
  if (!("of" in plan)) return []
  const own = (keys: ReadonlyArray<GroupField>) => keys.flatMap(({ field, ways }) => ways.length === 0 ? [field] : [])
  if (plan.of === "facets") return own([{ field: plan.field, ways: plan.ways ?? [] }])
  if (plan.of !== "groups") return [plan.field]
  const { keys, measures } = plan.question
  return [...own(keys), ...measures.flatMap((asked) => "field" in asked ? [asked.field] : [])]
}

const indexFor = (
  access: Access,
  plan: PagePlan | RelatedPlan | CountPlan | AggregatePlan,
  estimate: PlanEstimate
): IndexSuggestion | null => {
  const page = "shape" in plan
  if (!page && !isIndexable(estimate)) return null
  // What an aggregate groups or measures comes last in an index that serves it without the table.
  const order = page
    ? "keys" in plan && plan.how.of === "counts" ? [] : ownKeys(plan.shape.order)
    : askedFields(plan).map((field) => ({ field, descending: false }))
  const readable = new Set<Field>(access.restricted.fields)
  const all = access.caller.roles.includes("admin")
  // The field that pairs with the values comes first, as it would if the query were for one of them.
  const where = !page
    ? plan.where
    : "keys" in plan
    ? allOf([{ op: "in", field: plan.to, values: [] }, plan.shape.where])
    : plan.shape.where
  return suggestIndex(
    access.model,
    where,
    order,
    (field) => all || field.vector !== undefined || readable.has(field.member?.of ?? field),
    page
  )
}
