/** The Detector port on `file-type`, loaded with the first file. */

import * as Effect from "effect/Effect"
import type { DetectorService } from "../../core/ports/detector.ts"

const png = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]

/** A PNG is looked through up to its pixels, which may lie behind the head; its signature alone is as telling as others. */
const pngOf = (head: Uint8Array): string | null => png.every((byte, i) => head[i] === byte) ? "image/png" : null

export const makeDetector = (): DetectorService => ({
  detect: (head) =>
    head.length === 0
      ? Effect.succeed(null)
      : Effect.promise(async () => {
        const { fileTypeFromBuffer } = await import("file-type")
        try {
          return (await fileTypeFromBuffer(head))?.mime ?? pngOf(head)
        } catch {
          // Broken bytes are bytes that nobody recognizes.
          return pngOf(head)
        }
      })
})
