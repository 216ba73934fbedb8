/**
 * Values of file fields in bodies (spec 2, Upload, 5): a ticket, null, the stored uri unchanged, or an https URL where the field takes one. What the
 * stored record has to say is asked later (`settleFiles`). It opens no ticket itself and looks at no storage.
 */

import * as Result from "effect/Result"
import type { Access } from "../access/access.ts"
import { isShownFile, looksLikeTicket, readTicket, ticketContext } from "../file/ticket.ts"
import type { Ticket } from "../file/ticket.ts"
import { isAccepted, typeOfExtension } from "../file/type.ts"
import { externalName, isExternalUrl, readStored } from "../file/uri.ts"
import type { StoredFile } from "../file/uri.ts"
import { derivedNames } from "../model/file.ts"
import type { FileField } from "../model/file.ts"
import type { Field, Model } from "../model/model.ts"
import type { ProblemError } from "../problem.ts"
import type { Cell, Json, Row } from "../value/kind.ts"

/** Opens sealed texts, and says what time it is. */
export interface Tickets {
  readonly open: (context: string, token: string) => string | null
  /** Milliseconds since 1970. */
  readonly now: () => number
}

/** What a body says of a file field. */
export interface FileValueGiven {
  readonly field: Field
  readonly cell: Cell
  /** Cells of the fields that are written with it; null: it must be what the record holds already. */
  readonly derived: ReadonlyMap<Field, Cell> | null
  /** The upload behind a ticket, which must still be there. */
  readonly upload: StoredFile | null
}

type Refused = Omit<ProblemError, "field"> & { readonly code: string }

const refuse = (message: string, hint?: string): Result.Result<never, Refused> =>
  Result.fail({ code: "invalid", message, ...(hint === undefined ? {} : { hint }) })

const how = "Upload the file with :upload, and send the value of its answer."

/** The fields that a file field writes, each without a value. */
const emptied = (model: Model, file: FileField): ReadonlyMap<Field, Cell> =>
  new Map(
    derivedNames(file).flatMap((name) => {
      const field = model.byName.get(name)
      return field === undefined ? [] : [[field, null] as const]
    })
  )

const fromTicket = (model: Model, field: Field, file: FileField, ticket: Ticket): FileValueGiven => {
  const derived = new Map(emptied(model, file))
  for (const target of derived.keys()) derived.set(target, ticket.derived.get(target.name) ?? null)
  return { field, cell: ticket.uri, derived, upload: readStored(ticket.uri) }
}

/** Reads a value of a file field. `tickets` null: no files are stored, so that nothing can be a ticket. */
export const readFileValue = (
  { caller, model }: Access,
  field: Field,
  file: FileField,
  value: Json,
  operation: "create" | "update",
  tickets: Tickets | null
): Result.Result<FileValueGiven, Refused> => {
  if (value === null) {
    return field.optional
      ? Result.succeed({ field, cell: null, derived: emptied(model, file), upload: null })
      : Result.fail({ code: "required", message: `The field "${field.name}" is required.` })
  }
  if (isShownFile(value)) {
    return refuse("The value is the file object of an answer.", "Send its uri, or leave the field out.")
  }
  if (typeof value !== "string") return Result.fail({ code: "type", message: "Expected a text.", hint: how })
  if (looksLikeTicket(value)) {
    const text = tickets?.open(ticketContext(caller, model.name, field.name), value) ?? null
    const ticket = text === null ? null : readTicket(text)
    if (ticket === null) return refuse("The ticket is not valid for this user and field.", how)
    return ticket.expires <= tickets!.now()
      ? refuse("The ticket has expired.", how)
      : Result.succeed(fromTicket(model, field, file, ticket))
  }
  if (/^[a-z]+:\/\//i.test(value) || value.includes("://")) {
    if (!file.externalUrls || !isExternalUrl(value)) {
      return refuse(
        "The value is not a file.",
        file.externalUrls
          ? "An address must be an absolute https URL without user name and with special characters escaped."
          : how
      )
    }
    return isAccepted(file.accept, typeOfExtension(externalName(value).extension))
      ? Result.succeed({ field, cell: value, derived: emptied(model, file), upload: null })
      : refuse("The file at this address is of a type that the field does not take.")
  }
  // A uri of another record would show somebody a file that they may not see.
  return operation === "update" && value.length <= 4_096
    ? Result.succeed({ field, cell: value, derived: null, upload: null })
    : refuse("The value is not a file.", how)
}

/**
 * Compares what a body says of files with the locked row: derived values go with a file that changes, and an unchanged uri must be the one that the
 * row holds.
 */
export const settleFiles = (
  given: readonly FileValueGiven[],
  row: Row
): { readonly derived: ReadonlyMap<Field, Cell>; readonly errors: readonly ProblemError[] } => {
  const derived = new Map<Field, Cell>()
  const errors: ProblemError[] = []
  for (const { cell, derived: written, field } of given) {
    if (cell === (row[field.index] ?? null)) continue
    if (written === null) {
      errors.push({ field: field.name, code: "invalid", message: "The value is not a file of this record.", hint: how })
    } else for (const [target, value] of written) derived.set(target, value)
  }
  return { derived, errors }
}

const fileFields = new WeakMap<Model, readonly Field[]>()

/** The file fields of a model. */
export const fileFieldsOf = (model: Model): readonly Field[] => {
  let fields = fileFields.get(model)
  if (fields === undefined) {
    fields = model.fields.filter((field) => field.file !== null)
    fileFields.set(model, fields)
  }
  return fields
}

/** Fields that hold files, or that are written with them and nothing else: a version that is restored leaves them as they are. */
export const isFileOwned = (model: Model, field: Field): boolean =>
  field.file !== null || fileFieldsOf(model).some(({ file }) => derivedNames(file!).includes(field.name))

/** The files that a write took out of its row; `after` null: the row is gone. */
export const takenFiles = (model: Model, before: Row, after: Row | null): readonly StoredFile[] =>
  fileFieldsOf(model).flatMap(({ index }) => {
    const cell = before[index] ?? null
    const file = cell === null || cell === (after?.[index] ?? null) ? null : readStored(cell)
    return file === null ? [] : [file]
  })
