/** The form of a subscription: checkboxes for events, a filter with completion, the receiver. Refusals are shown below their fields. */

import { lazy, type ReactNode, Suspense, useId, useState } from "react"
import { ProblemError } from "../../client/problem.ts"
import { useApp } from "../ground/app.ts"
import { setQuery } from "../ground/location.ts"
import { Cancel, Dialog } from "../ground/parts.tsx"
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

export const EditSubscription = ({ onClose, onSaved, record }: EditProps): ReactNode => {
  const w = useMessages().webhooks
  const pw = useMessages().place
  const act = useAct()
  const form = useId()
  const { catalogue } = useApp()
  const [draft, setDraft] = useState(() => draftOf(record))
  const put = (part: Partial<Draft>): void => setDraft((before) => ({ ...before, ...part }))
  const { events } = draft
  const [problems, setProblems] = useState<ReadonlyMap<string, string>>(new Map())
  const [busy, setBusy] = useState(false)
  const withEvents = [...catalogue.resources.values()].filter(({ model }) => (model.events ?? []).length > 0)
  const target = catalogue.resources.get(resourcesOf(events, withEvents.map((each) => each.name))[0] ?? "")

  const save = async (): Promise<void> => {
    setBusy(true)
    const data = dataOf(draft)
    let refused = false
    const done = await act(async () => {
      try {
        const all = resourceClient(subscriptionsName)
        const saved = record === null
          ? await all.create(data)
          : await all.update([idOf(record)], data, { etag: record.etag })
        setQuery({ id: idOf(saved) })
      } catch (error) {
        if (!(error instanceof ProblemError) || error.errors.length === 0) throw error
        setProblems(
          new Map(
            error.errors.map(({ field, hint, message }) => [field ?? "", hint == null ? message : `${message} ${hint}`])
          )
        )
        refused = true
      }
    })
    setBusy(false)
    if (!done || refused) return
    await onSaved()
    onClose()
  }
  return (
    <Dialog
      title={record === null ? w.add : w.edit}
      onClose={onClose}
      footer={
        <>
          <Cancel onPress={onClose} />
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
    </Dialog>
  )
}
