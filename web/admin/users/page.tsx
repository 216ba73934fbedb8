/** Accounts, for admins: the list with roles, new accounts, and the actions for each. The service checks every action again. */

import { useQueryClient } from "@tanstack/react-query"
import { Plus, Search } from "lucide-react"
import { type ReactNode, useDeferredValue, useState } from "react"
import type { ListedAccount } from "../../../core/domain/meta/account.ts"
import { rolesOf } from "../../../core/domain/value/role.ts"
import type { Tone } from "../field/kind.ts"
import { useReader } from "../field/value.tsx"
import { useApp } from "../ground/app.ts"
import { useShortcut } from "../ground/keys.ts"
import { usePlace } from "../ground/location.ts"
import { Missing, Problem } from "../ground/problem.tsx"
import { useLocale, useMessages } from "../messages/locale.tsx"
import { short } from "../model/plain.ts"
import { type Column, Empty, Moment, More, mostShown, type PageProps, Split, Table, Top } from "../place/parts.tsx"
import style from "../place/place.module.css"
import { type AccountState, isLastAdmin, pageSize, stateOf, useAccounts, useAdmins, useInvited } from "./accounts.ts"
import { NewUser } from "./create.tsx"
import { UserDetail } from "./detail.tsx"

export const UsersPage = ({ part }: PageProps): ReactNode => {
  const w = useMessages().users
  const pw = useMessages().place
  const { format } = useLocale()
  const { now } = useReader()
  const { user: me } = useApp()
  const open = usePlace().query.get("id")
  const queries = useQueryClient()
  const [text, setText] = useState("")
  const [pages, setPages] = useState(1)
  const [creating, setCreating] = useState(false)
  const search = useDeferredValue(text.trim())
  const { data, error, refetch } = useAccounts(search, pages)
  const users = data?.users ?? []
  const invited = useInvited(users)
  const admins = useAdmins().data
  useShortcut("n", () => setCreating(true))
  if (part !== null) return <Missing />
  if (error !== null && data === undefined) return <Problem error={error} onRetry={() => void refetch()} />
  const changed = (): Promise<void> => queries.invalidateQueries({ queryKey: ["users"] })
  const user = users.find(({ id }) => id === open)
  const states: Readonly<Record<AccountState, readonly [tone: Tone, text: string]>> = {
    active: ["ok", w.active],
    invited: ["warn", w.waiting],
    banned: ["bad", w.banned]
  }
  const columns: ReadonlyArray<Column<ListedAccount>> = [
    {
      name: "user",
      label: w.user,
      cell: ({ email, id }) => (
        <span className={style.marked}>
          <bdi className="cut">{short(email, mostShown)}</bdi>
          {id === me.id && <span className="dim">({w.you})</span>}
        </span>
      )
    },
    { name: "name", label: w.name, wide: true, cell: ({ name }) => name },
    {
      name: "roles",
      label: w.roles,
      cell: (each) => rolesOf(each.role ?? "").join(", ") || <span className="dim">{w.noRole}</span>
    },
    {
      name: "status",
      label: w.status,
      cell: (each) => {
        const [tone, text] = states[stateOf(each, invited, now)]
        return <span className="badge" data-tone={tone}>{text}</span>
      }
    },
    {
      name: "since",
      label: w.since,
      wide: true,
      end: true,
      cell: ({ createdAt }) => <Moment at={createdAt} now={now} />
    }
  ]
  return (
    <>
      <Top title={w.title} {...(data === undefined ? {} : { note: w.count(data.total, format.count(data.total)) })}>
        <button type="button" className="btn primary" onClick={() => setCreating(true)}>
          <Plus className="icon" aria-hidden="true" /> {w.add} <kbd aria-hidden="true">N</kbd>
        </button>
      </Top>
      <div className={style.filter}>
        <div className="input">
          <Search className="icon" aria-hidden="true" />
          <input
            type="search"
            aria-label={w.find}
            placeholder={w.find}
            value={text}
            maxLength={254}
            onChange={({ target }) => setText(target.value)}
          />
        </div>
      </div>
      {data !== undefined && users.length === 0 ? <Empty title={w.none} /> : (
        <Split
          label={user?.email ?? w.title}
          beside={user === undefined ? null : (
            <UserDetail
              key={`${user.id} ${user.role}`}
              user={user}
              state={stateOf(user, invited, now)}
              own={user.id === me.id}
              last={admins === undefined ? null : isLastAdmin(user, admins, now)}
              onChanged={changed}
            />
          )}
        >
          <Table label={w.title} rows={users} columns={columns} idOf={({ id }) => id} nameOf={({ email }) => email} />
          {data !== undefined && data.total > users.length && pages * pageSize < 500 && (
            <More
              label={pw.more}
              onPress={() => setPages(pages + 1)}
            />
          )}
        </Split>
      )}
      {creating && <NewUser onClose={() => setCreating(false)} onChanged={changed} />}
    </>
  )
}
