/** Reads the groups of a list and their sums by `:aggregate`. */

import { ProblemError } from "../../client/index.ts"
import { isAddable } from "../field/sums.ts"
import type { Column } from "../grid/columns.ts"
import type { Resource } from "../model/catalogue.ts"
import { resourceClient } from "../model/client.ts"
import { textOfSimple } from "../model/conditions.ts"
import { plain } from "../model/plain.ts"
import { byCurrency, type Sum } from "./adding.ts"
import { type RowsQuery } from "./asked.ts"
import { declaredHeads, type GroupKey, type Head, headsOf, sumsById } from "./group-heads.ts"
import { type Total, totalOf } from "./total.ts"
import { both, conditionOf } from "./within.ts"

/** Groups of the first answer, and the most that there are in one. */
export const fewGroups = 200
export const mostGroups = 1_000
/** Most values of an enum that are asked for one by one. */
const mostDeclared = 30
/** Most fields that are added up. */
const mostSums = 3

export interface GroupsAsked {
  readonly resource: Resource
  readonly query: Pick<RowsQuery, "filter" | "deleted">
  readonly keys: readonly GroupKey[]
}

export interface GroupsFound {
  readonly heads: readonly Head[]
  /** Whether there are further groups. */
  readonly more: boolean
  readonly total: Total
  /** Whether sums were refused, or would not be whole. */
  readonly unsummed?: boolean
}

const narrowed = ({ deleted, filter }: GroupsAsked["query"], within = "") => ({
  filter: both(filter, within),
  ...(deleted ? { show_deleted: true } : {})
})

/** The count of the records that a condition lets pass, as a list says it. */
const totalIn = async (
  { query, resource }: GroupsAsked,
  condition: string,
  signal: AbortSignal
): Promise<Total> =>
  totalOf(
    await resourceClient(resource.name).search({
      ...narrowed(query, condition),
      fields: resource.model.primaryKey.slice(0, 1),
      page_size: 1
    }, { signal })
  )

/**
 * The groups of an enum where the service does not count that many records: each value is a list, whose number of records may be an estimate. Null for all
 * other fields.
 */
const readDeclared = async (asked: GroupsAsked, signal: AbortSignal): Promise<GroupsFound | null> => {
  const { keys, resource } = asked
  const [key, ...others] = keys
  const values = key?.field.values
  if (key === undefined || values === undefined || others.length > 0 || values.length > mostDeclared) return null
  const all = [...values, ...(key.field.optional || key.text.includes(".") ? [null] : [])]
  const totals = await Promise.all(
    all.map(async (value) => [value, await totalIn(asked, conditionOf(resource, key.text, value), signal)] as const)
  )
  const accuracies = totals.map(([, { accuracy }]) => accuracy)
  return {
    heads: declaredHeads(resource, key, totals),
    more: false,
    total: {
      count: totals.reduce((sum, [, { count }]) => sum + count, 0),
      accuracy: accuracies.includes("counting")
        ? "counting"
        : accuracies.includes("estimate")
        ? "estimate"
        : "exact"
    }
  }
}

const isRefused = (error: unknown): boolean => error instanceof ProblemError && error.slug === "expensive-query"

/**
 * The groups. Where the service would read too many records for their titles, the most frequent come first, and have their titles later. Where it does not count
 * that many records at all, lists say of the values of an enum how many there are.
 */
export const readGroups = async (asked: GroupsAsked, limit: number, signal: AbortSignal): Promise<GroupsFound> => {
  try {
    return await readHeads(asked, limit, signal)
  } catch (error) {
    if (!isRefused(error)) throw error
    if (asked.keys.some(({ title }) => title !== null)) {
      return readGroups({ ...asked, keys: asked.keys.map((key) => ({ ...key, title: null })) }, limit, signal)
    }
    const found = await readDeclared(asked, signal)
    if (found === null) throw error
    return found
  }
}

const readHeads = async (asked: GroupsAsked, limit: number, signal: AbortSignal): Promise<GroupsFound> => {
  const { keys, query, resource } = asked
  const client = resourceClient(resource.name)
  const { groups, more } = await client.aggregate({
    group_by: keys.flatMap(({ text, title }) => title === null ? [text] : [text, title]),
    measures: ["count"],
    // Keys of related records say nothing by their order.
    order_by: keys.length === 1 && keys[0]?.field.relation !== undefined && keys[0].title === null
      ? ["count desc"]
      : keys.map(({ text, title }) => title ?? text),
    limit,
    ...narrowed(query)
  }, { signal })
  const heads = await Promise.all(
    headsOf(resource, keys, groups, more).map(async (head): Promise<Head> => {
      if (!head.about) return head
      const { accuracy, count } = await totalIn(asked, head.condition, signal)
      const about = accuracy !== "exact"
      return { ...head, count: about ? Math.max(head.count, count) : count, about }
    })
  )
  // The groups of the answer do not have all records.
  const total: Total = more
    ? await totalIn(asked, "", signal)
    : { count: heads.reduce((sum, { count }) => sum + count, 0), accuracy: "exact" }
  return { heads, more, total }
}

/** The columns whose sums mean something. */
export const addedUp = (resource: Resource, columns: readonly Column[]): readonly string[] =>
  columns.flatMap(({ id }) => {
    const field = resource.fields.get(id)
    return field !== undefined && field.filterable && field.kind !== "money" && isAddable(resource, field) ? [id] : []
  }).slice(0, mostSums)

/** The sums of these groups by their ids. Null where an answer has not all of their parts: the sums would be too small. */
export const readSums = async (
  { keys, query, resource }: GroupsAsked,
  heads: readonly Head[],
  more: boolean,
  fields: readonly string[],
  signal: AbortSignal
): Promise<ReadonlyMap<string, readonly Sum[]> | null> => {
  const [first] = keys
  const values = heads.flatMap(({ value }) => value === null ? [] : [plain(value)])
  // The order by titles is another one than that by keys: of many groups, others would come first.
  const within = more && first !== undefined
    ? textOfSimple({ field: first.text, is: "oneOf", values }, resource) ?? ""
    : ""
  const found = await Promise.all([...byCurrency(resource, fields)].map(async ([currency, names]) => {
    const by = new Set([...keys.map(({ text }) => text), ...(currency === null ? [] : [currency])])
    const answer = await resourceClient(resource.name).aggregate({
      group_by: [...by],
      measures: names.map((name) => `sum(${name})` as const),
      limit: mostGroups,
      ...narrowed(query, within)
    }, { signal })
    return answer.more ? null : sumsById(keys, answer.groups, names, currency)
  }))
  const all = new Map<string, readonly Sum[]>()
  for (const part of found) {
    if (part === null) return null
    for (const [id, sums] of part) all.set(id, [...all.get(id) ?? [], ...sums])
  }
  return all
}
