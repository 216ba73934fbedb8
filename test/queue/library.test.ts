// What the engine takes for granted of the queue library: its version, its SQL, the statements it sends. An upgrade fails here until somebody has read it again.
import { createHash } from "node:crypto"
import { readFileSync } from "node:fs"
import { createRequire } from "node:module"
import { dirname, join } from "node:path"
import { describe, expect, it } from "vitest"
import { completes, fetches } from "../../adapters/queue/engine.ts"
import { libraryLevel, libraryMigrations, queueStatements } from "../../adapters/queue/schema.ts"

const folder = dirname(createRequire(import.meta.url).resolve("graphile-worker"))
const read = (path: string): string => readFileSync(join(folder, path), "utf8")
const digest = (...texts: readonly string[]): string =>
  createHash("sha256").update(texts.join("\0")).digest("hex").slice(0, 16)

describe("the queue library", () => {
  it("is the version that was read", () => {
    expect((JSON.parse(read("../package.json")) as { readonly version: string }).version).toBe("0.18.0")
    expect([...libraryMigrations().keys()]).toEqual(Array.from({ length: libraryLevel }, (_, index) => index + 1))
    expect({
      migrations: digest(...libraryMigrations().values()),
      statements: digest(
        ...["getJobs", "completeJobs", "failJobs", "returnJobs", "resetLockedAt"].map((name) => read(`sql/${name}.js`))
      ),
      loops: digest(read("main.js"), read("worker.js"), read("helpers.js"))
    }).toMatchInlineSnapshot(`
      {
        "loops": "bac770d1546c6107",
        "migrations": "082d1f177603bded",
        "statements": "2d385f7ae4ee3da8",
      }
    `)
  })

  it("sends the statements that the engine answers itself", () => {
    const text = (path: string, part: string): string => {
      const source = read(path)
      return source.slice(source.indexOf(part)).replaceAll("${escapedWorkerSchema}", "\"jobs\"").replace(
        "${batchSize > 1 ? \"j_raw\" : \"j\"}",
        "j"
      )
    }
    expect(text("sql/getJobs.js", "with ${batchSize")).toMatch(fetches)
    expect(text("sql/completeJobs.js", "delete from ${escapedWorkerSchema}._private_jobs as jobs\nwhere id")).toMatch(
      completes()
    )
    expect(text("sql/completeJobs.js", "delete from ${escapedWorkerSchema}._private_jobs as jobs\nusing")).toMatch(
      completes()
    )
    expect(read("sql/failJobs.js")).not.toMatch(/delete from/)
    expect(read("main.js")).toContain("pgPool.connect(listenForChanges)")
  })

  it("has no text that could end ours", () => {
    expect(queueStatements().split("$library$")).toHaveLength(2 * libraryLevel + 1)
    expect(queueStatements()).not.toMatch(/\$(?:statements|migration)\$/)
  })
})
