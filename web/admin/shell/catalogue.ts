/**
 * What there is to show, out of the meta document: each resource with its model, view, labels and permissions, the sidebar's groups, and the letters
 * of `G`. Pure; it grants nothing, as the document holds only what the caller may see.
 */

import type { MetaDocument, MetaField, MetaModel, MetaView } from "../../client/meta.ts"
import { plain } from "../field/plain.ts"

/** A resource as pages need it. */
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
  /** The source it is drawn from, or null for the app's own. */
  readonly source: string | null
}

export interface NavGroup {
  /** Null: entries without a group, which stand first. */
  readonly label: string | null
  readonly entries: readonly Resource[]
}

export interface Catalogue {
  readonly meta: MetaDocument
  readonly resources: ReadonlyMap<string, Resource>
  readonly groups: readonly NavGroup[]
  /** Entries of the phone's bottom bar. */
  readonly bottom: readonly Resource[]
  /** By letter: where `G` and that letter lead. */
  readonly letters: ReadonlyMap<string, Resource>
}

const words = (name: string): string => {
  const text = name.replaceAll("_", " ")
  return text.charAt(0).toUpperCase() + text.slice(1)
}

/** A field's or resource's name as people read it: `created_at` is "Created", `customer_id` "Customer". */
export const labelOf = (name: string): string =>
  words(name === "id" ? "ID" : name.replace(/_(?:id|at|on)$/, "") || name)

/** The view where the service has none for the caller: everything, in declared order. */
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
  nav: { group: null, order: 0, icon: null, recent: null }
})

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

/** Builds the catalogue. `sourceOf` names the source of a resource that is not the app's own. */
export const catalogueOf = (
  meta: MetaDocument,
  sourceOf: (resource: string) => string | null = () => null
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
      source: sourceOf(model.name)
    })
  }
  const byGroup = new Map<string | null, Resource[]>()
  for (const resource of resources.values()) {
    if (resource.view.nav === null) continue
    const group = resource.source ?? resource.view.nav.group
    byGroup.set(group, [...byGroup.get(group) ?? [], resource])
  }
  const inOrder = (entries: readonly Resource[]): readonly Resource[] =>
    entries.toSorted((a, b) =>
      a.view.nav!.order - b.view.nav!.order || a.view.label.plural.localeCompare(b.view.label.plural)
    )
  const groups = [...byGroup].map(([label, entries]) => ({ label, entries: inOrder(entries) }))
    .toSorted((a, b) => Number(a.label !== null) - Number(b.label !== null))
  const shown = groups.flatMap(({ entries }) => entries)
  return { meta, resources, groups, bottom: shown.slice(0, shown.length > 4 ? 3 : 4), letters: lettersOf(shown) }
}

/** The key of a record as it stands in addresses: its parts percent-encoded, with commas between. Null where the key is hidden. */
export const keyOf = ({ model }: Resource, record: { readonly [field: string]: unknown }): string | null => {
  if (model.primaryKey.length === 0) return null
  const parts = model.primaryKey.map((name) => record[name])
  if (parts.some((part) => part === undefined || part === null)) return null
  return parts.map((part) => encodeURIComponent(plain(part))).join(",")
}

/** The parts of a key that stands in an address. */
export const keyPartsOf = (key: string): readonly string[] => key.split(",").map(decodeURIComponent)

/** What names a record: its title, or its key. */
export const titleOf = (resource: Resource, record: { readonly [field: string]: unknown }): string => {
  const { title } = resource.view
  const value = title === null ? undefined : record[title]
  if (typeof value === "string" && value !== "" && !resource.model.primaryKey.includes(title!)) return value
  const key = keyOf(resource, record)
  return key === null ? resource.view.label.singular : `#${keyPartsOf(key).join(", ")}`
}

/** Fields that a list needs so that `titleOf` and `keyOf` have what they look at. */
export const titleFields = ({ model, view }: Resource): readonly string[] => [
  ...new Set([...model.primaryKey, ...(view.title === null ? [] : [view.title])])
]

/** The address of a record's page. */
export const addressOf = (resource: Resource, key: string): string => `/${resource.name}/${key}`
