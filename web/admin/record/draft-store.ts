/** Keeps a form's unsaved input in the tab's storage, so that a reload or an ended session loses nothing. */

import { isObject } from "../../client/problem.ts"
import { draftStore } from "../ground/drafts.ts"
import type { Drafts, FormValues } from "./draft.ts"
import type { RowsByRelation } from "./rows.ts"

/** The stored input of a form: the drafts, the rows, and the version of the record that was edited. */
export interface FormInput {
  readonly base: FormValues
  readonly drafts: Drafts
  readonly rows: RowsByRelation
}

/** The fields of a resource that hold files. */
export type FileFields = (resource: string) => ReadonlySet<string>

/** A file without its links, which end, and which let anybody read it. */
const withoutLinks = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(withoutLinks)
  if (!isObject(value)) return value
  const { name, size, type, uri } = value
  return { uri, name, type, size }
}

/** A record as it is kept: its own values, which a merge compares. Records that were read along with it are left out. */
const slim = <R extends FormValues>(record: R, files: ReadonlySet<string>): R =>
  Object.fromEntries(
    Object.entries(record).flatMap(([name, value]) =>
      name === "expand" ? [] : [[name, files.has(name) ? withoutLinks(value) : value]]
    )
  ) as R

/** What may be stored of a form's input. A file on its way does not arrive in another page: of a list, the files that have arrived are kept. */
export const storable = ({ base, drafts, rows }: FormInput, resource: string, files: FileFields): FormInput => ({
  base: slim(base, files(resource)),
  drafts: Object.fromEntries(
    Object.entries(drafts).flatMap(([name, draft]) =>
      draft.waits !== true ? [[name, draft]] : draft.value === undefined ? [] : [[name, {
        value: draft.value,
        problem: null
      }]]
    )
  ),
  rows: Object.fromEntries(
    Object.entries(rows).map(([relation, each]) => [relation, {
      ...each,
      changed: Object.fromEntries(
        Object.entries(each.changed).map(([key, row]) => [key, {
          ...row,
          record: slim(row.record, files(each.resource))
        }])
      )
    }])
  )
})

const storeOf = (place: string): string => draftStore + place

/** Keeps what `storable` gives. Null removes what was kept. */
export const keepDrafts = (place: string, input: FormInput | null): void => {
  try {
    if (input === null || Object.keys(input.drafts).length + Object.keys(input.rows).length === 0) {
      sessionStorage.removeItem(storeOf(place))
    } else sessionStorage.setItem(storeOf(place), JSON.stringify(input))
  } catch {
    // If storage is full or not available, the form still has everything.
  }
}

export const keptDrafts = (place: string): FormInput | null => {
  try {
    const text = sessionStorage.getItem(storeOf(place))
    const input: unknown = text === null ? null : JSON.parse(text)
    return typeof input === "object" && input !== null && "drafts" in input && "base" in input && "rows" in input
      ? input as FormInput
      : null
  } catch {
    return null
  }
}
