/**
 * Writes stored files as the JSON objects of answers (docs/guides/files.md#from-upload-to-cleanup) and of the records that rules and hooks see. The
 * caller has already checked who may read them.
 */

import type { FileField, FileValue } from "../model/file.ts"
import type { Cell, Json, Row } from "../value/kind.ts"
import { elementsOf } from "../value/list.ts"
import { fileAddress, linkPeriod, linkQuery, publicAddress, signedText } from "./link.ts"
import { typeOfExtension } from "./type.ts"
import { extensionOf, externalName, isExternalUrl, readStored, variantPath } from "./uri.ts"
import type { StoredFile } from "./uri.ts"

/** What links need of a provider. */
export interface LinkedProvider {
  readonly public: boolean
  /** Where its public files are linked from; null: at this service. */
  readonly publicUrl: string | null
  /** What stands before the path there: the prefix within a bucket. */
  readonly prefix: string
  /** Longest lifetime of its links in seconds. */
  readonly linkLifetime: number
}

/** What links are made with. */
export interface FileLinks {
  /** The path that `/files` hangs on: `/api`. */
  readonly root: string
  readonly provider: (name: string) => LinkedProvider | null
  readonly sign: (text: string) => string
  /** Milliseconds since 1970. */
  readonly now: () => number
}

/** What a stored value is: a file of a provider, an external file, or neither. */
export type Reading =
  | { readonly of: "stored"; readonly file: StoredFile }
  | { readonly of: "external"; readonly name: string; readonly type: string }
  | { readonly of: "missing" }

/** Reads a value of a field. `isKnown`: whether a provider is configured. */
const readFile = (
  field: Pick<FileField, "externalUrls">,
  text: string,
  isKnown: (provider: string) => boolean
): Reading => {
  const file = readStored(text)
  if (file !== null && isKnown(file.provider)) return { of: "stored", file }
  if (file === null && field.externalUrls && isExternalUrl(text)) {
    const { extension, name } = externalName(text)
    return { of: "external", name, type: typeOfExtension(extension) }
  }
  return { of: "missing" }
}

/** A file as rules, hooks and events see it: without links. */
export const fileRecord = (field: FileField, uri: string | null): FileValue | null => {
  if (uri === null) return null
  const reading = readFile(field, uri, () => true)
  if (reading.of === "missing") return { uri, missing: true }
  if (reading.of === "external") return { uri, name: reading.name, type: reading.type }
  const { name, path, size } = reading.file
  return { uri, name, type: typeOfExtension(extensionOf(path)), ...(size === null ? {} : { size }) }
}

/** A list of files as rules, hooks and events see it. */
export const fileRecords = (field: FileField, cell: string): readonly FileValue[] =>
  elementsOf(cell).map((element) => typeof element === "string" ? fileRecord(field, element)! : noFile(element))

/** What stands for an element of a list that is no text. No write takes it back. */
const noFile = (element: Json): FileValue => ({ uri: element === null ? "" : JSON.stringify(element), missing: true })

/** Where the writer of a field's files finds what else it needs of a row. */
export interface FilePlace {
  /** The key as in URLs. */
  readonly key: (row: Row) => string
  /** A text that tells the row from others of its table, at less cost than its key. */
  readonly mark: (row: Row) => string
  /** Where the placeholder stands; -1: the caller does not see one. */
  readonly placeholder: number
}

/** Writes the JSON of one field's file, or of its list of files, from its cell. */
export type FileWriter = (cell: string, row: Row) => string

/** Files of a field whose objects are kept: a page that is read again while links stay the same needs no new signatures. */
const remembered = 4_000
const longestRemembered = 1_000

interface Written {
  readonly text: string
  /** The time in which its links stay the same, in Unix seconds: from `from` until before `until`. */
  readonly from: number
  readonly until: number
}

/** For texts without links that end. */
const always = { from: -Infinity, until: Infinity }

interface Remembered extends Written {
  readonly uri: string
  readonly placeholder: Cell
}

/** Whether records with this field show links that end: an answer with it must not be kept for longer than they live. */
export const hasEndingLinks = ({ provider }: FileField, links: FileLinks): boolean =>
  links.provider(provider)?.public !== true

/** The writer of a field of a resource that holds a file. */
export const fileWriter = (
  links: FileLinks,
  resource: string,
  field: string,
  file: FileField,
  place: FilePlace
): FileWriter => {
  const write = oneWriter(links, resource, field, file, place)
  return (uri, row) => write(uri, row, place.mark(row))
}

/** The writer of a field that holds a list of files. */
export const filesWriter = (
  links: FileLinks,
  resource: string,
  field: string,
  file: FileField,
  place: FilePlace
): FileWriter => {
  const write = oneWriter(links, resource, field, file, place)
  return (cell, row) => {
    const mark = place.mark(row)
    const parts = elementsOf(cell).map((element, i) =>
      typeof element === "string" ? write(element, row, `${mark} ${i}`) : JSON.stringify(noFile(element))
    )
    return `[${parts.join(",")}]`
  }
}

/** Writes the JSON of a file. `mark` tells it from other files of the field. */
type OneWriter = (uri: string, row: Row, mark: string) => string

const oneWriter = (
  links: FileLinks,
  resource: string,
  field: string,
  file: FileField,
  place: FilePlace
): OneWriter => {
  const addressOf = (name: string, provider: LinkedProvider, path: string, key: string, expires: number): string => {
    if (provider.public) {
      return provider.publicUrl === null
        ? fileAddress(links.root, name, path)
        : publicAddress(provider.publicUrl, provider.prefix, path)
    }
    const link = { provider: name, path, resource, key, field, expires }
    return fileAddress(links.root, name, path) + linkQuery(link, links.sign(signedText(link)))
  }

  const write = (uri: string, key: string, placeholder: Cell, now: number): Written => {
    const more = place.placeholder === -1 ? {} : { placeholder }
    const reading = readFile(file, uri, (name) => links.provider(name) !== null)
    if (reading.of === "missing") return { text: JSON.stringify({ uri, missing: true }), ...always }
    if (reading.of === "external") {
      const text = JSON.stringify({ uri, name: reading.name, type: reading.type, url: uri, ...more })
      return { text, ...always }
    }
    const { name, path, provider: named, size, variants } = reading.file
    const provider = links.provider(named)!
    const { expires, from, until } = linkPeriod(now, file.linkLifetime ?? provider.linkLifetime)
    const url = (at: string): string => addressOf(named, provider, at, key, expires)
    const value: FileValue = {
      uri,
      name,
      type: typeOfExtension(extensionOf(path)),
      ...(size === null ? {} : { size }),
      url: url(path),
      ...(variants.length === 0 ? {} : {
        variants: Object.fromEntries(variants.map((variant) => [variant.name, {
          url: url(variantPath(path, variant.name, variant.extension)),
          type: typeOfExtension(variant.extension),
          width: variant.width,
          height: variant.height
        }]))
      }),
      ...more
    }
    return { text: JSON.stringify(value), ...(provider.public ? always : { from, until }) }
  }

  let cache = new Map<string, Remembered>()
  return (uri, row, mark) => {
    const now = Math.floor(links.now() / 1_000)
    const placeholder = place.placeholder === -1 ? null : row[place.placeholder] ?? null
    const hit = cache.get(mark)
    if (
      hit !== undefined && hit.uri === uri && hit.placeholder === placeholder && now >= hit.from && now < hit.until
    ) return hit.text
    const written = write(uri, place.key(row), placeholder, now)
    if (uri.length <= longestRemembered) {
      if (cache.size >= remembered) cache = new Map()
      cache.set(mark, { uri, placeholder, ...written })
    }
    return written.text
  }
}
