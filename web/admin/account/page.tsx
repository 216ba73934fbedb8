/** The user's own account: password, second factor, passkeys, sessions, API keys. Secrets are in memory only while they are shown. */

import { useQuery, useQueryClient } from "@tanstack/react-query"
import { type FormEvent, type ReactNode, useState } from "react"
import { ProblemError } from "../../client/problem.ts"
import { useReader } from "../field/value.tsx"
import { useApp } from "../ground/app.ts"
import { Dialog } from "../ground/parts.tsx"
import { Missing } from "../ground/problem.tsx"
import { enter } from "../ground/session.ts"
import { say } from "../ground/toasts.tsx"
import { useMessages } from "../messages/locale.tsx"
import { client } from "../model/client.ts"
import { Field, Moment, type PageProps, Part, Sheet, Top, useAct } from "../place/parts.tsx"
import style from "../place/place.module.css"
import { SignIn } from "../sign-in/sign-in.tsx"
import { deviceOf, type DeviceSession, useMethods } from "../users/accounts.ts"
import { SecondFactor } from "./factor.tsx"
import { type Fresh, Keys } from "./keys.tsx"
import { Passkeys } from "./passkeys.tsx"

const Password = ({ onChanged }: { readonly onChanged: () => Promise<unknown> }): ReactNode => {
  const w = useMessages().account
  const { user } = useApp()
  const act = useAct()
  const [current, setCurrent] = useState("")
  const [next, setNext] = useState("")
  const [again, setAgain] = useState("")
  const [problem, setProblem] = useState<string | null>(null)
  const [busy, setBusy] = useState(false)
  const submit = async (event: FormEvent): Promise<void> => {
    event.preventDefault()
    if (busy) return
    if (next !== again) return setProblem(w.different)
    setProblem(null)
    setBusy(true)
    const done = await act(async () => {
      try {
        await client.auth.post("/change-password", { currentPassword: current, newPassword: next })
      } catch (error) {
        if (!(error instanceof ProblemError) || error.status === 429) throw error
        setProblem(error.detail)
        return
      }
      say(w.changed)
      setNext("")
      setAgain("")
    })
    setCurrent("")
    setBusy(false)
    if (done) await enter()
    // The present session is a new one, too.
    await onChanged()
  }
  const input = (
    label: string,
    value: string,
    onChange: (value: string) => void,
    more: { readonly hint?: string; readonly problem?: string | null; readonly fresh?: boolean } = {}
  ): ReactNode => (
    <Field label={label} hint={more.hint} problem={more.problem}>
      {(id, described) => (
        <input
          {...described}
          id={id}
          type="password"
          autoComplete={more.fresh === true ? "new-password" : "current-password"}
          minLength={more.fresh === true ? 12 : undefined}
          maxLength={128}
          required
          value={value}
          onChange={({ target }) => onChange(target.value)}
        />
      )}
    </Field>
  )
  return (
    <Part title={w.password} text={w.passwordText}>
      <form onSubmit={(event) => void submit(event)} aria-label={w.password}>
        <input type="hidden" name="username" autoComplete="username" value={user.email} />
        {input(w.current, current, setCurrent)}
        {input(w.next, next, setNext, { hint: w.nextHint, fresh: true })}
        {input(w.again, again, setAgain, { problem, fresh: true })}
        <button className="btn" disabled={busy}>{w.change}</button>
      </form>
    </Part>
  )
}

const Sessions = ({ own }: { readonly own: string | null }): ReactNode => {
  const w = useMessages().account
  const { now } = useReader()
  const act = useAct()
  const queries = useQueryClient()
  const { data } = useQuery({
    queryKey: ["account", "sessions"],
    queryFn: ({ signal }) => client.auth.get<readonly DeviceSession[]>("/list-sessions", {}, { signal })
  })
  const end = async (path: string, body: object): Promise<void> => {
    await act(() => client.auth.post(path, body))
    await queries.invalidateQueries({ queryKey: ["account", "sessions"] })
  }
  return (
    <Part title={w.sessions} text={w.sessionsText}>
      <ul className={style.lines}>
        {data?.map((session) => (
          <li key={session.id}>
            <span className="grow">
              {deviceOf(session.userAgent)}{" "}
              {session.id === own && <span className="badge" data-tone="ok">{w.here}</span>}
              <small>
                <bdi>{session.ipAddress}</bdi> · <Moment at={session.createdAt} now={now} />
              </small>
            </span>
            {session.id !== own && (
              <button
                type="button"
                className="btn"
                aria-label={`${w.end}: ${deviceOf(session.userAgent)}`}
                onClick={() => void end("/revoke-session", { token: session.token })}
              >
                {w.end}
              </button>
            )}
          </li>
        ))}
      </ul>
      {(data?.length ?? 0) > 1 && (
        <button
          type="button"
          className="btn"
          onClick={() => void end("/revoke-other-sessions", {})}
        >
          {w.endOthers}
        </button>
      )}
    </Part>
  )
}

export const AccountPage = ({ part }: PageProps): ReactNode => {
  const w = useMessages().account
  const pw = useMessages().place
  const { user } = useApp()
  const act = useAct()
  const queries = useQueryClient()
  const methods = useMethods().data
  const [waiting, setWaiting] = useState<(() => Promise<void>) | null>(null)
  const { data: session, refetch } = useQuery({
    queryKey: ["account", "session"],
    queryFn: ({ signal }) => client.auth.session({ signal })
  })
  if (part !== null) return <Missing />
  const fresh: Fresh = async (work) => {
    await act(async () => {
      try {
        await work()
      } catch (error) {
        if (!(error instanceof ProblemError) || error.document["code"] !== "SESSION_NOT_FRESH") throw error
        setWaiting(() => work)
      }
    })
  }
  return (
    <>
      <Top title={pw.account} note={user.email} />
      <Sheet>
        <Password onChanged={() => queries.invalidateQueries({ queryKey: ["account"] })} />
        {methods?.twoFactor === true && session != null && (
          <SecondFactor
            on={session.user["twoFactorEnabled"] === true}
            onChanged={() => void refetch()}
          />
        )}
        {methods?.passkeys === true && <Passkeys fresh={fresh} />}
        <Sessions own={session?.session.id ?? null} />
        <Keys fresh={fresh} />
      </Sheet>
      {waiting !== null && (
        <Dialog title={w.signInAgain} onClose={() => setWaiting(null)}>
          <SignIn
            email={user.email}
            onDone={async () => {
              await enter(true)
              const work = waiting
              setWaiting(null)
              await refetch()
              await fresh(work)
            }}
          />
        </Dialog>
      )}
    </>
  )
}
