// What holds for the texts of every language: the same names, and the marks that people there write.
import { describe, expect, it } from "vitest"
import { words as account } from "../account/words.ts"
import { words as action } from "../action/words.ts"
import { words as board } from "../board/words.ts"
import { words as files } from "../field/words.ts"
import { wordsFor } from "../form/words.ts"
import { words as jobs } from "../jobs/words.ts"
import { liveWords } from "../live/words.ts"
import { words as saved } from "../saved/words.ts"
import { resetWords } from "../sign-in/reset-words.ts"
import { words as task } from "../task/words.ts"
import { words as users } from "../users/words.ts"
import { words as webhooks } from "../webhooks/words.ts"
import { ar } from "./ar.ts"
import { de } from "./de.ts"
import { en } from "./en.ts"
import { es } from "./es.ts"
import { fr } from "./fr.ts"

const languages = ["en", "de", "fr", "es", "ar"] as const
const form = Object.fromEntries(languages.map((language) => [language, wordsFor([language]).words]))

const catalogues: Readonly<Record<string, Readonly<Record<string, object>>>> = {
  messages: { en, de, fr, es, ar },
  account,
  action,
  board,
  files,
  form,
  jobs,
  liveWords,
  saved,
  resetWords,
  task,
  users,
  webhooks
}

/** Every text by its name; functions are asked for one and for several. */
const textsOf = (value: unknown, at = ""): readonly (readonly [name: string, text: string])[] =>
  typeof value === "string"
    ? [[at, value]]
    : typeof value === "function"
    ? [1, 2, 7].map((count) =>
      [`${at}()`, (value as (...given: readonly unknown[]) => string)(count, "N", "N")] as const
    )
    : Object.entries(value as object).flatMap(([name, member]) => textsOf(member, `${at}.${name}`))

const all = Object.entries(catalogues).flatMap(([catalogue, byLanguage]) =>
  languages.map((language) =>
    [`${catalogue} in ${language}`, language, byLanguage[language]!, byLanguage["en"]!] as const
  )
)

/** Texts in which something stands. */
const having = (pattern: RegExp, words: object): readonly string[] =>
  textsOf(words).filter(([, text]) => pattern.test(text)).map(([name, text]) => `${name}: ${text}`)

/** Marks of other languages. In French a break before a mark would leave it alone at the start of a line. */
const unlike: { readonly [language: string]: RegExp } = { de: /“[^„]*”/, fr: /« | [»;:?!]|\p{L}[»;?!]/u }

describe.each(all)("%s", (_, language, words, english) => {
  it("has the names of English, and no empty text", () => {
    const names = (of: object) => [...new Set(textsOf(of).map(([name]) => name))].toSorted()
    expect(names(words)).toEqual(names(english))
    expect(having(/^\s*$|\s$|undefined|NaN/, words)).toEqual([])
  })

  it("has typographic marks", () => {
    expect(having(/\p{L}'\p{L}|\.\.\./u, words)).toEqual([])
    expect(having(unlike[language] ?? /$^/, words)).toEqual([])
  })
})
