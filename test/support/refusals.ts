/**
 * Wrong configurations for tests of startup refusals, as plain JavaScript could have them: types would catch most of these before startup
 * does.
 */

import * as Result from "effect/Result"
import { compileModels } from "../../core/domain/compile/compile.ts"
import type { Config } from "../../core/domain/declare/config.ts"
import { f } from "../../core/domain/declare/field.ts"
import type { Refusal } from "../../core/domain/declare/refusal.ts"

export type Loose = { readonly [key: string]: unknown }

/** A resource of anything. */
export const resource = (name: unknown, declaration: unknown): unknown => ({ _tag: "Resource", name, declaration })

/** The refusals of a configuration; empty when it compiles. */
export const refusalsOf = (config: unknown): readonly Refusal[] =>
  Result.match(compileModels(config as Config), { onSuccess: () => [], onFailure: (failure) => failure })

/** The same as lines: `resource.field: message → fix`. */
export const refusalLines = (config: unknown): readonly string[] =>
  refusalsOf(config).map(({ resource, field, message, fix }) =>
    `${resource ?? "config"}${field === null ? "" : `.${field}`}: ${message} → ${fix}`
  )

/** A configuration of one resource `a` whose only sound field is its key `id`. */
export const one = (fields: Loose, more: Loose = {}): Loose => ({
  resources: [resource("a", { primaryKey: "id", ...more, fields: { id: f.integer(), ...fields } })]
})

/** A text that may be filtered and sorted. */
export const sound = f.text().filterable().sortable()

/** A configuration of one sound resource `a`, and further settings. */
export const app = (more: Loose): Loose => ({ ...one({ name: sound, total: f.integer().filterable() }), ...more })

/** What is wrong, the configuration, and every line of its refusals. */
export type RefusalCase = readonly [title: string, config: unknown, ...lines: readonly string[]]
