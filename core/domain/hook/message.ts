/**
 * Messages of other systems as payloads of jobs: what is kept of a request, how its body becomes JSON, and how a job reads it. It holds no secret: what
 * proved the request is left out.
 */

import * as Result from "effect/Result"
import { isBag } from "../bag.ts"
import { largestMessage } from "../job/definition.ts"
import { encodePayload } from "../job/enqueue.ts"
import { FatalJobError } from "../job/failure.ts"
import type { StandardSchema, Validated } from "../value/standard-schema.ts"
import type { HookMessage } from "./declaration.ts"

/** Most characters of the names and values of the headers that are kept. */
export const mostHeaders = 16 * 1024

/** Names of headers whose values give access to something, or are made with what does. */
const secretHeader =
  /auth(?:ori[sz]ation|-|$)|cookie|token|secret|signature|-sig$|hmac|passw|credential|jwt|(?:api|access|subscription|functions|private|shared)-?key/

/** The headers that are kept of a request, or null where they are too long. */
export const keptHeaders = (
  headers: Iterable<readonly [name: string, value: string]>
): { readonly [name: string]: string } | null => {
  const lines = [...headers].map(([name, value]) => [name.toLowerCase(), value] as const).filter(([name]) =>
    !secretHeader.test(name)
  )
  const characters = lines.reduce((sum, [name, value]) => sum + name.length + value.length, 0)
  return characters <= mostHeaders ? Object.fromEntries(lines) : null
}

/** A message before it is stored. */
export interface Received {
  readonly id: string | null
  /** RFC 3339. */
  readonly receivedAt: string
  readonly headers: { readonly [name: string]: string }
  readonly body: Uint8Array
  /** Where requests decide the tenant. */
  readonly tenant?: string
}

const strictUtf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true })

/** The text of bytes in UTF-8 that the database can hold; null for anything else. */
const textOf = (bytes: Uint8Array): string | null => {
  // A zero byte is a NUL in UTF-8, and nothing else is.
  if (bytes.includes(0)) return null
  try {
    return strictUtf8.decode(bytes)
  } catch {
    return null
  }
}

const step = 0x8000

const toBase64 = (bytes: Uint8Array): string => {
  let characters = ""
  for (let at = 0; at < bytes.length; at += step) {
    characters += String.fromCharCode(...bytes.subarray(at, at + step))
  }
  return btoa(characters)
}

const fromBase64 = (text: string): Uint8Array => Uint8Array.from(atob(text), (character) => character.charCodeAt(0))

/**
 * A message as the payload of its job. A text stays one that people can read, unless its JSON is longer than its base64 may be: one of many quotes or
 * control characters. Fails with a sentence where it is too long either way.
 */
export const encodeMessage = ({ body, ...rest }: Received): Result.Result<string, string> => {
  const text = textOf(body)
  const readable = text === null ? Result.fail("it is no text") : encodePayload({ ...rest, text }, largestMessage)
  return Result.isSuccess(readable) ? readable : encodePayload({ ...rest, base64: toBase64(body) }, largestMessage)
}

const isTexts = (value: unknown): value is { readonly [name: string]: string } =>
  isBag(value) && Object.values(value).every((each) => typeof each === "string")

/** What was stored, as a message without its input; null for anything else. */
const decode = (stored: unknown): Omit<HookMessage, "input"> | null => {
  if (!isBag(stored)) return null
  const { base64, headers, id, receivedAt, tenant, text } = stored
  const at = typeof receivedAt === "string" ? new Date(receivedAt) : null
  if ((id !== null && typeof id !== "string") || at === null || Number.isNaN(at.getTime()) || !isTexts(headers)) {
    return null
  }
  const isBase64 = typeof base64 === "string" && /^[A-Za-z0-9+/]*={0,2}$/.test(base64) && base64.length % 4 === 0
  const body = typeof text === "string" ? text : isBase64 ? fromBase64(base64) : null
  if (body === null) return null
  return {
    id,
    receivedAt: at,
    tenant: typeof tenant === "string" ? tenant : null,
    headers,
    body,
    json: () => {
      try {
        return JSON.parse(
          typeof body === "string" ? body.replace(/^\uFEFF/, "") : new TextDecoder().decode(body)
        )
      } catch {
        throw new FatalJobError("The body of the message is not JSON.")
      }
    }
  }
}

const refused = (message: string): Validated<never> => ({ issues: [{ message }] })

/** The schema of the payloads of a hook's job: gives the message, with what `input` makes of its JSON. */
export const messageSchema = (input: StandardSchema | null): StandardSchema<unknown, HookMessage<unknown>> => ({
  "~standard": {
    version: 1,
    vendor: "resource-admin",
    validate: async (stored) => {
      const message = decode(stored)
      if (message === null) return refused("it is no message of a hook")
      if (input === null) return { value: { ...message, input: undefined } }
      let json: unknown
      try {
        json = message.json()
      } catch (error) {
        if (!(error instanceof FatalJobError)) throw error
        return refused(error.message)
      }
      const checked = await input["~standard"].validate(json)
      return checked.issues === undefined ? { value: { ...message, input: checked.value } } : checked
    }
  }
})
