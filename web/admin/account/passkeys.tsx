/** The passkeys of the user's account: add one with the browser's dialog, name it, remove it. */

import { useQuery, useQueryClient } from "@tanstack/react-query"
import { type FormEvent, type ReactNode, useState } from "react"
import { useReader } from "../field/value.tsx"
import { say } from "../ground/toasts.tsx"
import { useMessages } from "../messages/locale.tsx"
import { client } from "../model/client.ts"
import { Field, Moment, Part, useAct } from "../place/parts.tsx"
import style from "../place/place.module.css"
import { deviceOf } from "../users/accounts.ts"
import type { Fresh } from "./keys.tsx"

interface Passkey {
  readonly id: string
  readonly name?: string | null
  readonly createdAt?: string
}

export const Passkeys = ({ fresh }: { readonly fresh: Fresh }): ReactNode => {
  const w = useMessages().account
  const { now } = useReader()
  const act = useAct()
  const queries = useQueryClient()
  const [name, setName] = useState(() => deviceOf(navigator.userAgent))
  const { data } = useQuery({
    queryKey: ["account", "passkeys"],
    queryFn: ({ signal }) => client.auth.get<readonly Passkey[]>("/passkey/list-user-passkeys", {}, { signal })
  })
  const again = (): Promise<void> => queries.invalidateQueries({ queryKey: ["account", "passkeys"] })
  const add = async (): Promise<void> => {
    const options = await client.auth.get<PublicKeyCredentialCreationOptionsJSON>("/passkey/generate-register-options")
    let credential: Credential | null
    try {
      credential = await navigator.credentials.create({
        publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(options)
      })
    } catch (error) {
      // The user closed the browser's dialog.
      if (error instanceof DOMException && error.name === "NotAllowedError") return
      throw error
    }
    if (!(credential instanceof PublicKeyCredential)) return
    await client.auth.post("/passkey/verify-registration", {
      response: credential.toJSON(),
      ...(name.trim() === "" ? {} : { name: name.trim() })
    })
    say(w.passkeyAdded)
    await again()
  }
  return (
    <Part title={w.passkeys} text={w.passkeysText}>
      {data?.length === 0 && <p className="dim">{w.noPasskeys}</p>}
      <ul className={style.lines}>
        {data?.map((passkey) => (
          <li key={passkey.id}>
            <span className="grow">
              <bdi>{passkey.name || w.unnamed}</bdi>
              {passkey.createdAt !== undefined && (
                <small>
                  <Moment at={passkey.createdAt} now={now} />
                </small>
              )}
            </span>
            <button
              type="button"
              className="btn danger"
              aria-label={`${w.remove}: ${passkey.name || w.unnamed}`}
              onClick={() =>
                void act(async () => {
                  await client.auth.post("/passkey/delete-passkey", { id: passkey.id })
                  say(w.removed)
                  await again()
                })}
            >
              {w.remove}
            </button>
          </li>
        ))}
      </ul>
      <form
        aria-label={w.addPasskey}
        onSubmit={(event: FormEvent) => {
          event.preventDefault()
          void fresh(add)
        }}
      >
        <Field label={w.passkeyName} hint={w.passkeyHint}>
          {(id, described) => (
            <input
              {...described}
              id={id}
              maxLength={200}
              value={name}
              onChange={({ target }) => setName(target.value)}
            />
          )}
        </Field>
        <button className="btn">{w.addPasskey}</button>
      </form>
    </Part>
  )
}
