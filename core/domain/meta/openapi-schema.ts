/**
 * JSON Schemas (2020-12, as OpenAPI 3.1 uses them) of fields and records: values in answers, values in bodies, and an example for both. It
 * sees restricted models only, so a hidden field cannot get into a schema.
 */

import type { Access } from "../access/access.ts"
import type { Field, FieldOf, Model, Relation } from "../model/model.ts"
import { elementField } from "../model/model.ts"
import { longestNative, rangeExample } from "../value/exact.ts"
import type { DecimalShape, Json } from "../value/kind.ts"
import { maxOperations } from "../write/batch.ts"
import { fileAnswer, fileBody, fileExample } from "./openapi-file.ts"
import type { ResourcePermissions } from "./permissions.ts"

/** A JSON object under construction. */
export type Doc = { readonly [member: string]: Json }

/** One resource of the document, as the caller sees it. */
export interface Subject {
  readonly access: Access
  readonly permissions: ResourcePermissions
  /** Relations that `expand` can follow for this caller. */
  readonly relations: readonly Relation[]
  /** The field of versions whose accounts `expand` names, or null. */
  readonly maker: Field | null
  /** The model whose versions these are, or null. */
  readonly tracked: Model | null
}

export type Subjects = ReadonlyMap<string, Subject>

/** Any object. Said explicitly, because generators read a schema without members as an object without members. */
export const anyObject: Doc = { type: "object", additionalProperties: true }

export const ref = (kind: "schemas" | "parameters" | "headers" | "responses", name: string): Doc => ({
  $ref: `#/components/${kind}/${name}`
})

/** Names in a Markdown text. */
export const codes = (names: Iterable<string>): string => [...names].map((name) => `\`${name}\``).join(", ")

/** Limits of integers: a pattern for texts, bounds for numbers. A number of 64 bits is limited to the values that JSON holds exactly. */
const integerLimits = {
  16: { format: "int16", minimum: -(2 ** 15), maximum: 2 ** 15 - 1, pattern: "^-?0*[0-9]{1,5}$" },
  32: { format: "int32", minimum: -(2 ** 31), maximum: 2 ** 31 - 1, pattern: "^-?0*[0-9]{1,10}$" },
  64: {
    format: "int64",
    minimum: Number.MIN_SAFE_INTEGER,
    maximum: Number.MAX_SAFE_INTEGER,
    pattern: "^-?0*[0-9]{1,19}$"
  }
} as const

/** Digits before and after the point, or null where precision and scale do not say so. */
const decimalDigits = (
  { precision, scale }: DecimalShape
): { readonly whole: number; readonly fraction: number } | null => {
  const fraction = scale ?? 0
  if (precision === null || fraction < 0 || fraction > precision) return null
  return { whole: precision - fraction, fraction }
}

/** A regular expression for plain notation, without its ends. */
const decimalPattern = (field: DecimalShape): string => {
  const digits = decimalDigits(field)
  if (digits === null) return "-?[0-9]+(\\.[0-9]+)?"
  const whole = digits.whole === 0 ? "0" : `[0-9]{1,${digits.whole}}`
  return `-?${whole}${digits.fraction === 0 ? "" : `(\\.[0-9]{1,${digits.fraction}})?`}`
}

/** The same for bodies: zeros that change nothing may stand before and after. Of a number with an exponent the pattern tells no size. */
const decimalBodyPattern = (field: DecimalShape): string =>
  `(${plainBodyPattern(field)}|-?[0-9]+(\\.[0-9]+)?[eE][+-]?[0-9]{1,6})`

const plainBodyPattern = (field: DecimalShape): string => {
  const digits = decimalDigits(field)
  if (digits === null) return decimalPattern(field)
  const whole = digits.whole === 0 ? "0+" : `0*[0-9]{1,${digits.whole}}`
  return `-?${whole}(\\.${digits.fraction === 0 ? "0+" : `[0-9]{1,${digits.fraction}}0*`})?`
}

/** How many digits a double holds exactly, and with it every power of ten below. */
const exactDigits = 15

/** The bounds of a decimal as a number. Only texts can limit the digits after the point, because binary fractions do not divide evenly. */
const decimalBounds = (field: DecimalShape): Doc => {
  const digits = decimalDigits(field)
  if (digits === null || digits.whole > exactDigits) return {}
  const bound = 10 ** digits.whole
  return { exclusiveMinimum: -bound, exclusiveMaximum: bound, ...(digits.fraction === 0 ? { multipleOf: 1 } : {}) }
}

/** A schema with one type; null joins it where the field is optional. */
const typed = (field: Field, type: string | readonly string[], more: Doc = {}): Doc => {
  const types = [...(typeof type === "string" ? [type] : type), ...(field.optional ? ["null"] : [])]
  return { type: types.length === 1 ? types[0]! : types, ...more }
}

const addressPattern = "^([0-9]{1,3}(\\.[0-9]{1,3}){3}|[0-9A-Fa-f.]*:[0-9A-Fa-f:.]*)(/[0-9]{1,3})?$"

const base64Pattern = "^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$"

const durationPattern =
  "^P(-?[0-9]+Y)?(-?[0-9]+M)?(-?[0-9]+W)?(-?[0-9]+D)?(T(-?[0-9]+H)?(-?[0-9]+M)?(-?[0-9]+(\\.[0-9]{1,6})?S)?)?$"

/** What kinds have in common in answers and bodies. */
const commonSchema = (field: Field): Doc => {
  switch (field.kind) {
    case "boolean":
      return typed(field, "boolean")
    case "timestamp":
      return typed(field, "string", { format: "date-time" })
    case "date":
      return typed(field, "string", { format: "date" })
    case "uuid":
      return typed(field, "string", { format: "uuid" })
    case "currency":
      return typed(field, "string", { pattern: "^[A-Z]{3}$" })
    case "country":
      return typed(field, "string", { pattern: "^[A-Z]{2}$" })
    case "time":
      return typed(field, "string", { pattern: "^[0-2][0-9]:[0-5][0-9](:[0-5][0-9](\\.[0-9]{1,6})?)?$" })
    case "interval":
      // The format `duration` knows neither signs nor fractions.
      return typed(field, "string", { pattern: durationPattern })
    case "inet":
    case "cidr":
      return typed(field, "string", { pattern: addressPattern })
    case "macaddr":
      return typed(field, "string", { pattern: "^[0-9A-Fa-f]{2}([:-][0-9A-Fa-f]{2}){5}$" })
    case "range":
      return typed(field, "string", { pattern: "^(empty|[\\[(].*,.*[\\])])$" })
    case "native":
      return typed(field, "string")
    case "bytes":
      return typed(field, "string", { contentEncoding: "base64", pattern: base64Pattern })
    case "money":
      return typed(field, "string", { format: "decimal" })
    case "enum":
      return typed(field, "string", { enum: [...field.values, ...(field.optional ? [null] : [])] })
    case "text":
      return typed(field, "string", field.max === null ? {} : { maxLength: field.max })
    default:
      // Any JSON value.
      return {}
  }
}

/** A list, with a schema of its elements. */
const listSchema = (field: FieldOf<"list">, schemaOf: (field: Field) => Doc): Doc =>
  typed(field, "array", {
    items: schemaOf(elementField(field)),
    ...(field.max === null ? {} : { maxItems: field.max })
  })

/** What may stand in a table although no body could write it. */
const notFinite = "NaN|-?Infinity"

/** A value as answers carry it: 64-bit integers and decimals as text, floats that JSON has no number for as text. */
const answerSchema = (field: Field): Doc => {
  if (field.file !== null) return fileAnswer(field, field.file)
  switch (field.kind) {
    case "integer":
      return field.bits === 64
        ? typed(field, "string", { format: "int64", pattern: "^-?[0-9]{1,19}$" })
        : typed(field, "integer", { format: integerLimits[field.bits].format })
    case "decimal":
      return typed(field, "string", { format: "decimal", pattern: `^(${decimalPattern(field)}|${notFinite})$` })
    case "float":
      return typed(field, ["number", "string"], { format: "double", pattern: `^(${notFinite})$` })
    case "list":
      return listSchema(field, answerSchema)
    default:
      return commonSchema(field)
  }
}

/** A value as bodies accept it: integers and decimals as text or as a number. */
const bodySchema = (field: Field): Doc => {
  if (field.file !== null) return fileBody(field, field.file)
  switch (field.kind) {
    case "integer":
      return typed(field, ["string", "integer"], integerLimits[field.bits])
    case "decimal":
      return typed(field, ["string", "number"], {
        format: "decimal",
        pattern: `^${decimalBodyPattern(field)}$`,
        ...decimalBounds(field)
      })
    case "float":
      return typed(field, "number", { format: "double" })
    case "list":
      return listSchema(field, bodySchema)
    case "money": {
      const size: DecimalShape = { kind: "decimal", precision: 19, scale: field.scale }
      const bound = 10 ** (19 - field.scale)
      return typed(field, ["string", "number"], {
        format: "decimal",
        pattern: `^${decimalBodyPattern(size)}$`,
        exclusiveMinimum: -bound,
        exclusiveMaximum: bound
      })
    }
    case "bytes":
      return { ...commonSchema(field), maxLength: Math.ceil(field.max / 3) * 4 }
    case "native":
      return { ...commonSchema(field), maxLength: longestNative }
    case "json":
      return field.optional
        ? {}
        : { type: ["object", "array", "string", "number", "boolean"], additionalProperties: true, items: {} }
    default:
      return commonSchema(field)
  }
}

export { bodySchema as valueSchema }

const decimalExample = (field: DecimalShape): string => {
  const digits = decimalDigits(field)
  if (digits === null) return "0"
  const whole = digits.whole === 0 ? "0" : "12".slice(0, digits.whole)
  return digits.fraction === 0 ? whole : `${whole}.${"5".padEnd(digits.fraction, "0")}`
}

/** A value that the field takes in a body and that an answer may carry. */
export const exampleOf = (field: Field): Json => {
  switch (field.kind) {
    case "integer":
      return field.bits === 64 ? "1" : 1
    case "decimal":
      return decimalExample(field)
    case "float":
      return 0.25
    case "boolean":
      return true
    case "timestamp":
      return "2026-01-31T09:30:00Z"
    case "date":
      return "2026-01-31"
    case "uuid":
      return "123e4567-e89b-42d3-a456-426614174000"
    case "currency":
      return "EUR"
    case "country":
      return "NO"
    case "enum":
      return field.values?.[0] ?? ""
    case "text":
      return field.max === null ? "text" : "text".slice(0, field.max)
    case "time":
      return "09:30:00"
    case "interval":
      return "P1DT2H"
    case "inet":
      return "192.0.2.1"
    case "cidr":
      return "192.0.2.0/24"
    case "macaddr":
      return "08:00:2b:01:02:03"
    case "bytes":
      return "aGk="
    case "money":
      return decimalExample({ kind: "decimal", precision: 19, scale: field.scale })
    case "range":
      return rangeExample(field.of)
    case "native":
      return field.type
    case "json":
      return { note: "any JSON" }
    case "list":
      return [exampleOf(elementField(field))]
  }
}

/** The example as text, as keys and filters write it. */
export const exampleText = (field: Field): string => {
  const example = exampleOf(field)
  return typeof example === "string" ? example : JSON.stringify(example)
}

export const exampleEtag = "\"mVw0bJ2zqUdc4kTo\""

const object = (properties: Doc, required: readonly string[], more: Doc = {}): Doc => ({
  type: "object",
  ...(required.length === 0 ? {} : { required }),
  properties,
  ...more
})

/** An object whose members are all declared: bodies, where an unknown member is refused. */
export const closedObject = (properties: Doc, required: readonly string[], more: Doc = {}): Doc =>
  object(properties, required, { additionalProperties: false, ...more })

export { object as openObject }

const entries = (fields: readonly Field[], schema: (field: Field) => Doc): Doc =>
  Object.fromEntries(fields.map((field) => [field.name, schema(field)]))

/** The records of a relation: one or none, or all, a page or a count of several, as `expand` asks for them. */
const related = ({ many, target }: Relation): Doc => {
  if (!many) return { anyOf: [ref("schemas", target), { type: "null" }] }
  const items = { type: "array", items: ref("schemas", target) }
  return {
    anyOf: [
      items,
      closedObject({ items, more: { type: "boolean" } }, ["items", "more"]),
      closedObject({ count: { type: "integer", minimum: 0 } }, ["count"])
    ]
  }
}

/** A field of a version. The value fitted the bounds of its time, which may have been others. */
const asKept = (field: Field): Field => {
  switch (field.kind) {
    case "enum":
    case "text":
      return { ...field, kind: "text", max: null }
    case "decimal":
      return { ...field, precision: null, scale: null }
    default:
      return field
  }
}

/** What people read of a field, beside its schema. */
const worded = (field: Field, schema: Doc): Doc => ({
  ...schema,
  ...(field.label === null ? {} : { title: field.label }),
  ...(field.help === null ? {} : { description: field.help })
})

/** Who made a version, as others call them. */
const makerSchema: Doc = {
  ...object({ name: { type: "string" } }, ["name"], {
    description: "The name of the account; null where there is none, or where its name is not for others."
  }),
  type: ["object", "null"]
}

/**
 * A record in answers. Only `etag` is always there: `fields` of a request leaves others out. `permissions` comes with gets and lists,
 * `expand` when it was asked for.
 */
const recordSchema = ({ access, maker, relations, tracked }: Subject, subjects: Subjects): Doc => {
  const { fields } = access.restricted
  const schemaOf = (field: Field): Doc => {
    const schema = answerSchema(tracked?.byName.has(field.name) === true ? asKept(field) : field)
    return worded(
      field,
      field.relation !== null && subjects.has(field.relation)
        ? { ...schema, description: `Key of a record of \`${field.relation}\`.` }
        : schema
    )
  }
  const expanded = {
    ...(maker === null ? {} : { [maker.name]: makerSchema }),
    ...Object.fromEntries(relations.map((relation) => [relation.name, related(relation)]))
  }
  const expand = Object.keys(expanded).length === 0 ? {} : { expand: object(expanded, []) }
  return object(
    {
      ...entries(fields, schemaOf),
      etag: ref("schemas", "EntityTag"),
      permissions: ref("schemas", "RecordPermissions"),
      ...expand
    },
    ["etag"],
    {
      ...(access.model.description === null ? {} : { description: access.model.description }),
      examples: [{
        ...Object.fromEntries(
          fields.map((field) => [field.name, field.file === null ? exampleOf(field) : fileExample(field)])
        ),
        etag: exampleEtag
      }]
    }
  )
}

/** Whether a create must give the field: nothing else would fill it. */
const isRequired = (access: Access, field: Field): boolean =>
  !field.optional && field.default === null && !(access.createOwn && field === access.model.owner)

const exampleBody = (fields: readonly Field[]): Doc =>
  Object.fromEntries(fields.map((field) => [field.name, exampleOf(field)]))

const creatableFields = ({ restricted }: Access): readonly Field[] =>
  restricted.fields.filter((field) => restricted.creatable.has(field.name))

const updatableFields = ({ restricted }: Access): readonly Field[] =>
  restricted.fields.filter((field) => restricted.updatable.has(field.name))

/** Bodies that a create and an update accept. */
export const createExample = (access: Access): Doc => exampleBody(withoutFiles(creatableFields(access)))
export const updateExample = (access: Access): Doc => exampleBody(withoutFiles(updatableFields(access)).slice(0, 3))

/** The fields that an example shows. It shows no file, because a ticket belongs to its uploader. */
const withoutFiles = (fields: readonly Field[]): readonly Field[] => fields.filter(({ file }) => file === null)

/** The body of a create. `above`: the field that the record above gives; `lists`: of records below it. */
export const createSchema = (access: Access, above: string | null = null, lists: Doc = {}): Doc => {
  const fields = creatableFields(access).filter((field) => field.name !== above)
  const { key } = access.model
  const schemaOf = (field: Field): Doc => ({
    ...worded(field, bodySchema(field)),
    // An empty key cannot stand in a path.
    ...(key.length === 1 && field === key[0] && field.kind === "text" ? { minLength: 1 } : {}),
    ...(field.default !== null && "value" in field.default ? { default: field.default.value } : {})
  })
  return closedObject(
    { ...entries(fields, schemaOf), ...lists },
    fields.filter((field) => isRequired(access, field)).map((field) => field.name),
    above === null ? { examples: [createExample(access)] } : {}
  )
}

/** The lists of records that a create may have below it, by the names of their relations. */
const listsBelow = ({ access: { restricted }, relations }: Subject, subjects: Subjects): Doc =>
  Object.fromEntries(relations.flatMap(({ many, name, target, to }) => {
    const below = subjects.get(target)
    return !many || restricted.byName.has(name) || below === undefined || !below.permissions.create
      ? []
      : [[name, { type: "array", maxItems: maxOperations - 1, items: createSchema(below.access, to) }]]
  }))

/** The schema of a field in an update: a value, or an amount to add to a stored integer or decimal. */
const patchSchema = (field: Field): Doc =>
  field.kind === "integer" || field.kind === "decimal"
    ? { anyOf: [bodySchema(field), ref("schemas", "Addition")] }
    : bodySchema(field)

const updateSchema = (access: Access): Doc =>
  closedObject(entries(updatableFields(access), (field) => worded(field, patchSchema(field))), [], {
    examples: [updateExample(access)]
  })

/** The schemas of one resource by component name: `orders`, `orders.Field`, `orders.Written`, `orders.Create`, `orders.Update`, pages. */
export const resourceSchemas = (subject: Subject, subjects: Subjects): Doc => {
  const { access, permissions } = subject
  const { model: { name }, restricted } = access
  const items: Doc = { type: "array", items: ref("schemas", name) }
  const token = ref("schemas", "PageToken")
  const count = ref("schemas", "RowCount")
  return {
    ...(permissions.read
      ? {
        [name]: recordSchema(subject, subjects),
        ...(restricted.fields.length === 0
          ? {}
          : { [`${name}.Field`]: { type: "string", enum: restricted.fields.map((field) => field.name) } }),
        [`${name}.List`]: object(
          {
            items,
            next_page_token: token,
            prev_page_token: token,
            total_size_estimate: count,
            total_size_accuracy: { type: "string", enum: ["exact", "estimate", "counting"] },
            total_size: count,
            ...(access.model.materialized === undefined ? {} : {
              refreshed_at: {
                type: ["string", "null"],
                format: "date-time",
                description: "When the data was as it is shown; null: not known."
              },
              refresh_failed_at: { type: ["string", "null"], format: "date-time" }
            })
          },
          ["items", "next_page_token", "total_size_estimate", "total_size_accuracy"]
        ),
        [`${name}.Page`]: object(
          { items, next_page_token: token, prev_page_token: token },
          ["items", "next_page_token", "prev_page_token"]
        )
      }
      : {}),
    ...(permissions.read && (permissions.create || permissions.update || permissions.delete)
      ? {
        [`${name}.Written`]: {
          description: "A record as written: every field the caller may read.",
          allOf: [ref("schemas", name)],
          required: restricted.fields.map((field) => field.name)
        }
      }
      : {}),
    ...(permissions.create
      ? { [`${name}.Create`]: createSchema(access, null, listsBelow(subject, subjects)) }
      : {}),
    ...(permissions.update ? { [`${name}.Update`]: updateSchema(access) } : {})
  }
}
