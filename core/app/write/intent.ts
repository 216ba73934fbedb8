/**
 * What a request wants written, as far as it is decided without the stored record: its body, its references to files, its precondition. It reads no row.
 */

import * as Result from "effect/Result"
import type { Access } from "../../domain/access/access.ts"
import { refusedFields } from "../../domain/access/resolve.ts"
import type { Operation } from "../../domain/access/rules.ts"
import type { Field, Model, WireRecord } from "../../domain/model/model.ts"
import { invalidParameter } from "../../domain/problem.ts"
import type { Problem } from "../../domain/problem.ts"
import { wireRecord } from "../../domain/read/record.ts"
import { isJsonObject } from "../../domain/value/json-kind.ts"
import type { Cell, Json, Row } from "../../domain/value/kind.ts"
import { invalidRecord, readCreate, readOnlyError, readPatch, validateRecord } from "../../domain/write/body.ts"
import type { Additions, FieldValues } from "../../domain/write/body.ts"
import type { FileValueGiven, Tickets } from "../../domain/write/file-values.ts"
import type { Precondition } from "../../domain/write/precondition.ts"

type GivenFiles = readonly FileValueGiven[]

/** One write that passed everything that can be decided without the stored record. */
export type Write =
  | { readonly op: "create"; readonly access: Access; readonly values: FieldValues; readonly files: GivenFiles }
  | {
    readonly op: "update"
    readonly access: Access
    readonly key: readonly string[]
    readonly values: FieldValues
    /** What is added to stored numbers; without it, nothing. */
    readonly adds?: Additions
    /** Values that the record must have already: of fields that only a create writes. Without it, none. */
    readonly fixed?: FieldValues
    /** What the body says of files. */
    readonly files: GivenFiles
    readonly precondition: Precondition
    /**
     * The values come from an older version of the record. A value stays as it is where the caller may not write the field. A value that differs is
     * checked by the field as it is declared today.
     */
    readonly lenient?: boolean
    /** The transaction wrote others before it, so what it sees is not what everybody sees. */
    readonly midway?: boolean
  }
  | {
    readonly op: "delete" | "undelete"
    readonly access: Access
    readonly key: readonly string[]
    readonly precondition: Precondition
    readonly midway?: boolean
  }

export type CreateWrite = Write & { readonly op: "create" }
export type UpdateWrite = Write & { readonly op: "update" }
export type ExistingWrite = Exclude<Write, { op: "create" }>

/** For this record, fields that a record-level rule protects are read-only. */
export const checkFieldRules = (
  access: Access,
  names: Iterable<string>,
  record: WireRecord
): Result.Result<void, Problem> => {
  const refused = refusedFields(access, names, record)
  return refused.length > 0 ? Result.fail(invalidRecord(refused.map(readOnlyError))) : Result.succeed(undefined)
}

export const prepareCreate = (
  access: Access,
  body: Json,
  tickets: Tickets | null = null
): Result.Result<CreateWrite, Problem> =>
  Result.flatMap(readCreate(access, body, tickets), ({ files, values }) => {
    if (access.fieldWritable.size > 0 || access.model.validate.length > 0) {
      const record = wireRecord(access.model, (field) => values.get(field) ?? null)
      const allowed = Result.flatMap(
        checkFieldRules(access, isJsonObject(body) ? Object.keys(body) : [], record),
        () => validateRecord(access, record)
      )
      if (Result.isFailure(allowed)) return Result.fail(allowed.failure)
    }
    return Result.succeed({ op: "create", access, values, files })
  })

export const prepareUpdate = (
  access: Access,
  key: readonly string[],
  body: Json,
  precondition: Precondition,
  tickets: Tickets | null = null
): Result.Result<UpdateWrite, Problem> =>
  Result.map(
    readPatch(access, body, tickets),
    ({ adds, files, values }): UpdateWrite => ({ op: "update", access, key, values, adds, files, precondition })
  )

/** `:undelete` of a resource without soft delete is a 400. */
export const prepareUndelete = (
  access: Access,
  key: readonly string[],
  precondition: Precondition
): Result.Result<Write, Problem> =>
  access.model.softDelete === null
    ? Result.fail(invalidParameter("undelete", "This resource has no soft delete: its records cannot be undeleted."))
    : Result.succeed({ op: "undelete", access, key, precondition })

export const cells = (row: Row) => (field: Field): Cell => row[field.index] ?? null

/** The key as the record has it. A request may spell it in another way that the database treats as equal. */
export const ownKey = ({ key }: Model, row: Row): readonly string[] => key.map((field) => row[field.index]!)

/** The operation whose rule decides a write. */
export const ruleOf = (op: Write["op"]): Operation => op === "undelete" ? "update" : op
