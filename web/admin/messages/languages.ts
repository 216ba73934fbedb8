/**
 * The languages of the app: where each is registered, with its name, its direction, and the files of its texts. English for strangers is part of the
 * first bundle; every other file is loaded when its language is chosen. Nothing here draws: the public form uses it without React.
 */

import type { AppMessages } from "./en.ts"
import { en, type EntryMessages } from "./entry/en.ts"

/** All texts of a language. */
export type Messages = EntryMessages & AppMessages

interface Registered {
  /** The name of the language in that language. */
  readonly name: string
  readonly direction: "ltr" | "rtl"
  /** The texts before anybody is in. */
  readonly entry: () => Promise<EntryMessages>
  /** The texts after sign-in. */
  readonly app: () => Promise<AppMessages>
}

export const languages = {
  en: {
    name: "English",
    direction: "ltr",
    entry: () => Promise.resolve(en),
    app: () => import("./en.ts").then(({ en }) => en)
  },
  de: {
    name: "Deutsch",
    direction: "ltr",
    entry: () => import("./entry/de.ts").then(({ de }) => de),
    app: () => import("./de.ts").then(({ de }) => de)
  },
  fr: {
    name: "Français",
    direction: "ltr",
    entry: () => import("./entry/fr.ts").then(({ fr }) => fr),
    app: () => import("./fr.ts").then(({ fr }) => fr)
  },
  es: {
    name: "Español",
    direction: "ltr",
    entry: () => import("./entry/es.ts").then(({ es }) => es),
    app: () => import("./es.ts").then(({ es }) => es)
  },
  ar: {
    name: "العربية",
    direction: "rtl",
    entry: () => import("./entry/ar.ts").then(({ ar }) => ar),
    app: () => import("./ar.ts").then(({ ar }) => ar)
  }
} satisfies { readonly [language: string]: Registered }

export type Language = keyof typeof languages

const isLanguage = (text: string): text is Language => Object.hasOwn(languages, text)

/** The languages to choose from. */
export const languageChoices: readonly { readonly language: Language; readonly name: string }[] = Object.keys(languages)
  .filter(isLanguage).map((language) => ({ language, name: languages[language].name }))

/** The first language of these tags, such as `de-CH`, that the app has, and English without one. */
export const languageOf = (tags: readonly string[]): Language => {
  for (const tag of tags) {
    const language = tag.split("-")[0]!.toLowerCase()
    if (isLanguage(language)) return language
  }
  return "en"
}

export interface Loaded<T> {
  readonly language: Language
  readonly t: T
}

export const english: Loaded<EntryMessages> = { language: "en", t: en }

/** The texts for strangers. After a deployment or without a network their file may be missing: then they are in English. It never rejects. */
export const loadEntry = (language: Language): Promise<Loaded<EntryMessages>> =>
  languages[language].entry().then((t) => ({ language, t }), () => english)

const loading = new Map<Language, Promise<Loaded<Messages>>>()

const load = async (language: Language): Promise<Loaded<Messages>> => {
  const [entry, app] = await Promise.all([languages[language].entry(), languages[language].app()])
  return { language, t: { ...entry, ...app } }
}

/** All texts of a language, or of English if a file of theirs is missing. It rejects if English is missing, too, and then the next call tries again. */
export const loadTexts = (language: Language): Promise<Loaded<Messages>> => {
  const before = loading.get(language)
  if (before !== undefined) return before
  const texts = load(language).catch((error: unknown) => {
    loading.delete(language)
    if (language === "en") throw error
    return loadTexts("en")
  })
  loading.set(language, texts)
  return texts
}
