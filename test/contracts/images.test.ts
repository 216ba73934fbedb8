// Runs the contract of the Images port on the fake and on sharp, and what only real pixels show.
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import sharp from "sharp"
import type { Sharp } from "sharp"
import { sharpImages } from "../../adapters/images/images.ts"
import { heldBytes } from "../../adapters/images/render.ts"
import { fakeImage, makeFakeImages } from "../fakes/images.ts"
import { pieces } from "../support/bytes.ts"
import { imagesContract } from "./images.ts"

imagesContract("in memory", {
  images: makeFakeImages(),
  image: async (format, size, turned) => fakeImage(format, size, turned),
  inspect: async (bytes) => {
    const [, width, height] = /(\d+)x(\d+)$/.exec(Buffer.from(bytes).toString("latin1")) ?? []
    const format = bytes[0] === 0x89 ? "png" : bytes[0] === 0xff ? "jpeg" : bytes[0] === 0x52 ? "webp" : "avif"
    return { width: Number(width), height: Number(height), format }
  }
})

const plain = (width: number, height: number) =>
  sharp({ create: { width, height, channels: 3, background: { r: 200, g: 60, b: 20 } } })

imagesContract("sharp", {
  images: sharpImages(),
  image: (format, { height, width }, turned = false) => {
    const image = plain(width, height).toFormat(format)
    return (turned ? image.withMetadata({ orientation: 6 }) : image).toBuffer()
  },
  inspect: async (bytes) => {
    const { compression, format, height, width } = await sharp(bytes).metadata()
    return { width, height, format: format === "heif" && compression === "av1" ? "avif" : format }
  }
})

/** The bytes of an image. */
const encoded = (image: Sharp) => Effect.promise(() => image.toBuffer())

const whole = {
  copies: [{ width: 50, height: null, fit: "inside", format: "jpeg", quality: null }],
  placeholder: true
} as const

describe("images: pixels", () => {
  const render = (bytes: Uint8Array, options = {}) =>
    sharpImages(options).render(() => pieces(bytes), bytes.length, whole)

  it.live("carries no metadata into a copy", () =>
    Effect.gen(function*() {
      const bytes = yield* encoded(plain(200, 100).jpeg().withExif({ IFD0: { Artist: "somebody", Make: "camera" } }))
      expect((yield* Effect.promise(() => sharp(bytes).metadata())).exif).toBeDefined()
      const made = yield* render(bytes)
      expect((yield* Effect.promise(() => sharp(made!.copies[0]!.bytes).metadata())).exif).toBeUndefined()
    }))

  it.live("shows the colours of the source, white where it was transparent", () =>
    Effect.gen(function*() {
      const bytes = yield* encoded(
        sharp({
          create: { width: 100, height: 100, channels: 4, background: { r: 0, g: 0, b: 0, alpha: 0 } }
        })
          .png()
      )
      const made = yield* render(bytes)
      const { channels } = yield* Effect.promise(() => sharp(made!.copies[0]!.bytes).stats())
      expect(channels.map(({ mean }) => Math.round(mean))).toEqual([255, 255, 255])
      const red = yield* render(yield* encoded(plain(80, 80).png()))
      const stats = yield* Effect.promise(() => sharp(red!.copies[0]!.bytes).stats())
      expect(stats.channels.map(({ mean }) => Math.round(mean / 10))).toEqual([20, 6, 2])
    }))

  it.live("does not open an image of too many pixels", () =>
    Effect.gen(function*() {
      const bytes = yield* encoded(plain(4_000, 4_000).png())
      expect(yield* render(bytes, { maxPixels: 15_999_999 })).toBeNull()
      expect(yield* render(bytes, { maxPixels: 16_000_000 })).toMatchObject({ width: 4_000 })
    }))

  it.live.each<readonly [name: string, perPixel: number, as: (image: Sharp) => Sharp]>([
    ["AVIF", 19, (image) => image.avif({ effort: 0 })],
    ["progressive JPEG", 3, (image) => image.jpeg({ progressive: true })],
    ["progressive JPEG with all colours", 6, (image) => image.jpeg({ progressive: true, chromaSubsampling: "4:4:4" })],
    ["interlaced PNG", 3, (image) => image.png({ progressive: true })],
    ["GIF", 4.5, (image) => image.gif()],
    ["PNG that comes line by line", 0, (image) => image.png()],
    ["JPEG that comes line by line", 0, (image) => image.jpeg()]
  ])("knows what a %s takes while it is decoded", ([, perPixel, as]) =>
    Effect.gen(function*() {
      const bytes = yield* encoded(as(plain(400, 300)))
      expect(heldBytes(yield* Effect.promise(() => sharp(bytes).metadata()))).toBe(120_000 * perPixel)
    }))

  it.live("does not take a truncated image for one", () =>
    Effect.gen(function*() {
      const bytes = yield* encoded(
        sharp(Buffer.from(Array.from({ length: 300 * 300 * 3 }, (_, i) => (i * 7919) % 256)), {
          raw: { width: 300, height: 300, channels: 3 }
        }).jpeg()
      )
      expect(yield* render(bytes.subarray(0, bytes.length / 2))).toBeNull()
    }))

  it.live("lets a dozen photos at once wait in line", () =>
    Effect.gen(function*() {
      const images = sharpImages({ atOnce: 1 })
      const bytes = yield* encoded(plain(120, 80).jpeg())
      const all = Array.from({ length: 12 }, () => images.render(() => pieces(bytes), bytes.length, whole))
      const made = yield* Effect.all(all, { concurrency: "unbounded" })
      expect(made.map((image) => image?.width)).toEqual(Array.from({ length: 12 }, () => 120))
    }))

  it.live("works on when the process of an image is gone", () =>
    Effect.gen(function*() {
      const images = sharpImages({ seconds: 0.001 })
      const bytes = yield* encoded(plain(3_000, 3_000).png())
      expect(yield* images.render(() => pieces(bytes), bytes.length, whole)).toBeNull()
      expect(yield* sharpImages().render(() => pieces(bytes), bytes.length, whole)).toMatchObject({ width: 3_000 })
    }))

  it.live("refuses those who wait too long", () =>
    Effect.gen(function*() {
      const images = sharpImages({ atOnce: 1, waitMs: 1 })
      let open = (): void => {}
      const held = new Promise<void>((resolve) => open = resolve)
      const bytes = yield* encoded(plain(10, 10).png())
      async function* slow() {
        await held
        yield bytes
      }
      const first = yield* Effect.forkChild(images.render(slow, bytes.length, whole), { startImmediately: true })
      const second = yield* Effect.flip(images.render(() => pieces(bytes), bytes.length, whole))
      expect(second.reason).toBe("Busy")
      open()
      expect(yield* Fiber.join(first)).toMatchObject({ width: 10 })
      expect(yield* images.render(() => pieces(bytes), bytes.length, whole)).toMatchObject({
        width: 10
      })
    }))
})
