/**
 * `expand` and the paths of `fields`, checked against what the caller sees. A relation that the caller cannot follow does not exist for them, nor does a
 * field that they cannot read: each is refused as an unknown one is. What a step asks of its records is checked as it is for a list of them.
 */

import * as Result from "effect/Result"
import type { Access } from "../../domain/access/access.ts"
import { reach } from "../../domain/access/reach.ts"
import { makerField } from "../../domain/access/versions.ts"
import type { FilterTree } from "../../domain/filter/tree.ts"
import { always, pathsIn } from "../../domain/filter/tree.ts"
import type { Field, Relation } from "../../domain/model/model.ts"
import { invalidParameter, problem } from "../../domain/problem.ts"
import type { Problem, Span } from "../../domain/problem.ts"
import { spanIn } from "../../domain/read/expand.ts"
import type { ExpandStep, Inner, Steps } from "../../domain/read/expand.ts"
import { checkFilter, checkOrder, listShape, unknownField } from "../../domain/read/list.ts"
import type { ListShape } from "../../domain/read/list.ts"
import type { Call } from "../ground/call.ts"
import type { Checks, Core } from "../ground/core.ts"
import { relatedName } from "../ground/guard.ts"

/** Most related records of one relation on one page. */
export const maxRelated = 5_000

/** The relations to follow from a page's records. */
export type Expansion = ReadonlyArray<ExpandWay | Maker>

/** A way to the name of the account whose id a version's field has. */
interface Maker {
  readonly maker: Field
  /** The caller's: accounts are people of a tenant. */
  readonly tenant: string | null
}

/** A relation to follow, the target's access, and the steps below it. */
export interface ExpandWay {
  readonly relation: Relation
  readonly target: Access
  /** The target's field that pairs with `relation.from`. */
  readonly to: Field
  readonly below: Expansion
  /** All records, a page or the number of those of each record, or those below them, too. */
  readonly how: { readonly of: "all" | "page" | "count" } | { readonly of: "tree"; readonly depth: number }
  readonly shape: ListShape
  /** The step's own filter, for failures that it causes. */
  readonly filter: FilterTree
  readonly inner: Inner | null
  /** What tells the step's query from others of the same relation. */
  readonly name: readonly string[]
}

const nothing: Result.Result<Expansion, Problem> = Result.succeed([])

/** The hint names only what this caller can follow from here, whatever was asked for. */
const unknownRelation = (call: Call, from: Access, path: string): Problem => {
  const names = [...from.model.relations.keys()].filter((name) => reach(call.access, from, name) !== null)
    .concat(makerField(from)?.name ?? [])
  const listed = `${names.slice(0, 12).join(", ")}${names.length > 12 ? ", …" : ""}`
  return invalidParameter(
    "expand",
    `There is no relation "${path.slice(0, 100)}".`,
    names.length === 0 ? "No relation can be expanded here." : `The relations here: ${listed}.`
  )
}

const refused = (message: string, span: Span): Result.Result<never, Problem> =>
  Result.fail(problem("invalid-parameter", message, { errors: [{ parameter: "expand", message, span }] }))

/** A refusal of a text in a step, as one of the parameter: its spans lie in the whole of that. */
export const inExpand = (inner: Inner | null) => (refusal: Problem): Problem =>
  inner === null || (refusal.slug !== "invalid-filter" && refusal.slug !== "invalid-order-by")
    ? refusal
    : problem("invalid-parameter", refusal.detail, {
      errors: (refusal.members.errors ?? []).map(({ span, ...error }) => ({
        parameter: "expand",
        ...error,
        span: span === undefined ? { start: inner.start, end: inner.end } : spanIn(inner, span)
      }))
    })

/** Checks the steps of a request. */
export const checkExpand = (core: Core, call: Call, access: Access, steps: Steps): Result.Result<Expansion, Problem> =>
  steps.size === 0 ? nothing : Result.gen(() => planSteps(core, call, access, steps))

const planSteps = function*(core: Core, call: Call, access: Access, steps: Steps): Checks<Expansion> {
  const ways: Array<ExpandWay | Maker> = []
  for (const step of steps.values()) ways.push(yield* planStep(core, call, access, step))
  return ways
}

/** Whether a step asks for records as they are. */
const isBare = ({ below, fields, shape }: ExpandStep): boolean =>
  below.size === 0 && fields.size === 0 && Object.keys(shape).length === 0

const planStep = function*(core: Core, call: Call, access: Access, step: ExpandStep): Checks<ExpandWay | Maker> {
  const way = reach(call.access, access, step.name)
  if (way === null) {
    const maker = makerField(access)
    if (maker?.name === step.name && isBare(step)) return { maker, tenant: call.caller.tenant }
    return yield* Result.fail(
      step.asked === null
        ? unknownRelation(call, access, step.path)
        : invalidParameter(step.asked.parameter, unknownField(step.asked.path))
    )
  }
  const { relation, target, to } = way
  const { restricted } = target
  yield* checkShape(access, relation, step)
  const { shape: asked } = step
  for (const [name, parameter] of step.fields) {
    if (restricted.byName.has(name)) continue
    return yield* Result.fail(invalidParameter(parameter, unknownField(`${step.path}.${name}`)))
  }
  const filterText = asked.filter?.text ?? ""
  const orderText = asked.order_by?.text ?? ""
  const inner = asked.filter ?? null
  const filter = inner === null
    ? always
    : yield* Result.mapError(checkFilter(call.access, target, filterText), inExpand(inner))
  const order = yield* Result.mapError(checkOrder(call.access, target, orderText), inExpand(asked.order_by ?? null))
  const below = yield* planSteps(core, call, target, step.below)
  const how: ExpandWay["how"] = asked.count !== undefined
    ? { of: "count" }
    : asked.depth !== undefined
    ? { of: "tree", depth: asked.depth.value }
    : { of: asked.page_size === undefined ? "all" : "page" }
  const fields = step.whole ? null : [...step.fields.keys()]
  const shape = listShape(target, {
    filterText,
    orderText,
    filter,
    order,
    fields,
    parts: {
      fields: fields === null ? restricted.fields : restricted.fields.filter(({ name }) => fields.includes(name)),
      permissions: "none"
    },
    showDeleted: false,
    limit: (asked.page_size?.value ?? maxRelated) + 1,
    more: [to, ...expandFields(below), ...(how.of === "tree" ? [relation.from] : [])]
  }, core.items)
  const name = [how.of, relatedName(target, filter, pathsIn(order)), filterText, orderText]
  return { relation, target, to, below, how, shape, filter, inner, name }
}

/** Checks that the arguments of a step belong together, and to its relation. */
const checkShape = function*(access: Access, relation: Relation, step: ExpandStep): Checks<void> {
  const { below, fields, path, shape } = step
  const { count, depth, order_by: order, page_size: size } = shape
  const few = relation.many ? undefined : size ?? count ?? order
  if (few !== undefined) {
    yield* refused(`"${path}" is one record: page_size, count and order_by are for several.`, few)
  }
  if (
    count !== undefined &&
    (size !== undefined || depth !== undefined || order !== undefined || fields.size > 0 || below.size > 0)
  ) {
    yield* refused("count gives no records: it stands alone or with a filter.", count)
  }
  if (depth === undefined) return
  if (relation.target !== access.model.name) {
    yield* refused(`"${path}" does not lead to the same resource, so it has no depth.`, depth)
  }
  if (size !== undefined) yield* refused("depth and page_size do not go together.", size)
  if (below.has(relation.name)) yield* refused(`depth follows "${relation.name}" already.`, depth)
}

/** The fields of the page's model that an expansion reads. */
export const expandFields = (expansion: Expansion): readonly Field[] => expansion.map(fromOf)

export const fromOf = (step: ExpandWay | Maker): Field => "maker" in step ? step.maker : step.relation.from
