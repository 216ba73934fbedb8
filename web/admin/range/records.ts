/** Records of a list by their row numbers, read where the list does not hold them; and related records by their titles. It writes nothing. */

import { Condition } from "../../client/index.ts"
import type { MetaField } from "../../client/index.ts"
import { parseText } from "../field/parse.ts"
import type { Messages } from "../messages/locale.tsx"
import { type Resource, titleField, titleNeeds, titleOf } from "../model/catalogue.ts"
import { type AnyRecord, resourceClient } from "../model/client.ts"
import { both, textOfSimple } from "../model/conditions.ts"
import { plain } from "../model/plain.ts"
import { type RangeLines, stretchesIn } from "./lines.ts"
import { type Found, lookedUp, type Lookups, several } from "./read.ts"

/** The rows of a list, as far as they are held, and the parameters by which others are read. */
export interface Source extends RangeLines {
  readonly rowAt: (index: number) => AnyRecord | undefined
  readonly parameters: { readonly filter?: string }
}

const mostRead = 500

/** The records of the rows from one line to another; fewer where the list, or a group of it, ends before. */
export const readRows = async (
  resource: Resource,
  source: Source,
  first: number,
  last: number,
  progress: (read: number) => void,
  signal: AbortSignal
): Promise<readonly AnyRecord[]> => {
  const { parameters, rowAt } = source
  const client = resourceClient(resource.name)
  const records: AnyRecord[] = []
  for (const { condition, count, index, line } of stretchesIn(source, first, last)) {
    const query = condition === ""
      ? parameters
      : { ...parameters, filter: both(parameters.filter ?? "", condition) }
    for (let done = 0; done < count;) {
      const held = rowAt(line + done)
      if (held !== undefined) {
        records.push(held)
        done += 1
        continue
      }
      let missing = 1
      while (done + missing < count && missing < mostRead && rowAt(line + done + missing) === undefined) missing += 1
      const { items } = await client.seek(index + done, { ...query, page_size: missing }, { signal })
      if (items.length === 0) break
      records.push(...items.slice(0, missing))
      done += Math.min(items.length, missing)
      progress(records.length)
    }
  }
  return records
}

/** Records by number as they are now, for those whose rows show more than their own fields. */
export const readAgain = async (
  resource: Resource,
  keys: readonly string[],
  parameters: object
): Promise<readonly AnyRecord[]> => {
  const [key, ...more] = resource.model.primaryKey
  if (key === undefined || more.length > 0 || resource.fields.get(key)?.filterable !== true || keys.length === 0) {
    return []
  }
  const { items } = await resourceClient(resource.name).search({
    ...parameters,
    filter: String(new Condition(key).in(keys.map(decodeURIComponent))),
    order_by: "",
    page_size: keys.length
  })
  return items
}

/** Most texts of one column that are looked up, and most that need a request of their own. */
const mostNamed = 500
const mostSearched = 30
const named = 50

/** Records of one target, whose keys or titles the texts may be. */
const lookUp = async (
  target: Resource,
  keyField: MetaField,
  texts: readonly string[],
  t: Messages,
  signal: AbortSignal
): Promise<Found> => {
  const client = resourceClient(target.name)
  const needs = titleNeeds(target)
  const fields = [...new Set([...needs.fields, keyField.name])]
  const found = new Map<string, unknown>()
  const read = async (filter: string): Promise<readonly AnyRecord[]> => {
    const { items, next_page_token } = await client.search({ ...needs, fields, filter, page_size: mostRead }, {
      signal
    })
    // So many that are called alike: which one was meant nobody can say.
    return next_page_token === "" ? items : [...items, ...items]
  }
  const unmarked = (text: string): string => text.startsWith("#") ? text.slice(1) : text
  const keys = texts.filter((text) => parseText(keyField, unmarked(text), t).problem === null)
  if (keyField.filterable && keyField.kind !== "text" && keys.length > 0) {
    const values = keys.map((text) => plain(parseText(keyField, unmarked(text), t).value))
    const byKey = new Map(
      (await read(String(new Condition(keyField.name).in(values)))).map((record) =>
        [plain(record[keyField.name]), record[keyField.name]] as const
      )
    )
    for (const [at, text] of keys.entries()) {
      const key = byKey.get(values[at] ?? "")
      if (key !== undefined) found.set(text, key)
    }
  }
  const left = texts.filter((text) => !found.has(text))
  const put = (records: readonly AnyRecord[], asked: readonly string[]): void => {
    for (const record of records) {
      const title = titleOf(target, record)
      const key = record[keyField.name]
      for (const text of new Set([title, plain(key)])) {
        if (!asked.includes(text)) continue
        const before = found.get(text)
        found.set(text, before === undefined || before === key ? key : several)
      }
    }
  }
  const title = titleField(target)
  const parts: (readonly [filter: string, asked: readonly string[]])[] = []
  const conditions = (text: string | readonly string[]): string => {
    const values = typeof text === "string" ? [text] : text
    const ways = [
      ...(title?.kind === "text" && title.filterable && title.relation === undefined ? [title.name] : []),
      ...(keyField.kind === "text" && keyField.filterable ? [keyField.name] : [])
    ]
    return [...new Set(ways)].map((name) => String(new Condition(name).in(values))).join(" OR ")
  }
  if (conditions(left) !== "" && left.length > 0) {
    for (let at = 0; at < left.length; at += named) {
      const asked = left.slice(at, at + named)
      parts.push([conditions(asked), asked])
    }
  } else if (target.model.fields.some(({ searched }) => searched)) {
    for (const text of left.slice(0, mostSearched)) {
      const filter = textOfSimple({ field: "", is: "search", values: [text] }, target)
      if (filter !== null) parts.push([filter, [text]])
    }
  }
  for (const [filter, asked] of parts) put(await read(filter), asked)
  return found
}

/** What is found of the texts of each column that leads to records which the caller may read. */
export const readLookups = async (
  resource: Resource,
  texts: ReadonlyMap<string, ReadonlySet<string>>,
  t: Messages,
  signal: AbortSignal
): Promise<Lookups> => {
  const lookups = new Map<string, Found>()
  for (const [name, given] of texts) {
    const way = resource.fields.get(name)?.relation === undefined ? undefined : resource.related(name)
    const keyField = way?.target.fields.get(way.targetField)
    if (way === undefined || keyField === undefined || !way.target.may.read) continue
    const asked = [...new Set([...given].map(lookedUp))].filter((text) => text !== "").slice(0, mostNamed)
    lookups.set(name, await lookUp(way.target, keyField, asked, t, signal))
  }
  return lookups
}
