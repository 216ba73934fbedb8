/** The body of a request as JSON. Its size was limited before it came here. */

import * as Result from "effect/Result"
import { problem } from "../../domain/problem.ts"
import type { Problem } from "../../domain/problem.ts"
import { parseJson } from "../../domain/value/json.ts"
import type { Json } from "../../domain/value/kind.ts"

const decoder = new TextDecoder("utf-8", { fatal: true })

/** Decodes and parses a JSON body; malformed UTF-8 or JSON is a 400 `malformed-json`. */
export const readJson = (body: Uint8Array): Result.Result<Json, Problem> => {
  let text: string
  try {
    text = decoder.decode(body)
  } catch {
    return Result.fail(problem("malformed-json", "The body is not valid UTF-8."))
  }
  return Result.mapError(
    parseJson(text),
    ({ at, message }) => problem("malformed-json", `The body is not valid JSON: ${message} (at character ${at}).`)
  )
}
