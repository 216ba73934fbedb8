/** Countries and currencies by what people type: their code, or their name in the language of the app. It draws nothing. */

import { countries, currencies } from "../../../core/domain/value/codes.ts"
import type { Formats } from "../messages/formats.ts"

export interface Code {
  readonly code: string
  readonly name: string
}

export type CodeKind = "country" | "currency"

/** All codes of a kind, by name. */
export const codesOf = (kind: CodeKind, format: Formats): readonly Code[] => {
  const { compare } = new Intl.Collator(format.locale)
  return Array.from(kind === "country" ? countries : currencies, (code) => ({ code, name: format[kind](code) }))
    .toSorted((a, b) => compare(a.name, b.name))
}

/** Letters without what marks them, so that `Osterreich` finds Österreich. */
const plainLetters = (text: string): string => text.trim().normalize("NFD").replaceAll(/\p{M}/gu, "").toLowerCase()

/** Those that a text finds, best first: the code itself, codes and names that begin with it, names with a word that does. */
export const findCodes = (all: readonly Code[], text: string): readonly Code[] => {
  const wanted = plainLetters(text)
  if (wanted === "") return all
  const rank = ({ code, name }: Code): number => {
    const [low, words] = [code.toLowerCase(), plainLetters(name)]
    if (low === wanted || words === wanted) return 0
    if (words.startsWith(wanted)) return 1
    if (low.startsWith(wanted)) return 2
    return words.split(/[^\p{L}\p{N}]+/u).some((word) => word.startsWith(wanted)) ? 3 : 4
  }
  return all.map((each) => [rank(each), each] as const).filter(([at]) => at < 4)
    .toSorted(([a], [b]) => a - b).map(([, each]) => each)
}

/** The code that a text says in full, as a code or as a name; null if it says none. */
export const codeIn = (all: readonly Code[], text: string): string | null => {
  const wanted = plainLetters(text)
  return (all.find(({ code }) => code.toLowerCase() === wanted) ??
    all.find(({ name }) => plainLetters(name) === wanted))?.code ?? null
}
