/**
 * The README is true: its commands work when pasted against a started example, its declaration compiles, and no link of the
 * documentation leads nowhere.
 */

import * as Result from "effect/Result"
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { fileURLToPath, pathToFileURL } from "node:url"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { compileModels } from "../../core/domain/compile/compile.ts"
import type { Config } from "../../core/domain/declare/config.ts"
import { type Checkout, copyCheckout, type Example, plainEnvironment, run, startExample } from "../examples/checkout.ts"
import { freePort } from "../support/cluster.ts"

// The example and its commands are processes of their own; a busy machine takes its time.
const root = fileURLToPath(new URL("../..", import.meta.url))
const readme = readFileSync(join(root, "README.md"), "utf8")

/** Code blocks that are marked as tested, by their mark. */
const blocks = new Map(
  [...readme.matchAll(/^<!-- tested: (\w+) -->\n```\w+\n([\s\S]*?)^```$/gm)].map((
    [, name = "", code = ""]
  ) => [name, code])
)

describe("the README's commands", () => {
  let checkout: Checkout
  let example: Example

  beforeAll(async () => {
    checkout = copyCheckout()
    example = await startExample(checkout, await freePort())
  })

  afterAll(async () => {
    await example?.stop()
    checkout?.[Symbol.dispose]()
  })

  it("work one after the other", async () => {
    const commands = [...blocks].filter(([name]) => name !== "config")
    expect(commands.map(([name]) => name)).toEqual(["token", "list", "facets", "change"])
    // Only the port differs from what is printed there.
    const script = commands.map(([, code]) => code.replaceAll("http://localhost:5173", example.url)).join(
      "\necho; echo '---8<---'\n"
    )
    const { code, stderr, stdout } = await run("sh", ["-c", script], {
      cwd: checkout.folder,
      env: plainEnvironment({ AUTH_URL: example.url })
    })
    expect(code, stderr).toBe(0)
    const [token = "?", list = "", facets = "", change = ""] = stdout.split("---8<---").map((text) => text.trim())
    expect(token).toBe("")
    const { items } = JSON.parse(list) as {
      readonly items: ReadonlyArray<{ readonly status: string; readonly expand: object }>
    }
    expect(items).toHaveLength(3)
    for (const { expand, status } of items) {
      expect(status).toBe("paid")
      expect(Object.keys(expand).toSorted()).toEqual(["customer", "lines"])
    }
    expect((JSON.parse(facets) as { readonly facets: readonly object[] }).facets).toHaveLength(6)
    expect(JSON.parse(change)).toMatchObject({ id: "17", note: "Ring twice." })
  })
})

describe("the README's declaration", () => {
  let folder = ""
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "readme-"))
  })
  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  it("compiles", async () => {
    const file = join(folder, "admin.config.ts")
    const entry = JSON.stringify(pathToFileURL(join(root, "composition", "index.ts")).href)
    writeFileSync(file, blocks.get("config")!.replaceAll("\"resource-admin\"", entry))
    const module = await import(pathToFileURL(file).href) as { readonly default: Config }
    const compiled = compileModels(module.default)
    expect(Result.isFailure(compiled) ? compiled.failure : []).toEqual([])
  })
})

describe("the documentation", () => {
  const pages = [
    "README.md",
    "CONTRIBUTING.md",
    ...["docs", "docs/guides", "docs/reference"].flatMap((folder) =>
      readdirSync(join(root, folder)).filter((name) => name.endsWith(".md")).map((name) => `${folder}/${name}`)
    )
  ]

  it.each(pages)("%s has no link that leads nowhere", (page) => {
    const links = [...readFileSync(join(root, page), "utf8").matchAll(/\]\(([^)#\s]+)(?:#[^)]*)?\)/g)].map((
      [, link = ""]
    ) => link)
    const lost = links.filter((link) =>
      !/^(?:https?|mailto):/.test(link) && !existsSync(join(root, dirname(page), link))
    )
    expect(lost).toEqual([])
  })

  it("gives a reason for every package that users install", () => {
    const { dependencies, peerDependencies } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
      readonly [kind in "dependencies" | "peerDependencies"]: Readonly<Record<string, string>>
    }
    const design = readFileSync(join(root, "docs", "design.md"), "utf8").split("\n").filter((line) =>
      line.startsWith("| `")
    )
    const missing = Object.keys({ ...dependencies, ...peerDependencies }).filter((name) =>
      !design.some((line) => line.split("|")[1]!.includes(`\`${name}\``))
    )
    expect(missing).toEqual([])
  })

  it("names every command in the README", () => {
    const reference = readFileSync(join(root, "docs", "reference", "cli.md"), "utf8")
    const commands = [...new Set([...reference.matchAll(/^\| `service (\w+)/gm)].map(([, name]) => name))]
    const row = readme.split("\n").find((line) => line.startsWith("| Commands |"))!
    expect([...row.matchAll(/`(\w+)`/g)].map(([, name]) => name)).toEqual(commands)
  })

  it("has every page in its index", () => {
    const index = readFileSync(join(root, "docs", "README.md"), "utf8")
    const missing = pages.filter((page) =>
      /^docs\/\w+\//.test(page) && !index.includes(`](${page.slice("docs/".length)})`)
    )
    expect(missing).toEqual([])
  })
})
