// Real files against the table of the specification: what each is taken for under its own name, under lies, and whether fields accept it.
import { beforeAll, describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import sharp from "sharp"
import { makeDetector } from "../../adapters/detector/detector.ts"
import { decideType, extensionOfType, isAccepted, isText, typeOfExtension } from "../../core/domain/file/type.ts"
import type { DecidedType } from "../../core/domain/file/type.ts"

/** A stored (not compressed) zip with the given entries. */
const zip = (entries: ReadonlyArray<readonly [name: string, text: string]>): Buffer => {
  const local: Buffer[] = []
  const central: Buffer[] = []
  let at = 0
  for (const [name, text] of entries) {
    const [path, data] = [Buffer.from(name), Buffer.from(text)]
    const head = Buffer.alloc(30)
    head.writeUInt32LE(0x04034b50, 0)
    head.writeUInt16LE(20, 4)
    head.writeUInt32LE(data.length, 18)
    head.writeUInt32LE(data.length, 22)
    head.writeUInt16LE(path.length, 26)
    const entry = Buffer.alloc(46)
    entry.writeUInt32LE(0x02014b50, 0)
    entry.writeUInt16LE(20, 6)
    entry.writeUInt32LE(data.length, 20)
    entry.writeUInt32LE(data.length, 24)
    entry.writeUInt16LE(path.length, 28)
    entry.writeUInt32LE(at, 42)
    local.push(head, path, data)
    central.push(entry, path)
    at += 30 + path.length + data.length
  }
  const size = central.reduce((sum, part) => sum + part.length, 0)
  const end = Buffer.alloc(22)
  end.writeUInt32LE(0x06054b50, 0)
  end.writeUInt16LE(entries.length, 8)
  end.writeUInt16LE(entries.length, 10)
  end.writeUInt32LE(size, 12)
  end.writeUInt32LE(at, 16)
  return Buffer.concat([...local, ...central, end])
}

const office = (part: string, main: string): Buffer =>
  zip([
    [
      "[Content_Types].xml",
      `<?xml version="1.0"?><Types><Override PartName="/${part}" ContentType="application/vnd.openxmlformats-officedocument.${main}.main+xml"/></Types>`
    ],
    [part, "<x/>"]
  ])
const mimed = (type: string): Buffer => zip([["mimetype", type], ["content.xml", "<x/>"]])
const hex = (text: string, more = 64): Buffer =>
  Buffer.concat([Buffer.from(text.replaceAll(" ", ""), "hex"), Buffer.alloc(more)])
const latin = (text: string, more = 64): Buffer => Buffer.concat([Buffer.from(text, "latin1"), Buffer.alloc(more)])
const box = (brand: string): Buffer =>
  Buffer.concat([
    hex("00000018", 0),
    Buffer.from(`ftyp${brand}`),
    hex("00000000", 0),
    Buffer.from("mp42isom"),
    Buffer.alloc(64)
  ])
const riff = (kind: string): Buffer =>
  Buffer.concat([Buffer.from("RIFF"), hex("24000000", 0), Buffer.from(kind), Buffer.alloc(64)])
const text = (content: string): Buffer => Buffer.from(content)
const word = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"

type Row = readonly [name: string, bytes: () => Buffer | Promise<Buffer>, type: string]
const picture = (format: "png" | "jpeg" | "webp" | "avif" | "gif" | "tiff") => () =>
  sharp({ create: { width: 24, height: 16, channels: 3, background: { r: 10, g: 200, b: 90 } } }).toFormat(format)
    .toBuffer()

const octet = "application/octet-stream"
const files: readonly Row[] = [
  ["a.png", picture("png"), "image/png"],
  ["a.jpg", picture("jpeg"), "image/jpeg"],
  ["a.jpeg", picture("jpeg"), "image/jpeg"],
  ["a.webp", picture("webp"), "image/webp"],
  ["a.avif", picture("avif"), "image/avif"],
  ["a.gif", picture("gif"), "image/gif"],
  ["a.tif", picture("tiff"), "image/tiff"],
  // Its directory stands behind more than is looked at.
  [
    "scan.tif",
    () =>
      sharp({ create: { width: 300, height: 300, channels: 3, background: "red" } }).tiff({ compression: "none" })
        .toBuffer(),
    "image/tiff"
  ],
  ["a.bmp", () => hex("424d 8a000000 00000000 7a000000 6c000000"), "image/bmp"],
  ["a.ico", () => hex("00000100 0100 1010 0000 0100 2000"), "image/x-icon"],
  ["a.psd", () => latin("8BPS\0\x01"), "image/vnd.adobe.photoshop"],
  ["a.heic", () => box("heic"), "image/heic"],
  ["a.jxl", () => hex("0000000c 4a584c20 0d0a870a"), "image/jxl"],
  ["a.jp2", () => hex("0000000c 6a502020 0d0a870a 00000014 66747970 6a703220"), "image/jp2"],
  ["a.icns", () => latin("icns\0\0\x01\0"), "image/icns"],
  ["a.pdf", () => latin("%PDF-1.7\n%\xe2\xe3\xcf\xd3\n"), "application/pdf"],
  ["plain.pdf", () => text("%PDF-1.4\n1 0 obj\n<<>>\nendobj\n"), "application/pdf"],
  ["a.ps", () => text("%!PS-Adobe-3.0\n%%Pages: 1\n"), "application/postscript"],
  ["a.rtf", () => text("{\\rtf1\\ansi hello}"), "application/rtf"],
  ["a.docx", () => office("word/document.xml", "wordprocessingml.document"), word],
  [
    "a.xlsx",
    () => office("xl/workbook.xml", "spreadsheetml.sheet"),
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
  ],
  [
    "a.pptx",
    () => office("ppt/presentation.xml", "presentationml.presentation"),
    "application/vnd.openxmlformats-officedocument.presentationml.presentation"
  ],
  ["a.odt", () => mimed("application/vnd.oasis.opendocument.text"), "application/vnd.oasis.opendocument.text"],
  [
    "a.ods",
    () => mimed("application/vnd.oasis.opendocument.spreadsheet"),
    "application/vnd.oasis.opendocument.spreadsheet"
  ],
  [
    "a.odp",
    () => mimed("application/vnd.oasis.opendocument.presentation"),
    "application/vnd.oasis.opendocument.presentation"
  ],
  ["a.epub", () => mimed("application/epub+zip"), "application/epub+zip"],
  [
    "a.jar",
    () => zip([["META-INF/MANIFEST.MF", "Manifest-Version: 1.0"], ["A.class", "x"]]),
    "application/java-archive"
  ],
  ["a.zip", () => zip([["readme.txt", "hello"]]), "application/zip"],
  ["a.doc", () => hex("d0cf11e0a1b11ae1", 512), "application/msword"],
  ["a.xls", () => hex("d0cf11e0a1b11ae1", 512), "application/vnd.ms-excel"],
  ["a.ppt", () => hex("d0cf11e0a1b11ae1", 512), "application/vnd.ms-powerpoint"],
  ["a.msg", () => hex("d0cf11e0a1b11ae1", 512), "application/vnd.ms-outlook"],
  ["a.cfb", () => hex("d0cf11e0a1b11ae1", 512), "application/x-cfb"],
  ["a.gz", () => hex("1f8b0800000000000003"), "application/gzip"],
  ["a.bz2", () => hex("425a6839 314159265359"), "application/x-bzip2"],
  ["a.xz", () => hex("fd377a585a00"), "application/x-xz"],
  ["a.zst", () => hex("28b52ffd"), "application/zstd"],
  ["a.lz4", () => hex("04224d18"), "application/x-lz4"],
  ["a.7z", () => hex("377abcaf271c"), "application/x-7z-compressed"],
  ["a.rar", () => hex("526172211a0700"), "application/x-rar-compressed"],
  [
    "a.deb",
    () => text("!<arch>\ndebian-binary   1700000000  0     0     100644  4         `\n2.0\n"),
    "application/x-deb"
  ],
  ["a.cab", () => latin("MSCF\0\0\0\0"), "application/vnd.ms-cab-compressed"],
  ["a.rpm", () => hex("edabeedb0300"), "application/x-rpm"],
  ["a.exe", () => hex("4d5a90000300000004000000ffff0000", 128), "application/x-msdownload"],
  ["a.elf", () => hex("7f454c46020101"), "application/x-elf"],
  ["a.macho", () => hex("cffaedfe07000001"), "application/x-mach-binary"],
  ["a.wasm", () => hex("0061736d01000000"), "application/wasm"],
  ["a.class", () => hex("cafebabe00000034"), "application/java-vm"],
  ["a.swf", () => hex("43575309"), "application/x-shockwave-flash"],
  ["a.lnk", () => hex("4c00000001140200 00000000c000000000000046"), "application/x-ms-shortcut"],
  ["a.sqlite", () => latin("SQLite format 3\0"), "application/x-sqlite3"],
  ["a.parquet", () => latin("PAR1\x15\0"), "application/vnd.apache.parquet"],
  ["a.avro", () => hex("4f626a01"), "application/avro"],
  ["a.pcap", () => hex("d4c3b2a102000400"), "application/vnd.tcpdump.pcap"],
  ["a.woff", () => hex("774f464600010000"), "font/woff"],
  ["a.woff2", () => hex("774f463200010000"), "font/woff2"],
  ["a.ttf", () => hex("0001000000120100"), "font/ttf"],
  ["a.otf", () => hex("4f54544f00"), "font/otf"],
  ["a.glb", () => latin("glTF\x02\0\0\0"), "model/gltf-binary"],
  ["a.mp3", () => hex("fffb9064", 512), "audio/mpeg"],
  ["id3.mp3", () => Buffer.concat([hex("49443303000000000000", 0), hex("fffb9064", 512)]), "audio/mpeg"],
  ["a.wav", () => riff("WAVE"), "audio/wav"],
  ["a.flac", () => latin("fLaC\0\0\0\x22"), "audio/flac"],
  ["a.mid", () => latin("MThd\0\0\0\x06"), "audio/midi"],
  ["a.amr", () => latin("#!AMR\n"), "audio/amr"],
  ["a.m4a", () => box("M4A "), "audio/mp4"],
  [
    "a.aiff",
    () => Buffer.concat([Buffer.from("FORM"), hex("00000024", 0), Buffer.from("AIFF"), Buffer.alloc(64)]),
    "audio/aiff"
  ],
  ["a.mp4", () => box("isom"), "video/mp4"],
  ["a.mov", () => box("qt  "), "video/quicktime"],
  ["a.avi", () => riff("AVI "), "video/vnd.avi"],
  ["a.flv", () => hex("464c5601050000000900"), "video/x-flv"],
  ["a.3gp", () => box("3gp4"), "video/3gpp"],
  ["a.webm", () => hex("1a45dfa39f4286810142f7810142f2810442f381084282847765626d"), "video/webm"],
  ["a.ics", () => text("BEGIN:VCALENDAR\r\nVERSION:2.0\r\nEND:VCALENDAR\r\n"), "text/calendar"],
  ["a.vcf", () => text("BEGIN:VCARD\r\nVERSION:3.0\r\nEND:VCARD\r\n"), "text/vcard"],
  ["a.csv", () => text("a,b\n1,2\n"), "text/csv"],
  ["a.tsv", () => text("a\tb\n1\t2\n"), "text/tab-separated-values"],
  ["a.txt", () => text("Grüße 😀\n"), "text/plain"],
  ["a.md", () => text("# Title\n"), "text/markdown"],
  ["a.json", () => text("{\"a\": 1}\n"), "application/json"],
  ["empty.txt", () => text(""), "text/plain"],
  ["a.html", () => text("<!doctype html><script>alert(1)</script>"), "text/plain"],
  ["a.svg", () => text("<svg xmlns='http://www.w3.org/2000/svg'><script/></svg>"), "text/plain"],
  ["declared.svg", () => text("<?xml version='1.0'?><svg xmlns='http://www.w3.org/2000/svg'/>"), "text/plain"],
  ["a.xml", () => text("<?xml version='1.0'?><x/>"), "text/plain"],
  ["a.js", () => text("alert(1)"), "text/plain"],
  ["a.sh", () => text("#!/bin/sh\nrm -rf /\n"), "text/plain"],
  ["BMW.txt", () => text("BMW is a car."), "text/plain"],
  ["MZ.txt", () => text("MZ is not a program."), "text/plain"],
  ["utf16.txt", () => Buffer.concat([hex("fffe", 0), Buffer.from("hello", "utf16le")]), octet],
  ["nul.txt", () => text("a\0b"), octet],
  ["random.bin", () => hex("9e81d3c4e5f60718", 0), octet],
  ["random.png", () => hex("9e81d3c4e5f60718", 0), octet],
  // polyglots
  [
    "script.gif",
    () =>
      Buffer.concat([Buffer.from("GIF89a/*"), hex("0100010080", 0), Buffer.from("*/=1;alert(1)//"), hex("003b", 4)]),
    "image/gif"
  ],
  [
    "html.png",
    async () => Buffer.concat([await picture("png")(), Buffer.from("<html><script>alert(1)</script></html>")]),
    "image/png"
  ],
  ["junk.pdf", () => text("junk before\n%PDF-1.4\n"), "text/plain"]
]

const detector = makeDetector()

const decide = (
  bytes: Buffer,
  name: string,
  declared: string | null,
  accept: readonly string[] | null
): Effect.Effect<DecidedType> => {
  const dot = name.lastIndexOf(".")
  const extension = dot < 1 ? "" : name.slice(dot + 1)
  return Effect.map(
    detector.detect(bytes),
    (content) => decideType({ content, text: isText(bytes, true), extension, declared }, accept)
  )
}

describe("types of real files", () => {
  const made = new Map<string, Buffer>()
  beforeAll(async () => {
    for (const [name, bytes] of files) made.set(name, await bytes())
  })

  it("are at least seventy, of at least sixty types", () => {
    expect(files.length).toBeGreaterThanOrEqual(70)
    expect(new Set(files.map(([, , type]) => type)).size).toBeGreaterThanOrEqual(60)
  })

  it.effect.each(files)("%s", ([name, , type]) =>
    Effect.gen(function*() {
      const bytes = made.get(name)!
      expect((yield* decide(bytes, name, null, null)).type).toBe(type)
      // What it is stored with is what it is served as.
      expect(typeOfExtension(extensionOfType(type))).toBe(type)
      const recognized = (yield* detector.detect(bytes)) !== null && !isText(bytes, true)
      // A lie in the name: what the content says wins, and is reported.
      const lied = yield* decide(bytes, "x.pdf", null, ["application/pdf"])
      if (type !== "application/pdf") {
        expect(lied.type === "application/pdf" && recognized).toBe(false)
        if (recognized) expect(lied.corrected?.from).toBe("application/pdf")
      }
      // A lie in the Content-Type.
      const claimed = yield* decide(bytes, name, "image/png", null)
      if (recognized && type !== "image/png") expect(claimed.corrected).not.toBeNull()
      // What claims to be an image passes as one only when it is.
      const asImage = yield* decide(bytes, "x.png", "image/png", ["image/*"])
      expect(isAccepted(["image/*"], asImage.type)).toBe(type.startsWith("image/"))
      expect(isAccepted([type], type)).toBe(true)
      expect(asImage.type.includes("html") || asImage.type.includes("svg") || asImage.type.includes("javascript"))
        .toBe(false)
    }))
})
