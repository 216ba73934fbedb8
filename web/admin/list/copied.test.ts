import { execFileSync } from "node:child_process"
import { describe, expect, it } from "vitest"
import { keys, texts } from "../../../test/browser/admin/hostile-texts.ts"
import { keyPartsOf, type Resource } from "../model/catalogue.ts"
import type { AnyRecord } from "../model/client.ts"
import { csvCell, toCsv, toCurl, toJson, toMarkdown } from "./copied.ts"

const resourceOf = (...primaryKey: readonly string[]): Resource =>
  ({ name: "crates", model: { primaryKey } }) as unknown as Resource
const recordOf = (values: object): AnyRecord => values as AnyRecord

describe("records as texts", () => {
  it("are the stored values in JSON, whatever is in them", () => {
    const records = [...texts.values()].map((name) => recordOf({ name }))
    expect(JSON.parse(toJson(["name", "none"], records))).toEqual(
      [...texts.values()].map((name) => ({ name, none: null }))
    )
  })

  it.each<readonly [unknown, string]>([
    ["=1+1", "'=1+1"],
    ["+1", "'+1"],
    ["@sum", "'@sum"],
    ["-2+3", "'-2+3"],
    ["-2.50", "-2.50"],
    [-5, "-5"],
    ["\tx", "'\tx"],
    ["a,b", "\"a,b\""],
    ["say \"so\"", "\"say \"\"so\"\"\""],
    ["two\nlines", "\"two\nlines\""],
    ["9007199254740993", "9007199254740993"],
    [null, ""],
    [{ a: [1] }, "\"{\"\"a\"\":[1]}\""]
  ])("write the cell %j of CSV so that no spreadsheet takes it for a formula", (value, cell) => {
    expect(csvCell(value)).toBe(cell)
  })

  it("have a line for the heads and one for each record, in CSV and in Markdown", () => {
    const records = [recordOf({ id: "1", name: "a|b" }), recordOf({ id: "2", name: "c\nd" })]
    expect(toCsv(["id", "name"], records)).toBe("id,name\r\n1,a|b\r\n2,\"c\nd\"\r\n")
    expect(toMarkdown(["id", "name"], records)).toBe("| id | name |\n| --- | --- |\n| 1 | a\\|b |\n| 2 | c d |\n")
  })

  it.each(keys)("are read by a command of which the key %j is one word and no more", (id) => {
    const command = toCurl(resourceOf("id"), [recordOf({ id })], "https://shop.example/api/v1")
    const words = execFileSync("sh", ["-c", `TOKEN=t; curl() { printf '%s\\n' "$@"; }; ${command}`], {
      encoding: "utf8"
    })
    expect(words.trimEnd().split("\n")).toEqual([
      "-sS",
      "-H",
      "Authorization: Bearer t",
      `https://shop.example/api/v1/crates/${encodeURIComponent(id)}`
    ])
    expect(keyPartsOf(encodeURIComponent(id))).toEqual([id])
  })

  it("name keys of several fields in their order, and leave out what has no key", () => {
    const records = [recordOf({ a: "x,y", b: 2 }), recordOf({ a: "z" })]
    expect(toCurl(resourceOf("b", "a"), records, "https://x")).toBe(
      `curl -sS -H "Authorization: Bearer $TOKEN" 'https://x/crates/2,x%2Cy'\n`
    )
  })
})
