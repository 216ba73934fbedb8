/**
 * What somebody has typed into a form and not saved yet: one draft for each field. It says what would be sent and what is wrong, and it is kept in the
 * tab, so that a reload or an ended session loses nothing. Pure but for the tab's storage.
 */

import type { MetaField } from "../../client/index.ts"
import type { Draft } from "../field/parse.ts"
import { plain } from "../field/plain.ts"

/** Drafts by the name of their field. A field without one is as it was. */
export type Drafts = { readonly [field: string]: Draft }

export type Values = { readonly [field: string]: unknown }

const isFileValue = (value: unknown): value is { readonly uri: string } =>
  typeof value === "object" && value !== null && typeof (value as { uri?: unknown }).uri === "string"

/** Whether two values of the wire are the same. Numbers and their exact texts are, as both forms stand for one value. */
export const isSame = (a: unknown, b: unknown): boolean => {
  if (Object.is(a, b)) return true
  if (a === null || a === undefined || b === null || b === undefined) return (a ?? null) === (b ?? null)
  // A file is its uri: links to it are new in each answer.
  if (isFileValue(a) && isFileValue(b)) return a.uri === b.uri
  if (typeof a === "object" || typeof b === "object") return JSON.stringify(a) === JSON.stringify(b)
  return plain(a) === plain(b)
}

/** The same members but one. */
export const without = <T>(all: { readonly [name: string]: T }, name: string): { readonly [name: string]: T } =>
  Object.fromEntries(Object.entries(all).filter(([each]) => each !== name))

/** The drafts after one more change. A draft that is as the record was is none. */
export const withDraft = (drafts: Drafts, record: Values, field: string, draft: Draft): Drafts => {
  if (draft.problem === null && isSame(draft.value, record[field])) {
    return without(drafts, field)
  }
  return { ...drafts, [field]: draft }
}

/** What a save would send: the values that can be sent and differ from the record. */
export const changesOf = (drafts: Drafts, record: Values): Values =>
  Object.fromEntries(
    Object.entries(drafts).flatMap(([field, { problem, value }]) =>
      problem !== null || value === undefined || isSame(value, record[field]) ? [] : [[field, value]]
    )
  )

/** The first problem of each field that cannot be sent as it is. */
export const problemsOf = (drafts: Drafts): { readonly [field: string]: string } =>
  Object.fromEntries(
    Object.entries(drafts).flatMap(([field, { problem }]) => problem === null ? [] : [[field, problem]])
  )

/** The value that a form shows: what was typed, else the record's. */
export const shownValue = (drafts: Drafts, record: Values, field: string): unknown =>
  field in drafts ? drafts[field]!.value : record[field]

/** The values that a new record begins with: declared defaults. What the database fills in is left to it. */
export const defaultsOf = (fields: readonly MetaField[]): Values =>
  Object.fromEntries(
    fields.flatMap((field) => {
      const given = field.default
      return given !== undefined && "value" in given ? [[field.name, given.value]] : []
    })
  )

/** Fields of a new record that need a value and have none. */
export const missingOf = (fields: readonly MetaField[], values: Values): readonly string[] =>
  fields.filter(({ default: given, name, optional, writable }) =>
    writable.create && !optional && given === undefined && (values[name] === undefined || values[name] === null)
  ).map(({ name }) => name)

// ---- kept in the tab ---------------------------------------------------------------------------------------------

/** What is kept of a form: the drafts, and the version of the record that they were made on. */
export interface Kept {
  readonly base: Values
  readonly drafts: Drafts
}

const storeOf = (place: string): string => `admin:draft:${place}`

export const keepDrafts = (place: string, kept: Kept | null): void => {
  try {
    if (kept === null) sessionStorage.removeItem(storeOf(place))
    else sessionStorage.setItem(storeOf(place), JSON.stringify(kept))
  } catch {
    // Storage is full or closed: the form still holds everything.
  }
}

export const keptDrafts = (place: string): Kept | null => {
  try {
    const text = sessionStorage.getItem(storeOf(place))
    const kept: unknown = text === null ? null : JSON.parse(text)
    return typeof kept === "object" && kept !== null && "drafts" in kept && "base" in kept ? kept as Kept : null
  } catch {
    return null
  }
}
