/**
 * Reads declarations of fields and system columns and refuses what can be seen without knowing other resources: names, kinds,
 * sizes and modifiers that do not go together. It resolves no relation and checks no default; `resource.ts` does.
 */

import { type Bag, isBag } from "../bag.ts"
import { type AnyField, blankField, FieldBuilder, type FieldSpec } from "../declare/field.ts"
import { didYouMean, quoteValue, type Report } from "../declare/refusal.ts"
import { defaultFiles, mostFiles } from "../model/file.ts"
import { pathNames, pathText } from "../model/path.ts"
import { mostBytes, usualBytes } from "../value/binary.ts"
import { isRangeElement } from "../value/exact.ts"
import type { ElementShape, RangeElement, ScalarKind, Shape } from "../value/kind.ts"
import { defaultElements, mostElements } from "../value/list.ts"
import { isNative, isWritableNative } from "../value/native.ts"
import { keysOf } from "../value/table.ts"
import { canBeKey, hasOrder } from "../value/traits.ts"
import { isCount, isIdentifier, isName, isProse, nameRule, objectName, type Say } from "./check.ts"

/** A field declaration that was read. `broken`: something about it was refused, so problems that follow from it are not reported again. */
export interface DraftField {
  readonly name: string
  readonly spec: FieldSpec
  broken: boolean
}

const kinds: readonly FieldSpec["kind"][] = [
  "integer",
  "text",
  "boolean",
  "timestamp",
  "date",
  "decimal",
  "float",
  "enum",
  "uuid",
  "json",
  "currency",
  "country",
  "time",
  "interval",
  "inet",
  "cidr",
  "macaddr",
  "bytes",
  "money",
  "range",
  "native",
  "relation",
  "file",
  "files",
  "array",
  "searchVector"
]

const isKind = (value: unknown): value is FieldSpec["kind"] => kinds.some((kind) => kind === value)

/** Names that responses and the rule language need for themselves. */
const taken: ReadonlyMap<string, string> = new Map([
  ["permissions", "responses use it for what the caller may do"],
  ["etag", "responses use it for the record's version"],
  ["expand", "responses use it for related records"],
  ["caller", "access rules use it for the caller"]
])

/** Why a name cannot be a field's, or null. */
export const takenBy = (name: string): string | null => taken.get(name) ?? objectName(name)

const size = (spec: Bag, kind: string, say: Say): Pick<FieldSpec, "bits" | "max" | "precision" | "scale"> => {
  let bits: 16 | 32 | 64 = 32
  if (spec["bits"] === 16 || spec["bits"] === 32 || spec["bits"] === 64) {
    bits = spec["bits"]
    if (bits !== 32 && kind !== "integer") say(`bits() is for integers, not for ${kind}.`, "Remove bits().")
  } else say(`bits(${quoteValue(spec["bits"])}) is not a width of integers.`, "Write bits(16), bits(32) or bits(64).")

  let max: number | null = null
  if (spec["max"] !== null && kind === "array") {
    if (isCount(spec["max"], 1, mostElements)) max = spec["max"]
    else {
      say(
        `max(${quoteValue(spec["max"])}) is not a number of elements.`,
        `Write a whole number from 1 to ${mostElements}, such as max(20).`
      )
    }
  } else if (spec["max"] !== null && kind === "files") {
    if (isCount(spec["max"], 1, mostFiles)) max = spec["max"]
    else {
      say(
        `max(${quoteValue(spec["max"])}) is not a number of files.`,
        `Write a whole number from 1 to ${mostFiles}, such as max(${defaultFiles}).`
      )
    }
  } else if (spec["max"] !== null && kind === "bytes") {
    if (isCount(spec["max"], 1, mostBytes)) max = spec["max"]
    else {
      say(
        `max is ${quoteValue(spec["max"])}, which is not a number of bytes.`,
        `Write a whole number from 1 to ${mostBytes}, such as f.bytes({ max: ${usualBytes} }).`
      )
    }
  } else if (spec["max"] !== null) {
    if (kind !== "text") say(`max() is for texts, not for ${kind}.`, "Remove max().")
    else if (isCount(spec["max"], 1, 1_000_000_000)) max = spec["max"]
    else {
      say(
        `max(${quoteValue(spec["max"])}) is not a number of characters.`,
        "Write a whole number of at least 1, such as max(200)."
      )
    }
  }

  let precision: number | null = null
  let scale: number | null = null
  if (kind === "decimal" && (spec["precision"] !== null || spec["scale"] !== null)) {
    const fix = "Write f.decimal({ precision: 12, scale: 2 }), with scale at most precision, or f.decimal()."
    if (!isCount(spec["precision"], 1, 1000)) {
      say(`The precision ${quoteValue(spec["precision"])} is not a whole number from 1 to 1000.`, fix)
    } else if (!isCount(spec["scale"], 0, 1000)) {
      say(`The scale ${quoteValue(spec["scale"])} is not a whole number from 0 to 1000.`, fix)
    } else if (spec["scale"] > spec["precision"]) {
      say(`The scale ${spec["scale"]} is larger than the precision ${spec["precision"]}.`, fix)
    } else {
      precision = spec["precision"]
      scale = spec["scale"]
    }
  }
  if (kind === "money" && spec["scale"] !== null) {
    if (isCount(spec["scale"], 0, 10)) scale = spec["scale"]
    else {say(
        `The scale ${quoteValue(spec["scale"])} is not a whole number from 0 to 10.`,
        "Write f.money({ scale: 2 })."
      )}
  }
  return { bits, max, precision, scale }
}

const rangeElements: readonly RangeElement[] = ["integer", "bigint", "decimal", "date", "timestamp"]

/** The ends of a range, or the type of a native field. `readOnly`: nobody writes the values. */
const typeOf = (spec: Bag, kind: string, readOnly: boolean, say: Say): string | null => {
  const type = spec["type"]
  if (kind === "range") {
    if (isRangeElement(type)) return type
    say(`There are no ranges of ${quoteValue(type)}.`, didYouMean(type, rangeElements))
  } else if (kind === "native") {
    if (!isIdentifier(type)) {
      say(
        `native(${quoteValue(type)}) is not a type's name.`,
        "Write the type's name in PostgreSQL, such as f.native(\"point\")."
      )
    } else {
      if (!readOnly && !isWritableNative(type)) {
        say(
          `Values of the type ${type} cannot be written.`,
          isNative(type) ? "Add readOnly()." : "Add readOnly(), or declare the field with a kind of its own."
        )
      }
      return type
    }
  }
  return null
}

const enumValues = (values: unknown, say: Say): readonly string[] => {
  const fix = "Write the allowed values: f.enum([\"draft\", \"paid\"])."
  if (!Array.isArray(values)) {
    say(`The values of the enum are ${quoteValue(values)}, not a list.`, fix)
    return []
  }
  if (values.length === 0) say("The enum has no values.", fix)
  const texts: string[] = []
  for (const value of values) {
    if (typeof value !== "string" || value === "" || value.includes("\0") || !value.isWellFormed()) {
      say(`The enum value ${quoteValue(value)} is not a text of at least one character.`, fix)
    } else if (texts.includes(value)) {
      say(`The enum has the value ${quoteValue(value)} twice.`, "Remove one of the two.")
    } else texts.push(value)
  }
  return texts
}

/** Kinds whose values are too long, too few or not exact enough to name a record. */
const neverUnique: ReadonlySet<unknown> = new Set(["json", "file", "files", "array", "float", "boolean"])

/** Kinds that elements of an array cannot be of. */
const neverElements: ReadonlyMap<FieldSpec["kind"], string> = new Map([
  ["json", "A JSON value can be a list itself: f.json()."],
  [
    "relation",
    "Declare a resource over a table of pairs, or the elements with the kind of the key, such as f.integer()."
  ],
  ["file", "Write f.files()."],
  ["files", "Write f.files()."],
  ["array", "Arrays have one dimension."],
  ["searchVector", "Write f.searchVector()."]
])

/** What an element of an array can say of itself: its kind, what bounds it, and whether it may be null. */
const ofElements: ReadonlySet<string> = new Set([
  "kind",
  "bits",
  "max",
  "precision",
  "scale",
  "type",
  "values",
  "optional"
])

/** What is said of the elements of an array. */
const readElement = (raw: unknown, readOnly: boolean, say: Say): FieldSpec => {
  const spec = readSpec(raw, (message, fix) => say(`Its elements: ${message}`, fix), readOnly)
  const never = neverElements.get(spec.kind)
  if (never !== undefined) {
    say(`The elements of an array cannot be of the kind ${spec.kind}.`, never)
    return blankField
  }
  const more = keysOf(blankField).find((name) => !ofElements.has(name) && spec[name] !== blankField[name])
  if (more !== undefined) {
    say(`${more}() stands at the elements of the array.`, `Write it behind the array: f.array(…).${more}().`)
  }
  return spec
}

const configOf = (spec: Bag, kind: FieldSpec["kind"], say: Say): string => {
  const config = spec["config"]
  if (kind !== "searchVector") return "simple"
  if (typeof config === "string" && /^[a-z_][a-z0-9_]{0,62}$/.test(config)) return config
  say(
    `The config ${quoteValue(config)} is no name of a configuration of text search.`,
    "Write the name that to_tsvector has, such as f.searchVector({ config: \"english\" })."
  )
  return "simple"
}

/** Most paths of a JSON field, and most names of one. */
const mostPaths = 100
const deepestPath = 8
const longestName = 63
const pathKinds: readonly FieldSpec["kind"][] = ["text", "decimal", "boolean", "enum"]

/** What else a builder of a path may hold than what blank ones do. */
const pathParts: ReadonlySet<string> = new Set([
  "kind",
  "max",
  "precision",
  "scale",
  "values",
  "ordered",
  "filterable",
  "sortable"
])

/** The declared paths of a JSON field. A path is a name for filters and orders, and nothing that a record shows or a body gives. */
const readPaths = (spec: Bag, kind: FieldSpec["kind"], say: Say): Pick<FieldSpec, "paths" | "storage"> => {
  const storage = spec["storage"] === "json" ? "json" : "jsonb"
  const given = spec["paths"] ?? null
  if (given === null) return { paths: null, storage }
  if (kind !== "json" || !isBag(given) || Object.keys(given).length > mostPaths) {
    say(
      kind === "json"
        ? `The paths are not an object of at most ${mostPaths} paths.`
        : `paths are for json, not for ${kind}.`,
      "Write f.json({ paths: { \"size.width\": f.decimal().filterable() } })."
    )
    return { paths: null, storage }
  }
  const paths: { [path: string]: AnyField } = {}
  for (const [path, raw] of Object.entries(given)) {
    const sayOf: Say = (message, fix) => say(`The path "${path}": ${message}`, fix)
    const names = pathNames(path)
    if (names === null || names.length > deepestPath || names.some((name) => name.length > longestName)) {
      sayOf(
        "it is not a path.",
        `Write names of members with periods between them, at most ${deepestPath}: letters, digits, _ and -, a letter or _ first. Others stand in quotes: size."net weight".`
      )
      continue
    }
    if (pathText(names) !== path) {
      sayOf("it has quotes or escapes that it does not need.", `Write ${pathText(names)}.`)
      continue
    }
    const own = readSpec(raw, sayOf)
    const more = keysOf(own).filter((part) => !pathParts.has(part) && own[part] !== blankField[part])
    if (!pathKinds.includes(own.kind)) {
      sayOf(
        `values of the kind ${own.kind} have no exact form in JSON.`,
        own.kind === "integer" || own.kind === "float"
          ? "Write f.decimal(), which every number of JSON is."
          : `The kinds are ${pathKinds.join(", ")}.`
      )
    } else if (more.length > 0) {
      sayOf(`it takes no ${more[0]}.`, "A path takes filterable(), sortable() and ordered().")
    } else if (own.ordered === "type") {
      sayOf("JSON has no enum type.", "Write ordered().")
    } else if (!own.filterable && !own.sortable) {
      sayOf("it is of no use: it is neither filterable nor sortable.", "Add filterable() or sortable().")
    } else paths[path] = new FieldBuilder(own)
  }
  return { paths, storage }
}

const isNameless = (kind: string): boolean => neverUnique.has(kind) || !canBeKey(kind)

/** Reads what a builder holds. Anything refused is left out of the answer, which is always usable. `shown`: it stands in something that nobody writes. */
const readSpec = (raw: unknown, say: Say, shown = false): FieldSpec => {
  if (!isBag(raw) || raw["_tag"] !== "Field" || !isBag(raw["spec"])) {
    say(
      `The declaration is ${quoteValue(raw)}, not a field.`,
      typeof raw === "function"
        ? "Call the kind: f.text(), not f.text."
        : raw === null
        ? "In extendResource null leaves out a field that is there; there is none of this name."
        : "Write it with f, such as f.text() or f.integer()."
    )
    return blankField
  }
  const spec = raw["spec"]
  const kind = spec["kind"]
  if (!isKind(kind)) {
    say(`There is no kind of field ${quoteValue(kind)}.`, didYouMean(kind, kinds))
    return blankField
  }
  const flag = (name: string): boolean => spec[name] === true

  let target: string | null = null
  if (kind === "relation") {
    if (typeof spec["target"] === "string") target = spec["target"]
    else {
      say(
        `The relation points at ${quoteValue(spec["target"])}.`,
        "Give the resource's name, such as relation(\"customers\"); between files that import each other only the name works."
      )
    }
  }
  const way = (modifier: "as" | "inverse"): string | null => {
    const name = spec[modifier]
    if (name === null || name === false || name === undefined) return null
    if (kind !== "relation") say(`${modifier}() is for relations, not for ${kind}.`, `Remove ${modifier}().`)
    else if (!isName(name)) say(`${modifier}(${quoteValue(name)}) is not a name.`, nameRule)
    else if (objectName(name) !== null) {
      say(`${modifier}("${name}") cannot be used: ${objectName(name)}.`, "Choose another name.")
    } else return name
    return null
  }
  const as = way("as")
  const inverse = spec["inverse"] === false ? false : way("inverse")

  const searched = flag("searched")
  if (searched && kind !== "text") say(`searched() is for texts, not for ${kind}.`, "Remove searched().")
  const sortable = flag("sortable")
  if (sortable && kind === "json") say("JSON values have no order.", "Remove sortable().")
  else if (sortable && kind !== "array" && !hasOrder(kind)) {
    say(`Values of kind ${kind} have no order.`, "Remove sortable().")
  }
  if (sortable && kind === "array") say("Lists are not sorted by arrays.", "Remove sortable().")

  const ordered = spec["ordered"] === "type" ? "type" : flag("ordered")
  if ((spec["ordered"] ?? false) !== ordered) {
    say(`ordered(${quoteValue(spec["ordered"])}) is no order.`, "Write ordered() or ordered(\"type\").")
  }
  if (ordered !== false && kind !== "enum") say(`ordered() is for enums, not for ${kind}.`, "Remove ordered().")

  const unique = flag("unique")
  if (unique && isNameless(kind)) say(`Values of kind ${kind} name no record.`, "Remove unique().")
  if (unique && flag("optional")) {
    say("The field is optional, and nulls are never equal: it names no record.", "Remove unique() or optional().")
  }

  let alias: string | null = null
  if (spec["alias"] !== null) {
    if (!isName(spec["alias"])) say(`alias(${quoteValue(spec["alias"])}) is not a name.`, nameRule)
    else if (takenBy(spec["alias"]) !== null) {
      say(`The alias "${spec["alias"]}" cannot be used: ${takenBy(spec["alias"])}.`, "Choose another alias.")
    } else {
      alias = spec["alias"]
      if (!flag("filterable") && !sortable) {
        say(
          `The alias "${alias}" is of no use: the field is neither filterable nor sortable.`,
          "Add filterable() or sortable(), or remove alias()."
        )
      }
    }
  }
  let column: string | null = null
  if (spec["column"] !== null) {
    if (isIdentifier(spec["column"])) column = spec["column"]
    else {
      say(`column(${quoteValue(spec["column"])}) is not a column's name.`, "Write the column's name, at most 63 bytes.")
    }
  }
  const given = isBag(spec["default"]) && "value" in spec["default"] ? spec["default"] : null
  if (given !== null && flag("dbDefault")) {
    say("The field has default() and dbDefault().", "Keep the one that makes the value: the service or the database.")
  }
  if (flag("stamped")) {
    if (kind !== "timestamp" && kind !== "integer") {
      say(`stamped() is for timestamps and integers, not for ${kind}.`, "Remove stamped().")
    }
    if (given !== null || flag("dbDefault")) {
      say("The field is stamped() and has a default.", "Keep the one that makes the value of a create.")
    }
  }
  const multiline = typeof spec["multiline"] === "boolean" ? spec["multiline"] : null
  if (multiline !== null && kind !== "text") {
    say(`multiline() is for texts, not for ${kind}.`, "Remove multiline().")
  } else if (multiline === null && spec["multiline"] != null) {
    say(
      `multiline(${quoteValue(spec["multiline"])}) is neither true nor false.`,
      "Write multiline() or multiline(false)."
    )
  }
  const prose = (modifier: "label" | "help", most: number): string | null => {
    const text = spec[modifier]
    if (text === null || text === undefined) return null
    if (isProse(text, most)) return text
    say(
      `${modifier}(${quoteValue(text)}) is not a text of 1 to ${most} characters.`,
      `Write a text, or remove ${modifier}().`
    )
    return null
  }
  return {
    kind,
    ...size(spec, kind, say),
    element: kind === "array" ? readElement(spec["element"], flag("readOnly"), say) : null,
    values: kind === "enum" ? enumValues(spec["values"], say) : null,
    ...readPaths(spec, kind, say),
    ordered: kind === "enum" && ordered,
    config: configOf(spec, kind, say),
    type: typeOf(spec, kind, shown || flag("readOnly"), say),
    target,
    as,
    inverse,
    optional: flag("optional"),
    readOnly: flag("readOnly"),
    filterable: flag("filterable"),
    sortable: sortable && hasOrder(kind),
    searched: searched && kind === "text",
    unique: unique && !isNameless(kind) && !flag("optional"),
    sensitive: flag("sensitive"),
    alias,
    column,
    // The value itself is checked once the kind is known: a relation takes its kind from elsewhere.
    default: given as FieldSpec["default"],
    dbDefault: flag("dbDefault"),
    stamped: flag("stamped"),
    label: prose("label", 200),
    help: prose("help", 1000),
    multiline,
    file: kind === "file" || kind === "files" ? (isBag(spec["file"]) ? spec["file"] : {}) : null
  }
}

/** What a declaration of this kind bounds. */
export const shapeOf = (
  kind: ScalarKind | "file" | "files" | "array" | "searchVector",
  { bits, element, max, ordered, precision, scale, type, values }: FieldSpec
): Shape => {
  switch (kind) {
    case "integer":
      return { kind, bits }
    case "text":
      return { kind, max }
    case "file":
    case "searchVector":
      return { kind: "text", max: null }
    case "files":
      return { kind: "list", of: { kind: "text", max: null }, max: max ?? defaultFiles, nulls: false }
    case "array": {
      // It was read by `readElement`.
      const of = element as FieldSpec
      return {
        kind: "list",
        of: shapeOf(of.kind as ScalarKind, of) as ElementShape,
        max: max ?? defaultElements,
        nulls: of.optional
      }
    }
    case "decimal":
      return { kind, precision, scale }
    case "enum":
      return {
        kind,
        values: values ?? [],
        ...(ordered === false ? {} : { ordered: true }),
        ...(ordered === "type" ? { typed: true } : {})
      }
    case "bytes":
      return { kind, max: max ?? usualBytes }
    case "money":
      return { kind, scale: scale ?? 2 }
    case "range":
      return { kind, of: isRangeElement(type) ? type : "integer" }
    case "native":
      return { kind, type: type ?? "text" }
    default:
      return { kind }
  }
}

/** Reads one declared field. The draft is usable whatever was refused. */
const readField = (resource: string, name: string, raw: unknown, report: Report): DraftField => {
  let broken = false
  const say: Say = (message, fix) => {
    broken = true
    report(resource, name, message, fix)
  }
  const reason = takenBy(name)
  if (reason !== null) {
    say(
      `A field cannot be named "${name}": ${reason}.`,
      `Choose another name; column("${name}") keeps the column.`
    )
  } else if (!isName(name)) {
    say(`${quoteValue(name)} is not a field name.`, `${nameRule} The column keeps its name with column("…").`)
  }
  const spec = readSpec(raw, say)
  return { name, spec, broken }
}

/** Reads the declaration of all fields, in declared order. */
export const readFields = (resource: string, raw: unknown, report: Report): ReadonlyMap<string, DraftField> => {
  const fields = new Map<string, DraftField>()
  if (!isBag(raw)) {
    report(resource, null, `The fields are ${quoteValue(raw)}, not an object.`, "Write fields: { id: f.integer(), … }.")
    return fields
  }
  if (Object.keys(raw).length === 0) {
    report(resource, null, "The resource has no fields.", "Declare at least its primary key.")
  }
  for (const name of Object.keys(raw)) fields.set(name, readField(resource, name, raw[name], report))
  // An object literal's `__proto__: f.text()` sets the prototype and declares no key.
  const prototype: unknown = Object.getPrototypeOf(raw)
  if (isBag(prototype) && prototype["_tag"] === "Field") {
    report(resource, "__proto__", "A field cannot be named \"__proto__\".", "Choose another name.")
  }

  const columns = new Map<string, string>()
  for (const field of fields.values()) {
    const column = field.spec.column ?? field.name
    const other = columns.get(column)
    if (other !== undefined) {
      field.broken = true
      report(
        resource,
        field.name,
        `The column "${column}" is also the column of field "${other}".`,
        "Declare each column once; alias() gives a field one more name in filters."
      )
    } else columns.set(column, field.name)
  }
  const aliases = new Map<string, string>()
  for (const field of fields.values()) {
    const alias = field.spec.alias
    if (alias === null) continue
    const other = fields.has(alias) ? alias : aliases.get(alias)
    if (other !== undefined) {
      field.broken = true
      report(
        resource,
        field.name,
        other === field.name
          ? `The alias "${alias}" is the field's own name.`
          : `The alias "${alias}" is also ${fields.has(alias) ? "the name" : "the alias"} of field "${other}".`,
        other === field.name ? "Remove alias()." : "Choose another alias."
      )
    } else aliases.set(alias, field.name)
  }
  return fields
}

/** What a resource's tenant, softDelete or version stands for: a declared field, or a column of its own. */
export type DraftColumn =
  | { readonly of: "field"; readonly field: DraftField }
  | { readonly of: "column"; readonly name: string; readonly spec: FieldSpec }

/** Checks the columns of the service (tenant, owner, version and so on), and gives the field of a bare column name. */
const roles = {
  tenant: { usual: "text", kinds: ["text", "uuid", "integer"], words: "a text, uuid or integer" },
  softDelete: { usual: "timestamp", kinds: ["timestamp"], words: "an optional timestamp" },
  version: { usual: "timestamp", kinds: ["timestamp", "integer"], words: "a timestamp or an integer" }
} as const

export type ColumnRole = keyof typeof roles

export const columnKinds = (role: ColumnRole): { readonly kinds: readonly string[]; readonly words: string } =>
  roles[role]

/** Reads `tenant`, `softDelete` or `version`; null when it is not declared or was refused. */
export const readColumn = (
  resource: string,
  role: ColumnRole,
  raw: unknown,
  fields: ReadonlyMap<string, DraftField>,
  report: Report
): DraftColumn | null => {
  if (raw === undefined) return null
  const byColumn = (column: string): DraftField | undefined =>
    [...fields.values()].find((field) => (field.spec.column ?? field.name) === column)
  if (typeof raw === "string") {
    const field = fields.get(raw)
    if (field !== undefined) return { of: "field", field }
    if (!isIdentifier(raw)) {
      report(
        resource,
        null,
        `${role} is ${quoteValue(raw)}, which is not a column's name.`,
        "Write the column's name, at most 63 bytes."
      )
      return null
    }
    const holder = byColumn(raw)
    if (holder !== undefined) {
      report(
        resource,
        holder.name,
        `${role} names the column "${raw}", which is declared as field "${holder.name}".`,
        `Write ${role}: "${holder.name}".`
      )
      return null
    }
    return {
      of: "column",
      name: raw,
      spec: { ...blankField, kind: roles[role].usual, column: raw, optional: role === "softDelete" }
    }
  }
  if (isBag(raw) && raw["_tag"] === "Field") {
    let broken = false
    const say: Say = (message, fix) => {
      broken = true
      report(resource, null, `${role}: ${message}`, fix)
    }
    const spec = readSpec(raw, say)
    if (broken) return null
    if (spec.column === null) {
      say("The declaration names no column.", `Write ${role}: f.${spec.kind}().column("…").`)
      return null
    }
    const holder = byColumn(spec.column)
    if (holder !== undefined) {
      report(
        resource,
        holder.name,
        `${role} declares the column "${spec.column}", which is also declared as field "${holder.name}".`,
        `Write ${role}: "${holder.name}".`
      )
      return null
    }
    return { of: "column", name: spec.column, spec: { ...spec, optional: spec.optional || role === "softDelete" } }
  }
  report(
    resource,
    null,
    `${role} is ${quoteValue(raw)}, not the name of a field or column.`,
    `Write ${role}: "…" with the name of a field or column.`
  )
  return null
}
