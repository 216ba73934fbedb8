/**
 * The contract of the detector port, one suite for every implementation: the signatures that all of them know, and what is none. The many formats that the
 * real one knows, and what a type is taken for, are in test/files/detection.test.ts.
 */

import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type { DetectorService } from "../../core/ports/detector.ts"

/** Longest head that a detector is given. */
const longest = 65_536

const hex = (text: string, more = 64): Uint8Array =>
  Buffer.concat([Buffer.from(text.replaceAll(" ", ""), "hex"), Buffer.alloc(more)])
const latin = (text: string, more = 64): Uint8Array => Buffer.concat([Buffer.from(text, "latin1"), Buffer.alloc(more)])

const known: ReadonlyArray<readonly [type: string, name: string, head: Uint8Array]> = [
  ["image/png", "PNG", hex("89504e470d0a1a0a 0000000d49484452 00000010 00000010 0806000000")],
  [
    "image/png",
    "PNG whose pixels lie behind the head",
    hex("89504e470d0a1a0a 0000000d49484452 00000010 00000010 0806000000 1ff3ff61 000f4240 69434350")
  ],
  ["image/jpeg", "JPEG", hex("ffd8ffe0 0010 4a46494600 0101 00 0048 0048 0000")],
  ["image/gif", "GIF of 1987", latin("GIF87a\x10\0\x10\0")],
  ["image/gif", "GIF of 1989", latin("GIF89a\x10\0\x10\0")],
  ["image/webp", "WebP", latin("RIFF\x24\0\0\0WEBPVP8 ")],
  ["image/tiff", "TIFF, least byte first", hex("49492a00 08000000")],
  ["image/tiff", "TIFF, greatest byte first", hex("4d4d002a 00000008")],
  ["image/tiff", "TIFF whose directory lies behind the head", hex("49492a00 00ff0f00")],
  ["application/pdf", "PDF", latin("%PDF-1.7\n%\xe2\xe3\xcf\xd3\n")],
  ["application/gzip", "gzip", hex("1f8b0800 00000000 0003")],
  ["application/x-7z-compressed", "7z", hex("377abcaf271c 0004")],
  ["application/x-elf", "ELF", hex("7f454c46 020101")],
  ["application/wasm", "WebAssembly", hex("0061736d 01000000")]
]

const unknown: ReadonlyArray<readonly [name: string, head: Uint8Array]> = [
  ["no bytes at all", new Uint8Array(0)],
  ["a text", Buffer.from("Grüße 😀\n")],
  ["a text of one letter", Buffer.from("x")],
  ["JSON", Buffer.from("{\"a\": 1}\n")],
  ["CSV", Buffer.from("a,b\n1,2\n")],
  ["HTML", Buffer.from("<!doctype html><script>alert(1)</script>")],
  ["a script", Buffer.from("alert(1)")],
  ["zeros", new Uint8Array(512)],
  ["bytes that nobody knows", hex("9e81d3c4e5f60718", 0)]
]

/** Bytes that look like chance, the same in each run. */
const noise = (length: number, from: number): Uint8Array => {
  let state = from * 2_654_435_761 % 4_294_967_296
  return Uint8Array.from({ length }, () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state >>> 24
  })
}

/** Runs the suite. */
export const detectorContract = (name: string, { detect }: DetectorService): void => {
  describe(`detector: ${name}`, () => {
    it.effect.each(known)("knows %s by its signature: %s", ([type, , head]) =>
      Effect.gen(function*() {
        const before = Uint8Array.from(head)
        expect(yield* detect(head)).toBe(type)
        // As a part of something longer, of the greatest length, and again.
        const within = new Uint8Array(longest + 32)
        within.set(head, 16)
        expect(yield* detect(within.subarray(16, 16 + longest))).toBe(type)
        expect([yield* detect(head), head.every((byte, i) => byte === before[i])]).toEqual([type, true])
      }))

    it.effect.each(unknown)("knows nothing of %s", ([, head]) =>
      Effect.gen(function*() {
        expect(yield* detect(head)).toBeNull()
      }))

    it.effect.each(known)("takes %s for nothing behind other bytes: %s", ([, , head]) =>
      Effect.gen(function*() {
        for (const before of [Buffer.from("junk before "), Buffer.from([0x9e, 0x81, 0xd3])]) {
          expect(yield* detect(Buffer.concat([before, head]))).toBeNull()
        }
      }))

    it.effect("takes the beginning of a file for that file or for nothing, and never fails", () =>
      Effect.gen(function*() {
        for (const [type, , head] of known) {
          for (let length = 0; length < 24; length++) {
            expect([null, type]).toContain(yield* detect(head.subarray(0, length)))
          }
        }
        for (let i = 0; i < 200; i++) {
          const found = yield* detect(noise(i * 7 % 300, i + 1))
          if (found !== null) expect(found).toMatch(/^[a-z]+\/[\w.+-]+$/)
        }
      }))

    it.effect("answers each of many that ask at once", () =>
      Effect.gen(function*() {
        const heads = [...known, ...known]
        const found = yield* Effect.all(heads.map(([, , head]) => detect(head)), { concurrency: "unbounded" })
        expect(found).toEqual(heads.map(([type]) => type))
      }))
  })
}
