/** The Detector port on `file-type`, loaded with the first file. */

import * as Effect from "effect/Effect"
import type { DetectorService } from "../../core/ports/detector.ts"

/**
 * Signatures of images for which the library reads further: a PNG up to its pixels, a TIFF up to its directory, which is often at its end. Both may lie
 * behind the head that is here. Their signatures alone tell the type, as those of other files do.
 */
const signatures: ReadonlyArray<readonly [type: string, bytes: readonly number[]]> = [
  ["image/png", [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]],
  ["image/tiff", [0x49, 0x49, 0x2a, 0x00]],
  ["image/tiff", [0x4d, 0x4d, 0x00, 0x2a]]
]

const signed = (head: Uint8Array): string | null =>
  signatures.find(([, bytes]) => bytes.every((byte, i) => head[i] === byte))?.[0] ?? null

export const makeDetector = (): DetectorService => ({
  detect: (head) =>
    head.length === 0
      ? Effect.succeed(null)
      : Effect.promise(async () => {
        const { fileTypeFromBuffer } = await import("file-type")
        try {
          return (await fileTypeFromBuffer(head))?.mime ?? signed(head)
        } catch {
          // Broken bytes are bytes that nobody recognizes.
          return signed(head)
        }
      })
})
