/**
 * The Images port on sharp, with an entry of its own in the package, `resource-admin/images`: services without images install no image library. Images
 * are decoded in processes of their own, with little memory and none of the service's secrets: what takes more ends there, and is stored as it came.
 */

import * as Effect from "effect/Effect"
import { createRequire } from "node:module"
import { availableParallelism } from "node:os"
import { ImagesError } from "../../core/ports/images.ts"
import type { ImagesService, RenderedImage, RenderPlan } from "../../core/ports/images.ts"
import type { Bytes } from "../../core/ports/storage.ts"
import { inLine } from "./line.ts"
import { makeImage } from "./pool.ts"

export interface ImageOptions {
  /** An image of more pixels is stored as it is, without copies. Default 100,000,000. */
  readonly maxPixels?: number
  /** Bytes that all images which are worked on take together. An image that would take more is stored as it is, too. Default 512 MiB, least 128 MiB. */
  readonly maxMemory?: number
  /** Longest time for one image, in seconds. Default 30. */
  readonly seconds?: number
  /** Images worked on at once. Default: the number of processors, or fewer where each would have less than 192 MiB. */
  readonly atOnce?: number
  /** Longest time that an image waits for others, in milliseconds. Default 60,000. */
  readonly waitMs?: number
}

/** What `files.imageProcessor` takes. */
export interface ImageProcessor extends ImagesService {
  readonly _tag: "ImageProcessor"
}

const mebibyte = 1_048_576

/** A process without an image takes about half of it. */
const leastMemory = 128 * mebibyte

/** What most photos of phones and cameras stay below, with their copies. */
const usualMemory = 192 * mebibyte

/** A file larger than this part of the memory is stored as it is: an image process holds it while it works. */
const inputPart = 4

/**
 * The image processor for `files.imageProcessor`. It needs the package `sharp`. Throws where that is not installed.
 *
 * @example
 * defineConfig({ files: { imageProcessor: sharpImages() }, … })
 */
export const sharpImages = (options: ImageOptions = {}): ImageProcessor => {
  const { maxPixels = 100_000_000, seconds = 30, waitMs = 60_000 } = options
  const most = Math.max(leastMemory, options.maxMemory ?? 512 * mebibyte)
  const atOnce = options.atOnce ?? Math.max(1, Math.min(availableParallelism(), Math.floor(most / usualMemory)))
  // Found out at the start of the service, not by the first image.
  createRequire(import.meta.url).resolve("sharp")

  const make = async (source: () => Bytes, size: number, plan: RenderPlan): Promise<RenderedImage | null> => {
    if (size > most / inputPart) return null
    const attempt = (memory: number) => {
      const last = memory === most
      return inLine(
        { memory, most, atOnce, waitMs },
        () => makeImage(source(), { size, plan, maxPixels, memory, last }, seconds)
      )
    }
    const share = Math.floor(most / atOnce)
    const made = await attempt(share)
    if (made !== "more") return made
    // It goes in line again, for all memory at once.
    const whole = share === most ? null : await attempt(most)
    return whole === "more" ? null : whole
  }

  return {
    _tag: "ImageProcessor",
    render: (source, size, plan) =>
      Effect.tryPromise({
        try: () => make(source, size, plan),
        catch: (error) => error instanceof ImagesError ? error : new ImagesError({ reason: "Process", cause: error })
      })
  }
}
