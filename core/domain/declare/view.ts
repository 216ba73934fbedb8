/**
 * Views: how the admin app shows a resource, as declared and as compiled, with the entries of its menus and pages. A view never grants
 * anything: `/api/meta` removes from it what the caller may not read. What a view may say is decided by `compile-view.ts`.
 */

import type { SortKey } from "../filter/tree.ts"
import type { Granularity } from "../read/plan.ts"
import type { FieldMap } from "./field.ts"
import type { FieldName } from "./record.ts"
import type { Resource } from "./resource.ts"

/** What people call one record and several. */
export interface Label {
  readonly singular: string
  readonly plural: string
}

/** What `:series` answers by default: `7d`, `30d`, `90d`, `1y` or `all`. */
export type SeriesRange = "7d" | "30d" | "90d" | "1y" | "all"
export const seriesRanges: readonly SeriesRange[] = ["7d", "30d", "90d", "1y", "all"]
export const granularities: readonly Granularity[] = ["hour", "day", "week", "month", "quarter", "year"]

/** A chart above a list: one of the aggregates of the API. */
export type ChartDeclaration<Name extends string = string> =
  | {
    readonly of: "series"
    /** A timestamp or date. */
    readonly field: Name
    readonly granularity?: Granularity
    readonly range?: SeriesRange
    /** `count`, or `sum:`, `avg:`, `min:`, `max:` and a numeric field. */
    readonly measure?: "count" | `${"sum" | "avg" | "min" | "max"}:${Name}`
  }
  /** A numeric field; 1 to 100 buckets. */
  | { readonly of: "histogram"; readonly field: Name; readonly buckets?: number }
  /** The most frequent values; 1 to 500. */
  | { readonly of: "facets"; readonly field: Name; readonly limit?: number }

/** A filter with a name, offered above the list. */
export interface SavedFilter {
  readonly name: string
  readonly filter: string
}

/** Fields that stand together on a record's page. */
export interface LayoutGroup<Name extends string = string> {
  readonly label?: string
  readonly fields: readonly Name[]
}

/** The resource's entry in the sidebar. */
export interface NavDeclaration {
  /** Heading under which the entry stands. */
  readonly group?: string
  /** Smaller stands higher; equal ones by label. */
  readonly order?: number
  /** Name of an icon of the admin app. */
  readonly icon?: string
  /** Lists some records under the entry: the first of this order, 5 unless `limit` (1 to 20) says otherwise. */
  readonly recent?: { readonly sort: string; readonly limit?: number }
}

/** A view as declared (`docs/reference/views.md`). Everything may be left out. */
export interface ViewDeclaration<Fields extends FieldMap = FieldMap> {
  /** Unique among the views of the resource; the resource's name when left out. */
  readonly name?: string
  readonly label?: Label
  /** Columns of the list, in order. Without it: every field but JSON. */
  readonly columns?: readonly FieldName<Fields>[]
  /** An `order_by` text: `"created_at desc, id"`. */
  readonly sort?: string
  readonly filters?: readonly SavedFilter[]
  /** Fields offered in the list's search form: each filterable, or searched. */
  readonly search?: readonly FieldName<Fields>[]
  readonly layout?: readonly LayoutGroup<FieldName<Fields>>[]
  readonly chart?: ChartDeclaration<FieldName<Fields>>
  /** The field that names a record in headings, links and breadcrumbs. */
  readonly title?: FieldName<Fields>
  readonly nav?: NavDeclaration | false
  /** The view is for callers holding one of these roles. A resource may have several: the first that fits is theirs. */
  readonly roles?: readonly string[]
}

/** A view bound to its resource. */
export interface DeclaredView {
  readonly _tag: "View"
  readonly resource: string
  readonly declaration: unknown
}

/**
 * Declares how a resource is shown.
 *
 * @example
 * defineView(orders, { columns: ["id", "status", "total"], sort: "id desc", filters: [{ name: "Open", filter: "status = draft" }] })
 */
export const defineView = <Name extends string, Fields extends FieldMap>(
  resource: Resource<Name, Fields>,
  declaration: ViewDeclaration<Fields>
): DeclaredView => ({ _tag: "View", resource: resource.name, declaration })

/** A page of the admin app beside the resources. */
export interface PageDeclaration {
  /** Unique; the page's address is `/<name>` unless `href` says otherwise, so no resource may have it. */
  readonly name: string
  readonly label: string
  /** Where the page is, when the admin app does not draw it itself: a path or an http(s) URL. */
  readonly href?: string
  /** Only for callers holding one of these roles. */
  readonly roles?: readonly string[]
  /** Only for callers who can see this resource. */
  readonly resource?: string
}

/** An entry of the user menu: leads to an address or to a declared page, exactly one of them. */
export type MenuDeclaration =
  & { readonly label: string; readonly roles?: readonly string[]; readonly resource?: string }
  & (
    | { readonly href: string; readonly page?: never }
    | { readonly page: string; readonly href?: never }
  )

/** A checked filter with a name. `fields` are the names of the fields it uses, so that it can be left out where one is hidden. */
export interface ViewFilter extends SavedFilter {
  readonly fields: readonly string[]
}

export type Chart =
  | {
    readonly of: "series"
    readonly field: string
    readonly granularity: Granularity
    readonly range: SeriesRange
    readonly measure: string
    /** The measured field, or null for a count. */
    readonly measured: string | null
  }
  | { readonly of: "histogram"; readonly field: string; readonly buckets: number }
  | { readonly of: "facets"; readonly field: string; readonly limit: number }

export interface Nav {
  readonly group: string | null
  readonly order: number
  readonly icon: string | null
  /** `fields` are the names of the fields its order uses. */
  readonly recent: { readonly sort: string; readonly limit: number; readonly fields: readonly string[] } | null
}

/** A compiled view: every name in it is a declared field, every text in it checks. */
export interface View {
  readonly resource: string
  readonly name: string
  readonly label: Label
  readonly columns: readonly string[]
  /** The list's first order; empty: the primary key. */
  readonly sort: readonly SortKey[]
  readonly filters: readonly ViewFilter[]
  readonly search: readonly string[]
  readonly layout: ReadonlyArray<{ readonly label: string | null; readonly fields: readonly string[] }>
  readonly chart: Chart | null
  readonly title: string | null
  /** Null: the resource is not in the sidebar. */
  readonly nav: Nav | null
  /** Null: for everybody. */
  readonly roles: readonly string[] | null
}

export interface Page {
  readonly name: string
  readonly label: string
  readonly href: string
  readonly roles: readonly string[] | null
  readonly resource: string | null
}

export interface MenuItem {
  readonly label: string
  readonly href: string
  /** The page it leads to, or null for an address of its own. */
  readonly page: string | null
  readonly roles: readonly string[] | null
  readonly resource: string | null
}
