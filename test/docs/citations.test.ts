// Comments cite what a reader can open: pages of the docs, with sections that are there.
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { expect, it } from "vitest"

const root = join(import.meta.dirname, "..", "..")

/** The sources below a folder that git would keep. */
const sources = (top: string): readonly string[] =>
  readdirSync(join(root, top), { recursive: true, encoding: "utf8" })
    .filter((name) => /\.(?:ts|tsx|mjs)$/.test(name) && !/(?:^|\/)(?:node_modules|dist)\//.test(name))
    .map((name) => `${top}/${name}`)

const files = ["core", "adapters", "composition", "web", "scripts", "test", "bench", "examples"].flatMap(sources)

/** The address of a heading on its page, as a reader of the repository gets it. */
const anchorOf = (heading: string): string =>
  heading.toLowerCase().replace(/[^\p{L}\p{N} _-]/gu, "").trim().replaceAll(" ", "-")

const pages = new Map<string, ReadonlySet<string> | null>()

const anchorsOf = (page: string): ReadonlySet<string> | null => {
  if (!pages.has(page)) {
    let text: string | null = null
    try {
      text = readFileSync(join(root, page), "utf8")
    } catch {
      // No such page.
    }
    pages.set(
      page,
      text === null ? null : new Set([...text.matchAll(/^#+ (.+)$/gm)].map(([, name]) => anchorOf(name!)))
    )
  }
  return pages.get(page)!
}

it("names pages and sections that are there", () => {
  let cited = 0
  const gone = files.flatMap((file) =>
    [...readFileSync(join(root, file), "utf8").matchAll(/\bdocs\/(?:guides|reference)\/[a-z-]+\.md(?:#([a-z0-9-]+))?/g)]
      .filter(([address, anchor]) => {
        cited++
        const anchors = anchorsOf(address.split("#")[0]!)
        return anchors === null || (anchor !== undefined && !anchors.has(anchor))
      })
      .map(([address]) => `${file}: ${address}`)
  )
  expect(gone).toEqual([])
  expect(cited).toBeGreaterThan(80)
})

it("names no specification that the repository does not hold", () => {
  const word = /\b(?:spec|document) [1-3]\b/
  expect(files.filter((file) => word.test(readFileSync(join(root, file), "utf8")))).toEqual([])
})
