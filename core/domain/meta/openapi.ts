/**
 * The OpenAPI 3.1 document of one caller (`GET /api/openapi.json`; docs/reference/openapi.md): their resources, operations and fields. It is built
 * from `Access` values alone, so nothing that the caller may not know can get into it. It is served and cached elsewhere.
 */

import type { Access } from "../access/access.ts"
import type { Caller } from "../access/caller.ts"
import { makerField } from "../access/versions.ts"
import { type ApiFunction, type Functions, mayCall } from "../function/declaration.ts"
import type { Hooks } from "../hook/declaration.ts"
import type { Model, Models, Relation } from "../model/model.ts"
import { isJsonList } from "../value/json-kind.ts"
import type { Json } from "../value/kind.ts"
import { groupParameters, groupPaths, groupResponses, groupSchemas } from "./openapi-aggregate.ts"
import { eventPaths } from "./openapi-events.ts"
import type { OpenForm } from "./openapi-form.ts"
import {
  aggregateResponses,
  exportResponse,
  filteredResponse,
  relationSchema,
  resourceParameters,
  resourcePaths,
  resourceResponses,
  searchSchema,
  sharedQuery
} from "./openapi-resource.ts"
import { type Doc, resourceSchemas, type Subject } from "./openapi-schema.ts"
import type { SignInFeatures } from "./openapi-sign-in.ts"
import { systemDocument } from "./openapi-system.ts"
import { taskResponses, taskSchemas, transferPaths } from "./openapi-task.ts"
import { uploadPaths } from "./openapi-upload.ts"
import { permissionsOf } from "./permissions.ts"

export interface OpenapiRequest {
  readonly models: Models
  /** The caller's access to a resource; null when there is no such resource for them. */
  readonly resolve: (resource: string) => Access | null
  readonly caller: Caller
  readonly functions?: Functions
  /** Public forms, the same for every caller. */
  readonly forms?: readonly OpenForm[]
  /** Hooks that other systems call; admins see them. */
  readonly hooks?: Hooks
  /** Whether the service has a queue. */
  readonly jobs?: boolean
  /** Whether the service has bulk changes and imports. */
  readonly tasks?: boolean
  /** Whether what concerns all tenants is the operator's alone. */
  readonly operated?: boolean
  /** Whether the configuration has the extension `webhooks`. */
  readonly webhooks?: boolean
  /** Path of the resources, for example `/api/v1`. */
  readonly basePath: string
  readonly title: string
  /** Version of the described API: the project's own. */
  readonly version: string
  /** Where the service is reached, for example `https://admin.example.org`; no slash at the end. */
  readonly serverUrl: string
  /** Path of the sign-in routes, for example `/api/auth`; null: not served. */
  readonly authPath: string | null
  /** What signing in is made of besides passwords. */
  readonly signIn: SignInFeatures
}

const description = (searchable: boolean): string =>
  `Resources with filters (AIP-160), orders (AIP-132), keyset pages, aggregates and preconditions.

- **Credential**: \`Authorization: Bearer <token>\`. This document shows what its caller may use and no more.
- **Filters**: \`field = value\`, \`!=\`, \`<\`, \`<=\`, \`>\`, \`>=\`, \`:\` (has); \`AND\`, \`OR\` (binds tighter than \`AND\`), \`NOT\`; ` +
  `\`in(field, a, b)\`, \`isNull(field)\`, \`same(field, 'text')\`, \`begins(field, 'text')\`, \`similar(field, 'text')\`, \`regex(field, 'pattern')\`, \`now() - 7d\`, \`field(other)\`` +
  `${searchable ? ", `search('text')`" : ""}. Long filters go to \`:search\`.
- **Exact values**: 64-bit integers and decimals travel as text. Timestamps have at most 6 fraction digits; texts hold no NUL.
- **Versions**: every record has an \`etag\`; a change must send it in \`If-Match\`.
- **Refusals** are \`application/problem+json\` (RFC 9457); see the schema \`ProblemDetails\`.
- Every route that has \`GET\` answers \`HEAD\`. Unknown and repeated parameters are refused.`

/** The relations that `expand` can follow: both ends readable, and the target listable. */
const followable = (access: Access, listable: (resource: string) => Access | null): readonly Relation[] =>
  [...access.model.relations.values()].filter(({ from, target, to }) =>
    access.restricted.byName.has(from.name) && listable(target)?.restricted.byName.has(to) === true
  )

/** What of the resources the caller may use at all. */
const accessesOf = ({ models, resolve }: OpenapiRequest): ReadonlyMap<string, Access> => {
  const accesses = new Map<string, Access>()
  for (const name of models.keys()) {
    const access = resolve(name)
    if (access === null || !access.visible) continue
    const { create, delete: remove, read, update } = permissionsOf(access)
    if (create || remove || read || update) accesses.set(name, access)
  }
  return accesses
}

const isAdmin = ({ caller }: OpenapiRequest): boolean => caller.roles.includes("admin")

const functionsOf = ({ caller, functions }: OpenapiRequest): readonly ApiFunction[] =>
  [...functions?.values() ?? []].filter((each) => mayCall(each, caller))

/**
 * A text that identifies a document: within one service, equal texts mean equal documents. It costs a thousandth of the document, and is as
 * long as the names and fields of the resources together.
 */
export const openapiName = (request: OpenapiRequest): string =>
  JSON.stringify([
    isAdmin(request),
    functionsOf(request).map(({ name }) => name),
    Array.from(
      accessesOf(request).values(),
      (access) => [access.restricted.id, access.createOwn, permissionsOf(access)]
    )
  ])

const subjectsOf = (request: OpenapiRequest): ReadonlyMap<string, Subject> => {
  const { models } = request
  const accesses = accessesOf(request)
  const listable = (resource: string): Access | null => {
    const access = accesses.get(resource)
    return access !== undefined && permissionsOf(access).read ? access : null
  }
  const tracked = new Map<string | null, Model>([...models.values()].map((model) => [model.history, model]))
  return new Map(
    [...accesses].map(([name, access]) => [
      name,
      {
        access,
        permissions: permissionsOf(access),
        relations: listable(name) === null ? [] : followable(access, listable),
        maker: listable(name) === null ? null : makerField(access),
        tracked: tracked.get(name) ?? null
      }
    ])
  )
}

/** Adds the components that a part of the document refers to, directly or through other components. */
const references = (part: Json, names: Set<string>, components: { readonly [kind: string]: Doc }): void => {
  if (part === null || typeof part !== "object") return
  if (isJsonList(part)) {
    for (const item of part) references(item, names, components)
    return
  }
  for (const [member, value] of Object.entries(part)) {
    if (member !== "$ref" || typeof value !== "string") references(value, names, components)
    else if (!names.has(value)) {
      names.add(value)
      const [kind = "", name = ""] = value.slice("#/components/".length).split("/")
      references(components[kind]?.[name] ?? null, names, components)
    }
  }
}

/** The components that the paths use. */
const used = (paths: Doc, components: { readonly [kind: string]: Doc }): Doc => {
  const names = new Set<string>()
  references(paths, names, components)
  const parts: { [kind: string]: Json } = {}
  for (const [kind, items] of Object.entries(components)) {
    const own = Object.entries(items).filter(([name]) => names.has(`#/components/${kind}/${name}`))
    if (own.length > 0) parts[kind] = Object.fromEntries(own)
  }
  return parts
}

/** The document as plain data, ready for JSON. Equal requests give equal documents. */
export const openapiDocument = (request: OpenapiRequest): Doc => {
  const { authPath, basePath, serverUrl, signIn, title, version } = request
  const subjects = subjectsOf(request)
  const system = systemDocument(subjects, {
    basePath,
    authPath,
    signIn,
    sessionCookie: `${serverUrl.startsWith("https:") ? "__Secure-" : ""}service.session_token`,
    admin: isAdmin(request),
    jobs: request.jobs === true,
    tasks: request.tasks === true,
    operated: request.operated === true,
    functions: functionsOf(request),
    forms: request.forms ?? [],
    hooks: request.hooks ?? new Map()
  })
  const paths: { [path: string]: Json } = {}
  const parameters: { [name: string]: Json } = { ...system.parameters, ...sharedQuery, ...groupParameters }
  const schemas: { [name: string]: Json } = { ...system.schemas, ...taskSchemas }
  const responses: { [name: string]: Json } = {
    ...system.responses,
    ...aggregateResponses,
    ...groupResponses,
    ...taskResponses,
    Export: exportResponse,
    Filtered: filteredResponse
  }
  for (const [name, subject] of subjects) {
    const collection = `${basePath}/${name}`
    Object.assign(
      paths,
      resourcePaths(subject, collection),
      groupPaths(subject, collection),
      uploadPaths(subject, collection),
      eventPaths(subject, collection, request.webhooks === true)
    )
    if (request.tasks === true) Object.assign(paths, transferPaths(subject, collection))
    Object.assign(parameters, resourceParameters(subject))
    Object.assign(schemas, resourceSchemas(subject, subjects), groupSchemas(subject), {
      [`${name}.Search`]: searchSchema(subject),
      [`${name}.Relation`]: relationSchema(subject, subjects)
    })
    Object.assign(responses, resourceResponses(subject))
  }
  Object.assign(paths, system.paths)
  return {
    openapi: "3.1.0",
    info: {
      title,
      version,
      description: description([...subjects.values()].some(({ access }) => access.restricted.searched.length > 0))
    },
    servers: [{ url: serverUrl }],
    security: [{ bearer: [] }],
    tags: [
      ...[...subjects.keys()].map((name) => ({ name })),
      ...system.tags
    ],
    paths,
    components: {
      ...used(paths, { schemas, parameters, responses, headers: system.headers }),
      securitySchemes: system.securitySchemes
    }
  }
}
