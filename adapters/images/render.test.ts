// What a process of images makes of one: turned as its camera says, and only within its memory.
import sharp from "sharp"
import { expect, it } from "vitest"
import type { RenderPlan } from "../../core/ports/images.ts"
import { type Bounds, render } from "./render.ts"

/** Two colours side by side. */
const pixels = (width: number, height: number) => {
  const raw = Buffer.alloc(width * height * 3)
  for (let at = 0; at < width * height; at++) raw[3 * at + (at % width < width / 2 ? 0 : 2)] = 255
  return sharp(raw, { raw: { width, height, channels: 3 } })
}

const plan: RenderPlan = {
  copies: [{ width: 10, height: 20, fit: "cover", format: "png", quality: null }],
  placeholder: false
}
const bounds: Bounds = { maxPixels: 1_000_000, memory: 100_000_000, output: 1_000_000, last: true }

it("a photo is turned as its camera says: what lay on its left is at the top", async () => {
  const photo = await pixels(40, 20).withMetadata({ orientation: 6 }).png().toBuffer()
  const made = await render(photo, plan, bounds)
  if (made === null || made === "more") throw new Error("no image")
  expect([made.width, made.height]).toEqual([20, 40])
  const [copy] = made.copies
  expect([copy!.width, copy!.height]).toEqual([10, 20])
  const { data, info } = await sharp(copy!.bytes).raw().toBuffer({ resolveWithObject: true })
  const colourAt = (
    row: number
  ) => [...data.subarray(row * info.width * info.channels, row * info.width * info.channels + 3)]
  expect([colourAt(2), colourAt(17)]).toEqual([[255, 0, 0], [0, 0, 255]])
})

it("an image that needs more memory than it may take asks for more, and is left alone where there is none", async () => {
  const picture = await pixels(100, 100).webp().toBuffer()
  expect(await render(picture, plan, { ...bounds, memory: 10_000, last: false })).toBe("more")
  expect(await render(picture, plan, { ...bounds, memory: 10_000 })).toBeNull()
  expect(await render(picture, plan, { ...bounds, output: 10 })).toBeNull()
  await expect(render(picture, plan, { ...bounds, maxPixels: 9_999 })).rejects.toThrow()
})
