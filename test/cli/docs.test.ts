import { readFileSync } from "node:fs"
import { afterAll, describe, expect, it } from "vitest"
import { makeProject } from "./support.ts"

const pages = ["reference/cli.md", "guides/existing-database.md", "guides/deployment.md"]
const textOf = (page: string): string => readFileSync(new URL(`../../docs/${page}`, import.meta.url), "utf8")

/** Every `service …` that a page has in code. */
const commands = pages.flatMap((page) =>
  [...textOf(page).matchAll(/(?:`|\n|\$\()(?:npx (?:--package resource-admin )?)?service ([a-z][^`\n)]*)/g)].map((
    match
  ) => ({
    page,
    words: match[1]!.trim().split(/\s+/)
  }))
)

const project = makeProject()
afterAll(() => project.dispose())
const helps = new Map<string, Promise<string>>()
const helpOf = (...words: string[]): Promise<string> => {
  const key = words.join(" ")
  const known = helps.get(key) ?? project.service(...words, "--help").then(({ stdout }) => stdout)
  helps.set(key, known)
  return known
}

describe("the documents", () => {
  it("name only commands and flags that exist", async () => {
    expect(commands.length).toBeGreaterThan(20)
    const top = await helpOf()
    for (const { page, words } of commands) {
      const [command = "", sub = ""] = words
      expect(top, `${page}: service ${words.join(" ")}`).toMatch(new RegExp(`^ {2}${command} `, "m"))
      const path = command === "users" && /^[a-z]+$/.test(sub) ? [command, sub] : [command]
      for (const flag of words.filter((word) => word.startsWith("--"))) {
        expect(await helpOf(...path), `${page}: service ${words.join(" ")}`).toContain(flag)
      }
    }
  }, 60_000)

  it("name every command, every flag and every variable", async () => {
    const reference = textOf("reference/cli.md")
    const top = await helpOf()
    const names = [...(top.split("SUBCOMMANDS")[1] ?? "").matchAll(/^ {2}([a-z]+) /gm)].map((match) => match[1]!)
    expect(names.length).toBeGreaterThan(8)
    for (const name of names) {
      expect(reference).toContain(`service ${name}`)
      if (name === "users") continue
      const own = (await helpOf(name)).split("GLOBAL FLAGS")[0] ?? ""
      for (const match of own.matchAll(/^ {2}(--[a-z-]+)/gm)) {
        expect(reference, `${name} ${match[1]}`).toContain(match[1])
      }
    }
    const source = readFileSync(new URL("../../composition/environment.ts", import.meta.url), "utf8")
    const variables = new Set(
      [...source.matchAll(/"([A-Z]+(?:_[A-Z]+)*)"/g)].map((match) => match[1]!).filter((name) => name.length > 3)
    )
    expect(variables.size).toBeGreaterThan(10)
    for (const variable of variables) expect(textOf("guides/deployment.md")).toContain(`\`${variable}\``)
  }, 60_000)
})
