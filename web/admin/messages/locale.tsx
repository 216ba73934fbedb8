/**
 * The language of the app: its texts, its direction, and numbers and times as people there write them. English is in the first bundle, the others are
 * loaded when they are chosen. Formats are remembered, as a list makes thousands of texts.
 */

import { createContext, type ReactNode, use, useEffect, useMemo, useState } from "react"
import { setPreferences, usePreferences } from "../shell/preferences.ts"
import { en, type Messages } from "./en.ts"
import { makeFormats } from "./formats.ts"
import type { Formats } from "./formats.ts"

export type { Messages } from "./en.ts"

export type Language = "en" | "de" | "fr" | "es" | "ar"

/** Each language in its own words. */
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

/** The language that was chosen, else the first of the browser's that there is. */
const languageFor = (chosen: string): Language => {
  for (const tag of chosen === "auto" ? navigator.languages : [chosen]) {
    const language = tag.split("-")[0]!.toLowerCase()
    if (isLanguage(language)) return language
  }
  return "en"
}

/** The browser's own form of the language where it has one: `en-GB` writes other dates than `en-US`. */
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
      // The file is gone after a new version was deployed, or the network is: English until the next load.
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
