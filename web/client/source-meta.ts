/**
 * The meta of a source is untrusted data. It is parsed into known shapes with limits, and everything else is left out. Nothing here sends a
 * request.
 */

import type { MetaDocument, MetaField, MetaModel, MetaRelation, MetaView } from "./meta.ts"
import { isObject, listOf } from "./problem.ts"
import type { Source } from "./source.ts"

/** The part of a source's meta that the app shows. */
export type SourceMeta = Pick<MetaDocument, "models" | "views" | "permissions">

type Bag = { readonly [member: string]: unknown }

/** Whether a link may be drawn: http(s), mailto, or a path of the source or app itself. */
export const isSafeLink = (href: string): boolean =>
  /^\/(?![/\\])/.test(href) || /^(?:https?:\/\/|mailto:)/i.test(href.replace(/[\0-\x20]/g, ""))

const links = ["href", "url", "src"]
const longestText = 10_000
const deepest = 12

/**
 * A copy of untrusted data: plain objects, lists of at most 2,000, bounded texts, safe links. Undefined for anything else. Names that every object
 * has by its prototype are left out.
 */
const scrub = (value: unknown, depth = 0): unknown => {
  if (typeof value === "string") return value.slice(0, longestText)
  if (value === null || typeof value !== "object") return value
  if (depth > deepest) return
  if (Array.isArray(value)) {
    return value.slice(0, 2_000).map((each) => scrub(each, depth + 1)).filter((each) => each !== undefined)
  }
  const copy: { [member: string]: unknown } = {}
  for (const [name, each] of Object.entries(value)) {
    if (name in Object.prototype) continue
    if (links.includes(name) && each !== null && !(typeof each === "string" && isSafeLink(each))) return undefined
    const copied = scrub(each, depth + 1)
    if (copied !== undefined) copy[name] = copied
  }
  return copy
}

const isName = (value: unknown): value is string => typeof value === "string" && /^[a-z]\w{0,62}$/.test(value)
const bagOf = (value: unknown): Bag => isObject(value) ? value : {}
const bags = (value: unknown): readonly Bag[] => listOf(value).filter(isObject)
const names = (value: unknown, allowed: ReadonlySet<unknown>): readonly string[] =>
  // What is no text is not among them.
  listOf(value).filter((each): each is string => allowed.has(each))

// A name and a kind make a field, and names a relation. Pages take any other member of them for what it is.
const isField = (value: Bag): value is Bag & MetaField => isName(value["name"]) && typeof value["kind"] === "string"
const isRelation = (value: Bag): value is Bag & MetaRelation =>
  isName(value["name"]) && isName(value["resource"]) && isName(value["targetField"]) &&
  typeof value["field"] === "string"

const modelOf = (bag: Bag, drawn: readonly string[]): MetaModel => {
  const fields = bags(bag["fields"]).filter(isField).map((field): MetaField => {
    const { relation, writable, ...rest } = field
    const { create, update } = bagOf(writable)
    return {
      ...rest,
      ...(isName(relation) && drawn.includes(relation) ? { relation } : {}),
      ...("values" in field
        ? { values: listOf(field["values"]).filter((each): each is string => typeof each === "string") }
        : {}),
      writable: { create: create === true, update: update === true }
    }
  })
  const fieldNames = new Set(fields.map(({ name }) => name))
  const key = names(bag["primaryKey"], fieldNames)
  return {
    name: String(bag["name"]),
    primaryKey: key.length === listOf(bag["primaryKey"]).length ? key : [],
    fields,
    relations: bags(bag["relations"]).filter(isRelation).filter(({ field, resource }) =>
      drawn.includes(resource) && fieldNames.has(field)
    ),
    softDelete: bag["softDelete"] === true,
    tenantScoped: bag["tenantScoped"] === true,
    owner: names([bag["owner"]], fieldNames)[0] ?? null,
    version: names([bag["version"]], fieldNames)[0] ?? null
  }
}

const textOr = <T>(value: unknown, other: T): string | T => typeof value === "string" ? value : other

/** Objects whose members of these names are texts. */
const texts = <Name extends string>(
  value: unknown,
  ...members: readonly Name[]
): readonly (Bag & { readonly [Member in Name]: string })[] =>
  bags(value).filter((each): each is Bag & { readonly [Member in Name]: string } =>
    members.every((name) => typeof each[name] === "string")
  )

const isPlace = (on: string): on is "record" | "selection" => on === "record" || on === "selection"

const viewOf = (bag: Bag, model: MetaModel, drawn: readonly string[]): MetaView => {
  const fieldNames = new Set(model.fields.map(({ name }) => name))
  const label = bagOf(bag["label"])
  const nav = isObject(bag["nav"]) ? bag["nav"] : null
  const recent = bagOf(nav?.["recent"])
  const chart = isObject(bag["chart"]) && fieldNames.has(String(bag["chart"]["field"])) ? bag["chart"] : null
  const title = textOr(bag["title"], "")
  return {
    // Members of later versions were sanitized in the same way.
    ...bag,
    name: textOr(bag["name"], model.name),
    label: { singular: textOr(label["singular"], model.name), plural: textOr(label["plural"], model.name) },
    columns: names(bag["columns"], fieldNames),
    sort: textOr(bag["sort"], ""),
    filters: texts(bag["filters"], "filter", "name"),
    search: names(bag["search"], fieldNames),
    layout: bags(bag["layout"]).map((group) => ({
      label: textOr(group["label"], null),
      fields: names(group["fields"], fieldNames)
    })),
    chart,
    // Of a title of several fields, those that are there are shown.
    title: fieldNames.has(title) || /{/.test(title) ? title : null,
    nav: nav === null ? null : {
      group: textOr(nav["group"], null),
      order: typeof nav["order"] === "number" ? nav["order"] : 0,
      icon: textOr(nav["icon"], null),
      recent: typeof recent["limit"] === "number"
        ? { sort: textOr(recent["sort"], ""), limit: Math.min(20, Math.max(1, recent["limit"] | 0)) }
        : null
    },
    links: texts(bag["links"], "href", "label").filter(({ href }) =>
      // Links out of the source, or to its resources that are shown. Links to its other pages are left out.
      href[0] !== "/" || drawn.includes(href.split(/[/?#]/)[1]!)
    ),
    actions: texts(bag["actions"], "label", "function", "on").flatMap((action) =>
      isPlace(action.on) ? [{ ...action, on: action.on, confirm: textOr(action["confirm"], null) }] : []
    ),
    cells: bagOf(bag["cells"])
  } as MetaView
}

const memberOf = (value: unknown, name: string): unknown =>
  Object.hasOwn(bagOf(value), name) ? bagOf(value)[name] : undefined

type Operation = MetaDocument["permissions"][string]["conditional"][number]

const operations: readonly unknown[] = ["read", "create", "update", "delete"] satisfies readonly Operation[]
const isOperation = (value: unknown): value is Operation => operations.includes(value)

/**
 * What an app draws of a source: the listed resources with their views and permissions. Relations to resources that are not drawn are left out, and
 * so is everything that is not of the form a meta document has.
 */
export const sourceMeta = (meta: unknown, source: Source): SourceMeta => {
  const bag = bagOf(meta)
  const byName = new Map<string, Bag>()
  // The list is filtered before anything is copied, because a source may list thousands of resources that the app does not show.
  for (const model of bags(bag["models"])) {
    const { name } = model
    if (isName(name) && source.resources.includes(name) && !byName.has(name)) byName.set(name, model)
  }
  const drawn = [...byName.keys()]
  const models: MetaModel[] = []
  const views: { [resource: string]: MetaView } = {}
  const permissions: { [resource: string]: MetaDocument["permissions"][string] } = {}
  for (const [name, raw] of byName) {
    const copy = scrub(raw)
    if (!isObject(copy)) continue
    const model = modelOf(copy, drawn)
    models.push(model)
    const view = scrub(memberOf(bag["views"], name))
    if (isObject(view)) views[name] = viewOf(view, model, drawn)
    const may = bagOf(memberOf(bag["permissions"], name))
    permissions[name] = {
      read: may["read"] === true,
      create: may["create"] === true,
      update: may["update"] === true,
      delete: may["delete"] === true,
      conditional: listOf(may["conditional"]).filter(isOperation)
    }
  }
  return { models, views, permissions }
}

/** The app's own meta with the resources of its sources. A name that the app has itself stays the app's. */
export const mergeMeta = (own: MetaDocument, parts: readonly SourceMeta[]): MetaDocument => {
  const models = [...own.models]
  const views = { ...own.views }
  const permissions = { ...own.permissions }
  for (const part of parts) {
    for (const model of part.models) {
      const { name } = model
      if (models.some((each) => each.name === name)) continue
      models.push(model)
      views[name] = part.views[name]!
      permissions[name] = part.permissions[name]!
    }
  }
  return { ...own, models, views, permissions }
}
