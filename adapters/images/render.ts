/**
 * The pixels of images on sharp: what an image will take of memory, and the copies made of it. It runs in a process of its own (`process.ts`). An image is
 * decoded once, as small as the largest copy allows.
 */

import sharp from "sharp"
import type { Metadata, OutputInfo, Sharp, SharpOptions } from "sharp"
import { rgbaToThumbHash } from "thumbhash"
import { cutOf } from "../../core/domain/file/variant.ts"
import type { Cut, Pixels } from "../../core/domain/file/variant.ts"
import type { ImageFormat, Variant } from "../../core/domain/model/file.ts"
import type { RenderedCopy, RenderedImage, RenderPlan } from "../../core/ports/images.ts"

// Decoded images that nobody asks for again took up to a gigabyte each.
sharp.cache(false)

/** ThumbHash takes at most so many pixels a side. */
const hashSide = 100

/** Decoded pixels that are kept for several copies; a larger image is decoded for each. */
const keptPixels = 24_000_000

const sampleBytes = (depth: string): number =>
  depth === "uchar" ? 1 : depth === "ushort" || depth === "short" ? 2 : depth === "dpcomplex" ? 16 : 8

/**
 * Bytes that the pixels of an image take at once while it is decoded, as measured; 0 where they come line by line. A few dozen bytes can hold an image
 * that takes gigabytes.
 */
export const heldBytes = (
  { autoOrient, channels, chromaSubsampling, depth, format, isProgressive }: Pick<
    Metadata,
    "autoOrient" | "channels" | "chromaSubsampling" | "depth" | "format" | "isProgressive"
  >
): number => {
  const sample = sampleBytes(depth)
  const pixel = format === "heif"
    ? (sample === 1 ? 19 : 26)
    : format === "jpeg"
    ? (!isProgressive ? 0 : chromaSubsampling === "4:2:0" ? 3 : 2 * channels)
    // Its canvas has an alpha channel, whatever its frames have.
    : format === "gif"
    ? 4.5
    // The parts of a TIFF are as large as it says itself: most are small.
    : format === "tiff" || (format === "png" && !isProgressive)
    ? 0
    : channels * sample
  return pixel * autoOrient.width * autoOrient.height
}

/** Lines of a source that are kept while it is read line by line. */
const keptLines = 320

/** Bytes a pixel that the encoder of a copy takes of a photo, with the pixels. Noise takes up to twice as much. */
const encoding: { readonly [format in ImageFormat]: number } = { webp: 20, avif: 60, jpeg: 8, png: 5 }

/** Bytes that an image takes with its copies. It is an estimate: images can be made to take more. */
const neededBytes = (metadata: Metadata, plan: RenderPlan): number => {
  const { autoOrient: { width }, channels, depth } = metadata
  const copies = plan.copies.map((copy) => {
    const cut = cutOf(copy, metadata.autoOrient)
    return cut.width * cut.height * encoding[copy.format]
  })
  return heldBytes(metadata) + width * channels * sampleBytes(depth) * keptLines + Math.max(0, ...copies)
}

type RawImage = { readonly data: Buffer; readonly info: OutputInfo }

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

/** What an image may take. */
export interface Bounds {
  readonly maxPixels: number
  /** Bytes above the memory of an idle process. */
  readonly memory: number
  /** Bytes of all copies together. */
  readonly output: number
  /** Whether there is no more memory to ask for. */
  readonly last: boolean
}

/** Makes the requested copies. `more`: they need more memory. Null: they need too much memory. Throws the errors of sharp. */
export const render = async (
  input: Buffer,
  plan: RenderPlan,
  { last, maxPixels, memory, output }: Bounds
): Promise<RenderedImage | "more" | null> => {
  const options: SharpOptions = { limitInputPixels: maxPixels, failOn: "error" }
  const open = (): Sharp => sharp(input, options)
  const metadata = await open().metadata()
  if (!last && neededBytes(metadata, plan) > memory) return "more"
  if (heldBytes(metadata) > memory) return null
  const { autoOrient: source } = metadata
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
  const decoded: RawImage | null = together
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
  const drawn = decoded === null ? source : base

  const copies: RenderedCopy[] = []
  let size = 0
  for (const [i, cut] of cuts.entries()) {
    const part = within(cut, source, drawn)
    const whole = part.width === drawn.width && part.height === drawn.height
    const cropped = whole ? pixels() : pixels().extract(part)
    const resized = part.width === cut.width && part.height === cut.height
      ? cropped
      : cropped.resize(cut.width, cut.height, { fit: "fill" })
    const bytes = await encoded(resized, plan.copies[i]!).toBuffer()
    size += bytes.length
    if (size > output) return null
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
