import { describe, expect, it } from "vitest"
import { keepDocuments } from "./documents.ts"

describe("kept documents", () => {
  const made: string[] = []
  const document = (keep: ReturnType<typeof keepDocuments>, name: string, characters: number): string =>
    keep(name, () => {
      made.push(name)
      return { text: name.repeat(characters), etag: name }
    }).text

  const asked = (most: number, ...names: readonly (readonly [name: string, characters: number])[]): string => {
    made.length = 0
    const keep = keepDocuments(most)
    for (const [name, characters] of names) expect(document(keep, name, characters)).toBe(name.repeat(characters))
    return made.join("")
  }

  it("are made once", () => {
    expect(asked(10, ["a", 5], ["b", 5], ["a", 5], ["b", 5], ["a", 5])).toBe("ab")
  })

  it("make room for others once all are too long together, those first that nobody asked for", () => {
    expect(asked(10, ["a", 4], ["b", 4], ["a", 4], ["c", 4], ["a", 4], ["b", 4])).toBe("abcb")
    expect(asked(10, ["a", 3], ["b", 3], ["c", 3], ["d", 9], ["c", 3], ["d", 9])).toBe("abcdcd")
  })

  it("are kept alone, however long", () => {
    expect(asked(10, ["a", 3], ["b", 50], ["b", 50], ["a", 3], ["a", 3])).toBe("aba")
  })
})
