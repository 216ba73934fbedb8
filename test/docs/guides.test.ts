/** The guides within the app: each page can be shown whole, and every link leads to a part that is there. */

import { existsSync, globSync, readFileSync } from "node:fs"
import { describe, expect, it } from "vitest"
import { guideFiles, readGuide } from "../../scripts/guides.mjs"
import { type Block, type Inline, plainText } from "../../web/admin/guide/tree.ts"

const files = guideFiles()
const pages = new Map([...files].map(([name, file]) => [name, readGuide(file)]))

const linesOf = (block: Block): readonly (readonly Inline[])[] => {
  switch (block.of) {
    case "heading":
    case "paragraph":
      return [block.inline]
    case "code":
      return []
    case "quote":
      return block.blocks.flatMap(linesOf)
    case "list":
      return block.items.flat().flatMap(linesOf)
    case "table":
      return [block.head, ...block.rows].flat()
  }
}

const linksOf = (inline: readonly Inline[]): readonly string[] =>
  inline.flatMap((each) => {
    if (typeof each === "string" || each.of === "code" || each.of === "picture") return []
    return [...each.of === "link" ? [each.to] : [], ...linksOf(each.inline)]
  })

const anchorsOf = (name: string): readonly string[] =>
  pages.get(name)?.blocks.flatMap((block) => block.of === "heading" ? [block.anchor] : []) ?? []

describe("guides in the app", () => {
  it("are all guides, all references, and their list", () => {
    expect(pages.size).toBeGreaterThan(35)
    for (const [name, { blocks, title }] of pages) {
      expect([name, title]).not.toContain("")
      expect(blocks[0]).toMatchObject({ of: "heading", level: 1 })
      // One anchor a heading: a link cannot mean two parts.
      expect(new Set(anchorsOf(name)).size).toBe(anchorsOf(name).length)
    }
    const listed = pages.get("contents")!.blocks.flatMap(linesOf).flatMap(linksOf)
    const linked = listed.flatMap((to) => /^\/-\/guides\/(.*)$/.exec(to)?.[1] ?? [])
    expect(linked.sort()).toEqual([...files.keys()].filter((name) => name !== "contents").sort())
  })

  it("link to parts and pictures that are there", () => {
    const broken = [...pages].flatMap(([name, { blocks, pictures }]) => [
      ...pictures.filter((file) => !existsSync(file)),
      ...blocks.flatMap(linesOf).flatMap(linksOf).filter((to) => {
        if (/^https?:/.test(to)) return false
        const [, page = name, anchor] = /^(?:\/-\/guides\/([^#]+))?(?:#(.+))?$/.exec(to) ?? ["", to]
        return !pages.has(page) || anchor !== undefined && !anchorsOf(page).includes(anchor)
      }).map((to) => `${name}: ${to}`)
    ])
    expect(broken).toEqual([])
  })

  it("are those that empty pages name", () => {
    const named = globSync("web/admin/**/*.tsx").flatMap((file) =>
      [...readFileSync(file, "utf8").matchAll(/guide="([^"]+)"/g)].map(([, name]) => name!)
    )
    expect(named.length).toBeGreaterThan(5)
    expect(named.filter((name) => !pages.has(name))).toEqual([])
  })

  it("keep marks, code and escapes as they were written", () => {
    const { blocks } = pages.get("reference-filter")!
    const text = blocks.flatMap(linesOf).map(plainText).join("\n")
    expect(text).not.toMatch(/&(?:amp|lt|gt|quot|#39);|\*\*/)
    const codes = [...pages.values()].flatMap(({ blocks }) => blocks).flatMap((block) =>
      block.of === "code" ? [block.text] : []
    )
    expect(codes.some((code) => code.includes("=> "))).toBe(true)
  })
})
