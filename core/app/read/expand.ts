/**
 * `expand`: related records beside the records of a page. Each relation of a page is one statement, under the target resource's own access.
 * A relation that the caller cannot follow does not exist for them. Beside versions it also gives the names of those who made them, and no more of an account.
 */

import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import type { Access } from "../../domain/access/access.ts"
import { makerField } from "../../domain/access/versions.ts"
import { lower } from "../../domain/filter/text.ts"
import { allOf, always } from "../../domain/filter/tree.ts"
import type { Field, Relation } from "../../domain/model/model.ts"
import { invalidParameter } from "../../domain/problem.ts"
import type { Problem } from "../../domain/problem.ts"
import type { Layout } from "../../domain/read/item.ts"
import { listShape } from "../../domain/read/list.ts"
import type { PageShape } from "../../domain/read/plan.ts"
import { maxRelations } from "../../domain/read/request.ts"
import { endOfDigits } from "../../domain/value/digits.ts"
import type { Row } from "../../domain/value/kind.ts"
import type { Call } from "../ground/call.ts"
import { bindingsAt } from "../ground/core.ts"
import type { Checks, Core } from "../ground/core.ts"
import { guardPlan, queryKey } from "../ground/guard.ts"
import type { Warning } from "../ground/guard.ts"
import { answerTooLarge, recordsProblem } from "../ground/refusal.ts"
import { fromClock } from "../ground/timing.ts"

/** Most related records of one relation on one page. */
const maxRelated = 5_000
const maxDepth = 2

/** The relations to follow from a page's records. */
export type Expansion = readonly Step[]

const nothing: Result.Result<Expansion, Problem> = Result.succeed([])

/** Where an expansion goes: to related records, or to the name of the account whose id a version's field has. */
type Step = Way | { readonly maker: Field }

/** A relation to follow, the target's access, and the steps below it. */
interface Way {
  readonly relation: Relation
  readonly target: Access
  /** The target's field that pairs with `relation.from`. */
  readonly to: Field
  readonly below: Expansion
}

/** The hint names only what this caller can follow from here, whatever was asked for. */
const unknownRelation = (call: Call, from: Access, path: string): Problem => {
  const names = [...from.model.relations.keys()].filter((name) => stepTo(call, from, name) !== null)
    .concat(makerField(from)?.name ?? [])
  const listed = `${names.slice(0, 12).join(", ")}${names.length > 12 ? ", …" : ""}`
  return invalidParameter(
    "expand",
    `There is no relation "${path.slice(0, 100)}".`,
    names.length === 0 ? "No relation can be expanded here." : `The relations here: ${listed}.`
  )
}

/** The relation as this caller can follow it. Null when there is none, or when one of its ends is hidden. */
const stepTo = (call: Call, access: Access, name: string): Omit<Way, "below"> | null => {
  const relation = access.model.relations.get(name)
  if (relation === undefined || !access.restricted.byName.has(relation.from.name)) return null
  const target = call.access(relation.target)
  if (target === null || target.tenantMissing || target.decisions.read.of === "deny") return null
  const to = target.restricted.byName.get(relation.to)
  return to === undefined ? null : { relation, target, to }
}

/** Checks the `expand` parameter. */
export const checkExpand = (
  call: Call,
  access: Access,
  paths: readonly string[]
): Result.Result<Expansion, Problem> => paths.length === 0 ? nothing : Result.gen(() => plan(call, access, paths))

const plan = function*(call: Call, access: Access, paths: readonly string[]): Checks<Expansion> {
  if (paths.length > maxRelations) {
    return yield* Result.fail(invalidParameter("expand", `At most ${maxRelations} relations can be expanded.`))
  }
  const tree = new Map<string, string[]>()
  for (const path of paths) {
    const [name = "", ...rest] = path.split(".")
    if (rest.length >= maxDepth) {
      return yield* Result.fail(invalidParameter("expand", `A relation can be followed ${maxDepth} levels deep.`))
    }
    const below = tree.get(name) ?? []
    tree.set(name, rest.length === 0 ? below : [...below, rest.join(".")])
  }
  const steps: Step[] = []
  for (const [name, below] of tree) {
    const step = stepTo(call, access, name)
    if (step === null) {
      const maker = makerField(access)
      if (maker?.name !== name || below.length > 0) return yield* Result.fail(unknownRelation(call, access, name))
      steps.push({ maker })
      continue
    }
    const nested: Step[] = []
    for (const path of below) {
      const next = stepTo(call, step.target, path)
      if (next === null) return yield* Result.fail(unknownRelation(call, step.target, `${name}.${path}`))
      nested.push({ ...next, below: [] })
    }
    steps.push({ ...step, below: nested })
  }
  return steps
}

/** The fields of the page's model that an expansion reads. */
export const expandFields = (expansion: Expansion): readonly Field[] => expansion.map(fromOf)

const fromOf = (step: Step): Field => "maker" in step ? step.maker : step.relation.from

/** What an expansion adds to an answer. */
export interface Expanded {
  /**
   * The JSON of the relations of a row, by the row's place on the page. Rows may share related records; the shared texts are not copied.
   */
  readonly membersOf: (row: number) => string
  /** What the scan guard says of the related tables. */
  readonly warnings: readonly Warning[]
}

/** Characters that related records may still take together. Each record counts once for each record that it belongs to. */
interface Room {
  left: number
}

/** Characters that are written in one turn of the event loop. Of records with lists of files, which have thousands of signatures, that takes some 20 ms. */
export const turnChars = 256 * 1024

/** Reads what a page's records relate to. */
export const expandRows = (
  core: Core,
  steps: Expansion,
  rows: readonly Row[],
  layout: Layout
): Effect.Effect<Expanded, Problem> => readSteps(core, steps, rows, layout, { left: core.options.maxAnswerBytes })

const readSteps = Effect.fnUntraced(function*(
  core: Core,
  steps: Expansion,
  rows: readonly Row[],
  layout: Layout,
  room: Room
): Effect.fn.Return<Expanded, Problem> {
  const members = rows.map((): string[] => [])
  const warnings: Warning[] = []
  for (const step of steps) {
    const position = layout.position.get(fromOf(step))!
    const values = [...new Set(rows.flatMap((row) => row[position] ?? []))]
    if ("maker" in step) {
      const names = values.length === 0 || core.namesOf === undefined
        ? noNames
        : yield* Effect.catch(core.namesOf(values), recordsProblem)
      for (const [i, row] of rows.entries()) {
        const name = names.get(row[position] ?? "")
        members[i]!.push(`${JSON.stringify(step.maker.name)}:${name === undefined ? "null" : JSON.stringify({ name })}`)
      }
      continue
    }
    const { related, warnings: more } = yield* readRelated(core, step, values, room)
    warnings.push(...more)
    const name = `${JSON.stringify(step.relation.name)}:`
    const nothing = step.relation.many ? "[]" : "null"
    for (const [i, row] of rows.entries()) {
      const key = row[position] ?? null
      const value = (key === null ? undefined : related.get(pairing(step.relation, key))) ?? nothing
      members[i]!.push(name + value)
    }
  }
  return { membersOf: (row) => `{${members[row]!.join(",")}}`, warnings }
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
  const found = new Set(keys)
  if (keys.some((key) => !wanted.has(key) && spelled.has(lower(key)))) return null
  return [...found].flatMap((key) => spelled.get(lower(key)) ?? []).filter((value) => !found.has(value))
}

/** What stands for a relation. */
interface Related {
  /** JSON by the value that relates, as `pairing` has it. */
  readonly related: ReadonlyMap<string, string>
  readonly warnings: readonly Warning[]
}

const readRelated = Effect.fnUntraced(function*(
  core: Core,
  step: Way,
  values: readonly string[],
  room: Room
): Effect.fn.Return<Related, Problem> {
  const found = new Map<string, string[]>()
  if (values.length === 0) return noRelated
  const { relation, target, to } = step
  const shape = listShape(target, {
    filterText: "",
    orderText: "",
    filter: always,
    order: target.model.key.map((field) => ({ field, descending: false })),
    fields: null,
    shown: { fields: target.restricted.fields, permissions: "none" },
    showDeleted: false,
    limit: maxRelated + 1,
    more: [to, ...expandFields(step.below)]
  }, core.items)
  const pageOf = (texts: readonly string[]): PageShape => ({
    ...shape.page,
    where: allOf([
      { op: "in", field: to, values: texts.map((text) => ({ of: "literal", text })) },
      shape.page.where
    ])
  })
  const bindings = yield* fromClock((clock) => bindingsAt(clock, target.caller))
  const query = { shape: pageOf(values), bindings }
  const warning = yield* guardPlan(core, target, queryKey(core, target, "expand", relation.name, to.name), query)
  const rows = yield* Effect.catch(core.records.page(query), recordsProblem)
  if (rows.length > maxRelated) {
    return yield* Effect.fail(invalidParameter(
      "expand",
      `This page has more than ${maxRelated} records of "${relation.name}". Ask for a smaller page.`
    ))
  }
  const below = step.below.length === 0 ? null : yield* readSteps(core, step.below, rows, shape.layout, room)
  const position = shape.layout.position.get(to)!
  const keys = rows.map((row) => pairing(relation, row[position] ?? ""))
  const spelled = to.kind === "text" ? Map.groupBy(values, lower) : null
  const doubtful = spelled === null ? [] : unpaired(values, keys, spelled)
  const folds = doubtful === null ||
    (doubtful.length > 0 &&
      (yield* Effect.catch(core.records.page({ shape: pageOf(doubtful), bindings }), recordsProblem)).length > 0)
  let written = 0
  for (const [i, row] of rows.entries()) {
    const text = shape.write(row, bindings).open + (below === null ? "}" : `,"expand":${below.membersOf(i)}}`)
    written += text.length
    if (written > turnChars) {
      written = 0
      yield* Effect.yieldNow
    }
    const key = keys[i]!
    for (const value of folds ? spelled?.get(lower(key)) ?? [] : [key]) {
      room.left -= text.length
      const list = found.get(value)
      if (list === undefined) found.set(value, [text])
      else list.push(text)
    }
    if (room.left < 0) return yield* Effect.fail(answerTooLarge("Ask for a smaller page, or for fewer relations."))
  }
  return {
    related: new Map([...found].map(([key, list]) => [key, relation.many ? `[${list.join(",")}]` : list[0]!])),
    warnings: [warning, ...below?.warnings ?? []]
  }
})

const noRelated: Related = { related: new Map(), warnings: [] }
