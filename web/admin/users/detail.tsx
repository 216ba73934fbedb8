/** One account: its roles, its sessions, its sign-in methods, and its deletion. */

import { useQuery, useQueryClient } from "@tanstack/react-query"
import { type ReactNode, useState } from "react"
import type { ListedAccount } from "../../../core/domain/meta/account.ts"
import { adminRole, rolesOf } from "../../../core/domain/value/role.ts"
import { useReader } from "../field/value.tsx"
import { setQuery } from "../ground/location.ts"
import { Cancel, Dialog } from "../ground/parts.tsx"
import { say } from "../ground/toasts.tsx"
import { useLocale, useMessages } from "../messages/locale.tsx"
import { client } from "../model/client.ts"
import { short } from "../model/plain.ts"
import { Facts, Field, Moment, mostShown, Shown, useAct } from "../place/parts.tsx"
import style from "../place/place.module.css"
import { RolePicker, useRoles } from "../place/roles.tsx"
import { type AccountState, deviceOf, type DeviceSession, newPassword, useMethods } from "./accounts.ts"

interface UserDetailProps {
  readonly user: ListedAccount
  readonly state: AccountState
  readonly own: boolean
  /** Whether it is the last active admin. Null until this is known. */
  readonly last: boolean | null
  readonly onChanged: () => Promise<void>
}

/** Actions that need a confirmation. */
type Question = "ban" | "delete" | "password" | "factor" | "passkeys"

const Sessions = ({ user }: { readonly user: ListedAccount }): ReactNode => {
  const w = useMessages().users
  const { now } = useReader()
  const act = useAct()
  const queries = useQueryClient()
  const { data } = useQuery({
    queryKey: ["users", "sessions", user.id],
    queryFn: () =>
      client.auth.post<{ readonly sessions: readonly DeviceSession[] }>("/admin/list-user-sessions", {
        userId: user.id
      })
  })
  const end = async (path: string, body: object): Promise<void> => {
    if (await act(() => client.auth.post(path, body))) say(w.ended)
    await queries.invalidateQueries({ queryKey: ["users", "sessions", user.id] })
  }
  if (data === undefined) return null
  if (data.sessions.length === 0) return <p className="dim">{w.noSessions}</p>
  return (
    <>
      <ul className={style.lines}>
        {data.sessions.map((session) => (
          <li key={session.id}>
            <span className="grow">
              {deviceOf(session.userAgent)}
              <small>
                <bdi>{short(session.ipAddress ?? "", mostShown)}</bdi> · <Moment at={session.createdAt} now={now} />
              </small>
            </span>
            <button
              type="button"
              className="btn"
              aria-label={`${w.end}: ${deviceOf(session.userAgent)}`}
              onClick={() => void end("/admin/revoke-user-session", { sessionToken: session.token })}
            >
              {w.end}
            </button>
          </li>
        ))}
      </ul>
      <button
        type="button"
        className="btn"
        onClick={() => void end("/admin/revoke-user-sessions", { userId: user.id })}
      >
        {w.endAll}
      </button>
    </>
  )
}

const dayChoices = [1, 7, 30, 365] as const

/** Sends a call about the account. `text`: the message after it. False: it was refused. */
type Done = (path: string, body: object, text: string | null) => Promise<boolean>

/** `days`: how long, as a number of days; empty for good. */
interface Ban {
  readonly reason: string
  readonly days: string
}

interface QuestionDialogProps {
  readonly question: Question
  readonly user: ListedAccount
  readonly done: Done
  /** The reason and the time that were put in for a ban. */
  readonly ban: Ban
  readonly onBan: (ban: Ban) => void
  readonly onClose: () => void
  /** Called with a password that was just set. */
  readonly onPassword: (password: string) => void
}

const QuestionDialog = ({ ban, done, onBan, onClose, onPassword, question, user }: QuestionDialogProps): ReactNode => {
  const w = useMessages().users
  const pw = useMessages().place
  const { format } = useLocale()
  const { days, reason } = ban
  const answers: Readonly<
    Record<Question, { readonly title: string; readonly text: string; readonly run: () => Promise<void> }>
  > = {
    ban: {
      title: w.banTitle(user.email),
      text: w.banText,
      run: async () =>
        void await done("/admin/ban-user", {
          ...(reason.trim() === "" ? {} : { banReason: reason.trim() }),
          ...(days === "" ? {} : { banExpiresIn: Number(days) * 86_400 })
        }, null)
    },
    delete: {
      title: w.deleteTitle(user.email),
      text: w.deleteText,
      run: async () => {
        if (await done("/admin/remove-user", {}, w.deleted)) setQuery({ id: null })
      }
    },
    password: {
      title: w.newPassword,
      text: w.newPasswordText,
      run: async () => {
        const password = newPassword()
        if (await done("/admin/set-user-password", { newPassword: password }, null)) onPassword(password)
      }
    },
    factor: {
      title: w.resetFactorTitle,
      text: w.resetFactorText,
      run: async () => void await done("/admin/reset-second-factor", {}, w.taken)
    },
    passkeys: {
      title: w.dropPasskeysTitle,
      text: w.dropPasskeysText,
      run: async () => void await done("/admin/remove-passkeys", {}, w.taken)
    }
  }
  const asks = answers[question]
  return (
    <Dialog
      alert
      title={asks.title}
      text={asks.text}
      onClose={onClose}
      footer={
        <>
          <Cancel onPress={onClose} />
          <button type="button" className="btn danger primary" onClick={() => void asks.run()}>
            {question === "ban" ? w.ban : question === "delete" ? w.delete : pw.go}
          </button>
        </>
      }
    >
      {question === "ban" && (
        <>
          <Field label={w.reason} optional>
            {(id) => (
              <input
                id={id}
                maxLength={500}
                value={reason}
                onChange={({ target }) => onBan({ ...ban, reason: target.value })}
              />
            )}
          </Field>
          <Field label={w.until}>
            {(id) => (
              <select id={id} value={days} onChange={({ target }) => onBan({ ...ban, days: target.value })}>
                <option value="">{w.forGood}</option>
                {dayChoices.map((count) => (
                  <option key={count} value={count}>{w.days(count, format.count(count))}</option>
                ))}
              </select>
            )}
          </Field>
        </>
      )}
    </Dialog>
  )
}

export const UserDetail = ({ last, onChanged, own, state, user }: UserDetailProps): ReactNode => {
  const w = useMessages().users
  const pw = useMessages().place
  const { format } = useLocale()
  const { now } = useReader()
  const act = useAct()
  const choices = useRoles().data
  const methods = useMethods().data
  const stored = rolesOf(user.role ?? "")
  const [roles, setRoles] = useState(stored)
  const [question, setQuestion] = useState<Question | null>(null)
  const [ban, setBan] = useState<Ban>({ reason: "", days: "" })
  const [secret, setSecret] = useState<string | null>(null)
  const banned = state === "banned"
  const held = last !== false
  const changedRoles = roles.toSorted().join() !== stored.toSorted().join()
  const userId = user.id

  const done = async (path: string, body: object, text: string | null): Promise<boolean> => {
    setQuestion(null)
    const ok = await act(() => client.auth.post(path, { userId, ...body }))
    if (ok && text !== null) say(text)
    await onChanged()
    return ok
  }
  return (
    <>
      <div className={style.head}>
        <h2 className={style.title}>
          <bdi>{short(user.email, mostShown)}</bdi>
        </h2>
      </div>
      {last === true && <p className="note" data-tone="info">{w.lastAdmin}</p>}
      {own && last === false && <p className="note" data-tone="info">{w.self}</p>}
      {banned && (
        <p className="note" data-tone="bad">
          <span>
            {user.banExpires === null ? w.banned : w.bannedUntil(format.dateTime(user.banExpires))}
            {user.banReason !== null && user.banReason !== "" && (
              <>
                : <bdi>{short(user.banReason, mostShown)}</bdi>
              </>
            )}
          </span>
        </p>
      )}
      {state === "invited" && <p className="note" data-tone="info">{w.waitingText}</p>}
      <Facts
        facts={[
          [w.name, <bdi key="name">{short(user.name, mostShown)}</bdi>],
          [w.since, <Moment key="since" at={user.createdAt} now={now} />]
        ]}
      />
      <RolePicker
        label={w.roles}
        choices={choices?.roles ?? []}
        chosen={roles}
        held={held ? [adminRole] : []}
        onChange={setRoles}
      />
      {changedRoles && (
        <button
          type="button"
          className="btn primary"
          disabled={roles.length === 0}
          onClick={() => void done("/admin/set-role", { role: roles.join(",") }, w.saved)}
        >
          {pw.save}
        </button>
      )}
      <h2>{w.sessions}</h2>
      <Sessions user={user} />
      <h2>{w.access}</h2>
      {secret !== null && <Shown once label={w.password} text={secret} />}
      <div className={style.buttons}>
        <button type="button" className="btn" onClick={() => setQuestion("password")}>{w.newPassword}</button>
        {methods?.invitations === true && (
          <button
            type="button"
            className="btn"
            disabled={banned}
            onClick={() => void done("/admin/send-password-link", {}, w.linkSent)}
          >
            {w.sendLink}
          </button>
        )}
        {!own && methods?.twoFactor === true && user.twoFactorEnabled === true && (
          <button
            type="button"
            className="btn"
            onClick={() => setQuestion("factor")}
          >
            {w.resetFactor}
          </button>
        )}
        {!own && methods?.passkeys === true && (
          <button
            type="button"
            className="btn"
            onClick={() => setQuestion("passkeys")}
          >
            {w.dropPasskeys}
          </button>
        )}
      </div>
      <h2>{w.status}</h2>
      <div className={style.buttons}>
        {banned
          ? (
            <button type="button" className="btn" onClick={() => void done("/admin/unban-user", {}, null)}>
              {w.unban}
            </button>
          )
          : (
            <button type="button" className="btn danger" disabled={own || held} onClick={() => setQuestion("ban")}>
              {w.ban}
            </button>
          )}
        <button type="button" className="btn danger" disabled={own || held} onClick={() => setQuestion("delete")}>
          {w.delete}
        </button>
      </div>
      {question !== null && (
        <QuestionDialog
          question={question}
          user={user}
          done={done}
          ban={ban}
          onBan={setBan}
          onClose={() => setQuestion(null)}
          onPassword={setSecret}
        />
      )}
    </>
  )
}
