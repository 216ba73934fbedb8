/**
 * How often somebody may try to sign in: exact sliding windows of a minute, by client and by account. They are counted in the database, so
 * instances count together. It does not know whether an attempt succeeded, and stores no address or email in clear.
 */

import { createHmac } from "node:crypto"
import type { AttemptLimits } from "../../core/domain/account/attempt.ts"
import { makeSweep, type Queries } from "./database.ts"
import type { AllSecrets } from "./rotation.ts"

export interface Limits {
  /**
   * Counts one attempt. Answers 0 when it may continue, else the seconds until the next one may. A refused attempt does not count where it
   * is refused. One that the account refuses still counts for the client. `account` is null where only the client is limited.
   */
  readonly attempt: (action: string, client: string, account: string | null) => Promise<number>
  /** Whether nobody has used this text in the last three minutes. Of several callers at once, in any instance, only one gets true. */
  readonly once: (text: string) => Promise<boolean>
}

export interface LimitSettings extends AttemptLimits {
  readonly store: Queries
  readonly table: (name: string) => string
  /** All secrets. Attempts are counted under each of them, so that instances count together whose first secrets differ. */
  readonly secrets: AllSecrets
}

export const makeLimits = ({ perAccount, perClient, secrets, store, table }: LimitSettings): Limits => {
  // Stamps in the future are of a clock that went back since.
  const recent = `array(select s from unnest(a."stamps") s`
    + ` where s > clock_timestamp() - interval '1 minute' and s <= clock_timestamp() order by s)`
  const count = `insert into ${table("attempt")} as a ("key", "stamps", "allowed", "at")
    values ($1, array[clock_timestamp()], true, clock_timestamp())
    on conflict ("key") do update set
      "allowed" = cardinality(${recent}) < $2,
      "stamps" = case when cardinality(${recent}) < $2 then ${recent} || clock_timestamp() else ${recent} end,
      "at" = clock_timestamp()
    returning "allowed",
      greatest(1, ceil(extract(epoch from "stamps"[1] + interval '1 minute' - clock_timestamp())))::int as wait`
  const forget = makeSweep(store, {
    table: table("attempt"),
    key: `"key"`,
    past: `"at" < now() - interval '5 minutes'`
  })
  const hashesOf = (text: string): readonly string[] =>
    secrets.map((secret) => createHmac("sha256", secret).update(`attempt:${text}`).digest("base64url"))

  const take = async (text: string, most: number): Promise<number> => {
    let wait = 0
    for (const hash of hashesOf(text)) {
      const [row] = await store.query<{ readonly allowed: boolean; readonly wait: number }>(count, [hash, most])
      if (row?.allowed === false) wait = Math.max(wait, row.wait)
    }
    return wait
  }
  const claim = `insert into ${table("attempt")} as a ("key", "stamps", "allowed", "at")
    values ($1, '{}', true, clock_timestamp())
    on conflict ("key") do update set "at" = clock_timestamp() where a."at" < clock_timestamp() - interval '3 minutes'
    returning "allowed"`
  return {
    once: async (text) => {
      for (const hash of hashesOf(`once:${text}`)) {
        if ((await store.query(claim, [hash])).length === 0) return false
      }
      return true
    },
    attempt: async (action, client, account) => {
      await forget()
      const wait = await take(`${action}:client:${client}`, perClient)
      return wait > 0 || account === null ? wait : take(`${action}:account:${account}`, perAccount)
    }
  }
}
