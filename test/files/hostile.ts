/**
 * Images that are made to take memory, as files: `node hostile.ts <folder>` writes 30 of them. It is a program of its own, because making some of them takes as
 * much memory as reading them.
 */

import { writeFile } from "node:fs/promises"
import { join } from "node:path"
import sharp from "sharp"
import type { Sharp } from "sharp"

/** A GIF whose frames say that they fill it, each of one pixel. With `dispose` 3 a reader keeps the frame before. */
export const gifBomb = (width: number, height: number, frames = 1, dispose = 0): Buffer => {
  const size = Buffer.alloc(4)
  size.writeUInt16LE(width, 0)
  size.writeUInt16LE(height, 2)
  const control = frames === 1 ? Buffer.alloc(0) : Buffer.from([0x21, 0xf9, 4, dispose << 2, 10, 0, 0, 0])
  const frame = [control, Buffer.from([0x2c, 0, 0, 0, 0]), size, Buffer.from([0, 2, 2, 0x44, 1, 0])]
  return Buffer.concat([
    Buffer.from("GIF89a"),
    size,
    Buffer.from([0x80, 0, 0, 200, 60, 20, 0, 0, 0]),
    ...Array.from({ length: frames }, () => frame).flat(),
    Buffer.from([0x3b])
  ])
}

const plain = (width: number, height: number, channels: 3 | 4 = 3): Sharp =>
  sharp({
    limitInputPixels: false,
    create: { width, height, channels, background: { r: 200, g: 60, b: 20, alpha: 0.5 } }
  })

const deep = (width: number, height: number): Sharp => plain(width, height, 4).toColourspace("rgb16")

const noise = (width: number, height: number): Sharp => {
  const bytes = Buffer.alloc(width * height * 3)
  for (let i = 0, x = 1; i < bytes.length; i++) {
    x = (Math.imul(x, 1_103_515_245) + 12_345) & 0x7fffffff
    bytes[i] = x >> 16
  }
  return sharp(bytes, { limitInputPixels: false, raw: { width, height, channels: 3 } })
}

const animation = (side: number, frames: number): Sharp => {
  const bytes = Buffer.alloc(side * side * frames * 3)
  for (let i = 0; i < frames; i++) bytes.fill(i * 20, i * side * side * 3, (i + 1) * side * side * 3)
  const raw = { width: side, height: side * frames, channels: 3, pageHeight: side } as const
  return sharp(bytes, { limitInputPixels: false, raw })
}

const images: { readonly [name: string]: () => Sharp | Buffer } = {
  "10k.gif": () => gifBomb(10_000, 10_000),
  "65k.gif": () => gifBomb(65_535, 65_535),
  "frames.gif": () => gifBomb(9_000, 9_000, 200, 3),
  "many-frames.gif": () => gifBomb(2_000, 2_000, 5_000, 2),
  "10k.png": () => plain(10_000, 10_000).png(),
  "interlaced.png": () => plain(10_000, 10_000, 4).png({ progressive: true }),
  "16-bit.png": () => deep(10_000, 10_000).png(),
  "16-bit-interlaced.png": () => deep(7_000, 7_000).png({ progressive: true }),
  "wide.png": () => plain(1_000_000, 100).png(),
  "tall.png": () => plain(100, 1_000_000).png(),
  "turned.png": () => plain(10_000, 10_000).withMetadata({ orientation: 6 }).png(),
  "noise.png": () => noise(4_000, 4_000).png({ compressionLevel: 1 }),
  "30k.png": () => plain(30_000, 30_000).png(),
  "10k.jpg": () => plain(10_000, 10_000).jpeg(),
  "progressive.jpg": () => plain(9_000, 9_000).jpeg({ progressive: true }),
  "progressive-444.jpg": () => plain(9_000, 9_000).jpeg({ progressive: true, chromaSubsampling: "4:4:4" }),
  "progressive-cmyk.jpg": () => plain(9_000, 9_000).toColourspace("cmyk").jpeg({ progressive: true }),
  "turned.jpg": () => plain(10_000, 10_000).withMetadata({ orientation: 6 }).jpeg(),
  "wide.jpg": () => plain(65_000, 1_000).jpeg(),
  "10k.webp": () => plain(10_000, 10_000).webp({ effort: 0 }),
  "lossless.webp": () => plain(10_000, 10_000, 4).webp({ lossless: true, effort: 0 }),
  "frames.webp": () => animation(1_500, 40).webp({ effort: 0 }),
  "large-frames.webp": () => animation(7_000, 3).webp({ effort: 0 }),
  "5k.avif": () => plain(5_200, 5_200).avif({ effort: 0 }),
  "10k.avif": () => plain(10_000, 10_000).avif({ effort: 0 }),
  "alpha.avif": () => plain(4_500, 4_500, 4).avif({ effort: 0, chromaSubsampling: "4:4:4" }),
  "10k.tiff": () => plain(10_000, 10_000).tiff({ compression: "deflate" }),
  "tiles.tiff": () =>
    plain(10_000, 10_000).tiff({ compression: "deflate", tile: true, tileWidth: 8_192, tileHeight: 8_192 }),
  "16-bit.tiff": () => deep(7_500, 7_500).tiff({ compression: "deflate" }),
  "jpeg.tiff": () => plain(10_000, 10_000).tiff({ compression: "jpeg" })
}

const folder = process.argv[2]
if (import.meta.main && folder !== undefined) {
  sharp.cache(false)
  for (const [name, make] of Object.entries(images)) {
    const image = make()
    await writeFile(join(folder, name), Buffer.isBuffer(image) ? image : await image.toBuffer())
  }
}
