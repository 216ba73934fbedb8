// What the queue takes for granted of the library whose table of jobs it uses: its version and its migrations. An upgrade fails here until somebody has read it again.
import { createHash } from "node:crypto"
import { readFileSync } from "node:fs"
import { createRequire } from "node:module"
import { dirname, join } from "node:path"
import { describe, expect, it } from "vitest"
import { libraryLevel, libraryMigrations, queueStatements } from "../../adapters/queue/schema.ts"

const folder = dirname(createRequire(import.meta.url).resolve("graphile-worker"))
const read = (path: string): string => readFileSync(join(folder, path), "utf8")
const digest = (...texts: readonly string[]): string =>
  createHash("sha256").update(texts.join("\0")).digest("hex").slice(0, 16)

describe("the queue library", () => {
  it("is the version that was read", () => {
    expect((JSON.parse(read("../package.json")) as { readonly version: string }).version).toBe("0.18.0")
    expect([...libraryMigrations().keys()]).toEqual(Array.from({ length: libraryLevel }, (_, index) => index + 1))
    expect(digest(...libraryMigrations().values())).toMatchInlineSnapshot(`"082d1f177603bded"`)
  })

  it("has no text that could end ours", () => {
    expect(queueStatements().split("$library$")).toHaveLength(2 * libraryLevel + 1)
    expect(queueStatements()).not.toMatch(/\$(?:statements|migration)\$/)
  })
})
