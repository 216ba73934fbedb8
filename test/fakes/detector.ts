/** Content types by a short list of signatures, for tests that need no library. It looks at the first bytes only and knows no formats within formats. */

import * as Effect from "effect/Effect"
import type { DetectorService } from "../../core/ports/detector.ts"

/** What must stand at a place of a file of this type. */
export interface Signature {
  readonly type: string
  readonly at: number
  readonly bytes: readonly number[]
}

const latin = (text: string): readonly number[] => Array.from(text, (letter) => letter.charCodeAt(0))

/** The signatures that everybody knows. */
export const knownSignatures: readonly Signature[] = [
  { type: "image/png", at: 0, bytes: [0x89, ...latin("PNG\r\n"), 0x1a, 0x0a] },
  { type: "image/jpeg", at: 0, bytes: [0xff, 0xd8, 0xff] },
  { type: "image/gif", at: 0, bytes: latin("GIF8") },
  { type: "image/webp", at: 8, bytes: latin("WEBP") },
  { type: "image/tiff", at: 0, bytes: [0x49, 0x49, 0x2a, 0x00] },
  { type: "image/tiff", at: 0, bytes: [0x4d, 0x4d, 0x00, 0x2a] },
  { type: "application/pdf", at: 0, bytes: latin("%PDF-") },
  { type: "application/gzip", at: 0, bytes: [0x1f, 0x8b, 0x08] },
  { type: "application/x-7z-compressed", at: 0, bytes: [0x37, 0x7a, 0xbc, 0xaf, 0x27, 0x1c] },
  { type: "application/x-elf", at: 0, bytes: [0x7f, ...latin("ELF")] },
  { type: "application/wasm", at: 0, bytes: [0x00, ...latin("asm")] }
]

/** A detector that knows these signatures; the first that fits decides. */
export const makeFakeDetector = (signatures: readonly Signature[] = knownSignatures): DetectorService => ({
  detect: (head) =>
    Effect.sync(() => signatures.find(({ at, bytes }) => bytes.every((byte, i) => head[at + i] === byte))?.type ?? null)
})
