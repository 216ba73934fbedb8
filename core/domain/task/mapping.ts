/**
 * Turns lines of an upload into bodies of writes: guesses the field of each column, checks a person's choice, and parses values. The pipeline of
 * every write then checks the body, so nothing here decides what may be written.
 */

import * as Result from "effect/Result"
import type { Access } from "../access/access.ts"
import type { Field } from "../model/model.ts"
import { problem } from "../problem.ts"
import type { Problem, ProblemError } from "../problem.ts"
import { unknownField } from "../read/list.ts"
import { cellFromText, type ValueProblem, wireFromCell } from "../value/cell.ts"
import { isJsonList } from "../value/json-kind.ts"
import type { Cell, Json } from "../value/kind.ts"
import { canFind } from "../value/traits.ts"
import { valueError } from "../write/body.ts"
import { unguardFormula } from "./csv.ts"
import { type ImportPlan, type ImportRequest, matchNames } from "./task.ts"
import type { UploadedLine } from "./upload.ts"

const plain = (name: string): string => name.toLowerCase().normalize("NFKD").replaceAll(/[^\p{L}\p{N}]/gu, "")

/** The fields that an import can fill: all fields that the caller may send, except files. */
const fillable = ({ restricted }: Access): readonly Field[] =>
  restricted.fields.filter(({ file, name }) =>
    file === null && (restricted.creatable.has(name) || restricted.updatable.has(name))
  )

/**
 * Guesses the field of each column: the one with the same name, alias or label, ignoring case and punctuation. A name goes before a label. Each field
 * is used once.
 */
export const guessMapping = (access: Access, columns: readonly string[]): readonly (string | null)[] => {
  const fields = new Map<string, string>()
  // The key can find records, even if it cannot be written.
  const targets = [...fillable(access), ...access.model.key].filter(({ name }) => access.restricted.byName.has(name))
  const add = (name: string | null, field: string): void => {
    if (name !== null && plain(name) !== "" && !fields.has(plain(name))) fields.set(plain(name), field)
  }
  for (const { alias, name } of targets) [name, alias].forEach((each) => add(each, name))
  for (const { label, name } of targets) add(label, name)
  // The label of a key that has none.
  if (access.model.key.length === 1 && targets.includes(access.model.key[0]!)) add("id", access.model.key[0]!.name)
  const taken = new Set<string>()
  return columns.map((column) => {
    const field = fields.get(plain(column)) ?? null
    if (field === null || taken.has(field)) return null
    taken.add(field)
    return field
  })
}

type Body = { readonly [name: string]: Json }

const isObject = (value: Json): value is Body => value !== null && typeof value === "object" && !Array.isArray(value)

const modes = ["create", "update", "upsert"] as const

/** Reads the plan of an import from the body that starts or checks it, for what the caller may do now. */
export const readPlan = (access: Access, request: ImportRequest, body: Json): Result.Result<ImportPlan, Problem> => {
  const errors: ProblemError[] = []
  const refuse = (parameter: string, message: string): void => void errors.push({ parameter, message })
  const given: Body = isObject(body) ? body : {}
  if (!isObject(body)) refuse("body", "The body must be a JSON object.")
  for (const name of Object.keys(given)) {
    if (!["mapping", "mode", "match", "errors"].includes(name)) {
      refuse(name.slice(0, 100), "There is no such member. Use mapping, mode, match and errors.")
    }
  }
  const { errors: onError = "stop", mapping: sent = request.columns.map(({ guess }) => guess) } = given
  const { restricted, model } = access
  const mode = modes.find((each) => each === (given["mode"] ?? "create"))
  if (mode === undefined) refuse("mode", "The mode must be create, update or upsert.")
  if (onError !== "stop" && onError !== "skip") refuse("errors", "The member must be stop or skip.")
  let match: readonly string[] = []
  if (mode !== "create") {
    const named = readMatch(access, given["match"] ?? model.key.map(({ name }) => name))
    if (Result.isFailure(named)) refuse("match", named.failure)
    else match = named.success
  } else if (given["match"] !== undefined && given["match"] !== null) {
    refuse("match", "The mode create finds no records. Leave match out.")
  }
  const chosen: Array<string | null> = []
  if (!isJsonList(sent) || sent.length !== request.columns.length) {
    refuse("mapping", `The mapping must be a list of ${request.columns.length} names or nulls, one for each column.`)
  } else {
    for (const [index, name] of sent.entries()) {
      const parameter = `mapping[${index}]`
      if (name === null) chosen.push(null)
      else if (typeof name !== "string") refuse(parameter, "The member must be the name of a field, or null.")
      else {
        const field = restricted.byName.get(name)
        if (field === undefined) refuse(parameter, unknownField(name))
        else if (chosen.includes(name)) refuse(parameter, `Two columns are assigned to the field "${name}".`)
        else if (field.file !== null) {
          refuse(parameter, `The field "${name}" holds files, which are uploaded one by one.`)
        } else if (!match.includes(name) && !restricted.creatable.has(name) && !restricted.updatable.has(name)) {
          refuse(parameter, `The field "${name}" is read-only.`)
        } else chosen.push(name)
      }
    }
    if (chosen.length === sent.length && chosen.every((name) => name === null)) {
      refuse("mapping", "No column is assigned to a field.")
    }
    for (const name of match) {
      if (!chosen.includes(name)) refuse("match", `No column is assigned to the field "${name}".`)
    }
  }
  if (errors.length > 0) {
    return Result.fail(problem("invalid-parameter", errors[0]!.message, { errors: errors.slice(0, 20) }))
  }
  const [only = null, ...more] = match
  return Result.succeed({
    mapping: chosen,
    mode: mode!,
    match: more.length > 0 ? match : only,
    errors: onError === "skip" ? "skip" : "stop"
  })
}

/** The names of the fields by which records are found: one field, or the primary key in its order. */
const readMatch = ({ decisions, model, restricted }: Access, named: Json): Result.Result<readonly string[], string> => {
  const names: readonly Json[] = Array.isArray(named) ? named : [named]
  const unclear = "Name the field by which records are found, or all fields of the primary key."
  if (names.length === 0) return Result.fail(unclear)
  const fields: Field[] = []
  for (const name of names) {
    if (typeof name !== "string") return Result.fail(unclear)
    const field = restricted.byName.get(name)
    if (field === undefined) return Result.fail(unknownField(name))
    // A lookup by a field reveals as much as a filter on it.
    if (decisions.read.of === "deny" || !(field.filterable || model.key.includes(field)) || !canFind(field.kind)) {
      return Result.fail(`Records cannot be found by the field "${name}".`)
    }
    fields.push(field)
  }
  if (fields.length === 1) return Result.succeed([fields[0]!.name])
  const { key } = model
  return fields.length === key.length && key.every((field) => fields.includes(field))
    ? Result.succeed(key.map(({ name }) => name))
    : Result.fail("Several fields find a record only where they are the primary key.")
}

/** The value of a field from a line: a JSON value, undefined if it is left out, or an error. */
export type LineValue = Result.Result<Json | undefined, ValueProblem>

const numeric = new Set(["integer", "decimal", "float", "money"])

/** Parses a value of a table. Spaces around numbers and the case of truth values are ignored, because spreadsheets add them. */
const fromText = (field: Field, cell: Cell, { formulas }: ImportRequest): LineValue => {
  if (cell === null) return Result.succeed(null)
  const { kind } = field
  const text = numeric.has(kind)
    ? cell.trim()
    : kind === "boolean"
    ? cell.trim().toLowerCase()
    : formulas === "escape"
    ? unguardFormula(cell)
    : cell
  if (kind === "text") return Result.succeed(text)
  const read = cellFromText(field, text)
  return Result.isSuccess(read) ? Result.succeed(wireFromCell(field, read.success)) : read
}

/** The values of a line by field, as a body has them, and those of the matching fields as cells. */
export interface LineBody {
  readonly body: Body
  readonly match: readonly string[]
}

/** What is wrong with a value of a line. */
export interface LineError {
  readonly field: string
  readonly message: string
}

/** Reads a line by its plan. Null values are left out of `create` bodies, so that defaults hold; `update` bodies have them. */
export const readLine = (
  { restricted }: Access,
  request: ImportRequest,
  plan: ImportPlan,
  line: UploadedLine
): Result.Result<LineBody, readonly LineError[]> => {
  const body: { [name: string]: Json } = {}
  const errors: LineError[] = []
  const names = matchNames(plan)
  const match = new Map<string, string>()
  for (const [index, name] of plan.mapping.entries()) {
    const field = name === null ? undefined : restricted.byName.get(name)
    if (field === undefined) continue
    const column = request.columns[index]!.name
    const given: LineValue = "values" in line
      ? fromText(field, line.values[index] ?? null, request)
      : Result.succeed(Object.hasOwn(line.record, column) ? line.record[column] : undefined)
    if (Result.isFailure(given)) {
      const { field: name = field.name, message } = valueError(field.name, given.failure)
      errors.push({ field: name, message })
    } else if (given.success !== undefined) {
      if (names.includes(field.name)) {
        const cell = matchCell(field, given.success)
        if (cell !== null) match.set(field.name, cell)
      }
      body[field.name] = given.success
    }
  }
  for (const name of names) {
    if (match.has(name) || errors.some(({ field }) => field === name)) continue
    errors.push({ field: name, message: "A value is required to find the record." })
  }
  return errors.length > 0
    ? Result.fail(errors)
    : Result.succeed({ body, match: names.map((name) => match.get(name)!) })
}

const matchCell = (field: Field, value: Json): Cell => {
  if (value === null || typeof value === "object") return null
  const read = cellFromText(field, String(value))
  return Result.isSuccess(read) ? read.success : null
}

/** The body of a create: empty values take their defaults. */
export const createBody = (body: Body): Body =>
  Object.fromEntries(Object.entries(body).filter(([, value]) => value !== null))

/** The body of an update of the record that was found by the fields. */
export const updateBody = (body: Body, match: readonly string[]): Body =>
  Object.fromEntries(Object.entries(body).filter(([name]) => !match.includes(name)))
