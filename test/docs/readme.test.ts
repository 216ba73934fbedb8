/**
 * The README is true: its commands work when pasted against a started example, as do those of other pages that speak of it, and no link of the
 * documentation leads nowhere.
 */

import { existsSync, readFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { plainEnvironment, runInShell } from "../cli/support.ts"
import { type Checkout, copyCheckout, type Example, startExample } from "../examples/checkout.ts"
import { freePort } from "../support/cluster.ts"
import { examplesOf, pages, root } from "./blocks.ts"
import { runLines } from "./shell.ts"

// The example and its commands are processes of their own; a busy machine takes its time.
const readme = readFileSync(join(root, "README.md"), "utf8")

const drainToken = "the-token-of-a-timer"

describe("the README's commands", () => {
  let checkout: Checkout
  let example: Example

  beforeAll(async () => {
    checkout = copyCheckout()
    // Below a thousand orders few pictures are drawn.
    example = await startExample(checkout, await freePort(), ["--scale", "999"], {
      SERVICE_JOBS_DRAIN_TOKEN: drainToken
    })
  })

  const inExample = (command: string) =>
    runInShell({
      args: [...command.split(" "), "--config", "examples/shop/admin.config.ts"],
      folder: checkout.folder,
      env: { ...plainEnvironment(), AUTH_URL: example.url }
    })

  it("tell of a change as the guide to events shows", async () => {
    const token = (await inExample("token admin@shop.example")).stdout.trim()
    const headers = { authorization: `Bearer ${token}`, "content-type": "application/json", "if-match": "*" }
    const stopped = new AbortController()
    const stream = await fetch(`${example.url}/api/v1/orders:watch`, { headers, signal: stopped.signal })
    await fetch(`${example.url}/api/v1/orders/17`, {
      method: "PATCH",
      headers,
      body: JSON.stringify({ note: "Ring once." })
    })
    let said = ""
    for await (const chunk of stream.body!.pipeThrough(new TextDecoderStream())) {
      said += chunk
      if (/^event: change[^]*\n\n/m.test(said)) break
    }
    stopped.abort()
    const numbers = /\d+/g
    const shown = examplesOf("docs/guides/events.md", "text")[0]!.text
    expect(said.replaceAll(numbers, "0")).toContain(shown.replaceAll(numbers, "0"))
  })

  it("tell what entered, changed and left a filter as the guide to events shows", async () => {
    const token = (await inExample("token admin@shop.example")).stdout.trim()
    const headers = { authorization: `Bearer ${token}`, "content-type": "application/json", "if-match": "*" }
    const change = async (values: object): Promise<void> => {
      const body = JSON.stringify(values)
      const answer = await fetch(`${example.url}/api/v1/orders/17`, { method: "PATCH", headers, body })
      expect(answer.status).toBe(200)
    }
    await change({ status: "draft" })
    const stopped = new AbortController()
    const filter = encodeURIComponent("status = \"paid\"")
    const stream = await fetch(`${example.url}/api/v1/orders:watch?filter=${filter}`, {
      headers,
      signal: stopped.signal
    })
    await change({ status: "paid" })
    await change({ note: "Ring three times." })
    await change({ status: "shipped" })
    let said = ""
    for await (const chunk of stream.body!.pipeThrough(new TextDecoderStream())) {
      said += chunk
      if (/"left"\}\n\n/.test(said)) break
    }
    stopped.abort()
    const events = (text: string) => text.match(/^(?:event|data): .*$/gm)?.map((line) => line.replaceAll(/\d+/g, "0"))
    expect(events(said)).toEqual(events(examplesOf("docs/guides/events.md", "text")[1]!.text))
  })

  /** Makes the account that pages sign in with; gives its password. */
  const makeAnn = async (): Promise<string> => {
    const made = await inExample("users create ann@example.org --role sales --generate-password")
    return /^Password: (\S+)$/m.exec(made.stdout)?.[1] ?? made.stderr
  }

  afterAll(async () => {
    await example?.stop()
    checkout?.[Symbol.dispose]()
  })

  it("work one after the other, and those of the pages that speak of the same service", async () => {
    // Only the port differs from what is printed there, and the password.
    const given = {
      "http://localhost:5173": example.url,
      "https://admin.example.com": example.url,
      "https://admin.example": example.url,
      "\"password\":\"…\"": `"password":"${await makeAnn()}"`
    }
    const pages = [
      examplesOf("README.md", "sh"),
      examplesOf("docs/reference/openapi.md", "sh"),
      examplesOf("docs/reference/reads.md", "sh"),
      examplesOf("docs/reference/tasks.md", "sh"),
      examplesOf("docs/guides/bulk-and-import.md", "sh"),
      // The last two are signed in as others.
      examplesOf("docs/guides/jobs.md", "sh").slice(1),
      examplesOf("docs/guides/authentication.md", "sh")
    ]
    const [token = "?", list = "", facets = "", change = "", ...rest] = await runLines(pages.flat(), {
      folder: checkout.folder,
      env: { AUTH_URL: example.url, SERVICE_JOBS_DRAIN_TOKEN: drainToken },
      given,
      service: "--config examples/shop/admin.config.ts"
    })
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
    const said = rest.join("\n")
    expect(said).toMatch(/"tried":\d+,"written":\d+,"refused":0/)
    expect(said).toContain("\"guess\":\"email\"")
    expect(said).toMatch(/"state":"checked".*"written":1,"refused":1.*"line":3,"column":"E-Mail","field":"email"/)
    expect(said).toContain("\"drained\":true")
    expect(said).toMatch(/Created "nightly import".*\(sales\)[^]*Key: sk_/)
  })
})

describe("the documentation", () => {
  it("names folders that exist", () => {
    const folders = examplesOf("CONTRIBUTING.md", "text").flatMap(({ text }) =>
      [...text.matchAll(/^([\w/]+)\//gm)].map(([, name = ""]) => name)
    )
    expect(folders.filter((name) => !existsSync(join(root, name)))).toEqual([])
    expect(folders.length).toBeGreaterThan(5)
  })

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
