/** Parses requests of `:bulk` and `:import`: bodies and parameters, by their form. Other modules check names of fields and values. */

import * as Result from "effect/Result"
import { problem } from "../problem.ts"
import type { Problem, ProblemError } from "../problem.ts"
import { delimiters, formulaModes, maxBodyFilter } from "../read/request.ts"
import type { Delimiter, Formulas } from "../read/request.ts"
import { pastCharacters } from "../value/cell.ts"
import { isJsonList, isJsonObject } from "../value/json-kind.ts"
import type { Json } from "../value/kind.ts"
import { type BulkOp, bulkOps } from "./task.ts"

/** Most records that a bulk change excludes by their keys. */
export const mostExcept = 1_000

/** The body of `:bulk`. Keys are as sent. */
export interface BulkBody {
  readonly op: BulkOp
  readonly filter: string
  readonly except: readonly Json[]
  readonly data: Json
}

const refusal = (errors: readonly ProblemError[]): Problem =>
  problem("invalid-parameter", errors[0]!.message, { errors: errors.slice(0, 20) })

export const readBulk = (body: Json): Result.Result<BulkBody, Problem> => {
  const errors: ProblemError[] = []
  const refuse = (parameter: string, message: string): void => void errors.push({ parameter, message })
  if (!isJsonObject(body)) {
    return Result.fail(refusal([{ parameter: "body", message: "The body must be a JSON object." }]))
  }
  const { data = null, except = [], filter = "", op = null } = body
  for (const name of Object.keys(body)) {
    if (!["op", "filter", "except", "data"].includes(name)) {
      refuse(name.slice(0, 100), "There is no such member. Use op, filter, except and data.")
    }
  }
  const bulkOp = bulkOps.find((each) => each === op)
  if (bulkOp === undefined) refuse("op", "The op must be update, delete or undelete.")
  if (typeof filter !== "string") refuse("filter", "The filter must be a text.")
  else if (pastCharacters(filter, maxBodyFilter) !== null) {
    refuse("filter", `The filter has more than ${maxBodyFilter} characters.`)
  }
  if (!isJsonList(except)) refuse("except", "The member must be a list of keys.")
  else if (except.length > mostExcept) refuse("except", `At most ${mostExcept} records can be left out.`)
  if (op === "update" && data === null) refuse("data", "The data of the update are required.")
  else if (bulkOp !== undefined && bulkOp !== "update" && data !== null) refuse("data", `The op ${bulkOp} has no data.`)
  return errors.length === 0 && bulkOp !== undefined && typeof filter === "string" && isJsonList(except)
    ? Result.succeed({ op: bulkOp, filter, except, data })
    : Result.fail(refusal(errors))
}

/** The parameters of `:import`. */
export interface ImportParameters {
  readonly format: "csv" | "ndjson"
  /** Null: it is guessed. */
  readonly delimiter: Delimiter | null
  readonly formulas: Formulas
  readonly name: string | null
}

const importTypes: { readonly [media: string]: ImportParameters["format"] } = {
  "text/csv": "csv",
  "application/x-ndjson": "ndjson",
  "application/ndjson": "ndjson",
  "application/jsonl": "ndjson"
}

/** The format that a media type names, in UTF-8; null where it names none. */
const formatOf = (type: string | null): ImportParameters["format"] | null => {
  const [media = "", ...parameters] = (type ?? "").toLowerCase().split(";").map((part) => part.trim())
  const coded = parameters.find((parameter) => parameter.startsWith("charset="))?.slice(8)
  return Object.hasOwn(importTypes, media) && (coded === undefined || /^"?utf-8"?$/.test(coded))
    ? importTypes[media]!
    : null
}

/** The parameters of an import. The body's own type says its format; in a form the parameter does. */
export const readImport = (
  query: ReadonlyArray<readonly [name: string, value: string]>,
  body: { readonly isForm: boolean; readonly type: string | null }
): Result.Result<ImportParameters, Problem> => {
  const said = formatOf(body.type)
  if (!body.isForm && said === null) {
    return Result.fail(problem(
      "unsupported-media-type",
      "The body must be a file in UTF-8, sent with Content-Type: text/csv or application/x-ndjson, or a form with the file.",
      {},
      { "accept-post": "text/csv, application/x-ndjson, multipart/form-data" }
    ))
  }
  const errors: ProblemError[] = []
  const values = new Map<string, string>()
  for (const [name, value] of query) {
    if (!["format", "delimiter", "formulas", "name"].includes(name)) {
      errors.push({
        parameter: name.slice(0, 100),
        message: "There is no such parameter.",
        hint: "Use format, delimiter, formulas and name."
      })
    } else if (values.has(name)) errors.push({ parameter: name, message: "The parameter is given more than once." })
    else values.set(name, value)
  }
  const choice = <A extends string>(name: string, all: readonly A[]): A | null => {
    const text = values.get(name) ?? ""
    const choice = all.find((each) => each === text) ?? null
    if (text !== "" && choice === null) {
      errors.push({ parameter: name, message: `The parameter must be one of ${all.join(", ")}.` })
    }
    return choice
  }
  const format = choice("format", ["csv", "ndjson"])
  if (said !== null && format !== null && said !== format) {
    errors.push({ parameter: "format", message: `The body is ${said.toUpperCase()} by its Content-Type.` })
  }
  const delimiter = choice("delimiter", delimiters)
  const formulas = choice("formulas", formulaModes) ?? "escape"
  return errors.length > 0
    ? Result.fail(refusal(errors))
    : Result.succeed({
      format: format ?? said ?? "csv",
      delimiter,
      formulas,
      name: values.get("name")?.slice(0, 255) ?? null
    })
}
