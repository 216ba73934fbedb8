/**
 * One record with what is typed over it: reading, drafts that survive a reload, saving with the version that was edited, the merge when somebody else
 * was faster, and undo as a write of its own. It draws nothing.
 */

import { useQuery, useQueryClient } from "@tanstack/react-query"
import { useCallback, useEffect, useMemo, useRef, useState } from "react"
import { ProblemError } from "../../client/index.ts"
import type { Draft } from "../field/parse.ts"
import { useMessages } from "../messages/locale.tsx"
import { keyPartsOf, type Resource } from "../shell/catalogue.ts"
import { type AnyRecord, client, resourceClient } from "../shell/client.ts"
import { sayProblem } from "../shell/problem.tsx"
import { say } from "../shell/toasts.tsx"
import { changesOf, type Drafts, keepDrafts, keptDrafts, problemsOf, type Values, withDraft, without } from "./draft.ts"
import { type MergeRow, mergeRows } from "./merge.ts"
import { isMissing, isUnknown } from "./outcome.ts"
import { emptyRows, rowOperations, rowProblems, type Rows, rowsCount } from "./rows.ts"

export interface Loaded {
  readonly record: AnyRecord
  readonly deleted: boolean
}

/** Relations to one record, at most as many as a read follows. */
export const expandsOf = (resource: Resource): readonly string[] =>
  resource.model.relations.filter(({ many }) => !many).slice(0, 10).map(({ name }) => name)

/** Reads a record, a deleted one as well where deleted records are kept. */
export const readRecord = async (resource: Resource, keyText: string, signal?: AbortSignal): Promise<Loaded> => {
  const routes = resourceClient(resource.name)
  const key = keyPartsOf(keyText)
  const query = { expand: expandsOf(resource) }
  const options = signal === undefined ? {} : { signal }
  try {
    return { record: await routes.get(key, query, options), deleted: false }
  } catch (error) {
    if (!isMissing(error) || !resource.model.softDelete) throw error
    return { record: await routes.get(key, { ...query, show_deleted: true }, options), deleted: true }
  }
}

export const recordKey = (resource: Resource, keyText: string): readonly unknown[] => ["record", resource.name, keyText]

export interface Conflict {
  readonly rows: readonly MergeRow[]
  readonly current: AnyRecord
}

export interface RecordEdit {
  readonly loaded: Loaded | undefined
  readonly error: unknown
  readonly reload: () => void
  /** The version that is edited. */
  readonly base: AnyRecord | undefined
  readonly drafts: Drafts
  readonly rows: Rows
  readonly setRows: (rows: Rows) => void
  readonly change: (field: string, draft: Draft) => void
  readonly changes: Values
  /** How many fields and rows differ. */
  readonly count: number
  /** By field: why it cannot be saved, as the form or the service says. */
  readonly problems: { readonly [field: string]: string }
  /** A refusal that belongs to no field. */
  readonly refusal: unknown
  readonly saving: boolean
  readonly save: (over?: { readonly changes: Values; readonly base: AnyRecord }) => Promise<boolean>
  readonly discard: () => void
  readonly conflict: Conflict | null
  readonly settle: (conflict: null) => void
  /** The record was removed while it was edited. */
  readonly gone: boolean
  /** Drafts of an earlier visit are shown. */
  readonly found: boolean
}

export const useRecordEdit = (resource: Resource, keyText: string): RecordEdit => {
  const t = useMessages()
  const queries = useQueryClient()
  const place = `${resource.name}/${keyText}`
  const kept = useMemo(() => keptDrafts(place), [place])
  const [drafts, setDrafts] = useState<Drafts>(() => kept?.drafts ?? {})
  const [rows, setRows] = useState<Rows>(emptyRows)
  const [editBase, setEditBase] = useState<AnyRecord | null>(() => kept === null ? null : kept.base as AnyRecord)
  const [refused, setRefused] = useState<{ readonly [field: string]: string }>({})
  const [refusal, setRefusal] = useState<unknown>(null)
  const [saving, setSaving] = useState(false)
  const [conflict, setConflict] = useState<Conflict | null>(null)
  const [gone, setGone] = useState(false)
  const busy = useRef(false)

  const { data: loaded, error, refetch } = useQuery({
    queryKey: recordKey(resource, keyText),
    queryFn: ({ signal }) => readRecord(resource, keyText, signal),
    refetchOnMount: "always"
  })
  // A version that arrives while somebody types does not move the ground under them: a save on the older one leads to the merge.
  const base = editBase ?? loaded?.record
  const changes = useMemo(() => base === undefined ? {} : changesOf(drafts, base), [base, drafts])
  const count = Object.keys(drafts).length + rowsCount(rows)

  useEffect(() => {
    keepDrafts(place, Object.keys(drafts).length === 0 || base === undefined ? null : { base, drafts })
  }, [place, drafts, base])

  const reset = useCallback((): void => {
    setDrafts({})
    setRows(emptyRows)
    setEditBase(null)
    setRefused({})
    setRefusal(null)
    setConflict(null)
    setGone(false)
  }, [])

  const change = (field: string, draft: Draft): void => {
    if (base === undefined) return
    setEditBase(base)
    setDrafts((before) => withDraft(before, base, field, draft))
    setRefused((before) => without(before, field))
    setRefusal(null)
  }

  const accept = (record: AnyRecord): void => {
    // Related records of the answer to a write are not there: they are read again.
    queries.setQueryData<Loaded>(recordKey(resource, keyText), (before) => ({
      record: { ...record, expand: before?.record["expand"] },
      deleted: false
    }))
    void queries.invalidateQueries({ queryKey: recordKey(resource, keyText) })
    void queries.invalidateQueries({ queryKey: ["list", resource.name] })
    void queries.invalidateQueries({ queryKey: ["related", resource.name, keyText] })
    void queries.invalidateQueries({ queryKey: ["history", resource.name, keyText] })
  }

  const undo = (saved: AnyRecord, old: Values) => async (): Promise<void> => {
    try {
      accept(await resourceClient(resource.name).update(keyPartsOf(keyText), old, { etag: saved.etag }))
      say(t.record.savedUndone)
    } catch (problem) {
      sayProblem(problem, t)
    }
  }

  const write = async (values: Values, over: AnyRecord): Promise<AnyRecord> => {
    if (rowsCount(rows) === 0) {
      return resourceClient(resource.name).update(keyPartsOf(keyText), values, { etag: over.etag })
    }
    const batch = client.batch()
    const own = Object.keys(values).length === 0
      ? null
      : batch.update(resource.name, keyPartsOf(keyText) as never, values as never, { etag: over.etag })
    rowOperations(batch, rows, null)
    const results = await batch.send()
    return own === null ? (await readRecord(resource, keyText)).record : results.of(own) as unknown as AnyRecord
  }

  const meet = async (values: Values, over: AnyRecord): Promise<boolean> => {
    const { deleted, record: current } = await readRecord(resource, keyText)
    if (deleted) {
      setGone(true)
      return false
    }
    const names = resource.model.fields.map(({ name }) => name)
    const merging = mergeRows(names.filter((name) => name !== resource.model.version), over, current, values)
    if (merging.some(({ overlap }) => overlap)) {
      setConflict({ rows: merging, current })
      return false
    }
    // Both changed other fields: what they wrote is in the new version, so the own changes go over it.
    return attempt(values, current, true)
  }

  const attempt = async (values: Values, over: AnyRecord, merged: boolean): Promise<boolean> => {
    try {
      const saved = await write(values, over)
      const onlyFields = rowsCount(rows) === 0
      reset()
      accept(saved)
      const old = Object.fromEntries(Object.keys(values).map((name) => [name, over[name]]))
      // A file that was taken out of its record cannot be written back: only uploads and what is there now are taken.
      const undoable = onlyFields &&
        Object.keys(values).every((name) => resource.fields.get(name)?.kind !== "file" || over[name] === null)
      say(merged ? t.record.merged : t.record.saved, undoable ? { undo: undo(saved, old) } : {})
      return true
    } catch (problem) {
      if (problem instanceof ProblemError && problem.status === 412 && !merged) return meet(values, over)
      if (isMissing(problem)) setGone(true)
      else if (isUnknown(problem)) {
        setRefusal(problem)
        say(t.record.unknownOutcome, { tone: "bad" })
        void refetch()
      } else {
        const fields = problem instanceof ProblemError && (problem.operation ?? 0) === 0 ? problem.fields : {}
        setRefused(fields)
        setRefusal(Object.keys(fields).length === 0 ? problem : null)
      }
      return false
    }
  }

  const save: RecordEdit["save"] = async (over) => {
    const on = over?.base ?? base
    if (on === undefined || busy.current) return false
    const invalid = over === undefined ? { ...problemsOf(drafts), ...rowProblems(rows) } : {}
    if (Object.keys(invalid).length > 0) return false
    const values = over?.changes ?? changes
    if (Object.keys(values).length === 0 && rowsCount(rows) === 0) {
      reset()
      void refetch()
      return true
    }
    busy.current = true
    setSaving(true)
    setConflict(null)
    try {
      return await attempt(values, on, false)
    } catch (problem) {
      setRefusal(problem)
      return false
    } finally {
      busy.current = false
      setSaving(false)
    }
  }

  return {
    loaded,
    error,
    reload: () => void refetch(),
    base,
    drafts,
    rows,
    setRows: (next) => {
      if (base !== undefined) setEditBase(base)
      setRows(next)
    },
    change,
    changes,
    count,
    problems: { ...refused, ...problemsOf(drafts) },
    refusal,
    saving,
    save,
    discard: () => {
      reset()
      void refetch()
    },
    conflict,
    settle: setConflict,
    gone,
    found: kept !== null && Object.keys(drafts).length > 0
  }
}
