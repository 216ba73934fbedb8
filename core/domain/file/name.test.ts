import { describe, expect, it } from "vitest"
import { cleanName, disposition, downloadName } from "./name.ts"

describe("names", () => {
  it.each([
    ["report.pdf", "report.pdf"],
    ["/etc/passwd", "passwd"],
    ["C:\\Users\\me\\report.pdf", "report.pdf"],
    ["../../up.txt", "up.txt"],
    ["a\r\nSet-Cookie: x=1.txt", "aSet-Cookie: x=1.txt"],
    ["evil\u202egpj.exe", "evilgpj.exe"],
    ["zero\u200bwidth\u2060\ufeff.txt", "zerowidth.txt"],
    ["  spaces.txt  ", "spaces.txt"],
    ["Zu\u0308rich.pdf", "Zürich.pdf"],
    ["", "file"],
    [".", "file"],
    ["..", "file"],
    ["a/", "file"],
    ["\u0000\u0007", "file"],
    [".gitignore", ".gitignore"],
    ["\ud800.txt", "\ufffd.txt"]
  ])("%j becomes %j", (sent, kept) => expect(cleanName(sent)).toBe(kept))

  it("have at most 255 bytes, whole characters, and keep their extension", () => {
    const long = cleanName(`${"ü".repeat(300)}.pdf`)
    expect(new TextEncoder().encode(long).length).toBeLessThanOrEqual(255)
    expect(long).toMatch(/^ü+\.pdf$/)
    expect(new TextEncoder().encode(cleanName("😀".repeat(100))).length).toBe(252)
  })

  it.each([
    ["photo.png", "jpg", "photo.jpg"],
    ["photo.jpeg", "jpg", "photo.jpeg"],
    ["photo", "jpg", "photo.jpg"],
    ["report 2.0", "pdf", "report 2.pdf"],
    ["archive.tar.gz", "gz", "archive.tar.gz"],
    ["a.verylongextension", "pdf", "a.verylongextension.pdf"],
    ["a", "", "a"]
  ])("a download of %s that is stored as .%s is named %s", (name, extension, expected) => {
    const types: { readonly [extension: string]: string } = { jpeg: "jpg" }
    expect(downloadName(name, extension, (own) => own === extension || types[own] === extension)).toBe(expected)
  })

  it.each([
    ["report.pdf", "inline; filename=\"report.pdf\""],
    ["Bär 1.pdf", "inline; filename=\"B_r 1.pdf\"; filename*=UTF-8''B%C3%A4r%201.pdf"],
    ["a\"b\\c.pdf", "inline; filename=\"c.pdf\""],
    ["a\"; x=y.pdf", "inline; filename=\"a_; x=y.pdf\"; filename*=UTF-8''a%22%3B%20x%3Dy.pdf"],
    ["it's (1)*.pdf", "inline; filename=\"it's (1)*.pdf\""],
    ["ü'(1)*.pdf", "inline; filename=\"_'(1)*.pdf\"; filename*=UTF-8''%C3%BC%27%281%29%2A.pdf"],
    ["a%41.pdf", "inline; filename=\"a_41.pdf\"; filename*=UTF-8''a%2541.pdf"],
    ["a\r\nb.pdf", "inline; filename=\"ab.pdf\""]
  ])("the header of %j cannot be broken out of", (name, header) => {
    expect(disposition("inline", name)).toBe(header)
    expect(disposition("inline", name)).toMatch(/^[\x20-\x7e]+$/)
  })
})
