/**
 * The port to the content type of bytes. The domain decides how the answer is used (`decideType`).
 *
 * Contract (test/contracts/detector.ts runs it against every implementation): the media type of a known signature at the beginning of a file, or
 * null. It never fails.
 */

import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"

export interface DetectorService {
  /** `head`: the first bytes of a file, up to 64 KiB. */
  readonly detect: (head: Uint8Array) => Effect.Effect<string | null>
}

/** The type of bytes. */
export class Detector extends Context.Service<Detector, DetectorService>()("resource-admin/Detector") {}
