/** The contract of the Images port, one suite for every implementation. Each harness brings images of given sizes and reads the size of a copy. */

import * as Effect from "effect/Effect"
import { describe, expect, it } from "vitest"
import type { Pixels } from "../../core/domain/file/variant.ts"
import type { ImageFormat, Variant } from "../../core/domain/model/file.ts"
import { ImagesError } from "../../core/ports/images.ts"
import type { ImagesService, RenderedImage, RenderPlan } from "../../core/ports/images.ts"
import { broken, pieces } from "../support/bytes.ts"

export interface ImagesHarness {
  readonly images: ImagesService
  /** An image; `turned`: EXIF says that it is to be shown turned by a quarter. */
  readonly image: (format: ImageFormat, size: Pixels, turned?: boolean) => Promise<Uint8Array>
  /** Size and format of an encoded copy. */
  readonly inspect: (bytes: Uint8Array) => Promise<Pixels & { readonly format: string }>
}

const copy = (more: Partial<Variant>): Omit<Variant, "name"> => ({
  width: null,
  height: null,
  fit: "inside",
  format: "webp",
  quality: null,
  ...more
})

export const imagesContract = (name: string, harness: ImagesHarness): void => {
  const { image, images, inspect } = harness
  const render = (bytes: Uint8Array, plan: Partial<RenderPlan>): Promise<RenderedImage | null> =>
    Effect.runPromise(images.render(() => pieces(bytes), bytes.length, { copies: [], placeholder: false, ...plan }))

  describe(`images: ${name}`, () => {
    it("tells the size alone", async () => {
      const bytes = await image("png", { width: 120, height: 80 })
      expect(await render(bytes, {})).toEqual({ width: 120, height: 80, placeholder: null, copies: [] })
    })

    it("turns an image upright before anything else", async () => {
      const bytes = await image("jpeg", { width: 120, height: 80 }, true)
      const made = await render(bytes, { copies: [copy({ width: 40 })] })
      expect(made).toMatchObject({ width: 80, height: 120, copies: [{ width: 40, height: 60 }] })
      expect(await inspect(made!.copies[0]!.bytes)).toMatchObject({ width: 40, height: 60 })
    })

    it.each<[string, Pixels, Partial<Variant>, Pixels]>([
      ["inside a box", { width: 1_200, height: 800 }, { width: 300, height: 300 }, { width: 300, height: 200 }],
      ["inside a width", { width: 1_200, height: 800 }, { width: 300 }, { width: 300, height: 200 }],
      ["inside a height", { width: 1_200, height: 800 }, { height: 200 }, { width: 300, height: 200 }],
      ["inside a box that is larger", { width: 200, height: 100 }, { width: 300, height: 300 }, {
        width: 200,
        height: 100
      }],
      ["in another format", { width: 200, height: 100 }, { format: "png" }, { width: 200, height: 100 }],
      ["covering a box", { width: 1_200, height: 800 }, { width: 300, height: 300, fit: "cover" }, {
        width: 300,
        height: 300
      }],
      ["covering a box that is larger", { width: 200, height: 100 }, { width: 300, height: 300, fit: "cover" }, {
        width: 100,
        height: 100
      }],
      ["covering a box that is wider", { width: 400, height: 100 }, { width: 200, height: 200, fit: "cover" }, {
        width: 100,
        height: 100
      }],
      ["of one pixel", { width: 1, height: 1 }, { width: 10, height: 10 }, { width: 1, height: 1 }],
      ["of a line", { width: 1_000, height: 1 }, { width: 10 }, { width: 10, height: 1 }]
    ])("makes a copy %s", async (_, size, wanted, expected) => {
      const made = await render(await image("png", size), { copies: [copy(wanted)] })
      expect(made?.copies.map(({ height, width }) => ({ width, height }))).toEqual([expected])
      expect(await inspect(made!.copies[0]!.bytes)).toMatchObject(expected)
    })

    it("makes all copies and the placeholder of one image", async () => {
      const bytes = await image("jpeg", { width: 900, height: 600 })
      const formats: readonly ImageFormat[] = ["webp", "avif", "jpeg", "png"]
      const made = await render(bytes, {
        copies: formats.map((format, i) => copy({ format, width: 60 + i })),
        placeholder: true
      })
      expect(made?.copies.map(({ width }) => width)).toEqual([60, 61, 62, 63])
      const found = await Promise.all(made!.copies.map(({ bytes }) => inspect(bytes)))
      expect(found.map(({ format }) => format)).toEqual(formats)
      expect(made?.placeholder).toMatch(/^[A-Za-z0-9+/]{20,40}={0,2}$/)
    })

    it("says null for what is no image it can read", async () => {
      expect(await render(Buffer.from("no image at all"), { placeholder: true })).toBeNull()
      expect(await render(new Uint8Array(0), {})).toBeNull()
    })

    it("fails when its source does", async () => {
      const failed = Effect.flip(
        images.render(() => broken(new Error("gone"), "x"), 10, { copies: [], placeholder: false })
      )
      const error = await Effect.runPromise(failed)
      expect([error instanceof ImagesError, error.reason]).toEqual([true, "Source"])
    })
  })
}
