/** Values against the JSON Schemas of an OpenAPI document. The validator package carries ajv; nothing is downloaded. */

import { createRequire } from "node:module"
import { expect } from "vitest"
import type { Json } from "../../core/domain/value/kind.ts"
import type { OpenapiDoc } from "./openapi.ts"

interface Check {
  (value: unknown): boolean
  readonly errors?: unknown
}

interface Ajv {
  readonly addSchema: (schema: unknown, id: string) => unknown
  readonly addFormat: (name: string, format: true) => unknown
  readonly compile: (schema: unknown) => Check
}

// The validator's own copy of ajv, wherever npm has put it.
const ofValidator = createRequire(createRequire(import.meta.url).resolve("@seriousme/openapi-schema-validator"))
const { Ajv2020 } = ofValidator("ajv/dist/2020.js") as { readonly Ajv2020: new(options: object) => Ajv }
const addFormats = ofValidator("ajv-formats") as (ajv: Ajv) => void

/** Closes every object that declares its members, so that an answer cannot have one that the document does not tell of. */
const closed = (schema: Json): Json => {
  if (schema === null || typeof schema !== "object") return schema
  if (Array.isArray(schema)) return (schema as readonly Json[]).map(closed)
  const members = Object.fromEntries(
    Object.entries(schema).map(([name, value]) => [name, name === "examples" ? value : closed(value)])
  )
  return typeof members["properties"] === "object" && members["type"] === "object"
    ? { additionalProperties: false, ...members }
    : members
}

/** Checks values against parts of a document by JSON pointer. `close`: nothing may stand in them that the document does not tell of. */
export const checker = (doc: OpenapiDoc, close = true) => {
  const ajv = new Ajv2020({ strict: false, allErrors: true })
  addFormats(ajv)
  for (const format of ["decimal", "int16", "password", "double", "int64"]) ajv.addFormat(format, true)
  ajv.addSchema(close ? closed(doc as unknown as Json) : doc, "doc:")
  const known = new Map<string, Check>()
  const errorsOf = (pointer: string, value: unknown): unknown => {
    let check = known.get(pointer)
    if (check === undefined) known.set(pointer, check = ajv.compile({ $ref: `doc:#${pointer}` }))
    return check(value) ? null : check.errors
  }
  return {
    check: (pointer: string, value: unknown): void =>
      expect({ pointer, value, errors: errorsOf(pointer, value) }).toEqual({ pointer, value, errors: null }),
    refuse: (pointer: string, value: unknown): void =>
      expect({ pointer, value, errors: errorsOf(pointer, value) }).not.toEqual({ pointer, value, errors: null })
  }
}
