/** The dialog around a change of many records: fields and their new values, a try with its result, and the change itself. It writes nothing. */

import { Plus, X } from "lucide-react"
import { type FormEvent, type ReactNode, useId, useRef, useState } from "react"
import type { MetaField } from "../../client/index.ts"
import { Input } from "../field/input.tsx"
import type { Draft } from "../field/parse.ts"
import { textOf } from "../field/text.ts"
import { useReader } from "../field/value.tsx"
import { Cancel, Dialog } from "../ground/parts.tsx"
import { problemText } from "../ground/problem.tsx"
import { useLocale } from "../messages/locale.tsx"
import { fieldLabel, type Resource } from "../model/catalogue.ts"
import { short } from "../model/plain.ts"
import { type Changed, dataOf, isReady, leftOf } from "./changed.ts"

/** A line of the form. Its number stays, whichever field it is about. */
interface Line extends Changed {
  readonly id: number
}

/** The fields that are changed, and their values as far as they are typed. */
export interface Change {
  readonly changed: readonly Line[]
  /** The members that each record gets. */
  readonly data: { readonly [field: string]: unknown }
  /** Fields that are not among them. */
  readonly left: readonly MetaField[]
  readonly ready: boolean
  readonly onAdd: () => void
  readonly onRemove: (name: string) => void
  /** Changes another field in the place of one. */
  readonly onName: (name: string, next: string) => void
  readonly onDraft: (name: string, draft: Draft | null) => void
}

export const useChange = (resource: Resource): Change => {
  const [changed, setChanged] = useState<readonly Line[]>(() =>
    leftOf(resource, []).slice(0, 1).map((field) => ({ id: 0, field, draft: null }))
  )
  const left = leftOf(resource, changed)
  const put = (name: string, next: Changed): void =>
    setChanged((before) => before.map((each) => each.field.name === name ? { ...each, ...next } : each))
  return {
    changed,
    data: dataOf(changed),
    left,
    ready: isReady(changed),
    onAdd: () => {
      const id = 1 + Math.max(0, ...changed.map((each) => each.id))
      setChanged([...changed, ...left.slice(0, 1).map((field) => ({ id, field, draft: null }))])
    },
    onRemove: (name) => setChanged(changed.filter(({ field }) => field.name !== name)),
    onName: (name, next) => {
      const field = resource.fields.get(next)
      if (field !== undefined) put(name, { field, draft: null })
    },
    onDraft: (name, draft) => {
      const field = resource.fields.get(name)
      if (field !== undefined) put(name, { field, draft })
    }
  }
}

/** What is changed, a line a field. */
export const ChangedWords = (
  { change: { changed }, resource }: { readonly change: Change; readonly resource: Resource }
): ReactNode => {
  const { t } = useLocale()
  const reader = useReader()
  return changed.map(({ draft, field }) => (
    <b key={field.name} className="bulk-what">
      {fieldLabel(resource, field.name)}:{" "}
      <bdi>{short(textOf(resource, field, draft?.value, reader), 200) || t.field.empty}</bdi>
    </b>
  ))
}

/** The step of a change. `tried` has the result of the try. */
export type ChangeStep<Tried> =
  | { readonly at: "choose" }
  | { readonly at: "busy"; readonly done: number; readonly all: number }
  | { readonly at: "tried" } & Tried
  | { readonly at: "failed"; readonly error: unknown }

interface LineProps {
  readonly resource: Resource
  readonly change: Change
  readonly of: Changed
  /** It was added: its choice of a field takes the focus. */
  readonly added: boolean
  readonly onRemoved: () => void
}

/** One field, and its new value. */
const ChangeLine = ({ added, change, of: { draft, field }, onRemoved, resource }: LineProps): ReactNode => {
  const { t } = useLocale()
  const id = useId()
  const { name } = field
  const label = fieldLabel(resource, name)
  return (
    <div className="bulk-line" role="group" aria-label={label}>
      <label>
        <span className="label">{t.list.bulkField}</span>
        <span className="input">
          <select autoFocus={added} value={name} onChange={({ target }) => change.onName(name, target.value)}>
            {[field, ...change.left].map((each) => (
              <option key={each.name} value={each.name}>{fieldLabel(resource, each.name)}</option>
            ))}
          </select>
        </span>
      </label>
      <div>
        <span className="label">{t.list.bulkValue}</span>
        <Input
          key={name}
          resource={resource}
          field={field}
          value={draft?.value ?? null}
          label={t.list.bulkValue}
          invalid={draft?.problem != null}
          {...(draft?.problem == null ? {} : { describedBy: id })}
          onChange={(next) => change.onDraft(name, next)}
        />
        {draft?.problem != null && <p id={id} className="hint" data-bad="" role="alert">{draft.problem}</p>}
      </div>
      {change.changed.length > 1 && (
        <button
          type="button"
          className="btn quiet bare"
          aria-label={t.bulk.leaveOut(label)}
          onClick={() => {
            change.onRemove(name)
            onRemoved()
          }}
        >
          <X className="icon" aria-hidden="true" />
        </button>
      )}
    </div>
  )
}

interface FormProps {
  readonly id: string
  readonly resource: Resource
  readonly change: Change
  readonly onCheck: () => void
}

const ChangeForm = ({ change, id, onCheck, resource }: FormProps): ReactNode => {
  const { t } = useLocale()
  const adder = useRef<HTMLButtonElement>(null)
  const [added, setAdded] = useState(false)
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    if (change.ready) onCheck()
  }
  return (
    <form id={id} className="bulk-form" onSubmit={submit}>
      {change.changed.map((each, at) => (
        <ChangeLine
          key={each.id}
          resource={resource}
          change={change}
          of={each}
          added={added && at === change.changed.length - 1}
          onRemoved={() => adder.current?.focus()}
        />
      ))}
      <button
        type="button"
        ref={adder}
        className="btn quiet"
        disabled={change.left.length === 0}
        onClick={() => {
          setAdded(true)
          change.onAdd()
        }}
      >
        <Plus className="icon" aria-hidden="true" /> {t.bulk.add}
      </button>
    </form>
  )
}

interface ChangeDialogProps {
  readonly resource: Resource
  readonly op: "update" | "delete" | "undelete"
  readonly title: string
  readonly change: Change
  readonly step: ChangeStep<object>
  /** The label of the button that tries it. */
  readonly check: string
  readonly onCheck: () => void
  /** The button that does it; null while there is nothing to do. */
  readonly go: { readonly label: string; readonly onPress: () => void } | null
  readonly onClose: () => void
  /** The result of the try. */
  readonly children: ReactNode
}

export const ChangeDialog = (
  { change, check, children, go, onCheck, onClose, op, resource, step, title }: ChangeDialogProps
): ReactNode => {
  const { format, t } = useLocale()
  const form = useId()
  return (
    <Dialog
      title={title}
      alert={op === "delete"}
      onClose={onClose}
      text={op === "delete" ? (resource.model.softDelete ? t.list.deleteSoft : t.list.deleteHard) : undefined}
      footer={
        <>
          <Cancel onPress={onClose} />
          {step.at === "choose" && (
            <button type="submit" form={form} className="btn primary" disabled={!change.ready}>{check}</button>
          )}
          {step.at === "failed" && <button type="button" className="btn" onClick={onCheck}>{t.shell.retry}</button>}
          {go !== null && (
            <button type="button" className={`btn primary ${op === "delete" ? "danger" : ""}`} onClick={go.onPress}>
              {go.label}
            </button>
          )}
        </>
      }
    >
      {op === "update" && step.at === "choose" && (
        <ChangeForm id={form} resource={resource} change={change} onCheck={onCheck} />
      )}
      {step.at === "busy" && (
        <p className="late" role="status">
          <span className="spinner" aria-hidden="true" />{" "}
          {t.list.progress(format.count(step.done), format.count(step.all))}
        </p>
      )}
      {step.at === "failed" && <p className="hint" data-bad="" role="alert">{problemText(step.error, t)}</p>}
      {children}
    </Dialog>
  )
}
