/**
 * An authenticator in software (WebAuthn Level 3): it makes ES256 passkeys and signs challenges, and says anything else it is told to say.
 * It holds no expectation.
 */

import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from "node:crypto"

/** What can be said in CBOR. */
export type Item = number | string | Buffer | readonly Item[] | ReadonlyMap<Item, Item>

const head = (major: number, count: number): Buffer =>
  count < 24
    ? Buffer.of(major << 5 | count)
    : count < 256
    ? Buffer.of(major << 5 | 24, count)
    : Buffer.of(major << 5 | 25, count >> 8, count & 255)

/** CBOR (RFC 8949), as far as an authenticator needs it. */
export const cbor = (item: Item): Buffer => {
  if (typeof item === "number") return item < 0 ? head(1, -1 - item) : head(0, item)
  if (typeof item === "string") return Buffer.concat([head(3, Buffer.byteLength(item)), Buffer.from(item)])
  if (Buffer.isBuffer(item)) return Buffer.concat([head(2, item.length), item])
  if (item instanceof Map) return Buffer.concat([head(5, item.size), ...[...item].flat().map((each) => cbor(each))])
  const items = item as readonly Item[]
  return Buffer.concat([head(4, items.length), ...items.map(cbor)])
}

const sha256 = (bytes: Buffer | string): Buffer => createHash("sha256").update(bytes).digest()

const present = 1
const verified = 4
const attested = 64

/** What is said otherwise than it is. */
export interface Lies {
  readonly origin?: string
  readonly rpId?: string
  readonly type?: string
  readonly challenge?: string
  /** Whether the user was there, and was verified. */
  readonly flags?: number
  readonly counter?: number
  readonly id?: Buffer
  /** Signs with this key. */
  readonly key?: KeyObject
  readonly format?: string
  readonly statement?: ReadonlyMap<Item, Item>
  readonly attestationObject?: Buffer
}

export const here = "http://localhost:5173"

export interface Passkey {
  readonly id: Buffer
  readonly key: KeyObject
  counter: number
  /** The answer to options for a new passkey (`RegistrationResponseJSON`). */
  readonly made: (challenge: unknown, lies?: Lies) => { readonly [name: string]: unknown }
  /** The answer to options for using it (`AuthenticationResponseJSON`); counts it. */
  readonly used: (challenge: unknown, lies?: Lies) => { readonly [name: string]: unknown }
}

const clientData = (type: string, challenge: unknown, lies: Lies): Buffer =>
  Buffer.from(JSON.stringify({
    type: lies.type ?? type,
    challenge: lies.challenge ?? challenge,
    origin: lies.origin ?? here,
    crossOrigin: false
  }))

const authData = (flags: number, counter: number, lies: Lies, rest: readonly Buffer[] = []): Buffer => {
  const count = Buffer.alloc(4)
  count.writeUInt32BE(lies.counter ?? counter)
  return Buffer.concat([sha256(lies.rpId ?? "localhost"), Buffer.of(lies.flags ?? flags), count, ...rest])
}

/** A new passkey. `counter` is where it begins to count; authenticators that share passkeys stay at 0. */
export const makePasskey = (counter = 0): Passkey => {
  const { privateKey: key, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" })
  const { x = "", y = "" } = publicKey.export({ format: "jwk" })
  const cose = cbor(
    new Map<Item, Item>([
      [1, 2],
      [3, -7],
      [-1, 1],
      [-2, Buffer.from(x, "base64url")],
      [-3, Buffer.from(y, "base64url")]
    ])
  )
  const id = randomBytes(32)
  const envelope = (used: Buffer, response: object) => ({
    id: used.toString("base64url"),
    rawId: used.toString("base64url"),
    type: "public-key",
    clientExtensionResults: {},
    response
  })
  const passkey: Passkey = {
    id,
    key,
    counter,
    made: (challenge, lies = {}) => {
      const own = lies.id ?? id
      const length = Buffer.of(own.length >> 8, own.length & 255)
      const flags = (lies.flags ?? (present | verified)) | attested
      const data = authData(flags, passkey.counter, { ...lies, flags }, [Buffer.alloc(16), length, own, cose])
      const object = lies.attestationObject ?? cbor(
        new Map<Item, Item>([
          ["fmt", lies.format ?? "none"],
          ["attStmt", lies.statement ?? new Map()],
          ["authData", data]
        ])
      )
      return envelope(own, {
        clientDataJSON: clientData("webauthn.create", challenge, lies).toString("base64url"),
        attestationObject: object.toString("base64url"),
        transports: ["internal", "hybrid"]
      })
    },
    used: (challenge, lies = {}) => {
      if (passkey.counter > 0) passkey.counter += 1
      const data = authData(present | verified, passkey.counter, lies)
      const client = clientData("webauthn.get", challenge, lies)
      const signature = sign("sha256", Buffer.concat([data, sha256(client)]), lies.key ?? key)
      return envelope(lies.id ?? id, {
        clientDataJSON: client.toString("base64url"),
        authenticatorData: data.toString("base64url"),
        signature: signature.toString("base64url"),
        userHandle: randomBytes(16).toString("base64url")
      })
    }
  }
  return passkey
}
