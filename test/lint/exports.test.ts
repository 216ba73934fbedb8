// An export says that other files build on it. So each has an importer: another file, a test included. A type may also stand in what its own file exports,
// where a reader meets it. Package entries are for everybody, and what stands outside of the shipped folders is run and not imported.
import { readdirSync, readFileSync } from "node:fs"
import { join, posix } from "node:path"
import { parseSync } from "vite"
import { expect, it } from "vitest"
import manifest from "../../package.json" with { type: "json" }

const root = join(import.meta.dirname, "..", "..")
const shipped = ["adapters", "composition", "core", "web"]
const folders = [...shipped, "bench", "examples", "scripts", "test"]

/** The source of each package entry, by the name under which it is imported. */
const entries: ReadonlyMap<string, string> = new Map(
  Object.entries(manifest.exports).flatMap(([name, target]) =>
    typeof target === "string" ? [] : [[posix.join(manifest.name, name), posix.normalize(target.source)] as const]
  )
)

/** Files that a browser or a bundler starts, by their exports. */
const started = new Set(["web/admin/vite.config.ts"])

const paths = folders.flatMap((folder) =>
  readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
    .map((path) => posix.join(folder, path.replaceAll("\\", "/")))
    .filter((path) => /\.[cm]?[jt]sx?$/.test(path) && !/(?:^|\/)(?:node_modules|dist)\//.test(path))
)

/** All that a module gives, or all that is taken of it. */
const all = "*"

/** The exports of files that nobody imports, as `file: name`. `files`: texts by their path; `isPublic`: whether the exports of a file are for others. */
const deadExports = (files: ReadonlyMap<string, string>, isPublic: (path: string) => boolean): readonly string[] => {
  const given: Array<readonly [path: string, name: string, start: number]> = []
  const taken = new Set<string>()
  for (const [path, text] of files) {
    const take = (specifier: string, name: string): void => {
      const target = specifier.startsWith(".") ? posix.join(posix.dirname(path), specifier) : entries.get(specifier)
      if (target !== undefined && target !== path) taken.add(`${target}: ${name}`)
    }
    const { module } = parseSync(path, text, { lang: path.endsWith("x") ? "tsx" : "ts", sourceType: "module" })
    for (const { entries: names, moduleRequest } of module.staticImports) {
      for (const { importName } of names) take(moduleRequest.value, importName.name ?? all)
    }
    for (const { entries: names } of module.staticExports) {
      for (const { exportName, importName, isType, moduleRequest, start } of names) {
        if (moduleRequest !== null) take(moduleRequest.value, importName.name ?? all)
        const name = exportName.name
        if (name === null || name === "default") continue
        if (!isType || text.split(new RegExp(`\\b${name}\\b`)).length === 2) given.push([path, name, start])
      }
    }
    // Modules that are loaded later, and types that are named where they are used.
    for (const [, specifier, name] of text.matchAll(/\bimport\(\s*["`]([^"`$]+)["`]\s*\)(?:\.([A-Z]\w*))?/g)) {
      take(specifier!, name ?? all)
    }
  }
  return given.filter(([path, name]) =>
    !isPublic(path) && !taken.has(`${path}: ${name}`) && !taken.has(`${path}: ${all}`)
  ).map(([path, name]) => `${path}: ${name}`)
}

it("tells exports that are imported from those that nobody takes", () => {
  const files = new Map([
    [
      "core/a.ts",
      `export const used = 1
export const dead = 2
export interface Shape { readonly side: number }
export type Lonely = string
export const make = (side: number): Shape => ({ side })
export { dead as renamed }
`
    ],
    ["core/b.ts", `import { make as build, used } from "./a.ts"\nexport const b = build(used)\n`],
    ["core/c.ts", `export const late = 1\nexport const later = () => import("./c.ts")\n`],
    ["core/d.ts", `import * as c from "./c.ts"\nexport { b } from "./b.ts"\nexport const d = c\n`],
    ["core/e.ts", `export const open = 1\n`]
  ])
  expect(deadExports(files, (path) => path === "core/e.ts")).toEqual([
    "core/a.ts: dead",
    "core/a.ts: Lonely",
    "core/a.ts: renamed",
    "core/d.ts: b",
    "core/d.ts: d"
  ])
})

it("finds an importer for each export of what is shipped", () => {
  const open = new Set(entries.values())
  const files = new Map(paths.map((path) => [path, readFileSync(join(root, path), "utf8")]))
  const isPublic = (path: string): boolean =>
    open.has(path) || started.has(path) || /\.test\.tsx?$/.test(path) ||
    !shipped.some((folder) => path.startsWith(`${folder}/`))
  expect(deadExports(files, isPublic), "Take the word `export` away, or the whole definition.").toEqual([])
})
