/**
 * The language of the page: its texts, its direction, and the formats of its locale. Formats are cached, because a list formats thousands of values.
 */

import { createContext, type ReactNode, use, useEffect, useMemo, useState, useSyncExternalStore } from "react"
import type { EntryMessages } from "./entry/en.ts"
import { type Formats, makeFormats } from "./formats.ts"
import {
  english,
  type Language,
  languageOf,
  languages,
  type Loaded,
  loadEntry,
  loadTexts,
  type Messages
} from "./languages.ts"
import { currentPreferences, setPreferences, usePreferences } from "./preferences.ts"

export type { EntryMessages } from "./entry/en.ts"
export { type Language, languageChoices, type Messages } from "./languages.ts"

export interface Locale<T = Messages> {
  readonly language: Language
  readonly direction: "ltr" | "rtl"
  readonly t: T
  readonly format: Formats
}

/** The chosen language, else the first supported language of the browser. */
const languageFor = (chosen: string): Language => languageOf(chosen === "auto" ? navigator.languages : [chosen])

let allTexts: Loaded<Messages> | null = null
const listeners = new Set<() => void>()
const subscribe = (listener: () => void): () => void => {
  listeners.add(listener)
  return () => void listeners.delete(listener)
}

/** Loads all texts in the language of the page, and shows the page in them. Nobody can be let in without them. */
export const loadChosen = async (): Promise<void> => {
  const asked = languageFor(currentPreferences().language)
  const texts = await loadTexts(asked)
  // Another language may be chosen by now.
  if (languageFor(currentPreferences().language) !== asked) return
  allTexts = texts
  for (const listener of listeners) listener()
}

/** The browser's regional variant of the language, if it has one: `en-GB` has other dates than `en-US`. */
const tagFor = (language: Language): string =>
  navigator.languages.find((tag) => tag.split("-")[0]!.toLowerCase() === language) ?? language

const EntryContext = createContext<Locale<EntryMessages> | null>(null)
const LocaleContext = createContext<Locale | null>(null)

const present = <T extends EntryMessages>(locale: Locale<T> | null): Locale<T> => {
  if (locale === null) throw new Error("The texts of this page are not loaded.")
  return locale
}

/** The language with the texts for strangers, which are there first. */
export const useEntryLocale = (): Locale<EntryMessages> => present(use(EntryContext))

/** The language with all texts; null until they are loaded. */
export const useLoadedLocale = (): Locale | null => use(LocaleContext)

/** The language with all texts. */
export const useLocale = (): Locale => present(use(LocaleContext))

/** All texts. */
export const useMessages = (): Messages => useLocale().t

const localeOf = <T extends EntryMessages>({ language, t }: Loaded<T>): Locale<T> => ({
  language,
  direction: languages[language].direction,
  t,
  format: makeFormats(tagFor(language), t)
})

/** Shows in which language and direction the page is. */
const applyLocale = ({ direction, language }: Pick<Locale<unknown>, "direction" | "language">): void => {
  document.documentElement.lang = language
  document.documentElement.dir = direction
}

/** The language with all texts, for rows that stand there before the app does. Null without the texts. */
export const localeNow = (): Locale | null => {
  if (allTexts === null) return null
  const locale = localeOf(allTexts)
  applyLocale(locale)
  return locale
}

interface LocaleProviderProps {
  /** Whether the page needs the texts for strangers only. */
  readonly entryOnly: boolean
  readonly children: ReactNode
}

export const LocaleProvider = ({ children, entryOnly }: LocaleProviderProps): ReactNode => {
  const language = languageFor(usePreferences().language)
  const [entry, setEntry] = useState<Loaded<EntryMessages> | null>(language === "en" ? english : null)
  const all = useSyncExternalStore(subscribe, () => allTexts)
  useEffect(() => {
    let current = true
    void loadEntry(language).then((texts) => current && setEntry(texts))
    // Without all texts the gate says that the service cannot be reached, and loads them again when somebody tries again.
    if (!entryOnly) loadChosen().catch(() => undefined)
    return () => void (current = false)
  }, [language, entryOnly])
  const whole = useMemo(() => all === null ? null : localeOf(all), [all])
  // With all texts, the page goes on in its language until those of the next one are there: no page has two languages.
  const first = useMemo(() => whole ?? (entry === null ? null : localeOf(entry)), [whole, entry])
  useEffect(() => {
    if (first !== null) applyLocale(first)
  }, [first])
  return first === null ? null : (
    <EntryContext value={first}>
      <LocaleContext value={whole}>{children}</LocaleContext>
    </EntryContext>
  )
}

export const setLanguage = (language: Language | "auto"): void => setPreferences({ language })
