// Pages about the project itself name files, folders and symbols that are there, and numbers that hold.
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { expect, it } from "vitest"

const root = join(import.meta.dirname, "..", "..")
const read = (path: string): string => readFileSync(join(root, path), "utf8")

const tops = ["core", "adapters", "composition", "web", "examples", "bench", "scripts", "tools", "docs", "test"]
const paths = tops.flatMap((top) =>
  readdirSync(join(root, top), { recursive: true, encoding: "utf8" })
    .map((name) => `${top}/${name.replaceAll("\\", "/")}`)
    .filter((name) => !/\/(?:node_modules|dist|data)(?:\/|$)/.test(name))
)
const sources = paths.filter((path) => /\.(?:ts|tsx|mjs)$/.test(path) && path !== "test/docs/names.test.ts").map(read)
  .join("\n")

/** Names in code style, each with its page. A path of an example stands for many: `core/domain/part/`, `adapters/X`, `core/domain/x/y.test.ts`. */
const named = ["CONTRIBUTING.md", "docs/design.md", "docs/map.md"].flatMap((page) =>
  [...read(page).replaceAll(/```[^]*?```/g, "").matchAll(/`([^`\n]+)`/g)].map(([, name]) => ({ page, name: name! }))
)
const example = /\/(?:part|technology|kind|x|X|PORT|openapi-part)(?:[/.]|$)/

it("names files and folders that are there", () => {
  const files = named.filter(({ name }) =>
    (/^[\w-]+(?:\.test|\.deep)?\.(?:ts|tsx|mjs)$/.test(name) || tops.some((top) => name.startsWith(`${top}/`))) &&
    !/[ *…]/.test(name) && !example.test(name)
  )
  const gone = files.filter(({ name }) => {
    const path = name.split("#")[0]!.replace(/\/$/, "")
    return !existsSync(join(root, path)) && !paths.some((each) => each.endsWith(`/${path}`))
  })
  expect(gone).toEqual([])
  expect(files.length).toBeGreaterThan(200)
})

/** What the code may not use. */
const ofBrowsers = new Set(["innerHTML"])

it("names symbols that the code has", () => {
  const symbols = named.filter(({ name }) => /^[a-zA-Z]+[a-z][A-Z]\w*$/.test(name) && !ofBrowsers.has(name))
  expect(symbols.filter(({ name }) => !new RegExp(`\\b${name}\\b`).test(sources))).toEqual([])
  expect(symbols.length).toBeGreaterThan(15)
})

it("tells the budgets of the app as the build has them", () => {
  const budgets = JSON.parse(read("web/budgets.json")) as ReadonlyArray<
    { readonly name: string; readonly most: number }
  >
  const most = (name: string) => budgets.find((budget) => budget.name === name)?.most
  expect(read("docs/design.md")).toContain(`of ${most("first list")} KB`)
  expect(read("docs/design.md")).toContain(`keep to its ${most("sign-in")} KB`)
})

it("tells how long files are", () => {
  const [, most = ""] = read("CONTRIBUTING.md").match(/none more than (\d+),/) ?? []
  const shipped = paths.filter((path) =>
    /^(?:core|adapters|composition|web)\/.*\.tsx?$/.test(path) && !/\.test\.tsx?$/.test(path) &&
    !/^web\/admin\/messages\/..\.ts$/.test(path)
  )
  const lines = shipped.map((path) => ({ path, lines: read(path).split("\n").length - 1 }))
  expect(lines.filter((each) => each.lines > Number(most))).toEqual([])
  expect(lines.filter((each) => each.lines < 400).length * 2).toBeGreaterThan(lines.length)
})
