// Tables as text: written text reads back unchanged, in pieces of any size, and hostile texts are refused with their position.
import * as Result from "effect/Result"
import { describe, expect, it } from "vitest"
import { property } from "../../../test/generators/property.ts"
import type { Random } from "../../../test/generators/random.ts"
import { text } from "../../../test/generators/value.ts"
import type { Delimiter } from "../read/request.ts"
import type { Cell } from "../value/kind.ts"
import {
  CsvReader,
  type CsvRecord,
  csvValue,
  delimiterOf,
  guardFormula,
  guessDelimiter,
  unguardFormula
} from "./csv.ts"

const limits = { columns: 50, characters: 1_000 }

const read = (text: string, delimiter: Delimiter = "comma", size = text.length || 1) => {
  const reader = new CsvReader(delimiter, limits)
  const records: CsvRecord[] = []
  for (let i = 0; i < text.length; i += size) {
    const part = reader.read(text.slice(i, i + size))
    if (Result.isFailure(part)) return part.failure
    records.push(...part.success)
  }
  const last = reader.end()
  return Result.isFailure(last) ? last.failure : [...records, ...last.success]
}

/** A table of texts and nulls, and how it is written and read. */
const written = (random: Random) => {
  const width = 2 + random.below(3)
  const cell = (): Cell => random.chance(5) ? null : text(random)
  return {
    delimiter: random.pick(["comma", "semicolon", "tab"] as const),
    size: 1 + random.below(5),
    table: random.many(1, 4, () => Array.from({ length: width }, cell))
  }
}

describe("a table as text", () => {
  property("comes back as it was written, in pieces of any size", { written }, { cases: 400 }, (
    { written: { delimiter, size, table } }
  ) => {
    const write = csvValue("text", delimiter, "escape")
    const csv = table.map((row) => row.map(write).join(delimiterOf[delimiter])).join("\r\n")
    const back = read(csv, delimiter, size)
    expect(
      Array.isArray(back) ? back.map(({ values }) => values.map((v) => v === null ? null : unguardFormula(v))) : back
    ).toEqual(table)
  })

  it("tells a null from an empty text, and takes any end of a line", () => {
    expect(read("a,b\n,\"\"\r\nc,d\r\"x\ny\",z")).toEqual([
      { line: 1, values: ["a", "b"] },
      { line: 2, values: [null, ""] },
      { line: 3, values: ["c", "d"] },
      { line: 4, values: ["x\ny", "z"] }
    ])
    // Within quotes it is part of the value, wherever the pieces end.
    for (const size of [1, 2, 3, 9]) {
      expect(read("\"x\r\ny\",z", "comma", size)).toEqual([{ line: 1, values: ["x\r\ny", "z"] }])
    }
    expect(read("\n\na,b\n\n")).toEqual([{ line: 3, values: ["a", "b"] }])
  })

  it.each(
    [
      ["a,\"b", 1, "A quote is not closed."],
      ["a,b\n\"c\"d,e", 2, "A closing quote must be followed by a separator or the end of the line."],
      ["a\nb\0c", 2, "The text holds a NUL character."],
      [`a\n${"x".repeat(1_001)}`, 2, "A line has at most 1,000 characters."],
      [`a\n"${"x".repeat(1_001)}`, 2, "A line has at most 1,000 characters."],
      [`a\n${"x,".repeat(60)}`, 2, "A line has at most 50 values."]
    ] as const
  )("is refused with its line: %s", (text, line, message) => {
    expect(read(text)).toMatchObject({ line, message })
    expect(read(text, "comma", 3)).toMatchObject({ line, message })
  })

  it("never holds more than its bounds of a line without an end", () => {
    const reader = new CsvReader("comma", limits)
    let refused = 0
    for (let i = 0; i < 100 && refused === 0; i++) if (Result.isFailure(reader.read("x".repeat(100)))) refused = i
    expect(refused).toBe(10)
  })
})

describe("the guard against formulas", () => {
  it.each(["=1+1", "+1", "-1", "@x", "\tx", "\rx", "＝1", "'=1", "''=1"])("marks %j and gives it back", (text) => {
    expect(guardFormula(text)).toBe(`'${text}`)
    expect(unguardFormula(guardFormula(text))).toBe(text)
  })
  it.each(["", "a=1", "'a", "it's", " =1"])("leaves %j alone", (text) => {
    expect(guardFormula(text)).toBe(text)
    expect(unguardFormula(text)).toBe(text)
  })
  it("leaves numbers alone", () => {
    expect(csvValue("decimal", "comma", "escape")("-12.50")).toBe("-12.50")
    expect(csvValue("text", "comma", "escape")("-12.50")).toBe("'-12.50")
    expect(csvValue("text", "comma", "raw")("-12.50")).toBe("-12.50")
  })
})

it("guesses the separator by the first line", () => {
  expect(guessDelimiter("id;\"a,b,c,d\";c")).toBe("semicolon")
  expect(guessDelimiter("id\tname")).toBe("tab")
  expect(guessDelimiter("id,name")).toBe("comma")
  expect(guessDelimiter("id")).toBe("comma")
})
