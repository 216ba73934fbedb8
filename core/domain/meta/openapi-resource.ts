/**
 * The paths of one resource in the OpenAPI document: exactly the operations that its caller may use, with the parameters that
 * `read/request.ts` and the write use cases read. What resources share is a component of `openapi-system.ts`. Names of fields come from the
 * restricted model.
 */

import type { RestrictedModel } from "../access/access.ts"
import type { Operation } from "../access/rules.ts"
import { maxOrderCharacters } from "../filter/order.ts"
import type { Field } from "../model/model.ts"
import { elementField, facetField } from "../model/model.ts"
import { facetable, histogrammable, timed } from "../read/aggregate.ts"
import { maxExpandCharacters, maxExpandDepth, maxRelations } from "../read/expand.ts"
import {
  defaultPageSize,
  delimiters,
  formulaModes,
  maxBodyFilter,
  maxPageSize,
  maxQueryFilter
} from "../read/request.ts"
import { granularities, seriesRanges } from "../value/instant.ts"
import type { Json } from "../value/kind.ts"
import { hasEquality, hasOrder } from "../value/traits.ts"
import {
  closedObject,
  codes,
  type Doc,
  exampleOf,
  exampleText,
  openObject,
  ref,
  type Subject,
  type Subjects,
  valueSchema
} from "./openapi-schema.ts"

const name = ({ access }: Subject): string => access.model.name

export const parameter = (id: string): Doc => ref("parameters", id)
const header = (id: string): Doc => ref("headers", id)

/** Components of the responses to refusals, by status; `default` covers every other. */
export const refusals = (...statuses: readonly number[]): Doc =>
  Object.fromEntries([...statuses.map(String), "default"].map((status) => [status, ref("responses", status)]))

/** Headers of a success: those of every answer, and more by name. */
export const headersOf = (...more: readonly string[]): Doc =>
  Object.fromEntries([...more, "X-Meta-Version", "X-Request-Id"].map((id) => [id, header(id)]))

export const jsonContent = (schema: Doc): Doc => ({ "application/json": { schema } })

export const respond = (description: string, schema: Doc, ...headers: readonly string[]): Doc => ({
  description,
  headers: headersOf(...headers),
  content: jsonContent(schema)
})

// -------------------------------------------------------------------------------------------------------------- parameters

/** Names and aliases that pass, aliases with their field. */
const namesThat = ({ access }: Subject, passes: (field: Field) => boolean): string => {
  const names: string[] = []
  for (const [text, field] of access.restricted.names) {
    if (passes(field)) names.push(text === field.name ? codes([text]) : `${codes([text])} (for ${codes([field.name])})`)
  }
  return names.join(", ")
}

const filterExample = (field: Field): string => {
  if (!hasEquality(facetField(field).kind)) return `${field.name}:*`
  if (field.kind === "list") return `${field.name}:${JSON.stringify(exampleText(elementField(field)))}`
  const text = exampleText(field)
  return `${field.name} = ${/^(?:-?[0-9.]+|true)$/.test(text) ? text : JSON.stringify(text)}`
}

/** Whether the resource has the parameter `filter`. */
export const mayFilter = (subject: Subject): boolean => filterText(subject) !== null

const filterText = (subject: Subject): string | null => {
  const { restricted } = subject.access
  const first = [...restricted.names.values()].find((field) => field.filterable)
  const parts = [
    ...(first === undefined
      ? []
      : [`Fields: ${namesThat(subject, (field) => field.filterable)}.`, `Example: \`${filterExample(first)}\`.`]),
    ...(restricted.searched.length === 0
      ? []
      : [`Bare words and \`search('text')\` look into ${codes(restricted.searched.map((field) => field.name))}.`]),
    ...(restricted.vectors.size === 0
      ? []
      : [`\`search(vector, 'text')\` looks for forms of words in ${codes(restricted.vectors.keys())}.`]),
    ...(subject.relations.length === 0
      ? []
      : [`Paths go through ${codes(subject.relations.map((relation) => relation.name))}.`])
  ]
  return parts.length === 0 ? null : ["A filter (AIP-160).", ...parts].join(" ")
}

const sorts = (field: Field): boolean => field.sortable && hasOrder(field.kind)

const orderText = (subject: Subject): string | null => {
  const names = namesThat(subject, sorts)
  const ways = subject.relations.filter(({ many }) => !many).map((relation) => relation.name)
  if (names === "" && ways.length === 0) return null
  return [
    "Names separated by commas, each with ` desc` if wanted (AIP-132).",
    ...names === "" ? [] : [`Fields: ${names}.`],
    ...ways.length === 0 ? [] : [`One path may go through ${codes(ways)}.`]
  ].join(" ")
}

const listedDepth = 2

/** The shortest of the paths that `expand` takes: relations, and relations of their targets. There are too many to list all. */
const expandPaths = (subject: Subject, subjects: Subjects, depth = listedDepth): readonly string[] =>
  subject.relations.flatMap((relation) => {
    const target = subjects.get(relation.target)
    const below = target === undefined || depth === 1 ? [] : expandPaths(target, subjects, depth - 1)
    return [relation.name, ...below.map((path) => `${relation.name}.${path}`)]
  })

export const names = (items: Doc, more: Doc = {}): Doc => ({ type: "array", items, ...more })

/** The relations that `expand` names, or null when there are none. */
export const relationSchema = (subject: Subject, subjects: Subjects): Doc | null => {
  const maker = subject.maker === null ? [] : [subject.maker.name]
  const paths = [...new Set([...expandPaths(subject, subjects), ...maker])]
  return paths.length === 0 ? null : { type: "string", enum: paths }
}

const shapes = "`fields`, `filter` and `order_by` as quoted texts, `page_size`, `count`, `depth`"

/** The elements of `expand`: a relation that the document lists, or a path with shapes. */
const expandSchema = (subject: Subject): Doc => ({
  anyOf: [ref("schemas", `${name(subject)}.Relation`), {
    type: "string",
    description: `A path of up to ${maxExpandDepth} relations. Each may have a shape: ${shapes}.`,
    maxLength: maxExpandCharacters,
    pattern: "[.(]"
  }]
})

/** A name of `fields`: a field, or a path to one of a related record. */
const fieldSchema = (subject: Subject): Doc => {
  const field = ref("schemas", `${name(subject)}.Field`)
  return subject.relations.length === 0 ? field : { anyOf: [field, relatedField] }
}

const relatedField: Doc = {
  type: "string",
  description: "A field of a related record.",
  pattern: "^[^,.]+(\\.[^,.]+)+$"
}

/** Whether a path leads to one record. */
export const hasToOne = ({ relations }: Subject): boolean => relations.some(({ many }) => !many)

/** What the reading routes take, each as description and schema. A parameter that this caller has no use for is absent. */
const readInputs = (subject: Subject, filterLimit: number) => {
  const filter = filterText(subject)
  const order = orderText(subject)
  return {
    ...(filter === null ? {} : { filter: { description: filter, schema: { type: "string", maxLength: filterLimit } } }),
    ...(order === null
      ? {}
      : { order_by: { description: order, schema: { type: "string", maxLength: maxOrderCharacters } } }),
    ...(subject.access.restricted.fields.length === 0 ? {} : {
      fields: {
        description: "Fields of the answer; all when left out.",
        schema: names(fieldSchema(subject))
      }
    }),
    ...(subject.relations.length === 0 && subject.maker === null ? {} : {
      expand: {
        description: "Relations to follow; their records stand in `expand`.",
        schema: names(
          subject.relations.length === 0
            ? ref("schemas", `${name(subject)}.Relation`)
            : expandSchema(subject),
          { maxItems: maxRelations }
        )
      }
    })
  } satisfies { readonly [input: string]: { readonly description: string; readonly schema: Doc } }
}

const isRequired = ({ default: given, optional }: Field): boolean => !optional && given === null

/** The arguments of a function of the database, as members of a body; nothing where there are none. */
export const argumentMembers = ({ access: { model: { function: called } } }: Subject): Doc => {
  const fields = called?.arguments.map(({ field }) => field) ?? []
  return fields.length === 0 ? {} : {
    args: closedObject(
      Object.fromEntries(fields.map((field) => [field.name, valueSchema(field)])),
      fields.filter(isRequired).map((field) => field.name),
      { description: "Arguments of the function." }
    )
  }
}

const requiredOf = ({ access: { model } }: Subject): readonly Field[] =>
  (model.function?.arguments ?? []).flatMap(({ field }) => isRequired(field) ? [field] : [])

/** Members that a body must have. */
export const requiredMembers = (subject: Subject): readonly string[] => requiredOf(subject).length === 0 ? [] : ["args"]

/** The arguments in an example of a body. */
export const argumentExample = (subject: Subject): Doc =>
  requiredOf(subject).length === 0
    ? {}
    : { args: Object.fromEntries(requiredOf(subject).map((field) => [field.name, exampleOf(field)])) }

/** Their parameter components: `orders_of.args.customer`. */
const argumentParameters = ({ access: { model } }: Subject): Doc =>
  Object.fromEntries((model.function?.arguments ?? []).map(({ field }) => [`${model.name}.args.${field.name}`, {
    name: `args.${field.name}`,
    in: "query",
    ...(isRequired(field) ? { required: true } : {}),
    description: field.help ?? "An argument of the function.",
    schema: field.kind === "json"
      ? { type: "string", description: "JSON." }
      : valueSchema({ ...field, optional: false })
  }]))

/** References to them. */
export const argumentInputs = (subject: Subject): readonly Doc[] =>
  Object.keys(argumentParameters(subject)).map(parameter)

/** The body of `:search`: what the parameters of a list are. */
export const searchSchema = (subject: Subject): Doc => {
  const inputs = Object.entries(readInputs(subject, maxBodyFilter)).map(([input, { schema }]) => [input, schema])
  return closedObject(
    {
      ...argumentMembers(subject),
      ...Object.fromEntries(inputs),
      page_size: { type: "integer", minimum: 0, default: defaultPageSize },
      page_token: ref("schemas", "PageToken"),
      count: { type: "string", enum: ["exact"] },
      ...(subject.access.model.softDelete === null ? {} : { show_deleted: { type: "boolean", default: false } })
    },
    requiredMembers(subject),
    { description: "The list's parameters as members.", examples: [{ ...argumentExample(subject), page_size: 10 }] }
  )
}

/** Fields that an aggregate takes. */
export const aggregable = ({ access }: Subject, accepts: (field: Field) => string | null): readonly Field[] =>
  aggregatedFields(access.restricted).filter((field) => field.filterable && accepts(field) === null)

/** Readable fields and declared paths into them. */
export const aggregatedFields = ({ fields, model: { members = [] }, names }: RestrictedModel): readonly Field[] => [
  ...fields,
  ...members.filter((member) => names.get(member.name) === member)
]

/** A list in a query is one text with commas. */
export const commaList = { style: "form", explode: false }

const key = ({ access: { model, restricted } }: Subject): Doc => {
  const readable = model.key.every((field) => restricted.byName.has(field.name))
  const named = readable ? ` (${codes(model.key.map((field) => field.name))})` : ""
  // Simple style joins the parts with commas and percent-encodes each, as keys are written.
  const schema: Doc = model.key.length === 1
    ? { type: "string", ...(readable ? { examples: [exampleText(model.key[0]!)] } : {}) }
    : { type: "array", items: { type: "string" }, minItems: model.key.length, maxItems: model.key.length }
  return { name: "key", in: "path", required: true, description: `The record's key${named}.`, schema }
}

/** The measures of `:series` and `:facets`. */
const measureParameter = (subject: Subject): Doc => {
  const numeric = aggregable(subject, histogrammable)
  const measures = ["sum", "avg", "min", "max"].flatMap((of) => numeric.map((field) => `${of}:${field.name}`))
  return {
    name: "measure",
    in: "query",
    description: "What each point or facet tells.",
    schema: { type: "string", enum: ["count", ...measures], default: "count" }
  }
}

/** The parameter components of one resource: `orders.filter`, `orders.key`, … */
export const resourceParameters = (subject: Subject): Doc => {
  const { permissions } = subject
  const components: { [id: string]: Json } = {}
  if (permissions.read) {
    for (const [input, { description, schema }] of Object.entries(readInputs(subject, maxQueryFilter))) {
      const list = schema.type === "array" ? commaList : {}
      components[`${name(subject)}.${input}`] = { name: input, in: "query", description, ...list, schema }
    }
  }
  if (permissions.read) Object.assign(components, argumentParameters(subject))
  if (permissions.read) components[`${name(subject)}.measure`] = measureParameter(subject)
  if (permissions.read || permissions.update || permissions.delete) components[`${name(subject)}.key`] = key(subject)
  return components
}

// -------------------------------------------------------------------------------------------------------------- operations

const someRecords: { readonly [operation in Operation]: string } = {
  read: "Only some records are visible.",
  create: "Only some records may be created.",
  update: "Only some records may be changed.",
  delete: "Only some records may be deleted."
}

interface Parts {
  readonly rule: Operation
  readonly summary: string
  readonly parameters?: readonly Doc[]
  readonly body?: Doc
  readonly responses: Doc
}

/** An operation of a resource. */
export const operation = (
  subject: Subject,
  id: string,
  { body, parameters, responses, rule, summary }: Parts
): Doc => ({
  operationId: `${id}_${name(subject)}`,
  tags: [name(subject)],
  summary,
  ...(subject.permissions.conditional.includes(rule) ? { description: someRecords[rule] } : {}),
  ...(parameters === undefined || parameters.length === 0 ? {} : { parameters }),
  ...(body === undefined ? {} : { requestBody: { required: true, content: jsonContent(body) } }),
  responses
})

const writeParameters: readonly Doc[] = ["Prefer", "dry_run", "validate_only"].map(parameter)

/** A choice among field names, as the aggregates take it. */
/** `paths`: a field of one related record is taken, too. */
export const fieldParameter = (fields: readonly Field[], description: string, paths = false): Doc => ({
  name: "field",
  in: "query",
  required: true,
  description,
  schema: paths
    ? { anyOf: [{ type: "string", enum: fields.map((field) => field.name) }, relatedField] }
    : { type: "string", enum: fields.map((field) => field.name) }
})

const readPaths = (subject: Subject, collection: string): { readonly [path: string]: Doc } => {
  const { access } = subject
  const resource = name(subject)
  const own = new Set(Object.keys(resourceParameters(subject)))
  const softDelete = access.model.softDelete !== null
  /** The resource's own parameters that exist, then shared ones. */
  const inputs = (mine: readonly string[], shared: readonly string[]): readonly Doc[] => [
    ...argumentInputs(subject),
    ...mine.map((input) => `${resource}.${input}`).filter((id) => own.has(id)).map(parameter),
    ...shared.filter((id) => id !== "show_deleted" || softDelete).map(parameter)
  ]
  const list = ref("responses", `${resource}.List`)
  const faceted = aggregable(subject, facetable)
  const numeric = aggregable(subject, histogrammable)
  const moments = aggregable(subject, timed)
  const measure = parameter(`${resource}.measure`)
  const aggregate = (
    id: string,
    fields: readonly Field[],
    summary: string,
    what: string,
    schema: string,
    more: readonly Doc[]
  ) =>
    fields.length === 0 ? {} : {
      [`${collection}:${id}`]: {
        get: operation(subject, id, {
          rule: "read",
          summary,
          parameters: [
            fieldParameter(fields, what, id === "facets" && hasToOne(subject)),
            ...more,
            ...inputs(["filter"], ["show_deleted"])
          ],
          responses: { "200": ref("responses", schema), ...refusals(400, 401) }
        })
      }
    }
  return {
    [collection]: {
      get: operation(subject, "list", {
        rule: "read",
        summary: "List records",
        parameters: inputs(["filter", "order_by", "fields", "expand"], [
          "page_size",
          "page_token",
          "count",
          "show_deleted"
        ]),
        responses: { "200": list, ...refusals(400, 401) }
      })
    },
    [`${collection}:search`]: {
      post: operation(subject, "search", {
        rule: "read",
        summary: "List records, with the parameters in a body",
        body: ref("schemas", `${resource}.Search`),
        responses: { "200": list, ...refusals(400, 401) }
      })
    },
    [`${collection}:seek`]: {
      get: operation(subject, "seek", {
        rule: "read",
        summary: "The page at a row number",
        parameters: [
          parameter("position"),
          ...inputs(["filter", "order_by", "fields", "expand"], ["page_size", "show_deleted"])
        ],
        responses: {
          "200": respond("The page.", ref("schemas", `${resource}.Page`), "X-Service-Warning"),
          ...refusals(400, 401)
        }
      })
    },
    [`${collection}:export`]: {
      get: operation(subject, "export", {
        rule: "read",
        summary: "All that a list shows, as a file that streams",
        parameters: [
          ...["format", "delimiter", "formulas", "file_links"].map(parameter),
          ...inputs(["filter", "order_by", "fields"], ["show_deleted"])
        ],
        responses: {
          "200": ref("responses", "Export"),
          ...refusals(400, 401, 429)
        }
      })
    },
    ...(subject.permissions.refresh !== true ? {} : {
      [`${collection}:refresh`]: {
        post: operation(subject, "refresh", {
          rule: "read",
          summary: "Have the materialized view refreshed by a job",
          responses: {
            "202": respond("The job, or that of another request.", openObject({ job: { type: "string" } }, ["job"])),
            ...refusals(400, 401, 403)
          }
        })
      }
    }),
    ...aggregate("facets", faceted, "The most frequent values of a field", "The field.", "Facets", [
      parameter("limit"),
      measure
    ]),
    ...aggregate("series", moments, "Counts or measures over time", "A timestamp or date.", "Series", [
      ...["range", "from", "to", "granularity", "time_zone"].map(parameter),
      measure
    ]),
    ...aggregate("histogram", numeric, "Counts in buckets of equal width", "A numeric field.", "Histogram", [
      parameter("buckets")
    ]),
    [`${collection}/{key}`]: {
      get: operation(subject, "get", {
        rule: "read",
        summary: "Get a record",
        parameters: inputs(["fields", "expand"], ["show_deleted", "If-None-Match"]),
        responses: {
          "200": respond(
            "The record.",
            ref("schemas", resource),
            "ETag",
            ...(own.has(`${resource}.expand`) ? ["X-Service-Warning"] : [])
          ),
          "304": ref("responses", "304"),
          ...refusals(400, 401, 404)
        }
      })
    }
  }
}

/** The response components of one resource: `orders.List`, `orders.Written`, `orders.Created`. */
export const resourceResponses = ({ access: { model: { name: resource } }, permissions }: Subject): Doc => {
  const written = (description: string, ...headers: readonly string[]): Doc =>
    permissions.read
      ? respond(description, ref("schemas", `${resource}.Written`), ...headers, "Preference-Applied")
      : { description, headers: headersOf(...headers, "Preference-Applied") }
  return {
    [`${resource}.List`]: respond("A page of records.", ref("schemas", `${resource}.List`), "X-Service-Warning"),
    [`${resource}.Written`]: written(
      "The record as written; a deleted record only when `Prefer` asks for it.",
      "ETag",
      ...(permissions.create && permissions.update ? ["Idempotency-Replayed"] : [])
    ),
    [`${resource}.Created`]: written(
      "The record as written; no body with `return=minimal`, or when the caller cannot see it.",
      "Location",
      "ETag",
      "Idempotency-Replayed"
    )
  }
}

/** What an update takes and answers besides: where the caller may create, and where a unique field may name the record. */
const upsertParts = ({ access: { restricted }, permissions }: Subject, resource: string) => {
  const unique = restricted.fields.filter((field) => field.unique).map((field) => field.name)
  const named: readonly Doc[] = unique.length === 0 ? [] : [
    {
      name: "key",
      in: "path",
      required: true,
      description: "The record's key, or the value of the field that `match` names.",
      schema: { type: "string" }
    },
    {
      name: "match",
      in: "query",
      description: "A unique field that names the record instead of its key.",
      schema: { type: "string", enum: unique }
    }
  ]
  return permissions.create
    ? {
      parameters: [
        ...["If-Match-Any", "Only-Create", "allow_missing", "Idempotency-Key"].map(parameter),
        ...named
      ],
      responses: { "201": ref("responses", `${resource}.Created`) }
    }
    : { parameters: [parameter("If-Match-Required"), ...named], responses: {} }
}

const writePaths = (subject: Subject, collection: string): { readonly [path: string]: Doc } => {
  const { access, permissions } = subject
  const resource = name(subject)
  const written = ref("responses", `${resource}.Written`)
  const nothing = ref("responses", "204")
  const item: { [method: string]: Json } = {}
  if (permissions.update) {
    const more = upsertParts(subject, resource)
    item["patch"] = operation(subject, "update", {
      rule: "update",
      summary: permissions.create ? "Change a record, or create it" : "Change a record",
      parameters: [...more.parameters, ...writeParameters],
      body: ref("schemas", `${resource}.Update`),
      responses: {
        ...more.responses,
        "200": written,
        "204": nothing,
        ...refusals(400, 401, 403, 404, 409, 412, 428)
      }
    })
  }
  if (permissions.delete) {
    item["delete"] = operation(subject, "delete", {
      rule: "delete",
      summary: access.model.softDelete === null ? "Delete a record" : "Delete a record; it can be undeleted",
      parameters: [parameter("If-Match"), ...writeParameters],
      responses: {
        "200": written,
        "204": nothing,
        ...refusals(400, 401, 403, 404, 409, 412)
      }
    })
  }
  const filtered = (op: "update" | "delete", body: Doc | null): Doc =>
    operation(subject, `${op}_where`, {
      rule: op,
      summary: op === "update" ? "Change what passes a filter" : "Delete what passes a filter",
      parameters: ["matching", "expected_count", "dry_run", "validate_only", "Idempotency-Key"].map(parameter),
      ...(body === null ? {} : { body }),
      responses: { "200": ref("responses", "Filtered"), ...refusals() }
    })
  const readable = permissions.read && access.model.key.every((field) => access.restricted.byName.has(field.name))
  const whole: { [method: string]: Json } = {}
  if (permissions.update && readable) whole["patch"] = filtered("update", ref("schemas", `${resource}.Update`))
  if (permissions.delete && readable) whole["delete"] = filtered("delete", null)
  return {
    ...(Object.keys(whole).length === 0 ? {} : { [collection]: whole }),
    ...(permissions.create
      ? {
        [collection]: {
          ...whole,
          post: operation(subject, "create", {
            rule: "create",
            summary: "Create a record",
            parameters: [...writeParameters, parameter("Idempotency-Key")],
            body: ref("schemas", `${resource}.Create`),
            responses: {
              "201": ref("responses", `${resource}.Created`),
              ...refusals(400, 401, 403, 409, 422)
            }
          })
        }
      }
      : {}),
    ...(Object.keys(item).length === 0 ? {} : { [`${collection}/{key}`]: item }),
    ...(permissions.update && access.model.softDelete !== null
      ? {
        [`${collection}/{key}:undelete`]: {
          post: operation(subject, "undelete", {
            rule: "update",
            summary: "Bring a deleted record back",
            parameters: [parameter("If-Match"), ...writeParameters],
            responses: {
              "200": written,
              "204": nothing,
              ...refusals(400, 401, 403, 404, 409, 412)
            }
          })
        }
      }
      : {}),
    ...(permissions.update && access.model.history !== null
      ? {
        [`${collection}/{key}:restore`]: {
          post: operation(subject, "restore", {
            rule: "update",
            summary: `Write a version of the record back; versions are in ${access.model.history}`,
            parameters: [parameter("If-Match-Required"), ...writeParameters],
            body: {
              type: "object",
              required: ["version"],
              additionalProperties: false,
              properties: { version: { type: "string", description: "The history_id of a version." } }
            },
            responses: {
              "200": written,
              "204": nothing,
              ...refusals(400, 401, 403, 404, 409, 412, 428)
            }
          })
        }
      }
      : {})
  }
}

/** The path items of one resource; `collection` is its path, for example `/api/v1/orders`. */
export const resourcePaths = (subject: Subject, collection: string): Doc => {
  const paths: { [path: string]: Doc } = {}
  const parts = [
    ...(subject.permissions.read ? [readPaths(subject, collection)] : []),
    writePaths(subject, collection)
  ]
  for (const part of parts) {
    for (const [path, item] of Object.entries(part)) {
      const keyed = path.startsWith(`${collection}/{key}`)
      paths[path] = { ...(keyed ? { parameters: [parameter(`${name(subject)}.key`)] } : {}), ...paths[path], ...item }
    }
  }
  return paths
}

// ------------------------------------------------------------------------------------------------------------------ shared

const query = (id: string, description: string, schema: Doc, required = false): readonly [string, Doc] => [
  id,
  { name: id, in: "query", ...(required ? { required } : {}), description, schema }
]

/** The query parameters that every resource's reading and writing routes share. */
export const sharedQuery: Doc = Object.fromEntries([
  query("page_size", `Records on the page. 0 is the default; more than ${maxPageSize} is cut to ${maxPageSize}.`, {
    type: "integer",
    minimum: 0,
    default: defaultPageSize
  }),
  query(
    "page_token",
    "`next_page_token` or `prev_page_token` of an answer to the same request.",
    ref("schemas", "PageToken")
  ),
  query("count", "Adds `total_size`.", { type: "string", enum: ["exact"] }),
  query("show_deleted", "Also deleted records.", { type: "boolean", default: false }),
  query("position", "0-based row number; beyond the end it gives the last page.", {
    type: "integer",
    minimum: 0,
    examples: [0]
  }, true),
  query("limit", "Values in the answer. 0 is the default; more than 500 is cut to 500.", {
    type: "integer",
    minimum: 0,
    default: 50
  }),
  query("range", "Up to today; `30d` unless `from` and `to` are given.", { type: "string", enum: seriesRanges }),
  query("from", "First date or timestamp; goes with `to`, without `range`.", {
    type: "string",
    examples: ["2026-01-01"]
  }),
  query("to", "Last date, or the timestamp that ends the range.", { type: "string", examples: ["2026-01-31"] }),
  query("granularity", "Length of a bucket.", { type: "string", enum: granularities, default: "day" }),
  query("time_zone", "IANA time zone whose midnights bound the buckets.", { type: "string", default: "UTC" }),
  query("buckets", "Number of buckets.", { type: "integer", minimum: 1, maximum: 100, default: 10 }),
  query("format", "A table for spreadsheets, or one JSON object a line.", {
    type: "string",
    enum: ["csv", "ndjson"],
    default: "csv"
  }),
  query("delimiter", "What separates the values of a table.", { type: "string", enum: delimiters, default: "comma" }),
  query("formulas", "Whether texts that a spreadsheet would compute get an apostrophe in front.", {
    type: "string",
    enum: formulaModes,
    default: "escape"
  }),
  query(
    "file_links",
    "Whether a table has a column with the absolute address of each file. Links of private files end after two hours at the latest.",
    {
      type: "boolean",
      default: false
    }
  ),
  ["matching", {
    name: "filter",
    in: "query",
    required: true,
    description: "Which records; at most 500 pass. Beyond that, `:bulk`.",
    schema: { type: "string" }
  }],
  query("expected_count", "How many records pass. Required unless it is a dry run, which tells it.", {
    type: "integer",
    minimum: 0
  }),
  query("allow_missing", "Whether a missing record is created; the body then has what a create requires.", {
    type: "boolean",
    default: false
  }),
  query("dry_run", "Checks everything and writes nothing.", { type: "boolean", default: false }),
  query("validate_only", "The name of `dry_run` in AIP-163; either of them is enough.", {
    type: "boolean",
    default: false
  })
])

/** The answer of an export. */
export const exportResponse: Doc = {
  description: "The records, in order. An answer that breaks off is not complete.",
  headers: headersOf("X-Service-Warning"),
  content: {
    "text/csv": { schema: { type: "string" } },
    "application/x-ndjson": { schema: { type: "string", description: "One JSON object a line." } }
  }
}

/** The answer of a change by filter. */
export const filteredResponse: Doc = respond(
  "How many records passed, and how many of them differ from before.",
  openObject({ count: { type: "integer" }, changed: { type: "integer" } }, ["count", "changed"]),
  "Idempotency-Replayed"
)

/** Schemas and responses of the aggregates. */
const facet = openObject({
  value: { description: "A value of the field, or null." },
  count: ref("schemas", "RowCount"),
  measure: { type: ["string", "null"], description: "The measure as exact text, when one was asked for." }
}, [
  "value",
  "count"
])
const point = openObject({
  start: { type: "string", format: "date-time" },
  count: ref("schemas", "RowCount"),
  value: { type: ["string", "null"], description: "The measure as exact text, when one was asked for." }
}, ["start"])
const bound: Doc = { type: ["number", "string"] }
const bucket = openObject({ from: bound, to: bound, count: ref("schemas", "RowCount") }, ["from", "to", "count"])
const field: Doc = { type: "string" }
export const aggregateResponses: Doc = {
  Facets: respond(
    "The most frequent values first.",
    openObject({ field, measure: { type: "string" }, facets: { type: "array", items: facet } }, ["field", "facets"]),
    "X-Service-Warning"
  ),
  Series: respond(
    "Every bucket of the range, empty ones too.",
    openObject({
      field,
      granularity: { type: "string", enum: granularities },
      time_zone: { type: "string" },
      measure: { type: "string" },
      points: { type: "array", items: point }
    }, ["field", "granularity", "time_zone", "points"]),
    "X-Service-Warning"
  ),
  Histogram: respond(
    "Buckets between the smallest and the largest value; none when there is no value.",
    openObject({ field, buckets: { type: "array", items: bucket } }, ["field", "buckets"]),
    "X-Service-Warning"
  )
}
