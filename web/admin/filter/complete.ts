/**
 * Completions for the end of a filter text: names of fields and relations, or values of a field. They come from the caller's meta, also behind periods
 * and in the quotes of `has(…)` and `count(…)`. Pure: the component asks for values.
 */

import { hasOrder } from "../../../core/domain/value/traits.ts"
import { elementOf } from "../field/array.ts"
import { fieldLabel, type Resource } from "../model/catalogue.ts"
import { endOf, fieldAt, type Path, relationLabel, waysOf } from "../model/paths.ts"

/** A name that can be put in. */
export interface Suggestion {
  readonly label: string
  /** Its label for people and its kind, or the records that a relation leads to. */
  readonly detail: string
  /** A `relation` has more to choose behind it. */
  readonly of: "field" | "relation"
  readonly text: string
}

/** What is asked for. `length`: how many characters at the end of the text it takes the place of. */
export type CompletionQuery =
  & { readonly length: number; readonly inQuotes: boolean }
  & ({
    readonly of: "values"
    readonly resource: Resource
    readonly path: Path
  } | {
    readonly of: "names"
    readonly names: readonly Suggestion[]
    /** Whether functions and keywords can stand here, too. */
    readonly whole: boolean
  })

/** The text inside of the last quotes of `has(relation, "…` and `count(relation, "…`, if they are still open, and the resource that it filters. */
const insideOf = (resource: Resource, text: string): { readonly resource: Resource; readonly text: string } | null => {
  const [, names = "", quote = "", inner = ""] =
    /(?:^|[\s(-])(?:has|count)\(\s*([A-Za-z_][\w.]*)\s*,\s*(["'])((?:[^"'\\]|\\.|(?!\2)["'])*)$/.exec(text) ?? []
  const end = quote === "" ? undefined : endOf(resource, names.split("."))
  return end === undefined ? null : { resource: end.resource, text: unescaped(inner) }
}

const unescaped = (text: string): string => text.replace(/\\(["'\\])/g, "$1")

/** How many characters at the end of a text are so many once its escapes are read. */
const lengthIn = (text: string, wanted: number): number => {
  let length = wanted
  while (unescaped(text.slice(text.length - length)).length < wanted) length++
  return wanted > 0 && text[text.length - length - 1] === "\\" ? length + 1 : length
}

const valueAfter = /(?<![.\w])([A-Za-z_][\w.]*)\s*(?:!=|<=|>=|=|<|>|:)\s*("[^"]*|'[^']*|[^"'\s()]*)$/
const valueOfIn = /(?<![.\w])in\(\s*([A-Za-z_][\w.]*)\s*,(?:[^()]*,)?\s*("[^"]*|'[^']*|[^"'\s(),]*)$/
const relationOf = /(?<![.\w])(has|count)\(\s*((?:[A-Za-z_][\w.]*)?)$/

const relationsAt = (resource: Resource, suffix: string): readonly Suggestion[] =>
  waysOf(resource).map(({ relation, target }) => ({
    label: relation.name,
    detail: `${relationLabel(resource, relation)} · ${target.view.label.plural}`,
    of: "relation",
    text: `${relation.name}${suffix}`
  }))

const fieldsAt = (resource: Resource): readonly Suggestion[] => {
  const offered = (label: string, detail: string): Suggestion => ({ label, detail, of: "field", text: label })
  const { fields, searchVectors = [] } = resource.model
  return [
    ...fields.filter(({ filterable }) => filterable)
      .map(({ kind, name }) => offered(name, `${fieldLabel(resource, name)} · ${kind}`)),
    ...fields.flatMap(({ name, paths = [] }) =>
      paths.filter(({ filterable }) => filterable).map(({ kind, path }) => offered(`${name}.${path}`, kind))
    ),
    ...searchVectors.map((name) => offered(name, "search(…, 'text')"))
  ]
}

/** Most relations on a path: what the service follows. */
const mostWays = 3

/** What can stand at the end of the text. Null where nothing is known. `explicit`: also where nothing is typed yet. */
export const askedAt = (
  resource: Resource,
  before: string,
  explicit: boolean,
  outer = false
): CompletionQuery | null => {
  const inner = outer ? null : insideOf(resource, before)
  if (inner !== null) {
    const asked = askedAt(inner.resource, inner.text, explicit, true)
    if (asked === null) return null
    const length = lengthIn(before, asked.length)
    if (asked.of === "values") return { ...asked, length }
    return {
      ...asked,
      length,
      names: asked.names.map((name) => ({ ...name, text: name.text.replace(/[\\"']/g, "\\$&") }))
    }
  }
  const [, name = "", typed = ""] = valueOfIn.exec(before) ?? valueAfter.exec(before) ?? []
  const path = name === "" ? undefined : fieldAt(resource, aliased(resource, name))
  if (path !== undefined) {
    return path.field.filterable && hasOrder(elementOf(path.field).kind)
      ? { of: "values", length: typed.length, inQuotes: outer, resource, path }
      : null
  }
  const [, call = "", way] = relationOf.exec(before) ?? []
  const words = way ?? /(?<![.\w])[A-Za-z_][\w.]*$/.exec(before)?.[0] ?? ""
  if (words === "" && call === "" && !explicit) return null
  const names = words.split(".")
  const last = names.pop()!
  const end = names.length > mostWays ? undefined : endOf(resource, names)
  if (end === undefined) return null
  const follows = names.length < mostWays
  return {
    of: "names",
    length: last.length,
    inQuotes: outer,
    whole: names.length === 0 && call === "",
    names: call !== ""
      ? (call === "count" && names.length > 0) || !follows ? [] : relationsAt(end.resource, "")
      : [...fieldsAt(end.resource), ...follows ? relationsAt(end.resource, ".") : []]
  }
}

/** The name of the field that an alias stands for. */
const aliased = (resource: Resource, name: string): string =>
  resource.model.fields.find(({ alias }) => alias === name)?.name ?? name

const plainWord = /^[\w.-]+$/

/** A value as it stands in a filter: in quotes where the grammar needs them, in escaped ones where it stands in the quotes of a call already. */
export const written = (value: string, inQuotes: boolean): string => {
  if (plainWord.test(value)) return value
  const text = JSON.stringify(value).replaceAll("*", "\\*")
  return inQuotes ? text.replace(/[\\"']/g, "\\$&") : text
}
