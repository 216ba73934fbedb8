// What a file field and `files` of a configuration may not say: each refusal names resource and field, and what to write instead.
import * as Result from "effect/Result"
import { describe, expect, it } from "vitest"
import { f } from "../declare/field.ts"
import { aspectRatio, filesEnvironment, fileSize, fileType, imageSize, processor } from "../declare/file.ts"
import { defineResource } from "../declare/resource.ts"
import { localFiles, s3Files } from "../file/provider.ts"
import { compileModels } from "./compile.ts"

const images = { _tag: "ImageProcessor", render: () => null } as const

const compile = (fields: object, files: unknown = { imageProcessor: images }, more: object = {}) =>
  compileModels({
    resources: [defineResource("docs", { primaryKey: "id", fields: { id: f.text(), ...fields }, ...more } as never)],
    ...(files === undefined ? {} : { files })
  } as never)

const refusals = (...args: Parameters<typeof compile>): string => {
  const compiled = compile(...args)
  if (Result.isSuccess(compiled)) return ""
  return compiled.failure.map(({ field, fix, message, resource }) =>
    `${resource ?? "-"}.${field ?? "-"} ${message} ${fix}`
  ).join("\n")
}

const hash = f.text().readOnly().optional()

describe("file fields", () => {
  it("have no lifetime of links at a public provider", () => {
    const files = (open: boolean) => ({ providers: { media: localFiles({ dir: "media", public: open }) } })
    const doc = f.file().storage("media").linkLifetime("10 minutes")
    expect(refusals({ doc }, files(true))).toContain("docs.doc The field has a linkLifetime(), and its provider")
    const compiled = Result.getOrThrow(compile({ doc }, files(false)))
    expect(compiled.models.get("docs")!.byName.get("doc")!.file).toMatchObject({ linkLifetime: 600 })
  })

  it("compile to what they say", () => {
    const compiled = Result.getOrThrow(compile({
      image: f.file().optional().public().accept(["image/*", "application/PDF"]).maxSize("1.5 MB").placeholder("hash")
        .derive({ w: imageSize("width"), ratio: aspectRatio(), bytes: fileSize(), type: fileType() })
        .variants({ card: { width: 10, height: 20, fit: "cover", format: "avif", quality: 50 } }, {
          original: { width: 100 }
        }),
      hash,
      w: f.integer().readOnly().optional(),
      ratio: f.decimal().readOnly().optional(),
      bytes: f.integer().bits(64).readOnly().optional(),
      type: f.text().readOnly().optional()
    }))
    expect(compiled.models.get("docs")!.byName.get("image")!.file).toEqual({
      accept: ["image/*", "application/pdf"],
      maxSize: 1_500_000,
      provider: "public",
      public: true,
      derive: new Map([["w", { of: "width" }], ["ratio", { of: "ratio", decimals: 4 }], ["bytes", { of: "size" }], [
        "type",
        { of: "type" }
      ]]),
      placeholder: "hash",
      variants: [{ name: "card", width: 10, height: 20, fit: "cover", format: "avif", quality: 50 }],
      original: { width: 100, height: null, fit: "inside", format: "webp", quality: null },
      externalUrls: false,
      linkLifetime: null
    })
    const plain = Result.getOrThrow(compile({ doc: f.file() }, undefined))
    expect(plain.models.get("docs")!.byName.get("doc")!.file).toMatchObject({
      accept: null,
      maxSize: 50_000_000,
      provider: "private"
    })
    expect([...plain.files.providers.keys()]).toEqual(["private"])
  })

  it("hold a list where they are declared so, which begins with none unless it is optional", () => {
    const { models } = Result.getOrThrow(compile({
      photos: f.files().accept(["image/*"]).variants({ card: { width: 10 } }, { original: { width: 100 } }),
      few: f.files().optional().max(3).externalUrls(),
      imported: f.files().readOnly()
    }))
    const field = (name: string) => models.get("docs")!.byName.get(name)!
    expect(field("photos")).toMatchObject({
      kind: "list",
      of: { kind: "text", max: null },
      max: 20,
      optional: false,
      default: { value: [] },
      file: { accept: ["image/*"], placeholder: null, derive: new Map(), original: { width: 100 } }
    })
    expect(field("few")).toMatchObject({ kind: "list", max: 3, optional: true, default: null })
    expect(field("few").file).toMatchObject({ externalUrls: true })
    expect(field("imported")).toMatchObject({ readOnly: true, default: { value: [] } })
  })

  it.each([0, 101, 2.5, "many"])("are no lists of %s files", (most) => {
    expect(refusals({ doc: f.files().max(most as number) })).toContain(
      "is not a number of files. Write a whole number from 1 to 100"
    )
  })

  it("of a list set nothing in other fields, have no default, and are not filtered", () => {
    const loose = f.files() as unknown as { readonly [modifier: string]: (value?: unknown) => unknown }
    expect(refusals({ doc: loose["derive"]!({ hash: fileType() }), hash })).toBe(
      "docs.doc A list of files cannot have derive(): it writes a field of the record for one file. Remove it, or use f.file()."
    )
    expect(refusals({ doc: loose["placeholder"]!("hash"), hash })).toContain(
      "A list of files cannot have placeholder()"
    )
    expect(refusals({ doc: loose["default"]!([]) })).toContain("A file field cannot have a default")
    for (const name of ["filterable", "sortable", "sensitive"]) {
      expect(refusals({ doc: loose[name]!() })).toContain(`A file field cannot be ${name}. Remove ${name}().`)
    }
    expect(refusals({ doc: f.files().storage("archive") })).toContain("SERVICE_FILES_ARCHIVE")
    expect(refusals({ doc: f.file().derive({ other: fileSize() }), other: f.files() })).toContain(
      "which is a file field"
    )
  })

  const spec = (changes: object) => {
    const field = f.file()
    return { _tag: "Field", spec: { ...field.spec, ...changes } }
  }
  it.each<[string, object, string]>([
    ["filterable", { doc: spec({ filterable: true }) }, "cannot be filterable"],
    ["sortable", { doc: spec({ sortable: true }) }, "cannot be sortable"],
    ["searched", { doc: spec({ searched: true }) }, "searched"],
    ["sensitive", { doc: spec({ sensitive: true }) }, "cannot be sensitive"],
    ["an alias", { doc: spec({ alias: "paper", filterable: true }) }, "alias"],
    ["a default", { doc: spec({ default: { value: "x" } }) }, "default"],
    ["no type", { doc: f.file().accept([]) }, "no list of types"],
    ["a type that nothing has", { doc: f.file().accept(["image/pgn"]) }, "no file ever has"],
    ["an extension for a type", { doc: f.file().accept([".png"]) }, "Did you mean \"image/png\"?"],
    ["no size", { doc: f.file().maxSize("big") }, "is no size"],
    ["nothing as its size", { doc: f.file().maxSize(0) }, "is no size"],
    ["no lifetime of links", { doc: f.file().linkLifetime("soon") }, "linkLifetime(\"soon\") is no lifetime"],
    ["links that live too short", { doc: f.file().linkLifetime("4m") }, "from \"5 minutes\" to \"2 hours\""],
    ["links that live too long", { doc: f.file().linkLifetime("1d") }, "from \"5 minutes\" to \"2 hours\""],
    ["ends of public links", { doc: f.file().public().linkLifetime("1h") }, "public() and has a linkLifetime()"],
    ["two places", { doc: f.file().public().storage("archive") }, "public() and has a storage()"],
    ["a place with a bad name", { doc: f.file().storage("My Files") }, "not a provider's name"],
    ["a place that nobody configured", { doc: f.file().storage("archive") }, "SERVICE_FILES_ARCHIVE"],
    [
      "a derived field that is not there",
      { doc: f.file().derive({ nothing: fileSize() }) },
      "\"nothing\", which is not a declared field"
    ],
    [
      "a derived field that callers write",
      { doc: f.file().derive({ n: fileSize() }), n: f.integer().optional() },
      "Add readOnly()"
    ],
    [
      "a derived field of the wrong kind",
      { doc: f.file().derive({ hash: fileSize() }), hash },
      "Declare it with f.integer()"
    ],
    [
      "a derived file",
      { doc: f.file().derive({ other: fileSize() }), other: f.file().optional() },
      "which is a file field"
    ],
    ["no processor", { doc: f.file().derive({ hash: "width" as never }), hash }, "not a processor"],
    ["a processor without run", { doc: f.file().derive({ hash: processor({} as never) }), hash }, "no function run"],
    [
      "a side that images do not have",
      { doc: f.file().derive({ hash: imageSize("depth" as never) }), hash },
      "no processor that there is"
    ],
    [
      "a placeholder that is required",
      { doc: f.file().placeholder("p"), p: f.text().readOnly().dbDefault() },
      "Add optional()"
    ],
    [
      "a placeholder that is no text",
      { doc: f.file().placeholder("p"), p: f.integer().readOnly().optional() },
      "no text"
    ],
    [
      "one target twice",
      { doc: f.file().placeholder("hash").derive({ hash: fileType() }), hash },
      "named by derive and placeholder"
    ],
    ["a target of two files", {
      doc: f.file().derive({ hash: fileType() }),
      other: f.file().derive({ hash: fileType() }),
      hash
    }, "uploads of \"doc\", too"],
    ["a variant with a bad name", { doc: f.file().variants({ "Big One": {} }) }, "not a variant's name"],
    [
      "a variant that covers a line",
      { doc: f.file().variants({ card: { width: 10, fit: "cover" } }) },
      "one side is not given"
    ],
    ["a variant of an unknown format", { doc: f.file().variants({ card: { format: "gif" as never } }) }, "card.format"],
    ["a quality that there is not", { doc: f.file().variants({ card: { quality: 101 } }) }, "card.quality"],
    ["a width that there is not", { doc: f.file().variants({ card: { width: 0 } }) }, "card.width"],
    ["an unknown word in a variant", { doc: f.file().variants({ card: { widht: 5 } as never }) }, "card.widht"]
  ])("do not take %s", (_, fields, message) => {
    const text = refusals(fields)
    expect(text).toContain(message)
    expect(text).toContain("docs.")
  })

  it.each(["primaryKey", "owner", "tenant", "softDelete", "version"])("are no %s", (role) => {
    expect(refusals({ doc: f.file() }, undefined, { [role]: "doc" })).toMatch(/docs\.doc A file field cannot be/)
  })

  it("are refused with a reason where no types keep anybody from saying what they cannot be", () => {
    const loose = f.file() as unknown as { readonly [modifier: string]: (value?: unknown) => unknown }
    for (const name of ["filterable", "sortable", "searched", "sensitive"]) {
      expect(refusals({ doc: loose[name]!() }, undefined)).toMatch(
        new RegExp(`^docs\\.doc (?:A file field cannot be ${name}|${name}\\(\\) is for .*)\\. Remove ${name}\\(\\)\\.$`)
      )
    }
    expect(refusals({ doc: loose["alias"]!("d") }, undefined)).toContain("A file field cannot have an alias.")
    expect(refusals({ doc: loose["default"]!("d") }, undefined)).toContain("A file field cannot have a default")
    expect(refusals({ doc: loose["dbDefault"]!() }, undefined)).toContain("A file field cannot have a default")
  })

  it("need an image processor where images are decoded", () => {
    for (
      const field of [
        f.file().variants({ card: {} }),
        f.file().placeholder("hash"),
        f.file().derive({ w: imageSize("width") })
      ]
    ) {
      expect(refusals({ doc: field, hash, w: f.integer().readOnly().optional() }, {})).toContain(
        "files: { imageProcessor: sharpImages() }"
      )
    }
    expect(refusals({ doc: f.file().derive({ hash: fileType() }), hash }, undefined)).toBe("")
  })
})

describe("files of a configuration", () => {
  it.each<[unknown, string]>([
    [5, "files is 5"],
    [{ provider: {} }, "files.provider"],
    [{ providers: 5 }, "files.providers is 5"],
    [{ providers: { Archive: localFiles({ dir: "x" }) } }, "not a provider's name"],
    [{ providers: { archive: { dir: "x" } } }, "is no provider"],
    [{ providers: { "a-b": localFiles({ dir: "x" }), a_b: localFiles({ dir: "y" }) } }, "have one variable"],
    [{ providers: { cloud: s3Files({ bucket: "my-bucket", accessKeyId: "A" }) } }, "Give both keys"],
    [{ retention: "soon" }, "files.retention"],
    [{ secret: "short" }, "files.secret"],
    [{ imageProcessor: {} }, "sharpImages()"],
    [{ trustedHosts: ["https://images.example.com"] }, "files.trustedHosts"],
    [{ trustedHosts: ["Images.example.com"] }, "files.trustedHosts"]
  ])("refuses %j", (files, message) => expect(refusals({ doc: f.file() }, files)).toContain(message))

  it("takes providers from the environment before those of the code", () => {
    const files = {
      providers: { archive: localFiles({ dir: "code" }) },
      [filesEnvironment]: {
        SERVICE_FILES_ARCHIVE: "file:///environment?retention=0",
        SERVICE_FILES_OTHER: "file:///other"
      }
    }
    const compiled = Result.getOrThrow(compile({ doc: f.file().storage("archive"), more: f.file() }, files))
    expect([...compiled.files.providers].map(([name, { place, retention }]) => [name, place, retention])).toEqual([
      ["archive", { of: "local", dir: "/environment" }, 0],
      ["private", { of: "local", dir: "data/files/private" }, null]
    ])
    expect(refusals({ doc: f.file().storage("archive") }, { [filesEnvironment]: { SERVICE_FILES_ARCHIVE: "ftp://x" } }))
      .toContain("SERVICE_FILES_ARCHIVE is no address")
  })
})
