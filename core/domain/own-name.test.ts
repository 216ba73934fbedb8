import { expect, it } from "vitest"
import { isOneLine, isOwnName, ownNameMax } from "./own-name.ts"

it.each<[string, boolean]>([
  ["Desk", true],
  ["  padded  ", true],
  ["Müller & 東京 🦆", true],
  ["x".repeat(200), true],
  [` ${"x".repeat(200)} `, true],
  ["🦆".repeat(200), true],
  ["🦆".repeat(201), false],
  ["x".repeat(201), false],
  ["", false],
  [" \t", false],
  ["a\nb", false],
  ["a\u2028b", false],
  ["a\u0000b", false],
  ["a\u202eb", false],
  ["a\u2066b", false],
  ["half \ud83e", false]
])("as a name, %j is %j", (text, expected) => expect(isOwnName(text)).toBe(expected))

it("is one line whatever its length, and also where there is nothing", () => {
  expect(isOneLine("")).toBe(true)
  expect(isOneLine("x".repeat(ownNameMax + 1))).toBe(true)
  expect(isOneLine("a\rb")).toBe(false)
})
