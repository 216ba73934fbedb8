/**
 * Deferred deletion (docs/guides/files.md#from-upload-to-cleanup): the small objects in a provider's `.cleanup/` folder, when they are due, and what a run does with them. It touches no
 * storage: names and texts go in, decisions come out.
 */

import { isBag } from "../bag.ts"
import { ticketMs } from "./ticket.ts"
import { isStoredPath, pathsOf } from "./uri.ts"
import type { StoredFile, StoredVariant } from "./uri.ts"

export const cleanupFolder = ".cleanup/"

/**
 * Files of uploads that are in progress or were interrupted. They are never served, and are removed when nothing has been written to them for this
 * long.
 */
export const temporaryFolder = ".tmp/"
export const temporaryMs = 3_600_000

/** An upload is deleted an hour after its ticket expires, unless a row holds it. */
export const uploadDueMs = ticketMs + 3_600_000

/** Most entries that one run handles, the longest time of a run, and how many entries are checked together. */
export const cleanupLimits = { entries: 10_000, milliseconds: 5 * 60_000, group: 100 } as const

/**
 * A write can schedule the delete of a file before it commits. An entry whose file is still held stays for this long, so that the delete is not
 * lost. This is longer than any transaction of the service.
 */
export const patienceMs = 10 * 60_000

/** A scheduled delete of a file with its variants, or of variants alone. */
export interface CleanupEntry {
  readonly provider: string
  readonly path: string
  /** Paths of its variants. */
  readonly variants: readonly string[]
  /** False: only variants that no row lists are deleted. A row may hold the file. */
  readonly whole: boolean
  /** Milliseconds since 1970. */
  readonly due: number
}

/** The entry for a file with its variants. */
export const entryOf = (file: StoredFile, due: number): CleanupEntry => {
  const [path, ...variants] = pathsOf(file)
  return { provider: file.provider, path, variants, whole: true, due }
}

/** The entry for some variants of a file, without the file. */
export const variantsEntry = (file: StoredFile, variants: readonly StoredVariant[], due: number): CleanupEntry => ({
  ...entryOf({ ...file, variants }, due),
  whole: false
})

/** What an entry deletes where rows hold its file with these variants; `listed` null: no row holds it. */
export const leftOf = (
  { path, variants, whole }: CleanupEntry,
  listed: ReadonlySet<string> | null
): readonly string[] =>
  whole
    ? listed === null ? [...variants, path] : []
    : variants.filter((variant) => listed?.has(variant) !== true)

/** The name of an entry: names sort in the order of their times. `id` makes the name unique. */
export const entryName = (due: number, id: string): string =>
  `${cleanupFolder}${new Date(due).toISOString().replace(/[-:.]/g, "")}-${id}.json`

/** When an entry of this name is due. Null for a name of another form. */
export const dueOf = (name: string): number | null => {
  const match = /^\.cleanup\/(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)(\d{3})Z-[A-Za-z0-9_-]{1,64}\.json$/.exec(name)
  if (match === null) return null
  const [, year, month, day, hour, minute, second, milli] = match
  const due = Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}.${milli}Z`)
  return Number.isNaN(due) ? null : due
}

/** Of an entry for variants alone the file is called `of`: a version of the service that knows no such entries drops it, and deletes no file. */
export const writeEntry = ({ due, path, provider, variants, whole }: CleanupEntry): string =>
  JSON.stringify({
    provider,
    [whole ? "path" : "of"]: path,
    due: new Date(due).toISOString(),
    ...(variants.length === 0 ? {} : { variants })
  })

/** Reads an entry. Null for a text of another form, or one with paths that this service never uses. */
export const readEntry = (text: string): CleanupEntry | null => {
  let parsed: unknown
  try {
    parsed = JSON.parse(text)
  } catch {
    return null
  }
  if (!isBag(parsed)) return null
  const { due, of, provider, variants = [] } = parsed
  const whole = of === undefined
  const path = whole ? parsed["path"] : of
  if (typeof provider !== "string" || typeof path !== "string" || typeof due !== "string") return null
  const at = Date.parse(due)
  const isOwn = (each: unknown): each is string =>
    typeof each === "string" && each.startsWith(`${path}.`) && isStoredPath(each)
  if (Number.isNaN(at) || !isStoredPath(path) || !Array.isArray(variants) || !variants.every(isOwn)) return null
  return { provider, path, variants, whole, due: at }
}

/** The column's text without its parameters. It tells whether a row holds a file. */
export const heldText = ({ path, provider }: Pick<CleanupEntry, "path" | "provider">): string => `${provider}:${path}`
