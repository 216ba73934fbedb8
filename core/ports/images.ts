/**
 * The port to the pixels of images. What is cut and how large it becomes is decided by the domain (`cutOf`); here it is done.
 *
 * Contract (test/contracts/images.ts): the image is turned upright first and its copies carry no metadata. The source is decoded once for all that
 * is asked of it. What cannot be read, is too large or takes too long is null, not a failure; `Busy` is for a queue that did not move.
 */

import * as Context from "effect/Context"
import * as Data from "effect/Data"
import type * as Effect from "effect/Effect"
import type { Pixels } from "../domain/file/variant.ts"
import type { Variant } from "../domain/model/file.ts"
import type { Bytes } from "./storage.ts"

export class ImagesError extends Data.TaggedError("ImagesError")<{
  /** `Busy`: too many images wait. `Source`: the source could not be read. `Process`: no image can be worked on. The cause says more. */
  readonly reason: "Busy" | "Process" | "Source"
  readonly cause?: unknown
}> {}

export interface RenderPlan {
  /** Copies to make, in order. */
  readonly copies: ReadonlyArray<Omit<Variant, "name">>
  readonly placeholder: boolean
}

/** A copy, encoded. */
export interface RenderedCopy extends Pixels {
  readonly bytes: Uint8Array
}

/** An image as shown, upright, and what was made of it. */
export interface RenderedImage extends Pixels {
  /** ThumbHash in base64, about 30 characters; null where it was not asked for. */
  readonly placeholder: string | null
  readonly copies: readonly RenderedCopy[]
}

export interface ImagesService {
  /** `size`: bytes of the source. */
  readonly render: (
    source: () => Bytes,
    size: number,
    plan: RenderPlan
  ) => Effect.Effect<RenderedImage | null, ImagesError>
}

/** Pixels. */
export class Images extends Context.Service<Images, ImagesService>()("resource-admin/Images") {}
