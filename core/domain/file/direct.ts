/**
 * Direct uploads: their sender brings the bytes to a bucket, at an address that the service signs. It says what may be announced, and for how long an
 * address is good. The object that comes is nobody's file before it is confirmed.
 */

import * as Result from "effect/Result"
import { isBag } from "../bag.ts"
import { invalidParameter } from "../problem.ts"
import type { Problem } from "../problem.ts"
import type { Json } from "../value/kind.ts"

/** How long a signed request is taken. An upload has one. */
export const directMs = 15 * 60_000

/** The longest object that stores take, and copy, in one request. */
const mostDirect = 5 * 2 ** 30

/** Most bytes of an announcement, and most characters of its type. */
export const maxAnnouncement = 16 * 1024
const maxType = 255

/** The file that somebody is about to send. */
export interface Announced {
  readonly name: string
  /** The type as its sender calls it; null where they do not say. */
  readonly type: string | null
  /** Its length in bytes. */
  readonly size: number
}

const members = ["name", "type", "size"]

/** Reads the body of an announcement. */
export const readAnnounced = (body: Json): Result.Result<Announced, Problem> => {
  if (!isBag(body)) return Result.fail(invalidParameter("body", "The body must be a JSON object with name and size."))
  const unknown = Object.keys(body).find((name) => !members.includes(name))
  if (unknown !== undefined) {
    return Result.fail(invalidParameter(unknown.slice(0, 100), "There is no such member.", "Use name, type and size."))
  }
  const { name, size, type = null } = body
  if (typeof name !== "string") return Result.fail(invalidParameter("name", "Send the name of the file, as a text."))
  if (type !== null && (typeof type !== "string" || type.length > maxType)) {
    return Result.fail(invalidParameter("type", `The type is a text of at most ${maxType} characters.`))
  }
  if (typeof size !== "number" || !Number.isSafeInteger(size) || size < 0) {
    return Result.fail(
      invalidParameter("size", "Send the length of the file in bytes, as a whole number.", "It cannot be sent later.")
    )
  }
  if (size > mostDirect) {
    return Result.fail(
      invalidParameter("direct", "A direct upload has at most 5 GiB.", "Send the file to the service, in pieces.")
    )
  }
  return Result.succeed({ name, type: type === "" ? null : type, size })
}
