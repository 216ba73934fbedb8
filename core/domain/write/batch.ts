/**
 * From batch bodies (docs/reference/writes.md#batches) to operations and the references between them. It checks forms only. What an operation may do is
 * decided by the pipeline of single writes.
 */

import * as Result from "effect/Result"
import type { RestrictedModel } from "../access/access.ts"
import type { Field, Model } from "../model/model.ts"
import { Problem, problem } from "../problem.ts"
import { invalidKey, readKey, writeKey } from "../read/key.ts"
import { cellFromText, plainText, wireFromCell } from "../value/cell.ts"
import { isJsonList, type JsonObject } from "../value/json-kind.ts"
import type { Cell, Json } from "../value/kind.ts"

export const maxOperations = 500
/** Most records that all reorders of a batch name together: each is locked, one after the other. */
const maxReordered = 5_000

export type BatchOperation =
  | {
    readonly op: "create"
    readonly resource: string
    readonly data: Json
    readonly ref: string | null
    /** The only field whose value may be a reference; empty: none. Without it, every field's may. */
    readonly refers?: string
  }
  | {
    readonly op: "update"
    readonly resource: string
    readonly key: Json
    readonly etag: string | null
    readonly data: Json
    /** The unique field that `key` is a value of; empty: the key. */
    readonly match: string
    /** Whether a missing record is created (AIP-134). */
    readonly allowMissing: boolean
    readonly ref: string | null
  }
  | { readonly op: "delete"; readonly resource: string; readonly key: Json; readonly etag: string | null }
  | {
    readonly op: "reorder"
    readonly resource: string
    readonly field: string
    readonly keys: readonly Json[]
    readonly etags: { readonly [key: string]: Json }
  }

const isObject = (value: Json | undefined): value is JsonObject =>
  value !== null && typeof value === "object" && !Array.isArray(value)

const refused = (parameter: string, message: string, members: { readonly [member: string]: unknown } = {}): Problem =>
  problem("invalid-parameter", message, { ...members, errors: [{ parameter, message }] })

const members: { readonly [op: string]: readonly string[] } = {
  create: ["op", "resource", "data", "ref"],
  update: ["op", "resource", "key", "etag", "data", "match", "allow_missing", "ref"],
  delete: ["op", "resource", "key", "etag"],
  reorder: ["op", "resource", "field", "keys", "etags"]
}

/** Adds which operation failed to its problem. */
export const inOperation = (error: Problem, operation: number, op: string, resource: string): Problem =>
  problem(error.slug, error.detail, { ...error.members, operation, op, resource }, error.headers)

/** Adds which record of its operation failed, where there are several. */
export const ofRecord = (key: readonly string[]) => <E>(error: E): E | Problem =>
  error instanceof Problem
    ? problem(error.slug, error.detail, { ...error.members, key: writeKey(key) }, error.headers)
    : error

/** Whether an operation is more than the change of a record by its key. */
export const isUpsert = (operation: BatchOperation): operation is BatchOperation & { op: "update" } =>
  operation.op === "update" && (operation.allowMissing || operation.match !== "")

/** The operations of a body, all of the right form; else a 400 naming the first that is not. */
export const readBatch = (body: Json): Result.Result<readonly BatchOperation[], Problem> => {
  const list = isObject(body) ? body["ops"] ?? body["operations"] : undefined
  if (!isObject(body) || !Array.isArray(list)) {
    return Result.fail(refused("ops", "The body must be an object with a list \"ops\"."))
  }
  const extra = Object.keys(body).filter((name) => name !== "ops" && name !== "operations")
  if (extra.length > 0 || (body["ops"] !== undefined && body["operations"] !== undefined)) {
    return Result.fail(refused(extra[0]?.slice(0, 100) ?? "operations", "The body has one member, \"ops\"."))
  }
  if (list.length > maxOperations) {
    return Result.fail(refused("ops", `A batch has at most ${maxOperations} operations.`))
  }
  const operations: BatchOperation[] = []
  let reordered = 0
  for (const [index, item] of list.entries()) {
    const operation = readOperation(item, index)
    if (Result.isFailure(operation)) return Result.fail(operation.failure)
    if (operation.success.op === "reorder") reordered += operation.success.keys.length
    if (reordered > maxReordered) {
      const refusal = refused("ops", `The reorders of a batch have at most ${maxReordered} keys together.`)
      return Result.fail(inOperation(refusal, index, operation.success.op, operation.success.resource))
    }
    operations.push(operation.success)
  }
  return Result.succeed(operations)
}

const readOperation = (item: Json, index: number): Result.Result<BatchOperation, Problem> => {
  const misses = (member: string, message: string) =>
    refused(`ops[${index}]${member === "" ? "" : `.${member}`}`, message, { operation: index })
  if (!isObject(item)) return Result.fail(misses("", "The operation must be an object."))
  const { data, etag, key, op, resource } = item
  if (typeof op !== "string" || !Object.hasOwn(members, op)) {
    const refusal = misses("op", "The op must be create, update, delete or reorder.")
    return Result.fail(
      typeof op === "string" && typeof resource === "string"
        ? inOperation(refusal, index, op.slice(0, 100), resource.slice(0, 100))
        : refusal
    )
  }
  if (typeof resource !== "string" || resource === "") {
    return Result.fail(misses("resource", "The resource's name is required."))
  }
  if (resource.length > 100) return Result.fail(misses("resource", "The resource's name is too long."))
  const fail = (member: string, message: string) =>
    Result.fail(inOperation(misses(member, message), index, op, resource))
  const extra = Object.keys(item).find((name) => !members[op]!.includes(name))
  if (extra !== undefined) return fail(extra.slice(0, 100), `An operation "${op}" has no such member.`)
  if (etag !== undefined && etag !== null && typeof etag !== "string") return fail("etag", "The ETag must be text.")
  const { ref } = item
  if (ref !== undefined && (typeof ref !== "string" || !/^[A-Za-z0-9_.-]{1,64}$/.test(ref))) {
    return fail("ref", "A ref is 1 to 64 letters, digits, _, - or periods.")
  }
  if (op === "create") {
    if (data === undefined) return fail("data", "The record's data are required.")
    return Result.succeed({ op, resource, data, ref: ref ?? null })
  }
  if (op === "reorder") {
    const { etags, field, keys } = item
    if (typeof field !== "string") return fail("field", "The field's name is required.")
    if (!Array.isArray(keys)) return fail("keys", "The keys must be a list in their final order.")
    if (keys.length > maxOperations) return fail("keys", `At most ${maxOperations} records can be reordered at once.`)
    if (etags !== undefined && !isObject(etags)) return fail("etags", "The etags must be an object from key to ETag.")
    return Result.succeed({ op, resource, field, keys, etags: etags ?? {} })
  }
  if (key === undefined || key === null) return fail("key", "The record's key is required.")
  if (op === "delete") return Result.succeed({ op, resource, key, etag: etag ?? null })
  if (data === undefined) return fail("data", "The record's data are required.")
  const { allow_missing: allowMissing = false, match = "" } = item
  if (typeof allowMissing !== "boolean") {
    return fail("allow_missing", "Whether a missing record is created: true or false.")
  }
  if (typeof match !== "string") return fail("match", "The name of a unique field is expected.")
  if (ref !== undefined && !allowMissing) {
    return fail("ref", "Only what may create a record has a ref: its key is not known.")
  }
  return Result.succeed({
    op: "update",
    resource,
    key,
    etag: etag ?? null,
    data,
    match,
    allowMissing,
    ref: ref ?? null
  })
}

/** A record that an earlier create of the batch named, as it stands. */
export interface Referenced {
  readonly restricted: RestrictedModel
  readonly key: readonly string[]
  /** Whether the caller can see the record; if not, nothing but its key can be referred to. */
  readonly visible: boolean
  readonly cellOf: (field: Field) => Cell
}

export type References = ReadonlyMap<string, Referenced>

interface Reference {
  readonly name: string
  readonly field: string | null
}

/** A value of the form `{ $ref }` or `{ $ref, field }`, or null. */
const asReference = (value: Json): Reference | null => {
  if (!isObject(value) || typeof value["$ref"] !== "string") return null
  const { field } = value
  const size = Object.keys(value).length
  if (size === 1) return { name: value["$ref"], field: null }
  return size === 2 && typeof field === "string" ? { name: value["$ref"], field } : null
}

const unresolved = (name: string, message: string): Problem => refused("$ref", message.replace("%", name.slice(0, 64)))

/** The value that a reference stands for, in wire form. */
const resolve = (references: References, reference: Reference): Result.Result<Json, Problem> => {
  const referenced = references.get(reference.name)
  if (referenced === undefined) {
    return Result.fail(unresolved(reference.name, "No earlier create of this batch has the ref \"%\"."))
  }
  const { key, restricted, visible } = referenced
  if (reference.field === null) {
    return key.length === 1
      ? Result.succeed(wireFromCell(restricted.model.key[0]!, key[0]!))
      : Result.fail(unresolved(reference.name, "The ref \"%\" has a composite key; name one of its fields."))
  }
  const field = restricted.byName.get(reference.field)
  return field === undefined || !(visible || restricted.model.key.includes(field))
    ? Result.fail(unresolved(reference.field, "There is no field \"%\"."))
    : Result.succeed(wireFromCell(field, referenced.cellOf(field)))
}

/** Whether a key stands for a record that the batch itself created. */
export const isReference = (key: Json): boolean => asReference(key)?.field === null

/** The names that data or a key refer to. */
export const referencedNames = (value: Json): readonly string[] => {
  const reference = asReference(value)
  if (reference !== null) return [reference.name]
  if (Array.isArray(value)) return value.flatMap(referencedNames)
  return isObject(value) ? Object.values(value).flatMap((member) => asReference(member)?.name ?? []) : []
}

/** Which fields of which named records the operations refer to. Nothing else of those records has to be kept. */
export const referredFields = (operations: readonly BatchOperation[]): ReadonlyMap<string, ReadonlySet<string>> => {
  const byName = new Map<string, Set<string>>()
  const look = (value: Json): void => {
    const reference = asReference(value)
    if (reference === null || reference.field === null) return
    const fields = byName.get(reference.name)
    if (fields === undefined) byName.set(reference.name, new Set([reference.field]))
    else fields.add(reference.field)
  }
  const lookAll = (value: Json): void => Array.isArray(value) ? value.forEach(look) : look(value)
  for (const operation of operations) {
    if (operation.op === "reorder") operation.keys.forEach(lookAll)
    else if (operation.op !== "create") lookAll(operation.key)
    if ("data" in operation && isObject(operation.data)) Object.values(operation.data).forEach(look)
  }
  return byName
}

/** Data with references replaced by values, of one field or of all. Members of `json` fields are left alone: there `$ref` is data. */
export const resolveData = (
  restricted: RestrictedModel,
  references: References,
  data: Json,
  only?: string
): Result.Result<Json, Problem> => {
  if (!isObject(data)) return Result.succeed(data)
  let resolved: { [member: string]: Json } | null = null
  for (const [name, value] of Object.entries(data)) {
    if (only !== undefined && name !== only) continue
    const reference = restricted.byName.get(name)?.kind === "json" ? null : asReference(value)
    if (reference === null) continue
    const answer = resolve(references, reference)
    if (Result.isFailure(answer)) return answer
    resolved ??= { ...data }
    resolved[name] = answer.success
  }
  return Result.succeed(resolved ?? data)
}

/** A key: URL text (`a,b` when composite), a number, a list of parts, or a reference (docs/reference/writes.md#batches). */
export const resolveKey = (
  model: Model,
  references: References,
  key: Json
): Result.Result<readonly string[], Problem> => {
  const reference = asReference(key)
  if (reference !== null && reference.field === null) {
    const referenced = references.get(reference.name)
    if (referenced === undefined) {
      return Result.fail(unresolved(reference.name, "No earlier create of this batch has the ref \"%\"."))
    }
    return referenced.restricted.model === model || (referenced.key.length === 1 && model.key.length === 1)
      ? readParts(model, referenced.key.map((cell, i) => wireFromCell(referenced.restricted.model.key[i]!, cell)))
      : Result.fail(invalidKey("The reference is to a record of another resource."))
  }
  if (typeof key === "string") return readKey(model, key)
  const parts: Json[] = []
  for (const part of isJsonList(key) ? key : [key]) {
    const named = asReference(part)
    if (named === null) parts.push(part)
    else {
      const part = resolve(references, named)
      if (Result.isFailure(part)) return Result.fail(part.failure)
      parts.push(part.success)
    }
  }
  return readParts(model, parts)
}

const readParts = (model: Model, parts: readonly Json[]): Result.Result<readonly string[], Problem> => {
  if (parts.length !== model.key.length) return Result.fail(invalidKey(`The key has ${model.key.length} parts.`))
  const cells: string[] = []
  for (const [i, part] of parts.entries()) {
    if (typeof part === "number" && Math.abs(part) > Number.MAX_SAFE_INTEGER) {
      return Result.fail(invalidKey("A JSON number cannot hold a key of this size exactly. Send it as text."))
    }
    const text = typeof part === "string"
      ? part
      : typeof part === "number"
      ? plainText(part)
      : typeof part === "boolean"
      ? String(part)
      : null
    const cell = text === null ? null : cellFromText(model.key[i]!, text)
    if (cell === null || Result.isFailure(cell)) return Result.fail(invalidKey("The key is not of the right form."))
    cells.push(cell.success)
  }
  return Result.succeed(cells)
}
