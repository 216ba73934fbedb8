/**
 * The language of the app: its texts, its direction, and the formats of its locale. English is part of the first bundle; other languages are loaded when
 * they are chosen. Formats are cached, because a list formats thousands of values.
 */

import { createContext, type ReactNode, use, useEffect, useMemo, useState } from "react"
import { en, type Messages } from "./en.ts"
import { makeFormats } from "./formats.ts"
import type { Formats } from "./formats.ts"
import { setPreferences, usePreferences } from "./preferences.ts"

export type { Messages } from "./en.ts"

export type Language = "en" | "de" | "fr" | "es" | "ar"

/** The name of each language in that language. */
export const languages: Readonly<Record<Language, string>> = {
  en: "English",
  de: "Deutsch",
  fr: "Français",
  es: "Español",
  ar: "العربية"
}

const catalogues: Readonly<Record<Language, () => Promise<Messages>>> = {
  en: () => Promise.resolve(en),
  de: () => import("./de.ts").then(({ de }) => de),
  fr: () => import("./fr.ts").then(({ fr }) => fr),
  es: () => import("./es.ts").then(({ es }) => es),
  ar: () => import("./ar.ts").then(({ ar }) => ar)
}

export interface Locale {
  readonly language: Language
  readonly direction: "ltr" | "rtl"
  readonly t: Messages
  readonly format: Formats
}

const isLanguage = (text: string): text is Language => text in languages

/** The chosen language, else the first supported language of the browser. */
const languageFor = (chosen: string): Language => {
  for (const tag of chosen === "auto" ? navigator.languages : [chosen]) {
    const language = tag.split("-")[0]!.toLowerCase()
    if (isLanguage(language)) return language
  }
  return "en"
}

/** The browser's regional variant of the language, if it has one: `en-GB` has other dates than `en-US`. */
const tagFor = (language: Language): string =>
  navigator.languages.find((tag) => tag.split("-")[0]!.toLowerCase() === language) ?? language

const LocaleContext = createContext<Locale | null>(null)

export const useLocale = (): Locale => {
  const locale = use(LocaleContext)
  if (locale === null) throw new Error("There is no LocaleProvider.")
  return locale
}

/** The texts. */
export const useMessages = (): Messages => useLocale().t

export const LocaleProvider = ({ children }: { readonly children: ReactNode }): ReactNode => {
  const { language: chosen } = usePreferences()
  const language = languageFor(chosen)
  const [loaded, setLoaded] = useState<{ readonly language: Language; readonly t: Messages } | null>(
    language === "en" ? { language, t: en } : null
  )
  useEffect(() => {
    let current = true
    catalogues[language]().then(
      (t) => current && setLoaded({ language, t }),
      // After a deployment or without a network, the file may be missing. Then the app is in English until the next load.
      () => current && setLoaded((before) => before ?? { language: "en", t: en })
    )
    return () => void (current = false)
  }, [language])
  const locale = useMemo((): Locale | null => {
    if (loaded === null) return null
    const direction = loaded.language === "ar" ? "rtl" : "ltr"
    return { ...loaded, direction, format: makeFormats(tagFor(loaded.language), loaded.t.time) }
  }, [loaded])
  useEffect(() => {
    if (locale === null) return
    document.documentElement.lang = locale.language
    document.documentElement.dir = locale.direction
  }, [locale])
  return locale === null ? null : <LocaleContext value={locale}>{children}</LocaleContext>
}

export const setLanguage = (language: Language | "auto"): void => setPreferences({ language })
