/** The signing key of a run, and the tokens of its callers: new for each run, known to the systems measured and nobody else. */

import { generateKeyPairSync, sign } from "node:crypto"
import { callers } from "./data.ts"

export interface Keys {
  /** A JSON Web Key Set with the public key. */
  readonly keySet: string
  /** The public key as PEM. */
  readonly pem: string
  readonly tokens: { readonly [caller in keyof typeof callers]: string }
}

const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString("base64url")

/** Tokens that are valid for a day, with issuer and audience `bench`. */
export const makeKeys = (): Keys => {
  const { privateKey, publicKey } = generateKeyPairSync("ed25519")
  const now = Math.floor(Date.now() / 1000)
  const token = (claims: object): string => {
    const text = `${encode({ alg: "EdDSA", typ: "JWT", kid: "bench" })}.${
      encode({ iss: "bench", aud: "bench", iat: now, exp: now + 86_400, ...claims })
    }`
    return `${text}.${sign(null, Buffer.from(text), privateKey).toString("base64url")}`
  }
  return {
    keySet: JSON.stringify({
      keys: [{ ...publicKey.export({ format: "jwk" }), kid: "bench", alg: "EdDSA", use: "sig" }]
    }),
    pem: publicKey.export({ format: "pem", type: "spki" }).toString(),
    tokens: { admin: token(callers.admin), seller: token(callers.seller) }
  }
}
