/**
 * The Images port on sharp, with an entry of its own in the package, `resource-admin/images`: services without images install no image
 * library. An image is decoded once, as small as the largest copy allows. As many images are processed at once as there are processors.
 */

import * as Effect from "effect/Effect"
import { availableParallelism } from "node:os"
import sharp from "sharp"
import type { Metadata, OutputInfo, Sharp, SharpOptions } from "sharp"
import { rgbaToThumbHash } from "thumbhash"
import { cutOf } from "../../core/domain/file/variant.ts"
import type { Cut, Pixels } from "../../core/domain/file/variant.ts"
import type { Variant } from "../../core/domain/model/file.ts"
import { ImagesError } from "../../core/ports/images.ts"
import type { ImagesService, RenderedCopy, RenderedImage, RenderPlan } from "../../core/ports/images.ts"
import type { Bytes } from "../../core/ports/storage.ts"

export interface ImageOptions {
  /** An image of more pixels is stored as it is, without copies. Default 100,000,000. */
  readonly maxPixels?: number
  /** An image whose format cannot be decoded line by line, and that would take more bytes than this at once, is stored as it is, too. Default 512 MiB. */
  readonly maxMemory?: number
  /** Longest time for one image, in seconds. Default 30. */
  readonly seconds?: number
  /** Images worked on at once. Default: the number of processors. */
  readonly atOnce?: number
  /** Longest time that an image waits for others, in milliseconds. Default 5,000. */
  readonly waitMs?: number
}

/** What `files.imageProcessor` takes. */
export interface ImageProcessor extends ImagesService {
  readonly _tag: "ImageProcessor"
}

/** ThumbHash takes at most so many pixels a side. */
const hashSide = 100

/** Decoded pixels that are kept for several copies; a larger image is decoded for each. */
const keptPixels = 24_000_000

/**
 * Bytes that the pixels of an image take at once while it is decoded, as measured; 0 where they come line by line. A few kilobytes can hold an image
 * that takes gigabytes.
 */
const heldBytes = ({ autoOrient, channels, depth, format, isProgressive }: Metadata): number => {
  const sample = depth === "uchar" ? 1 : depth === "ushort" || depth === "short" ? 2 : depth === "dpcomplex" ? 16 : 8
  const pixel = format === "heif"
    ? (sample === 1 ? 19 : 26)
    : format === "jpeg"
    ? (isProgressive ? 6 : 0)
    // A TIFF may be one strip.
    : format === "png" && !isProgressive
    ? 0
    : channels * sample
  return pixel * autoOrient.width * autoOrient.height
}

type Decoded = { readonly data: Buffer; readonly info: OutputInfo }

/** Where a copy lies in the decoded image. */
const within = (
  { from }: Cut,
  source: Pixels,
  base: Pixels
): { left: number; top: number; width: number; height: number } => {
  const [x, y] = [base.width / source.width, base.height / source.height]
  const left = Math.min(Math.round(from.left * x), base.width - 1)
  const top = Math.min(Math.round(from.top * y), base.height - 1)
  return {
    left,
    top,
    width: Math.max(1, Math.min(Math.round(from.width * x), base.width - left)),
    height: Math.max(1, Math.min(Math.round(from.height * y), base.height - top))
  }
}

const encoded = (image: Sharp, { format, quality }: Pick<Variant, "format" | "quality">): Sharp => {
  const options = quality === null ? {} : { quality }
  switch (format) {
    case "webp":
      return image.webp(options)
    case "avif":
      return image.avif(options)
    case "jpeg":
      // JPEG has no transparency. Transparent parts become white, not black.
      return image.flatten({ background: "#ffffff" }).jpeg(options)
    case "png":
      return image.png(options)
  }
}

const gather = async (source: Bytes): Promise<Buffer> => {
  const chunks: Uint8Array[] = []
  for await (const chunk of source) chunks.push(chunk)
  return Buffer.concat(chunks)
}

/** Makes what is asked for; null where decoding would take too much memory. Throws what sharp throws. */
const make = async (
  input: Buffer,
  plan: RenderPlan,
  options: SharpOptions,
  { maxMemory, seconds }: Pick<Required<ImageOptions>, "maxMemory" | "seconds">
): Promise<RenderedImage | null> => {
  const open = (): Sharp => sharp(input, options).timeout({ seconds })
  const found = await open().metadata()
  if (heldBytes(found) > maxMemory) return null
  const { autoOrient: source } = found
  const cuts = plan.copies.map((copy) => cutOf(copy, source))
  if (cuts.length === 0 && !plan.placeholder) return { ...source, placeholder: null, copies: [] }

  const shrink = Math.min(
    1,
    Math.max(...cuts.map(({ from, width }) => width / from.width), hashSide / Math.max(source.width, source.height))
  )
  const base: Pixels = {
    width: Math.max(1, Math.round(source.width * shrink)),
    height: Math.max(1, Math.round(source.height * shrink))
  }
  const together = base.width * base.height <= keptPixels
  const decoded: Decoded | null = together
    ? await open().autoOrient().resize(base.width, base.height, { fit: "fill" }).toColourspace("srgb").raw().toBuffer({
      resolveWithObject: true
    })
    : null
  const pixels = (): Sharp =>
    decoded === null
      ? open().autoOrient()
      : sharp(decoded.data, {
        raw: { width: decoded.info.width, height: decoded.info.height, channels: decoded.info.channels }
      })
        .timeout({ seconds })
  const size = decoded === null ? source : base

  const copies: RenderedCopy[] = []
  for (const [i, cut] of cuts.entries()) {
    const part = within(cut, source, size)
    const whole = part.width === size.width && part.height === size.height
    const cropped = whole ? pixels() : pixels().extract(part)
    const resized = part.width === cut.width && part.height === cut.height
      ? cropped
      : cropped.resize(cut.width, cut.height, { fit: "fill" })
    const bytes = await encoded(resized, plan.copies[i]!).toBuffer()
    copies.push({ bytes, width: cut.width, height: cut.height })
  }
  let placeholder: string | null = null
  if (plan.placeholder) {
    const small = await pixels().resize(hashSide, hashSide, { fit: "inside", withoutEnlargement: true }).toColourspace(
      "srgb"
    )
      .ensureAlpha().raw().toBuffer({ resolveWithObject: true })
    placeholder = Buffer.from(rgbaToThumbHash(small.info.width, small.info.height, small.data)).toString("base64")
  }
  return { ...source, placeholder, copies }
}

/** Lets so many work at once. The others wait in line, for a limited time. */
const makeLine = (atOnce: number, waitMs: number) => {
  let working = 0
  const waiting: Array<() => void> = []
  return {
    enter: (): Promise<void> => {
      if (working < atOnce) {
        working++
        return Promise.resolve()
      }
      return new Promise((resolve, reject) => {
        const turn = (): void => {
          clearTimeout(timer)
          resolve()
        }
        const timer = setTimeout(() => {
          waiting.splice(waiting.indexOf(turn), 1)
          reject(new ImagesError({ reason: "Busy" }))
        }, waitMs)
        waiting.push(turn)
      })
    },
    leave: (): void => {
      const next = waiting.shift()
      if (next === undefined) working--
      else next()
    }
  }
}

/**
 * The image processor for `files.imageProcessor`. It needs the package `sharp`.
 *
 * @example
 * defineConfig({ files: { imageProcessor: sharpImages() }, … })
 */
export const sharpImages = (options: ImageOptions = {}): ImageProcessor => {
  const {
    atOnce = availableParallelism(),
    maxMemory = 536_870_912,
    maxPixels = 100_000_000,
    seconds = 30,
    waitMs = 5_000
  } = options
  const line = makeLine(atOnce, waitMs)
  const reading: SharpOptions = { limitInputPixels: maxPixels, failOn: "error" }
  return {
    _tag: "ImageProcessor",
    render: (source, _size, plan) =>
      Effect.tryPromise({
        try: async () => {
          await line.enter()
          try {
            const input = await gather(source()).catch((cause: unknown) => {
              throw new ImagesError({ reason: "Source", cause })
            })
            try {
              return await make(input, plan, reading, { maxMemory, seconds })
            } catch {
              // An image that is broken, too large or too slow is stored as it came.
              return null
            }
          } finally {
            line.leave()
          }
        },
        catch: (error) => error instanceof ImagesError ? error : new ImagesError({ reason: "Source", cause: error })
      })
  }
}
