/**
 * The code blocks of the documentation. A test that runs blocks takes them by `examplesOf`, with page and language as plain texts: blocks.test.ts finds
 * these calls, and fails for a block that no test takes. A block that nothing runs has a comment in front of it, which says why:
 *
 *     <!-- not run: needs an account at a provider -->
 *     <!-- types only: needs a page in a browser -->
 */

import { readdirSync, readFileSync } from "node:fs"
import { resolve } from "node:path"

export const root = resolve(import.meta.dirname, "../..")

/** Every page that has its place in the documentation, from the root of the project. */
export const pages: readonly string[] = [
  "README.md",
  "CONTRIBUTING.md",
  ...readdirSync(`${root}/docs`, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".md"))
    .map((name) => `docs/${name.replaceAll("\\", "/")}`)
    .toSorted()
]

export interface Block {
  readonly page: string
  /** The line of the page that its first line is, from 1. */
  readonly line: number
  readonly language: string
  readonly text: string
  /** What is not done with it: null for a block that a test runs. */
  readonly left: "not run" | "types only" | null
}

/** Every block of a page, in order. */
export const blocksOf = (page: string): readonly Block[] => {
  const text = readFileSync(`${root}/${page}`, "utf8")
  const blocks = text.matchAll(/^(?:<!-- (not run|types only): \S.* -->\n)?( *)```(.*)\n([^]*?)^ *```$/gm)
  return [...blocks].map(({ 0: all, 1: left, 2: indent = "", 3: language = "", 4: code = "", index }) => ({
    page,
    line: text.slice(0, index + all.indexOf("```")).split("\n").length + 1,
    language,
    text: code.replaceAll(new RegExp(`^${indent}`, "gm"), ""),
    left: left === "not run" || left === "types only" ? left : null
  }))
}

/** The blocks of a page in a language that a test has to run. */
export const examplesOf = (page: string, language: string): readonly Block[] => {
  const found = blocksOf(page).filter((block) => block.language === language && block.left === null)
  if (found.length === 0) throw new Error(`${page} has no ${language} to run.`)
  return found
}
