/** Bytes for tests: bodies that come in pieces, and bodies read to their end. */

import type { Bytes } from "../../core/ports/storage.ts"

/** A body of the given pieces. */
export async function* pieces(...parts: ReadonlyArray<Uint8Array | string>): Bytes {
  for (const part of parts) yield typeof part === "string" ? new TextEncoder().encode(part) : part
}

/** A body that fails after its pieces. */
export async function* broken(error: unknown, ...parts: ReadonlyArray<Uint8Array | string>): Bytes {
  yield* pieces(...parts)
  throw error
}

/** A body of so many bytes that differ from place to place, in pieces of 64 KiB. */
export async function* pattern(size: number): Bytes {
  const block = Buffer.alloc(64 * 1024)
  for (let at = 0; at < size; at += block.length) {
    for (let i = 0; i < block.length; i += 4) block.writeUInt32LE((at + i) >>> 2, i)
    yield Buffer.from(block.subarray(0, Math.min(block.length, size - at)))
  }
}

export const gather = async (body: Bytes): Promise<Buffer> => {
  const parts: Uint8Array[] = []
  for await (const part of body) parts.push(part)
  return Buffer.concat(parts)
}
