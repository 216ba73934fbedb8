// Runs the contract of the Images port on the fake and on sharp, and what only real pixels show.
import * as Effect from "effect/Effect"
import sharp from "sharp"
import type { Sharp } from "sharp"
import { describe, expect, it } from "vitest"
import { sharpImages } from "../../adapters/images/images.ts"
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

const whole = {
  copies: [{ width: 50, height: null, fit: "inside", format: "jpeg", quality: null }],
  placeholder: true
} as const

describe("images: pixels", () => {
  const render = (bytes: Uint8Array, options = {}) =>
    Effect.runPromise(sharpImages(options).render(() => pieces(bytes), bytes.length, whole))

  it("carries no metadata into a copy", async () => {
    const bytes = await plain(200, 100).jpeg().withExif({ IFD0: { Artist: "somebody", Make: "camera" } }).toBuffer()
    expect((await sharp(bytes).metadata()).exif).toBeDefined()
    const made = await render(bytes)
    expect((await sharp(made!.copies[0]!.bytes).metadata()).exif).toBeUndefined()
  })

  it("shows the colours of the source, white where it was transparent", async () => {
    const bytes = await sharp({
      create: { width: 100, height: 100, channels: 4, background: { r: 0, g: 0, b: 0, alpha: 0 } }
    })
      .png().toBuffer()
    const made = await render(bytes)
    const { channels } = await sharp(made!.copies[0]!.bytes).stats()
    expect(channels.map(({ mean }) => Math.round(mean))).toEqual([255, 255, 255])
    const red = await render(await plain(80, 80).png().toBuffer())
    const stats = await sharp(red!.copies[0]!.bytes).stats()
    expect(stats.channels.map(({ mean }) => Math.round(mean / 10))).toEqual([20, 6, 2])
  })

  it("does not open an image of too many pixels", async () => {
    const bytes = await plain(4_000, 4_000).png().toBuffer()
    expect(await render(bytes, { maxPixels: 15_999_999 })).toBeNull()
    expect(await render(bytes, { maxPixels: 16_000_000 })).toMatchObject({ width: 4_000 })
  })

  it.each<[string, number, (image: Sharp) => Sharp]>([
    ["AVIF", 19, (image) => image.avif({ effort: 0 })],
    ["progressive JPEG", 6, (image) => image.jpeg({ progressive: true })],
    ["interlaced PNG", 3, (image) => image.png({ progressive: true })],
    ["TIFF", 3, (image) => image.tiff()]
  ])("decodes as a whole no %s that takes more memory than allowed", async (_, perPixel, as) => {
    const bytes = await as(plain(400, 300)).toBuffer()
    expect(await render(bytes, { maxMemory: 120_000 * perPixel - 1 })).toBeNull()
    expect(await render(bytes, { maxMemory: 120_000 * perPixel })).toMatchObject({ width: 400, height: 300 })
  })

  it("decodes line by line what can be, whatever its size in memory", async () => {
    for (const bytes of [await plain(400, 300).png().toBuffer(), await plain(400, 300).jpeg().toBuffer()]) {
      expect(await render(bytes, { maxMemory: 0 })).toMatchObject({ width: 400, height: 300 })
    }
  })

  it("does not take a truncated image for one", async () => {
    const bytes = await sharp(Buffer.from(Array.from({ length: 300 * 300 * 3 }, (_, i) => (i * 7919) % 256)), {
      raw: { width: 300, height: 300, channels: 3 }
    }).jpeg().toBuffer()
    expect(await render(bytes.subarray(0, bytes.length / 2))).toBeNull()
  })

  it("refuses those who wait too long", async () => {
    const images = sharpImages({ atOnce: 1, waitMs: 1 })
    let open = (): void => {}
    const held = new Promise<void>((resolve) => open = resolve)
    const bytes = await plain(10, 10).png().toBuffer()
    async function* slow() {
      await held
      yield bytes
    }
    const first = Effect.runPromise(images.render(slow, bytes.length, whole))
    const second = await Effect.runPromise(Effect.flip(images.render(() => pieces(bytes), bytes.length, whole)))
    expect(second.reason).toBe("Busy")
    open()
    expect(await first).toMatchObject({ width: 10 })
    expect(await Effect.runPromise(images.render(() => pieces(bytes), bytes.length, whole))).toMatchObject({
      width: 10
    })
  })
})
