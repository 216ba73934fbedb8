import { describe, expect, it } from "vitest"
import type { FileField, Variant } from "../model/file.ts"
import { lackingOf, partOf, withVariants } from "./lacking.ts"
import type { StoredVariant } from "./uri.ts"

const variant = (name: string, format: Variant["format"] = "webp"): Variant => ({
  name,
  width: 10,
  height: null,
  fit: "inside",
  format,
  quality: null
})
const stored = (name: string, extension = "webp"): StoredVariant => ({ name, extension, width: 10, height: 5 })
const field: FileField = {
  accept: null,
  maxSize: 1,
  provider: "private",
  public: false,
  derive: new Map([
    ["w", { of: "width" }],
    ["bytes", { of: "size" }],
    ["words", { of: "custom", accepts: ["text/*"], run: () => 1 }],
    ["any", { of: "custom", accepts: null, run: () => 1 }]
  ]),
  placeholder: "hash",
  variants: [variant("card"), variant("full", "jpeg")],
  original: { width: 10, height: null, fit: "inside", format: "webp", quality: null },
  externalUrls: false,
  linkLifetime: null
}
const file = (path: string, variants: readonly StoredVariant[] = []) => ({
  provider: "private",
  path,
  name: "a",
  size: 1,
  variants
})
const cells = (set: object) => (name: string) => (set as { readonly [name: string]: string })[name] ?? null

describe("what a file lacks", () => {
  it("is what its field declares and its record has not", () => {
    expect(lackingOf(field, file("_/a.png"), cells({}))).toEqual({
      variants: field.variants,
      derived: ["w", "bytes", "any"],
      placeholder: true
    })
    const all = { w: "1", bytes: "0", any: "x", hash: "h" }
    expect(lackingOf(field, file("_/a.png", [stored("full", "jpg")]), cells(all))).toEqual({
      variants: [field.variants[0]],
      derived: [],
      placeholder: false
    })
    expect(lackingOf(field, file("_/a.png", [stored("card"), stored("full", "jpg")]), cells(all))).toBeNull()
  })

  it("is a variant of another format, but none that only has another size", () => {
    const all = { w: "1", bytes: "0", any: "x", hash: "h" }
    const old = [stored("card", "avif"), stored("full", "jpg"), stored("gone")]
    expect(lackingOf(field, file("_/a.png", old), cells(all))?.variants).toEqual([field.variants[0]])
    expect(withVariants(file("_/a.png", old), [stored("card")])).toEqual({
      file: file("_/a.png", [stored("full", "jpg"), stored("gone"), stored("card")]),
      replaced: [stored("card", "avif")]
    })
  })

  it("is nothing of pixels for files that are not decoded", () => {
    for (const path of ["_/a.svg", "_/a.pdf", "_/a", "_/a.heic"]) {
      expect(lackingOf(field, file(path), cells({}))).toEqual({
        variants: [],
        derived: ["bytes", "any"],
        placeholder: false
      })
    }
    expect(lackingOf(field, file("_/a.txt"), cells({ bytes: "1", any: "1" }))?.derived).toEqual(["words"])
  })

  it("is all that is made of it", () => {
    const part = partOf(field, { variants: [variant("card")], derived: ["any"], placeholder: false })
    expect([part.variants, [...part.derive.keys()], part.placeholder, part.original]).toEqual([
      [variant("card")],
      ["any"],
      null,
      null
    ])
  })
})
