/**
 * The cookies of a request that are ours. better-auth and the code that watches it get the same ones, so they cannot read two different
 * cookies as the session. It judges no signature.
 */

/** The form of a cookie that better-auth writes and that can be read in one way only: no quotes, no white space. */
const pair = /^([^\s=;"]+)=([^\s;"]*)$/

/** The value of the first cookie of each name, by the name without its `__Secure-`. */
export type OwnCookies = ReadonlyMap<string, string>

/** Reads a `Cookie` header. With `secure` the names begin with `__Secure-`, and others are not ours. */
export const ownCookies = (header: string | null, secure: boolean): OwnCookies => {
  const prefix = secure ? "__Secure-" : ""
  const found = new Map<string, string>()
  for (const text of (header ?? "").split(";")) {
    const [, name = "", value = ""] = pair.exec(text.trim()) ?? []
    const plain = name.slice(prefix.length)
    if (name.startsWith(prefix) && plain.startsWith("service.") && !found.has(plain)) found.set(plain, value)
  }
  return found
}

/** The header with these cookies alone. */
export const printCookies = (cookies: OwnCookies, secure: boolean): string =>
  [...cookies].map(([name, value]) => `${secure ? "__Secure-" : ""}${name}=${value}`).join("; ")

/** What a signed cookie says; null when there is none. */
export const signedIn = (cookies: OwnCookies, name: string): string | null => {
  try {
    const plain = decodeURIComponent(cookies.get(name) ?? "")
    const dot = plain.lastIndexOf(".")
    return dot > 0 ? plain.slice(0, dot) : null
  } catch {
    return null
  }
}

const deviceName = "service.device"

/** What a browser's own cookie says that it is, where alerts of sign-ins gave it one. It is a secret of the browser and opens nothing. */
export const deviceIn = (cookies: OwnCookies): string | null => {
  const value = cookies.get(deviceName) ?? ""
  return /^[A-Za-z0-9_-]{22}$/.test(value) ? value : null
}

/** The cookie by which an account knows a browser again. It lives as long as browsers let one. */
export const deviceCookie = (device: string, path: string, secure: boolean): string =>
  `${secure ? "__Secure-" : ""}${deviceName}=${device}; Max-Age=34560000; Path=${path}; HttpOnly; SameSite=Lax${
    secure ? "; Secure" : ""
  }`
