// The list of files of a form: what stands in it, what a move makes of it, and the names of what is stored.
import { describe, expect, it } from "vitest"
import { keysOf, moved, nameIn, textsOf, uriOf } from "./file-list.ts"

describe("a list of files", () => {
  it("has the texts of what is stored and of tickets", () => {
    expect(textsOf([{ uri: "private:_/a.pdf", name: "a" }, "ticket"])).toEqual(["private:_/a.pdf", "ticket"])
    for (const value of [null, undefined, "x", { uri: "x" }, [null, 5, { url: "x" }]]) {
      expect(textsOf(value)).toEqual([])
    }
    expect([uriOf("x"), uriOf(null), uriOf({ uri: 5 })]).toEqual(["x", null, { uri: 5 }])
  })

  it.each([
    [0, 2, ["b", "c", "a"]],
    [2, 0, ["c", "a", "b"]],
    [1, 2, ["a", "c", "b"]],
    [1, 1, ["a", "b", "c"]],
    [0, -1, ["a", "b", "c"]],
    [2, 3, ["a", "b", "c"]],
    [7, 0, ["a", "b", "c"]]
  ])("moves from %i to %i", (from, to, list) => {
    expect(moved(["a", "b", "c"], from, to)).toEqual(list)
  })

  it("tells apart what is there twice", () => {
    expect(new Set(keysOf(["a", "b", "a", "a"])).size).toBe(4)
  })

  it("reads names", () => {
    expect(nameIn("private:t/x.pdf?name=a%20%2B%26%20b+c.pdf&size=5")).toBe("a +& b+c.pdf")
    for (const text of ["private:t/x.pdf", "ticket", "https://example.com/?x", ""]) expect(nameIn(text)).toBeNull()
  })
})
