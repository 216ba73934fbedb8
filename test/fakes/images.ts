/**
 * The Images port without an image library, for tests: it knows the images of its own making (`fakeImage`), whose pixels are a text, and makes copies
 * of the same sort.
 */

import * as Effect from "effect/Effect"
import { cutOf } from "../../core/domain/file/variant.ts"
import type { Pixels } from "../../core/domain/file/variant.ts"
import type { ImageFormat } from "../../core/domain/model/file.ts"
import { ImagesError } from "../../core/ports/images.ts"
import type { ImagesService } from "../../core/ports/images.ts"
import { gather } from "../support/bytes.ts"

const signatures: { readonly [format in ImageFormat]: readonly number[] } = {
  png: [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a],
  jpeg: [0xff, 0xd8, 0xff, 0xe0],
  webp: [0x52, 0x49, 0x46, 0x46, 0, 0, 0, 0, 0x57, 0x45, 0x42, 0x50],
  avif: [0, 0, 0, 0x20, 0x66, 0x74, 0x79, 0x70, 0x61, 0x76, 0x69, 0x66]
}

/** Bytes that begin as an image of the format does and say their size; `turned`: by EXIF, so that it is shown the other way. */
export const fakeImage = (format: ImageFormat, { height, width }: Pixels, turned = false): Uint8Array =>
  Buffer.concat([
    Buffer.from(signatures[format]),
    Buffer.from(`\0fake image ${width}x${height}${turned ? " turned" : ""}`)
  ])

const sizeOf = (bytes: Buffer): Pixels | null => {
  const [, width, height, turned] = /\0fake image (\d+)x(\d+)( turned)?$/.exec(bytes.toString("latin1")) ?? []
  if (width === undefined || height === undefined) return null
  const size = { width: Number(width), height: Number(height) }
  return turned === undefined ? size : { width: size.height, height: size.width }
}

/** `busy` makes it refuse as a queue does that does not move. */
export const makeFakeImages = (): ImagesService & { busy: boolean; rendered: number } => {
  const fake: ImagesService & { busy: boolean; rendered: number } = {
    busy: false,
    rendered: 0,
    render: (source, _, plan) =>
      Effect.tryPromise({
        try: async () => {
          if (fake.busy) throw new ImagesError({ reason: "Busy" })
          fake.rendered++
          const size = sizeOf(await gather(source()))
          if (size === null || size.width * size.height > 100_000_000) return null
          return {
            ...size,
            placeholder: plan.placeholder ? Buffer.alloc(21, 7).toString("base64") : null,
            copies: plan.copies.map((copy) => {
              const { height, width } = cutOf(copy, size)
              return { width, height, bytes: fakeImage(copy.format, { width, height }) }
            })
          }
        },
        catch: (error) => error instanceof ImagesError ? error : new ImagesError({ reason: "Source", cause: error })
      })
  }
  return fake
}
