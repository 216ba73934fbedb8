import { describe, expect, it } from "@effect/vitest"
import * as Result from "effect/Result"
import {
  doneName,
  isTooMuch,
  readAddress,
  readMetadata,
  readRecord,
  readUnfinished,
  recordName,
  underWay,
  unfinishedName,
  writeAddress,
  writeRecord
} from "./unfinished.ts"

const upload = { who: "A".repeat(20) + "-_", created: 1_700_000_000_000, length: 5_000_000_000, id: "a".repeat(26) }

describe("an unfinished upload", () => {
  it("is told by its name, and what belongs to it by theirs", () => {
    const name = unfinishedName(upload)
    expect(readUnfinished(name)).toEqual({ ...upload, name, of: "upload" })
    expect(readUnfinished(recordName(name))).toEqual({ ...upload, name, of: "record" })
    expect(readUnfinished(doneName(name))).toMatchObject({ created: upload.created, of: "record" })
    for (const more of [".parts", ".p000000000000007"]) {
      expect(readUnfinished(name + more)).toEqual({ ...upload, name, of: "part" })
    }
    for (
      const other of [
        `${name}/x`,
        `x${name}`,
        `${recordName(name)}.x`,
        `${name}.`,
        ".tmp/0123456789abcdef",
        `.cleanup/${name}`,
        "t1/a.pdf"
      ]
    ) {
      expect(readUnfinished(other), other).toBeNull()
    }
  })

  it("counts while it takes pieces", () => {
    const listed = [{ path: unfinishedName(upload) }, { path: recordName(unfinishedName(upload)) }, { path: ".tmp/x" }]
    expect(underWay(listed, upload.created)).toEqual({ uploads: 1, bytes: upload.length })
    expect(underWay(listed, upload.created + 24 * 3_600_000)).toEqual({ uploads: 0, bytes: 0 })
  })

  it("is one of 50 and of 100 GiB, or as long as it likes where it is the only one", () => {
    const gibibyte = 2 ** 30
    for (
      const [uploads, bytes, length, beyond] of [
        [50, 0, 0, false],
        [51, 0, 0, true],
        [2, 100 * gibibyte, 1, false],
        [2, 100 * gibibyte + 1, 1, true],
        [1, 500 * gibibyte, 500 * gibibyte, false]
      ] as const
    ) expect([uploads, bytes, isTooMuch({ uploads, bytes }, length)]).toEqual([uploads, bytes, beyond])
  })

  it("has an address and a record that are read as they were written, and nothing else", () => {
    const address = {
      provider: "private",
      name: unfinishedName(upload),
      field: "scan",
      metadata: null,
      fileName: "a.txt",
      direct: null
    }
    for (const direct of [null, { type: null }, { type: "text/plain" }]) {
      expect(readAddress(writeAddress({ ...address, direct }))).toEqual({ ...address, direct })
    }
    const record = {
      path: "t1/a.txt",
      type: "text/plain",
      corrected: { from: "a/b", to: "text/plain" },
      finished: 5,
      result: { uri: "private:t1/a.txt", type: "text/plain", cells: [["size", null] as const] }
    }
    expect(readRecord(writeRecord(record))).toEqual(record)
    const early = { ...record, corrected: null, finished: null, result: null }
    expect(readRecord(writeRecord(early))).toEqual(early)
    for (const text of ["", "x", "{}", "[]", "null", "[1,2,3,4,5]", "[\"a\"]"]) {
      expect([readAddress(text), readRecord(text)]).toEqual([null, null])
    }
  })

  it.each<readonly [string | null, object | null]>([
    [null, {}],
    ["", {}],
    ["filename YS50eHQ=", { filename: "a.txt" }],
    ["filename YS50eHQ=,filetype dGV4dC9wbGFpbg==, empty", { filename: "a.txt", filetype: "text/plain", empty: "" }],
    ["is_confidential,a YQ==", { is_confidential: "", a: "a" }],
    ["a /w==", { a: "\ufffd" }],
    ["a b c", null],
    ["a YQ", { a: "a" }],
    ["a Y", null],
    [",", null],
    ["a YQ==,", null],
    ["ä YQ==", null],
    ["a YQ==,a YQ==", null],
    ["a ".padEnd(2_100, "YWFh"), null]
  ])("has the metadata %s", (header, values) => {
    const read = readMetadata(header)
    expect(Result.isSuccess(read) ? Object.fromEntries(read.success) : null).toEqual(values)
  })
})
