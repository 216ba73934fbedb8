import { expect, it } from "vitest"
import { descriptionOf, wordsOf } from "./comment.ts"

it.each([
  ["Net price", "label"],
  ["  E-mail (private)\n", "label"],
  ["価格", "label"],
  ["in cents", "help"],
  ["Never null.", "help"],
  ["See: the wiki", "help"],
  ["One\nTwo", "help"],
  ["A text that is rather too long to be the head of a column", "help"],
  ["X", "help"]
])("takes the comment %j for a %s", (comment, of) => {
  const { help, label } = wordsOf(comment)
  expect({ help, label }).toEqual(
    of === "label" ? { label: comment.trim(), help: null } : { label: null, help: comment }
  )
})

it.each([null, "", " \n ", "@omit", "@name x\n@deprecated"])("makes nothing of %j", (comment) => {
  expect(wordsOf(comment)).toEqual({ label: null, help: null })
  expect(descriptionOf(comment)).toBe(null)
})

it("cuts what is too long, without half a character, and drops what nobody sees", () => {
  const long = `${"x".repeat(998)}😀😀`
  expect(wordsOf(long).help).toBe(`${"x".repeat(998)}…`)
  expect(descriptionOf("y".repeat(3000))).toHaveLength(2000)
  expect(descriptionOf("a\u202eb\tc\r\n@omit\nd")).toBe("a b c\nd")
})
