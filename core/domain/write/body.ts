/**
 * From request bodies to values. Unknown, hidden and read-only fields are refused, and every value is checked by its field. Defaults and
 * the fields that the service sets itself are added. All bad fields are reported together. It never reads a stored record.
 */

import * as Result from "effect/Result"
import type { Access } from "../access/access.ts"
import type { Caller } from "../access/caller.ts"
import type { Field, FieldProblem, ValidateRule, WireRecord } from "../model/model.ts"
import { accessDenied, problem, tenantRequired } from "../problem.ts"
import type { Problem, ProblemError } from "../problem.ts"
import { unknownField } from "../read/list.ts"
import { addCells } from "../value/add.ts"
import { cellFromJson, cellFromText, compareCells, type ValueProblem, wireFromCell } from "../value/cell.ts"
import { isJsonObject, type JsonObject } from "../value/json-kind.ts"
import { parseJson } from "../value/json.ts"
import type { Cell, Json } from "../value/kind.ts"
import { readFileValue } from "./file-values.ts"
import type { FileValueGiven, Tickets } from "./file-values.ts"

/** Values to write by field. A create lists what it gives; what is absent takes the database's default. */
export type FieldValues = ReadonlyMap<Field, Cell>

export const invalidRecord = (errors: readonly ProblemError[]): Problem =>
  problem("invalid-record", errors.length === 1 ? errors[0]!.message : `${errors.length} fields are not valid.`, {
    errors
  })

export const readOnlyError = (name: string): ProblemError => ({
  field: name,
  code: "read-only",
  message: `The field "${name}" is read-only.`
})

/** What is wrong with a value of a field. Of a list it names the element. */
export const valueError = (name: string, { at, ...failure }: ValueProblem): ProblemError => ({
  field: at === undefined ? name : `${name}[${at}]`,
  ...failure
})

const unknownError = (name: string): ProblemError =>
  name === "etag"
    ? { field: "etag", code: "read-only", message: "An ETag is sent in the If-Match header, not in the body." }
    : { field: name.slice(0, 100), code: "unknown", message: unknownField(name) }

/** Most problems listed in one answer. */
const maxErrors = 100

const asObject = (body: Json): Result.Result<JsonObject, Problem> =>
  isJsonObject(body)
    ? Result.succeed(body)
    : Result.fail(invalidRecord([{ code: "type", message: "The record must be a JSON object." }]))

/** The values of a body, and what it says of files. */
export interface GivenValues {
  readonly values: FieldValues
  /** What a PATCH adds to stored numbers. */
  readonly adds: Additions
  readonly files: readonly FileValueGiven[]
}

/** Numbers to add to what is stored, by field. Each is itself a value that the field could have. */
export type Additions = ReadonlyMap<Field, string>

const noFiles: readonly FileValueGiven[] = []
export const noAdditions: Additions = new Map()

/** Whether a value asks for an addition: `{ "$add": … }`. In `json` fields it is ordinary data. */
const asksToAdd = (field: Field, value: Json): value is JsonObject =>
  value !== null && typeof value === "object" && field.kind !== "json" && Object.hasOwn(value, "$add")

/** Reads an addition. A number that would have to be rounded to fit the field is refused, as any value of it. */
const readAddition = (
  field: Field,
  value: JsonObject,
  operation: "create" | "update"
): Result.Result<string, Omit<ProblemError, "field">> => {
  const refuse = (code: "type" | "invalid", message: string, hint: string) => Result.fail({ code, message, hint })
  const itself = "Send the value itself."
  if (field.kind !== "integer" && field.kind !== "decimal") {
    return refuse("type", "Only integers and decimals can be added to.", itself)
  }
  if (operation === "create") return refuse("invalid", "A new record has no value to add to.", itself)
  if (Object.keys(value).length > 1) {
    return refuse("invalid", "Nothing can stand beside \"$add\".", "Send { \"$add\": \"1\" }.")
  }
  return Result.map(cellFromJson({ ...field, optional: false }, value["$add"]!), (cell) => cell!)
}

/** The values that additions make of a stored record, and which of them cannot be. */
export const addedValues = (
  stored: (field: Field) => Cell,
  adds: Additions
): { readonly values: FieldValues; readonly errors: readonly ProblemError[] } => {
  const values = new Map<Field, Cell>()
  const errors: ProblemError[] = []
  for (const [field, delta] of adds) {
    const total = addCells(field, stored(field), delta)
    if (Result.isSuccess(total)) values.set(field, total.success)
    else errors.push({ field: field.name, ...total.failure })
  }
  return { values, errors }
}

/** Reads the fields of a body that the caller may write; what it says of files goes to `files`, what it adds to `adds`. */
const readFields = (
  access: Access,
  body: JsonObject,
  operation: "create" | "update",
  tickets: Tickets | null,
  files: FileValueGiven[],
  errors: ProblemError[],
  adds: Map<Field, string> | null = null
): Map<Field, Cell> => {
  const writable = operation === "create" ? access.restricted.creatable : access.restricted.updatable
  const values = new Map<Field, Cell>()
  for (const [name, value] of Object.entries(body)) {
    if (errors.length >= maxErrors) break
    const field = access.restricted.byName.get(name)
    if (field === undefined) errors.push(unknownError(name))
    else if (!writable.has(name)) errors.push(readOnlyError(name))
    else if (asksToAdd(field, value)) {
      const delta = readAddition(field, value, operation)
      if (Result.isFailure(delta)) errors.push({ field: name, ...delta.failure })
      else adds?.set(field, delta.success)
    } else if (field.file !== null) {
      const given = readFileValue(access, field, field.file, value, operation, tickets)
      if (Result.isFailure(given)) errors.push({ field: name, ...given.failure })
      else {
        values.set(field, given.success.cell)
        files.push(given.success)
      }
    } else {
      const cell = cellFromJson(field, value)
      if (Result.isSuccess(cell)) values.set(field, cell.success)
      else errors.push(valueError(name, cell.failure))
    }
  }
  return values
}

/** The values of a PATCH: what the body gives, nothing else. */
export const readPatch = (
  access: Access,
  body: Json,
  tickets: Tickets | null = null
): Result.Result<GivenValues, Problem> =>
  Result.flatMap(asObject(body), (object) => {
    const errors: ProblemError[] = []
    const files: FileValueGiven[] = []
    const adds = new Map<Field, string>()
    const values = readFields(access, object, "update", tickets, files, errors, adds)
    return errors.length > 0
      ? Result.fail(invalidRecord(errors))
      : Result.succeed({ values, adds, files: files.length === 0 ? noFiles : files })
  })

/** Refuses values that no body could give. A version may come from a time when its fields accepted more. */
export const checkValues = (values: FieldValues): Result.Result<void, Problem> => {
  const errors: ProblemError[] = []
  for (const [field, cell] of values) {
    const read = cellFromJson(field, wireFromCell(field, cell))
    if (Result.isFailure(read)) errors.push(valueError(field.name, read.failure))
  }
  return errors.length > 0 ? Result.fail(invalidRecord(errors)) : Result.succeed(undefined)
}

/** The cell of a declared default; declarations are checked at startup, so that a refusal here is a defect. */
const defaultCell = (field: Field, value: Json): Cell => Result.getOrThrow(cellFromJson(field, value))

/**
 * The values of a create: those of the body, the caller as owner under an own-rows rule, the caller's tenant, and declared defaults.
 * Required fields that are missing are reported with the other problems. When such a field is hidden or read-only for the caller, no create
 * of theirs can succeed: that is a 403.
 */
export const readCreate = (
  access: Access,
  body: Json,
  tickets: Tickets | null = null
): Result.Result<GivenValues, Problem> => Result.flatMap(asObject(body), (object) => completed(access, object, tickets))

const rolesCell = ({ roles }: Caller): Cell => JSON.stringify(roles)

/** The values of an update. What acts after the request then acts with the roles of whoever last said what it does. */
export const withRoles = ({ caller, model: { actsLater } }: Access, set: FieldValues): FieldValues =>
  actsLater !== undefined && [...set.keys()].some((field) => actsLater.by.has(field))
    ? new Map([...set, [actsLater.roles, rolesCell(caller)]])
    : set

/** Texts that cannot be the last segment of a URL: clients read them as the path above. */
const unaddressable = /^\.{0,2}$/

const completed = (
  access: Access,
  body: JsonObject,
  tickets: Tickets | null
): Result.Result<GivenValues, Problem> => {
  const { caller, model, restricted } = access
  const errors: ProblemError[] = []
  const files: FileValueGiven[] = []
  const values = readFields(access, body, "create", tickets, files, errors)
  for (const { derived } of files) for (const [field, cell] of derived) values.set(field, cell)
  const { owner, tenant, version } = model
  if (owner !== null && (model.actsLater !== undefined || (access.createOwn && !values.has(owner)))) {
    const own = cellFromText(owner, caller.id)
    if (Result.isFailure(own)) return Result.fail(accessDenied())
    values.set(owner, own.success)
  }
  if (tenant !== null) {
    const own = caller.tenant === null ? null : cellFromText(tenant, caller.tenant)
    if (own === null || Result.isFailure(own)) {
      return Result.fail(tenantRequired())
    }
    values.set(tenant, own.success)
  }
  if (model.actsLater !== undefined) values.set(model.actsLater.roles, rolesCell(caller))
  let impossible = false
  for (const field of model.fields) {
    if (values.has(field) || field === version || Object.hasOwn(body, field.name)) continue
    if (field.default !== null) {
      if ("value" in field.default) values.set(field, defaultCell(field, field.default.value))
    } else if (!field.optional && !field.readOnly) {
      if (restricted.creatable.has(field.name)) {
        errors.push({ field: field.name, code: "required", message: `The field "${field.name}" is required.` })
      } else impossible = true
    }
  }
  const [key, ...more] = model.key
  if (more.length === 0 && unaddressable.test(values.get(key!) ?? "other")) {
    errors.push({ field: key!.name, code: "invalid", message: "A record with this key would have no URL." })
  }
  if (errors.length > 0) return Result.fail(invalidRecord(errors))
  return impossible
    ? Result.fail(accessDenied())
    : Result.succeed({ values, adds: noAdditions, files: files.length === 0 ? noFiles : files })
}

/**
 * Runs the resource's validate rules on the record before it is written. A problem about a field the caller cannot read says only that
 * the record is not valid.
 */
export const validateRecord = (access: Access, record: WireRecord): Result.Result<void, Problem> => {
  const errors: ProblemError[] = []
  for (const rule of access.model.validate) {
    for (const problem of runRule(rule, record)) {
      errors.push(
        access.restricted.byName.has(problem.field)
          ? { field: problem.field, code: "invalid", message: problem.message }
          : { code: "invalid", message: "The record is not valid." }
      )
    }
  }
  return errors.length > 0 ? Result.fail(invalidRecord(errors)) : Result.succeed(undefined)
}

const runRule = (rule: ValidateRule, record: WireRecord): readonly FieldProblem[] => rule(record) ?? []

/** The stored cells with the given values on top. */
export const merged = (stored: (field: Field) => Cell, values: FieldValues) => (field: Field): Cell =>
  values.has(field) ? values.get(field)! : stored(field)

/** Whether two cells of a field hold the same value. Their texts may differ, because a database may write JSON or decimals differently. */
const sameValue = (field: Field, a: Cell, b: Cell): boolean => {
  if (a === b || a === null || b === null) return a === b
  if (field.kind !== "json") return compareCells(field, a, b) === 0
  const [left, right] = [parseJson(a), parseJson(b)]
  // A value that cannot be read exactly (a number beyond JavaScript's) counts as different, so it is written.
  return Result.isSuccess(left) && Result.isSuccess(right) && sameJson(left.success, right.success)
}

const sameJson = (a: Json, b: Json): boolean => {
  if (a === b || a === null || b === null || typeof a !== "object" || typeof b !== "object") return a === b
  const [left, right] = [Object.entries(a), new Map<string, Json>(Object.entries(b))]
  return Array.isArray(a) === Array.isArray(b) && left.length === right.size &&
    left.every(([name, value]) => right.has(name) && sameJson(value, right.get(name)!))
}

/** The values that differ from the stored ones: nothing left means nothing to write. */
export const changedValues = (stored: (field: Field) => Cell, values: FieldValues): FieldValues =>
  new Map([...values].filter(([field, cell]) => !sameValue(field, stored(field), cell)))
