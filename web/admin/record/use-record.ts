/**
 * The state of one record's form: reading, drafts that survive a reload, saving on the condition of the edited version, the merge after another person's
 * save, and undo as a separate write. It draws nothing.
 */

import { useQuery, useQueryClient } from "@tanstack/react-query"
import { useMemo, useRef, useState } from "react"
import { ProblemError } from "../../client/index.ts"
import { textsOf } from "../field/file-list.ts"
import { holdsFiles } from "../field/kind.ts"
import type { Draft } from "../field/parse.ts"
import { useAgain } from "../ground/again.ts"
import { sayProblem } from "../ground/problem.tsx"
import { noticeFailure } from "../ground/session.ts"
import { dismiss, say } from "../ground/toasts.tsx"
import { type Conflict, mergeRows } from "../merge/merge.ts"
import { useMessages } from "../messages/locale.tsx"
import { expandsFor, keyPartsOf, type Resource } from "../model/catalogue.ts"
import { anyBatch, type AnyRecord, resourceClient } from "../model/client.ts"
import { isMissing, isUnknown } from "../model/outcome.ts"
import { keptDrafts } from "./draft-store.ts"
import { changesOf, type Drafts, type FormValues, isWaiting, problemsOf, withDraft } from "./draft.ts"
import { useKeeping } from "./keeping.ts"
import { useRefusals } from "./refusals.ts"
import {
  emptyRows,
  rowOperations,
  rowProblems,
  type RowRefusals,
  type RowsByRelation,
  rowsCount,
  rowsWait
} from "./rows.ts"

export interface Loaded {
  readonly record: AnyRecord
  readonly deleted: boolean
}

/** Reads a record. With soft delete, it reads a deleted one, too. */
const readRecord = async (resource: Resource, keyText: string, signal?: AbortSignal): Promise<Loaded> => {
  const routes = resourceClient(resource.name)
  const key = keyPartsOf(keyText)
  const query = { expand: expandsFor(resource, resource.fields.keys()) }
  const options = signal === undefined ? {} : { signal }
  try {
    return { record: await routes.get(key, query, options), deleted: false }
  } catch (error) {
    if (!isMissing(error) || !resource.model.softDelete) throw error
    return { record: await routes.get(key, { ...query, show_deleted: true }, options), deleted: true }
  }
}

export const recordKey = (resource: Resource, keyText: string): readonly unknown[] => ["record", resource.name, keyText]

export interface RecordEdit {
  readonly loaded: Loaded | undefined
  readonly error: unknown
  /** Reads the record again and returns it. */
  readonly reload: () => Promise<Loaded | undefined>
  /** The version that the form is based on. */
  readonly base: AnyRecord | undefined
  readonly drafts: Drafts
  readonly rows: RowsByRelation
  readonly setRows: (rows: RowsByRelation) => void
  readonly change: (field: string, draft: Draft) => void
  readonly changes: FormValues
  /** The number of changed fields and rows. */
  readonly count: number
  /** Problems by field, from the form or the service. */
  readonly problems: { readonly [field: string]: string }
  /** Problems of rows, from the form or the service, by `relation/key/field`. */
  readonly rowProblems: RowRefusals
  /** A refusal that belongs to no field. */
  readonly refusal: unknown
  readonly saving: boolean
  /** A file is on its way. It is saved after it has arrived. */
  readonly waits: boolean
  readonly save: (over?: { readonly changes: FormValues; readonly base: AnyRecord }) => Promise<boolean>
  readonly discard: () => void
  readonly conflict: Conflict | null
  readonly endConflict: (conflict: null) => void
  /** The record was removed while it was edited. */
  readonly gone: boolean
  /** Brings a deleted record back. What was typed stays. */
  readonly bringBack: () => Promise<boolean>
  /** True if the form shows drafts of an earlier visit. */
  readonly restored: boolean
}

/** Takes a saved version as the record that is shown, and has everything about it read again. */
const useAccept = (resource: Resource, keyText: string) => {
  const queries = useQueryClient()
  return (record: AnyRecord): void => {
    // The answer to a write has no related records, so they are read again.
    queries.setQueryData<Loaded>(recordKey(resource, keyText), (before) => ({
      record: { ...record, expand: before?.record["expand"] },
      deleted: false
    }))
    void queries.invalidateQueries({ queryKey: recordKey(resource, keyText) })
    void queries.invalidateQueries({ queryKey: ["list", resource.name] })
    void queries.invalidateQueries({ queryKey: ["related", resource.name, keyText] })
    void queries.invalidateQueries({ queryKey: ["history", resource.name, keyText] })
  }
}

/** Says that values are saved, and how it is undone: by another write. What was said of attempts before is over. */
const useSaidSaved = (resource: Resource, keyText: string, accept: (record: AnyRecord) => void) => {
  const t = useMessages()
  const failure = useRef<number | null>(null)
  const undo = async (saved: AnyRecord, old: FormValues): Promise<void> => {
    try {
      accept(await resourceClient(resource.name).update(keyPartsOf(keyText), old, { etag: saved.etag }))
      say(t.record.savedUndone)
    } catch (problem) {
      sayProblem(problem, t)
    }
  }
  const over = (): void => {
    if (failure.current !== null) dismiss(failure.current)
    failure.current = null
  }
  return {
    saved: (text: string, saved: AnyRecord, old: FormValues | null): void => {
      over()
      say(text, old === null ? {} : { undo: () => undo(saved, old) })
    },
    unknown: (): void => {
      over()
      failure.current = say(t.record.unknownOutcome, { tone: "bad" })
    }
  }
}

/** Brings the record back, and has it read again. False if that was refused; a message then says why. */
const useBringBack = (resource: Resource, keyText: string, reread: () => Promise<unknown>) => {
  const t = useMessages()
  const queries = useQueryClient()
  return async (): Promise<boolean> => {
    try {
      await resourceClient(resource.name).undelete(keyPartsOf(keyText))
      await reread()
      void queries.invalidateQueries({ queryKey: ["list", resource.name] })
      return true
    } catch (problem) {
      sayProblem(problem, t)
      return false
    }
  }
}

/** Writes the values, and the rows of related records in the same batch. */
const write = async (
  resource: Resource,
  keyText: string,
  rows: RowsByRelation,
  values: FormValues,
  over: AnyRecord
): Promise<AnyRecord> => {
  if (rowsCount(rows) === 0) {
    return resourceClient(resource.name).update(keyPartsOf(keyText), values, { etag: over.etag })
  }
  const batch = anyBatch()
  const own = Object.keys(values).length === 0
    ? null
    : batch.update(resource.name, keyPartsOf(keyText), values, { etag: over.etag })
  rowOperations(batch, rows, null)
  const results = await batch.send()
  return own === null ? (await readRecord(resource, keyText)).record : results.of(own)
}

/**
 * The values before a save, for its undo. Null if they cannot be written back: a write takes only uploads and the current file, so a file that was removed
 * from its record does not come back.
 */
const beforeOf = (resource: Resource, values: FormValues, over: AnyRecord): FormValues | null => {
  const undoable = Object.keys(values).every((name) => {
    const field = resource.fields.get(name)
    return field === undefined || !holdsFiles(field) || over[name] === null ||
      (field.kind === "files" && textsOf(over[name]).length === 0)
  })
  return undoable ? Object.fromEntries(Object.keys(values).map((name) => [name, over[name]])) : null
}

/** Whether a save is under way: at once for whoever asks, and as a state that is drawn. */
const useBusy = () => {
  const [saving, setSaving] = useState(false)
  const busy = useRef(false)
  const run = async (work: () => Promise<boolean>): Promise<boolean> => {
    busy.current = true
    setSaving(true)
    try {
      return await work()
    } finally {
      busy.current = false
      setSaving(false)
    }
  }
  return { busy, run, saving }
}

/** The fields that a merge compares: all but the version itself. */
const mergedNames = ({ model }: Resource): readonly string[] =>
  model.fields.map(({ name }) => name).filter((name) => name !== model.version)

export const useRecordEdit = (resource: Resource, keyText: string): RecordEdit => {
  const t = useMessages()
  const place = `${resource.name}/${keyText}`
  const input = useMemo(() => keptDrafts(place), [place])
  const [drafts, setDrafts] = useState<Drafts>(() => input?.drafts ?? {})
  const [rows, setRows] = useState<RowsByRelation>(() => input?.rows ?? emptyRows)
  const [editBase, setEditBase] = useState<AnyRecord | null>(() => input === null ? null : input.base as AnyRecord)
  const refusals = useRefusals()
  const { busy, run, saving } = useBusy()
  const [conflict, setConflict] = useState<Conflict | null>(null)
  const [gone, setGone] = useState(false)
  const accept = useAccept(resource, keyText)
  const said = useSaidSaved(resource, keyText, accept)

  const { data: loaded, error, refetch } = useQuery({
    queryKey: recordKey(resource, keyText),
    queryFn: ({ signal }) => readRecord(resource, keyText, signal),
    refetchOnMount: "always"
  })
  const bringBack = useBringBack(resource, keyText, refetch)
  // A version that arrives during editing does not replace the edited one. A save on the older version leads to the merge.
  // If the version is the same, the record that was read last is shown: its links of files work longer.
  const base = editBase === null || loaded?.record.etag === editBase.etag ? loaded?.record : editBase
  const changes = useMemo(() => base === undefined ? {} : changesOf(drafts, base), [base, drafts])
  const count = Object.keys(drafts).length + rowsCount(rows)
  const waits = isWaiting(drafts) || rowsWait(rows)

  useKeeping(place, resource.name, base, drafts, rows)

  const { clear } = refusals
  const reset = (): void => {
    setDrafts({})
    setRows(emptyRows)
    setEditBase(null)
    setConflict(null)
    setGone(false)
    clear()
  }

  const change = (field: string, draft: Draft): void => {
    if (base === undefined) return
    setEditBase(base)
    setDrafts((before) => withDraft(before, base, field, draft))
    refusals.changeField(field)
  }

  const meet = async (values: FormValues, over: AnyRecord): Promise<boolean> => {
    const { deleted, record: current } = await readRecord(resource, keyText)
    if (deleted) {
      setGone(true)
      void refetch()
      return false
    }
    const merging = mergeRows(mergedNames(resource), over, current, values)
    if (merging.some(({ overlap }) => overlap)) {
      setConflict({ rows: merging, current })
      return false
    }
    // Others changed different fields. Their values are in the new version, so the own changes are written over it.
    return attempt(values, current, true)
  }

  const attempt = async (values: FormValues, over: AnyRecord, merged: boolean): Promise<boolean> => {
    try {
      const saved = await write(resource, keyText, rows, values, over)
      const onlyFields = rowsCount(rows) === 0
      reset()
      accept(saved)
      const old = onlyFields ? beforeOf(resource, values, over) : null
      said.saved(merged ? t.record.merged : t.record.saved, saved, old)
      return true
    } catch (problem) {
      if (noticeFailure(problem)) {
        again()
        return false
      }
      if (problem instanceof ProblemError && problem.status === 412 && !merged) return meet(values, over)
      if (isMissing(problem)) {
        setGone(true)
        void refetch()
      } else if (isUnknown(problem)) {
        refusals.fail(problem)
        said.unknown()
        void refetch()
      } else {
        refusals.refuse(problem, rows, Object.keys(values).length === 0 ? 0 : 1)
      }
      return false
    }
  }

  const again = useAgain(() => void save())

  const save: RecordEdit["save"] = async (over) => {
    const on = over?.base ?? base
    if (on === undefined || busy.current) return false
    const invalid = over === undefined ? { ...problemsOf(drafts), ...rowProblems(rows) } : {}
    if (Object.keys(invalid).length > 0 || waits) return false
    const values = over?.changes ?? changes
    if (Object.keys(values).length === 0 && rowsCount(rows) === 0) {
      reset()
      void refetch()
      return true
    }
    setConflict(null)
    return run(() =>
      attempt(values, on, false).catch((problem: unknown) => {
        refusals.fail(problem)
        return false
      })
    )
  }

  return {
    loaded,
    error,
    reload: () => refetch().then(({ data }) => data),
    base,
    drafts,
    rows,
    setRows: (next) => {
      if (base !== undefined) setEditBase(base)
      setRows(next)
      refusals.changeRows(rows, next)
    },
    change,
    changes,
    count,
    problems: { ...refusals.fields, ...problemsOf(drafts) },
    rowProblems: { ...refusals.rows, ...rowProblems(rows) },
    refusal: refusals.whole,
    saving,
    waits,
    save,
    discard: () => {
      reset()
      void refetch()
    },
    conflict,
    endConflict: setConflict,
    gone,
    bringBack: () =>
      bringBack().then((back) => {
        if (back) setGone(false)
        return back
      }),
    restored: input !== null && count > 0
  }
}
