/** Accounts from the routes below `/api/auth/admin`, values derived from them, and generated passwords. */

import { useQuery, type UseQueryResult } from "@tanstack/react-query"
import type { ListedAccount } from "../../../core/domain/meta/account.ts"
import { adminRole, rolesOf } from "../../../core/domain/value/role.ts"
import { client } from "../model/client.ts"

const isBanned = ({ banExpires, banned }: ListedAccount, now: number): boolean =>
  banned === true && (banExpires === null || Date.parse(banExpires) > now)

const isActiveAdmin = (user: ListedAccount, now: number): boolean =>
  rolesOf(user.role ?? "").includes(adminRole) && !isBanned(user, now)

/** Whether an account is the last active admin. */
export const isLastAdmin = (user: ListedAccount, admins: readonly ListedAccount[], now: number): boolean =>
  isActiveAdmin(user, now) &&
  !admins.some((other) => other.id !== user.id && isActiveAdmin(other, now))

const letters = "abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789"

/** A new password: twenty letters and digits that are hard to confuse, 116 bits. */
export const newPassword = (): string => {
  const chosen: string[] = []
  while (chosen.length < 20) {
    for (const byte of crypto.getRandomValues(new Uint8Array(32))) {
      // Larger bytes are skipped, because they would make the first letters more frequent.
      if (byte < letters.length * 4 && chosen.length < 20) chosen.push(letters[byte % letters.length]!)
    }
  }
  return chosen.join("")
}

export const pageSize = 100

interface AccountPage {
  readonly users: readonly ListedAccount[]
  readonly total: number
}

/** Accounts whose address contains a text, ordered by address. */
export const useAccounts = (search: string, pages: number): UseQueryResult<AccountPage> =>
  useQuery({
    queryKey: ["users", "list", search, pages],
    placeholderData: (before) => before,
    queryFn: ({ signal }) =>
      client.auth.get<AccountPage>("/admin/list-users", {
        limit: pageSize * pages,
        sortBy: "email",
        ...(search === "" ? {} : { searchField: "email", searchOperator: "contains", searchValue: search })
      }, { signal })
  })

/** Which of the accounts were invited and have no password of their own yet, by id. The service is asked about those of a page together. */
export const useInvited = (users: readonly ListedAccount[]): ReadonlySet<string> => {
  const ids = users.map(({ id }) => id)
  const { data } = useQuery<readonly string[]>({
    queryKey: ["users", "invited", ids],
    enabled: ids.length > 0,
    placeholderData: (before) => before,
    queryFn: async ({ signal }) =>
      (await client.auth.post<{ readonly users: readonly string[] }>("/admin/invited", { users: ids }, { signal }))
        .users
  })
  return new Set(data)
}

export type AccountState = "active" | "invited" | "banned"

/** A ban says more than an invitation: the link lets nobody in while it lasts. */
export const stateOf = (user: ListedAccount, invited: ReadonlySet<string>, now: number): AccountState =>
  isBanned(user, now) ? "banned" : invited.has(user.id) ? "invited" : "active"

/** Every account with the role admin. */
export const useAdmins = (): UseQueryResult<readonly ListedAccount[]> =>
  useQuery({
    queryKey: ["users", "admins"],
    queryFn: async ({ signal }) =>
      (await client.auth.get<AccountPage>("/admin/list-users", {
        limit: 500,
        filterField: "role",
        filterOperator: "contains",
        filterValue: adminRole
      }, { signal })).users
  })

/** Which sign-in methods the service has: second factors, passkeys and invitations. */
export const useMethods = () =>
  useQuery({
    queryKey: ["users", "methods"],
    staleTime: Infinity,
    queryFn: ({ signal }) => client.auth.methods({ signal })
  })

export interface DeviceSession {
  readonly id: string
  readonly token: string
  readonly createdAt: string
  readonly expiresAt: string
  readonly ipAddress?: string | null
  readonly userAgent?: string | null
}

/** Browser and system in a few words, from the `User-Agent`. */
export const deviceOf = (agent: string | null | undefined): string => {
  const text = agent ?? ""
  const browser = /Edg\//.test(text)
    ? "Edge"
    : /Firefox\//.test(text)
    ? "Firefox"
    : /Chrome\//.test(text)
    ? "Chrome"
    : /Safari\//.test(text)
    ? "Safari"
    : text.split(/[/\s]/, 1)[0] ?? ""
  const system = /Windows|Android|iPhone|iPad|Mac OS X|Linux/.exec(text)?.[0].replace("Mac OS X", "macOS")
  return [browser === "" ? "?" : browser.slice(0, 40), ...(system === undefined ? [] : [system])].join(" · ")
}
