// The rows of planted faults fit the code as it is: a row whose text is gone plants nothing, and would be noticed only by a run of all of them.
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { expect, it } from "vitest"

interface Fault {
  readonly rule: string
  readonly file: string
  readonly old: string
  readonly tests: readonly string[]
}

const root = join(import.meta.dirname, "..", "..")
const folder = join(root, "test", "faults")
const tables = readdirSync(folder).filter((name) => name.endsWith(".mjs"))

it.each(tables)("%s names a text that stands once in its file, and tests that are there", async (name) => {
  const { faults } = await import(join(folder, name)) as { readonly faults: readonly Fault[] }
  expect(faults.length).toBeGreaterThan(0)
  const wrong = faults.filter(({ file, old, tests }) =>
    !existsSync(join(root, file)) || readFileSync(join(root, file), "utf8").split(old).length !== 2 ||
    tests.length === 0 || !tests.every((test) => existsSync(join(root, test)))
  )
  expect(wrong.map(({ rule }) => rule)).toEqual([])
})
