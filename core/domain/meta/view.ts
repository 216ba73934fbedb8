/**
 * Views as one caller sees them. Every reference to a field that they cannot read is taken out (docs/reference/meta.md#permissions). Menus and pages lose
 * entries that lead to something they cannot see. Nothing here grants or adds anything.
 */

import type { RestrictedModel } from "../access/access.ts"
import type { Caller } from "../access/caller.ts"
import { scan } from "../filter/lex.ts"
import { type Functions, mayCall } from "../function/declaration.ts"
import { restrictTitle, suggestTitle } from "../model/title.ts"
import { chartFields } from "../model/view.ts"
import type { Block, Chart, Label, MenuItem, Page, Period, View, ViewAction, ViewSort } from "../model/view.ts"
import type { Json } from "../value/kind.ts"

/** A view in the meta document. Field names in it are readable fields of the model beside it. */
export interface MetaView {
  readonly name: string
  readonly label: Label
  readonly columns: readonly string[]
  /** An `order_by` text; empty: by primary key. */
  readonly sort: string
  readonly filters: ReadonlyArray<{ readonly name: string; readonly filter: string }>
  readonly search: readonly string[]
  readonly layout: ReadonlyArray<{ readonly label: string | null; readonly fields: readonly string[] }>
  readonly chart: Chart | null
  /** The name of a field, or a text with fields in braces (`{first_name} {last_name}`); null: records are called by their keys. */
  readonly title: string | null
  /** Null: not in the sidebar. */
  readonly nav: {
    readonly group: string | null
    readonly order: number
    readonly icon: string | null
    readonly bottom: boolean
    readonly recent: { readonly sort: string; readonly limit: number } | null
  } | null
  /** `{field}` in an address stands for the record's value. */
  readonly links: ReadonlyArray<{ readonly label: string; readonly href: string }>
  /** Actions whose function the caller may call. */
  readonly actions: ReadonlyArray<Omit<ViewAction, "roles">>
  /** By field: the plugin's component that draws its values. */
  readonly cells: { readonly [field: string]: string }
  /** By field: the plugin's component that it is edited with. Absent where there are none. */
  readonly inputs?: { readonly [field: string]: string }
}

interface MetaBlockSource {
  readonly label: string
  readonly resource: string
  /** Empty: every record. */
  readonly filter: string
}

/** A part of a composed page. Every field in it is one that the caller reads. */
export type MetaBlock =
  | MetaBlockSource & {
    readonly of: "number"
    readonly measure: string
    readonly measured: string | null
    readonly period: Period | null
  }
  | MetaBlockSource & { readonly of: "chart"; readonly chart: Chart }
  | MetaBlockSource & {
    readonly of: "list"
    /** Empty: those of the view. */
    readonly columns: readonly string[]
    readonly sort: string
    readonly limit: number
  }
  | { readonly of: "text"; readonly text: string }
  | { readonly of: "component"; readonly component: string; readonly label: string | null; readonly props: Json }

export interface MetaPage {
  readonly name: string
  readonly label: string
  readonly href: string
  readonly resource: string | null
  /** What the admin app draws there; null: the page is elsewhere, or a plugin's. */
  readonly blocks: readonly MetaBlock[] | null
}

export interface MetaMenuItem {
  readonly label: string
  readonly href: string
  readonly page: string | null
  readonly resource: string | null
}

const isFor = (roles: readonly string[] | null, caller: Caller): boolean =>
  roles === null || caller.roles.some((role) => roles.includes(role))

/** The view of a resource for a caller: the first declared one without roles or with one of theirs; null when none fits. */
export const viewFor = (views: readonly View[], resource: string, caller: Caller): View | null =>
  views.find((view) => view.resource === resource && isFor(view.roles, caller)) ?? null

/** Names and aliases of the declared fields that the caller cannot read. */
export const hiddenNames = ({ byName, model }: RestrictedModel): ReadonlySet<string> => {
  const names = new Set<string>()
  for (const field of model.fields) {
    if (byName.has(field.name)) continue
    names.add(field.name)
    if (field.alias !== null) names.add(field.alias)
    for (const { member, name } of model.members ?? []) if (member!.of === field) names.add(name)
  }
  return names
}

/**
 * Whether a filter uses one of the names as an unquoted word. The text is searched, because the checked filter may have lost a condition
 * that could never hold.
 */
const mentions = (filter: string, names: ReadonlySet<string>): boolean => {
  for (let token = scan(filter, 0); token.kind !== "end"; token = scan(filter, token.end)) {
    if (token.kind === "word" && names.has(token.text.replace(/^-/, ""))) return true
  }
  return false
}

/**
 * A view without references to hidden fields. A saved filter, a chart or a list of recent records that uses one is removed as a whole,
 * because a part of it would mean something else. Lists of fields and orders lose only the hidden name. `listable` false (the caller cannot
 * read) also removes whatever needs a list.
 */
export const restrictView = (
  view: View,
  restricted: RestrictedModel,
  listable: boolean,
  callable: (action: ViewAction) => boolean = () => false,
  /** Whether the caller may ask for what a filter asks for, through relations too. */
  asks: (filter: string) => boolean = () => false,
  /** The same of an order. */
  sorts: (order: string) => boolean = () => false
): MetaView => {
  const visible = (name: string): boolean => restricted.byName.has(name)
  const usable = (names: readonly string[]): boolean => listable && names.every(visible)
  const hidden = hiddenNames(restricted)
  const { chart, nav } = view
  const inputs = Object.entries(view.inputs).filter(([field]) => visible(field))
  return {
    name: view.name,
    label: { singular: view.label.singular, plural: view.label.plural },
    columns: listable ? view.columns.filter(visible) : [],
    sort: listable ? orderText(view.sort, visible, sorts) : "",
    filters: view.filters.filter(({ fields, filter }) => usable(fields) && !mentions(filter, hidden) && asks(filter))
      .map(({ name, filter }) => ({ name, filter })),
    search: listable ? view.search.filter(visible) : [],
    layout: view.layout.map(({ fields, label }) => ({ label, fields: fields.filter(visible) }))
      .filter(({ fields }) => fields.length > 0),
    chart: chart !== null && usable(chartFields(chart)) ? chart : null,
    title: view.title === null
      ? suggestTitle(restricted.model.name, restricted.fields, new Set(restricted.model.key.map((field) => field.name)))
      : restrictTitle(view.title, visible),
    nav: nav === null ? null : {
      group: nav.group,
      order: nav.order,
      icon: nav.icon,
      bottom: nav.bottom,
      recent: nav.recent !== null && usable(nav.recent.fields) &&
          (!nav.recent.sort.includes(".") || sorts(nav.recent.sort))
        ? { sort: nav.recent.sort, limit: nav.recent.limit }
        : null
    },
    links: view.links.filter(({ fields }) => fields.every(visible)).map(({ href, label }) => ({ label, href })),
    actions: view.actions.filter(callable)
      .map(({ confirm, function: called, label, on }) => ({ label, function: called, confirm, on })),
    cells: Object.fromEntries(Object.entries(view.cells).filter(([field]) => visible(field))),
    ...(inputs.length === 0 ? {} : { inputs: Object.fromEntries(inputs) })
  }
}

/** The keys of an order that the caller may sort by. */
const orderText = (
  sort: readonly ViewSort[],
  visible: (field: string) => boolean,
  sorts: (order: string) => boolean
): string =>
  sort.flatMap(({ descending, field, through }) => {
    const name = [...through ?? [], field.name].join(".")
    const shown = through === undefined ? visible((field.member?.of ?? field).name) : sorts(name)
    return shown ? [descending ? `${name} desc` : name] : []
  }).join(", ")

/** Which actions of a view a caller is offered. */
export const callableBy =
  (caller: Caller, functions: Functions | undefined) => ({ function: name, roles }: ViewAction): boolean => {
    const called = functions?.get(name)
    return called !== undefined && isFor(roles, caller) && mayCall(called, caller)
  }

/** Which resources exist at all, and which of them the caller sees. */
export interface Visibility {
  /** What the caller sees of a resource whose records they may list, or null. */
  readonly listed: (resource: string) => RestrictedModel | null
  readonly exists: (resource: string) => boolean
  readonly visible: (resource: string) => boolean
  /** Names and aliases of fields of a visible resource that the caller cannot read. */
  readonly hidden: (resource: string) => ReadonlySet<string>
  /** Whether the caller may ask a resource for what a filter asks for. */
  readonly asks: (resource: string, filter: string) => boolean
  /** Whether the caller may sort a resource by an order. */
  readonly sorts: (resource: string, order: string) => boolean
}

const decoded = (text: string): string => {
  try {
    return decodeURIComponent(text.replaceAll("+", " "))
  } catch {
    return text
  }
}

/**
 * False when an address of the admin app (`/orders`, `/orders?filter=…`) belongs to a resource that the caller does not see. Also false
 * when its query names a field of it that they cannot read.
 */
const leadsSomewhere = (href: string, sight: Visibility): boolean => {
  const [, segment, rest] = /^\/([^/?#]+)(.*)$/s.exec(href) ?? []
  if (segment === undefined || !sight.exists(segment)) return true
  if (!sight.visible(segment)) return false
  const hidden = sight.hidden(segment)
  return !(decoded(rest ?? "").match(/\w+/g) ?? []).some((word) => hidden.has(word))
}

const isOpen = (
  entry: { readonly roles: readonly string[] | null; readonly resource: string | null; readonly href: string },
  caller: Caller,
  sight: Visibility
): boolean =>
  isFor(entry.roles, caller) && (entry.resource === null || sight.visible(entry.resource)) &&
  leadsSomewhere(entry.href, sight)

/** A block as the caller sees it, or null: they cannot list its resource, or something of it is hidden. */
const restrictBlock = (block: Block, sight: Visibility): MetaBlock | null => {
  if (block.of === "text" || block.of === "component") return block
  const model = sight.listed(block.resource)
  if (model === null) return null
  const visible = (name: string): boolean => model.byName.has(name)
  const { fields, filter, label, resource } = block
  if (!fields.every(visible)) return null
  if (filter !== null && (mentions(filter, hiddenNames(model)) || !sight.asks(resource, filter))) return null
  const source = { label, resource, filter: filter ?? "" }
  switch (block.of) {
    case "number":
      return { of: block.of, ...source, measure: block.measure, measured: block.measured, period: block.period }
    case "chart":
      return { of: block.of, ...source, chart: block.chart }
    case "list": {
      const columns = block.columns.filter(visible)
      // Without one of its own columns, the list would show those of the view.
      if (columns.length === 0 && block.columns.length > 0) return null
      const sorts = (order: string): boolean => sight.sorts(resource, order)
      return { of: block.of, ...source, columns, sort: orderText(block.sort, visible, sorts), limit: block.limit }
    }
  }
}

/** The pages that a caller sees. A composed page loses the blocks that they do not see; one that has none left is left out. */
export const pagesFor = (pages: readonly Page[], caller: Caller, sight: Visibility): readonly MetaPage[] =>
  pages.filter((page) => isOpen(page, caller, sight)).flatMap(({ blocks: all, href, label, name, resource }) => {
    const blocks = all?.flatMap((block) => restrictBlock(block, sight) ?? []) ?? null
    return blocks?.length === 0 ? [] : [{ name, label, href, resource, blocks }]
  })

/** The user menu without what the caller cannot see. `pages` are the pages they see; entries that lead to other pages are left out. */
export const menuFor = (
  menu: readonly MenuItem[],
  pages: readonly MetaPage[],
  caller: Caller,
  sight: Visibility
): readonly MetaMenuItem[] =>
  menu.filter((item) =>
    isOpen(item, caller, sight) && (item.page === null || pages.some((page) => page.name === item.page))
  ).map(({ href, label, page, resource }) => ({ label, href, page, resource }))
