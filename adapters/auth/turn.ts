/**
 * Codes of second factors that come at the same moment. better-auth accepts one code of a sign-in at a time. It tells a second one that there is no sign-in, or
 * that it conflicts, and its sign-in takes no further code. Here each code waits for its turn. It judges no code.
 */

import { type OwnCookies, signedIn } from "./cookies.ts"
import type { Queries } from "./database.ts"
import { parsed } from "./refusals.ts"

/** How often a code that met another one is tried, and how many milliseconds are between two tries. */
const mostTries = 5
const pauseMs = 60

interface VerificationRow {
  readonly value: string
  readonly expiresAt: Date
}

/** Asks with a code of the sign-in that the cookies name, until the code is judged. */
export const inTurn = async (
  ask: () => Promise<Response>,
  cookies: OwnCookies,
  { query }: Queries,
  table: (name: string) => string
): Promise<Response> => {
  const challenge = signedIn(cookies, "service.two_factor")
  if (challenge === null) return ask()
  const attempts = `2fa-attempts-${challenge}`
  const verification = table("verification")
  const rowOf = async (identifier: string): Promise<VerificationRow | undefined> => {
    const [row] = await query<VerificationRow>(
      `select "value", "expiresAt" from ${verification} where "identifier" = $1 and "expiresAt" > now()`,
      [identifier]
    )
    return row
  }
  /** Gives a sign-in its count of wrong codes back, which the code of another one has taken. */
  const restore = ({ expiresAt, value }: VerificationRow): Promise<unknown> =>
    query(
      `insert into ${verification} ("id", "identifier", "value", "expiresAt")`
        + ` select $1, $2, $3, $4 where not exists (select 1 from ${verification} where "identifier" = $2)`,
      [crypto.randomUUID(), attempts, value, expiresAt]
    )
  for (let round = 1;; round++) {
    const counted = await rowOf(attempts)
    const response = await ask()
    if (round === mostTries || (response.status !== 409 && response.status !== 401)) return response
    if (response.status === 409) {
      // Another code changed the list of recovery codes, and this one was not judged.
      if (counted === undefined) return response
      await restore(counted)
      continue
    }
    const { code } = parsed(await response.clone().text())
    if (code !== "INVALID_TWO_FACTOR_COOKIE" || await rowOf(challenge) === undefined) return response
    await new Promise((resolve) => setTimeout(resolve, pauseMs * round))
  }
}
