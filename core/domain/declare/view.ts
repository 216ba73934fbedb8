/**
 * Views, pages and menu entries as people write them (`defineView`): how the admin app shows a resource. It judges nothing. What they may
 * say is decided by `compile/view.ts` and `compile/menu.ts`; their compiled form stands in `model/view.ts`.
 */

import type { Label, SavedFilter } from "../model/view.ts"
import type { Granularity, SeriesRange } from "../value/instant.ts"
import type { Json } from "../value/kind.ts"
import type { FieldMap } from "./field.ts"
import type { FormDeclaration } from "./form.ts"
import type { FieldName } from "./record.ts"
import type { Resource } from "./resource.ts"

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
  /** The entry stands in the phone's bottom bar, which has room for four. */
  readonly bottom?: boolean
}

/**
 * A link on a record's page. `{field}` in the path or the query of `href` stands for the record's value, percent-encoded. The link is not
 * drawn for a record that has no value there.
 */
export interface LinkDeclaration {
  readonly label: string
  /** A path of this site, or an http, https or mailto address: `"https://track.example/{parcel}"`. */
  readonly href: string
}

/**
 * A button that calls an API function. On a record's page the function gets `{ resource, key }`; for the selected records of a list it gets
 * `{ resource, keys }`, at most 500 of them. A key is written as in addresses of the API.
 */
export interface ActionDeclaration {
  readonly label: string
  /** Name of a function of the configuration. Who may not call it does not see the button. */
  readonly function: string
  /** A question that is asked before the call. */
  readonly confirm?: string
  readonly on: "record" | "selection"
  /** Only for callers holding one of these roles. */
  readonly roles?: readonly string[]
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
  /**
   * What names a record in lists, links, pickers and headings: a field, or a text with fields in braces, such as `"{first_name} {last_name}"`. A foreign key in
   * braces stands for the title of its record. Without it: `name`, the first and the last name, `title`, `subject`, `email`, `code` and their like, the
   * first searched text, or both records that a table joins.
   */
  readonly title?: FieldName<Fields> | `${string}{${FieldName<Fields>}}${string}`
  readonly nav?: NavDeclaration | false
  /** Links of a record's page. */
  readonly links?: readonly LinkDeclaration[]
  /** Buttons that call API functions. */
  readonly actions?: readonly ActionDeclaration[]
  /** By field: the plugin's component that draws its values. */
  readonly cells?: { readonly [Field in FieldName<Fields>]?: string }
  /** By field: the plugin's component that its values are edited with. */
  readonly inputs?: { readonly [Field in FieldName<Fields>]?: string }
  /** The view is for callers holding one of these roles. A resource may have several: the first that fits is theirs. */
  readonly roles?: readonly string[]
  /** Public forms: pages that anybody may fill in to create a record. The same as `.form({ … })`. */
  readonly forms?: readonly FormDeclaration<FieldName<Fields>>[]
}

/** A view bound to its resource. */
export interface DeclaredView<Fields extends FieldMap = FieldMap> {
  readonly _tag: "View"
  readonly resource: string
  readonly declaration: unknown
  /** The view with one more public form (docs/guides/forms.md). */
  form(declaration: FormDeclaration<FieldName<Fields>>): DeclaredView<Fields>
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
): DeclaredView<Fields> => ({
  _tag: "View",
  resource: resource.name,
  declaration,
  form: (form) => defineView(resource, { ...declaration, forms: [...declaration.forms ?? [], form] })
})

/** The time a number is taken over: the last days of a timestamp or date field, compared with as many days before. */
interface PeriodDeclaration {
  readonly field: string
  readonly range: Exclude<SeriesRange, "all">
}

/** A part of a composed page. Fields and filters are checked when the service starts. */
export type BlockDeclaration =
  | {
    readonly of: "number"
    readonly label: string
    readonly resource: string
    /** `count`, or `sum:`, `avg:`, `min:`, `max:` and a numeric field, which need `period`. Default `count`. */
    readonly measure?: "count" | `${"sum" | "avg" | "min" | "max"}:${string}`
    readonly filter?: string
    readonly period?: PeriodDeclaration
  }
  | {
    readonly of: "chart"
    readonly label: string
    readonly resource: string
    readonly chart: ChartDeclaration
    readonly filter?: string
  }
  | {
    readonly of: "list"
    readonly label: string
    readonly resource: string
    readonly filter?: string
    /** Default: the columns of the caller's view, the first five of them. */
    readonly columns?: readonly string[]
    readonly sort?: string
    /** 1 to 50; default 10. */
    readonly limit?: number
  }
  /** Headings, paragraphs, lists, emphasis, code and links, written in Markdown. HTML is shown as text. */
  | { readonly of: "text"; readonly text: string }
  /** A component that a plugin brings, with what it is given. */
  | { readonly of: "component"; readonly component: string; readonly label?: string; readonly props?: Json }

/** A page of the admin app beside the resources. */
export interface PageDeclaration {
  /** Unique; the page's address is `/<name>` unless `href` says otherwise, so no resource may have it. */
  readonly name: string
  readonly label: string
  /** Where the page is, when the admin app does not draw it itself: a path or an http(s) URL. */
  readonly href?: string
  /** What the admin app draws there, in order; such a page has no `href`. At most 50 blocks. */
  readonly blocks?: readonly BlockDeclaration[]
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
