/** The list of files of a field, as a form changes it: texts in their order, stored uris and tickets alike. Pure. */

import { isObject } from "../../client/problem.ts"

/** The uri of a file object; any other value as it is. */
export const uriOf = (value: unknown): unknown =>
  isObject(value) && typeof value["uri"] === "string" ? value["uri"] : value

/** The texts of a list: those of the file objects of an answer, or of a draft. Anything else is an empty list. */
export const textsOf = (value: unknown): readonly string[] =>
  Array.isArray(value) ? value.map(uriOf).filter((text) => typeof text === "string") : []

/** The list with one of its files in another place. The same list if there is no such place. */
export const moved = (list: readonly string[], from: number, to: number): readonly string[] => {
  const text = list[from]
  return text === undefined || from === to || to < 0 || to >= list.length
    ? list
    : list.toSpliced(from, 1).toSpliced(to, 0, text)
}

/** A key for each text. The database may hold a text twice. */
export const keysOf = (list: readonly string[]): readonly string[] => {
  const counts = new Map<string, number>()
  return list.map((text) => {
    const count = counts.get(text) ?? 0
    counts.set(text, count + 1)
    return `${count} ${text}`
  })
}

/** The name that a stored uri has for its file. Null for other texts, such as tickets. */
export const nameIn = (text: string): string | null => {
  const query = /^[a-z][a-z0-9_-]*:[^?]*\?(.*)$/s.exec(text)?.[1]
  return query === undefined ? null : new URLSearchParams(query.replaceAll("+", "%2B")).get("name")
}
