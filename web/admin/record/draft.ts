/**
 * Unsaved input of a form, one draft for each field: the values to send, and their problems. Pure.
 */

import type { MetaField } from "../../client/index.ts"
import type { Draft } from "../field/parse.ts"
import { type FormValues, isSame } from "../merge/merge.ts"

export type { FormValues }

/** Drafts by field name. A field without a draft is unchanged. */
export type Drafts = { readonly [field: string]: Draft }

/** A copy without one member. */
export const without = <T>(all: { readonly [name: string]: T }, name: string): { readonly [name: string]: T } =>
  Object.fromEntries(Object.entries(all).filter(([each]) => each !== name))

/** The drafts after one more change. A draft that is equal to the record's value is removed. */
export const withDraft = (drafts: Drafts, record: FormValues, field: string, draft: Draft): Drafts => {
  if (draft.problem === null && isSame(draft.value, record[field])) {
    return without(drafts, field)
  }
  return { ...drafts, [field]: draft }
}

/** The values that a save sends: valid ones that differ from the record. */
export const changesOf = (drafts: Drafts, record: FormValues): FormValues =>
  Object.fromEntries(
    Object.entries(drafts).flatMap(([field, { problem, value }]) =>
      problem !== null || value === undefined || isSame(value, record[field]) ? [] : [[field, value]]
    )
  )

/** The problem of each field that is not valid. A file on its way is no problem. */
export const problemsOf = (drafts: Drafts): { readonly [field: string]: string } =>
  Object.fromEntries(
    Object.entries(drafts).flatMap(([field, { problem, waits }]) =>
      problem === null || waits === true ? [] : [[field, problem]]
    )
  )

/** Whether a file is on its way. The form is saved after it has arrived. */
export const isWaiting = (drafts: Drafts): boolean => Object.values(drafts).some(({ waits }) => waits === true)

/** The value that a form shows: the draft's, else the record's. */
export const shownValue = (drafts: Drafts, record: FormValues, field: string): unknown =>
  field in drafts ? drafts[field]!.value : record[field]

/** The initial values of a new record: the declared defaults. The database fills in its own defaults later. */
export const defaultsOf = (fields: readonly MetaField[]): FormValues =>
  Object.fromEntries(
    fields.flatMap((field) => {
      const given = field.default
      return given !== undefined && "value" in given ? [[field.name, given.value]] : []
    })
  )

/** Required fields of a new record without a value. */
export const missingOf = (fields: readonly MetaField[], values: FormValues): readonly string[] =>
  fields.filter(({ default: given, name, optional, writable }) =>
    writable.create && !optional && given === undefined && (values[name] === undefined || values[name] === null)
  ).map(({ name }) => name)
