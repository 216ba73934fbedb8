/** The dialog for the name of a view and for its sharing. */

import { useQueryClient } from "@tanstack/react-query"
import { type ReactNode, type SubmitEvent, useId, useState } from "react"
import { config } from "../config.ts"
import { useApp } from "../ground/app.ts"
import { Cancel, Dialog } from "../ground/parts.tsx"
import { problemText } from "../ground/problem.tsx"
import { say } from "../ground/toasts.tsx"
import { useLocale, useMessages } from "../messages/locale.tsx"
import { isolated } from "../model/plain.ts"
import { useRoles } from "../place/roles.tsx"
import style from "./saved.module.css"
import { type SavedView, saveView, type ViewState } from "./views.ts"

interface SaveDialogProps {
  readonly resource: string
  /** The current state of the list. */
  readonly state: ViewState
  /** The view to change. Null for a new one. */
  readonly view: SavedView | null
  readonly onClose: () => void
  readonly onSaved: (view: SavedView) => void
}

export const SaveDialog = ({ onClose, onSaved, resource, state, view }: SaveDialogProps): ReactNode => {
  const { t } = useLocale()
  const w = useMessages().saved
  const id = useId()
  const queries = useQueryClient()
  const { isAdmin, user } = useApp()
  // Admins share with any role. The service knows all roles where it keeps the accounts.
  const known = config.signIn === "password"
  const given = view === null || view.shared_with === "me" ? [] : view.shared_with
  const offered = useRoles(isAdmin && known).data?.roles ?? []
  const choices = [...new Set([...offered, ...user.roles, ...(known ? given : [])])]
  const [name, setName] = useState(view?.name ?? "")
  const [roles, setRoles] = useState(known ? given : given.filter((role) => user.roles.includes(role)))
  const [others, setOthers] = useState(known ? "" : given.filter((role) => !user.roles.includes(role)).join(", "))
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState<unknown>(null)

  const save = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault()
    setBusy(true)
    setError(null)
    const chosen = [...roles, ...others.split(",").map((role) => role.trim()).filter((role) => role !== "")]
    try {
      const values = { name, shared_with: chosen.length === 0 ? "me" as const : chosen }
      const saved = await saveView(queries, resource, view === null ? { ...state, ...values } : values, view)
      say(w.saved(isolated(saved.name)))
      onSaved(saved)
    } catch (problem) {
      setError(problem)
      setBusy(false)
    }
  }

  return (
    <Dialog
      title={view === null ? w.title : w.titleChange}
      text={view === null ? w.text : undefined}
      onClose={onClose}
      footer={
        <>
          <Cancel onPress={onClose} />
          <button type="submit" form={id} className="btn primary" disabled={busy || name.trim() === ""}>
            {w.submit}
          </button>
        </>
      }
    >
      <form id={id} className={style.form} onSubmit={(event) => void save(event)}>
        <label>
          <span className="label">{w.name}</span>
          <span className="input">
            <input
              value={name}
              maxLength={200}
              autoFocus
              autoComplete="off"
              onChange={({ target }) => setName(target.value)}
            />
          </span>
        </label>
        <fieldset className={style.who}>
          <legend className="label">{w.who}</legend>
          <label>
            <input
              type="checkbox"
              checked={roles.length === 0 && others.trim() === ""}
              onChange={() => {
                setRoles([])
                setOthers("")
              }}
            />{" "}
            {w.me}
          </label>
          {choices.map((role) => (
            <label key={role}>
              <input
                type="checkbox"
                checked={roles.includes(role)}
                onChange={({ target }) =>
                  setRoles(target.checked ? [...roles, role] : roles.filter((each) => each !== role))}
              />{" "}
              {w.holders(role)}
            </label>
          ))}
        </fieldset>
        {isAdmin && !known && (
          <label>
            <span className="label">{w.others}</span>
            <span className="input">
              <input value={others} autoComplete="off" onChange={({ target }) => setOthers(target.value)} />
            </span>
          </label>
        )}
        {error !== null && <p className="hint" data-bad="" role="alert">{problemText(error, t)}</p>}
      </form>
    </Dialog>
  )
}
