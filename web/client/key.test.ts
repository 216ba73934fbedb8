import { expect, it } from "vitest"
import { keyText, readKey } from "./key.ts"

it.each<readonly [string, unknown]>([
  ["7", 7],
  ["9007199254740993", 9_007_199_254_740_993n],
  ["a%2Fb,2", ["a/b", 2]],
  ["c%2Cd", "c,d"],
  ["e%252Ff", "e%2Ff"],
  ["%3Fg%23h%26i", "?g#h&i"],
  ["%20%C3%BC%F0%9F%98%80", " ü😀"]
])("a key is %s in an address, and is read from it again", (text, key) => {
  expect(keyText(key)).toBe(text)
  expect(readKey(text)).toEqual((Array.isArray(key) ? key : [key]).map(String))
})

it.each<[unknown]>([[""], [[]], [["a", ""]], [null], [[{}]], [true]])("%j is no key", (key) => {
  expect(() => keyText(key)).toThrow(TypeError)
})
