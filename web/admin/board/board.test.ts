import { describe, expect, it } from "vitest"
import { readInline, readMarkdown } from "./markdown.ts"

describe("Markdown", () => {
  it("has headings, paragraphs, lists and code", () => {
    expect(readMarkdown("# A\nfirst\nsecond\n\n- x\n- y\n1. z\n```\n<b>\n```\n### C")).toEqual([
      { of: "heading", level: 2, inline: [{ of: "text", text: "A" }] },
      { of: "paragraph", inline: [{ of: "text", text: "first second" }] },
      { of: "list", ordered: false, items: [[{ of: "text", text: "x" }], [{ of: "text", text: "y" }]] },
      { of: "list", ordered: true, items: [[{ of: "text", text: "z" }]] },
      { of: "code", text: "<b>" },
      { of: "heading", level: 4, inline: [{ of: "text", text: "C" }] }
    ])
    expect(readMarkdown("```\nopen")).toEqual([{ of: "code", text: "open" }])
    expect(readMarkdown("")).toEqual([])
  })
  it("has emphasis, code and links within", () => {
    expect(readInline("a **b** *c* `d` [e](/orders?x=1) f")).toEqual([
      { of: "text", text: "a " },
      { of: "strong", text: "b" },
      { of: "text", text: " " },
      { of: "em", text: "c" },
      { of: "text", text: " " },
      { of: "code", text: "d" },
      { of: "text", text: " " },
      { of: "link", text: "e", href: "/orders?x=1" },
      { of: "text", text: " f" }
    ])
  })
  it.each(["javascript:alert(1)", "//evil.example", "/\\evil.example", "data:text/html,x", "JaVaScRiPt:x"])(
    "makes no link to %s",
    (href) => {
      expect(readInline(`[a](${href})`)).toEqual([{ of: "text", text: `[a](${href})` }])
    }
  )
  it("keeps markup as text, and gets to the end of anything", () => {
    expect(readInline("<img src=x onerror=alert(1)>")).toEqual([{ of: "text", text: "<img src=x onerror=alert(1)>" }])
    for (const each of ["*", "[", "`", "**a", "[a](", "- "]) {
      expect(readMarkdown(each.repeat(20_000 / each.length)).length).toBeGreaterThan(0)
    }
  })
})
