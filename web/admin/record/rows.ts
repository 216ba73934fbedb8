/**
 * Unsaved rows of related records within a record's page: changed, added and removed ones. They are saved with the page in one batch. Pure, except that it
 * fills the batch.
 */

import type { Reference } from "../../client/index.ts"
import type { Draft } from "../field/parse.ts"
import { keyPartsOf } from "../model/catalogue.ts"
import type { AnyBatch, AnyRecord } from "../model/client.ts"
import { changesOf, type Drafts, type FormValues, isWaiting, problemsOf, withDraft, without } from "./draft.ts"

export interface ChangedRow {
  readonly record: AnyRecord
  readonly drafts: Drafts
  readonly removed: boolean
}

export interface AddedRow {
  readonly id: number
  readonly drafts: Drafts
}

/** The rows of one relation. `field`: the foreign key of the related resource; `value`: the key that added rows point at. */
export interface RelationRows {
  readonly resource: string
  readonly field: string
  readonly value: unknown
  /** By the key's text in addresses. */
  readonly changed: { readonly [key: string]: ChangedRow }
  readonly added: readonly AddedRow[]
}

/** By the name of the relation. */
export type RowsByRelation = { readonly [relation: string]: RelationRows }

export const emptyRows: RowsByRelation = {}

const countOf = ({ added, changed }: RelationRows): number => added.length + Object.keys(changed).length

export const rowsCount = (rows: RowsByRelation): number =>
  Object.values(rows).reduce((sum, each) => sum + countOf(each), 0)

export type RelationFacts = Pick<RelationRows, "resource" | "field" | "value">

const relationOf = (rows: RowsByRelation, relation: string, facts: RelationFacts): RelationRows =>
  rows[relation] ?? { ...facts, changed: {}, added: [] }

const put = (rows: RowsByRelation, relation: string, next: RelationRows): RowsByRelation => {
  if (countOf(next) > 0) return { ...rows, [relation]: next }
  return without(rows, relation)
}

/** Changes one field of a stored row. */
export const changeRow = (
  rows: RowsByRelation,
  relation: string,
  facts: RelationFacts,
  key: string,
  record: AnyRecord,
  field: string,
  draft: Draft
): RowsByRelation => {
  const all = relationOf(rows, relation, facts)
  const before = all.changed[key] ?? { record, drafts: {}, removed: false }
  const drafts = withDraft(before.drafts, before.record, field, draft)
  const others = without(all.changed, key)
  const keep = Object.keys(drafts).length > 0 || before.removed
  return put(rows, relation, { ...all, changed: keep ? { ...others, [key]: { ...before, drafts } } : others })
}

/** Marks a stored row as removed, or removes that mark. */
export const removeRow = (
  rows: RowsByRelation,
  relation: string,
  facts: RelationFacts,
  key: string,
  record: AnyRecord
): RowsByRelation => {
  const all = relationOf(rows, relation, facts)
  const before = all.changed[key]
  const others = without(all.changed, key)
  if (before?.removed === true) {
    const back = Object.keys(before.drafts).length > 0 ? { ...others, [key]: { ...before, removed: false } } : others
    return put(rows, relation, { ...all, changed: back })
  }
  return put(rows, relation, {
    ...all,
    changed: { ...others, [key]: { record, drafts: before?.drafts ?? {}, removed: true } }
  })
}

export const addRow = (
  rows: RowsByRelation,
  relation: string,
  facts: RelationFacts,
  values: FormValues
): RowsByRelation => {
  const all = relationOf(rows, relation, facts)
  const drafts = Object.fromEntries(Object.entries(values).map(([name, value]) => [name, { value, problem: null }]))
  const id = all.added.reduce((most, row) => Math.max(most, row.id), 0) + 1
  return put(rows, relation, { ...all, added: [...all.added, { id, drafts }] })
}

export const changeAdded = (
  rows: RowsByRelation,
  relation: string,
  id: number,
  field: string,
  draft: Draft
): RowsByRelation => {
  const all = rows[relation]
  return all === undefined ? rows : put(rows, relation, {
    ...all,
    added: all.added.map((row) => row.id === id ? { ...row, drafts: { ...row.drafts, [field]: draft } } : row)
  })
}

export const dropAdded = (rows: RowsByRelation, relation: string, id: number): RowsByRelation => {
  const all = rows[relation]
  return all === undefined ? rows : put(rows, relation, { ...all, added: all.added.filter((row) => row.id !== id) })
}

/** Problems of rows that are not valid, by relation and row. */
export const rowProblems = (rows: RowsByRelation): { readonly [row: string]: string } => {
  const problems: { [row: string]: string } = {}
  for (const [relation, { added, changed }] of Object.entries(rows)) {
    for (const [key, row] of Object.entries(changed)) {
      if (row.removed) continue
      for (const [field, problem] of Object.entries(problemsOf(row.drafts))) {
        problems[`${relation}/${key}/${field}`] = problem
      }
    }
    for (const row of added) {
      for (const [field, problem] of Object.entries(problemsOf(row.drafts))) {
        problems[`${relation}/+${row.id}/${field}`] = problem
      }
    }
  }
  return problems
}

/** Whether a file of a row is on its way. */
export const rowsWait = (rows: RowsByRelation): boolean =>
  Object.values(rows).some(({ added, changed }) =>
    [...added, ...Object.values(changed)].some(({ drafts }) => isWaiting(drafts))
  )

/** Adds the rows to a batch. `parent` refers to a record that the same batch creates. Null: the rows have their foreign key already. */
export const rowOperations = (batch: AnyBatch, rows: RowsByRelation, parent: Reference | null): void => {
  for (const { added, changed, field, resource, value } of Object.values(rows)) {
    for (const [key, { drafts, record, removed }] of Object.entries(changed)) {
      if (removed) batch.delete(resource, keyPartsOf(key), { etag: record.etag })
      else batch.update(resource, keyPartsOf(key), changesOf(drafts, record), { etag: record.etag })
    }
    for (const { drafts } of added) {
      batch.create(resource, { ...changesOf(drafts, {}), [field]: parent ?? value })
    }
  }
}

/** The rows as `relation/key`, in the order of their operations. */
const operated = (rows: RowsByRelation): readonly string[] =>
  Object.entries(rows).flatMap(([relation, { added, changed }]) =>
    [...Object.keys(changed), ...added.map(({ id }) => `+${id}`)].map((key) => `${relation}/${key}`)
  )

/** The refusals in a row, by `relation/key/field`. A refusal that belongs to no field of it has the empty name. */
export type RowRefusals = { readonly [place: string]: string }

/**
 * The refusals of a row. Null: the operation `at` is none of the rows', whose first one is at 0. `fields` are the messages by field, `said` is the refusal as
 * a text.
 */
export const rowRefusals = (
  rows: RowsByRelation,
  at: number,
  fields: { readonly [field: string]: string },
  said: string
): RowRefusals | null => {
  const row = operated(rows)[at]
  if (row === undefined) return null
  const entries = Object.entries(fields).map(([field, message]) => [`${row}/${field}`, message])
  return Object.fromEntries(entries.length === 0 ? [[`${row}/`, said]] : entries)
}

const rowAt = (rows: RowsByRelation, relation: string, key: string): ChangedRow | AddedRow | undefined =>
  key.startsWith("+")
    ? rows[relation]?.added.find(({ id }) => `+${id}` === key)
    : rows[relation]?.changed[key]

/** The refusals that still hold after a change of the rows: those of values that are as they were when they were refused. */
export const refusalsLeft = (refusals: RowRefusals, before: RowsByRelation, after: RowsByRelation): RowRefusals =>
  Object.fromEntries(
    Object.entries(refusals).filter(([place]) => {
      const [relation = "", ...rest] = place.split("/")
      const field = rest.pop() ?? ""
      const [was, is] = [before, after].map((rows) => rowAt(rows, relation, rest.join("/")))
      return is !== undefined && (field === "" ? was === is : was?.drafts[field] === is.drafts[field])
    })
  )
