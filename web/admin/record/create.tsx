/**
 * The page of a new record: the form with the declared defaults, or with values of another record. Related records are created with it in one batch.
 */

import { useQueryClient } from "@tanstack/react-query"
import { ChevronRight } from "lucide-react"
import { type ReactNode, useMemo, useRef, useState } from "react"
import { ProblemError } from "../../client/index.ts"
import { holdsFiles } from "../field/kind.ts"
import { useAgain } from "../ground/again.ts"
import { useShortcut } from "../ground/keys.ts"
import { listAddress } from "../ground/last-address.ts"
import { Link } from "../ground/link.tsx"
import { currentPlace, go } from "../ground/location.ts"
import { Missing, Problem } from "../ground/problem.tsx"
import { noticeFailure } from "../ground/session.ts"
import { useTitle } from "../ground/title.ts"
import { say } from "../ground/toasts.tsx"
import { useLocale } from "../messages/locale.tsx"
import { aboutOf, addressOf, keyOf, type Resource, titleOf } from "../model/catalogue.ts"
import { anyBatch, type AnyRecord, resourceClient } from "../model/client.ts"
import { isolated } from "../model/plain.ts"
import shell from "../style/frame.module.css"
import { keepDrafts, keptDrafts } from "./draft-store.ts"
import { changesOf, defaultsOf, type Drafts, type FormValues, isWaiting, missingOf, problemsOf } from "./draft.ts"
import { Fields, focusProblem } from "./fields.tsx"
import { useKeeping } from "./keeping.ts"
import { LeaveGuard } from "./leaving.tsx"
import style from "./record.module.css"
import { useRefusals } from "./refusals.ts"
import { RelatedRows, splitRelations, useManyRelations } from "./related.tsx"
import { emptyRows, rowOperations, rowProblems, type RowsByRelation, rowsCount, rowsWait } from "./rows.ts"
import { SaveBar } from "./save-bar.tsx"

/** The version that a new record is based on. */
const nothing: FormValues = {}

const templates = new Map<string, FormValues>()

/** Keeps the initial values of the next new record of a resource. Files and keys are not copied. */
export const keepTemplate = (resource: Resource, values: FormValues): void => {
  templates.set(
    resource.name,
    Object.fromEntries(
      resource.model.fields.flatMap((field) => {
        const { name, writable } = field
        return !holdsFiles(field) && writable.create && !resource.model.primaryKey.includes(name) &&
            values[name] !== undefined
          ? [[name, values[name]]]
          : []
      })
    )
  )
}

/** Initial values in the address: `?customer_id=17` fills a field. */
const addressed = (resource: Resource): FormValues => {
  const values: { [field: string]: unknown } = {}
  for (const [name, value] of currentPlace().query) {
    if (resource.fields.get(name)?.writable.create === true) values[name] = value
  }
  return values
}

/** Creates the record, and the rows of related records in the same batch. `key`: the idempotency key. */
const send = async (resource: Resource, values: FormValues, rows: RowsByRelation, key: string): Promise<AnyRecord> => {
  const data = Object.fromEntries(
    resource.model.fields.flatMap(({ default: given, name, writable }) => {
      const value = values[name]
      if (!writable.create || value === undefined) return []
      // An empty field with a default of the database is left out.
      return value === null && given !== undefined && "db" in given ? [] : [[name, value]]
    })
  )
  const once = { idempotencyKey: key }
  if (rowsCount(rows) === 0) return resourceClient(resource.name).create(data, once)
  const batch = anyBatch()
  const own = batch.create(resource.name, data)
  rowOperations(batch, rows, own)
  return (await batch.send(once)).of(own)
}

/** The values that a further record keeps: the chosen ones, but not the texts. */
const furtherOf = (resource: Resource, values: FormValues): FormValues =>
  Object.fromEntries(
    Object.entries(values).filter(([name]) =>
      resource.fields.get(name)?.kind !== "text" || resource.fields.get(name)?.relation !== undefined
    )
  )

export const CreatePage = ({ resource }: { readonly resource: Resource }): ReactNode => {
  const { t } = useLocale()
  const queries = useQueryClient()
  const place = `${resource.name}/new`
  const start = useMemo((): FormValues => {
    const template = templates.get(resource.name)
    templates.delete(resource.name)
    return { ...defaultsOf(resource.model.fields), ...template, ...addressed(resource) }
  }, [resource])
  const input = useMemo(() => keptDrafts(place), [place])
  const [values, setValues] = useState<FormValues>(start)
  const [drafts, setDrafts] = useState<Drafts>(() => input?.drafts ?? {})
  const [rows, setRows] = useState<RowsByRelation>(() => input?.rows ?? emptyRows)
  const refusals = useRefusals()
  const [saving, setSaving] = useState(false)
  const busy = useRef(false)
  /** The idempotency key of the create. With it, a repeated request creates one record only. */
  const attempt = useRef<string | null>(null)
  const relations = splitRelations(useManyRelations(resource, null))
  useTitle(t.record.newTitle(resource.view.label.singular))
  const dirty = Object.keys(drafts).length + rowsCount(rows) > 0
  useKeeping(place, resource.name, nothing, drafts, rows)

  const merged = { ...values, ...changesOf(drafts, {}) }
  const problems = { ...refusals.fields, ...problemsOf(drafts) }
  const waits = isWaiting(drafts) || rowsWait(rows)
  const inRows = { ...refusals.rows, ...rowProblems(rows) }

  const reset = (next: FormValues): void => {
    setDrafts({})
    setRows(emptyRows)
    refusals.clear()
    setValues(next)
    keepDrafts(place, null)
    attempt.current = null
  }

  const save = async (another: boolean): Promise<void> => {
    if (busy.current || waits) return
    const missing = Object.fromEntries(missingOf(resource.model.fields, merged).map((name) => [name, t.field.required]))
    const wrong = { ...problemsOf(drafts), ...missing, ...rowProblems(rows) }
    if (Object.keys(wrong).length > 0) {
      refusals.put(missing)
      focusProblem(wrong)
      return
    }
    busy.current = true
    setSaving(true)
    refusals.clear()
    try {
      attempt.current ??= crypto.randomUUID()
      const record = await send(resource, merged, rows, attempt.current)
      void queries.invalidateQueries({ queryKey: ["list", resource.name] })
      const key = keyOf(resource, record)
      reset(another ? furtherOf(resource, merged) : start)
      say(key === null ? t.record.invisible : t.record.created(isolated(titleOf(resource, record))))
      if (another) focusProblem(Object.fromEntries(resource.model.fields.map(({ name }) => [name, ""])))
      else go(key === null ? listAddress(resource.name) : addressOf(resource, key), { replace: true, force: true })
    } catch (problem) {
      if (noticeFailure(problem)) return again()
      // A refused create wrote nothing. The corrected body needs a new key.
      if (problem instanceof ProblemError) attempt.current = null
      refusals.refuse(problem, rows, 1)
    } finally {
      busy.current = false
      setSaving(false)
    }
  }
  const again = useAgain(() => void save(false))
  useShortcut("mod+s", () => void save(false))
  useShortcut("mod+Enter", () => void save(true))

  if (!resource.may.create) return <Missing />
  const about = aboutOf(resource)
  const count = Object.keys({ ...problems, ...inRows }).length
  return (
    <>
      <header className={shell.top}>
        <nav className={style.crumbs} aria-label="Breadcrumb">
          <Link to={listAddress(resource.name)} options={{ back: true }} dir="auto" className="dim">
            {resource.view.label.plural}
          </Link>
          <ChevronRight className="icon" data-flips="" aria-hidden="true" />
          <h1 className="cut">{t.record.newTitle(resource.view.label.singular)}</h1>
        </nav>
      </header>
      <div className={style.record}>
        <div className={style.body}>
          {input !== null && dirty && (
            <div className={`note ${style.notes}`} data-tone="info" role="status">{t.record.draftFound}</div>
          )}
          {about !== null && <p dir="auto" className={`about ${style.about}`}>{about}</p>}
          <Fields
            fresh
            resource={resource}
            record={values}
            drafts={drafts}
            problems={problems}
            writable={(field) => field.writable.create}
            onChange={(field, draft) => {
              attempt.current = null
              setDrafts((before) => ({ ...before, [field]: draft }))
              refusals.changeField(field)
            }}
          >
            {relations.inline.filter(({ target }) => target.may.create).map((of) => (
              <RelatedRows
                key={of.relation.name}
                of={of}
                owner={null}
                live={false}
                rows={rows}
                problems={inRows}
                editable
                onRows={(next) => {
                  attempt.current = null
                  setRows(next)
                  refusals.changeRows(rows, next)
                }}
              />
            ))}
          </Fields>
        </div>
      </div>
      {refusals.whole !== null && (
        <div className={style.news}>
          <Problem error={refusals.whole} />
        </div>
      )}
      <SaveBar
        text={null}
        problems={count}
        saving={saving}
        waits={waits}
        label={t.record.create}
        discardLabel={dirty ? t.record.discard : t.shell.cancel}
        onSave={() => void save(false)}
        onDiscard={() => {
          if (dirty) reset(start)
          else go(listAddress(resource.name), { back: true })
        }}
      >
        <button type="button" className="btn" disabled={saving || waits} onClick={() => void save(true)}>
          {t.record.createAnother}
        </button>
      </SaveBar>
      <LeaveGuard dirty={dirty} />
    </>
  )
}
