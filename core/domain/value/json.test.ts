import * as Result from "effect/Result"
import { describe, expect, it } from "vitest"
import { maxJsonDepth, maxJsonElements, maxJsonMembers, maxJsonNames, parseJson } from "./json.ts"

/** An object with so many members. */
const object = (count: number): string => `{${Array.from({ length: count }, (_, n) => `"k${n}":1`).join(",")}}`
/** A list with so many elements, two of which are lists. */
const lists = (count: number): string => `[[0],[${"0,".repeat(count - 4)}0]]`

const accepted: readonly string[] = [
  "null",
  " true ",
  "[]",
  "{}",
  "[1,-2.5e3,0.1,1e-7,123456789012345]",
  "{\"a\":{\"b\":[\"\\u00e9\\n\\\"\",\"😀\"]}}",
  "\"\\ud83d\\ude00\"",
  "9007199254740992",
  "12345678901234567890e0".replace("67890e0", "00000"),
  "[0e-400,-0.0E9,5e-324,2.5E+3,100e-2]",
  "[".repeat(maxJsonDepth) + "]".repeat(maxJsonDepth),
  object(maxJsonMembers),
  `[${Array.from({ length: maxJsonNames / 1_000 }, () => object(1_000)).join(",")}]`
]

const refused: ReadonlyArray<readonly [text: string, message: RegExp]> = [
  ["", /unexpected end/],
  [object(maxJsonMembers + 1), /more than 10000 members in one object/],
  [
    `[${Array.from({ length: maxJsonNames / 1_000 + 1 }, () => object(1_000)).join(",")}]`,
    /more than 50000 members in all/
  ],
  ["{", /name in quotes/],
  ["{\"a\":1", /expected , or }/],
  ["[1,]", /unexpected text/],
  ["[1 2]", /expected , or \]/],
  ["01", /text after/],
  ["+1", /unexpected/],
  ["NaN", /unexpected/],
  ["nul", /unexpected/],
  ["'a'", /unexpected/],
  ["\"a", /unterminated/],
  ["\"\u0001\"", /control character/],
  ["\"\\x\"", /bad escape/],
  ["\"\\u12g4\"", /bad \\u escape/],
  ["\"\\ud800\"", /lone surrogate/],
  ["{\"a\":1,\"a\":2}", /same name twice/],
  ["{\"a\":1,\"\\u0061\":2}", /same name twice/],
  ["{\"__proto__\":1}", /not allowed/],
  ["{\"\\u005f_proto__\":{}}", /not allowed/],
  ["{\"constructor\":1}", /not allowed/],
  ["{} {}", /text after/],
  ["9007199254740993", /exactly/],
  ["12345678901234567.891", /exactly/],
  ["1e400", /exactly/],
  ["1e-400", /exactly/],
  ["-1E-400", /exactly/],
  ["0.1e-323", /exactly/],
  ["1.2345e-320", /exactly/],
  ["[".repeat(maxJsonDepth + 1) + "]".repeat(maxJsonDepth + 1), /deeper/],
  ["[".repeat(100_000), /deeper/]
]

describe("parseJson", () => {
  it.each(accepted)("accepts what JSON.parse gives: %s", (text) => {
    expect(parseJson(text)).toEqual(Result.succeed(JSON.parse(text)))
  })

  it.each(refused)("refuses %j", (text, message) => {
    const result = parseJson(text)
    expect(Result.isFailure(result) && result.failure.message).toMatch(message)
  })

  it("bounds the elements of all lists together", () => {
    expect(Result.isSuccess(parseJson(lists(maxJsonElements)))).toBe(true)
    const refused = parseJson(lists(maxJsonElements + 1))
    expect(Result.isFailure(refused) && refused.failure.message).toBe("more than 250000 elements in all lists")
  })

  it("makes objects that inherit nothing through their names", () => {
    const value = Result.getOrThrow(parseJson("{\"hasOwnProperty\":1,\"toString\":2}"))
    expect(Object.keys(value as object)).toEqual(["hasOwnProperty", "toString"])
  })

  it("reads 2 MiB in time that grows with its length", () => {
    const row = "{\"a\":\"" + "x".repeat(200) + "\",\"b\":[1,2,3]},"
    const text = `[${row.repeat(9_000)}null]`
    expect(Result.isSuccess(parseJson(text))).toBe(true)
  })
})
