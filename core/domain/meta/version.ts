/**
 * Versions of what callers see: stable texts and their hashes. Equal declarations give equal texts in every process, in whatever order the
 * members of objects stand. The caller passes the hash function, a keyed one, so that a version reveals nothing of the rules behind it.
 */

import { type Caller, rolesKey } from "../access/caller.ts"
import type { AccessDefaults, RulesByResource } from "../access/rules.ts"
import { BoundedMap } from "../bounded.ts"
import type { Functions } from "../function/declaration.ts"
import type { Models } from "../model/model.ts"
import type { MenuItem, Page, View } from "../model/view.ts"
import type { Source } from "../source/source.ts"

/** From a text to a short text, equal for equal texts only. */
export type Hash = (text: string) => string

const write = (value: unknown, open: Set<object>): string => {
  switch (typeof value) {
    case "string":
      return JSON.stringify(value)
    case "number":
    case "boolean":
      return String(value)
    case "bigint":
      return `${value}n`
    case "undefined":
      return "undefined"
    case "function":
      return `function ${JSON.stringify(Function.prototype.toString.call(value))}`
    case "symbol":
      return `symbol ${JSON.stringify(value.description ?? "")}`
    case "object":
      break
  }
  if (value === null) return "null"
  if (open.has(value)) return "cycle"
  open.add(value)
  const text = writeObject(value, open)
  open.delete(value)
  return text
}

const writeObject = (value: object, open: Set<object>): string => {
  if (Array.isArray(value)) return `[${value.map((item) => write(item, open)).join()}]`
  if (value instanceof Map) {
    return `map{${[...value].map(([key, item]) => `${write(key, open)}:${write(item, open)}`).join()}}`
  }
  if (value instanceof Set) return `set[${[...value].map((item) => write(item, open)).join()}]`
  if (value instanceof Date) return `date ${value.getTime()}`
  const members = Object.entries(value).filter(([, item]) => item !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1))
  return `{${members.map(([key, item]) => `${JSON.stringify(key)}:${write(item, open)}`).join()}}`
}

/**
 * One text for a value. Members of objects are written in code unit order, entries of maps, sets and lists in their own, functions as their
 * source. It writes every value, also cycles.
 */
export const stableText = (value: unknown): string => write(value, new Set())

/** Everything declared that a caller's meta document is made of. */
export interface Declared {
  readonly models: Models
  readonly rules: RulesByResource
  readonly views: readonly View[]
  readonly userMenu: readonly MenuItem[]
  readonly pages: readonly Page[]
  readonly functions: Functions
  readonly sources: readonly Source[] | null
  readonly defaults: AccessDefaults
  /** Whether there is a queue. */
  readonly queue?: boolean
}

/** The hash of all declarations, rules and roles included. Made once at startup. */
export const modelsVersion = (declared: Declared, hash: Hash): string => {
  const { defaults, functions, models, pages, queue = false, rules, sources, userMenu, views } = declared
  const callable = [...functions.values()].map(({ description, name, roles }) => [name, roles, description])
  return hash(stableText([models, rules, views, userMenu, pages, callable, sources, defaults, queue]))
}

/** `X-Meta-Version` (docs/reference/meta.md#keeping-it): a hash of the models' hash and the caller's roles. Without a caller it is the models' hash. */
export const metaVersion = (modelsHash: string, caller: Caller | null, hash: Hash): string =>
  caller === null ? modelsHash : hash(`${modelsHash} ${rolesKey(caller)}`)

/** `metaVersion` for every response: remembers the versions of the last 1,000 role sets. */
export const metaVersions = (modelsHash: string, hash: Hash): (caller: Caller | null) => string => {
  const versions = new BoundedMap<string, string>(1_000)
  return (caller) => {
    if (caller === null) return modelsHash
    const key = rolesKey(caller)
    let version = versions.get(key)
    if (version === undefined) versions.set(key, version = metaVersion(modelsHash, caller, hash))
    return version
  }
}
