/** A new account: with a generated password that is shown once, or by an invitation where the service can send mail. */

import { type FormEvent, type ReactNode, useId, useState } from "react"
import { ProblemError } from "../../client/problem.ts"
import { Cancel, Dialog } from "../ground/parts.tsx"
import { problemText } from "../ground/problem.tsx"
import { useLocale, useMessages } from "../messages/locale.tsx"
import { client } from "../model/client.ts"
import { Field, Shown } from "../place/parts.tsx"
import style from "../place/place.module.css"
import { RolePicker, useRoles } from "../place/roles.tsx"
import { newPassword, useMethods } from "./accounts.ts"

interface NewUserProps {
  readonly onClose: () => void
  readonly onChanged: () => Promise<void>
}

type NewAccount = { readonly email: string; readonly password: string | null }

export const NewUser = ({ onChanged, onClose }: NewUserProps): ReactNode => {
  const w = useMessages().users
  const pw = useMessages().place
  const { t } = useLocale()
  const form = useId()
  const choices = useRoles().data
  const invites = useMethods().data?.invitations === true
  const [email, setEmail] = useState("")
  const [name, setName] = useState("")
  const [picked, setPicked] = useState<readonly string[] | null>(null)
  const [byMail, setByMail] = useState<boolean | null>(null)
  const [problem, setProblem] = useState<string | null>(null)
  const [busy, setBusy] = useState(false)
  const [made, setMade] = useState<NewAccount | null>(null)
  const mailed = byMail ?? invites
  const roles = picked ?? (choices?.defaultRole == null ? [] : [choices.defaultRole])

  const submit = async (event: FormEvent): Promise<void> => {
    event.preventDefault()
    if (busy) return
    if (roles.length === 0) return setProblem(w.needRole)
    setBusy(true)
    setProblem(null)
    const address = email.trim()
    const user = { email: address, name: name.trim() || address.split("@", 1)[0], role: roles.join(",") }
    const password = mailed ? null : newPassword()
    try {
      await client.auth.post(
        password === null ? "/admin/invite-user" : "/admin/create-user",
        password === null ? user : { ...user, password }
      )
      setMade({ email: address, password })
      await onChanged()
    } catch (error) {
      setProblem(error instanceof ProblemError ? error.detail || error.title : problemText(error, t))
    } finally {
      setBusy(false)
    }
  }

  if (made !== null) {
    return (
      <Dialog
        title={w.add}
        dismissable={made.password === null}
        onClose={onClose}
        footer={<button type="button" className="btn primary" onClick={onClose}>{pw.done}</button>}
      >
        {made.password === null ? <p>{w.invited(made.email)}</p> : (
          <>
            <p>{w.createdPassword(made.email)}</p>
            <Shown once label={w.password} text={made.password} />
          </>
        )}
      </Dialog>
    )
  }
  return (
    <Dialog
      title={w.add}
      onClose={onClose}
      footer={
        <>
          <Cancel onPress={onClose} />
          <button className="btn primary" form={form} disabled={busy}>{w.create}</button>
        </>
      }
    >
      <form id={form} onSubmit={(event) => void submit(event)}>
        <Field label={w.email}>
          {(id) => (
            <input
              id={id}
              type="email"
              autoComplete="off"
              autoFocus
              required
              maxLength={254}
              value={email}
              onChange={({ target }) => setEmail(target.value)}
            />
          )}
        </Field>
        <Field label={w.name} optional>
          {(id) => (
            <input
              id={id}
              autoComplete="off"
              maxLength={200}
              value={name}
              onChange={({ target }) => setName(target.value)}
            />
          )}
        </Field>
        <RolePicker label={w.roles} choices={choices?.roles ?? []} chosen={roles} onChange={setPicked} />
        {invites && (
          <fieldset className={style.checks}>
            <legend>{w.how}</legend>
            {[[true, w.byMail] as const, [false, w.byPassword] as const].map(([value, label]) => (
              <label key={label} className={style.check}>
                <input
                  type="radio"
                  name="how"
                  checked={mailed === value}
                  onChange={() =>
                    setByMail(value)}
                />
                {label}
              </label>
            ))}
          </fieldset>
        )}
        {problem !== null && <p className="hint" data-bad="" role="alert">{problem}</p>}
      </form>
    </Dialog>
  )
}
