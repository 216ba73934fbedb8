/**
 * Values of file fields in bodies (docs/guides/files.md#what-a-write-takes): a ticket, null, the stored uri unchanged, an https URL where the field
 * takes one, or a list of these where the field holds several. `compareFiles` compares them with the stored record later. It opens no ticket itself
 * and looks at no storage.
 */

import * as Result from "effect/Result"
import type { Access } from "../access/access.ts"
import { heldText } from "../file/cleanup.ts"
import { isShownFile, looksLikeTicket, readTicket, ticketContext } from "../file/ticket.ts"
import type { Ticket } from "../file/ticket.ts"
import { isAccepted, typeOfExtension } from "../file/type.ts"
import { externalName, isExternalUrl, maxStored, readStored } from "../file/uri.ts"
import type { StoredFile } from "../file/uri.ts"
import { derivedNames } from "../model/file.ts"
import type { FileField } from "../model/file.ts"
import type { Field, Model } from "../model/model.ts"
import type { ProblemError } from "../problem.ts"
import { isJsonList, isJsonObject } from "../value/json-kind.ts"
import type { Cell, Json, ListShape, Row } from "../value/kind.ts"
import { listCell, textsIn } from "../value/list.ts"

/** Opens sealed texts, and says what time it is. */
export interface Tickets {
  readonly open: (context: string, token: string) => string | null
  /** Milliseconds since 1970. */
  readonly now: () => number
}

/** An upload behind a ticket, and the field that it is for. */
export interface GivenUpload {
  readonly field: Field
  readonly file: StoredFile
}

/** What a body says of a file field. */
export interface FileValueGiven {
  readonly field: Field
  readonly cell: Cell
  /** Cells of the fields that are written with a file that changes. */
  readonly derived: ReadonlyMap<Field, Cell>
  /** Stored texts that the body repeats: the record must hold them already. */
  readonly repeats: readonly string[]
  /** The uploads behind its tickets, which must still be there. */
  readonly uploads: readonly GivenUpload[]
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

/** One file as a body gives it. */
type Given =
  | { readonly of: "ticket"; readonly ticket: Ticket }
  | { readonly of: "external" | "kept"; readonly text: string }

const textOf = (given: Given): string => given.of === "ticket" ? given.ticket.uri : given.text

/** Reads what a body gives of one file. */
const readGiven = (
  { caller, model }: Access,
  field: Field,
  file: FileField,
  value: Json,
  operation: "create" | "update",
  tickets: Tickets | null
): Result.Result<Given, Refused> => {
  if (isShownFile(value)) {
    return refuse("The value is the file object of an answer.", "Send its uri, or leave the field out.")
  }
  if (typeof value !== "string") return Result.fail({ code: "type", message: "Expected a text.", hint: how })
  if (looksLikeTicket(value)) {
    const text = tickets?.open(ticketContext(caller, model.name, field.name), value) ?? null
    const ticket = text === null ? null : readTicket(text)
    if (ticket === "newer") {
      return refuse("A newer version of the service has made the ticket.", "Upload the file again.")
    }
    if (ticket === null) return refuse("The ticket is not valid for this user and field.", how)
    return ticket.expires <= tickets!.now()
      ? refuse("The ticket has expired.", how)
      : Result.succeed({ of: "ticket", ticket })
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
      ? Result.succeed({ of: "external", text: value })
      : refuse("The file at this address is of a type that the field does not take.")
  }
  // A uri of another record would show somebody a file that they may not see.
  return operation === "update" && value.length <= maxStored
    ? Result.succeed({ of: "kept", text: value })
    : refuse("The value is not a file.", how)
}

const uploadsOf = (field: Field, given: readonly Given[]): readonly GivenUpload[] =>
  given.flatMap((each) => {
    const file = each.of === "ticket" ? readStored(each.ticket.uri) : null
    return file === null ? [] : [{ field, file }]
  })

const keptOf = (given: readonly Given[]): readonly string[] =>
  given.flatMap((each) => each.of === "kept" ? [each.text] : [])

/** Reads a value of a file field. `tickets` null: no files are stored, so that nothing can be a ticket. */
export const readFileValue = (
  access: Access,
  field: Field,
  file: FileField,
  value: Json,
  operation: "create" | "update",
  tickets: Tickets | null
): Result.Result<FileValueGiven, Refused> => {
  const { model } = access
  if (value === null) {
    return field.optional
      ? Result.succeed({ field, cell: null, derived: emptied(model, file), repeats: [], uploads: [] })
      : Result.fail({ code: "required", message: `The field "${field.name}" is required.` })
  }
  if (field.kind === "list") return readFileList(access, field, field, file, value, operation, tickets)
  return Result.map(readGiven(access, field, file, value, operation, tickets), (given) => {
    const derived = new Map(emptied(model, file))
    if (given.of === "ticket") {
      for (const target of derived.keys()) derived.set(target, given.ticket.derived.get(target.name) ?? null)
    }
    return { field, cell: textOf(given), derived, repeats: keptOf([given]), uploads: uploadsOf(field, [given]) }
  })
}

/** The uploads behind the tickets of a body, as far as its file fields can be read. */
export const uploadsIn = (
  access: Access,
  body: Json,
  operation: "create" | "update",
  tickets: Tickets
): readonly GivenUpload[] =>
  !isJsonObject(body)
    ? []
    : Object.entries(body).flatMap(([name, value]) => {
      const field = access.restricted.byName.get(name)
      if (field === undefined || field.file === null) return []
      const read = readFileValue(access, field, field.file, value, operation, tickets)
      return Result.isSuccess(read) ? read.success.uploads : []
    })

/** Reads a list of files. What is wrong with one of them is said with its place. */
const readFileList = (
  access: Access,
  field: Field,
  { max }: ListShape,
  file: FileField,
  value: Json,
  operation: "create" | "update",
  tickets: Tickets | null
): Result.Result<FileValueGiven, Refused> => {
  if (!isJsonList(value)) return Result.fail({ code: "type", message: "Expected a list of files.", hint: how })
  if (max !== null && value.length > max) {
    return Result.fail({ code: "max", message: `Expected at most ${max} files.` })
  }
  const files: Given[] = []
  const places = new Map<string, number>()
  for (const [i, element] of value.entries()) {
    const read = readGiven(access, field, file, element, operation, tickets)
    if (Result.isFailure(read)) {
      return Result.fail({ ...read.failure, message: `File ${i + 1}: ${read.failure.message}` })
    }
    // By its place in the storage: a ticket and the uri that came of it name the same file.
    const text = textOf(read.success)
    const stored = readStored(text)
    const same = stored === null ? text : heldText(stored)
    const earlier = places.get(same)
    if (earlier !== undefined) return refuse(`File ${i + 1} is file ${earlier} again.`, "Name each file once.")
    places.set(same, i + 1)
    files.push(read.success)
  }
  return Result.succeed({
    field,
    cell: listCell(files.map(textOf)),
    derived: nothing,
    repeats: keptOf(files),
    uploads: uploadsOf(field, files)
  })
}

const nothing: ReadonlyMap<Field, Cell> = new Map()

/**
 * Compares what a body says of files with the locked row: derived values go with a file that changes, and an unchanged uri must be one that the row
 * holds in this field.
 */
export const compareFiles = (
  given: readonly FileValueGiven[],
  row: Row
): { readonly derived: ReadonlyMap<Field, Cell>; readonly errors: readonly ProblemError[] } => {
  const derived = new Map<Field, Cell>()
  const errors: ProblemError[] = []
  for (const { cell, derived: written, field, repeats } of given) {
    const stored = row[field.index] ?? null
    if (cell === stored) continue
    const held = new Set(repeats.length === 0 ? [] : fileTexts(field, stored))
    if (repeats.every((text) => held.has(text))) {
      for (const [target, value] of written) derived.set(target, value)
    } else {
      const message = field.kind === "list"
        ? "The list has a value that is not a file of this record."
        : "The value is not a file of this record."
      errors.push({ field: field.name, code: "invalid", message, hint: how })
    }
  }
  return { derived, errors }
}

/** The stored texts of files in a cell of a file field, in their order. */
export const fileTexts = ({ kind }: Field, cell: Cell): readonly string[] =>
  cell === null ? [] : kind === "list" ? textsIn(cell) : [cell]

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
  fileFieldsOf(model).flatMap((field) => {
    const [cell, now] = [before[field.index] ?? null, after?.[field.index] ?? null]
    if (cell === null || cell === now) return []
    const left = new Set(fileTexts(field, now))
    return fileTexts(field, cell).flatMap((text) => {
      const file = left.has(text) ? null : readStored(text)
      return file === null ? [] : [file]
    })
  })
