/**
 * Holds the bearer token: in memory only, with one renewal for all waiting calls. The caller gives the source of the token (a text, a function, a
 * session). Of a token it reads only the lifetime.
 */

/** `rejected`: the token that the service has just refused. Give another one, or the same one when there is none. */
export type TokenSource = (rejected: string | null) => string | null | Promise<string | null>

export interface TokenHolder {
  /** Gives a token that has not run out. Called with a refused token, it gives another token, or the same one when there is no other. */
  readonly token: (rejected?: string | null) => Promise<string | null>
  /** Puts a token in place, or takes it away. */
  readonly put: (token: string | null) => void
}

/** Seconds before its end from which a token is renewed instead of used. */
const margin = 30

/** Milliseconds a token lasts from now on by its own claims, or null when it does not say. */
const lifetimeOf = (token: string): number | null => {
  try {
    const claims: { readonly exp?: unknown; readonly iat?: unknown } = JSON.parse(
      atob(token.split(".")[1]!.replace(/-/g, "+").replace(/_/g, "/"))
    )
    const { exp, iat } = claims
    if (typeof exp !== "number") return null
    // The token's own lifetime is used, because the clock of this machine may be wrong.
    return (exp - (typeof iat === "number" ? iat : Date.now() / 1000)) * 1000
  } catch {
    return null
  }
}

/** Keeps what a source gives. `fresh`: a token of this source has just been made, so that it lasts as long as its claims say from now. */
export const holdTokens = (source: TokenSource): TokenHolder => {
  let current: string | null = null
  let ends = 0
  let renewal: Promise<string | null> | null = null
  let epoch = 0

  const put = (token: string | null): void => {
    epoch++
    renewal = null
    if (token !== null && token !== current) {
      const lifetime = lifetimeOf(token)
      // Of a short lifetime, half is left for use.
      ends = lifetime === null ? Infinity : Date.now() + lifetime - Math.min(margin * 1000, lifetime / 2)
    }
    current = token
  }

  return {
    put,
    token: async (rejected = null) => {
      if (current !== null && current !== rejected && Date.now() < ends) return current
      if (renewal === null) {
        const begun = epoch
        const asked = (async () => source(rejected))()
        const renewing: Promise<string | null> = asked.then((token) => {
          if (epoch === begun) put(token)
          return token
        }).finally(() => {
          if (renewal === renewing) renewal = null
        })
        renewal = renewing
      }
      return renewal
    }
  }
}
