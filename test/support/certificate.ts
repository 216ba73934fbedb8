/**
 * X.509 certificates for tests (RFC 5280), which node:crypto reads and cannot write: an authority, and certificates that it signs for servers
 * and clients. P-256 keys, a day of validity. It touches no file and needs no other program.
 */

import { generateKeyPairSync, type KeyObject, randomBytes, sign } from "node:crypto"

/** A certificate and its key, both as PEM. */
export interface Certificate {
  readonly certificate: string
  readonly key: string
}

/** Something that signs certificates, with its own certificate as PEM. */
export interface Authority {
  readonly certificate: string
  /** For a server under these host names and IPv4 addresses. */
  readonly forServer: (names: readonly string[], addresses?: readonly string[]) => Certificate
  /** For a client, whose name PostgreSQL compares with the user's. */
  readonly forClient: (name: string) => Certificate
}

// ------------------------------------------------------------------------------------------------------------------ DER (X.690)

const der = (tag: number, ...contents: readonly Buffer[]): Buffer => {
  const content = Buffer.concat(contents)
  const { length } = content
  const size = length < 0x80
    ? [length]
    : length < 0x100
    ? [0x81, length]
    : [0x82, length >> 8, length & 0xff]
  return Buffer.concat([Buffer.from([tag, ...size]), content])
}

const sequence = (...parts: readonly Buffer[]): Buffer => der(0x30, ...parts)
const explicit = (number: number, ...parts: readonly Buffer[]): Buffer => der(0xa0 + number, ...parts)
const octets = (content: Buffer): Buffer => der(0x04, content)
const bits = (content: Buffer): Buffer => der(0x03, Buffer.from([0]), content)
const truth = der(0x01, Buffer.from([0xff]))

/** An object identifier whose first two numbers are below 3 and 40. */
const identifier = (text: string): Buffer => {
  const [first = 0, second = 0, ...rest] = text.split(".").map(Number)
  const bytes = rest.flatMap((number) => {
    const groups = [number & 0x7f]
    for (let left = number >> 7; left > 0; left >>= 7) groups.unshift((left & 0x7f) | 0x80)
    return groups
  })
  return der(0x06, Buffer.from([first * 40 + second, ...bytes]))
}

/** `YYMMDDHHMMSSZ`: good until 2049. */
const time = (date: Date): Buffer => der(0x17, Buffer.from(`${date.toISOString().replace(/\D/g, "").slice(2, 14)}Z`))

// ----------------------------------------------------------------------------------------------------------------- certificates

const commonName = (name: string): Buffer =>
  sequence(der(0x31, sequence(identifier("2.5.4.3"), der(0x0c, Buffer.from(name)))))

const extension = (oid: string, critical: boolean, value: Buffer): Buffer =>
  sequence(identifier(oid), ...(critical ? [truth] : []), octets(value))

const ecdsaWithSha256 = sequence(identifier("1.2.840.10045.4.3.2"))

const day = 86_400_000

const pem = (label: string, bytes: Buffer): string =>
  `-----BEGIN ${label}-----\n${bytes.toString("base64").replace(/.{64}(?=.)/g, "$&\n")}\n-----END ${label}-----\n`

const signed = (
  about: { readonly issuer: string; readonly subject: string; readonly key: KeyObject },
  signer: KeyObject,
  extensions: readonly Buffer[]
): string => {
  const now = Date.now()
  const body = sequence(
    explicit(0, der(0x02, Buffer.from([2]))),
    // Positive, and never the same twice.
    der(0x02, Buffer.concat([Buffer.from([0x01]), randomBytes(15)])),
    ecdsaWithSha256,
    commonName(about.issuer),
    // Clocks may differ a little.
    sequence(time(new Date(now - day)), time(new Date(now + day))),
    commonName(about.subject),
    about.key.export({ type: "spki", format: "der" }),
    explicit(3, sequence(...extensions))
  )
  return pem("CERTIFICATE", sequence(body, ecdsaWithSha256, bits(sign("sha256", body, signer))))
}

const makeKeys = () => generateKeyPairSync("ec", { namedCurve: "P-256" })

const textOf = (key: KeyObject): string => key.export({ type: "pkcs8", format: "pem" }).toString()

/** An authority of its own, which nobody trusts who was not told to. */
export const makeAuthority = (name: string): Authority => {
  const own = makeKeys()
  const issue = (subject: string, extensions: readonly Buffer[]): Certificate => {
    const keys = makeKeys()
    return {
      certificate: signed({ issuer: name, subject, key: keys.publicKey }, own.privateKey, extensions),
      key: textOf(keys.privateKey)
    }
  }
  return {
    certificate: signed({ issuer: name, subject: name, key: own.publicKey }, own.privateKey, [
      // It may sign certificates.
      extension("2.5.29.19", true, sequence(truth)),
      extension("2.5.29.15", true, der(0x03, Buffer.from([2, 0x04])))
    ]),
    forServer: (names, addresses = []) =>
      issue(names[0] ?? addresses[0] ?? "server", [
        extension(
          "2.5.29.17",
          false,
          sequence(
            ...names.map((each) => der(0x82, Buffer.from(each))),
            ...addresses.map((each) => der(0x87, Buffer.from(each.split(".").map(Number))))
          )
        )
      ]),
    forClient: (subject) => issue(subject, [extension("2.5.29.19", true, sequence())])
  }
}
