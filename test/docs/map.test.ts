// The map of the tree has one line for each folder, and its words live in folders that are there.
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { expect, it } from "vitest"

const root = join(import.meta.dirname, "..", "..")
const text = readFileSync(join(root, "docs", "map.md"), "utf8")
const [folders = "", words = ""] = text.split("## Words")
const listed = [...folders.matchAll(/^\| `([^`]+)` \|/gm)].map(([, folder]) => folder!)

const holds = (folder: string) =>
  readdirSync(join(root, folder), { withFileTypes: true }).filter(({ name }) =>
    !name.startsWith(".") && name !== "node_modules" && name !== "dist"
  )

/** Folders with files of their own, down to so many names. */
function* foldersIn(folder: string, depth: number): Generator<string> {
  const entries = holds(folder)
  if (entries.some((entry) => entry.isFile())) yield folder
  if (depth > 1) {
    for (const entry of entries) if (entry.isDirectory()) yield* foldersIn(`${folder}/${entry.name}`, depth - 1)
  }
}

const tree = [
  ...["core", "web"].flatMap((top) => [...foldersIn(top, 3)]),
  ...["adapters", "composition", "examples", "bench", "scripts", "tools", "docs", "test"].flatMap((
    top
  ) => [...foldersIn(top, 2)]),
  "test/browser/admin"
]

it("has one line for each folder", () => {
  expect(listed.toSorted()).toEqual([...new Set(tree)].toSorted())
})

it("has roads of files that are there", () => {
  const roads = [...folders.matchAll(/^\| (?:a|an) [^|]+ \| (.*→.*) \|$/gm)].map(([, road]) => road!)
  expect(roads.length).toBeGreaterThanOrEqual(6)
  const gone = roads.flatMap((road) => {
    let folder = ""
    return [...road.matchAll(/`([\w./-]+)`/g)].flatMap(([, name]) => {
      if (!name!.includes("/") && !name!.includes(".")) return []
      const path = name!.includes("/") ? name! : `${folder}/${name!}`
      folder = path.endsWith(".ts") ? path.slice(0, path.lastIndexOf("/")) : path
      return existsSync(join(root, path)) ? [] : [path]
    })
  })
  expect(gone).toEqual([])
})

it("has words once each, in folders of the map", () => {
  const rows = [...words.matchAll(/^\| ([^|]+) \| [^|]+ \| `([^`]+)` \|$/gm)].map(([, word, folder]) => [word, folder])
  expect(rows.length).toBeGreaterThanOrEqual(40)
  expect(new Set(rows.map(([word]) => word)).size).toBe(rows.length)
  expect(rows.filter(([, folder]) => !listed.includes(folder!))).toEqual([])
})
