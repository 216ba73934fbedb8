/**
 * Ends what people hold of an account where no trigger of the store sees the change. What a change ends is decided by core/domain/account/ending.ts. It decides
 * nothing.
 */

import { type AccountChange, ends } from "../../core/domain/account/ending.ts"
import type { Queries } from "./database.ts"

/**
 * Ends what a change ends, within the transaction of that change. False: there is no such account any more. The account's row comes first. A sign-in that is
 * under way has locked it: this waits, and the next statement finds the session. A later one sees the new epoch.
 */
export const endHeld = async (
  { query }: Queries,
  table: (name: string) => string,
  change: AccountChange,
  user: string
): Promise<boolean> => {
  if (ends(change, "tokens")) {
    // The trigger on accounts then ends everything but sessions.
    const raised = await query(
      `update ${table("user")} set "tokenEpoch" = "tokenEpoch" + 1 where "id" = $1 returning 1`,
      [user]
    )
    if (raised.length === 0) return false
  } else if (ends(change, "devices")) {
    await query(`delete from ${table("verification")} where "value" = $1 and "identifier" like 'trust-device-%'`, [
      user
    ])
  }
  if (ends(change, "sessions")) await query(`delete from ${table("session")} where "userId" = $1`, [user])
  return true
}
