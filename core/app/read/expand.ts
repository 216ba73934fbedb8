/**
 * `expand`: related records beside the records of a page. Each relation of a page is one statement, under the target resource's own access.
 * Beside versions it also gives the names of those who made them, and no more of an account.
 */

import * as Effect from "effect/Effect"
import { lower } from "../../domain/filter/text.ts"
import type { Bindings } from "../../domain/filter/tree.ts"
import { allOf, pathOf } from "../../domain/filter/tree.ts"
import type { Relation } from "../../domain/model/model.ts"
import { invalidParameter } from "../../domain/problem.ts"
import type { Problem } from "../../domain/problem.ts"
import { itemWith, untagged } from "../../domain/read/item.ts"
import type { Layout } from "../../domain/read/item.ts"
import type { ListShape } from "../../domain/read/list.ts"
import type { PagePlan, PageShape, RelatedPlan } from "../../domain/read/plan.ts"
import { endOfDigits } from "../../domain/value/digits.ts"
import type { Row } from "../../domain/value/kind.ts"
import type { RecordsError } from "../../ports/records.ts"
import { bindingsAt } from "../ground/core.ts"
import type { Core } from "../ground/core.ts"
import { guardPlan, queryKey } from "../ground/guard.ts"
import type { Warning } from "../ground/guard.ts"
import { answerTooLarge, filteredProblem, recordsProblem } from "../ground/refusal.ts"
import { fromClock } from "../ground/timing.ts"
import { fromOf, inExpand, maxRelated } from "./expand-plan.ts"
import type { ExpandWay, Expansion } from "./expand-plan.ts"

/** What an expansion adds to an answer. */
export interface Expanded {
  /**
   * The JSON of the relations of a row, by the row's place on the page. Rows may share related records; the shared texts are not copied.
   */
  readonly membersOf: (row: number) => string
  /** What the scan guard says of the related tables. */
  readonly warnings: readonly Warning[]
  /** The record that a relation to one leads to from a row, or null. */
  readonly one: (row: number, relation: string) => RelatedRecord | null
}

/** A related record as it was read. */
export interface RelatedRecord {
  readonly row: Row
  readonly layout: Layout
  /** Its JSON without what it relates to itself. */
  readonly json: () => string
  readonly one: (relation: string) => RelatedRecord | null
}

/** Characters that related records may still take together. Each record counts once for each record that it belongs to. */
interface Room {
  left: number
  /** Whether related records have their ETags: those in a file have not. */
  readonly tagged: boolean
}

/** Characters that are written in one turn of the event loop. Of records with lists of files, which have thousands of signatures, that takes some 20 ms. */
export const turnChars = 256 * 1024

/** Reads what a page's records relate to. */
export const expandRows = (
  core: Core,
  steps: Expansion,
  rows: readonly Row[],
  layout: Layout,
  tagged = true
): Effect.Effect<Expanded, Problem> =>
  readSteps(core, steps, rows, layout, { left: core.options.maxAnswerBytes, tagged })

const readSteps = Effect.fnUntraced(function*(
  core: Core,
  steps: Expansion,
  rows: readonly Row[],
  layout: Layout,
  room: Room
): Effect.fn.Return<Expanded, Problem> {
  const members = rows.map((): string[] => [])
  const warnings: Warning[] = []
  const ones = new Map<string, (row: number) => RelatedRecord | null>()
  for (const step of steps) {
    const position = layout.position.get(fromOf(step))!
    const values = [...new Set(rows.flatMap((row) => row[position] ?? []))]
    if ("maker" in step) {
      const names = values.length === 0 || core.namesOf === undefined
        ? noNames
        : yield* Effect.catch(core.namesOf(values, step.tenant), recordsProblem)
      for (const [i, row] of rows.entries()) {
        const name = names.get(row[position] ?? "")
        members[i]!.push(`${JSON.stringify(step.maker.name)}:${name === undefined ? "null" : JSON.stringify({ name })}`)
      }
      continue
    }
    const { one, valueOf, warnings: more } = values.length === 0
      ? noneOf(step)
      : yield* readStep(core, step, values, room)
    warnings.push(...more)
    const name = `${JSON.stringify(step.relation.name)}:`
    for (const [i, row] of rows.entries()) members[i]!.push(name + valueOf(row[position] ?? null))
    ones.set(step.relation.name, (row) => one(rows[row]![position] ?? null))
  }
  return {
    membersOf: (row) => `{${members[row]!.join(",")}}`,
    warnings,
    one: (row, name) => ones.get(name)?.(row) ?? null
  }
})

const noNames: ReadonlyMap<string, string> = new Map()

/** A text that both ends of a relation have in common: 1.50 of one decimal column refers to 1.5 of another. */
const pairing = ({ from }: Relation, cell: string): string => {
  if (from.kind !== "decimal" || !cell.includes(".")) return cell
  const end = endOfDigits(cell)
  return cell.slice(0, cell.charCodeAt(end - 1) === 46 ? end - 1 : end)
}

/**
 * Whether the column ignores case, as `citext` does, so that `oak` finds `Oak`. The rows that were found tell. Null: it does, because keys
 * were found that the values spell in another case only. Otherwise the values that found nothing but differ from a found key in case only:
 * when they find a record by themselves, the column ignores case.
 */
const unpaired = (
  values: readonly string[],
  keys: readonly string[],
  spelled: ReadonlyMap<string, readonly string[]>
): readonly string[] | null => {
  const wanted = new Set(values)
  const spellings = new Set(keys)
  if (keys.some((key) => !wanted.has(key) && spelled.has(lower(key)))) return null
  return [...spellings].flatMap((key) => spelled.get(lower(key)) ?? []).filter((value) => !spellings.has(value))
}

/** What stands for a relation, by the value that relates. */
interface Companions {
  readonly valueOf: (value: string | null) => string
  readonly one: (value: string | null) => RelatedRecord | null
  readonly warnings: readonly Warning[]
}

const noOne = (): null => null

/** What stands where nothing is related. */
const emptyOf = ({ how, relation }: ExpandWay): string =>
  how.of === "page" ? pageText([], false) : how.of === "count" ? "{\"count\":0}" : relation.many ? "[]" : "null"

const pageText = (items: readonly string[], more: boolean): string => `{"items":[${items.join(",")}],"more":${more}}`

const noneOf = (step: ExpandWay): Companions => ({ valueOf: () => emptyOf(step), one: noOne, warnings: [] })

type Reading = Effect.Effect<Companions, Problem>

/** The query of a step: its bindings, and how its failures are told. */
const queryOf = ({ filter, inner, target }: ExpandWay): Effect.Effect<{
  readonly bindings: Bindings
  readonly told: <A>(effect: Effect.Effect<A, RecordsError>) => Effect.Effect<A, Problem>
}> =>
  Effect.map(fromClock((clock) => bindingsAt(clock, target.caller)), (bindings) => ({
    bindings,
    told: (effect) => Effect.mapError(Effect.catch(effect, filteredProblem(filter)), inExpand(inner))
  }))

/** Asks the guard about a step's query. */
const judge = (core: Core, step: ExpandWay, plan: PagePlan | RelatedPlan): Effect.Effect<Warning, Problem> => {
  const { filter, inner, name, relation, target, to } = step
  const key = queryKey(core, target, "expand", relation.name, to.name, ...name)
  return Effect.mapError(guardPlan(core, target, key, plan, filter), inExpand(inner))
}

const tooMany = (could: string, { relation }: ExpandWay, hint: string): Problem =>
  invalidParameter("expand", `This page ${could} more than ${maxRelated} records of "${relation.name}". ${hint}`)

/** Takes the characters of a text from what is left; false where they are too many. */
const take = (room: Room, text: string): boolean => {
  room.left -= text.length
  return room.left >= 0
}

const noRoom = (): Problem => answerTooLarge("Ask for a smaller page, or for fewer relations.")

const openOf = ({ write }: ListShape, row: Row, bindings: Bindings, { tagged }: Room): string => {
  const { open } = write(row, bindings)
  return tagged ? open : untagged(open)
}

/** A step's rows, written turn by turn, with what is below them. */
const itemsOf = Effect.fnUntraced(function*(
  core: Core,
  { below, shape }: ExpandWay,
  rows: readonly Row[],
  bindings: Bindings,
  room: Room
): Effect.fn.Return<{
  readonly opens: readonly string[]
  /** The text of a row. It is as long as all that it shares with others: take its characters before the next one is asked for. */
  readonly textOf: (row: number) => string
  readonly expanded: Expanded | null
  readonly warnings: readonly Warning[]
}, Problem> {
  const expanded = below.length === 0 ? null : yield* readSteps(core, below, rows, shape.layout, room)
  const opens: string[] = []
  let written = 0
  for (const row of rows) {
    const open = openOf(shape, row, bindings, room)
    opens.push(open)
    written += open.length
    if (written <= turnChars) continue
    written = 0
    yield* Effect.yieldNow
  }
  const textOf = (row: number): string => itemWith(opens[row]!, expanded?.membersOf(row) ?? null)
  return { opens, textOf, expanded, warnings: expanded?.warnings ?? [] }
})

/** All related records, found by one list of values. */
const readEvery = Effect.fnUntraced(function*(
  core: Core,
  step: ExpandWay,
  values: readonly string[],
  room: Room
): Effect.fn.Return<Companions, Problem> {
  const { relation, shape, to } = step
  const pageOf = (texts: readonly string[]): PageShape => ({
    ...shape.page,
    where: allOf([
      { op: "in", field: to, values: texts.map((text) => ({ of: "literal", text })) },
      shape.page.where
    ])
  })
  const { bindings, told } = yield* queryOf(step)
  // All rows are read anyway, so no walk in an order through relations would end early.
  const whole = pathOf(shape.page.order) !== null
  const query: PagePlan = { shape: pageOf(values), bindings, whole }
  const warning = yield* judge(core, step, query)
  const rows = yield* told(core.records.page(query))
  if (rows.length > maxRelated) return yield* Effect.fail(tooMany("has", step, "Ask for a smaller page."))
  const { expanded, opens, textOf, warnings } = yield* itemsOf(core, step, rows, bindings, room)
  const position = shape.layout.position.get(to)!
  const keys = rows.map((row) => pairing(relation, row[position] ?? ""))
  const spelled = to.kind === "text" ? Map.groupBy(values, lower) : null
  const doubtful = spelled === null ? [] : unpaired(values, keys, spelled)
  const folds = doubtful === null ||
    (doubtful.length > 0 &&
      (yield* told(core.records.page({ shape: pageOf(doubtful), bindings, whole }))).length > 0)
  const texts: string[] = []
  const places = new Map<string, number[]>()
  for (const [i, key] of keys.entries()) {
    const text = textOf(i)
    texts.push(text)
    for (const value of folds ? spelled?.get(lower(key)) ?? [] : [key]) {
      if (!take(room, text)) return yield* Effect.fail(noRoom())
      const list = places.get(value)
      if (list === undefined) places.set(value, [i])
      else list.push(i)
    }
  }
  const none = emptyOf(step)
  const written = new Map(
    Array.from(places, ([key, list]) => [
      key,
      relation.many ? `[${list.map((i) => texts[i]!).join(",")}]` : texts[list[0]!]!
    ])
  )
  return {
    valueOf: (value) => value === null ? none : written.get(pairing(relation, value)) ?? none,
    one: (value) => {
      const i = value === null ? undefined : places.get(pairing(relation, value))?.[0]
      return i === undefined ? null : {
        row: rows[i]!,
        layout: shape.layout,
        json: () => `${opens[i]!}}`,
        one: (name) => expanded?.one(i, name) ?? null
      }
    },
    warnings: [warning, ...warnings]
  }
})

/** The first related records of each value, and whether there are more. */
const readPages = Effect.fnUntraced(function*(
  core: Core,
  step: ExpandWay,
  values: readonly string[],
  room: Room
): Effect.fn.Return<Companions, Problem> {
  const { shape, to } = step
  const { limit } = shape.page
  if (values.length * limit > maxRelated) {
    const hint = "Ask for a smaller page, or for a smaller page_size of the relation."
    return yield* Effect.fail(tooMany("could have", step, hint))
  }
  const { bindings, told } = yield* queryOf(step)
  const plan: RelatedPlan = { shape: shape.page, to, keys: values, how: { of: "each" }, bindings }
  const warning = yield* judge(core, step, plan)
  const all = Map.groupBy(yield* told(core.records.related(plan)), (row) => row.at(-1)!)
  const rows = [...all.values()].flatMap((list) => list.slice(0, limit - 1))
  const { textOf, warnings } = yield* itemsOf(core, step, rows, bindings, room)
  const written = new Map<string, string>()
  let next = 0
  for (const [place, list] of all) {
    const items: string[] = []
    for (const end = next + Math.min(list.length, limit - 1); next < end; next++) {
      const text = textOf(next)
      if (!take(room, text)) return yield* Effect.fail(noRoom())
      items.push(text)
    }
    written.set(values[Number(place)]!, pageText(items, list.length >= limit))
  }
  const none = emptyOf(step)
  return {
    valueOf: (value) => value === null ? none : written.get(value) ?? none,
    one: noOne,
    warnings: [warning, ...warnings]
  }
})

/** The number of related records of each value. */
const readCounts = Effect.fnUntraced(function*(
  core: Core,
  step: ExpandWay,
  values: readonly string[]
): Effect.fn.Return<Companions, Problem> {
  const { shape, to } = step
  const { bindings, told } = yield* queryOf(step)
  const plan: RelatedPlan = { shape: shape.page, to, keys: values, how: { of: "counts" }, bindings }
  const warning = yield* judge(core, step, plan)
  const rows = yield* told(core.records.related(plan))
  const written = new Map(rows.map(([place, count]) => [values[Number(place)]!, `{"count":${count}}`]))
  const none = emptyOf(step)
  return {
    valueOf: (value) => value === null ? none : written.get(value) ?? none,
    one: noOne,
    warnings: [warning]
  }
})

/** Related records, their related records, and so on: each level is written into `expand` of the level before. */
const readTree = Effect.fnUntraced(function*(
  core: Core,
  step: ExpandWay,
  values: readonly string[],
  room: Room,
  depth: number
): Effect.fn.Return<Companions, Problem> {
  const { relation, shape, to } = step
  const { bindings, told } = yield* queryOf(step)
  const how = { of: "tree", from: relation.from, depth } as const
  const plan: RelatedPlan = { shape: shape.page, to, keys: values, how, bindings }
  const warning = yield* judge(core, step, plan)
  const rows = yield* told(core.records.related(plan))
  if (rows.length > maxRelated) return yield* Effect.fail(tooMany("has", step, "Ask for a smaller page or depth."))
  const { expanded, opens, warnings } = yield* itemsOf(core, step, rows, bindings, room)
  const from = shape.layout.position.get(relation.from)!
  const none = emptyOf(step)
  const name = `${JSON.stringify(relation.name)}:`
  // Whom a row belongs to: a level, and there a cell or the place of a value.
  const owned = new Map<string, string[]>()
  const written = (level: number, owner: string): string => {
    const list = owned.get(`${level} ${owner}`)
    return list === undefined ? none : relation.many ? `[${list.join(",")}]` : list[0]!
  }
  // The deepest first: a row is written with what is below it.
  for (let level = depth, i = rows.length - 1; level > 0; level--) {
    const first = rows.findIndex((row) => Number(row.at(-1)) === level)
    if (first === -1) continue
    for (let at = first; at <= i; at++) {
      const row = rows[at]!
      const cell = row[from] ?? null
      const members = [
        ...(level === depth ? [] : [name + (cell === null ? none : written(level + 1, cell))]),
        ...(expanded === null ? [] : [expanded.membersOf(at).slice(1, -1)])
      ]
      const related = members.length === 0 ? null : `{${members.join(",")}}`
      const text = itemWith(opens[at]!, related)
      if (!take(room, text)) return yield* Effect.fail(noRoom())
      const owner = `${level} ${row.at(-2)}`
      const list = owned.get(owner)
      if (list === undefined) owned.set(owner, [text])
      else list.push(text)
    }
    i = first - 1
  }
  const places = new Map(values.map((value, i) => [value, String(i)]))
  return {
    valueOf: (value) => value === null ? none : written(1, places.get(value)!),
    one: noOne,
    warnings: [warning, ...warnings]
  }
})

const readStep = (core: Core, step: ExpandWay, values: readonly string[], room: Room): Reading => {
  switch (step.how.of) {
    case "all":
      return readEvery(core, step, values, room)
    case "page":
      return readPages(core, step, values, room)
    case "count":
      return readCounts(core, step, values)
    case "tree":
      return readTree(core, step, values, room, step.how.depth)
  }
}
