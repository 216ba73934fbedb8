/**
 * Records on their way out: which columns a shape reads, and the writer that splices their exact texts into JSON. No record object is built
 * here unless a record-level rule asks for one.
 */

import type { Access, Decision, RestrictedModel } from "../access/access.ts"
import { Unread } from "../access/rules.ts"
import { filesWriter, fileWriter, hasEndingLinks } from "../file/presentation.ts"
import type { FileLinks } from "../file/presentation.ts"
import { evaluate } from "../filter/evaluate.ts"
import type { Bindings, FilterTree } from "../filter/tree.ts"
import type { FileField } from "../model/file.ts"
import type { Field, WireRecord } from "../model/model.ts"
import { isQuoted, jsonWriter } from "../value/cell.ts"
import type { Cell, Json, Row } from "../value/kind.ts"
import { textsIn } from "../value/list.ts"
import { etagFields, etagSource, hashSource } from "./etag.ts"
import type { TagTools } from "./etag.ts"
import { writeKey } from "./key.ts"
import { askedCell, lazyRecord, ruleReads } from "./record.ts"
import type { RuleReads } from "./record.ts"

/** Which parts of a record an answer shows. */
export interface RecordParts {
  /** Readable fields to write, in declared order. */
  readonly fields: readonly Field[]
  /** `none`, `row`: `{ update, delete }`, `full`: also `fields` with edit or read. */
  readonly permissions: "none" | "row" | "full"
}

/** The columns to read and where each stands in a row; checks follow the columns. */
export interface Layout {
  readonly columns: readonly Field[]
  readonly checks: readonly FilterTree[]
  readonly position: ReadonlyMap<Field, number>
  /** The fields that the database hashes for the ETag, as an answer leaves some of them out. The hash follows the checks. */
  readonly hashed: readonly Field[]
  /** What rules ask for, and what was known of it when the layout was made; null where no rule needs the record. */
  readonly rules: { readonly reads: RuleReads; readonly version: number; readonly whole: boolean } | null
}

/** Whether more is known about what rules ask for than when the layout was made. */
export const isOutdated = ({ rules }: Layout): boolean => rules !== null && rules.reads.version !== rules.version

/**
 * Whether a rule may have asked for a column that the layout leaves out. The rule has then denied. Read the rows again with a new layout;
 * each time one more column is known, so that comes to an end.
 */
export const leftOut = (layout: Layout): boolean => layout.rules?.whole === false && isOutdated(layout)

const noColumns: readonly Field[] = []

/**
 * The smallest set of columns for an answer: shown fields, `more` (sort keys), what rules ask for of the record, and what the ETag is made
 * of.
 */
export const layoutOf = (access: Access, parts: RecordParts, more: readonly Field[]): Layout => {
  const { decisions, model, restricted } = access
  const checks: FilterTree[] = []
  const wanted = new Set<Field>([...parts.fields, ...model.key, ...more])
  for (const field of parts.fields) {
    const placeholder = placeholderOf(restricted, field)
    if (placeholder !== null) wanted.add(placeholder)
  }
  let rules: Layout["rules"] = null
  if (parts.permissions !== "none") {
    if (decisions.update.of === "filter") checks.push(decisions.update.tree)
    if (decisions.delete.of === "filter") checks.push(decisions.delete.tree)
    if (model.softDelete !== null) wanted.add(model.softDelete)
    const needsRecord = decisions.update.of === "record" || decisions.delete.of === "record" ||
      (parts.permissions === "full" && access.fieldWritable.size > 0)
    if (needsRecord) {
      const reads = ruleReads(model, parts.permissions)
      rules = { reads, version: reads.version, whole: reads.whole }
      for (const field of reads.columns(model)) wanted.add(field)
    }
  }
  const tagged = etagFields(restricted)
  const hashed = model.version === null && tagged.some((field) => !wanted.has(field)) ? tagged : noColumns
  if (hashed === noColumns) { for (const field of tagged) wanted.add(field) }
  const columns = wanted.size === 0 ? noColumns : [...wanted]
  return { columns, checks, position: new Map(columns.map((field, i) => [field, i])), hashed, rules }
}

/** The field that holds the placeholder of a file's image, where the caller may read it. */
const placeholderOf = (restricted: RestrictedModel, { file }: Field): Field | null =>
  file === null || file.placeholder === null ? null : restricted.byName.get(file.placeholder) ?? null

/** What records are written with besides their cells. */
export interface ItemTools extends TagTools {
  /** Makes the links of files; null where no files are stored. */
  readonly files: FileLinks | null
}

/** Whether an answer has links that end, so that no cache may repeat it when they have. */
export const hasLinks = ({ fields }: RecordParts, { files }: ItemTools): boolean =>
  files !== null && fields.some(({ file }) => file !== null && hasEndingLinks(file, files))

/** Writes the cells of a file field. The key that its links name is put together only where there is a link to make. */
const filePart = (
  { model, restricted }: Access,
  field: Field,
  file: FileField,
  { position }: Layout,
  links: FileLinks | null
): (cell: string, row: Row) => string => {
  if (links === null) return (cell) => JSON.stringify(unstored(field, cell))
  const placeholder = placeholderOf(restricted, field)
  const keys = model.key.map((part) => position.get(part)!)
  const [first = -1] = keys
  const key = (row: Row): string => writeKey(keys.map((index) => row[index] ?? null))
  const writer = field.kind === "list" ? filesWriter : fileWriter
  return writer(links, model.name, field.name, file, {
    key,
    mark: keys.length === 1 ? (row) => row[first] ?? "" : key,
    placeholder: placeholder === null ? -1 : position.get(placeholder)!
  })
}

/** What stands for files where none are stored. */
const unstored = ({ kind }: Field, cell: string): Json =>
  kind === "list" ? textsIn(cell).map((uri) => ({ uri, missing: true })) : { uri: cell, missing: true }

/** A finished item: its JSON without the closing brace (so that members can be added), its ETag. */
export interface WrittenItem {
  readonly open: string
  readonly etag: string
}

const etagEnd = /,?"etag":"\\"[^"\\]*\\""$/

/** An item without permissions, for a file: without its ETag. */
export const untagged = (open: string): string => open.replace(etagEnd, "")

/** An item with what it relates to, as the members of an object; null: with nothing. */
export const itemWith = (open: string, related: string | null): string =>
  related === null ? `${open}}` : `${open}${open === "{" ? "" : ","}"expand":${related}}`

export type ItemWriter = (row: Row, bindings: Bindings) => WrittenItem

/**
 * Decides one operation for one row. When a `record` decision answers a filter, the filter is evaluated in memory, as the database would.
 */
const rowDecision = (
  decision: Decision,
  check: () => Cell,
  record: () => WireRecord,
  cellOf: (field: Field) => Cell,
  bindings: Bindings
): boolean => {
  if (decision.of === "allow") return true
  if (decision.of === "deny") return false
  if (decision.of === "filter") return check() === "true"
  const decided = decision.decide(record())
  if (decided.of !== "filter") return decided.of === "allow"
  try {
    return evaluate(decided.tree, cellOf, bindings)
  } catch (error) {
    if (error instanceof Unread) return false
    throw error
  }
}

/** Builds the writer of one shape. */
export const itemWriter = (
  access: Access,
  content: RecordParts,
  layout: Layout,
  { digest, files, hash }: ItemTools
): ItemWriter => {
  const { decisions, model, restricted } = access
  const parts = content.fields.map((field, i) => {
    const name = `${i === 0 ? "{" : ","}${JSON.stringify(field.name)}:`
    const mark = field.file === null && isQuoted(field) ? "\"" : null
    const write: (cell: string, row: Row) => string = field.file === null
      ? jsonWriter(field)
      : filePart(access, field, field.file, layout, files)
    return {
      name,
      before: name + (mark ?? ""),
      after: mark,
      position: layout.position.get(field)!,
      write
    }
  })
  const hashAt = layout.columns.length + layout.checks.length
  const source = layout.hashed.length === 0
    ? etagSource(restricted, (field) => layout.position.get(field)!, hash)
    : (row: Row): string => hashSource(row[hashAt] ?? null)
  const start = parts.length === 0 ? "{" : ","
  const updateCheck = layout.columns.length
  const deleteCheck = updateCheck + (decisions.update.of === "filter" ? 1 : 0)
  const softDelete = model.softDelete === null ? -1 : layout.position.get(model.softDelete) ?? -1
  const constant = decisions.update.of !== "filter" && decisions.update.of !== "record" &&
    decisions.delete.of !== "filter" && decisions.delete.of !== "record"
  const constants = permissionsText(decisions.update.of === "allow", decisions.delete.of === "allow")
  const none = permissionsText(false, false)
  const noneEditable = fieldsText(restricted, () => false)
  const allEditable = fieldsText(restricted, () => true)
  const { rules } = layout

  return (row, bindings) => {
    let text = ""
    for (const part of parts) {
      const cell = row[part.position] ?? null
      if (cell === null) text += `${part.name}null`
      else if (part.after === null) text += part.name + part.write(cell, row)
      else text += part.before + cell + part.after
    }
    const tag = digest(source(row))
    const etag = `"${tag}"`
    text += `${start}"etag":"\\"${tag}\\""`
    if (content.permissions === "none") return { open: text, etag }

    const deleted = softDelete >= 0 && row[softDelete] !== null
    if (content.permissions === "row" && (constant || deleted)) {
      return { open: text + (deleted ? none : constants), etag }
    }
    const cellOf = rules === null ? noCells : askedCell(rules.reads, rules.whole, layout.position, row)
    let cached: WireRecord | undefined
    const record = () => cached ??= lazyRecord(model, cellOf)
    const update = !deleted &&
      rowDecision(decisions.update, () => row[updateCheck] ?? null, record, cellOf, bindings)
    const remove = !deleted &&
      rowDecision(decisions.delete, () => row[deleteCheck] ?? null, record, cellOf, bindings)
    text += permissionsText(update, remove)
    if (content.permissions === "full") {
      const fields = !update
        ? noneEditable
        : access.fieldWritable.size === 0
        ? allEditable
        : fieldsText(restricted, ({ name }) => access.fieldWritable.get(name)?.(record()) ?? true)
      text = `${text.slice(0, -1)},"fields":${fields}}`
    }
    if (rules?.whole === true) rules.reads.endWhole()
    return { open: text, etag }
  }
}

const noCells = (): Cell => null

/** For each readable field, whether it may be edited: an update takes it, and `editable` agrees. */
const fieldsText = (restricted: RestrictedModel, editable: (field: Field) => boolean): string =>
  `{${
    restricted.fields.map((field) =>
      `${JSON.stringify(field.name)}:${
        restricted.updatable.has(field.name) && editable(field) ? "\"edit\"" : "\"read\""
      }`
    ).join(",")
  }}`

const permissionsText = (update: boolean, remove: boolean): string =>
  `,"permissions":{"update":${update},"delete":${remove}}`
