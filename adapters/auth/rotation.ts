/**
 * What the auth server does while one secret takes the place of another. better-auth knows the first secret alone. So cookies and stored texts that another
 * accepted secret has sealed are sealed with the first one before better-auth sees them. Nothing stored is changed here.
 */

import type { KyselyPlugin } from "kysely"
import { createHmac, timingSafeEqual } from "node:crypto"
import type { OwnCookies } from "./cookies.ts"
import type { Queries } from "./database.ts"

/** All secrets, the first of which seals. */
export type AllSecrets = readonly [string, ...string[]]

/** Encrypts and decrypts texts as better-auth does. */
export interface Cipher {
  /** With the first secret. */
  readonly seal: (text: string) => Promise<string>
  /** Throws for a text that no secret opens. */
  readonly open: (sealed: string) => Promise<string>
  /** The same text sealed with the first secret, and which secret had sealed it. A text that none opens stays as it is. */
  readonly renew: (sealed: string) => Promise<{ readonly sealed: string; readonly by: "first" | "accepted" | "none" }>
}

export const makeCipher = ([first, ...accepted]: AllSecrets): Cipher => {
  const load = () => import("better-auth/crypto")
  const openBy = async (key: string, data: string): Promise<string | null> => {
    const { symmetricDecrypt } = await load()
    // Whatever it throws, this secret does not open the text.
    return symmetricDecrypt({ key, data }).catch(() => null)
  }
  const seal = async (data: string): Promise<string> => (await load()).symmetricEncrypt({ key: first, data })
  return {
    seal,
    open: async (sealed) => {
      for (const secret of [first, ...accepted]) {
        const text = await openBy(secret, sealed)
        if (text !== null) return text
      }
      throw new Error("a stored text was encrypted with a secret that is not known")
    },
    renew: async (sealed) => {
      if (await openBy(first, sealed) !== null) return { sealed, by: "first" }
      for (const secret of accepted) {
        const text = await openBy(secret, sealed)
        if (text !== null) return { sealed: await seal(text), by: "accepted" }
      }
      return { sealed, by: "none" }
    }
  }
}

type Row = Readonly<Record<string, unknown>>

/** The private key of tokens is stored as JSON of a text. */
export const renewPrivateKey = async (cipher: Cipher, stored: string): ReturnType<Cipher["renew"]> => {
  const text: unknown = JSON.parse(stored)
  if (typeof text !== "string") return { sealed: stored, by: "none" }
  const { by, sealed } = await cipher.renew(text)
  return { by, sealed: JSON.stringify(sealed) }
}

/** A row of the store as better-auth gets it. */
const renewRow = async (cipher: Cipher, row: Row): Promise<Row> => {
  const { backupCodes, privateKey, secret } = row
  if (typeof privateKey === "string") {
    return { ...row, privateKey: (await renewPrivateKey(cipher, privateKey)).sealed }
  }
  // Recovery codes stay as they are stored, because a used one is taken away only from the row that was read. Their cipher opens them.
  return typeof secret === "string" && backupCodes !== undefined
    ? { ...row, secret: (await cipher.renew(secret)).sealed }
    : row
}

/** Renews what better-auth reads. */
export const renewingPlugin = (cipher: Cipher): KyselyPlugin => ({
  transformQuery: ({ node }) => node,
  transformResult: async ({ result }) => ({
    ...result,
    rows: await Promise.all(result.rows.map(async (row) => ({ ...await renewRow(cipher, row) })))
  })
})

const trustedDevice = "service.trust_device"

const isSame = (a: string, b: string): boolean => {
  const [left, right] = [Buffer.from(a), Buffer.from(b)]
  return left.length === right.length && timingSafeEqual(left, right)
}

const signatureOf = (secret: string, value: string): string =>
  createHmac("sha256", secret).update(value).digest("base64")

/** The value and the signature of a cookie; null for one without a signature. */
const readSigned = (text: string): { readonly value: string; readonly signature: string } | null => {
  try {
    const plain = decodeURIComponent(text)
    const dot = plain.lastIndexOf(".")
    return dot > 0 ? { value: plain.slice(0, dot), signature: plain.slice(dot + 1) } : null
  } catch {
    return null
  }
}

/** Signs cookies with the first secret that another accepted secret has signed. Any other cookie stays as it is. */
export const makeCookieRenewal = (
  [first, ...accepted]: AllSecrets,
  { query }: Queries,
  verification: string
): (cookies: OwnCookies) => Promise<OwnCookies> => {
  /** The cookie of a device that needs no second factor holds a second signature, over its account. */
  const renewDevice = async (value: string, secret: string): Promise<string> => {
    const [mark = "", identifier = ""] = value.split("!")
    const [kept] = await query<{ readonly value: string }>(
      `select "value" from ${verification} where "identifier" = $1`,
      [identifier]
    )
    const markOf = (each: string): string =>
      createHmac("sha256", each).update(`${kept?.value}!${identifier}`).digest("base64url")
    return kept !== undefined && isSame(mark, markOf(secret)) ? `${markOf(first)}!${identifier}` : value
  }
  return async (cookies) => {
    if (accepted.length === 0) return cookies
    const renewed = new Map(cookies)
    for (const [name, text] of cookies) {
      const signed = readSigned(text)
      const by = signed === null
        ? undefined
        : accepted.find((secret) => isSame(signed.signature, signatureOf(secret, signed.value)))
      if (signed === null || by === undefined) continue
      const value = name === trustedDevice ? await renewDevice(signed.value, by) : signed.value
      renewed.set(name, encodeURIComponent(`${value}.${signatureOf(first, value)}`))
    }
    return renewed
  }
}
