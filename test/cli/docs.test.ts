import * as NodeServices from "@effect/platform-node/NodeServices"
import * as CliConfig from "effect/cli/CliConfig"
import * as CliOutput from "effect/cli/CliOutput"
import * as Command from "effect/cli/Command"
import * as GlobalFlag from "effect/cli/GlobalFlag"
import * as Effect from "effect/Effect"
import { readFileSync } from "node:fs"
import { describe, expect, it } from "vitest"
import { service } from "../../composition/cli/commands.ts"

const pages = [
  "reference/cli.md",
  "guides/authentication.md",
  "guides/deployment.md",
  "guides/existing-database.md",
  "guides/security.md"
]
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

/** What `service <words> --help` prints, without a process of its own. */
const readHelp = async (words: readonly string[]): Promise<string> => {
  let help = ""
  await Effect.runPromise(
    Command.runWith(service, { version: "0" })([...words, "--help"]).pipe(
      Effect.provideService(CliOutput.Presenter, {
        present: (event) =>
          Effect.sync(() => {
            if (event._tag === "Help") help = CliOutput.defaultFormatter({ colors: false }).formatHelpDoc(event.helpDoc)
          })
      }),
      Effect.provide(CliConfig.layer({ builtIns: [GlobalFlag.Help] })),
      Effect.provide(NodeServices.layer)
    )
  )
  return help
}
const helps = new Map<string, Promise<string>>()
const helpOf = (...words: string[]): Promise<string> => {
  const key = words.join(" ")
  const known = helps.get(key) ?? readHelp(words)
  helps.set(key, known)
  return known
}
/** The names of the subcommands in a help text. */
const subcommands = (help: string): readonly string[] =>
  [...(help.split("SUBCOMMANDS")[1] ?? "").matchAll(/^ {2}([a-z-]+) /gm)].map((match) => match[1]!)

describe("the documents", () => {
  it("name only commands and flags that exist", async () => {
    expect(commands.length).toBeGreaterThan(20)
    const top = await helpOf()
    for (const { page, words } of commands) {
      const [command = "", sub = ""] = words
      expect(top, `${page}: service ${words.join(" ")}`).toMatch(new RegExp(`^ {2}${command} `, "m"))
      const names = subcommands(await helpOf(command))
      if (names.length > 0 && /^[a-z]/.test(sub)) expect(names, `${page}: service ${words.join(" ")}`).toContain(sub)
      const path = names.includes(sub) ? [command, sub] : [command]
      for (const flag of words.filter((word) => word.startsWith("--"))) {
        expect(await helpOf(...path), `${page}: service ${words.join(" ")}`).toContain(flag)
      }
    }
  })

  it("name every command, every flag and every variable", async () => {
    const reference = textOf("reference/cli.md")
    const names = subcommands(await helpOf())
    expect(names.length).toBeGreaterThan(9)
    const paths = await Promise.all(names.map(async (name) => {
      const inner = subcommands(await helpOf(name))
      return inner.length === 0 ? [[name]] : inner.map((sub) => [name, sub])
    }))
    expect(paths.flat().length).toBeGreaterThan(20)
    for (const path of paths.flat()) {
      expect(reference).toContain(`service ${path.join(" ")}`)
      const own = (await helpOf(...path)).split("GLOBAL FLAGS")[0] ?? ""
      for (const match of own.matchAll(/^ {2}(--[a-z-]+)/gm)) {
        expect(reference, `${path.join(" ")} ${match[1]}`).toContain(`\`${match[1]}`)
      }
    }
    const source = readFileSync(new URL("../../composition/environment.ts", import.meta.url), "utf8")
    const variables = new Set(
      [...source.matchAll(/"([A-Z]+(?:_[A-Z]+)*)"/g)].map((match) => match[1]!).filter((name) => name.length > 3)
    )
    expect(variables.size).toBeGreaterThan(10)
    for (const variable of variables) expect(textOf("guides/deployment.md")).toContain(`\`${variable}\``)
  })
})
