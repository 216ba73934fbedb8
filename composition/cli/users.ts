/** The commands about accounts: `users …` and `token`. Who may run them is who may run code here. */

import { randomBytes } from "node:crypto"
import { text } from "node:stream/consumers"
import {
  createUser,
  deleteUser,
  issueToken,
  listUsers,
  removePasskeys as removeAllPasskeys,
  resetSecondFactor,
  revokeUser,
  setUserBanned,
  setUserPassword,
  setUserRole
} from "../../adapters/auth/users.ts"
import type { Account } from "../../core/domain/account/account.ts"
import { CliFailure, note, print, printJson, printTable } from "./output.ts"
import { type AccountFlags, withAuth } from "./project.ts"

interface Json {
  readonly json: boolean
}

interface Email extends AccountFlags {
  readonly email: string
}

/** 144 random bits as 24 characters that need no quoting. */
const newPassword = (): string => randomBytes(18).toString("base64url")

interface NewPassword {
  readonly generatePassword: boolean
  readonly passwordStdin: boolean
}

/** The password that the flags ask for: a new one, or what somebody types or pipes in. */
const passwordOf = async ({ generatePassword, passwordStdin }: NewPassword): Promise<string> => {
  if (generatePassword === passwordStdin) {
    throw new CliFailure("Give one of --generate-password and --password-stdin.")
  }
  if (generatePassword) return newPassword()
  if (process.stdin.isTTY) note("Password, then Ctrl-D:")
  return (await text(process.stdin)).replace(/\r?\n$/, "")
}

/** An account and, where nobody else knows it yet, its password. */
const printWithPassword = (account: Account, what: string, password: string, flags: NewPassword & Json): void => {
  if (flags.json) return printJson({ ...account, ...(flags.generatePassword ? { password } : {}) })
  print(what)
  if (flags.generatePassword) print(`Password: ${password}`)
}

export const create = async (
  flags: Email & Json & NewPassword & { readonly role: string | undefined; readonly name: string | undefined }
): Promise<void> => {
  const password = await passwordOf(flags)
  await withAuth(flags, async (auth) => {
    const { email, name, role } = flags
    const account = await createUser(auth, { email, password, name, role })
    printWithPassword(account, `Created ${account.email} (${account.role}).`, password, flags)
  })
}

export const setPassword = async (flags: Email & Json & NewPassword): Promise<void> => {
  const password = await passwordOf(flags)
  await withAuth(flags, async (auth) => {
    const account = await setUserPassword(auth, { email: flags.email, password })
    const what = `Set a new password for ${account.email} and ended its sessions and tokens.`
    printWithPassword(account, what, password, flags)
  })
}

export const list = (flags: AccountFlags & Json): Promise<void> =>
  withAuth(flags, async (auth) => {
    const accounts = await listUsers(auth)
    if (flags.json) return printJson(accounts)
    printTable(
      ["EMAIL", "ROLE", "STATE", "CREATED", "ID"],
      accounts.map(({ banned, createdAt, email, id, role }) => [
        email,
        role,
        banned ? "banned" : "active",
        createdAt.toISOString().slice(0, 10),
        id
      ]),
      "There is no user yet. Create one: service users create <EMAIL> --generate-password"
    )
  })

const report = ({ banned, email, role }: Account): void =>
  print(`${email} (${role}) is ${banned ? "banned" : "active"}.`)

export const setBanned = (flags: Email, banned: boolean): Promise<void> =>
  withAuth(flags, async (auth) => report(await setUserBanned(auth, { email: flags.email, banned })))

export const setRole = (flags: Email & { readonly role: string }): Promise<void> =>
  withAuth(flags, async (auth) => report(await setUserRole(auth, { email: flags.email, role: flags.role })))

export const remove = (flags: Email): Promise<void> =>
  withAuth(flags, async (auth) => {
    await deleteUser(auth, flags.email)
    print(`Deleted ${flags.email}.`)
  })

export const revoke = (flags: Email): Promise<void> =>
  withAuth(flags, async (auth) => {
    await revokeUser(auth, flags.email)
    print(`Ended the sessions and tokens of ${flags.email}.`)
  })

export const resetFactor = (flags: Email): Promise<void> =>
  withAuth(flags, async (auth) => {
    await resetSecondFactor(auth, flags.email)
    print(`Took the second factor of ${flags.email} away and ended its sessions and tokens.`)
  })

export const removePasskeys = (flags: Email): Promise<void> =>
  withAuth(flags, async (auth) => {
    await removeAllPasskeys(auth, flags.email)
    print(`Took the passkeys of ${flags.email} away and ended its sessions and tokens.`)
  })

/** Prints the token alone, so that it can be put into a variable. */
export const token = (flags: Email & Json & { readonly ttlSeconds: number | undefined }): Promise<void> =>
  withAuth(flags, async (auth) => {
    const issued = await issueToken(auth, { email: flags.email, ttlSeconds: flags.ttlSeconds })
    if (flags.json) printJson(issued)
    else print(issued.token)
  })
