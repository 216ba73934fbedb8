/**
 * Reads on PostgreSQL: plans become statements, rows come back as exact texts. It adds nothing to what the domain decided: no condition, no column, no
 * second opinion about access.
 */

import * as Effect from "effect/Effect"
import { BoundedMap } from "../../core/domain/bounded.ts"
import type { Schemas } from "../../core/domain/declare/schemas.ts"
import { pathOf } from "../../core/domain/filter/tree.ts"
import { pathCellOf } from "../../core/domain/read/plan.ts"
import type { AggregatePlan, CountPlan, PagePlan, PageShape, RelatedPlan } from "../../core/domain/read/plan.ts"
import type { Cell, Row } from "../../core/domain/value/kind.ts"
import type { PlanEstimate, RecordsError, RecordsReader } from "../../core/ports/records.ts"
import { aggregateColumns, aggregateStatement, writeAggregate } from "./compile-aggregate.ts"
import { countStatement, judgedPages, pageStatement, writeCount, writePage } from "./compile-page.ts"
import { canonicalRelated, relatedStatement, relatedValues, writeRelated } from "./compile-related.ts"
import type { Pledge } from "./compile-walks.ts"
import { failed } from "./errors.ts"
import { passingRows, type PlanNode, planProcesses, type Scan, throughCost, wholeScans } from "./estimate.ts"
import type { IdempotencyStore } from "./idempotency.ts"
import { type Pledges, pledgesOf } from "./pledges.ts"
import {
  bind,
  canonicalColumn,
  canonicalRows,
  identifier,
  LiteralWriter,
  longestPrepared,
  quoted,
  type Rows,
  type RunValues,
  type Statement,
  tableOf,
  valuesOf,
  type Writer
} from "./sql.ts"

export interface RunHow {
  readonly prepare: boolean
  /** It holds a caller's regular expression: it runs under the short time limit of those. */
  readonly regex: boolean
  /** It is planned as if no table could be read from end to end. */
  readonly byIndex?: boolean
  /** A time limit of its own, where there is no transaction around it. */
  readonly timeoutMs?: number
}

/** Longest time of a statement that holds a caller's regular expression. */
export const regexTimeoutMs = 500

/** For statements that are sent now and then. */
export const once: RunHow = { prepare: false, regex: false }
const prepared: RunHow = { prepare: true, regex: false }
const noParams: readonly Cell[] = []
const noLimit = {}

/**
 * The schema of pg_trgm's functions, or null where the extension is not installed. It is asked for when it is needed, and kept once found.
 */
export interface Extensions {
  /** Where the service keeps answers. */
  readonly idempotency: IdempotencyStore
  readonly schemas: Schemas
  trigram: string | null
  /** Runs a statement outside of any transaction, for what is looked up when one has failed. */
  readonly lookUp: (sql: string) => Effect.Effect<Rows, RecordsError>
  /** Columns of constraints that were violated before, by table and name. */
  readonly constraints: BoundedMap<string, readonly string[]>
  readonly pledges: Pledges
}

const findTrigram =
  "select n.nspname::text from pg_extension e join pg_namespace n on n.oid = e.extnamespace where e.extname = 'pg_trgm'"

const noPosition: readonly Cell[] = []

type Plan = PagePlan | RelatedPlan | CountPlan | AggregatePlan

const statementOf = (plan: Plan, trigram: string, pledges: readonly Pledge[]): Statement =>
  "keys" in plan
    ? relatedStatement(plan, trigram)
    : "shape" in plan
    ? pageStatement(plan, trigram, pledges)
    : "of" in plan
    ? aggregateStatement(plan, trigram)
    : countStatement(plan, trigram)

/** The plan from an `explain`. The driver decodes JSON; a server that sends text is understood, too. */
const planOf = (rows: Rows): PlanNode => {
  const cell: unknown = rows[0]?.[0]
  const [{ Plan: root }] = (typeof cell === "string" ? JSON.parse(cell) : cell) as readonly [
    { readonly Plan: PlanNode }
  ]
  return root
}

const judgement = (
  root: PlanNode,
  scannedRows: number,
  scannedBytes = 0,
  scanned: Read["scanned"] = null
): PlanEstimate => ({
  cost: root["Total Cost"],
  through: throughCost(root),
  processes: planProcesses(root),
  rows: passingRows(root),
  scannedRows,
  scannedBytes,
  ...scanned === null ? {} : { scannedTable: { schema: scanned.schema, table: scanned.table } }
})

/** Rows and bytes that are read of a table, or of the partitions of one. */
interface Read {
  rows: number
  bytes: number
  parts: number
  /** Those of its biggest part. */
  largest: number
  readonly scanned: Scan | null
}

const nothingPledged: readonly Pledge[] = []

/** Whether a page is read by walks of which each is judged by itself: one of all rows is one statement. */
const isWalked = (plan: Plan): plan is PagePlan =>
  !("keys" in plan) && "shape" in plan && pathOf(plan.shape.order) !== null && plan.whole !== true &&
  (plan.offset ?? 0) === 0 && plan.counted === undefined

/**
 * The judgement of several walks: that of the first, which goes through the rows with a value and needs the indexes. How far the others go, only time
 * shows: a page that the first one fills does not begin them.
 */
const allWalks = ([first, ...others]: readonly PlanEstimate[]): PlanEstimate => ({
  ...first!,
  through: Math.max(first!.through, ...others.map(({ through }) => through)),
  rows: others.reduce((sum, { rows }) => sum + rows, first!.rows)
})

/** Makes the timestamps of a page canonical, in place. */
export const canonicalPage = (rows: ReadonlyArray<Cell[]>, shape: PageShape): ReadonlyArray<Cell[]> => {
  const path = pathOf(shape.order)
  if (path !== null) canonicalColumn(rows, pathCellOf(shape), path.field)
  return canonicalRows(rows, shape.columns)
}

const nothingRead: Read = { rows: 0, bytes: 0, parts: 0, largest: 0, scanned: null }

/** A plan as a statement, written by the given writer. */
const writePlan = (plan: Plan, writer: Writer, pledges: readonly Pledge[]): Statement =>
  "keys" in plan
    ? writeRelated(plan, writer)
    : "shape" in plan
    ? writePage(plan, writer, pledges)
    : "of" in plan
    ? writeAggregate(plan, writer)
    : writeCount(plan, writer)

const valuesFor = (plan: Plan): RunValues =>
  "keys" in plan
    ? { bindings: plan.bindings, given: relatedValues(plan), offset: 0 }
    : "shape" in plan
    ? { bindings: plan.bindings, given: plan.after ?? plan.before ?? noPosition, offset: plan.offset ?? 0 }
    : valuesOf(plan.bindings)

/** A run that may come again: how often it came, and after enough times its statement with the values in it. */
interface Repeat {
  runs: number
  statement: Statement | null
}

const repeats = new WeakMap<Statement, BoundedMap<string, Repeat>>()

/** How many runs of one statement are remembered, and the longest values that are kept. */
const mostRepeats = 50
const longestValues = 500

/** After how many runs with the same values their plan is kept. */
const fewRuns = 5

/**
 * The statement with its values written into it, for pages and counts that are asked for again and again, such as the first pages of views.
 * Its plan is made for these values and kept until the statistics change. A plan for any value would not know how rare a value is.
 */
const repeated = (
  statement: Statement,
  params: readonly Cell[],
  write: () => Statement
): Statement | null => {
  if (statement.stable || statement.regex || statement.sql.length > longestPrepared) return null
  let key = ""
  for (const cell of params) key += cell === null ? "-" : `${cell.length}:${cell}`
  if (key.length > longestValues) return null
  let variants = repeats.get(statement)
  if (variants === undefined) repeats.set(statement, variants = new BoundedMap(mostRepeats))
  const repeat = variants.get(key)
  if (repeat === undefined) {
    variants.set(key, { runs: 1, statement: null })
    return null
  }
  if (repeat.runs < fewRuns) {
    repeat.runs++
    return null
  }
  repeat.statement ??= write()
  // A text this long is not kept prepared, so there is nothing to gain.
  return repeat.statement.stable ? repeat.statement : null
}

/** The reading half of the port, on whatever `run` runs statements on. Each transaction makes one, so making it must cost nothing. */
export abstract class Reader implements RecordsReader {
  readonly extensions: Extensions

  constructor(extensions: Extensions) {
    this.extensions = extensions
  }

  /** Runs one statement. */
  abstract run(sql: string, params: readonly unknown[], how: RunHow): Effect.Effect<Rows, RecordsError>

  /** Runs a statement with its values; `write` writes it with the values in it, where that may pay. */
  #go(
    statement: Statement,
    values: RunValues,
    write?: (writer: Writer) => Statement,
    within?: number
  ): Effect.Effect<Rows, RecordsError> {
    const params = bind(statement, values)
    // Arguments of functions are never written into a statement.
    const literal = write === undefined || values.bindings.args !== undefined
      ? null
      : repeated(statement, params, () => write(new LiteralWriter(values, this.extensions.trigram ?? "public")))
    const limit = within === undefined ? noLimit : { timeoutMs: within }
    return literal === null
      ? this.run(statement.sql, params, { prepare: statement.stable, regex: statement.regex, ...limit })
      : this.run(literal.sql, noParams, { ...prepared, ...limit })
  }

  /** Compiles a statement and continues with it. If it needs pg_trgm, the extension's schema is found first. */
  #compiled<A>(
    compile: (trigramSchema: string) => Statement,
    next: (statement: Statement) => Effect.Effect<A, RecordsError>
  ): Effect.Effect<A, RecordsError> {
    const { extensions } = this
    const statement = compile(extensions.trigram ?? "public")
    if (!statement.trigram || extensions.trigram !== null) return next(statement)
    return Effect.flatMap(this.run(findTrigram, [], once), (rows) => {
      const schema = rows[0]?.[0] ?? null
      if (schema === null) return Effect.fail(failed("Unsupported"))
      extensions.trigram = schema
      return next(compile(schema))
    })
  }

  /** Compiles a statement and runs it. */
  execute(compile: (trigramSchema: string) => Statement, values: RunValues): Effect.Effect<Rows, RecordsError> {
    return this.#compiled(compile, (statement) => this.#go(statement, values))
  }

  /** What the database promises of the relations of a page's order, for what is made of it. */
  #pledged<A>(
    plan: Plan,
    next: (pledges: readonly Pledge[]) => Effect.Effect<A, RecordsError>
  ): Effect.Effect<A, RecordsError> {
    return "keys" in plan || !("shape" in plan) || pathOf(plan.shape.order) === null
      ? next(nothingPledged)
      : Effect.flatMap(pledgesOf(plan.shape, this.extensions.pledges, (sql) => this.run(sql, [], once)), next)
  }

  #read(plan: Plan): Effect.Effect<Rows, RecordsError> {
    const values = valuesFor(plan)
    return this.#pledged(plan, (pledges) =>
      this.#compiled(
        (trigram) => statementOf(plan, trigram, pledges),
        (statement) =>
          this.#go(
            statement,
            values,
            (writer) => writePlan(plan, writer, pledges),
            "within" in plan ? plan.within : undefined
          )
      ))
  }

  page(plan: PagePlan): Effect.Effect<readonly Row[], RecordsError> {
    return Effect.map(this.#read(plan), (rows): readonly Row[] => {
      const canonical = canonicalPage(rows, plan.shape)
      return plan.before === undefined ? canonical : [...canonical].reverse()
    })
  }

  related(plan: RelatedPlan): Effect.Effect<readonly Row[], RecordsError> {
    return Effect.map(this.#read(plan), (rows) => canonicalRelated(rows, plan))
  }

  /** The statement of a page with its values, as `use` runs it. */
  paged<A>(
    plan: PagePlan,
    use: (statement: Statement, params: readonly Cell[]) => Effect.Effect<A, RecordsError>
  ): Effect.Effect<A, RecordsError> {
    return this.#pledged(plan, (pledges) =>
      this.#compiled(
        (trigram) => pageStatement(plan, trigram, pledges),
        (statement) => use(statement, bind(statement, valuesFor(plan)))
      ))
  }

  count(plan: CountPlan): Effect.Effect<string, RecordsError> {
    return Effect.map(this.#read(plan), (rows) => rows[0]?.[0] ?? "0")
  }

  aggregate(plan: AggregatePlan): Effect.Effect<readonly Row[], RecordsError> {
    return Effect.map(this.#read(plan), (rows): readonly Row[] => canonicalRows(rows, aggregateColumns(plan)))
  }

  holding(
    { field, model, tenant, texts }: Parameters<RecordsReader["holding"]>[0]
  ): Effect.Effect<readonly string[], RecordsError> {
    const column = identifier(field.column)
    const [from, text] = field.kind === "list"
      ? [`${tableOf(model)} t, unnest(t.${column}) element`, "element"]
      : [tableOf(model), column]
    const whole = `${text}::text`
    const plain = `split_part(${whole}, '?', 1)`
    const own = tenant === undefined || model.tenant === null ? null : `${identifier(model.tenant.column)} = $2`
    return Effect.map(
      this.run(
        `select distinct ${whole} from ${from} where ${
          own === null ? "" : `${own} and `
        }${plain} in (select jsonb_array_elements_text($1::jsonb))`,
        [JSON.stringify(texts), ...own === null ? [] : [tenant]],
        once
      ),
      (rows) => rows.flatMap((row) => row[0] ?? [])
    )
  }

  estimate(plan: Plan): Effect.Effect<PlanEstimate, RecordsError> {
    return this.#pledged(plan, (pledges) => {
      if (!isWalked(plan)) return this.#estimated(plan, (trigram) => statementOf(plan, trigram, pledges))
      const count = judgedPages(plan, "public", pledges).length
      const each = Array.from(
        { length: count },
        (_, i) => this.#estimated(plan, (trigram) => judgedPages(plan, trigram, pledges)[i]!)
      )
      return Effect.map(Effect.all(each), allWalks)
    })
  }

  #estimated(plan: Plan, compile: (trigram: string) => Statement): Effect.Effect<PlanEstimate, RecordsError> {
    const values = valuesFor(plan)
    return this.#compiled(compile, (statement) => {
      const explain = (options: string, how = once) =>
        Effect.map(this.run(`explain (${options}) ${statement.sql}`, bind(statement, values), how), planOf)
      // Only `verbose` names the schema of a table, but it prints every expression, too. Most plans scan no table, so it is asked for only
      // when one does.
      return Effect.flatMap(
        explain("format json"),
        (root) =>
          wholeScans(root).length === 0
            ? Effect.succeed(judgement(root, 0))
            : Effect.flatMap(
              explain("format json, verbose"),
              (named) => this.#judged(named, explain("format json", { ...once, byIndex: true }))
            )
      )
    })
  }

  /** Sizes come from the catalogue, because the planner's row numbers are those after filtering. */
  #judged(root: PlanNode, byIndex: Effect.Effect<PlanNode, RecordsError>): Effect.Effect<PlanEstimate, RecordsError> {
    const scans = wholeScans(root)
    if (scans.length === 0) return Effect.succeed(judgement(root, 0))
    const names = scans.map((scan) => `to_regclass(${quoted(`${identifier(scan.schema)}.${identifier(scan.table)}`)})`)
    // As the planner does it: rows per page when last analyzed, times the pages there are now.
    const sizes =
      `select i::text, ceil(case when c.reltuples > 0 and c.relpages > 0 then c.reltuples / c.relpages else 60 end` +
      ` * (pg_relation_size(c.oid) / current_setting('block_size')::numeric))::text, pg_relation_size(c.oid)::text` +
      ` from unnest(array[${names.join(", ")}]::oid[]) with ordinality as n(oid, i) join pg_class c on c.oid = n.oid`
    return Effect.flatMap(this.run(sizes, [], once), (rows) => {
      const groups = new Map<number, Read>()
      for (const [i, size, bytes] of rows) {
        const scan = scans[Number(i) - 1]
        if (scan === undefined) continue
        const rows = Number(size) * scan.share
        const group = groups.get(scan.group) ?? nothingRead
        groups.set(scan.group, {
          rows: group.rows + rows,
          bytes: group.bytes + Number(bytes) * scan.share,
          parts: group.parts + 1,
          largest: Math.max(group.largest, rows),
          scanned: scan
        })
      }
      const reads = [...groups.values()]
      const biggest = (rowsOf: (read: Read) => number): PlanEstimate => {
        const most = reads.reduce((a, b) => rowsOf(b) > rowsOf(a) ? b : a, nothingRead)
        return judgement(root, Math.ceil(rowsOf(most)), most.bytes, most.scanned)
      }
      const summed = biggest(({ rows }) => rows)
      // Of small partitions the planner reads one whole rather than through an index that serves all of them.
      return reads.some(({ parts }) => parts > 1)
        ? Effect.map(byIndex, (plan) => wholeScans(plan).length > 0 ? summed : biggest(({ largest }) => largest))
        : Effect.succeed(summed)
    })
  }
}
