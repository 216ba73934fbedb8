/** The Detector port on `file-type`, loaded with the first file. */

import * as Effect from "effect/Effect"
import type { DetectorService } from "../../core/ports/detector.ts"

export const makeDetector = (): DetectorService => ({
  detect: (head) =>
    head.length === 0
      ? Effect.succeed(null)
      : Effect.promise(async () => {
        const { fileTypeFromBuffer } = await import("file-type")
        try {
          return (await fileTypeFromBuffer(head))?.mime ?? null
        } catch {
          // Broken bytes are bytes that nobody recognizes; so is a head that ends where its format goes on.
          return null
        }
      })
})
