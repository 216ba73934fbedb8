/** The codes of an authenticator app (RFC 6238), from the address that it is given. */

import { createHmac } from "node:crypto"
import { vi } from "vitest"

const base32 = (text: string): Buffer => {
  let bits = ""
  for (const letter of text) bits += "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567".indexOf(letter).toString(2).padStart(5, "0")
  return Buffer.from((bits.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2)))
}

/** The code that the app shows `steps` half minutes from now. */
export const codeAt = (uri: string, steps = 0): string => {
  const counter = Buffer.alloc(8)
  counter.writeBigUInt64BE(BigInt(Math.floor(Date.now() / 30_000) + steps))
  const digest = createHmac("sha1", base32(new URL(uri).searchParams.get("secret") ?? "")).update(counter).digest()
  const offset = (digest.at(-1) ?? 0) & 15
  return String((digest.readUInt32BE(offset) & 0x7fffffff) % 1_000_000).padStart(6, "0")
}

/**
 * Holds the date in the middle of a half minute until it is disposed, for the app and for a service in this process: no code runs out between the one
 * that shows it and the other that judges it.
 */
export const holdHalfMinute = (): Disposable => {
  vi.useFakeTimers({ toFake: ["Date"], now: Math.floor(Date.now() / 30_000) * 30_000 + 15_000 })
  return { [Symbol.dispose]: () => void vi.useRealTimers() }
}
