/** The commands about API keys: `keys create|list|revoke`. A key's text is printed by the first, once, and by nothing else. */

import { createKey, listKeys, revokeKey } from "../../adapters/auth/api-keys.ts"
import type { ApiKey } from "../../core/domain/account/api-key.ts"
import { note, print, printJson, printTable } from "./output.ts"
import { type AccountFlags, withAuth } from "./project.ts"

interface Json {
  readonly json: boolean
}

const day = (date: Date): string => date.toISOString().slice(0, 10)

/** To the minute: keys may live for minutes. */
const minute = (date: Date): string => `${date.toISOString().slice(0, 16)}Z`

export const create = (
  flags: AccountFlags & Json & {
    readonly email: string
    readonly role: string
    readonly name: string
    readonly expires: string | undefined
  }
): Promise<void> =>
  withAuth(flags, async (auth) => {
    const { email, expires, name, role } = flags
    const key = await createKey(auth, { email, name, role, expires })
    if (flags.json) return printJson(key)
    print(`Created "${key.name}" for ${key.email} (${key.role}), until ${minute(key.expiresAt)}.`)
    print(`Key: ${key.text}`)
    note(`It is shown this once. Send it as a bearer token; end it with: service keys revoke ${key.id}`)
  })

const stateOf = ({ expiresAt, revokedAt }: ApiKey): string =>
  revokedAt !== null ? "revoked" : expiresAt.getTime() <= Date.now() ? "expired" : "active"

export const list = (flags: AccountFlags & Json & { readonly email: string | undefined }): Promise<void> =>
  withAuth(flags, async (auth) => {
    const keys = await listKeys(auth, flags.email)
    if (flags.json) return printJson(keys)
    printTable(
      ["ID", "NAME", "EMAIL", "ROLE", "STATE", "CREATED", "EXPIRES", "LAST USED"],
      keys.map((key) => [
        key.id,
        key.name,
        key.email,
        key.role,
        stateOf(key),
        day(key.createdAt),
        minute(key.expiresAt),
        key.lastUsedAt === null ? "never" : minute(key.lastUsedAt)
      ]),
      "There is no key."
    )
  })

export const revoke = (flags: AccountFlags & Json & { readonly id: string }): Promise<void> =>
  withAuth(flags, async (auth) => {
    const key = await revokeKey(auth, flags.id)
    if (flags.json) return printJson(key)
    print(`Revoked "${key.name}" of ${key.email}.`)
  })
