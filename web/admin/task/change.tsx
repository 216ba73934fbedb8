/** The dialog around a change of many records: one field and its new value, a try with its result, and the change itself. It writes nothing. */

import { type ReactNode, useState } from "react"
import type { MetaField } from "../../client/index.ts"
import { Input } from "../field/input.tsx"
import type { Draft } from "../field/parse.ts"
import { Cancel, Dialog } from "../ground/parts.tsx"
import { problemText } from "../ground/problem.tsx"
import { useLocale } from "../messages/locale.tsx"
import { fieldLabel, type Resource } from "../model/catalogue.ts"

/** The field that is changed, and its value as far as it is typed. */
export interface Change {
  readonly name: string
  readonly field: MetaField | undefined
  readonly draft: Draft | null
  /** The members that each record gets. */
  readonly data: { readonly [field: string]: unknown }
  readonly onName: (name: string) => void
  readonly onDraft: (draft: Draft | null) => void
}

/** Fields that a change of many may set. */
const changeable = ({ model }: Resource): readonly MetaField[] => model.fields.filter(({ writable }) => writable.update)

export const useChange = (resource: Resource): Change => {
  const [name, setName] = useState(changeable(resource)[0]?.name ?? "")
  const [draft, setDraft] = useState<Draft | null>(null)
  return {
    name,
    field: resource.fields.get(name),
    draft,
    data: { [name]: draft?.value ?? null },
    onName: (next) => {
      setName(next)
      setDraft(null)
    },
    onDraft: setDraft
  }
}

/** The step of a change. `tried` has the result of the try. */
export type ChangeStep<Tried> =
  | { readonly at: "choose" }
  | { readonly at: "busy"; readonly done: number; readonly all: number }
  | { readonly at: "tried" } & Tried
  | { readonly at: "failed"; readonly error: unknown }

const ChangeForm = (
  { change: { draft, field, name, onDraft, onName }, resource }: {
    readonly change: Change
    readonly resource: Resource
  }
): ReactNode => {
  const { t } = useLocale()
  if (field === undefined) return null
  return (
    <div className="bulk-form">
      <label>
        <span className="label">{t.list.bulkField}</span>
        <span className="input">
          <select value={name} onChange={({ target }) => onName(target.value)}>
            {changeable(resource).map((each) => (
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
          onChange={onDraft}
        />
        {draft?.problem != null && <p className="hint" data-bad="" role="alert">{draft.problem}</p>}
      </div>
    </div>
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
  const { draft, field } = change
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
            <button
              type="button"
              className="btn primary"
              disabled={draft === null ? field?.optional !== true : draft.problem !== null}
              onClick={onCheck}
            >
              {check}
            </button>
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
      {op === "update" && step.at === "choose" && <ChangeForm resource={resource} change={change} />}
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
