/**
 * Remote resources: other instances of the service whose resources an app shows. Only listed sources get the person's token, over https, and never
 * after a redirect. `source-meta.ts` parses their meta.
 */

/** A source as the app's own meta names it. */
export interface Source {
  /** Its resources API: `https://stock.example.org/api/v1`. */
  readonly url: string
  /** What people call it. */
  readonly label: string
  /** Names of its resources that the app draws. */
  readonly resources: readonly string[]
}

/** Largest meta of a source in bytes; a bigger one counts as unreadable. */
export const sourceMetaBytes = 8 * 1024 * 1024

/** Milliseconds within which a source's meta has to be there. */
export const sourceTimeout = 10_000

/** Whether the person's token may be sent there: https, or http to this machine. */
export const isSafeSource = (url: string): boolean => {
  if (!URL.canParse(url)) return false
  const { hostname, password, protocol, username } = new URL(url)
  return username + password === "" && (protocol === "https:"
    || (protocol === "http:" && /^(?:localhost|.*\.localhost|127(?:\.\d+){3}|\[::1\])$/.test(hostname)))
}
