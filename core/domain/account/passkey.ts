/**
 * What makes the settings of passkeys acceptable: for which name they are made and on which pages they may be used. A passkey is bound to
 * that name by the browser, so a wrong one shows only when somebody cannot sign in. It never sees a passkey.
 */

import * as Result from "effect/Result"
import { type AccountError, refuse } from "./account.ts"

/** Most passkeys of an account. */
export const passkeysMax = 20

/** Passkeys as they are configured (`auth.passkeys`). */
export interface PasskeyDeclaration {
  /** What people read when they make one; default `appName`. */
  readonly rpName?: string | undefined
  /** The domain they are made for: the host of `AUTH_URL`, or a domain above it. A new one makes all passkeys useless. */
  readonly rpId?: string | undefined
  /** Origins of the pages they may be used on; default that of `AUTH_URL`. */
  readonly origins?: readonly string[] | undefined
}

/** Settings that were checked, with their defaults. */
export interface Passkeys {
  /** Undefined: as the service is called. */
  readonly rpName: string | undefined
  readonly rpId: string
  readonly origins: readonly string[]
}

const names = ["rpName", "rpId", "origins"]
const domainForm = /^(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)*[a-z](?:[a-z0-9-]{0,61}[a-z0-9])?$/

/** `URL` takes `*` for a letter of a host; no browser sends it. */
const originOf = (text: unknown): URL | null => {
  const url = typeof text === "string" && !text.includes("*") ? URL.parse(text) : null
  return url !== null && url.origin === text ? url : null
}

/** Browsers offer passkeys only on secure pages; those of this machine count as secure. */
const isSecure = ({ hostname, protocol }: URL): boolean =>
  protocol === "https:" || (protocol === "http:" && /^(?:.+\.)?localhost$/.test(hostname))

/**
 * Checks the settings; null when there are no passkeys. `url` is `AUTH_URL`, null while it is not known: then only what is declared is judged.
 */
export const readPasskeys = (raw: unknown, url: string | null): Result.Result<Passkeys | null, AccountError> => {
  const wrong = (message: string) => Result.fail(refuse("invalid-passkeys", `auth.passkeys ${message}`))
  if (raw === undefined || raw === false) return Result.succeed(null)
  if (raw !== true && (typeof raw !== "object" || raw === null || Array.isArray(raw))) {
    return wrong("must be true, false or an object.")
  }
  const given: { readonly [name: string]: unknown } = raw === true ? {} : { ...raw }
  const stranger = Object.keys(given).find((key) => !names.includes(key))
  if (stranger !== undefined) return wrong(`has ${JSON.stringify(stranger)}; it may have ${names.join(", ")}.`)
  const { origins: declared, rpId: domain, rpName } = given
  if (rpName !== undefined && (typeof rpName !== "string" || rpName.trim() === "")) {
    return wrong("rpName must be a text.")
  }
  if (domain !== undefined && (typeof domain !== "string" || !domainForm.test(domain))) {
    return wrong("rpId must be a domain such as \"example.org\", without scheme and port.")
  }
  if (declared !== undefined && (!Array.isArray(declared) || declared.length === 0)) {
    return wrong("origins must be a list such as [\"https://admin.example.org\"].")
  }
  const texts: readonly unknown[] = declared ?? (url === null ? [] : [new URL(url).origin])
  const [first] = texts
  const rpId = domain ?? URL.parse(url ?? (typeof first === "string" ? first : ""))?.hostname ?? ""
  const origins: string[] = []
  for (const text of texts) {
    const origin = originOf(text)
    if (origin === null) {
      return wrong(`origins has ${JSON.stringify(text)}, which is no origin; write scheme, host and port alone.`)
    }
    if (!isSecure(origin)) return wrong(`cannot work on ${origin.origin}: browsers want https, or localhost.`)
    if (!domainForm.test(rpId)) return wrong(`cannot work on ${origin.origin}: browsers want a domain, no address.`)
    if (origin.hostname !== rpId && !origin.hostname.endsWith(`.${rpId}`)) {
      return wrong(`cannot work on ${origin.origin}: it is not below ${rpId}.`)
    }
    origins.push(origin.origin)
  }
  return Result.succeed({ rpName: typeof rpName === "string" ? rpName.trim() : undefined, rpId, origins })
}
