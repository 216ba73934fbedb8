/**
 * Compiled views, pages and menu entries. Every name in them is a declared field, and every text in them checks. A view never grants
 * anything: `/api/meta` removes from it what the caller may not read.
 */

import type { Granularity, SeriesRange } from "../value/instant.ts"
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
