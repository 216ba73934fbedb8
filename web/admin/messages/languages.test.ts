// What holds for the texts of every language: each is there once, the app shows it, and it has the marks that people there write.
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, it } from "vitest"
import { en } from "./en.ts"
import { en as entry } from "./entry/en.ts"
import { type Language, languageOf, languages, loadTexts } from "./languages.ts"

const every = Object.keys(languages) as Language[]

/** Every text by its name; functions are asked for one and for several. */
const textsOf = (value: unknown, at = ""): readonly (readonly [name: string, text: string])[] =>
  typeof value === "string"
    ? [[at, value]]
    : typeof value === "function"
    ? [1, 2, 7].map((count) =>
      [`${at}()`, (value as (...given: readonly unknown[]) => string)(count, "N", "N", "N")] as const
    )
    : Object.entries(value as object).flatMap(([name, member]) => textsOf(member, `${at}.${name}`))

const english = { ...entry, ...en }
const all = await Promise.all(every.map(async (language) => [language, (await loadTexts(language)).t] as const))

/** Texts in which something stands. */
const having = (pattern: RegExp, words: object): readonly string[] =>
  textsOf(words).filter(([, text]) => pattern.test(text)).map(([name, text]) => `${name}: ${text}`)

/** Marks of other languages. In French a break before a mark would leave it alone at the start of a line. */
const unlike: { readonly [language: string]: RegExp } = { de: /“[^„]*”/, fr: /« | [»;:?!]|\p{L}[»;?!]/u }

describe.each(all)("%s", (language, texts) => {
  it("has the names of English, and no empty text", () => {
    const names = (of: object) => [...new Set(textsOf(of).map(([name]) => name))].toSorted()
    expect(names(texts)).toEqual(names(english))
    expect(having(/^\s*$|\s$|undefined|NaN/, texts)).toEqual([])
  })

  it("has typographic marks", () => {
    expect(having(/\p{L}'\p{L}|\.\.\./u, texts)).toEqual([])
    expect(having(unlike[language] ?? /$^/, texts)).toEqual([])
  })

  // A dry run lists its first refusals, too, and has no report.
  it("names no report in the note that only the first refusals are shown", () => {
    const { firstOnly, moreReported, report } = texts.task
    const word = { en: "report", de: "Bericht", fr: "rapport", es: "informe", ar: "تقرير" }[language].toLowerCase()
    expect(firstOnly("200")).toContain("200")
    expect(firstOnly("200").toLowerCase()).not.toContain(word)
    for (const text of [moreReported, report]) expect(text.toLowerCase()).toContain(word)
  })
})

it("has no part of the texts in two files", () => {
  expect(Object.keys(entry).filter((part) => part in en)).toEqual([])
})

it("has a file for each language, and no other", () => {
  const files = (folder: string) =>
    readdirSync(join(import.meta.dirname, folder)).flatMap((name) => /^([a-z]{2})\.ts$/.exec(name)?.[1] ?? [])
      .toSorted()
  expect([files("."), files("entry")]).toEqual([every.toSorted(), every.toSorted()])
})

it.each([
  [["de-CH", "en"], "de"],
  [["pt-BR", "FR-ca"], "fr"],
  [["constructor", "tlh"], "en"],
  [[], "en"]
])("reads %j as %s", (tags, language) => expect(languageOf(tags)).toBe(language))

/** The code of the app besides its texts, by file. */
const code = readdirSync(join(import.meta.dirname, ".."), { recursive: true, encoding: "utf8" })
  .filter((path) => /\.tsx?$/.test(path) && !/\.test\.|^messages\W(?:entry\W)?[a-z]{2}\.ts$/.test(path))
  .map((path) => readFileSync(join(import.meta.dirname, "..", path), "utf8"))

it("has no text that the app never shows", () => {
  const unused = Object.entries(english).flatMap(([part, texts]) => {
    const users = code.filter((text) => new RegExp(`\\.${part}\\b|\\["${part}"\\]`).test(text))
    return Object.keys(texts).filter((name) => !users.some((text) => new RegExp(`\\.${name}\\b|"${name}"`).test(text)))
      .map((name) => `${part}.${name}`)
  })
  expect(unused).toEqual([])
})
