/**
 * Reads on PostgreSQL: plans become statements, rows come back as exact texts. It adds nothing to what the domain decided: no condition, no column, no
 * second opinion about access.
 */

import * as Effect from "effect/Effect"
import type { Cell, Row } from "../../core/domain/model/model.ts"
import type { AggregatePlan, CountPlan, PagePlan } from "../../core/domain/read/plan.ts"
import type { PlanEstimate, RecordsError, RecordsReader } from "../../core/ports/records.ts"
import { aggregateColumns, aggregateStatement } from "./compile-aggregate.ts"
import { countStatement, pageStatement } from "./compile-page.ts"
import { failed } from "./errors.ts"
import { passingRows, type PlanNode, wholeScans } from "./estimate.ts"
import { bind, canonicalRows, identifier, quoted, type Statement, type Values, valuesOf } from "./sql.ts"

export type Rows = ReadonlyArray<Array<string | null>>

export interface RunHow {
  readonly prepare: boolean
  /** It holds a caller's regular expression: it runs under the short time limit of those. */
  readonly regex: boolean
}

/** Longest time of a statement that holds a caller's regular expression. */
export const regexTimeoutMs = 500

/** For statements that are sent now and then. */
export const once: RunHow = { prepare: false, regex: false }

/** Where pg_trgm's functions are, or null where the extension is not installed. Asked when it is needed, kept once found. */
export interface Extensions {
  trigram: string | null
}

const findTrigram =
  "select n.nspname::text from pg_extension e join pg_namespace n on n.oid = e.extnamespace where e.extname = 'pg_trgm'"

const noPosition: readonly Cell[] = []

type Plan = PagePlan | CountPlan | AggregatePlan

const statementOf = (plan: Plan, trigram: string): Statement =>
  "shape" in plan
    ? pageStatement(plan, trigram)
    : "of" in plan
    ? aggregateStatement(plan, trigram)
    : countStatement(plan, trigram)

const valuesFor = (plan: Plan): Values =>
  "shape" in plan
    ? { bindings: plan.bindings, given: plan.after ?? plan.before ?? noPosition, offset: plan.offset ?? 0 }
    : valuesOf(plan.bindings)

/** The reading half of the port, on whatever `run` runs statements on. One is made for each transaction: making it must cost nothing. */
export abstract class Reader implements RecordsReader {
  readonly extensions: Extensions

  constructor(extensions: Extensions) {
    this.extensions = extensions
  }

  /** Runs one statement. */
  abstract run(sql: string, params: readonly unknown[], how: RunHow): Effect.Effect<Rows, RecordsError>

  /** Compiles a statement and runs it; should it need pg_trgm, where that lives is found first. */
  execute(
    compile: (trigramSchema: string) => Statement,
    values: Values,
    explain = false
  ): Effect.Effect<Rows, RecordsError> {
    const { extensions } = this
    const go = (statement: Statement) =>
      this.run(
        explain ? `explain (format json, verbose) ${statement.sql}` : statement.sql,
        bind(statement, values),
        explain ? once : { prepare: statement.stable, regex: statement.regex }
      )
    const statement = compile(extensions.trigram ?? "public")
    if (!statement.trigram || extensions.trigram !== null) return go(statement)
    return Effect.flatMap(this.run(findTrigram, [], once), (rows) => {
      const schema = rows[0]?.[0] ?? null
      if (schema === null) return Effect.fail(failed("Unsupported"))
      extensions.trigram = schema
      return go(compile(schema))
    })
  }

  #plan(plan: Plan, explain = false): Effect.Effect<Rows, RecordsError> {
    return this.execute((trigram) => statementOf(plan, trigram), valuesFor(plan), explain)
  }

  page(plan: PagePlan): Effect.Effect<readonly Row[], RecordsError> {
    return Effect.map(this.#plan(plan), (rows): readonly Row[] => {
      const canonical = canonicalRows(rows, plan.shape.columns)
      return plan.before === undefined ? canonical : [...canonical].reverse()
    })
  }

  count(plan: CountPlan): Effect.Effect<string, RecordsError> {
    return Effect.map(this.#plan(plan), (rows) => rows[0]?.[0] ?? "0")
  }

  aggregate(plan: AggregatePlan): Effect.Effect<readonly Row[], RecordsError> {
    return Effect.map(this.#plan(plan), (rows): readonly Row[] => canonicalRows(rows, aggregateColumns(plan)))
  }

  estimate(plan: Plan): Effect.Effect<PlanEstimate, RecordsError> {
    return Effect.flatMap(this.#plan(plan, true), (rows) => this.#judged(rows))
  }

  /** Sizes come from the catalogue: the planner's own row numbers are those after filtering. */
  #judged(rows: Rows): Effect.Effect<PlanEstimate, RecordsError> {
    // The driver decodes json; a server that sends text is read the same.
    const cell: unknown = rows[0]?.[0]
    const [{ Plan: root }] = (typeof cell === "string" ? JSON.parse(cell) : cell) as readonly [
      { readonly Plan: PlanNode }
    ]
    const estimate = { cost: root["Total Cost"], rows: passingRows(root) }
    const scans = wholeScans(root)
    if (scans.length === 0) return Effect.succeed({ ...estimate, scannedRows: 0 })
    const names = scans.map((scan) => `to_regclass(${quoted(`${identifier(scan.schema)}.${identifier(scan.table)}`)})`)
    // The planner's own way: rows per page when last analyzed, times the pages there are now.
    const sizes =
      `select i::text, ceil(case when c.reltuples > 0 and c.relpages > 0 then c.reltuples / c.relpages else 60 end` +
      ` * (pg_relation_size(c.oid) / current_setting('block_size')::numeric))::text` +
      ` from unnest(array[${names.join(", ")}]::oid[]) with ordinality as n(oid, i) join pg_class c on c.oid = n.oid`
    return Effect.map(this.run(sizes, [], once), (found) => {
      const groups = new Map<number, number>()
      for (const [i, size] of found) {
        const scan = scans[Number(i) - 1]
        if (scan === undefined) continue
        groups.set(scan.group, (groups.get(scan.group) ?? 0) + Number(size) * scan.share)
      }
      return { ...estimate, scannedRows: Math.ceil(Math.max(0, ...groups.values())) }
    })
  }
}
