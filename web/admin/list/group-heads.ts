/** The groups of a list as a tree, made of the answers of `:aggregate`: what each is called, how many records it has, and its sums. Pure. */

import type { MetaField } from "../../client/index.ts"
import { sumOf } from "../field/decimal.ts"
import type { Formats } from "../messages/formats.ts"
import { fieldLabel, type Resource, titleField } from "../model/catalogue.ts"
import { plain } from "../model/plain.ts"
import { type Sum, sumsText } from "./adding.ts"
import { groupAt, groupOfStart, type GroupTime, groupTime, timeCondition } from "./group-time.ts"
import type { Total } from "./total.ts"
import { both, conditionOf, type Group } from "./within.ts"

/** What records are grouped by. */
export interface GroupKey {
  /** A field, or a path to one of one related record. */
  readonly text: string
  readonly field: MetaField
  /** The resource that has the field. */
  readonly owner: Resource
  /** The path to the title of the record that the field leads to; null where it leads nowhere, or where the title is no field that groups can have. */
  readonly title: string | null
  /** Null: by values as they are. */
  readonly time: GroupTime | null
}

/** What the service groups by for a key. */
export const asksOf = ({ text, time }: GroupKey): string => time?.asks ?? text

/** The condition for the records of a group. */
export const conditionOfKey = (resource: Resource, { text, time }: GroupKey, value: unknown): string =>
  time === null
    ? conditionOf(resource, text, value)
    : typeof value === "string"
    ? timeCondition(resource, time, value)
    : conditionOf(resource, time.path.text, null)

/** The head of a group. */
export interface Head {
  /** Its values as a text that no other group has. */
  readonly id: string
  /** 1, or 2 for a group within another one. */
  readonly level: 1 | 2
  readonly key: GroupKey
  readonly value: unknown
  /** What the record is called that the value leads to; null where that is not known. */
  readonly title: string | null
  readonly count: number
  /** Whether the count is an estimate. */
  readonly about: boolean
  readonly sums: readonly Sum[]
  /** The condition for its records. */
  readonly condition: string
  /** The groups within; empty where it has rows. */
  readonly inner: readonly Head[]
}

/** Most keys of one question. */
const mostKeys = 3

const titleOfKey = (resource: Resource, text: string): string | null => {
  const way = resource.fields.has(text) ? resource.related(text) : undefined
  const title = way === undefined ? undefined : titleField(way.target)
  return way === undefined || title === undefined || title.kind !== "text" || !title.filterable
    ? null
    : `${way.relation}.${title.name}`
}

/** The keys of a grouping. There is room for the title of one record that a key leads to. `start`: the first day of a week. */
export const keysOf = (resource: Resource, group: readonly string[], start = 1): readonly GroupKey[] => {
  let room = mostKeys - group.length
  return group.flatMap((text) => {
    const at = groupAt(resource, text)
    if (at === undefined) return []
    const { path, unit } = at
    const title = room > 0 ? titleOfKey(resource, text) : null
    if (title !== null) room--
    const time = unit === null ? null : groupTime(path, unit, start)
    return [{ text, field: path.field, owner: path.resource, title, time }]
  })
}

const countOf = ({ measures }: Group): number => typeof measures["count"] === "number" ? measures["count"] : 0

/** The groups of an answer with the values of the keys in the place of first instants. */
const byValue = (keys: readonly GroupKey[], groups: readonly Group[]): readonly Group[] =>
  keys.every(({ time }) => time === null) ? groups : groups.map(({ group, measures }) => ({
    measures,
    group: {
      ...group,
      ...Object.fromEntries(
        keys.flatMap(({ text, time }) => time === null ? [] : [[text, groupOfStart(time, group[time.asks])]])
      )
    }
  }))

/** The groups of counts, those of days put together to weeks. */
const together = (keys: readonly GroupKey[], groups: readonly Group[]): readonly Group[] => {
  const valued = byValue(keys, groups)
  return keys.some(({ time }) => time?.merges === true)
    ? [...Map.groupBy(valued, ({ group }) => JSON.stringify(keys.map(({ text }) => group[text] ?? null)))].flatMap(
      ([, each]) =>
        each.slice(0, 1).map(({ group }) => ({
          group,
          measures: { count: each.reduce((sum, one) => sum + countOf(one), 0) }
        }))
    )
    : valued
}

/** A value as a part of an id: without commas and slashes, so that an address can have a list of them. */
export const partOf = (value: unknown): string => {
  if (value === null || value === undefined) return "!"
  const text = plain(value)
  return text === ""
    ? "()"
    : encodeURIComponent(text.toWellFormed()).replaceAll(
      /[!(*]/g,
      (each) => `%${each.charCodeAt(0).toString(16).toUpperCase()}`
    )
}

const idOf = (parts: readonly string[]): string => parts.join("/")

/** Values of an enum in their declared order; all others as they came. Records without a value or a time come last. */
const inOrder = (heads: readonly Head[]): readonly Head[] => {
  const key = heads[0]?.key
  const values = key?.field.values ?? (key?.time == null ? undefined : [])
  if (values === undefined) return heads
  const place = ({ value }: Head): number => {
    if (value === null || value === undefined) return Infinity
    const at = values.indexOf(plain(value))
    return at < 0 ? values.length : at
  }
  return heads.toSorted((a, b) => {
    const [before, after] = [place(a), place(b)]
    return before === after ? 0 : before - after
  })
}

/**
 * The tree of groups. `more`: there are further ones, so that the last group of the first level may have more groups within: it is left out. If it is the only
 * one, its count is that of the groups that were read, so no exact one.
 */
export const headsOf = (
  resource: Resource,
  keys: readonly GroupKey[],
  answered: readonly Group[],
  more: boolean
): readonly Head[] => {
  const [first, second] = keys
  if (first === undefined) return []
  const groups = together(keys, answered)
  const head = (level: 1 | 2, key: GroupKey, { group }: Group, id: string, within: string): Omit<Head, "count"> => ({
    id,
    level,
    key,
    value: group[key.text] ?? null,
    title: key.title === null || group[key.text] === null ? null : plain(group[key.title]) || null,
    about: false,
    sums: [],
    condition: both(within, conditionOfKey(resource, key, group[key.text])),
    inner: []
  })
  const isCut = more && (second !== undefined || first.time?.merges === true)
  const outer = [...Map.groupBy(groups, ({ group }) => partOf(group[first.text]))].flatMap(
    ([part, each]): Head | [] => {
      const [one] = each
      if (one === undefined) return []
      const made = head(1, first, one, part, "")
      const inner = second === undefined ? [] : each.map((group): Head => ({
        ...head(2, second, group, idOf([part, partOf(group.group[second.text])]), made.condition),
        count: countOf(group),
        // The last one may have further days.
        about: more && second.time?.merges === true && group === groups.at(-1)
      }))
      return { ...made, count: each.reduce((sum, group) => sum + countOf(group), 0), inner: inOrder(inner) }
    }
  )
  if (!isCut) return inOrder(outer)
  return inOrder(outer.length > 1 ? outer.slice(0, -1) : outer.map((head) => ({ ...head, about: true })))
}

/** The groups of an enum by its declared values, with what lists say of their records. Groups without a record are left out. */
export const declaredHeads = (
  resource: Resource,
  key: GroupKey,
  totals: ReadonlyArray<readonly [value: string | null, total: Total]>
): readonly Head[] =>
  totals.flatMap(([value, { accuracy, count }]): readonly Head[] =>
    count === 0 ? [] : [{
      id: partOf(value),
      level: 1,
      key,
      value,
      title: null,
      count,
      about: accuracy !== "exact",
      sums: [],
      condition: conditionOfKey(resource, key, value),
      inner: []
    }]
  )

/** Sums by the ids of groups; those of a group of the first level are those of its groups together. */
export const sumsById = (
  keys: readonly GroupKey[],
  groups: readonly Group[],
  fields: readonly string[],
  currency: string | null
): ReadonlyMap<string, readonly Sum[]> => {
  const found = new Map<string, Map<string, { readonly sum: Sum; readonly values: string[] }>>()
  for (const { group, measures } of byValue(keys, groups)) {
    const parts = keys.map(({ text }) => partOf(group[text]))
    const code = currency === null || group[currency] === null ? null : plain(group[currency])
    for (const field of fields) {
      const value = measures[`sum(${field})`]
      if (typeof value !== "string") continue
      for (let level = 1; level <= parts.length; level++) {
        const id = idOf(parts.slice(0, level))
        const own = found.get(id) ?? new Map<string, { readonly sum: Sum; readonly values: string[] }>()
        found.set(id, own)
        const name = `${field} ${code ?? ""}`
        const known = own.get(name)
        if (known === undefined) own.set(name, { sum: { field, value, currency: code }, values: [value] })
        else known.values.push(value)
      }
    }
  }
  return new Map([...found].map(([id, own]) => [
    id,
    [...own.values()].flatMap(({ sum, values }) => {
      const value = sumOf(values)
      return value === null ? [] : [{ ...sum, value }]
    })
  ]))
}

/** The records that groups of a level lead to and whose titles are not known. */
export const untitledOf = (resource: Resource, heads: readonly Head[], level: Head["level"]) => {
  const bare = heads.flatMap((head) => level === 1 ? [head] : head.inner).filter(({ key, title, value }) =>
    title === null && value !== null && resource.related(key.text) !== undefined
  )
  const [one] = bare
  return {
    way: one === undefined ? undefined : resource.related(one.key.text),
    values: bare.map(({ value }) => plain(value))
  }
}

/** The title of the record that a group leads to. `titles`: by key, for each level, as both may lead to records of other resources. */
export const titleOfHead = (
  resource: Resource,
  head: Head,
  titles: Readonly<Record<Head["level"], ReadonlyMap<string, string>>>
): string | null =>
  head.title ??
    (resource.related(head.key.text) === undefined ? null : titles[head.level].get(plain(head.value)) ?? null)

/** The sums of a group in words. They are sums of the list's fields, wherever the field of its key is. */
export const sumsOfHead = (resource: Resource, { sums }: Head, format: Pick<Formats, "number">): string =>
  sumsText(sums, (name) => fieldLabel(resource, name), format)

/** The groups with these sums. */
export const withSums = (heads: readonly Head[], sums: ReadonlyMap<string, readonly Sum[]>): readonly Head[] =>
  heads.map((head) => ({ ...head, sums: sums.get(head.id) ?? [], inner: withSums(head.inner, sums) }))

/** The groups that have rows. */
export const leavesOf = (heads: readonly Head[]): readonly Head[] =>
  heads.flatMap((head) => head.inner.length === 0 ? [head] : leavesOf(head.inner))

/** The groups as they are now, and those that are gone but whose rows are still shown. These stay where they were, without a record. */
export const keeping = (
  before: readonly Head[],
  now: readonly Head[],
  isShown: (head: Head) => boolean
): readonly Head[] => {
  const next: Head[] = now.map((head) => ({
    ...head,
    inner: keeping(before.find(({ id }) => id === head.id)?.inner ?? [], head.inner, isShown)
  }))
  for (const [at, head] of before.entries()) {
    if (next.some(({ id }) => id === head.id)) continue
    const inner = keeping(head.inner, [], isShown)
    if (head.inner.length === 0 ? !isShown(head) : inner.length === 0) continue
    const after = before.slice(0, at).findLast(({ id }) => next.some((each) => each.id === id))
    next.splice(next.findIndex(({ id }) => id === after?.id) + 1, 0, { ...head, inner, count: 0, sums: [] })
  }
  return next
}
