/** Reads what a request to the auth routes brings: a JSON object of bounded size and texts that can be stored, or a problem. It knows no route. */

import * as Result from "effect/Result"
import type { Bag } from "../../core/domain/bag.ts"
import { invalidParameter, type Problem, problem } from "../../core/domain/problem.ts"
import { isStorable } from "../../core/domain/value/cell.ts"
import { parseJson } from "../../core/domain/value/json.ts"

/** The JSON object of a request. */
export type Body = Bag

/** Largest body in bytes. */
export const bodyMax = 32_768

const tooLarge = (): Problem => problem("payload-too-large", `The body is larger than ${bodyMax} bytes.`)

const readBytes = async (request: Request): Promise<Uint8Array> => {
  if (Number(request.headers.get("content-length") ?? 0) > bodyMax) throw tooLarge()
  const { body } = request
  if (body === null) return new Uint8Array()
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of body) {
    size += chunk.byteLength
    if (size > bodyMax) throw tooLarge()
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

/** Whether every object has a property of this name. A lookup by it would find a function. */
const isInherited = (key: string): boolean => key in Object.prototype

const unstorable = (): Problem =>
  problem("invalid-record", "The body has a text with a character that cannot be stored.", { code: "VALIDATION_ERROR" })

/** The JSON object of a request, empty when there is no body. Throws a `Problem` for anything else, and for texts that cannot be stored. */
export const readBody = async (request: Request): Promise<Body> => {
  const bytes = await readBytes(request)
  if (bytes.byteLength === 0) return {}
  const type = request.headers.get("content-type")?.split(";", 1)[0]?.trim().toLowerCase()
  if (type !== "application/json") {
    throw problem("unsupported-media-type", "The body must be JSON with Content-Type: application/json.")
  }
  let text = ""
  let body: unknown
  let storable = true
  let plain = true
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(bytes)
    body = JSON.parse(text, (key, value: unknown) => {
      plain &&= !isInherited(key)
      storable &&= isStorable(key) && (typeof value !== "string" || isStorable(value))
      return value
    })
  } catch {
    throw problem("malformed-json", "The body is not valid JSON.")
  }
  if (!storable) throw unstorable()
  if (typeof body !== "object" || body === null || Array.isArray(body)) {
    throw problem("malformed-json", "The body must be a JSON object.")
  }
  if (!plain) throw problem("malformed-json", "The body has a member that is not allowed.")
  // As for all bodies: when a name occurs twice, a filter in front of the service may have judged the other one.
  const strict = parseJson(text)
  if (Result.isFailure(strict)) {
    const { at, message } = strict.failure
    throw problem("malformed-json", `The body is not valid JSON: ${message} at ${at}.`)
  }
  return body as Body
}

/** Throws a `Problem` for a query with a text that cannot be stored: looking it up would fail. */
export const checkQuery = (search: string): void => {
  for (const [name, value] of new URLSearchParams(search)) {
    if (!isStorable(name) || !isStorable(value)) {
      throw invalidParameter(name, "The parameter has a character that cannot be stored.")
    }
  }
}
