/** The form of a subscription: checkboxes for events, a filter with completion, the receiver. Refusals are shown below their fields. */

import { lazy, type ReactNode, Suspense, useId, useState } from "react"
import { ProblemError } from "../../client/problem.ts"
import { useApp } from "../ground/app.ts"
import { useClosing } from "../ground/closing.tsx"
import { setQuery } from "../ground/location.ts"
import { Cancel, Dialog } from "../ground/parts.tsx"
import { MergeDialog } from "../merge/merge-dialog.tsx"
import { type Conflict, type FormValues, isSame, mergedChanges, mergeRows } from "../merge/merge.ts"
import { useMessages } from "../messages/locale.tsx"
import type { Resource } from "../model/catalogue.ts"
import { type AnyRecord, resourceClient } from "../model/client.ts"
import { plain } from "../model/plain.ts"
import { Field, useAct } from "../place/parts.tsx"
import style from "../place/place.module.css"
import {
  headerLines,
  idOf,
  readEvents,
  readHeaderLines,
  readWaits,
  resourcesOf,
  subscriptionsName,
  waitsText
} from "./subscriptions.ts"

const TextEditor = lazy(() => import("../filter/text.tsx").then(({ TextEditor }) => ({ default: TextEditor })))

interface EventsProps {
  readonly chosen: readonly string[]
  readonly problem: string | undefined
  readonly onChange: (events: readonly string[]) => void
}

const Events = ({ chosen, onChange, problem }: EventsProps): ReactNode => {
  const w = useMessages().webhooks
  const { catalogue } = useApp()
  const box = (name: string, label: string, covered: boolean): ReactNode => (
    <label key={name} className={style.check}>
      <input
        type="checkbox"
        checked={covered || chosen.includes(name)}
        disabled={covered}
        onChange={({ target }) => onChange(target.checked ? [...chosen, name] : chosen.filter((each) => each !== name))}
      />
      {label}
    </label>
  )
  const every = chosen.includes("*")
  return (
    <fieldset className={style.checks} aria-invalid={problem !== undefined}>
      <legend>{w.events}</legend>
      {box("*", `* (${w.allEvents})`, false)}
      {[...catalogue.resources.values()].flatMap(({ model, name, view }) =>
        (model.events ?? []).length === 0 ? [] : [
          box(`${name}.*`, `${name}.* (${w.allOf(view.label.plural)})`, every),
          ...model.events!.map((event) =>
            box(`${name}.${event}`, `${name}.${event}`, every || chosen.includes(`${name}.*`))
          )
        ]
      )}
      {problem !== undefined && <p className="hint" data-bad="" role="alert">{problem}</p>}
    </fieldset>
  )
}

/** A subscription as it is typed. */
interface Draft {
  readonly name: string
  readonly events: readonly string[]
  readonly url: string
  readonly filter: string
  readonly headers: string
  readonly payload: string
  readonly ordered: boolean
  readonly limit: string
  readonly waits: string
}

const draftOf = (record: AnyRecord | null): Draft => ({
  name: plain(record?.["name"]),
  events: readEvents(record?.["events"]),
  url: plain(record?.["url"]),
  filter: plain(record?.["filter"]),
  headers: headerLines(record?.["headers"]),
  payload: plain(record?.["payload"]) || "full",
  ordered: record?.["ordered"] === true,
  limit: plain(record?.["max_per_minute"]),
  waits: waitsText(record?.["retry_steps"])
})

const dataOf = ({ events, filter, headers, limit, name, ordered, payload, url, waits }: Draft) => ({
  name: name.trim(),
  events: events.join(" "),
  url: url.trim(),
  filter: filter.trim() === "" ? null : filter.trim(),
  headers: readHeaderLines(headers),
  payload,
  ordered,
  max_per_minute: limit.trim() === "" ? null : Number(limit),
  retry_steps: readWaits(waits)
})

/** The values that differ from a record's. */
const changesOf = (draft: Draft, record: AnyRecord | null): FormValues => {
  const before: FormValues = dataOf(draftOf(record))
  return Object.fromEntries(Object.entries(dataOf(draft)).filter(([name, value]) => !isSame(value, before[name])))
}

/**
 * Writes the values over a version. Where somebody saved meanwhile, changes of other fields are kept, and for the same field the user decides.
 * `base`: the version that the form began with.
 */
const write = async (
  base: AnyRecord,
  values: FormValues,
  over: AnyRecord
): Promise<{ readonly saved: AnyRecord } | { readonly conflict: Conflict }> => {
  const all = resourceClient(subscriptionsName)
  const key = [idOf(base)]
  try {
    return { saved: await all.update(key, values, { etag: over.etag }) }
  } catch (error) {
    if (!(error instanceof ProblemError) || error.status !== 412) throw error
  }
  const current = await all.get(key)
  const [before, now] = [dataOf(draftOf(base)), dataOf(draftOf(current))]
  const rows = mergeRows(Object.keys(before), before, now, values)
  return rows.some(({ overlap }) => overlap)
    ? { conflict: { rows, current } }
    : { saved: await all.update(key, mergedChanges(rows, {}), { etag: current.etag }) }
}

interface FilterFieldProps {
  /** The resource whose fields the filter may name. Undefined: no event is chosen. */
  readonly target: Resource | undefined
  readonly value: string
  readonly problem: string | undefined
  readonly onChange: (filter: string) => void
}

/** The filter, as a line of text or in the editor with completion. */
const FilterField = ({ onChange, problem, target, value }: FilterFieldProps): ReactNode => {
  const w = useMessages().webhooks
  const [completing, setCompleting] = useState(false)
  return completing && target !== undefined
    ? (
      // Escape closes a completion or the editor. It must not close the dialog, because the typed text would be lost.
      <div role="presentation" onKeyDown={(event) => event.key === "Escape" && event.stopPropagation()}>
        <Suspense>
          <TextEditor
            resource={target}
            start={value}
            onDone={(text) => {
              onChange(text)
              setCompleting(false)
            }}
            onCancel={() => setCompleting(false)}
          />
        </Suspense>
      </div>
    )
    : (
      <Field label={w.filter} optional hint={w.filterHint} problem={problem}>
        {(id, described) => (
          <>
            <input
              {...described}
              id={id}
              dir="ltr"
              className="mono"
              maxLength={10_000}
              spellCheck={false}
              value={value}
              onChange={({ target }) => onChange(target.value)}
            />
            {target !== undefined && (
              <button
                type="button"
                className="btn quiet"
                onClick={() => setCompleting(true)}
              >
                {w.complete}
              </button>
            )}
          </>
        )}
      </Field>
    )
}

interface EditProps {
  /** The subscription. Null for a new one. */
  readonly record: AnyRecord | null
  readonly onClose: () => void
  readonly onSaved: () => Promise<void>
}

/** Saving: the refused fields, and what somebody else changed meanwhile. */
const useSaving = (record: AnyRecord | null, draft: Draft, onSaved: () => Promise<void>, onClose: () => void) => {
  const act = useAct()
  const [problems, setProblems] = useState<ReadonlyMap<string, string>>(new Map())
  const [busy, setBusy] = useState(false)
  const [conflict, setConflict] = useState<Conflict | null>(null)
  const changes = changesOf(draft, record)
  const save = async (values: FormValues = changes, over = record): Promise<void> => {
    setBusy(true)
    setConflict(null)
    let saved = false
    await act(async () => {
      try {
        const written = record === null || over === null
          ? { saved: await resourceClient(subscriptionsName).create(dataOf(draft)) }
          : await write(record, values, over)
        if ("conflict" in written) return setConflict(written.conflict)
        setQuery({ id: idOf(written.saved) })
        saved = true
      } catch (error) {
        if (!(error instanceof ProblemError) || error.errors.length === 0) throw error
        setProblems(
          new Map(
            error.errors.map(({ field, hint, message }) => [field ?? "", hint == null ? message : `${message} ${hint}`])
          )
        )
      }
    })
    setBusy(false)
    if (!saved) return
    await onSaved()
    onClose()
  }
  return {
    busy,
    changed: Object.keys(changes).length > 0,
    conflict,
    problems,
    save,
    endConflict: () => setConflict(null)
  }
}

export const EditSubscription = ({ onClose, onSaved, record }: EditProps): ReactNode => {
  const w = useMessages().webhooks
  const pw = useMessages().place
  const form = useId()
  const { catalogue } = useApp()
  const [draft, setDraft] = useState(() => draftOf(record))
  const put = (part: Partial<Draft>): void => setDraft((before) => ({ ...before, ...part }))
  const { events } = draft
  const { busy, changed, conflict, endConflict, problems, save } = useSaving(record, draft, onSaved, onClose)
  const closing = useClosing(changed, onClose)
  const resource = catalogue.resources.get(subscriptionsName)
  const withEvents = [...catalogue.resources.values()].filter(({ model }) => (model.events ?? []).length > 0)
  const target = catalogue.resources.get(resourcesOf(events, withEvents.map((each) => each.name))[0] ?? "")

  if (conflict !== null && resource !== undefined) {
    return (
      <MergeDialog
        resource={resource}
        conflict={conflict}
        onBack={endConflict}
        onDiscard={() => void onSaved().then(onClose)}
        onSave={(merged, over) => void save(merged, over)}
      />
    )
  }
  return (
    <Dialog
      title={record === null ? w.add : w.edit}
      onClose={closing.close}
      footer={
        <>
          <Cancel onPress={closing.close} />
          <button className="btn primary" form={form} disabled={busy}>{pw.save}</button>
        </>
      }
    >
      <form
        id={form}
        className={style.tall}
        onSubmit={(event) => {
          event.preventDefault()
          if (!busy) void save()
        }}
      >
        <Field label={w.name} problem={problems.get("name")}>
          {(id, described) => (
            <input
              {...described}
              id={id}
              autoFocus
              required
              maxLength={200}
              value={draft.name}
              onChange={({ target }) => put({ name: target.value })}
            />
          )}
        </Field>
        <Events chosen={events} problem={problems.get("events")} onChange={(events) => put({ events })} />
        <Field label={w.url} hint={w.urlHint} problem={problems.get("url")}>
          {(id, described) => (
            <input
              {...described}
              id={id}
              type="url"
              dir="ltr"
              required
              maxLength={2_000}
              value={draft.url}
              onChange={({ target }) => put({ url: target.value })}
            />
          )}
        </Field>
        <FilterField
          target={target}
          value={draft.filter}
          problem={problems.get("filter")}
          onChange={(filter) => put({ filter })}
        />
        <Field label={w.headers} optional hint={w.headersHint} problem={problems.get("headers")}>
          {(id, described) => (
            <textarea
              {...described}
              id={id}
              dir="ltr"
              className="mono"
              spellCheck={false}
              autoComplete="off"
              value={draft.headers}
              onChange={({ target }) => put({ headers: target.value })}
            />
          )}
        </Field>
        <Field label={w.payload}>
          {(id) => (
            <select id={id} value={draft.payload} onChange={({ target }) => put({ payload: target.value })}>
              <option value="full">{w.full}</option>
              <option value="thin">{w.thin}</option>
            </select>
          )}
        </Field>
        <label className={style.check}>
          <input type="checkbox" checked={draft.ordered} onChange={({ target }) => put({ ordered: target.checked })} />
          {w.ordered}
        </label>
        <Field label={w.limit} optional hint={w.limitHint} problem={problems.get("max_per_minute")}>
          {(id, described) => (
            <input
              {...described}
              id={id}
              type="number"
              min={1}
              max={60_000}
              value={draft.limit}
              onChange={({ target }) => put({ limit: target.value })}
            />
          )}
        </Field>
        <Field label={w.waits} optional hint={w.waitsHint} problem={problems.get("retry_steps")}>
          {(id, described) => (
            <input
              {...described}
              id={id}
              dir="ltr"
              className="mono"
              maxLength={200}
              value={draft.waits}
              onChange={({ target }) => put({ waits: target.value })}
            />
          )}
        </Field>
      </form>
      {closing.question}
    </Dialog>
  )
}
