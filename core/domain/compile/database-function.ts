/**
 * Compiles `from: fn(…)`: the name of the function, its arguments with the types that their values are cast to. It knows no database; whether there is such a
 * function, and whether it changes nothing, is checked in `function-facts.ts`.
 */

import { type Bag, isBag } from "../bag.ts"
import { didYouMean, quoteValue, type Report } from "../declare/refusal.ts"
import type { Argument, Field, FunctionSource, Model } from "../model/model.ts"
import type { Kind } from "../value/kind.ts"
import { isKeyOf } from "../value/table.ts"
import { isIdentifier, refuseUnknownKeys } from "./check.ts"
import { type DraftField, readFields, shapeOf } from "./field.ts"

/** Most arguments of a function. */
const mostArguments = 50

/** A `from` that was read. */
export interface FunctionDraft {
  readonly schema: string
  readonly name: string
  readonly arguments: ReadonlyMap<string, DraftField>
  /** Types by argument, as SQL. */
  readonly types: ReadonlyMap<string, string>
}

const quote = (name: string): string => `"${name.replaceAll("\"", "\"\"")}"`

/** Kinds that no argument has: some are no values of their own, the cells of others are not read by the type itself. */
export const neverArguments: ReadonlySet<string> = new Set([
  "relation",
  "file",
  "files",
  "array",
  "searchVector",
  "bytes",
  "money",
  "range",
  "native"
])

const typesOfKinds: {
  readonly [kind in Exclude<Kind, "integer" | "list" | "bytes" | "money" | "range" | "native">]: string
} = {
  text: "text",
  currency: "text",
  country: "text",
  enum: "text",
  boolean: "bool",
  timestamp: "timestamptz",
  date: "date",
  decimal: "numeric",
  float: "float8",
  uuid: "uuid",
  json: "jsonb",
  time: "time",
  interval: "interval",
  inet: "inet",
  cidr: "cidr",
  macaddr: "macaddr"
}

/** The type of PostgreSQL that values of a kind are cast to. */
const typeOf = (field: Field): string =>
  `"pg_catalog"."${
    field.kind === "integer"
      ? `int${field.bits / 8}`
      : isKeyOf(typesOfKinds, field.kind)
      ? typesOfKinds[field.kind]
      : "text"
  }"`

type ReadName = (raw: unknown) => { readonly schema: string | null; readonly table: string } | null

const readTypes = (
  resource: string,
  raw: unknown,
  fields: ReadonlyMap<string, DraftField>,
  readName: ReadName,
  report: Report
): ReadonlyMap<string, string> => {
  const types = new Map<string, string>()
  if (raw === undefined) return types
  if (!isBag(raw)) {
    report(
      resource,
      null,
      `types of fn() is ${quoteValue(raw)}, not an object.`,
      "Write { types: { status: \"shop.status\" } }."
    )
    return types
  }
  for (const [name, type] of Object.entries(raw)) {
    const parts = readName(type)
    if (!fields.has(name)) {
      report(
        resource,
        null,
        `types of fn() names "${name}", which is no argument of it.`,
        didYouMean(name, fields.keys())
      )
    } else if (parts === null || parts.schema === null || !isIdentifier(parts.table)) {
      report(
        resource,
        null,
        `The type of the argument "${name}" is ${quoteValue(type)}, not the name of a type with its schema.`,
        "Write \"shop.status\", or \"pg_catalog.timestamp\" for a type of PostgreSQL's own."
      )
    } else types.set(name, `${quote(parts.schema)}.${quote(parts.table)}`)
  }
  return types
}

/** Reads `from`; null where there is none or it was refused. */
export const readFunction = (
  resource: string,
  declaration: Bag,
  readName: ReadName,
  report: Report
): FunctionDraft | null => {
  const raw = declaration["from"]
  if (raw === undefined) return null
  const say = (message: string, fix: string): void => report(resource, null, message, fix)
  if (!isBag(raw) || raw["_tag"] !== "DatabaseFunction") {
    say(
      `from is ${quoteValue(raw)}, not a function of the database.`,
      "Write from: fn(\"shop.orders_of\", { customer: f.integer() }); table names a table or view."
    )
    return null
  }
  if (declaration["table"] !== undefined) {
    say("The resource has a table and a function as its source.", "Remove table or from.")
  }
  if (declaration["readOnly"] === false) {
    say("The rows of a function cannot be written, and readOnly is false.", "Remove readOnly.")
  }
  refuseUnknownKeys(raw, ["_tag", "name", "arguments", "types"], "fn()", say)
  const name = readName(raw["name"])
  if (name === null) {
    say(
      `fn() is given ${quoteValue(raw["name"])}, which is not a function's name.`,
      "Write \"orders_of\" or \"shop.orders_of\"; parts with dots or spaces in double quotes."
    )
  }
  const declared = raw["arguments"]
  const args = isBag(declared) && Object.keys(declared).length === 0
    ? new Map<string, DraftField>()
    : readFields(
      resource,
      declared,
      (at, field, message, fix) =>
        report(at, null, `${field === null ? "fn()" : `The argument "${field}"`}: ${message}`, fix)
    )
  if (args.size > mostArguments) say(`fn() has ${args.size} arguments.`, `Declare at most ${mostArguments}.`)
  for (const { name: argument, spec } of args.values()) {
    const unfit = neverArguments.has(spec.kind)
      ? `is of kind ${spec.kind}`
      : (["readOnly", "filterable", "sortable", "searched", "unique", "stamped", "sensitive"] as const)
        .find((modifier) => spec[modifier])
    if (unfit !== undefined) {
      say(
        `The argument "${argument}" ${
          unfit.startsWith("is ") ? unfit : `has ${unfit}()`
        }, which arguments cannot have.`,
        "Declare it with a kind of its own, and optional(), default(…), dbDefault(), max(…), bits(…), label(…), help(…) or column(…)."
      )
    }
    if (argument === "args") {
      say(
        "An argument cannot be named \"args\": requests call all of them that.",
        "Write column(\"args\") and another name."
      )
    }
    if (spec.optional && (spec.default !== null || spec.dbDefault)) {
      say(
        `The argument "${argument}" is optional() and has a default.`,
        "Keep the one that says what is meant when it is left out."
      )
    }
  }
  return {
    schema: name?.schema ?? "public",
    name: name?.table ?? resource,
    arguments: args,
    types: readTypes(resource, raw["types"], args, readName, report)
  }
}

/** The arguments as fields. `withDefault` checks a default by its kind. */
export const compileFunction = (
  { arguments: args, types }: FunctionDraft,
  withDefault: (field: Field) => Field
): FunctionSource => ({
  arguments: [...args.values()].map(({ broken, name, spec }, index): Argument => {
    const written: Field = {
      name,
      column: spec.column ?? name,
      index,
      relation: null,
      optional: spec.optional,
      readOnly: false,
      filterable: false,
      sortable: false,
      searched: false,
      unique: false,
      sensitive: false,
      alias: null,
      default: spec.default !== null ? { value: spec.default.value } : spec.dbDefault ? { db: true } : null,
      stamped: false,
      system: false,
      label: spec.label,
      help: spec.help,
      multiline: spec.multiline,
      file: null,
      ...shapeOf(spec.kind === "relation" ? "text" : spec.kind, spec)
    }
    const field = broken ? written : withDefault(written)
    return { field, type: types.get(name) ?? typeOf(field) }
  })
})

/** What only the rows of tables can have: changes that are told of, versions, files. */
export const refuseBesideFunction = (model: Model, report: Report): void => {
  const say = (message: string, fix: string): void => report(model.name, null, message, fix)
  if (model.events.length > 0) {
    say(
      "It declares events, but shows the rows of a function: nothing happens to them.",
      "Declare the events of a table."
    )
  }
  if (model.history !== null) {
    say("history() keeps its versions, but it shows the rows of a function.", "Take it out of history().")
  }
  for (const field of model.fields) {
    if (field.file === null) continue
    report(
      model.name,
      field.name,
      "It is a file, and the resource shows the rows of a function: nobody could say whether a file is still used.",
      "Declare it as text, or point at the record that has the file."
    )
  }
}
