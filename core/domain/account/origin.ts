/**
 * Addresses that a deployment names: the public URL of the API, and origins whose pages are trusted. A wildcard in the wrong place trusts
 * strangers, and a password in an address travels in every token, so both are refused. It asks nobody whether an address is there.
 */

/** Whether a text is an http(s) URL without name, password, query and fragment; a path is allowed. */
export const isPlainUrl = (text: string): boolean => {
  const url = /^https?:\/\/./i.test(text) ? URL.parse(text) : null
  return url !== null && url.username === "" && url.password === "" && !/[?#]/.test(text)
}

/** Whether a text is an origin as browsers send it. `*` may stand for leading labels and nothing else: `https://*.example.org`. */
export const isOriginPattern = (text: string): boolean => {
  const plain = text.replace("://*.", "://any.")
  // `URL` takes `*` for a letter of a host.
  return !plain.includes("*") && isPlainUrl(plain) && URL.parse(plain)?.origin === plain
}

/** Where a request comes from, as its browser says. Programs say nothing. */
export interface Sender {
  /** `Origin`; null: none. */
  readonly origin: string | null
  /** `Sec-Fetch-Site`; null: none. */
  readonly site: string | null
}

/** A request as the rule about origins looks at it. */
export interface SentRequest {
  /** Whether it may change something. */
  readonly changes: boolean
  /** Whether it comes with a session that its route reads. */
  readonly inSession: boolean
  /** Whether its route counts attempts. */
  readonly limited: boolean
}

/**
 * Whose pages may send a request: `all`, those of a trusted origin alone, or none. A page that CORS allows to read answers could read tokens, or begin a
 * sign-in that somebody else ends. So its origin is asked for wherever a session is used or something changes, reading included. An image of another page
 * names no origin; where attempts count it is refused, so that no page uses up the attempts of its visitors.
 */
export const pagesAllowed = (
  { changes, inSession, limited }: SentRequest,
  { origin, site }: Sender
): "all" | "trusted" | "none" =>
  origin === null
    ? limited && (site === "cross-site" || site === "same-site") ? "none" : "all"
    : changes || inSession
    ? "trusted"
    : "all"
