/**
 * Keys that sealed API keys before a secret was replaced. People hold the texts of API keys, so nothing can seal them again, and they are good for up to a
 * year. What sealed them is therefore kept in the store until the last of them ends. It guards nothing but a query: whoever has it can have invented keys
 * looked up, and none of them opens anything.
 */

import type { KeyText } from "../../core/domain/account/api-key.ts"
import type { Queries } from "./database.ts"
import { isSealedWith } from "./key-text.ts"

const prefix = "api-key-seal "

/** Milliseconds for which what was read is remembered: invented keys cost one query in this time. */
const rememberedMs = 60_000

const liveKeys = (table: (name: string) => string): string =>
  `from ${table("apiKey")} where "expiresAt" > now() and "revokedAt" is null`

/** Until when the last API key is good, as ISO text; null: there is none. */
export const hasLiveKeys = async (
  { query }: Queries,
  table: (name: string) => string
): Promise<string | null> => {
  const [row] = await query<{ readonly until: string | null }>(
    `select to_char(max("expiresAt") at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') as until ${liveKeys(table)}`
  )
  return row?.until ?? null
}

/** Keeps what seals API keys until the last key ends. */
export const keepSeals = async (
  { query }: Queries,
  table: (name: string) => string,
  macKeys: readonly Uint8Array[]
): Promise<void> => {
  const verification = table("verification")
  for (const macKey of macKeys) {
    const identifier = `${prefix}${Buffer.from(macKey).toString("base64url")}`
    await query(
      `with kept as (update ${verification} set "expiresAt" = k.until from (select max("expiresAt") as until ${
        liveKeys(table)
      }) k where "identifier" = $2 and k.until is not null returning 1)`
        + ` insert into ${verification} ("id", "identifier", "value", "expiresAt") select $1, $2, 'api-keys', k.until`
        + ` from (select max("expiresAt") as until ${liveKeys(table)}) k`
        + ` where k.until is not null and not exists (select 1 from kept)`,
      [crypto.randomUUID(), identifier]
    )
  }
}

/** Whether one of the kept seals is that of a key. */
export const makeKeptSeals = (
  { query }: Queries,
  table: (name: string) => string
): (key: KeyText) => Promise<boolean> => {
  let read: Promise<readonly Buffer[]> | undefined
  let readAt = -Infinity
  const all = (): Promise<readonly Buffer[]> => {
    if (read !== undefined && performance.now() - readAt < rememberedMs) return read
    readAt = performance.now()
    const started = query<{ readonly identifier: string }>(
      `select "identifier" from ${table("verification")} where "identifier" like '${prefix}%' and "expiresAt" > now()`
    ).then((rows) => rows.map(({ identifier }) => Buffer.from(identifier.slice(prefix.length), "base64url")))
    read = started
    started.catch(() => {
      if (read === started) read = undefined
    })
    return started
  }
  return async (key) => (await all()).some((macKey) => isSealedWith(macKey, key))
}
