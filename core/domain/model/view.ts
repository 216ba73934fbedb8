/**
 * Compiled views, pages and menu entries. Every name in them is a declared field, and every text in them checks. A view never grants
 * anything: `/api/meta` removes from it what the caller may not read.
 */

import type { Granularity, SeriesRange } from "../value/instant.ts"
import type { Json } from "../value/kind.ts"
import type { SortKey } from "./model.ts"

/** What people call one record and several. */
export interface Label {
  readonly singular: string
  readonly plural: string
}

/** A filter with a name, offered above the list. */
export interface SavedFilter {
  readonly name: string
  readonly filter: string
}

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

/** A key of a view's order. */
export interface ViewSort extends SortKey {
  /** The names of the relations that lead to its field. Absent for a field of the record itself. */
  readonly through?: readonly string[]
}

/** Names of the fields that a chart draws. */
export const chartFields = (chart: Chart): readonly string[] =>
  chart.of === "series" && chart.measured !== null ? [chart.field, chart.measured] : [chart.field]

export interface Nav {
  readonly group: string | null
  readonly order: number
  readonly icon: string | null
  /** Whether the entry stands in the phone's bottom bar. */
  readonly bottom: boolean
  /** `fields` are the names of the record's own fields that its order uses. */
  readonly recent: { readonly sort: string; readonly limit: number; readonly fields: readonly string[] } | null
}

/** A checked link. `fields` are the names between braces in its address. */
export interface ViewLink {
  readonly label: string
  readonly href: string
  readonly fields: readonly string[]
}

/** A checked action; its function exists. */
export interface ViewAction {
  readonly label: string
  readonly function: string
  /** A question that is asked before the call, or null. */
  readonly confirm: string | null
  readonly on: "record" | "selection"
  /** Null: for everybody who may call the function. */
  readonly roles: readonly string[] | null
}

/** A compiled view: every name in it is a declared field, every text in it checks. */
export interface View {
  readonly resource: string
  readonly name: string
  readonly label: Label
  readonly columns: readonly string[]
  /** The list's first order; empty: the primary key. */
  readonly sort: readonly ViewSort[]
  readonly filters: readonly ViewFilter[]
  readonly search: readonly string[]
  readonly layout: ReadonlyArray<{ readonly label: string | null; readonly fields: readonly string[] }>
  readonly chart: Chart | null
  /** The name of a field, or a text with fields in braces; null: nobody declared one, and each caller gets the best of the fields they see. */
  readonly title: string | null
  /** Null: the resource is not in the sidebar. */
  readonly nav: Nav | null
  readonly links: readonly ViewLink[]
  readonly actions: readonly ViewAction[]
  /** By field: the name of the component that draws its values. */
  readonly cells: { readonly [field: string]: string }
  /** By field: the plugin's component that it is edited with. */
  readonly inputs: { readonly [field: string]: string }
  /** Null: for everybody. */
  readonly roles: readonly string[] | null
}

/** The last days of a field, compared with as many before. */
export interface Period {
  readonly field: string
  readonly range: Exclude<SeriesRange, "all">
}

/** What a block asks of its resource, and the names of all fields that this takes. */
interface BlockSource {
  readonly label: string
  readonly resource: string
  /** Null: every record. */
  readonly filter: string | null
  readonly fields: readonly string[]
}

/** A checked part of a composed page. */
export type Block =
  | BlockSource & {
    readonly of: "number"
    readonly measure: string
    /** The measured field, or null for a count. */
    readonly measured: string | null
    readonly period: Period | null
  }
  | BlockSource & { readonly of: "chart"; readonly chart: Chart }
  | BlockSource & {
    readonly of: "list"
    /** Empty: those of the caller's view. */
    readonly columns: readonly string[]
    /** Empty: by primary key. */
    readonly sort: readonly ViewSort[]
    readonly limit: number
  }
  | { readonly of: "text"; readonly text: string }
  | { readonly of: "component"; readonly component: string; readonly label: string | null; readonly props: Json }

export interface Page {
  readonly name: string
  readonly label: string
  readonly href: string
  readonly roles: readonly string[] | null
  readonly resource: string | null
  /** Null: the page is not composed of blocks. */
  readonly blocks: readonly Block[] | null
}

export interface MenuItem {
  readonly label: string
  readonly href: string
  /** The page it leads to, or null for an address of its own. */
  readonly page: string | null
  readonly roles: readonly string[] | null
  readonly resource: string | null
}
