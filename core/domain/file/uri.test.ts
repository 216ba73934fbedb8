import { describe, expect, it } from "vitest"
import {
  extensionOf,
  externalName,
  isExternalUrl,
  isProviderName,
  isStoredPath,
  pathsOf,
  readStored,
  tenantFolder,
  tenantOfFolder,
  variantPath,
  writeStored
} from "./uri.ts"
import type { StoredFile } from "./uri.ts"

const file = (more: Partial<StoredFile> = {}): StoredFile => ({
  provider: "private",
  path: "t1/abc.pdf",
  name: "Bericht März & Co?.pdf",
  size: 12_345,
  variants: [],
  ...more
})

describe("stored values", () => {
  it("have the documented form", () => {
    expect(writeStored(file({ name: "a b.pdf" }))).toBe("private:t1/abc.pdf?name=a%20b.pdf&size=12345")
    const variants = [
      { name: "card", extension: "webp", width: 300, height: 200 },
      { name: "full", extension: "jpg", width: 1_600, height: 1_067 }
    ]
    expect(writeStored(file({ name: "a.png", variants }))).toBe(
      "private:t1/abc.pdf?name=a.png&size=12345&variants=card.webp,full.jpg&sizes=300x200,1600x1067"
    )
  })

  it.each<[string, StoredFile]>([
    ["plain", file()],
    ["without size", file({ size: null })],
    ["of a tenant with sub-folders", file({ path: "t1/2024/05/März.pdf" })],
    ["with everything in its name", file({ name: "?&=#%+ \"'<>/文件.tar.gz" })],
    ["with variants", file({ variants: [{ name: "card", extension: "webp", width: 1, height: 2 }] })],
    [
      "with variants of unknown size",
      file({ variants: [{ name: "card", extension: "webp", width: null, height: null }] })
    ]
  ])("are read as they were written: %s", (_, value) => {
    expect(readStored(writeStored(value))).toEqual(value)
  })

  it("may be plain: the name is the path's last segment", () => {
    expect(readStored("archive:t1/old/scan.pdf")).toEqual({
      provider: "archive",
      path: "t1/old/scan.pdf",
      name: "scan.pdf",
      size: null,
      variants: []
    })
  })

  it.each([
    "",
    "private",
    ":t1/a.pdf",
    "private:",
    "private:a.pdf",
    "Private:t1/a.pdf",
    "https:t1/a.pdf",
    "https://host/a.pdf",
    "private:/t1/a.pdf",
    "private:t1//a.pdf",
    "private:t1/../a.pdf",
    "private:../t1/a.pdf",
    "private:t1/.",
    "private:.cleanup/a.json",
    "private:.tmp/a",
    "private:t1/.hidden",
    "private:t1\\a.pdf",
    "private:t1/a\u0000.pdf",
    "private:t1/a\n.pdf",
    "private:t1/\u202egpj.pdf",
    "private:t1/\ud800.pdf",
    "private:t1/a.pdf?name",
    "private:t1/a.pdf?name=%zz",
    "private:t1/a.pdf?size=-1",
    "private:t1/a.pdf?size=1e3",
    "private:t1/a.pdf?size=1234567890123456",
    "private:t1/a.pdf?variants=card",
    "private:t1/a.pdf?variants=../x.webp",
    "private:t1/a.pdf?variants=card.webp&sizes=1x1,2x2",
    "private:t1/a.pdf?variants=card.webp&sizes=0x1",
    "private:t1/a.pdf?sizes=1x1",
    `private:t1/${"a".repeat(600)}.pdf`
  ])("are nothing else: %j", (text) => {
    expect(readStored(text)).toBeNull()
  })

  it("name the paths of a file and its variants", () => {
    const variants = [{ name: "card", extension: "webp", width: 3, height: 2 }]
    expect(pathsOf(file({ variants }))).toEqual(["t1/abc.pdf", "t1/abc.pdf.card.webp"])
    expect(variantPath("_/x.png", "full", "avif")).toBe("_/x.png.full.avif")
  })
})

describe("paths", () => {
  it.each([["t1/a.pdf", true], ["_/a", true], ["a", false], ["", false], ["t1/", false], ["t1/a/..", false], [
    "./a",
    false
  ]])(
    "%j",
    (path, fits) => expect(isStoredPath(path)).toBe(fits)
  )

  it("have the tenant's text for a folder, where it is a plain one", () => {
    expect(["7", "acme-eu", "_"].map(tenantFolder)).toEqual(["7", "acme-eu", "~5f"])
    expect(tenantFolder(null)).toBe("_")
    for (const tenant of ["..", ".", "a/b", "a\\b", "", "ü", "a b", "~5f", "x".repeat(65)]) {
      expect(tenantFolder(tenant)).toMatch(/^~[0-9a-f]*$/)
    }
    expect(new Set(["_", "~5f", "5f", "ü", ".."].map(tenantFolder)).size).toBe(5)
  })

  it.each([1, 64, 65, 120, 121, 200])(
    "of a tenant of any %d bytes fit into a file system, and tell the tenant",
    (bytes) => {
      for (
        const tenant of [
          "x".repeat(bytes),
          `${"x".repeat(bytes - 1)}.`,
          `${"ü".repeat(bytes >> 1)}${bytes % 2 === 1 ? "/" : ""}`
        ]
      ) {
        const path = `${tenantFolder(tenant)}/abc.pdf.${"n".repeat(40)}.webp`
        expect(isStoredPath(path)).toBe(true)
        expect(path.split("/").every((segment) => segment.length <= 255)).toBe(true)
        expect(tenantOfFolder(path)).toBe(tenant)
      }
      expect(tenantOfFolder("~6~/~61/a.pdf")).toBeNull()
      expect(tenantOfFolder("~61~/a.pdf")).toBeNull()
      expect(tenantOfFolder("~61/~62/a.pdf")).toBe("a")
    }
  )

  it.each([["a.PDF", "pdf"], ["t.1/a", ""], [".env", ""], ["a.tar.gz", "gz"], ["a.", ""]])(
    "extension of %j",
    (path, extension) => {
      expect(extensionOf(path)).toBe(extension)
    }
  )

  it("name providers in lower case, and not like what other readers know", () => {
    expect(["private", "archive-2", "a_b"].every(isProviderName)).toBe(true)
    for (const name of ["", "A", "1a", "a.b", "https", "data", "javascript", "x".repeat(33)]) {
      expect(isProviderName(name)).toBe(false)
    }
  })
})

describe("external URLs", () => {
  it.each([
    "https://host.example/a/b.png",
    "https://host.example",
    "https://HOST.example:8443/a%20b.png?x=1&y=2#top",
    "https://192.0.2.1/a.png",
    "https://[2001:db8::1]/a.png"
  ])("takes %s", (url) => expect(isExternalUrl(url)).toBe(true))

  it.each([
    "http://host.example/a.png",
    "HTTP://host.example/a.png",
    "data:image/png;base64,AAAA",
    "javascript:alert(1)",
    "//host.example/a.png",
    "https:host.example/a.png",
    "https:///a.png",
    "https://",
    "https://user@host.example/a.png",
    "https://user:secret@host.example/a.png",
    "https://@host.example/a.png",
    "https://host.example/a b.png",
    "https://host.example/\u00fc.png",
    "https://host.example/a\".png",
    "https://host.example/<script>",
    "https://host.example/a\\b.png",
    "https://host.example/a?q='x'",
    "https://host.example/\n",
    " https://host.example/a.png",
    "https://host.example:99999/a.png",
    `https://host.example/${"a".repeat(2_100)}`
  ])("refuses %j", (url) => expect(isExternalUrl(url)).toBe(false))

  it.each([
    ["https://h.example/a/B%C3%A4r.PNG?x=y.pdf", { name: "Bär.PNG", extension: "png" }],
    ["https://h.example/", { name: "file", extension: "" }],
    ["https://h.example/a%E2%80%AEgpj.exe", { name: "a%E2%80%AEgpj.exe", extension: "exe" }],
    ["https://h.example/%zz.pdf", { name: "%zz.pdf", extension: "pdf" }]
  ])("shows name and extension of %s", (url, expected) => expect(externalName(url)).toEqual(expected))
})
