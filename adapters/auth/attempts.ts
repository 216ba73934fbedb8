/** The stage that counts attempts: whose they are, and what is said when there were too many. What counts is decided by core/domain/account/attempt.ts. */

import { accountNamed, type Limited } from "../../core/domain/account/attempt.ts"
import type { AuthCall } from "./asked.ts"
import type { AuthInternals } from "./internals.ts"
import type { Limits } from "./limits.ts"
import { tooManyAttempts } from "./refusals.ts"
import type { Witness } from "./witness.ts"

/** Whose attempts a request counts besides the client's: an address that was typed, or the id of a user. */
interface Target {
  readonly account?: string
  readonly user?: string
}

/** Counts a request of a limited route. Throws a `Problem` when there were too many. */
export const makeAttempts = (
  { hashOf, log }: Pick<AuthInternals, "hashOf" | "log">,
  limits: Limits,
  witness: Pick<Witness, "challenged" | "owner">
): (asked: AuthCall) => Promise<void> => {
  const targetOf = async (limited: Limited, { body, cookies }: AuthCall): Promise<Target> => {
    if (limited === "account") {
      const account = accountNamed(body["email"])
      return account === null ? {} : { account }
    }
    const user = limited === "session"
      ? await witness.owner(cookies)
      : limited === "challenge"
      ? await witness.challenged(cookies)
      : null
    return user === null ? {} : { user }
  }
  return async (asked) => {
    const { client: { group }, path, route: { limited } } = asked
    if (limited === undefined) return
    const { account, user } = await targetOf(limited, asked)
    const seconds = await limits.attempt(path, group, account ?? user ?? null)
    if (seconds === 0) return
    log({
      level: "warn",
      event: "sign-in-limited",
      client: hashOf("client", group),
      seconds,
      ...(account === undefined ? {} : { account: hashOf("account", account) }),
      ...(user === undefined ? {} : { user })
    })
    throw tooManyAttempts(seconds)
  }
}
