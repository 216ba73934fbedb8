/** `:aggregate` in the OpenAPI document: which groups and measures the caller may ask for, in a query or in a body. */

import { maxOrderCharacters } from "../filter/order.ts"
import type { Field } from "../model/model.ts"
import { timed } from "../read/aggregate.ts"
import { isGroupable, maxKeys, maxMeasures, measurable } from "../read/group.ts"
import { defaultGroups, maxBodyFilter, maxGroups, maxQueryFilter } from "../read/request.ts"
import { granularities } from "../value/instant.ts"
import {
  aggregable,
  aggregatedFields,
  argumentExample,
  argumentInputs,
  argumentMembers,
  commaList,
  hasToOne,
  names,
  operation,
  parameter,
  refusals,
  requiredMembers,
  respond
} from "./openapi-resource.ts"
import { closedObject, type Doc, openObject, ref, type Subject } from "./openapi-schema.ts"

const anyOf = (texts: readonly string[]): string => texts.length === 1 ? texts[0]! : `(?:${texts.join("|")})`

/** A path to a field of a related record. */
const path = "[^(),.]+(?:\\.[^(),.]+)+"

/**
 * A pattern of names, or of words with one of some fields in parentheses; `paths`: also of related ones. A list of all would be most of the document.
 */
const writtenAs = (
  plain: readonly string[],
  calls: ReadonlyArray<readonly [words: readonly string[], fields: readonly Field[]]>,
  paths = false
): Doc => {
  const more = paths ? [path] : []
  const called = calls.filter(([, fields]) => paths || fields.length > 0).map(([words, fields]) =>
    `${anyOf(words)}\\(${anyOf([...fields.map(({ name }) => name), ...more])}\\)`
  )
  const [words, fields] = calls.find(([, fields]) => fields.length > 0) ?? [[], []]
  const example = fields[0] === undefined ? [] : [`${words[0]!}(${fields[0].name})`]
  return {
    type: "string",
    pattern: `^${anyOf([...plain, ...more, ...called])}$`,
    examples: [...plain.slice(0, 1), ...example]
  }
}

/** Measures that take the same fields, together. */
const measureCalls = (subject: Subject): ReadonlyArray<readonly [words: readonly string[], fields: readonly Field[]]> =>
  [...Map.groupBy(Object.entries(measurable), ([, accepts]) => accepts)].map(([accepts, alike]) => [
    alike.map(([of]) => of),
    aggregable(subject, accepts)
  ])

const groupable = ({ access: { restricted } }: Subject): readonly string[] =>
  aggregatedFields(restricted).filter((field) => isGroupable(restricted, field)).map(({ name }) => name)

/** What the caller may group by and measure: `orders.Group` and `orders.Measure`. */
export const groupSchemas = (subject: Subject): Doc => {
  const { name } = subject.access.model
  const keys = groupable(subject)
  return {
    ...(keys.length === 0 ? {} : {
      [`${name}.Group`]: writtenAs(keys, [[granularities, aggregable(subject, timed)]], hasToOne(subject))
    }),
    [`${name}.Measure`]: writtenAs(["count"], measureCalls(subject)),
    [`${name}.Aggregate`]: aggregateSchema(subject)
  }
}

/** What `:aggregate` takes that differs by resource: descriptions and schemas. */
const groupInputs = (subject: Subject) => {
  const { name } = subject.access.model
  return {
    ...(groupable(subject).length === 0 ? {} : {
      group_by: {
        description:
          "Fields, paths to fields of one related record, or buckets of time such as `month(field)`. Without any there is one group.",
        schema: names(ref("schemas", `${name}.Group`), { maxItems: maxKeys })
      }
    }),
    measures: {
      description: "What is told of each group. `median` and `p95` are values of the field, by nearest rank.",
      schema: names(ref("schemas", `${name}.Measure`), { maxItems: maxMeasures, default: ["count"] })
    }
  } satisfies { readonly [input: string]: { readonly description: string; readonly schema: Doc } }
}

const conditions = (maxLength: number): Doc => ({ type: "string", maxLength })
const orders = conditions(maxOrderCharacters)
const limits: Doc = { type: "integer", minimum: 0, default: defaultGroups }

/** The parameters of `:aggregate` that all resources share, by component. */
export const groupParameters: Doc = {
  "Aggregate.having": {
    name: "having",
    in: "query",
    description: "A filter over measures of this request, such as `count > 1`.",
    schema: conditions(maxQueryFilter)
  },
  "Aggregate.order_by": {
    name: "order_by",
    in: "query",
    description: "Groups and measures of this request, separated by commas, each with ` desc` if wanted.",
    schema: orders
  },
  "Aggregate.limit": {
    name: "limit",
    in: "query",
    description: `Groups in the answer. 0 is the default; more than ${maxGroups} is cut to ${maxGroups}.`,
    schema: limits
  }
}

const mayFilter = (fields: readonly Field[]): boolean => fields.some(({ filterable }) => filterable)

/** The body of `:aggregate`: what its parameters are. */
const aggregateSchema = (subject: Subject): Doc => {
  const { access: { model, restricted } } = subject
  return closedObject(
    {
      ...Object.fromEntries(Object.entries(groupInputs(subject)).map(([input, { schema }]) => [input, schema])),
      ...argumentMembers(subject),
      having: conditions(maxBodyFilter),
      ...(mayFilter(restricted.fields) ? { filter: conditions(maxBodyFilter) } : {}),
      order_by: orders,
      time_zone: { type: "string", default: "UTC" },
      limit: limits,
      ...(model.softDelete === null ? {} : { show_deleted: { type: "boolean", default: false } })
    },
    requiredMembers(subject),
    { description: "The parameters as members.", examples: [{ ...argumentExample(subject), measures: ["count"] }] }
  )
}

/** The path item of `:aggregate`; `collection` is the path of the resource. */
export const groupPaths = (subject: Subject, collection: string): Doc => {
  const { access: { model, restricted }, permissions } = subject
  if (!permissions.read) return {}
  const responses = { "200": ref("responses", "Groups"), ...refusals(400, 401) }
  const own = Object.entries(groupInputs(subject)).map(([input, { description, schema }]): Doc => ({
    name: input,
    in: "query",
    description,
    ...commaList,
    schema
  }))
  const shared = [
    ...Object.keys(groupParameters),
    "time_zone",
    ...(mayFilter(restricted.fields) ? [`${model.name}.filter`] : []),
    ...(model.softDelete === null ? [] : ["show_deleted"])
  ]
  return {
    [`${collection}:aggregate`]: {
      get: operation(subject, "aggregate", {
        rule: "read",
        summary: "Measures of groups of records",
        parameters: [...argumentInputs(subject), ...own, ...shared.map(parameter)],
        responses
      }),
      post: operation(subject, "aggregate_by_body", {
        rule: "read",
        summary: "The same, with the parameters in a body",
        body: ref("schemas", `${model.name}.Aggregate`),
        responses
      })
    }
  }
}

const group = openObject({
  group: {
    type: "object",
    description: "The values of `group_by`, by the names of the request. The value of a bucket is its first instant.",
    additionalProperties: { type: ["string", "number", "boolean", "null"] }
  },
  measures: {
    type: "object",
    description: "The measures, by the names of the request: counts as numbers, others as exact texts, or null.",
    additionalProperties: { anyOf: [ref("schemas", "RowCount"), { type: ["string", "null"] }] }
  }
}, ["group", "measures"])

export const groupResponses: Doc = {
  Groups: respond(
    "The groups in order. `more`: there are more than `limit`.",
    openObject({ groups: { type: "array", items: group }, more: { type: "boolean" } }, ["groups", "more"]),
    "X-Service-Warning"
  )
}
