/**
 * Builds the catalogue from the meta document: each resource with its model, view, labels and permissions, the sidebar's groups, and the letters for `G`.
 * Pure. It grants nothing, because the document has only what the caller may see.
 */

import type { ResourceTransfers } from "../../../core/domain/meta/permissions.ts"
import type { MetaDocument, MetaField, MetaModel, MetaView } from "../../client/meta.ts"
import type { Source } from "../../client/source.ts"
import { isVisible, plain, short } from "../field/plain.ts"

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
  }
  /** Which exports, imports and bulk changes the caller may do. */
  readonly transfers: ResourceTransfers
  /** The source of the resource, or null for the service's own. */
  readonly source: Source | null
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

/** What a version says of itself, beside the fields of its record. */
const versionLabels: Readonly<Record<string, string>> = {
  history_id: "Version",
  history_operation: "Operation",
  history_at: "Changed",
  history_by: "Changed by"
}

/** The default label of a name: `created_at` becomes "Created", `customer_id` "Customer". */
export const labelOf = (name: string): string =>
  versionLabels[name] ?? words(name === "id" ? "ID" : name.replace(/_(?:id|at|on)$/, "") || name)

/** The view for a resource without one: all fields in declared order. */
const plainView = (model: MetaModel): MetaView => ({
  name: model.name,
  label: { singular: words(model.name), plural: words(model.name) },
  columns: model.fields.filter(({ kind }) => kind !== "json").map(({ name }) => name),
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

/** Builds the catalogue. `sourceOf` gives the source of a resource that is not the app's own. */
export const catalogueOf = (
  meta: MetaDocument,
  sourceOf: (resource: string) => Source | null = () => null
): Catalogue => {
  const resources = new Map<string, Resource>()
  for (const model of meta.models) {
    const permissions = meta.permissions[model.name]
    resources.set(model.name, {
      name: model.name,
      model,
      view: meta.views[model.name] ?? plainView(model),
      fields: new Map(model.fields.map((field) => [field.name, field])),
      may: permissions ?? { read: false, create: false, update: false, delete: false, conditional: [] },
      transfers: meta.transfers[model.name] ?? { export: false, bulk: [], import: [] },
      source: sourceOf(model.name)
    })
  }
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
  const shown = groups.flatMap(({ entries }) => entries)
  const chosen = shown.filter(({ view }) => view.nav?.bottom === true)
  const bottom = chosen.length > 0 ? chosen.slice(0, 4) : shown.slice(0, shown.length > 4 ? 3 : 4)
  return { meta, resources, groups, bottom, letters: lettersOf(shown) }
}

/** The text of a record's key in addresses: its parts percent-encoded and separated by commas. Null if the key is hidden. */
export const keyOf = ({ model }: Resource, record: { readonly [field: string]: unknown }): string | null => {
  if (model.primaryKey.length === 0) return null
  const parts = model.primaryKey.map((name) => record[name])
  if (parts.some((part) => part === undefined || part === null)) return null
  return parts.map((part) => encodeURIComponent(plain(part).toWellFormed())).join(",")
}

/** The parts of a key from its text in an address. */
export const keyPartsOf = (key: string): readonly string[] => key.split(",").map(decodeURIComponent)

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

/** The title of a record, or its key if the title shows nothing. */
export const titleOf = (resource: Resource, record: { readonly [field: string]: unknown }): string => {
  const { title } = resource.view
  const value = title === null ? undefined : record[title]
  if (typeof value === "string" && isVisible(value) && !resource.model.primaryKey.includes(title!)) {
    return short(value, longestTitle)
  }
  const key = keyOf(resource, record)
  return key === null ? resource.view.label.singular : `#${short(keyPartsOf(key).join(", "), longestTitle)}`
}

/** The fields that `titleOf` and `keyOf` need. */
export const titleFields = ({ model, view }: Resource): readonly string[] => [
  ...new Set([...model.primaryKey, ...(view.title === null ? [] : [view.title])])
]

/** The address of a record's page. */
export const addressOf = (resource: Resource, key: string): string => `/${resource.name}/${key}`
