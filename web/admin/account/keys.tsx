/** The user's own API keys: create one, whose text is shown once, and revoke one. */

import { useQuery, useQueryClient } from "@tanstack/react-query"
import { type FormEvent, type ReactNode, useId, useState } from "react"
import { useReader } from "../field/value.tsx"
import { useApp } from "../ground/app.ts"
import { Cancel, Dialog } from "../ground/parts.tsx"
import { useLocale, useMessages } from "../messages/locale.tsx"
import { client } from "../model/client.ts"
import { Field, Moment, Part, Shown, useAct } from "../place/parts.tsx"
import style from "../place/place.module.css"
import { RolePicker, useRoles } from "../place/roles.tsx"

/** Runs work that needs a recent session. If the session is too old, the user signs in again, and the work is tried once more. */
export type Fresh = (work: () => Promise<void>) => Promise<void>

interface ApiKey {
  readonly id: string
  readonly name: string
  readonly role: string
  readonly createdAt: string
  readonly expiresAt: string
  readonly revokedAt: string | null
  readonly lastUsedAt: string | null
}

const dayChoices = [30, 90, 180, 366] as const

const NewKey = (
  { fresh, onClose, onMade }: { readonly fresh: Fresh; readonly onClose: () => void; readonly onMade: () => void }
): ReactNode => {
  const w = useMessages().account
  const pw = useMessages().place
  const { format } = useLocale()
  const { isAdmin, user } = useApp()
  const form = useId()
  // An admin's key may have any role.
  const choices = useRoles(isAdmin).data?.roles ?? user.roles
  const [name, setName] = useState("")
  const [roles, setRoles] = useState(user.roles)
  const [days, setDays] = useState<number>(90)
  const [text, setText] = useState<string | null>(null)
  const make = async (): Promise<void> => {
    const made = await client.auth.post<{ readonly text: string }>("/api-keys/create", {
      name,
      role: roles.join(","),
      expires: `${days}d`
    })
    setText(made.text)
    onMade()
  }
  return (
    <Dialog
      title={w.addKey}
      dismissable={text === null}
      onClose={onClose}
      footer={text === null
        ? (
          <>
            <Cancel onPress={onClose} />
            <button className="btn primary" form={form} disabled={roles.length === 0}>{w.make}</button>
          </>
        )
        : <button type="button" className="btn primary" onClick={onClose}>{pw.done}</button>}
    >
      {text !== null ? <Shown once label={w.keyText} text={text} /> : (
        <form
          id={form}
          onSubmit={(event: FormEvent) => {
            event.preventDefault()
            void fresh(make)
          }}
        >
          <Field label={w.keyName}>
            {(id) => (
              <input
                id={id}
                autoFocus
                required
                maxLength={200}
                value={name}
                onChange={({ target }) => setName(target.value)}
              />
            )}
          </Field>
          <RolePicker label={w.roles} choices={choices} chosen={roles} onChange={setRoles} />
          <Field label={w.expires}>
            {(id) => (
              <select id={id} value={days} onChange={({ target }) => setDays(Number(target.value))}>
                {dayChoices.map((count) => <option key={count} value={count}>{w.days(format.count(count))}</option>)}
              </select>
            )}
          </Field>
        </form>
      )}
    </Dialog>
  )
}

export const Keys = ({ fresh }: { readonly fresh: Fresh }): ReactNode => {
  const w = useMessages().account
  const pw = useMessages().place
  const { now } = useReader()
  const act = useAct()
  const queries = useQueryClient()
  const [making, setMaking] = useState(false)
  const [revoking, setRevoking] = useState<ApiKey | null>(null)
  const { data } = useQuery({
    queryKey: ["account", "keys"],
    queryFn: async ({ signal }) =>
      (await client.auth.get<{ readonly keys: readonly ApiKey[] }>("/api-keys/list", {}, { signal })).keys
  })
  const again = (): void => void queries.invalidateQueries({ queryKey: ["account", "keys"] })
  const stateOf = (key: ApiKey): string | null =>
    key.revokedAt !== null ? w.revoked : Date.parse(key.expiresAt) <= now ? w.expired : null
  return (
    <Part title={w.keys} text={w.keysText}>
      {data?.length === 0 && <p className="dim">{w.noKeys}</p>}
      <ul className={style.lines}>
        {data?.toReversed().map((key) => (
          <li key={key.id}>
            <span className="grow">
              <bdi>{key.name}</bdi> {stateOf(key) !== null && <span className="badge">{stateOf(key)}</span>}
              <small>
                {key.role.split(",").join(", ")} · {w.endsAt} <Moment at={key.expiresAt} now={now} /> · {w.lastUsed}
                {" "}
                {key.lastUsedAt === null ? pw.never : <Moment at={key.lastUsedAt} now={now} />}
              </small>
            </span>
            {stateOf(key) === null && (
              <button
                type="button"
                className="btn danger"
                aria-label={`${w.revoke}: ${key.name}`}
                onClick={() => setRevoking(key)}
              >
                {w.revoke}
              </button>
            )}
          </li>
        ))}
      </ul>
      <button type="button" className="btn" onClick={() => setMaking(true)}>{w.addKey}</button>
      {making && <NewKey fresh={fresh} onClose={() => setMaking(false)} onMade={again} />}
      {revoking !== null && (
        <Dialog
          alert
          title={w.revokeTitle(revoking.name)}
          text={w.revokeText}
          onClose={() => setRevoking(null)}
          footer={
            <>
              <Cancel onPress={() => setRevoking(null)} />
              <button
                type="button"
                className="btn danger primary"
                onClick={() => {
                  setRevoking(null)
                  void act(() => client.auth.post("/api-keys/revoke", { id: revoking.id })).then(again)
                }}
              >
                {w.revoke}
              </button>
            </>
          }
        />
      )}
    </Part>
  )
}
