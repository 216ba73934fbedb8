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
  const values = new Map<string, string>()
  for (const text of (header ?? "").split(";")) {
    const [, name = "", value = ""] = pair.exec(text.trim()) ?? []
    const plain = name.slice(prefix.length)
    if (name.startsWith(prefix) && plain.startsWith("service.") && !values.has(plain)) values.set(plain, value)
  }
  return values
}

/** The header with these cookies alone. */
export const printCookies = (cookies: OwnCookies, secure: boolean): string =>
  [...cookies].map(([name, value]) => `${secure ? "__Secure-" : ""}${name}=${value}`).join("; ")

/** The value of a signed cookie, without its signature; null for a cookie that is absent or has no signature. */
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

/** The random name of a browser, from the cookie that an earlier alert of a sign-in gave it; null without that cookie. The name opens nothing. */
export const deviceIn = (cookies: OwnCookies): string | null => {
  const value = cookies.get(deviceName) ?? ""
  return /^[A-Za-z0-9_-]{22}$/.test(value) ? value : null
}

/** A cookie with the name of a browser, so that its accounts know it again. It lives for 400 days, the longest life that browsers allow. */
export const deviceCookie = (device: string, path: string, secure: boolean): string =>
  `${secure ? "__Secure-" : ""}${deviceName}=${device}; Max-Age=34560000; Path=${path}; HttpOnly; SameSite=Lax${
    secure ? "; Secure" : ""
  }`
