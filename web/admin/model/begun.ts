/** The first request of the app: for the token of the session. It leaves before the client is loaded, which then takes the answer over. */

import { config } from "../config.ts"

const url = `${config.api}/auth/token`

let begun: Promise<Response> | null = null

export const beginToken = (): void => {
  // The page has the browser ask for it already: this is the same request, and must stay that to the letter.
  begun = globalThis.fetch(url, { credentials: "include" }).then((answer) => {
    if (answer.redirected) throw new TypeError("A token comes from nowhere else.")
    return answer
  })
  // Whoever takes it over asks again.
  begun.catch(() => undefined)
}

/** The answer to a request of this address that has begun. It is taken once. */
export const takeToken = (asked: string): Promise<Response> | null => {
  if (asked !== url) return null
  const found = begun
  begun = null
  return found
}
