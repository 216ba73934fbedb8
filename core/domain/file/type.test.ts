import { describe, expect, it } from "vitest"
import { decideType, extensionOfType, isAccepted, isInline, isSvg, isText, mediaType, typeOfExtension } from "./type.ts"

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)

describe("the type of a file", () => {
  const octet = "application/octet-stream"
  const docx = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
  type Row = readonly [
    content: string | null,
    text: boolean,
    extension: string,
    declared: string | null,
    accept: readonly string[] | null,
    type: string,
    from: string | null
  ]
  it.each<Row>([
    // recognized: the content wins, and the answer says so
    ["image/png", false, "png", "image/png", null, "image/png", null],
    ["image/png", false, "jpg", "image/jpeg", null, "image/png", "image/jpeg"],
    ["image/png", false, "png", "image/jpeg", null, "image/png", "image/jpeg"],
    ["image/png", false, "", null, null, "image/png", null],
    ["image/png", false, "weird", octet, null, "image/png", null],
    ["image/jpeg", false, "jpeg", "image/jpg", null, "image/jpeg", null],
    [
      "application/x-msdownload",
      false,
      "pdf",
      "application/pdf",
      ["application/pdf"],
      "application/x-msdownload",
      "application/pdf"
    ],
    ["application/zip", false, "docx", docx, null, "application/zip", docx],
    ["application/x-cfb", false, "doc", "application/msword", null, "application/msword", null],
    ["application/x-cfb", false, "txt", null, null, "application/x-cfb", "text/plain"],
    ["audio/ogg; codecs=opus", false, "opus", "audio/opus", null, "audio/ogg", null],
    ["video/MP1S", false, "mpg", null, null, "video/mpeg", null],
    ["application/x-nobody-knows", false, "png", null, null, octet, "image/png"],
    ["application/pdf", true, "pdf", null, null, "application/pdf", null],
    // two letters that text begins with by chance
    ["image/bmp", true, "txt", null, null, "text/plain", null],
    ["image/bmp", false, "bmp", null, null, "image/bmp", null],
    ["application/x-msdownload", true, "md", null, null, "text/markdown", null],
    // text
    [null, true, "csv", "application/vnd.ms-excel", null, "text/csv", null],
    [null, true, "json", null, null, "application/json", null],
    [null, true, "md", "text/plain", null, "text/markdown", null],
    [null, true, "", "text/csv", null, "text/csv", null],
    [null, true, "", "application/json; charset=utf-8", null, "application/json", null],
    [null, true, "", "text/html", null, "text/plain", "text/html"],
    [null, true, "html", "text/html", null, "text/plain", "text/html"],
    [null, true, "svg", "image/svg+xml", ["image/*"], "text/plain", "image/svg+xml"],
    ["application/xml", true, "svg", "image/svg+xml", ["image/svg+xml"], "text/plain", "image/svg+xml"],
    [null, true, "png", "image/png", ["image/png"], "text/plain", "image/png"],
    [null, true, "js", "text/javascript", null, "text/plain", "text/javascript"],
    [null, true, "log", null, null, "text/plain", null],
    // binary
    [null, false, "dwg", null, ["image/vnd.dwg"], "image/vnd.dwg", null],
    [null, false, "dwg", "image/vnd.dwg", ["image/vnd.dwg"], "image/vnd.dwg", null],
    [null, false, "dwg", "image/png", ["image/vnd.dwg"], octet, "image/vnd.dwg"],
    [null, false, "dwg", null, ["image/*"], octet, "image/vnd.dwg"],
    [null, false, "dwg", null, null, octet, "image/vnd.dwg"],
    [null, false, "png", "image/png", ["image/*"], octet, "image/png"],
    [null, false, "", null, null, octet, null],
    [null, false, "bin", octet, null, octet, null]
  ])(
    "content %s, text %s, name .%s, Content-Type %s, accept %j: %s",
    (content, text, extension, declared, accept, type, from) => {
      expect(decideType({ content, text, extension, declared }, accept)).toEqual({
        type,
        corrected: from === null ? null : { from, to: type }
      })
    }
  )

  it.each<[boolean, string, string | null, readonly string[] | null, string]>([
    [true, "svg", "image/svg+xml", ["image/svg+xml"], "image/svg+xml"],
    [true, "svg", null, ["image/*", "image/svg+xml"], "image/svg+xml"],
    [true, "", "image/svg+xml", ["image/svg+xml"], "image/svg+xml"],
    [true, "svg", "text/plain", ["image/svg+xml"], "image/svg+xml"],
    [true, "txt", "image/svg+xml", ["image/svg+xml"], "text/plain"],
    [true, "svg", "image/svg+xml", ["image/*"], "text/plain"],
    [true, "svg", "image/svg+xml", ["*/*"], "text/plain"],
    [true, "svg", "image/svg+xml", null, "text/plain"],
    [false, "svg", "image/svg+xml", ["image/svg+xml"], "text/plain"]
  ])("takes an SVG for one only where accept names it: %s .%s %s %j: %s", (svg, extension, declared, accept, type) => {
    for (const content of [null, "application/xml"]) {
      expect(decideType({ content, text: true, svg, extension, declared }, accept).type).toBe(type)
    }
  })

  it("tells an SVG by its first element", () => {
    for (
      const svg of [
        "<svg/>",
        "\uFEFF <svg xmlns='http://www.w3.org/2000/svg'>",
        "<?xml version='1.0'?>\n<!-- <html> -->\n<!DOCTYPE svg PUBLIC '-//W3C//DTD SVG 1.1//EN' 'http://x'>\n<svg\nid='a'>",
        "<svg:svg xmlns:svg='http://www.w3.org/2000/svg'>"
      ]
    ) expect([svg, isSvg(bytes(svg))]).toEqual([svg, true])
    for (
      const other of [
        "",
        "svg",
        "<html><svg></svg></html>",
        "<!-- <svg> ",
        "<?xml",
        "<svgx>",
        "<a><svg>",
        "<!-->",
        "< svg>"
      ]
    ) {
      expect([other, isSvg(bytes(other))]).toEqual([other, false])
    }
    expect(isSvg(bytes("<!-- -->".repeat(8_000)))).toBe(false)
  })

  it.each<[readonly string[] | null, string, boolean]>([
    [null, "application/x-elf", true],
    [["*/*"], "application/octet-stream", true],
    [["image/*"], "image/png", true],
    [["image/*"], "image/svg+xml", false],
    [["image/svg+xml"], "image/svg+xml", true],
    [["image/png"], "image/jpeg", false],
    [["image/*"], "application/octet-stream", false],
    [["application/octet-stream"], "application/octet-stream", true],
    [[], "image/png", false]
  ])("accept %j and %s: %s", (accept, type, fits) => expect(isAccepted(accept, type)).toBe(fits))

  it("has one extension to store and serves by extension, and nothing as HTML or script", () => {
    expect(extensionOfType("image/jpeg")).toBe("jpg")
    expect(typeOfExtension("jpeg")).toBe("image/jpeg")
    for (
      const extension of ["html", "htm", "xhtml", "js", "mjs", "css", "shtml", "php", "", "constructor", "__proto__"]
    ) {
      expect(typeOfExtension(extension)).toBe("application/octet-stream")
    }
    for (const type of ["image/png", "application/pdf", "audio/mpeg", "video/mp4"]) {
      expect([typeOfExtension(extensionOfType(type)), isInline(type)]).toEqual([type, true])
    }
    for (const type of ["image/svg+xml", "text/plain", "application/xml", "application/zip"]) {
      expect(isInline(type)).toBe(false)
    }
  })

  it.each([[null, null], ["", null], ["image", null], ["IMAGE/PNG; q=1", "image/png"], ["image/jpg", "image/jpeg"], [
    "a/b\r\nx: y",
    null
  ]])(
    "media type %j is %j",
    (raw, type) => expect(mediaType(raw)).toBe(type)
  )

  it("takes UTF-8 without NUL for text, also cut within a character", () => {
    expect(isText(bytes("plain, ünï 😀"), true)).toBe(true)
    expect(isText(bytes(""), true)).toBe(true)
    expect(isText(bytes("a\u0000b"), true)).toBe(false)
    expect(isText(new Uint8Array([0xff, 0xfe, 0x41, 0x00]), true)).toBe(false)
    expect(isText(bytes("😀").subarray(0, 2), false)).toBe(true)
    expect(isText(bytes("😀").subarray(0, 2), true)).toBe(false)
  })
})
