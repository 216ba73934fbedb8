/** The commands about accounts: `users create|list|ban|unban|role|delete|revoke` and `token`. Who may run them is who may run code here. */

import { randomBytes } from "node:crypto"
import { text } from "node:stream/consumers"
import {
  createUser,
  deleteUser,
  issueToken,
  listUsers,
  revokeUser,
  setUserBanned,
  setUserRole
} from "../../adapters/auth/users.ts"
import type { Account } from "../../core/ports/accounts.ts"
import { CliFailure, note, print, printJson, printTable } from "./output.ts"
import { type ProjectFlags, withAuth } from "./project.ts"

interface Json {
  readonly json: boolean
}

interface Email extends ProjectFlags {
  readonly email: string
}

/** 144 random bits as 24 characters that need no quoting. */
const newPassword = (): string => randomBytes(18).toString("base64url")

const givenPassword = async (): Promise<string> => {
  if (process.stdin.isTTY) note("Password, then Ctrl-D:")
  return (await text(process.stdin)).replace(/\r?\n$/, "")
}

export const create = async (
  flags: Email & Json & {
    readonly generatePassword: boolean
    readonly passwordStdin: boolean
    readonly role: string | undefined
    readonly name: string | undefined
  }
): Promise<void> => {
  if (flags.generatePassword === flags.passwordStdin) {
    throw new CliFailure("Give one of --generate-password and --password-stdin.")
  }
  const password = flags.generatePassword ? newPassword() : await givenPassword()
  await withAuth(flags, async (auth) => {
    const { email, name, role } = flags
    const account = await createUser(auth, { email, password, name, role })
    if (flags.json) printJson({ ...account, ...(flags.generatePassword ? { password } : {}) })
    else {
      print(`Created ${account.email} (${account.role}).`)
      if (flags.generatePassword) print(`Password: ${password}`)
    }
  })
}

export const list = (flags: ProjectFlags & Json): Promise<void> =>
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

/** Prints the token alone, so that it can be put into a variable. */
export const token = (flags: Email & Json & { readonly ttlSeconds: number | undefined }): Promise<void> =>
  withAuth(flags, async (auth) => {
    const issued = await issueToken(auth, { email: flags.email, ttlSeconds: flags.ttlSeconds })
    if (flags.json) printJson(issued)
    else print(issued.token)
  })
