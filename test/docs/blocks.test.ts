/**
 * Every code block of the documentation is run by a test, or says why it is not. Which test takes a block is read from the tests themselves: a call of
 * `examplesOf` with the page and the language. TypeScript is taken by typescript.test.ts, from every page.
 */

import { globSync, readFileSync } from "node:fs"
import { expect, it } from "vitest"
import { blocksOf, pages, root } from "./blocks.ts"

const taken = new Set(
  globSync("{core,test}/**/*.test.ts", { cwd: root }).flatMap((path) =>
    [...readFileSync(`${root}/${path}`, "utf8").matchAll(/examplesOf\(\s*"([^"]+)",\s*"(\w+)"/g)].map((
      [, page, language]
    ) => `${page} ${language}`)
  )
)

it.each(pages)("%s has no block that nobody runs", (page) => {
  const alone = blocksOf(page).filter(({ language, left }) =>
    left !== "not run" && !/^tsx?$/.test(language) && !taken.has(`${page} ${language}`)
  )
  expect(alone.map(({ language, line }) => `${page}:${line} ${language === "" ? "names no language" : language}`))
    .toEqual([])
})

it("every reader of blocks finds all of them", () => {
  for (const page of pages) {
    const fences = readFileSync(`${root}/${page}`, "utf8").match(/^ *```/gm)?.length ?? 0
    expect(blocksOf(page).length * 2, page).toBe(fences)
  }
})
