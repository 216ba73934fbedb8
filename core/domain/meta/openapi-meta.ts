/**
 * The meta document (`meta.ts`, `view.ts`) as the OpenAPI document describes it, so that a generated client knows its members. It describes the
 * shape alone, the same for every caller.
 */

import { bulkOps } from "../task/task.ts"
import { granularities, seriesRanges } from "../value/instant.ts"
import type { MetaField } from "./meta.ts"
import { anyObject, type Doc, openObject, ref } from "./openapi-schema.ts"

const text: Doc = { type: "string" }
const textOrNull: Doc = { type: ["string", "null"] }
const flag: Doc = { type: "boolean" }
const integer: Doc = { type: "integer" }
const list = (items: Doc): Doc => ({ type: "array", items })
const orNull = (schema: Doc): Doc => ({ anyOf: [schema, { type: "null" }] })
const byResource = (schema: Doc): Doc => ({ type: "object", additionalProperties: schema })

/** An object whose members all stand always. */
const whole = (properties: Doc, more: Doc = {}): Doc => openObject(properties, Object.keys(properties), more)

const kinds = {
  integer: true,
  text: true,
  boolean: true,
  timestamp: true,
  date: true,
  decimal: true,
  float: true,
  enum: true,
  uuid: true,
  json: true,
  currency: true,
  country: true,
  time: true,
  interval: true,
  inet: true,
  cidr: true,
  macaddr: true,
  bytes: true,
  money: true,
  range: true,
  native: true,
  file: true,
  files: true,
  array: true
} satisfies { readonly [kind in MetaField["kind"]]: true }

const boundMembers = {
  bits: { type: "integer", enum: [16, 32, 64] },
  max: { ...integer, description: "Texts: most characters. Bytes: most bytes. Arrays: most elements." },
  precision: integer,
  scale: integer,
  values: { ...list(text), description: "Enums." }
}

const fieldMembers = {
  name: text,
  label: { ...text, description: "What people read instead of the name." },
  help: { ...text, description: "What somebody who fills it in should know." },
  kind: { type: "string", enum: Object.keys(kinds) },
  ...boundMembers,
  items: openObject({ kind: text, ...boundMembers, nulls: { const: true } }, ["kind"], {
    description: "Arrays: what their elements are."
  }),
  multiline: { ...flag, description: "Texts: whether forms show several lines; absent: by the length." },
  ordered: { const: true, description: "Enums: their values compare and sort in this order." },
  paths: {
    ...list(
      openObject({ path: text, kind: text, filterable: flag, sortable: flag }, [
        "path",
        "kind",
        "filterable",
        "sortable"
      ])
    ),
    description: "JSON: declared paths into it, with the bounds of their kinds."
  },
  of: { type: "string", enum: ["integer", "bigint", "decimal", "date", "timestamp"], description: "Ranges." },
  type: { ...text, description: "Native values: the type in PostgreSQL." },
  relation: { ...text, description: "The resource that a foreign key points at." },
  alias: { ...text, description: "One more name in `filter` and `order_by`." },
  default: openObject({ value: {}, db: { const: true } }, [], { description: "One of the two." }),
  optional: flag,
  readOnly: { ...flag, description: "The caller can write it in no body." },
  writable: whole({ create: flag, update: flag }),
  filterable: flag,
  sortable: flag,
  searched: flag,
  sensitive: flag
}

const fieldSchema = openObject(
  fieldMembers,
  ["name", "kind", "optional", "readOnly", "writable", "filterable", "sortable", "searched", "sensitive"],
  { description: "A readable field. Members that say nothing about its kind are absent." }
)

const argumentMembers = [
  "name",
  "label",
  "help",
  "kind",
  "bits",
  "max",
  "multiline",
  "precision",
  "scale",
  "values",
  "default",
  "optional"
] as const

const argumentSchema = openObject(
  Object.fromEntries(argumentMembers.map((name) => [name, fieldMembers[name]])),
  ["name", "kind", "optional"]
)

const modelMembers = {
  name: text,
  primaryKey: { ...list(text), description: "In key order; empty when a part is hidden." },
  fields: list(ref("schemas", "MetaModelField")),
  relations: list(whole({ name: text, resource: text, many: flag, field: text, targetField: text })),
  softDelete: flag,
  tenantScoped: flag,
  owner: textOrNull,
  version: textOrNull
}

const modelSchema = openObject(
  {
    ...modelMembers,
    description: { ...text, description: "What its records are; absent where nothing is declared." },
    arguments: {
      ...list(argumentSchema),
      description: "Arguments that reads take as `args.NAME`; absent where it is no function of the database."
    },
    searchVectors: {
      ...list(text),
      description: "Search vectors, for `search(vector, 'text')` and `rank`; absent without."
    }
  },
  Object.keys(modelMembers)
)

const chartSchema = openObject(
  {
    of: { type: "string", enum: ["series", "histogram", "facets"] },
    field: text,
    granularity: { type: "string", enum: granularities },
    range: { type: "string", enum: seriesRanges },
    measure: text,
    measured: textOrNull,
    buckets: integer,
    limit: integer
  },
  ["of", "field"]
)

const viewMembers = {
  name: text,
  label: whole({ singular: text, plural: text }),
  columns: list(text),
  sort: { ...text, description: "An `order_by`; empty: by key." },
  filters: list(whole({ name: text, filter: text })),
  search: list(text),
  layout: list(whole({ label: textOrNull, fields: list(text) })),
  chart: orNull(chartSchema),
  title: textOrNull,
  nav: orNull(whole({
    group: textOrNull,
    order: { type: "number" },
    icon: textOrNull,
    bottom: flag,
    recent: orNull(whole({ sort: text, limit: integer }))
  })),
  links: list(whole({ label: text, href: { ...text, description: "`{field}` stands for the record's value." } })),
  actions: list(whole({
    label: text,
    function: text,
    confirm: textOrNull,
    on: { type: "string", enum: ["record", "selection"] }
  })),
  cells: { ...byResource(text), description: "By field: the plugin's component that draws it." }
}

const viewSchema = openObject(
  {
    ...viewMembers,
    inputs: {
      ...byResource(text),
      description: "By field: the plugin's component that it is edited with. Absent where there are none."
    }
  },
  Object.keys(viewMembers)
)

const blockSchema = openObject(
  {
    of: { type: "string", enum: ["number", "chart", "list", "text", "component"] },
    label: textOrNull,
    resource: text,
    filter: text,
    measure: text,
    measured: textOrNull,
    period: orNull(whole({ field: text, range: text })),
    chart: chartSchema,
    columns: list(text),
    sort: text,
    limit: integer,
    text,
    component: text,
    props: {}
  },
  ["of"],
  { description: "A part of a composed page. Which members stand depends on `of`." }
)

const resourceMembers: Doc = {
  models: list(ref("schemas", "MetaModel")),
  views: byResource(ref("schemas", "MetaView")),
  permissions: byResource(openObject({
    read: flag,
    create: flag,
    update: flag,
    delete: flag,
    conditional: { ...list(text), description: "Those that are allowed for some records only." },
    refresh: { ...flag, description: "Of a materialized view: whether `:refresh` is allowed." }
  }, ["read", "create", "update", "delete", "conditional"])),
  transfers: byResource(whole({
    export: flag,
    bulk: list({ type: "string", enum: bulkOps }),
    import: list({ type: "string", enum: ["create", "update"] })
  }))
}

const commonMembers: Doc = {
  user: whole({ id: text, roles: list(text), tenant: textOrNull }),
  userMenu: list(whole({ label: text, href: text, page: textOrNull, resource: textOrNull })),
  pages: list(whole({
    name: text,
    label: text,
    href: text,
    resource: textOrNull,
    blocks: orNull(list(ref("schemas", "MetaBlock")))
  })),
  sources: list(anyObject),
  functions: list(whole({ name: text, description: textOrNull }))
}

const documentMembers: Doc = { ...commonMembers, ...resourceMembers }

const jobs: Doc = {
  type: "boolean",
  enum: [true],
  description: "For admins of a service that has a queue; else absent."
}

const like: Doc = { ...integer, description: "It also has the members of this one of `shapes`." }

/** The short form (`short.ts`): its models hold what a whole document has of each resource in four places. */
const shortMembers: Doc = {
  ...commonMembers,
  shapes: { ...list(anyObject), description: "What parts have in common. Only the short form has it." },
  models: list(openObject(
    {
      ...modelMembers,
      description: text,
      like,
      fields: list(openObject({ ...fieldMembers, like }, ["name"])),
      relations: { ...modelMembers.relations, description: "Absent: those that the foreign keys give." },
      view: openObject({ ...viewMembers, inputs: byResource(text), like }, [], {
        description: "It shows every field where it says nothing. Absent where there is no view."
      })
    },
    ["name", "fields"],
    { description: "`shapes` has its `permissions` and `transfers`, too." }
  ))
}

/** The components, by name. */
export const metaSchemas: Doc = {
  MetaDocument: openObject({ ...documentMembers, jobs }, Object.keys(documentMembers)),
  MetaDocumentShort: openObject({ ...shortMembers, jobs }, Object.keys(shortMembers), {
    description:
      "A document that would be larger than 128 KiB. The client, `resource-admin/client`, makes a MetaDocument of it."
  }),
  MetaBlock: blockSchema,
  MetaModel: modelSchema,
  MetaModelField: fieldSchema,
  MetaView: viewSchema
}
