/**
 * Builds the catalogue from the meta document: each resource with its model, view, labels and permissions, the sidebar's groups, and the letters for `G`.
 * Pure. It grants nothing, because the document has only what the caller may see.
 */

import type { ResourceTransfers } from "../../../core/domain/meta/permissions.ts"
import { fieldsOfTitle, fillTitle } from "../../../core/domain/model/title.ts"
import { hasOrder } from "../../../core/domain/value/traits.ts"
import { readKey } from "../../client/key.ts"
import type { MetaDocument, MetaField, MetaModel, MetaView } from "../../client/meta.ts"
import type { Source } from "../../client/source.ts"
import { isVisible, plain, short } from "./plain.ts"

/** A resource in the form that pages need. */
export interface Resource {
  readonly name: string
  readonly model: MetaModel
  readonly view: MetaView
  readonly fields: ReadonlyMap<string, MetaField>
  readonly may: {
    readonly read: boolean
    readonly create: boolean
    readonly update: boolean
    readonly delete: boolean
    readonly conditional: readonly string[]
    /** Of a materialized view. */
    readonly refresh?: boolean
  }
  /** Which exports, imports and bulk changes the caller may do. */
  readonly transfers: ResourceTransfers
  /** The source of the resource, or null for the service's own. */
  readonly source: Source | null
  /** The way from a foreign key to its record: the relation that `expand` follows, and the resource it leads to. Undefined if the caller does not see it. */
  readonly related: (field: string) =>
    | { readonly relation: string; readonly target: Resource; readonly targetField: string }
    | undefined
  /** The resource that a relation leads to, by the relation's name. Undefined if the caller does not see it. */
  readonly target: (relation: string) => Resource | undefined
}

export interface NavGroup {
  /** The group's name. Null for entries without a group, which come first. */
  readonly label: string | null
  /** True for the group of history resources, whose name is a text of the app. */
  readonly history?: true
  /** The source of these entries, or null for the service's own. */
  readonly source: Source | null
  readonly entries: readonly Resource[]
}

export interface Catalogue {
  readonly meta: MetaDocument
  readonly resources: ReadonlyMap<string, Resource>
  readonly groups: readonly NavGroup[]
  /** Entries of the phone's bottom bar. */
  readonly bottom: readonly Resource[]
  /** The resource for `G` and each letter. */
  readonly letters: ReadonlyMap<string, Resource>
}

const words = (name: string): string => {
  const text = name.replaceAll("_", " ").replace(/\b(?:iban|ip|sku|ur[il]|uuid|vat)\b/g, (short) => short.toUpperCase())
  return text.charAt(0).toUpperCase() + text.slice(1)
}

/** Labels of the members of a version that are not fields of its record. */
const versionLabels: Readonly<Record<string, string>> = {
  history_id: "Version",
  history_operation: "Operation",
  history_at: "Changed",
  history_by: "Changed by"
}

/** The default label of a name: `created_at` becomes "Created", `customer_id` "Customer". */
export const labelOf = (name: string): string =>
  versionLabels[name] ?? words(name === "id" ? "ID" : name.replace(/_(?:id|at|on)$/, "") || name)

/** Meta of a source may hold anything where a text is expected. */
const textOr = <T>(value: unknown, other: T): string | T => typeof value === "string" ? value : other

/**
 * The label of a field of a resource: its declared label, "ID" for a key that is a number of its own (`customer_id` of customers), else the
 * label of its name.
 */
export const fieldLabel = ({ fields, model }: Pick<Resource, "fields" | "model">, name: string): string => {
  const field = fields.get(name)
  const [key, ...more] = model.primaryKey
  const own = name === key && more.length === 0 && field?.relation === undefined && name.endsWith("_id")
  const usual = own && versionLabels[name] === undefined ? labelOf("id") : labelOf(name)
  return textOr(field?.label, usual)
}

/** The help text for a person who fills in a field, or null. */
export const fieldHelp = ({ help }: MetaField): string | null => textOr(help, null)

/** The description of a resource for people, or null. That of a source may be longer than a declaration allows. */
export const aboutOf = ({ model }: Pick<Resource, "model">): string | null => {
  const text = textOr(model.description, "")
  return isVisible(text) ? short(text, 2_000) : null
}

/** The view for a resource without one: all fields in declared order. */
const plainView = (model: MetaModel): MetaView => ({
  name: model.name,
  label: { singular: words(model.name), plural: words(model.name) },
  columns: model.fields.filter(({ kind }) => hasOrder(kind)).map(({ name }) => name),
  sort: "",
  filters: [],
  search: [],
  layout: [{ label: null, fields: model.fields.map(({ name }) => name) }],
  chart: null,
  title: null,
  nav: { group: null, order: 0, icon: null, bottom: false, recent: null },
  links: [],
  actions: [],
  cells: {}
})

/** Whether a resource has the versions of another one. */
export const isHistory = ({ fields, name }: Resource): boolean => name.endsWith("_history") && fields.has("history_id")

/** The relations to expand so that the makers of versions have names. Other services may not have them. */
export const makerNeeds = (resource: Resource): readonly string[] =>
  isHistory(resource) && resource.source === null && resource.fields.has("history_by") ? ["history_by"] : []

const lettersOf = (entries: readonly Resource[]): ReadonlyMap<string, Resource> => {
  const letters = new Map<string, Resource>()
  for (const entry of entries) {
    const free = entry.view.label.plural.toLowerCase().split("").find((letter) =>
      /[a-z]/.test(letter) && !letters.has(letter)
    )
    if (free !== undefined) letters.set(free, entry)
  }
  return letters
}

/** The resources by name. `sourceOf` gives the source of a resource that is not the app's own. */
export const resourcesOf = (
  meta: MetaDocument,
  sourceOf: (resource: string) => Source | null = () => null
): ReadonlyMap<string, Resource> => {
  const resources = new Map<string, Resource>()
  for (const model of meta.models) {
    const permissions = meta.permissions[model.name]
    resources.set(model.name, {
      name: model.name,
      // The rows of a function exist with its arguments only, so their keys are no addresses.
      model: model.arguments === undefined ? model : { ...model, primaryKey: [] },
      view: meta.views[model.name] ?? plainView(model),
      fields: new Map(model.fields.map((field) => [field.name, field])),
      may: permissions ?? { read: false, create: false, update: false, delete: false, conditional: [] },
      transfers: meta.transfers[model.name] ?? { export: false, bulk: [], import: [] },
      source: sourceOf(model.name),
      related: (field) => {
        const relation = toOneOf(model, field)
        const target = relation === undefined ? undefined : resources.get(relation.resource)
        return relation === undefined || target === undefined
          ? undefined
          : { relation: relation.name, target, targetField: relation.targetField }
      },
      target: (relation) => {
        const way = model.relations.find(({ name }) => name === relation)
        return way === undefined ? undefined : resources.get(way.resource)
      }
    })
  }
  return resources
}

/** Builds the catalogue. */
export const catalogueOf = (meta: MetaDocument, sourceOf?: (resource: string) => Source | null): Catalogue => {
  const resources = resourcesOf(meta, sourceOf)
  // The resources of a source are one group with its label, whatever groups its views name.
  const byGroup = new Map<Source | string | null, Resource[]>()
  const history: Resource[] = []
  for (const resource of resources.values()) {
    // Subscriptions, deliveries and their attempts are on the page of webhooks.
    if (resource.view.nav === null || (resource.source === null && resource.name.startsWith("webhook_"))) continue
    if (resource.source === null && resource.view.nav.group === null && isHistory(resource)) {
      history.push(resource)
      continue
    }
    const group = resource.source ?? resource.view.nav.group
    byGroup.set(group, [...byGroup.get(group) ?? [], resource])
  }
  const rank = ({ label, source }: NavGroup): number => source !== null ? 2 : label !== null ? 1 : 0
  const inOrder = (entries: readonly Resource[]): readonly Resource[] =>
    entries.toSorted((a, b) =>
      a.view.nav!.order - b.view.nav!.order || a.view.label.plural.localeCompare(b.view.label.plural)
    )
  const groups: NavGroup[] = [...byGroup].map(([of, entries]): NavGroup => {
    const source = typeof of === "string" ? null : of
    return { label: typeof of === "string" ? of : of?.label ?? null, source, entries: inOrder(entries) }
  }).toSorted((a, b) => rank(a) - rank(b))
  if (history.length > 0) groups.push({ label: null, source: null, history: true, entries: inOrder(history) })
  const all = groups.flatMap(({ entries }) => entries)
  const chosen = all.filter(({ view }) => view.nav?.bottom === true)
  const bottom = chosen.length > 0 ? chosen.slice(0, 4) : all.slice(0, all.length > 4 ? 3 : 4)
  return { meta, resources, groups, bottom, letters: lettersOf(all) }
}

/** The text of a record's key in addresses: its parts percent-encoded and separated by commas. Null if the key is hidden. */
export const keyOf = ({ model }: Resource, record: { readonly [field: string]: unknown }): string | null => {
  if (model.primaryKey.length === 0) return null
  const parts = model.primaryKey.map((name) => record[name])
  if (parts.some((part) => part === undefined || part === null)) return null
  return parts.map((part) => encodeURIComponent(plain(part).toWellFormed())).join(",")
}

/** The parts of a key from its text in an address. Throws a URIError for an invalid text. */
export const keyPartsOf = readKey

/** Whether a part of an address can be a key. */
export const isKeyText = (text: string): boolean => {
  try {
    return keyPartsOf(text).every((part) => part !== "")
  } catch {
    // Percent signs that encode nothing.
    return false
  }
}

/** Longest title of a record, in characters. */
const longestTitle = 200

type Values = { readonly [field: string]: unknown }

const isBag = (value: unknown): value is Values => typeof value === "object" && value !== null && !Array.isArray(value)

/** The relation of a foreign key, which `expand` follows. Undefined if the caller does not see it. */
export const toOneOf = ({ relations }: MetaModel, field: string) =>
  relations.find((each) => !each.many && each.field === field)

/** The related record that came with a record by `expand`, or null. */
export const expandedOf = (record: Values | undefined, relation: string): Values | null => {
  const all = record?.["expand"]
  const target = isBag(all) ? all[relation] : undefined
  return isBag(target) ? target : null
}

/** How many relations deep a title reads, and how many relations one request names: what `expand` allows. */
const mostLevels = 2
export const mostExpanded = 10

/** The text of a field in a title: its text, or the title of the related record. `levels`: how many relations deep from here records may have been read. */
const partOf = (resource: Resource, record: Values, field: string, levels: number): string => {
  const value = plain(record[field])
  if (!isVisible(value)) return ""
  if (resource.fields.get(field)?.relation === undefined) return value
  const { relation = "", target } = resource.related(field) ?? {}
  const related = levels === 0 ? null : expandedOf(record, relation)
  const name = target === undefined || related === null ? null : nameOf(target, related, levels - 1)
  // A key of the record itself says more than nothing. Keys of keys name nothing.
  return name ?? (levels === mostLevels ? `#${value}` : "")
}

/** Whether records have no name but their key. */
const isNameless = ({ fields, model, view: { title } }: Resource): boolean =>
  title === null || (model.primaryKey.includes(title) && fields.get(title)?.kind !== "text")

/** The name of a record by its title, or null if the title shows nothing. */
const nameOf = (resource: Resource, record: Values, levels: number): string | null => {
  const { title } = resource.view
  if (title === null || isNameless(resource)) return null
  const text = fillTitle(title, (field) => partOf(resource, record, field, levels))
  return text === "" ? null : short(text, longestTitle)
}

/** The title of a record, or its key if the title shows nothing. `related`: the record came with another one by `expand`. */
export const titleOf = (resource: Resource, record: Values, related = false): string => {
  const name = nameOf(resource, record, related ? mostLevels - 1 : mostLevels)
  if (name !== null) return name
  const key = keyOf(resource, record)
  return key === null ? resource.view.label.singular : `#${short(keyPartsOf(key).join(", "), longestTitle)}`
}

/** The field that is the whole title, if there is one. */
export const titleField = ({ fields, view }: Resource): MetaField | undefined =>
  view.title === null ? undefined : fields.get(view.title)

const titleFields = ({ fields, view }: Resource): readonly string[] =>
  fieldsOfTitle(view.title ?? "").filter((name) => fields.has(name))

/** The ways from a field to all records that the title of its related record is made of. */
const pathsOf = (resource: Resource, field: string, levels: number): readonly string[] => {
  const { relation, target } = resource.related(field) ?? {}
  if (relation === undefined || target === undefined || levels === 0) return []
  const below = titleFields(target).slice(0, mostExpanded).flatMap((name) => pathsOf(target, name, levels - 1))
  return below.length === 0 ? [relation] : below.map((path) => `${relation}.${path}`)
}

/** The relations to expand so that the records which these fields lead to have their titles. One of each field comes first: a request names few. */
export const expandsFor = (resource: Resource, fields: Iterable<string>): readonly string[] => {
  const paths: (readonly string[])[] = []
  for (const field of new Set(fields)) {
    const ways = pathsOf(resource, field, mostLevels)
    if (ways.length > 0 && paths.push(ways) === mostExpanded) break
  }
  return [...paths.flatMap(([first]) => first ?? []), ...paths.flatMap(([, ...more]) => more)].slice(0, mostExpanded)
}

/** The fields and relations that a list has to request so that `titleOf` and `keyOf` work. */
export const titleNeeds = (
  resource: Resource
): { readonly fields: readonly string[]; readonly expand?: readonly string[] } => {
  const named = titleFields(resource)
  const expand = expandsFor(resource, named)
  return {
    fields: [...new Set([...resource.model.primaryKey, ...named])],
    ...(expand.length === 0 ? {} : { expand })
  }
}

/** The foreign key among the columns that tells nameless records apart: the customer of an order. */
const companionOf = (resource: Resource): string | undefined =>
  isNameless(resource) ? resource.view.columns.find((name) => resource.related(name) !== undefined) : undefined

/** What `titlesOf` needs of a request. */
export const recentNeeds = (resource: Resource): ReturnType<typeof titleNeeds> => {
  const needs = titleNeeds(resource)
  const companion = companionOf(resource)
  return companion === undefined
    ? needs
    : { fields: [...needs.fields, companion], expand: [...needs.expand ?? [], ...expandsFor(resource, [companion])] }
}

/** The title of a record, and the name of the record that it belongs to where the title is no more than a key. */
export const titlesOf = (resource: Resource, record: Values): readonly string[] => {
  const { relation = "", target } = resource.related(companionOf(resource) ?? "") ?? {}
  const found = expandedOf(record, relation)
  const name = target === undefined || found === null ? null : nameOf(target, found, mostLevels - 1)
  return [titleOf(resource, record), ...(name === null ? [] : [name])]
}

/** The address of a record's page. */
export const addressOf = (resource: Resource, key: string): string => `/${resource.name}/${key}`
