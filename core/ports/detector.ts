/**
 * The port to what bytes say of themselves: the media type of a known signature at the beginning of a file, or null. It never fails; what becomes
 * of the answer is decided in the domain (`decideType`).
 */

import type * as Effect from "effect/Effect"

export interface DetectorService {
  /** `head`: the first bytes of a file, up to 64 KiB. */
  readonly detect: (head: Uint8Array) => Effect.Effect<string | null>
}
