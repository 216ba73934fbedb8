/**
 * Uploads that have not ended, in pieces (tus 1.0) or direct: the names that they have at a provider, what their addresses and records hold, and what may
 * be sent with them. The names tell whose they are, when they began and how long their files become, so that a list of them answers who holds how much.
 * Nothing is kept elsewhere.
 */

import * as Result from "effect/Result"
import type { Caller } from "../access/caller.ts"
import { isList } from "../bag.ts"
import { invalidParameter, problem } from "../problem.ts"
import type { Problem } from "../problem.ts"
import { temporaryFolder } from "./cleanup.ts"

/** The version of the protocol, and its extensions that are served. */
export const tusVersion = "1.0.0"
export const tusExtensions = "creation,creation-with-upload,expiration,termination"

/** The type of a piece. */
export const pieceType = "application/offset+octet-stream"

/** How long an upload takes pieces, and how much longer its remains are kept: a request may still be under way. */
export const unfinishedMs = 24 * 3_600_000
export const remainsMs = 3_600_000

/** Multipart uploads that nothing names are ended when they are older than any request lasts. */
export const forgottenMs = 7 * 24 * 3_600_000

/** What one person may have begun at one provider. A single upload may announce more. */
const unfinishedLimits = { uploads: 50, bytes: 100 * 2 ** 30 } as const

/** Requests that send pieces at once, for one person in one process. */
export const mostPiecesAtOnce = 4

/** Longest `Upload-Metadata` in characters: the address of the upload holds it. */
export const maxMetadata = 2_048

/** What the name of an unfinished upload tells. */
export interface Unfinished {
  /** A digest that stands for its uploader, of 22 characters. */
  readonly who: string
  /** Milliseconds since 1970. */
  readonly created: number
  /** Bytes of the file in the end. */
  readonly length: number
  readonly id: string
}

/** Text that a digest of a person is made of. */
export const uploaderText = ({ id, tenant }: Pick<Caller, "id" | "tenant">): string =>
  JSON.stringify(["unfinished", id, tenant])

/** Names of all uploads of a person begin so. */
export const uploaderPrefix = (who: string): string => `${temporaryFolder}${who}.`

export const unfinishedName = ({ created, id, length, who }: Unfinished): string =>
  `${uploaderPrefix(who)}${String(created).padStart(13, "0")}.${length}.${id}`

/** The record of an upload lies apart from it: it is kept after the end, and a list of what somebody has under way does not pass over all of them. */
export const recordName = (name: string): string => `${temporaryFolder}~${name.slice(temporaryFolder.length)}`

/**
 * The record of an upload that is done lies apart from those before: one of them may reach its storage late. To whoever cleans up it is the record of another
 * upload of that time.
 */
export const doneName = (name: string): string => `${recordName(name)}-done`

const namePattern =
  /^\.tmp\/(~?)(([A-Za-z0-9_-]{22})\.([0-9]{13})\.([0-9]{1,15})\.([A-Za-z0-9_-]{16,64}))(\.[a-z0-9]{1,40})?$/

/** What a path below `.tmp/` is: an upload, something that its provider keeps beside it, or its record. */
export interface UnfinishedPath extends Unfinished {
  readonly name: string
  readonly of: "upload" | "part" | "record"
}

/** Reads a path below `.tmp/`. Null for the remains of other uploads. */
export const readUnfinished = (path: string): UnfinishedPath | null => {
  const [, mark, name, who, created, length, id, more] = namePattern.exec(path) ?? []
  if (name === undefined || who === undefined || id === undefined || (mark !== "" && more !== undefined)) return null
  return {
    name: temporaryFolder + name,
    of: mark !== "" ? "record" : more === undefined ? "upload" : "part",
    who,
    created: Number(created),
    length: Number(length),
    id
  }
}

/** What somebody has under way, by a list of names. */
export const underWay = (
  listed: ReadonlyArray<{ readonly path: string }>,
  now: number
): { readonly uploads: number; readonly bytes: number } => {
  let [uploads, bytes] = [0, 0]
  for (const { path } of listed) {
    const unfinished = readUnfinished(path)
    if (unfinished?.of !== "upload" || now - unfinished.created >= unfinishedMs) continue
    uploads++
    bytes += unfinished.length
  }
  return { uploads, bytes }
}

/** The first upload of a list whose id begins so, and that still takes pieces. */
export const firstOf = (
  listed: ReadonlyArray<{ readonly path: string }>,
  id: string,
  now: number
): UnfinishedPath | null => {
  for (const { path } of listed) {
    const unfinished = readUnfinished(path)
    if (unfinished?.of === "upload" && unfinished.id.startsWith(id) && now - unfinished.created < unfinishedMs) {
      return unfinished
    }
  }
  return null
}

/** Whether somebody has begun too much, with an upload of this length that has just begun. */
export const isTooMuch = (
  { bytes, uploads }: { readonly uploads: number; readonly bytes: number },
  length: number
): boolean => uploads > unfinishedLimits.uploads || (bytes > unfinishedLimits.bytes && bytes > length)

/** What the address of an upload holds. A port seals it. */
export interface UploadAddress {
  readonly provider: string
  readonly name: string
  readonly field: string
  /** `Upload-Metadata` as it was sent; null without one. */
  readonly metadata: string | null
  /** The name of the file as a query parameter gave it. */
  readonly fileName: string | null
  /** Of a direct upload the type that its sender has announced. Null: an upload in pieces. */
  readonly direct: { readonly type: string | null } | null
}

/** An address is valid for one caller and resource. */
export const addressContext = ({ id, tenant }: Pick<Caller, "id" | "tenant">, resource: string): string =>
  JSON.stringify(["file-upload", id, tenant, resource])

export const writeAddress = ({ direct, field, fileName, metadata, name, provider }: UploadAddress): string =>
  JSON.stringify([provider, name, field, metadata, fileName, ...(direct === null ? [] : [[direct.type]])])

const parsed = (text: string): readonly unknown[] => {
  try {
    const value: unknown = JSON.parse(text)
    return Array.isArray(value) ? value : []
  } catch {
    return []
  }
}

const isTextOrNull = (value: unknown): value is string | null => value === null || typeof value === "string"

/** Reads an opened address. Null when another version of the service has written it in another form. */
export const readAddress = (text: string): UploadAddress | null => {
  const [provider, name, field, metadata, fileName, announced, ...more] = parsed(text)
  if (more.length > 0) return null
  const type: unknown = Array.isArray(announced) ? announced[0] : null
  return typeof provider === "string" && typeof name === "string" && typeof field === "string" &&
      isTextOrNull(metadata) && isTextOrNull(fileName) && isTextOrNull(type)
    ? { provider, name, field, metadata, fileName, direct: Array.isArray(announced) ? { type } : null }
    : null
}

/** What is known of an upload once its first bytes have decided its type. A port seals it, and the provider keeps it beside the upload. */
export interface UploadRecord {
  readonly path: string
  readonly type: string
  readonly corrected: { readonly from: string; readonly to: string } | null
  /** When the file began to become visible, in milliseconds since 1970; null: not yet. Its ticket is as old. */
  readonly finished: number | null
  /** What the answer is made of; null: not all is done yet. */
  readonly result: {
    /** The stored value. */
    readonly uri: string
    readonly type: string
    readonly cells: ReadonlyArray<readonly [name: string, cell: string | null]>
  } | null
}

export const recordContext = (name: string): string => JSON.stringify(["file-upload-record", name])

export const writeRecord = ({ corrected, finished, path, result, type }: UploadRecord): string =>
  JSON.stringify([path, type, corrected === null ? null : [corrected.from, corrected.to], finished, result])

/** Reads an opened record. Null when another version of the service has written it in another form. */
export const readRecord = (text: string): UploadRecord | null => {
  const [path, type, corrected, finished, result, ...more] = parsed(text)
  if (more.length > 0) return null
  if (typeof path !== "string" || typeof type !== "string" || (finished !== null && typeof finished !== "number")) {
    return null
  }
  const [from, to] = isList(corrected) ? corrected : []
  return {
    path,
    type,
    corrected: typeof from === "string" && typeof to === "string" ? { from, to } : null,
    finished,
    // Sealed by this service, so it is what was written.
    result: typeof result === "object" ? result as UploadRecord["result"] : null
  }
}

const badHeader = (name: string, message: string, hint?: string): Problem => invalidParameter(name, message, hint)

const wholeNumber = (text: string | null): number | null =>
  text !== null && /^[0-9]{1,15}$/.test(text) ? Number(text) : null

/** The announced length of a file. */
export const readLength = (header: (name: string) => string | null): Result.Result<number, Problem> => {
  if (header("upload-concat") !== null) {
    return Result.fail(badHeader("Upload-Concat", "This service does not put uploads together."))
  }
  const length = wholeNumber(header("upload-length"))
  if (length !== null && header("upload-defer-length") === null) return Result.succeed(length)
  return Result.fail(
    badHeader("Upload-Length", "Send the length of the file in bytes, as a whole number.", "It cannot be sent later.")
  )
}

/** The offset of a piece. */
export const readOffset = (header: string | null): Result.Result<number, Problem> => {
  const offset = wholeNumber(header)
  return offset === null
    ? Result.fail(badHeader("Upload-Offset", "Send the offset of the piece in bytes, as a whole number."))
    : Result.succeed(offset)
}

/** The texts of `Upload-Metadata`: keys with values in base64. */
export const readMetadata = (header: string | null): Result.Result<ReadonlyMap<string, string>, Problem> => {
  const values = new Map<string, string>()
  if (header === null || header.trim() === "") return Result.succeed(values)
  const refused = (message: string) => Result.fail(badHeader("Upload-Metadata", message))
  if (header.length > maxMetadata) return refused(`At most ${maxMetadata} characters are taken.`)
  for (const pair of header.split(",")) {
    const [, key, value = ""] = /^ *([\x21-\x2b\x2d-\x7e]+)(?: +([A-Za-z0-9+/]*={0,2}))? *$/.exec(pair) ?? []
    if (key === undefined) return refused("Send pairs of a key and a value in base64, with commas between them.")
    if (values.has(key)) return refused(`The key "${key.slice(0, 100)}" is there twice.`)
    try {
      const bytes = Uint8Array.from(atob(value), (character) => character.charCodeAt(0))
      values.set(key, new TextDecoder().decode(bytes))
    } catch {
      return refused(`The value of "${key.slice(0, 100)}" is not base64.`)
    }
  }
  return Result.succeed(values)
}

/** The refusal of another version of the protocol, or of none. */
export const versionRefusal = (sent: string | null): Problem | null =>
  sent === tusVersion
    ? null
    : problem(
      "unsupported-protocol",
      `Send the header Tus-Resumable: ${tusVersion}.`,
      {},
      { "tus-version": tusVersion }
    )
