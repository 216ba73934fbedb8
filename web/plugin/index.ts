/**
 * `resource-admin/plugin`: the types of plugins of the admin app. A plugin is an ES module whose default export is `definePlugin({ … })`. It runs in the
 * app's page with the app's React, and has the rights of the signed-in user.
 */

import type { ComponentType } from "react"
import type { Client } from "../client/client.ts"
import type { MetaField, MetaModel } from "../client/meta.ts"
import type { ResourceClient } from "../client/records.ts"

/** A record. Names and values are as in the HTTP API. */
export interface PluginRecord {
  readonly [field: string]: unknown
}

/** Props of a cell component. It is shown in lists, and where a value is read-only. */
export interface CellProps {
  /** The value as in the HTTP API, or null. */
  readonly value: unknown
  readonly field: MetaField
  readonly resource: MetaModel
  /** The record, with the fields that were requested. */
  readonly record: PluginRecord | undefined
}

/** Props of an input component. It reports values in the form of the HTTP API, and the service checks them. */
export interface InputProps {
  readonly value: unknown
  readonly onChange: (value: unknown) => void
  readonly field: MetaField
  readonly resource: MetaModel
  /** For the element that takes the focus. */
  readonly id: string | undefined
  readonly label: string | undefined
  readonly describedBy: string | undefined
  readonly invalid: boolean
  readonly disabled: boolean
}

/** Props of a page component, also as a block of a composed page. */
export interface PageProps {
  /** The app's client. Calls have the rights of the signed-in user. */
  readonly client: Client
  /** `props` of the block. Undefined on a page of its own. */
  readonly props?: unknown
}

/** The argument of an action. */
export interface ActionContext {
  readonly client: Client
  /** The client of the records' resource, own or remote. */
  readonly resource: ResourceClient
  /** Whole records: that of the page, or those that are selected, at most 500. */
  readonly records: readonly PluginRecord[]
  /** Asks the user for a confirmation. False if they decline. */
  readonly confirm: (text: string) => Promise<boolean>
  /** Shows a short message. */
  readonly notify: (text: string) => void
}

/** An action on a record, or on the selected ones. An exception is shown as a message. */
export type Action = (context: ActionContext) => void | Promise<void>

/** The parts of a plugin, by the names in its manifest. */
export interface Plugin {
  readonly cells?: { readonly [name: string]: ComponentType<CellProps> }
  readonly inputs?: { readonly [name: string]: ComponentType<InputProps> }
  readonly pages?: { readonly [name: string]: ComponentType<PageProps> }
  readonly actions?: { readonly [name: string]: Action }
}

/** The parts that a manifest lists. */
export interface Provides {
  /** Names that views use in `cells` and `inputs`. */
  readonly cells?: readonly string[]
  readonly inputs?: readonly string[]
  /** Pages by name, with their label in the sidebar. */
  readonly pages?: { readonly [name: string]: string }
  /** Actions by name. `resources`: the resources that have the action. Default: all. */
  readonly actions?: { readonly [name: string]: { readonly label: string; readonly resources?: readonly string[] } }
}

/** The manifest of a plugin, beside its module. */
export interface Manifest {
  /** Lower-case letters, digits and dashes. */
  readonly name: string
  readonly version: string
  /** The module, relative to the manifest and in its folder. */
  readonly module: string
  /** The digest of the module: `sha384-…`. */
  readonly integrity: string
  readonly provides: Provides
}

/**
 * Declares a plugin: the default export of its module.
 *
 * @example
 * export default definePlugin({ cells: { stars: ({ value }) => <span>{"★".repeat(Number(value))}</span> } })
 */
export const definePlugin = (plugin: Plugin): Plugin => plugin
