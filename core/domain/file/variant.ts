/**
 * Resized copies of images: which part of the source is used, and the size of the copy (docs/guides/files.md#images). It only computes numbers. A port
 * processes the pixels.
 */

import type { ImageFormat, Variant } from "../model/file.ts"

/** Pixels of an image, upright. */
export interface Pixels {
  readonly width: number
  readonly height: number
}

/** Which part of a source becomes a copy, and of which size. */
export interface Cut extends Pixels {
  /** The part of the source that is kept. */
  readonly from: { readonly left: number; readonly top: number } & Pixels
}

export const extensionOfFormat = (format: ImageFormat): string => format === "jpeg" ? "jpg" : format

const side = (pixels: number): number => Math.max(1, Math.round(pixels))

/**
 * Plans a copy: `inside` keeps the whole image, `cover` crops it around its centre to the shape of the box. Images are never enlarged: for an image
 * smaller than the box, `cover` gives the box's shape with fewer pixels.
 */
export const cutOf = ({ fit, height, width }: Pick<Variant, "fit" | "height" | "width">, source: Pixels): Cut => {
  let area: Pixels = source
  if (fit === "cover" && width !== null && height !== null) {
    area = {
      width: Math.min(source.width, side(source.height * width / height)),
      height: Math.min(source.height, side(source.width * height / width))
    }
  }
  const scale = Math.min(1, (width ?? Infinity) / area.width, (height ?? Infinity) / area.height)
  return {
    from: {
      left: Math.floor((source.width - area.width) / 2),
      top: Math.floor((source.height - area.height) / 2),
      ...area
    },
    width: side(area.width * scale),
    height: side(area.height * scale)
  }
}

/** Width divided by height as decimal text with the given number of places, rounded half up and exact: `1.7778`. */
export const ratioText = ({ height, width }: Pixels, decimals: number): string => {
  const scale = 10n ** BigInt(decimals)
  const [w, h] = [BigInt(width), BigInt(height)]
  const scaled = (w * scale * 2n + h) / (h * 2n)
  if (decimals === 0) return scaled.toString()
  const digits = scaled.toString().padStart(decimals + 1, "0")
  return `${digits.slice(0, -decimals)}.${digits.slice(-decimals)}`
}
