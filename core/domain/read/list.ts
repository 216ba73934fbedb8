/**
 * From a list request to its plan, against the restricted model only. Texts are checked, the caller's rows and soft delete are added, and
 * the order is made total. What does not depend on values is one `ListShape`, cached per restricted model. What does not depend on the
 * filter either is one `Face`, so a filter that comes only once costs little.
 */

import * as Result from "effect/Result"
import type { Access, RestrictedModel } from "../access/access.ts"
import {
  type Accesses,
  cachedText,
  checkedText,
  type Dependencies,
  liveOnly,
  scopeOf,
  seenRows,
  type Texts
} from "../access/reach.ts"
import { BoundedMap } from "../bounded.ts"
import { readFilter, readOrder } from "../filter/read.ts"
import type { FilterTree, OrderKey } from "../filter/tree.ts"
import { always, both, confined, not, ownKeys, pathOf, relatedOf } from "../filter/tree.ts"
import type { Field, Model } from "../model/model.ts"
import { invalidParameter, problem } from "../problem.ts"
import type { Problem, ProblemError } from "../problem.ts"
import { hasLinks, isOutdated, itemWriter, layoutOf } from "./item.ts"
import type { ItemTools, ItemWriter, Layout, RecordParts } from "./item.ts"
import { pathCellOf } from "./plan.ts"
import type { PageShape } from "./plan.ts"

/** How the records of a page look: which columns are read, and how a row of them is written. */
interface Face {
  readonly order: readonly OrderKey[]
  /** Where a row has the cells of the order's keys. */
  readonly cells: readonly number[]
  readonly layout: Layout
  readonly write: ItemWriter
  /** Whether items have links that end. */
  readonly ending: boolean
}

/** Everything about a page that does not depend on its position or the request's instant. */
export interface ListShape extends Face {
  readonly page: PageShape
}

type Checked<A> = Result.Result<A, readonly ProblemError[]>

/** Caches of one restricted model: checked texts, faces and shapes. Texts above `cachedText` characters are not worth keeping. */
interface Caches {
  readonly filters: Texts<Checked<FilterTree>>
  readonly orders: Texts<Checked<readonly OrderKey[]>>
  readonly faces: BoundedMap<string, { readonly access: Access; readonly face: Face }>
  readonly shapes: BoundedMap<string, { readonly access: Access; readonly shape: ListShape }>
}

const caches = new WeakMap<RestrictedModel, Caches>()

const cachesOf = (restricted: RestrictedModel): Caches => {
  let entry = caches.get(restricted)
  if (entry === undefined) {
    entry = {
      filters: new BoundedMap(500),
      orders: new BoundedMap(100),
      faces: new BoundedMap(100),
      shapes: new BoundedMap(500)
    }
    caches.set(restricted, entry)
  }
  return entry
}

const refusal = (
  slug: "invalid-filter" | "invalid-order-by",
  parameter: string,
  errors: readonly ProblemError[]
): Problem => problem(slug, errors[0]?.message ?? "The text is not valid.", { parameter, errors })

/** Checks a filter text for the caller, who reaches other resources by `accesses`; empty text lets every row pass. */
export const checkFilter = (
  accesses: Accesses,
  access: Access,
  text: string
): Result.Result<FilterTree, Problem> => {
  if (text.trim() === "") return Result.succeed(always)
  const checked = checkedText(
    cachesOf(access.restricted).filters,
    accesses,
    access,
    text,
    (asked) => readFilter(text, scopeOf(accesses, access, asked))
  )
  return Result.mapError(checked, (errors) => refusal("invalid-filter", "filter", errors))
}

/**
 * Checks an order text and makes it total: the key's fields are added, so no two rows are equal. The same text gives the same object to whoever sees the
 * same through its relations.
 */
export const checkOrder = (
  accesses: Accesses,
  access: Access,
  text: string
): Result.Result<readonly OrderKey[], Problem> => {
  const { restricted } = access
  const check = (asked: Array<Dependencies[number]>): Checked<readonly OrderKey[]> =>
    Result.map(
      text.trim() === ""
        ? Result.succeed([])
        : readOrder(text, scopeOf(accesses, access, asked)),
      (keys) => totalOrder(restricted.model, keys)
    )
  const checked = checkedText(cachesOf(restricted).orders, accesses, access, text, check)
  return Result.mapError(checked, (errors) => refusal("invalid-order-by", "order_by", errors))
}

/** The key comes last, in the direction of the last named key, so that one index serves both. */
const totalOrder = (model: Model, keys: readonly OrderKey[]): readonly OrderKey[] => {
  const named = new Set(ownKeys(keys).map((key) => key.field))
  const descending = keys.at(-1)?.descending ?? false
  const rest = model.key.filter((field) => !named.has(field)).map((field) => ({ field, descending }))
  return [...keys, ...rest]
}

/** The fields of a `fields` parameter in declared order; an unknown name and a hidden one are refused alike. */
export const checkFields = (
  restricted: RestrictedModel,
  names: readonly string[] | null
): Result.Result<readonly Field[], Problem> => {
  if (names === null) return Result.succeed(restricted.fields)
  const unknown = names.filter((name) => !restricted.byName.has(name))
  if (unknown.length > 0) {
    const errors = unknown.slice(0, 20).map((name) => ({ parameter: "fields", message: unknownField(name) }))
    return Result.fail(problem("invalid-parameter", errors[0]!.message, { errors }))
  }
  return Result.succeed(restricted.fields.filter((field) => names.includes(field.name)))
}

/** One message for an unknown name and a hidden one. */
export const unknownField = (name: string): string => `There is no field "${name.slice(0, 100)}".`

/** The rows of `visibleRows` that are soft-deleted, and no others. */
export const deletedRows = (access: Access, filter: FilterTree): FilterTree =>
  both(visibleRows(access, filter, true), not(liveOnly(access.model)))

/** Refuses `show_deleted=true` where nothing is soft-deleted. */
export const checkShowDeleted = (model: Model, showDeleted: boolean): Result.Result<boolean, Problem> =>
  showDeleted && model.softDelete === null
    ? Result.fail(invalidParameter("show_deleted", "This resource has no soft delete."))
    : Result.succeed(showDeleted)

/** The rows a request may see: row filter and tenant, soft delete, and the caller's filter. */
export const visibleRows = (access: Access, filter: FilterTree, showDeleted: boolean): FilterTree => {
  const seen = showDeleted ? access.rows : seenRows(access)
  return both(seen, confined(filter, access.rows))
}

const identities = new WeakMap<object, number>()
let lastIdentity = 0

const idOf = (value: object): number => {
  let id = identities.get(value)
  if (id === undefined) identities.set(value, id = ++lastIdentity)
  return id
}

/** Tells apart filters of one text that go through relations. Others depend on nothing but their text. */
const identityOf = (filter: FilterTree): string => {
  return relatedOf(filter).length === 0 ? "" : String(idOf(filter))
}

/** The same for orders. */
const orderIdentityOf = (order: readonly OrderKey[]): string => pathOf(order) === null ? "" : String(idOf(order))

interface ShapeRequest {
  readonly filterText: string
  readonly orderText: string
  readonly filter: FilterTree
  readonly order: readonly OrderKey[]
  readonly fields: readonly string[] | null
  readonly parts: RecordParts
  readonly showDeleted: boolean
  readonly limit: number
  /** Fields to read besides: the near sides of expanded relations. */
  readonly more: readonly Field[]
}

/** The shape of a list or get, from the cache where the same access asked the same before. */
export const listShape = (access: Access, request: ShapeRequest, tools: ItemTools): ListShape => {
  const { more, order, parts } = request
  const faceKey = [
    request.orderText,
    request.fields?.join(",") ?? "*",
    `${parts.permissions} ${order.length} ${orderIdentityOf(order)}`,
    more.map((field) => field.index).join(",")
  ].join("\u0000")
  // One text means other rows to who sees others through its relations.
  const key = `${request.showDeleted} ${request.limit} ${
    identityOf(request.filter)
  } ${faceKey}\u0000${request.filterText}`
  const cache = cachesOf(access.restricted).shapes
  const cached = cache.get(key)
  if (cached !== undefined && !isOutdated(cached.shape.layout) && sameDecisions(cached.access, access)) {
    return cached.shape
  }

  const face = faceOf(access, request, faceKey, tools)
  const shape: ListShape = {
    ...face,
    page: {
      model: access.model,
      columns: face.layout.columns,
      where: visibleRows(access, request.filter, request.showDeleted),
      order,
      limit: request.limit,
      checks: face.layout.checks,
      hashed: face.layout.hashed
    }
  }
  if (key.length <= cachedText) cache.set(key, { access, shape })
  return shape
}

const faceOf = (
  access: Access,
  { more, order, parts }: ShapeRequest,
  key: string,
  tools: ItemTools
): Face => {
  const cache = cachesOf(access.restricted).faces
  const cached = cache.get(key)
  if (cached !== undefined && !isOutdated(cached.face.layout) && sameDecisions(cached.access, access)) {
    return cached.face
  }
  const layout = layoutOf(access, parts, [...ownKeys(order).map((sort) => sort.field), ...more])
  const cells = order.map(({ field, ways }) => ways === undefined ? layout.position.get(field)! : pathCellOf(layout))
  const face: Face = {
    order,
    cells,
    layout,
    write: itemWriter(access, parts, layout, tools),
    ending: hasLinks(parts, tools)
  }
  if (key.length <= cachedText) cache.set(key, { access, face })
  return face
}

/**
 * Whether a cached shape may be used: rows and decisions are the same objects as when it was made. They hold no caller; operands bind
 * later.
 */
const sameDecisions = (a: Access, b: Access): boolean =>
  a === b || (
    a.rows === b.rows && a.decisions.update === b.decisions.update && a.decisions.delete === b.decisions.delete &&
    a.fieldWritable === b.fieldWritable
  )
