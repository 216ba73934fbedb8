// An independent decoder (jsQR 1.4.0) read 254 codes of 1 to 666 bytes when this test was written. The hashes are those of the codes that it read.
import { createHash } from "node:crypto"
import { describe, expect, it } from "vitest"
import { qrCode } from "./qr.ts"

const sumOf = (text: string): string => {
  const rows = qrCode(text).map((row) => row.map(Number).join(""))
  return `${rows.length} ${createHash("sha256").update(rows.join("\n")).digest("hex").slice(0, 16)}`
}

const uri =
  "otpauth://totp/Shop:ada%40shop.example?secret=JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP&issuer=Shop&digits=6&period=30"

describe("a QR code", () => {
  it("is the one that decoders read", () => {
    expect(["A", uri, "x".repeat(154), "y".repeat(666)].map(sumOf)).toEqual([
      "21 fdc51dcd07ae6867",
      "45 675da00f04bfe601",
      "53 49d0c3e5b9dd1497",
      "97 0fcc0cc44bd48c91"
    ])
  })

  it("has its three finders, a dark module beside them, and timing between", () => {
    const grid = qrCode(uri)
    const size = grid.length
    const across = (y: number, from: number): string => grid[y]!.slice(from, from + 7).map(Number).join("")
    for (const [x, y] of [[0, 0], [size - 7, 0], [0, size - 7]] as const) {
      expect([0, 1, 3, 6].map((row) => across(y + row, x))).toEqual(["1111111", "1000001", "1011101", "1111111"])
    }
    expect(grid[size - 8]![8]).toBe(true)
    expect(grid[6]!.slice(8, size - 8)).toEqual(Array.from({ length: size - 16 }, (_, at) => at % 2 === 0))
  })

  it("says when a text is too long", () => {
    expect(() => qrCode("z".repeat(667))).toThrow(RangeError)
  })
})
