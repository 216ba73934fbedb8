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
import { asksOf, conditionOfKey, declaredHeads, type GroupKey, type Head, headsOf, sumsById } from "./group-heads.ts"
import { groupOfValue, groupsBetween, type GroupTime, rises, timeCondition } from "./group-time.ts"
import { type Total, totalOf } from "./total.ts"
import { both } from "./within.ts"

/** Groups of the first answer, and the most that there are in one. */
export const fewGroups = 200
export const mostGroups = 1_000
/** Most values of an enum that are asked for one by one. */
const mostDeclared = 30
/** Most fields that are added up. */
const mostSums = 3

export interface GroupsAsked {
  readonly resource: Resource
  readonly query: Pick<RowsQuery, "filter" | "deleted" | "order">
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

const zoned = (keys: readonly GroupKey[]) =>
  keys.some(({ time }) => time !== null) ? { time_zone: Intl.DateTimeFormat().resolvedOptions().timeZone } : {}

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

/** The groups by time between the first and the last record, which two lists say; null where they are not sorted by the field. */
const readTimes = async (
  { query, resource }: GroupsAsked,
  time: GroupTime,
  signal: AbortSignal
): Promise<{ readonly values: readonly string[]; readonly more: boolean } | null> => {
  const { field, text, ways } = time.path
  if (!field.sortable || ways.length > 0) return null
  const ends = await Promise.all(["", " desc"].map(async (way) => {
    const { items: [item] } = await resourceClient(resource.name).search({
      ...narrowed(query, textOfSimple({ field: text, is: "notEmpty", values: [] }, resource) ?? ""),
      fields: [text],
      order_by: text + way,
      page_size: 1
    }, { signal })
    return item === undefined ? undefined : groupOfValue(time, item[text])
  }))
  const [first, last] = ends
  // Without a record there is no group. An end that is no day, such as infinity, bounds nothing.
  if (first === undefined || last === undefined) return { values: [], more: false }
  if (first === null || last === null) return null
  const { days, more } = groupsBetween(time, first, last, rises(query.order, time), mostDeclared)
  return { values: days, more }
}

/**
 * The groups of an enum or of time where the service does not count that many records: each value is a list, whose number of records may be an estimate. Null for
 * all other fields.
 */
const readDeclared = async (asked: GroupsAsked, signal: AbortSignal): Promise<GroupsFound | null> => {
  const { keys, resource } = asked
  const [key, ...others] = keys
  if (key === undefined || others.length > 0) return null
  const found = key.time === null
    ? { values: key.field.values, more: false }
    : await readTimes(asked, key.time, signal)
  const values = found?.values
  if (found === null || values === undefined || values.length > mostDeclared) return null
  const all = [...values, ...(key.field.optional || key.text.includes(".") ? [null] : [])]
  const totals = await Promise.all(
    all.map(async (value) => [value, await totalIn(asked, conditionOfKey(resource, key, value), signal)] as const)
  )
  const accuracies = totals.map(([, { accuracy }]) => accuracy)
  return {
    heads: declaredHeads(resource, key, totals),
    more: found.more,
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
    group_by: keys.flatMap((key) => key.title === null ? [asksOf(key)] : [asksOf(key), key.title]),
    measures: ["count"],
    // Keys of related records say nothing by their order.
    order_by: keys.length === 1 && keys[0]?.field.relation !== undefined && keys[0].title === null
      ? ["count desc"]
      : keys.map((key) => {
        const by = key.title ?? asksOf(key)
        return key.time === null || rises(query.order, key.time) ? by : `${by} desc`
      }),
    // A week is as many as seven groups.
    ...zoned(keys),
    limit: keys.some(({ time }) => time?.merges === true) ? mostGroups : limit,
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

/** The condition for the records of groups of the first level. */
const withinOf = (resource: Resource, { text, time }: GroupKey, heads: readonly Head[]): string => {
  const values = heads.flatMap(({ value }) => value === null ? [] : [plain(value)]).toSorted()
  const [first = "", last = first] = [values[0], values.at(-1)]
  if (values.length === 0) return ""
  return time === null
    ? textOfSimple({ field: text, is: "oneOf", values }, resource) ?? ""
    : timeCondition(resource, time, first, last)
}

/** The sums of these groups by their ids. Null where an answer has not all of their parts: the sums would be too small. */
export const readSums = async (
  { keys, query, resource }: GroupsAsked,
  heads: readonly Head[],
  more: boolean,
  fields: readonly string[],
  signal: AbortSignal
): Promise<ReadonlyMap<string, readonly Sum[]> | null> => {
  const [first] = keys
  // The order by titles is another one than that by keys: of many groups, others would come first.
  const within = more && first !== undefined ? withinOf(resource, first, heads) : ""
  const found = await Promise.all([...byCurrency(resource, fields)].map(async ([currency, names]) => {
    const by = new Set([...keys.map(asksOf), ...(currency === null ? [] : [currency])])
    const answer = await resourceClient(resource.name).aggregate({
      group_by: [...by],
      measures: names.map((name) => `sum(${name})` as const),
      limit: mostGroups,
      ...zoned(keys),
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
