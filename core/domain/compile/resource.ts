/**
 * Turns declared resources into models. It reads each declaration, gives relations the kind of the key they point at, refuses what does not
 * fit together, and names the relations that `expand` can follow. It knows no database; whether tables and columns exist is checked
 * elsewhere.
 */

import * as Result from "effect/Result"
import { declaredScope, ownScope } from "../access/declared.ts"
import type { CompiledRules } from "../access/rules.ts"
import { type Bag, isBag, isTextList } from "../bag.ts"
import type { FieldSpec } from "../declare/field.ts"
import { historyOf, keptColumns } from "../declare/history.ts"
import { didYouMean, quoteValue, type Report } from "../declare/refusal.ts"
import { type ActsLater, actsLater, readWhole } from "../declare/webhooks.ts"
import type { CompiledEvent } from "../model/event.ts"
import { changedColumn } from "../model/model.ts"
import type { Field, Materialized, Model, Models, Relation } from "../model/model.ts"
import { pathNames } from "../model/path.ts"
import { cellFromJson, wireFromCell } from "../value/cell.ts"
import type { Json, Shape } from "../value/kind.ts"
import { canBeKey } from "../value/traits.ts"
import { addressName, isIdentifier, isName, isProse, nameRule, objectName, refuseUnknownKeys } from "./check.ts"
import { compileFunction, type FunctionDraft, readFunction, refuseBesideFunction } from "./database-function.ts"
import { compileEvents } from "./event.ts"
import {
  columnKinds,
  type ColumnRole,
  type DraftColumn,
  type DraftField,
  readColumn,
  readFields,
  shapeOf
} from "./field.ts"
import { checkDerived, compileFileField } from "./file.ts"
import { closed, readMaterialized, readReadOnly } from "./read-only.ts"
import type { KnownRoles } from "./roles.ts"
import { compileRules, compileValidate, type RuleScope } from "./rule.ts"

/** A resource that was read, whatever was refused about it. */
export interface Draft {
  readonly name: string
  readonly declaration: Bag
  readonly schema: string | null
  readonly table: string
  /** The function that gives the rows, or null. */
  readonly from: FunctionDraft | null
  readonly materialized: Materialized | null
  readonly readOnly: boolean
  /** Declared search vectors, which are no fields of records. */
  readonly vectors: readonly DraftField[]
  readonly fields: ReadonlyMap<string, DraftField>
  /** The key's fields; empty when the key was refused. */
  readonly key: readonly DraftField[]
  readonly owner: DraftField | null
  readonly tenant: DraftColumn | null
  readonly softDelete: DraftColumn | null
  readonly version: DraftColumn | null
  /** Further columns that no field shows, for rules to ask. */
  readonly more: readonly DraftColumn[]
}

/** A model with what only startup needs of it. */
export interface Built {
  readonly model: Model
  /** Its access rules, once all models have their relations. */
  readonly rulesAmong: (models: Models) => CompiledRules
  readonly events: ReadonlyMap<string, CompiledEvent>
  readonly broken: ReadonlySet<string>
}

const properties = [
  "description",
  "table",
  "from",
  "materialized",
  "readOnly",
  "fields",
  "primaryKey",
  "tenant",
  "owner",
  "softDelete",
  "version",
  "validate",
  "access",
  "events"
] as const

const tablePattern = /^(?:(?:"((?:[^"]|"")+)"|([^".\s]+))\.)?(?:"((?:[^"]|"")+)"|([^".\s]+))$/

/** Parts of a table's name: `orders`, `shop.orders`, or quoted parts where a name has dots or spaces. Letters keep their case. */
const readTable = (raw: unknown): { readonly schema: string | null; readonly table: string } | null => {
  if (typeof raw !== "string") return null
  const parts = tablePattern.exec(raw)
  if (parts === null) return null
  const part = (quoted: string | undefined, plain: string | undefined): string | null =>
    quoted === undefined ? plain ?? null : quoted.replaceAll("\"\"", "\"")
  const schema = part(parts[1], parts[2])
  const table = part(parts[3], parts[4])
  if (!isIdentifier(table) || (schema !== null && !isIdentifier(schema))) return null
  return { schema, table }
}

const readKey = (
  resource: string,
  raw: unknown,
  fields: ReadonlyMap<string, DraftField>,
  report: Report
): readonly DraftField[] => {
  const names = typeof raw === "string" ? [raw] : raw
  if (!isTextList(names) || names.length === 0) {
    report(
      resource,
      null,
      raw === undefined
        ? "The resource has no primaryKey."
        : `primaryKey is ${quoteValue(raw)}, not the name of a field or a list of names.`,
      "Write primaryKey: \"id\", or a list of field names."
    )
    return []
  }
  const key: DraftField[] = []
  let complete = true
  for (const name of names) {
    const field = fields.get(name)
    if (field === undefined) {
      complete = false
      report(
        resource,
        name,
        `primaryKey names "${name}", which is not a declared field.`,
        didYouMean(name, fields.keys())
      )
    } else if (key.includes(field)) {
      complete = false
      report(resource, name, `primaryKey names "${name}" twice.`, "Remove one of the two.")
    } else key.push(field)
  }
  return complete ? key : []
}

/** Reads one entry of `resources`; null when it is no resource at all or its name cannot be used. */
export const readResource = (
  raw: unknown,
  index: number,
  taken: ReadonlyMap<string, Draft>,
  report: Report
): Draft | null => {
  if (!isBag(raw) || raw["_tag"] !== "Resource") {
    report(
      null,
      null,
      `resources[${index}] is ${quoteValue(raw)}, not a resource.`,
      raw === undefined
        ? "Check the name it is imported by; files that import each other may see it too early."
        : "Make it with defineResource(\"orders\", { … })."
    )
    return null
  }
  const name = raw["name"]
  if (!isName(name)) {
    report(
      typeof name === "string" ? name : null,
      null,
      `resources[${index}] is named ${quoteValue(name)}, which is not a resource name.`,
      nameRule
    )
    return null
  }
  const reason = objectName(name) ?? addressName(name)
  if (reason !== null) {
    report(
      name,
      null,
      `A resource cannot be named "${name}": ${reason}.`,
      "Choose another name; table keeps the table."
    )
    return null
  }
  if (taken.has(name)) {
    report(name, null, `Two resources are named "${name}".`, "Rename one of them; both may have the same table.")
    return null
  }
  const declaration = raw["declaration"]
  if (!isBag(declaration)) {
    report(
      name,
      null,
      `The declaration is ${quoteValue(declaration)}, not an object.`,
      "Write defineResource(\"orders\", { fields: { … }, … })."
    )
    return null
  }
  refuseUnknownKeys(declaration, properties, "", (message, fix) => report(name, null, message, fix))
  const table = readTable(declaration["table"] === undefined ? name : declaration["table"])
  if (table === null) {
    report(
      name,
      null,
      `table is ${quoteValue(declaration["table"])}, which is not a table's name.`,
      "Write \"orders\" or \"shop.orders\"; parts with dots or spaces in double quotes."
    )
  }
  const materialized = readMaterialized(name, declaration, report)
  const from = readFunction(name, declaration, readTable, report)
  const declared = readFields(name, declaration["fields"], report)
  const isVector = ({ spec }: DraftField): boolean => spec.kind === "searchVector"
  const fields = new Map([...declared].filter(([, field]) => !isVector(field)))
  const ownerName = declaration["owner"]
  const owner = typeof ownerName === "string" ? fields.get(ownerName) ?? null : null
  if (owner === null && ownerName !== undefined) {
    report(
      name,
      typeof ownerName === "string" ? ownerName : null,
      `owner is ${quoteValue(ownerName)}, which is not a declared field.`,
      typeof ownerName === "string"
        ? didYouMean(ownerName, fields.keys())
        : "Write owner: \"…\" with the name of a field."
    )
  }
  const column = (role: ColumnRole): DraftColumn | null => readColumn(name, role, declaration[role], fields, report)
  return {
    name,
    declaration,
    schema: from === null ? table?.schema ?? null : from.schema,
    table: from === null ? table?.table ?? name : from.name,
    from,
    materialized,
    readOnly: readReadOnly(name, declaration, report) || declaration["from"] !== undefined || materialized !== null,
    fields,
    vectors: [...declared.values()].filter(isVector),
    key: readKey(name, declaration["primaryKey"], fields, report),
    owner,
    tenant: column("tenant"),
    softDelete: column("softDelete"),
    version: column("version"),
    more: readKept(name, declaration, fields)
  }
}

/**
 * The columns that a table of versions keeps. Versions may be older than such a column, so it may be null. Problems are reported for the
 * tracked resource only, which declares the column.
 */
const readKept = (
  resource: string,
  { [keptColumns]: raw }: { readonly [keptColumns]?: unknown },
  fields: ReadonlyMap<string, DraftField>
): readonly DraftColumn[] => {
  if (!isBag(raw)) return []
  const roles = (["softDelete", "version"] as const).flatMap((role) => {
    const column = readColumn(resource, role, raw[role], fields, () => {})
    return column?.of === "column" ? [{ ...column, spec: { ...column.spec, optional: true, stamped: false } }] : []
  })
  const changed = raw["changed"] as { readonly spec: FieldSpec }
  return [...roles, { of: "column", name: changedColumn, spec: changed.spec }]
}

/** Gives every field its kind. A relation takes that of the key it points at, through any number of relations. */
export const resolveShapes = (drafts: ReadonlyMap<string, Draft>, report: Report): ReadonlyMap<DraftField, Shape> => {
  const shapes = new Map<DraftField, Shape>()
  const unknown: Shape = { kind: "text", max: null }
  const resolve = (draft: Draft, field: DraftField, path: readonly DraftField[]): Shape => {
    const earlier = shapes.get(field)
    if (earlier !== undefined) return earlier
    const { spec } = field
    const remember = (shape: Shape): Shape => {
      shapes.set(field, shape)
      return shape
    }
    const refuse = (message: string | null, fix: string): Shape => {
      field.broken = true
      if (message !== null) report(draft.name, field.name, message, fix)
      return remember(unknown)
    }
    if (spec.kind !== "relation") return remember(shapeOf(spec.kind, spec))
    if (spec.target === null) return refuse(null, "")
    const target = drafts.get(spec.target)
    if (target === undefined) {
      return refuse(
        `The relation points at "${spec.target}", which is not a declared resource.`,
        didYouMean(spec.target, drafts.keys())
      )
    }
    const key = target.key[0]
    if (key === undefined) return refuse(null, "")
    if (target.from !== null) {
      return refuse(
        `The relation points at "${target.name}", which is a function of the database: its records exist only with arguments.`,
        "Point at the resource of a table, or declare the field with its own kind."
      )
    }
    if (target.key.length > 1) {
      return refuse(
        `The relation points at "${target.name}", whose key has ${target.key.length} fields.`,
        "Declare the field with its own kind, such as f.integer(); relations need a key of one field."
      )
    }
    if (path.includes(field)) {
      return refuse(
        "The relation's kind cannot be known: the keys it points at point back at it.",
        "Declare one of the keys with its own kind, such as f.integer()."
      )
    }
    const shape = resolve(target, key, [...path, field])
    if (key.broken) return refuse(null, "")
    return remember(shape)
  }
  for (const draft of drafts.values()) {
    for (const field of draft.fields.values()) resolve(draft, field, [])
  }
  return shapes
}

const ownerKinds: readonly string[] = ["text", "uuid", "integer"]

type Shapes = ReadonlyMap<DraftField, Shape>
type Say = (field: DraftField, message: string, fix: string) => void

/** The declared field of a role (tenant, owner, …). Null where the role has a column without a field, or nothing. */
const fieldOf = (column: DraftColumn | null): DraftField | null => column?.of === "field" ? column.field : null

/** Refuses what cannot be a primary key. */
const checkKey = (draft: Draft, shapes: Shapes, say: Say): void => {
  const [softDelete, version] = [fieldOf(draft.softDelete), fieldOf(draft.version)]
  for (const field of draft.key) {
    const kind = shapes.get(field)?.kind
    if (field.spec.optional) say(field, "A field of the primary key cannot be optional.", "Remove optional().")
    if (kind === "list") say(field, "A field of the primary key cannot be a list.", "Choose another key.")
    if (kind !== "list" && kind !== undefined && !canBeKey(kind)) {
      say(
        field,
        `A field of the primary key cannot be of kind ${kind}: its values have no exact text.`,
        "Choose another key."
      )
    }
    if (field.spec.sensitive) {
      say(field, "A field of the primary key cannot be sensitive: it stands in every path.", "Remove sensitive().")
    }
    if (field === softDelete || field === version) {
      say(
        field,
        `The field cannot be in the primary key and ${field === version ? "version" : "softDelete"}.`,
        "Choose another field."
      )
    }
    if (draft.key.length === 1 && field.spec.default !== null) {
      say(field, "A primary key cannot have one default for all records.", "Remove default(), or write dbDefault().")
    }
  }
}

/** Refuses an owner that cannot hold a user's id. */
const checkOwner = (draft: Draft, shapes: Shapes, say: Say): void => {
  const { owner } = draft
  if (owner !== null) {
    const kind = shapes.get(owner)?.kind ?? "text"
    if (!ownerKinds.includes(kind)) {
      say(owner, `The owner is of kind ${kind} and cannot hold a user's id.`, "Name a text, uuid or integer field.")
    }
    if (owner === fieldOf(draft.tenant)) {
      say(owner, "The field cannot be owner and tenant.", "Choose another field for one of them.")
    }
  }
}

/** Refuses tenant, soft-delete and version columns that the service could not set, and two of them that are the same column. */
const checkManaged = (draft: Draft, shapes: Shapes, say: Say, report: Report): void => {
  for (const role of ["tenant", "softDelete", "version"] as const) {
    const column = draft[role]
    if (column === null) continue
    const { kinds, words } = columnKinds(role)
    const kind = column.of === "field" ? shapes.get(column.field)?.kind ?? "text" : column.spec.kind
    const fits = kinds.includes(kind)
    if (column.of === "column") {
      if (!fits) report(draft.name, null, `${role} is of kind ${kind}.`, `It must be ${words}.`)
      continue
    }
    const { field } = column
    if (!fits) say(field, `${role} is of kind ${kind}.`, `It must be ${words}.`)
    if (role === "softDelete" && !field.spec.optional) {
      say(field, "softDelete is not optional, but records that are not deleted have no value.", "Add optional().")
    }
    if (role === "tenant" && field.spec.optional) {
      say(field, "tenant is optional, but a record without tenant would belong to nobody.", "Remove optional().")
    }
    if (field.spec.default !== null) {
      say(field, `${role} has a default, but the service sets it.`, "Remove default().")
    }
  }
  const [tenant, softDelete, version] = [fieldOf(draft.tenant), fieldOf(draft.softDelete), fieldOf(draft.version)]
  if (softDelete !== null && softDelete === version) {
    say(softDelete, "The field cannot be softDelete and version.", "Choose another field for one of them.")
  }
  if (tenant !== null && tenant === version) {
    say(tenant, "The field cannot be tenant and version.", "Choose another field for one of them.")
  }
  const names = systemNames(draft)
  for (const name of new Set(names.filter((each, index) => names.indexOf(each) !== index))) {
    report(
      draft.name,
      null,
      `The column "${name}" cannot be two of tenant, softDelete and version.`,
      "Name a column of its own for each."
    )
  }
}

/** Columns that no field shows. */
const systemNames = (draft: Draft): readonly string[] =>
  [draft.tenant, draft.softDelete, draft.version].flatMap((column) => column?.of === "column" ? [column.name] : [])

/** Refuses fields that no create can fill, and aliases that hide a column. */
const checkFilled = (draft: Draft, say: Say): void => {
  const names = systemNames(draft)
  const managed = [draft.owner, fieldOf(draft.tenant), fieldOf(draft.softDelete), fieldOf(draft.version)]
  for (const field of draft.fields.values()) {
    const { spec } = field
    if (spec.alias !== null && names.includes(spec.alias)) {
      say(field, `The alias "${spec.alias}" is also the name of a column of the resource.`, "Choose another alias.")
    }
    const filled = draft.readOnly || spec.optional || !spec.readOnly || spec.default !== null || spec.dbDefault ||
      spec.stamped ||
      spec.kind === "files" || spec.kind === "native" || draft.key.includes(field) || managed.includes(field)
    if (!filled) {
      say(
        field,
        "No create can give the field a value: it is required, read-only and has no default.",
        "Add dbDefault() if the database fills it, default(…) or optional(), or remove readOnly()."
      )
    }
  }
}

/** Checks the fields of a resource together: key, owner, tenant, soft delete, version. */
const checkPlaces = (draft: Draft, shapes: Shapes, report: Report): void => {
  const say: Say = (field, message, fix) => {
    if (!field.broken) report(draft.name, field.name, message, fix)
  }
  checkKey(draft, shapes, say)
  checkOwner(draft, shapes, say)
  checkManaged(draft, shapes, say, report)
  checkFilled(draft, say)
}

/** Whether a value is JSON all the way down; at most 64 levels, as in a body. */
const isJson = (value: unknown, depth = 0): value is Json =>
  value === null || typeof value === "string" || typeof value === "boolean" || Number.isFinite(value) ||
  (depth < 64 && typeof value === "object" && Object.values(value).every((item) => isJson(item, depth + 1)) &&
    (Array.isArray(value) || [Object.prototype, null].includes(Object.getPrototypeOf(value))))

/** The field with its default in the form that records show. A default that is no value of the field is reported. */
const withDefault = (resource: string, field: Field, report: Report): Field => {
  if (field.default === null || !("value" in field.default)) return field
  const { value } = field.default
  const refuse = (message: string, fix = `Give a value of kind ${field.kind}.`): Field => {
    report(resource, field.name, message, fix)
    return field
  }
  if (value === null || value === undefined) {
    return refuse(`The default is ${quoteValue(value)}.`, "Use optional() for fields that may have no value.")
  }
  if (!isJson(value)) return refuse(`The default ${quoteValue(value)} is not JSON.`)
  return Result.match(cellFromJson(field, value), {
    onFailure: ({ message }) => refuse(`The default ${quoteValue(value)} is not a value of the field: ${message}`),
    onSuccess: (cell) => ({ ...field, default: { value: wireFromCell(field, cell) } })
  })
}

/** The resource that keeps the versions, where the extension said so. */
const historyName = (declaration: { readonly [historyOf]?: unknown }): string | null => {
  const name = declaration[historyOf]
  return typeof name === "string" ? name : null
}

const longestDescription = 2000

const descriptionOf = ({ declaration, name }: Draft, report: Report): string | null => {
  const { description } = declaration
  if (description === undefined) return null
  if (isProse(description, longestDescription)) return description
  report(
    name,
    null,
    `description is ${quoteValue(description)}, not a text of 1 to ${longestDescription} characters.`,
    "Write what a record of it is."
  )
  return null
}

/** The declared paths of a JSON field, as fields of filters and orders. They have no place among the columns yet. */
const membersOf = (whole: Field, { paths, storage }: FieldSpec): readonly Field[] =>
  Object.entries(paths ?? {}).map(([path, { spec }]): Field => ({
    ...whole,
    ...shapeOf(spec.kind === "relation" ? "text" : spec.kind, spec),
    name: `${whole.name}.${path}`,
    member: { of: whole, path: pathNames(path)!, storage },
    optional: true,
    readOnly: true,
    filterable: spec.filterable,
    sortable: spec.sortable,
    searched: false,
    unique: false,
    alias: null,
    default: null,
    label: null,
    help: null,
    multiline: null
  }))

const vectorOf = ({ name, spec }: DraftField, index: number): Field => ({
  kind: "text",
  max: null,
  name,
  column: spec.column ?? name,
  index,
  relation: null,
  optional: true,
  readOnly: true,
  filterable: false,
  sortable: false,
  searched: false,
  unique: false,
  sensitive: true,
  alias: null,
  default: null,
  stamped: false,
  system: false,
  label: null,
  help: null,
  multiline: null,
  vector: { config: spec.config },
  file: null
})

/** Builds the model of a draft, without relations. */
export const buildModel = (
  draft: Draft,
  shapes: ReadonlyMap<DraftField, Shape>,
  roles: KnownRoles,
  report: Report
): Built & { readonly relations: Map<string, Relation> } => {
  checkPlaces(draft, shapes, report)
  const managed = new Set(
    [draft.tenant, draft.softDelete, draft.version].flatMap((column) => column?.of === "field" ? [column.field] : [])
  )
  const columns: Field[] = []
  const built = new Map<DraftField, Field>()
  for (const field of draft.fields.values()) {
    const { spec } = field
    const shape = shapes.get(field)!
    const written: Field = {
      name: field.name,
      column: spec.column ?? field.name,
      index: columns.length,
      relation: spec.kind === "relation" ? spec.target : null,
      optional: spec.optional,
      readOnly: spec.readOnly || managed.has(field),
      filterable: spec.filterable,
      sortable: spec.sortable,
      searched: spec.searched,
      unique: spec.unique,
      sensitive: spec.sensitive,
      alias: spec.alias,
      default: spec.default !== null
        ? { value: spec.default.value }
        : spec.dbDefault || spec.stamped
        ? { db: true }
        // A required list of files begins with none.
        : spec.kind === "files" && !spec.optional
        ? { value: [] }
        : null,
      stamped: spec.stamped,
      system: false,
      label: spec.label,
      help: spec.help,
      multiline: spec.multiline,
      file: spec.file !== null ? compileFileField(draft, field, shapes, report) : null,
      ...shape
    }
    const made = field.broken ? written : withDefault(draft.name, written, report)
    columns.push(made)
    built.set(field, made)
  }
  const fields = [...columns]
  const system = (column: DraftColumn | null): Field | null => {
    if (column === null) return null
    if (column.of === "field") return built.get(column.field) ?? null
    const { spec } = column
    const made: Field = {
      name: column.name,
      column: column.name,
      index: columns.length,
      relation: null,
      optional: spec.optional,
      readOnly: true,
      filterable: false,
      sortable: false,
      searched: false,
      unique: false,
      sensitive: false,
      alias: null,
      default: null,
      stamped: spec.stamped,
      system: true,
      label: null,
      help: null,
      multiline: null,
      file: null,
      ...shapeOf(spec.kind === "relation" ? "text" : spec.kind, spec)
    }
    columns.push(made)
    return made
  }
  const tenant = system(draft.tenant)
  const softDelete = system(draft.softDelete)
  const version = system(draft.version)
  for (const column of draft.more) system(column)
  const members = [...draft.fields.values()].flatMap((field) => membersOf(built.get(field)!, field.spec))
    .map((member, i): Field => ({ ...member, index: columns.length + i }))
  const vectors = draft.vectors.map((vector, i) => vectorOf(vector, columns.length + members.length + i))
  const byName = new Map(fields.map((field) => [field.name, field]))
  const broken = new Set([...draft.fields.values()].flatMap((field) => field.broken ? [field.name] : []))
  const of: RuleScope = {
    resource: draft.name,
    fields: new Map([...byName, ...vectors.map((vector) => [vector.name, vector] as const)]),
    scope: ownScope({ columns, fields, members }),
    broken,
    roles,
    softDelete: draft.softDelete !== null,
    report
  }
  const validate = compileValidate(draft.declaration["validate"], of)
  const events = compileEvents(draft.declaration["events"], of)
  const relations = new Map<string, Relation>()
  const { [actsLater]: later, [readWhole]: whole }: {
    readonly [actsLater]?: ActsLater
    readonly [readWhole]?: true
  } = draft.declaration
  const model: Model = {
    name: draft.name,
    description: descriptionOf(draft, report),
    schema: draft.schema,
    table: draft.table,
    fields,
    columns,
    ...(members.length === 0 ? {} : { members }),
    ...(vectors.length === 0 ? {} : { vectors }),
    byName,
    key: draft.key.map((field) => built.get(field)!),
    tenant,
    owner: draft.owner === null ? null : built.get(draft.owner) ?? null,
    softDelete,
    version,
    validate,
    history: historyName(draft.declaration),
    events: [...events.keys()],
    captured: events.size > 0,
    ...(draft.readOnly ? { readOnly: true } : {}),
    ...(draft.materialized === null ? {} : { materialized: draft.materialized }),
    ...(draft.from === null
      ? {}
      : { function: compileFunction(draft.from, (field) => withDefault(draft.name, field, report)) }),
    ...(whole === true ? { readWhole: true } : {}),
    ...(later === undefined
      ? {}
      : { actsLater: { roles: byName.get(later.roles)!, by: new Set(later.by.map((name) => byName.get(name)!)) } }),
    relations
  }
  checkDerived(model, report)
  if (model.function !== undefined) refuseBesideFunction(model, report)
  const rulesAmong = (models: Models): CompiledRules => {
    const related = declaredScope(model, models)
    const declared = compileRules(draft.declaration["access"], { ...of, related, told: events.size > 0 })
    return draft.readOnly ? closed(draft.name, declared, report) : declared
  }
  return { model, rulesAmong, events, broken, relations }
}

/** Fills each model's relations: from every relation field the way to its target, and from the target the way back. */
export const linkModels = (
  drafts: ReadonlyMap<string, Draft>,
  built: ReadonlyMap<string, { readonly model: Model; readonly relations: Map<string, Relation> }>,
  report: Report
): void => {
  /** The field that gave each name, by model and name. */
  const givers = new Map<string, { readonly resource: string; readonly field: string }>()
  const add = (
    on: { readonly model: Model; readonly relations: Map<string, Relation> },
    relation: Relation,
    from: { readonly resource: string; readonly field: string },
    modifier: "as" | "inverse"
  ): void => {
    const { model, relations } = on
    const fix = modifier === "as"
      ? "Name the way to the target with as(\"…\")."
      : "Name the way back with inverse(\"…\"), or write inverse(false) for none."
    if (relations.has(relation.name)) {
      const other = givers.get(`${model.name}.${relation.name}`)
      report(
        from.resource,
        from.field,
        `The relation is expanded on "${model.name}" as "${relation.name}", and so is ${
          other?.resource ?? model.name
        }.${other?.field ?? "?"}.`,
        fix
      )
    } else {
      relations.set(relation.name, relation)
      givers.set(`${model.name}.${relation.name}`, from)
    }
  }
  for (const draft of drafts.values()) {
    const source = built.get(draft.name)
    if (source === undefined) continue
    for (const field of draft.fields.values()) {
      if (field.spec.kind !== "relation" || field.broken) continue
      const from = source.model.byName.get(field.name)
      const target = built.get(field.spec.target ?? "")
      const to = target?.model.key[0]
      if (from === undefined || target === undefined || to === undefined) continue
      const giver = { resource: draft.name, field: field.name }
      const name = field.spec.as ?? field.name.replace(/_id$/, "")
      add(source, { name, target: target.model.name, many: false, from, to: to.name }, giver, "as")
      // Nobody comes back to the rows of a function without arguments.
      if (field.spec.inverse === false || draft.from !== null) continue
      const back = field.spec.inverse ?? draft.name
      add(target, { name: back, target: draft.name, many: true, from: to, to: field.name }, giver, "inverse")
    }
  }
}
