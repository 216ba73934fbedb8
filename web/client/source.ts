/**
 * Remote resources: other instances of the service whose resources an app draws. What a source says is data of a stranger: it is read into known shapes
 * with bounds, and what does not fit is left out. Only listed sources get the person's token, over https, and never by a redirect.
 */

import type { MetaDocument, MetaModel, MetaView } from "./meta.ts"

/** A source as the app's own meta names it. */
export interface Source {
  /** Its resources API: `https://stock.example.org/api/v1`. */
  readonly url: string
  /** What people call it. */
  readonly label: string
  /** Names of its resources that the app draws. */
  readonly resources: readonly string[]
}

/** The part of a source's meta that the app draws. */
export type SourceMeta = Pick<MetaDocument, "models" | "views" | "permissions">

/** Largest meta of a source in bytes; a bigger one counts as unreadable. */
export const sourceMetaBytes = 8 * 1024 * 1024

/** Milliseconds within which a source's meta has to be there. */
export const sourceTimeout = 10_000

/** Whether the person's token may go there: https, or http to this machine. */
export const isSafeSource = (url: string): boolean => {
  if (!URL.canParse(url)) return false
  const { hostname, password, protocol, username } = new URL(url)
  if (username !== "" || password !== "") return false
  return protocol === "https:"
    || (protocol === "http:" && /^(?:localhost|.*\.localhost|127(?:\.\d+){3}|\[::1\])$/.test(hostname))
}

type Bag = { readonly [member: string]: unknown }

const isBag = (value: unknown): value is Bag => typeof value === "object" && value !== null && !Array.isArray(value)

/** Whether a link may be drawn: http(s), mailto, or a path of the source. */
export const isSafeLink = (href: string): boolean =>
  /^\/(?![/\\])/.test(href) || /^(?:https?:\/\/|mailto:)/i.test(href.replace(/[\0-\x20]/g, ""))

const links = ["href", "url", "src"]
const longestText = 10_000
const deepest = 12

/**
 * A copy of what a stranger sent: plain objects, lists of at most 2,000, bounded texts, safe links; undefined for what is not so. It has no names that
 * every object has.
 */
const scrub = (value: unknown, depth = 0): unknown => {
  if (typeof value === "string") return value.slice(0, longestText)
  if (value === null || typeof value === "boolean" || typeof value === "number") return value
  if (depth > deepest) return undefined
  if (Array.isArray(value)) {
    return value.slice(0, 2_000).map((each) => scrub(each, depth + 1)).filter((each) => each !== undefined)
  }
  const copy: { [member: string]: unknown } = {}
  for (const [name, each] of Object.entries(value as Bag)) {
    if (name in Object.prototype) continue
    if (links.includes(name) && each !== null && !(typeof each === "string" && isSafeLink(each))) return undefined
    const kept = scrub(each, depth + 1)
    if (kept !== undefined) copy[name] = kept
  }
  return copy
}

const isName = (value: unknown): value is string => typeof value === "string" && /^[a-z][a-z0-9_]{0,62}$/.test(value)
const list = (value: unknown): readonly unknown[] => Array.isArray(value) ? value : []
const bags = (value: unknown): readonly Bag[] => list(value).filter(isBag)
const names = (value: unknown, known: ReadonlySet<string>): readonly string[] =>
  list(value).filter((each): each is string => typeof each === "string" && known.has(each))
const textOr = <T>(value: unknown, other: T): string | T => typeof value === "string" ? value : other

const modelOf = (bag: Bag, drawn: readonly string[]): MetaModel => {
  const fields = bags(bag["fields"]).filter((field) => isName(field["name"]) && typeof field["kind"] === "string")
    .map((field) => {
      const { relation, writable, ...rest } = field
      const { create, update } = isBag(writable) ? writable : {}
      return {
        ...rest,
        ...(isName(relation) && drawn.includes(relation) ? { relation } : {}),
        ...("values" in field
          ? { values: list(field["values"]).filter((each): each is string => typeof each === "string") }
          : {}),
        writable: { create: create === true, update: update === true }
      }
    }) as unknown as MetaModel["fields"]
  const known = new Set(fields.map(({ name }) => name))
  const key = names(bag["primaryKey"], known)
  return {
    name: String(bag["name"]),
    primaryKey: key.length === list(bag["primaryKey"]).length ? key : [],
    fields,
    relations: bags(bag["relations"]).filter(({ field, name, resource, targetField }) =>
      isName(name) && isName(resource) && drawn.includes(resource) && known.has(String(field)) && isName(targetField)
    ) as unknown as MetaModel["relations"],
    softDelete: bag["softDelete"] === true,
    tenantScoped: bag["tenantScoped"] === true,
    owner: known.has(String(bag["owner"])) ? String(bag["owner"]) : null,
    version: known.has(String(bag["version"])) ? String(bag["version"]) : null
  }
}

const viewOf = (bag: Bag, model: MetaModel): MetaView => {
  const known = new Set(model.fields.map(({ name }) => name))
  const label = isBag(bag["label"]) ? bag["label"] : {}
  const nav = isBag(bag["nav"]) ? bag["nav"] : null
  const recent = nav !== null && isBag(nav["recent"]) ? nav["recent"] : null
  const chart = isBag(bag["chart"]) && known.has(String(bag["chart"]["field"])) ? bag["chart"] : null
  return {
    // What later versions add was scrubbed like the rest.
    ...bag,
    name: textOr(bag["name"], model.name),
    label: { singular: textOr(label["singular"], model.name), plural: textOr(label["plural"], model.name) },
    columns: names(bag["columns"], known),
    sort: textOr(bag["sort"], ""),
    filters: bags(bag["filters"]).filter(({ filter, name }) => typeof filter === "string" && typeof name === "string"),
    search: names(bag["search"], known),
    layout: bags(bag["layout"]).map((group) => ({
      label: textOr(group["label"], null),
      fields: names(group["fields"], known)
    })),
    chart,
    title: known.has(String(bag["title"])) ? String(bag["title"]) : null,
    nav: nav === null ? null : {
      group: textOr(nav["group"], null),
      order: typeof nav["order"] === "number" ? nav["order"] : 0,
      icon: textOr(nav["icon"], null),
      recent: recent !== null && typeof recent["limit"] === "number"
        ? { sort: textOr(recent["sort"], ""), limit: Math.min(20, Math.max(1, Math.trunc(recent["limit"]))) }
        : null
    }
  } as unknown as MetaView
}

/**
 * What an app draws of a source: the listed resources with their views and permissions. Relations to resources that are not drawn are left out, and
 * so is everything that is not of the form a meta document has.
 */
export const sourceMeta = (meta: unknown, source: Source): SourceMeta => {
  const bag = isBag(meta) ? meta : {}
  const found = new Map<string, Bag>()
  // Looked through before anything is copied: a source may list thousands that nobody draws.
  for (const model of bags(bag["models"])) {
    const { name } = model
    if (isName(name) && source.resources.includes(name) && !found.has(name)) found.set(name, model)
  }
  const drawn = [...found.keys()]
  const models: MetaModel[] = []
  const views: { [resource: string]: MetaView } = {}
  const permissions: { [resource: string]: MetaDocument["permissions"][string] } = {}
  for (const [name, raw] of found) {
    const copy = scrub(raw)
    if (!isBag(copy)) continue
    const model = modelOf(copy, drawn)
    models.push(model)
    const view = isBag(bag["views"]) && Object.hasOwn(bag["views"], name) ? scrub(bag["views"][name]) : null
    if (isBag(view)) views[name] = viewOf(view, model)
    const given = isBag(bag["permissions"]) && Object.hasOwn(bag["permissions"], name) ? bag["permissions"][name] : {}
    const may = isBag(given) ? given : {}
    permissions[name] = {
      read: may["read"] === true,
      create: may["create"] === true,
      update: may["update"] === true,
      delete: may["delete"] === true,
      conditional: list(may["conditional"]).filter((each) =>
        ["read", "create", "update", "delete"].includes(String(each))
      ) as MetaDocument["permissions"][string]["conditional"]
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
      const view = part.views[name]
      if (view !== undefined) views[name] = view
      const may = part.permissions[name]
      if (may !== undefined) permissions[name] = may
    }
  }
  return { ...own, models, views, permissions }
}
