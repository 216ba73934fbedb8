/**
 * What the OpenAPI document has besides resources and sign-in: batch writes, meta, the document itself, and the components that all routes
 * share (headers, problems, preconditions). It names a resource only where the caller may write it.
 */

import { isBag } from "../bag.ts"
import { parentPath } from "../declare/config.ts"
import type { ApiFunction } from "../function/declaration.ts"
import type { Hooks } from "../hook/declaration.ts"
import { notFound, problemDocument, problemKinds } from "../problem.ts"
import type { Json } from "../value/kind.ts"
import { maxOperations } from "../write/batch.ts"
import { auditPath } from "./openapi-audit.ts"
import { filePaths } from "./openapi-download.ts"
import { formPaths } from "./openapi-form.ts"
import type { OpenForm } from "./openapi-form.ts"
import { hookPaths } from "./openapi-hooks.ts"
import { jobPaths } from "./openapi-jobs.ts"
import { metaSchemas } from "./openapi-meta.ts"
import { headersOf, jsonContent, refusals } from "./openapi-resource.ts"
import { savedViewPaths } from "./openapi-saved-view.ts"
import {
  anyObject,
  closedObject,
  codes,
  createExample,
  type Doc,
  exampleEtag,
  exampleOf,
  openObject,
  ref,
  type Subject,
  type Subjects,
  updateExample
} from "./openapi-schema.ts"
import { type SignInFeatures, signInPaths } from "./openapi-sign-in.ts"
import { taskPaths } from "./openapi-task.ts"

const text: Doc = { type: "string" }
const flag: Doc = { type: "boolean" }
const list = (items: Doc): Doc => ({ type: "array", items })

/** A tag besides those of the resources, which have their names. It has a dash, as no resource does, so tags stay unique. */
const freeTag = (subjects: Subjects, name: string): string => subjects.has(name) ? `${name}-routes` : name

// ---------------------------------------------------------------------------------------------------------------- problems

const slugsByStatus = (): ReadonlyMap<number, readonly string[]> => {
  const slugs = new Map<number, string[]>()
  for (const [slug, { status, title }] of Object.entries(problemKinds)) {
    const line = `\`${slug}\`: ${title}.`
    const lines = slugs.get(status)
    if (lines === undefined) slugs.set(status, [line])
    else lines.push(line)
  }
  return slugs
}

const problemTable = (): string => {
  const rows = Object.entries(problemKinds).map(([slug, { status, title }]) => `| ${status} | \`${slug}\` | ${title} |`)
  return ["| Status | Slug | Title |", "| --- | --- | --- |", ...rows].join("\n")
}

const problemSchema = (): Doc =>
  openObject(
    {
      type: text,
      title: text,
      status: { type: "integer" },
      detail: text,
      instance: { type: "string", description: "Path of the request." },
      parameter: { type: "string", description: "The parameter whose text has the errors." },
      errors: list(openObject({
        code: text,
        message: text,
        hint: text,
        span: openObject({ start: { type: "integer" }, end: { type: "integer" } }, ["start", "end"]),
        parameter: text,
        field: text
      }, ["message"])),
      code: { type: "string", description: "Sign-in routes: the auth server's own code." },
      etag: { type: "string", description: "412: the current version." },
      count: { type: "integer", description: "412 of a change by filter: how many records it finds." },
      changed: { ...list(text), description: "412: fields that changed since the version sent, where known." },
      suggestion: { type: "string", description: "`expensive-query`: an index that would help." },
      outcome: {
        type: "string",
        enum: ["unknown"],
        description:
          "503: the connection broke during the commit. Read the record, or repeat with the same `Idempotency-Key`."
      },
      operation: { type: "integer", description: "Batch: index of the operation that failed." },
      state: { type: "string", description: "409: the state of the task." },
      line: { type: "integer", description: "Import: the line of the file that cannot be read." },
      column: { type: "integer", description: "Import: the value in that line, or the character, from 1." },
      op: text,
      resource: text,
      key: { type: "string", description: "The record that failed, of a reorder or of a change by filter." }
    },
    ["type", "title", "status", "detail"],
    {
      description: `A refusal (RFC 9457). \`type\` is \`urn:service:problem:\` and the slug.\n\n${problemTable()}`,
      examples: [{ ...problemDocument(notFound(), "/api/meta") } as Doc]
    }
  )

const refusalHeaders: { readonly [status: string]: readonly string[] } = {
  "401": ["WWW-Authenticate"],
  "409": ["Retry-After"],
  "412": ["ETag"],
  "415": ["Accept-Encoding"],
  "429": ["Retry-After"],
  default: ["Retry-After", "Accept-Encoding"]
}

const refusal = (status: string, description: string): Doc => ({
  description,
  headers: headersOf(...refusalHeaders[status] ?? []),
  content: { "application/problem+json": { schema: ref("schemas", "ProblemDetails") } }
})

const problemResponses = (): Doc => ({
  ...Object.fromEntries(
    [...slugsByStatus()].map(([status, lines]) => [String(status), refusal(String(status), lines.join(" "))])
  ),
  default: refusal("default", "Any other refusal.")
})

// -------------------------------------------------------------------------------------------------------- headers, parameters

const headers: { readonly [name: string]: Doc } = {
  "ETag": {
    description: "Version of the record, for `If-Match`, or of the document, for `If-None-Match`.",
    schema: ref("schemas", "EntityTag")
  },
  "Location": { description: "Path of what was made.", schema: text },
  "Preference-Applied": { description: "The preference of `Prefer` that was followed.", schema: text },
  "Idempotency-Replayed": {
    description: "`true`: the stored answer of an earlier request.",
    schema: { type: "string", enum: ["true"] }
  },
  "X-Service-Warning": { description: "The query is expensive; an index that would help.", schema: text },
  "X-Meta-Version": {
    description: "Changes when the models or the caller's roles do; then read the meta document again.",
    schema: text
  },
  "X-Request-Id": { description: "The request's own id when it sent one, else a new one.", schema: text },
  "Retry-After": { description: "Seconds to wait.", schema: { type: "integer", minimum: 0 } },
  "WWW-Authenticate": {
    description: "`Bearer`, or `Signature` with the headers that are expected.",
    schema: text
  },
  "Accept-Encoding": { description: "`identity`, where the body was compressed.", schema: text },
  "Set-Cookie": { description: "Cookies of signing in: set, prolonged or taken back.", schema: text }
}

const headerParameter = (name: string, description: string, schema: Doc, required = false): Doc => ({
  name,
  in: "header",
  ...(required ? { required } : {}),
  description,
  schema
})

const headerParameters: Doc = {
  "If-Match": headerParameter(
    "If-Match",
    "ETag of the version to act on, or `*`; left out: the current version.",
    text
  ),
  "If-Match-Required": headerParameter("If-Match", "ETag of the version to change, or `*` for any.", text, true),
  "If-Match-Any": headerParameter(
    "If-Match",
    "ETag of the version to change, or `*` for any. Required for a record that is there; with `allow_missing`, `*` also creates one.",
    text
  ),
  "Only-Create": headerParameter("If-None-Match", "With `allow_missing`: create, but change nothing.", {
    const: "*"
  }),
  "If-None-Match": headerParameter("If-None-Match", "ETags already held: 304 when one is current.", text),
  "Prefer": headerParameter("Prefer", "Whether the answer holds the record.", {
    type: "string",
    enum: ["return=minimal", "return=representation"]
  }),
  "Idempotency-Key": headerParameter(
    "Idempotency-Key",
    "The same key and body within 24 hours give the stored answer instead of a second write.",
    { type: "string", pattern: "^[\\x21-\\x7e]{1,255}$" }
  )
}

// ------------------------------------------------------------------------------------------------------------------- batch

/** The fields that `reorder` can number. */
const reorderable = ({ access: { restricted } }: Subject): readonly string[] =>
  restricted.fields
    .filter((field) => field.kind === "integer" && field.relation === null && restricted.updatable.has(field.name))
    .map((field) => field.name)

const namesWhere = (subjects: Subjects, passes: (subject: Subject) => boolean): readonly string[] =>
  [...subjects].filter(([, subject]) => passes(subject)).map(([name]) => name)

const exampleKey = ({ access: { model, restricted } }: Subject): Json => {
  const parts = model.key.map((field) => restricted.byName.has(field.name) ? exampleOf(field) : "1")
  return parts.length === 1 ? parts[0]! : parts
}

/** The operations that the caller may use in a batch, by component name. */
const batchOperations = (subjects: Subjects): Doc => {
  const creatable = namesWhere(subjects, ({ permissions }) => permissions.create)
  const updatable = namesWhere(subjects, ({ permissions }) => permissions.update)
  const deletable = namesWhere(subjects, ({ permissions }) => permissions.delete)
  const ordered = updatable.filter((name) => reorderable(subjects.get(name)!).length > 0)
  const etag: Doc = { type: "string", description: "The record's ETag, or `*`." }
  const operation = (
    op: string,
    resources: readonly string[],
    properties: Doc,
    required: readonly string[],
    example: (subject: Subject) => Doc
  ): Doc =>
    resources.length === 0 ? {} : {
      [`BatchWrite.${op}`]: closedObject(
        { op: { const: op }, resource: { type: "string", enum: resources }, ...properties },
        ["op", "resource", ...required],
        { examples: [{ op, resource: resources[0]!, ...example(subjects.get(resources[0]!)!) }] }
      )
    }
  const data = (body: string): Doc => ({
    ...anyObject,
    description: `The ${body} body of the resource, without lists below it; a reference may stand for any value.`
  })
  const fields = ordered.map((name) => `${codes(reorderable(subjects.get(name)!))} of \`${name}\``).join(", ")
  return {
    ...operation(
      "create",
      creatable,
      {
        data: data("create"),
        ref: {
          type: "string",
          pattern: "^[A-Za-z0-9_.-]{1,64}$",
          description: "A name for the record in later operations."
        }
      },
      ["data"],
      ({ access }) => ({ data: createExample(access) })
    ),
    ...operation(
      "update",
      updatable,
      {
        key: ref("schemas", "BatchWrite.Key"),
        etag,
        data: data("update"),
        match: { type: "string", description: "A unique field that `key` is a value of." },
        allow_missing: {
          type: "boolean",
          description: "Whether a record that is missing is created, as `PATCH` does."
        },
        ref: {
          type: "string",
          pattern: "^[A-Za-z0-9_.-]{1,64}$",
          description: "With `allow_missing`: a name for the record in later operations."
        }
      },
      ["key", "data"],
      (subject) => ({ key: exampleKey(subject), etag: exampleEtag, data: updateExample(subject.access) })
    ),
    ...operation("delete", deletable, { key: ref("schemas", "BatchWrite.Key"), etag }, ["key"], (subject) => ({
      key: exampleKey(subject)
    })),
    ...operation(
      "reorder",
      ordered,
      {
        field: { type: "string", description: `An integer that becomes 1, 2, 3, … : ${fields}.` },
        keys: {
          ...list(ref("schemas", "BatchWrite.Key")),
          maxItems: maxOperations,
          description: "In their final order."
        },
        etags: { type: "object", additionalProperties: text, description: "ETag by key text." }
      },
      ["field", "keys"],
      (subject) => ({ field: reorderable(subject)[0]!, keys: [exampleKey(subject)], etags: {} })
    )
  }
}

const scalar: Doc = { type: ["string", "number", "boolean"] }

const batchSchemas = (operations: Doc): Doc => {
  const names = Object.keys(operations)
  const examples = names.flatMap((name) => (operations[name] as { examples: readonly Json[] }).examples)
  return {
    ...operations,
    // The member `$ref` is written as a pattern, so that no tool reads it as a reference of this document.
    "BatchWrite.Reference": closedObject(
      { field: { type: "string", description: "A field; left out: the key." } },
      ["$ref"],
      {
        description: "Stands for a record that an earlier create named with `ref`.",
        patternProperties: { "^\\$ref$": text }
      }
    ),
    "BatchWrite.Key": {
      description: "Key text as in paths, its only part, a list of parts, or a reference.",
      anyOf: [
        scalar,
        list({ anyOf: [scalar, ref("schemas", "BatchWrite.Reference")] }),
        ref("schemas", "BatchWrite.Reference")
      ]
    },
    "BatchWrite": closedObject(
      {
        ops: {
          type: "array",
          maxItems: maxOperations,
          description: "Run in order in one transaction.",
          items: {
            oneOf: names.map((name) => ref("schemas", name)),
            discriminator: {
              propertyName: "op",
              mapping: Object.fromEntries(
                names.map((name) => [name.slice("BatchWrite.".length), `#/components/schemas/${name}`])
              )
            }
          }
        }
      },
      ["ops"],
      { examples: [{ ops: examples.slice(0, 1) }] }
    ),
    "BatchWrite.Results": openObject({
      results: list(openObject({
        record: { ...anyObject, description: "Create and update: the record, unless `return=minimal`." },
        etag: ref("schemas", "EntityTag"),
        deleted: flag,
        created: { ...flag, description: "With `allow_missing`: whether the record was created." },
        records: list(openObject({ key: text, etag: ref("schemas", "EntityTag") }, ["key", "etag"]))
      }, []))
    }, ["results"])
  }
}

const batchPath = (basePath: string, tag: string): Doc => ({
  [`${basePath}:batchWrite`]: {
    post: {
      operationId: "batchWrite",
      tags: [tag],
      summary: "Several writes in one transaction",
      description: "All or nothing; a refusal names the operation that failed.",
      parameters: ["Prefer", "Idempotency-Key", "dry_run", "validate_only"].map((id) => ref("parameters", id)),
      requestBody: { required: true, content: jsonContent(ref("schemas", "BatchWrite")) },
      responses: {
        "200": {
          description:
            "One result per operation, in order; no body where a stored answer was for other roles of the caller.",
          headers: headersOf("Preference-Applied", "Idempotency-Replayed"),
          content: jsonContent(ref("schemas", "BatchWrite.Results"))
        },
        ...refusals(400, 401, 403, 404, 409, 412, 413, 415, 422, 428)
      }
    }
  }
})

// --------------------------------------------------------------------------------------------------------------------- system

const systemPaths = (parent: string, tag: string): Doc => {
  const document = (id: string, summary: string, description: string, schema: Doc): Doc => ({
    get: {
      operationId: id,
      tags: [tag],
      summary,
      parameters: [ref("parameters", "If-None-Match")],
      responses: {
        "200": { description, headers: headersOf("ETag"), content: jsonContent(schema) },
        "304": ref("responses", "304"),
        ...refusals(401)
      }
    }
  })
  return {
    [`${parent}/meta`]: document(
      "readMeta",
      "Models and permissions",
      "What the caller may see and do. A large document is sent in a short form.",
      { anyOf: [ref("schemas", "MetaDocument"), ref("schemas", "MetaDocumentShort")] }
    ),
    [`${parent}/openapi.json`]: document("readOpenapi", "This document", "The document for the caller.", anyObject),
    [`${parent}/sizes`]: {
      get: {
        operationId: "readSizes",
        tags: [tag],
        summary: "How many records several resources have",
        parameters: [{
          name: "resources",
          in: "query",
          required: true,
          description: "1 to 50 names, separated by commas.",
          schema: text
        }],
        responses: {
          "200": {
            description:
              "By resource, as its list tells it. A resource that the caller cannot list, or whose count is refused, is left out.",
            content: jsonContent(openObject({
              sizes: {
                type: "object",
                additionalProperties: openObject({
                  total_size_estimate: { type: "integer" },
                  total_size_accuracy: { type: "string", enum: ["exact", "estimate", "counting"] }
                }, ["total_size_estimate", "total_size_accuracy"])
              }
            }, ["sizes"]))
          },
          ...refusals(400, 401)
        }
      }
    }
  }
}

/** A schema of the input, where the library that made it can tell (Standard JSON Schema); anything else is any JSON. */
const inputSchema = ({ input }: ApiFunction): Doc => {
  const own = input?.["~standard"].jsonSchema
  const make = isBag(own) ? own["input"] : undefined
  if (typeof make !== "function") return {}
  try {
    const { $schema: _, ...rest }: Doc = make({ target: "draft-2020-12" })
    // A schema with references to definitions of its own would lead nowhere here.
    return JSON.stringify(rest).includes("\"$ref\"") ? {} : rest
  } catch {
    return {}
  }
}

const functionPaths = (parent: string, functions: readonly ApiFunction[], tag: string): Doc =>
  Object.fromEntries(functions.map((each) => [`${parent}/functions/${each.name}`, {
    post: {
      operationId: `call.${each.name}`,
      tags: [tag],
      summary: each.description ?? `Calls ${each.name}`,
      requestBody: { required: each.input !== null, content: jsonContent(inputSchema(each)) },
      responses: {
        "200": { description: "What the function answers.", headers: headersOf(), content: jsonContent({}) },
        "204": ref("responses", "204"),
        ...refusals(400, 401, 403, 404, 409, 413, 415)
      }
    }
  }]))

/** What the system part of a document depends on besides the resources. */
export interface SystemParts {
  /** API functions that the caller may call. */
  readonly functions: readonly ApiFunction[]
  readonly forms: readonly OpenForm[]
  readonly hooks: Hooks
  readonly basePath: string
  /** Path of the sign-in routes, or null when they are not served. */
  readonly authPath: string | null
  readonly signIn: SignInFeatures
  /** Name of the session cookie. */
  readonly sessionCookie: string
  /** Whether the caller may create users. */
  readonly admin: boolean
  /** Whether there are jobs, which admins look after. */
  readonly jobs: boolean
  /** Whether there are bulk changes and imports. */
  readonly tasks: boolean
  /** Whether what concerns all tenants is the operator's alone. */
  readonly operated: boolean
}

/** Paths and components beside those of the resources. */
export const systemDocument = (subjects: Subjects, parts: SystemParts) => {
  const { authPath, basePath } = parts
  const operations = batchOperations(subjects)
  const hasBatch = Object.keys(operations).length > 0
  const batchTag = freeTag(subjects, "batch")
  const systemTag = freeTag(subjects, "system")
  const functionsTag = freeTag(subjects, "functions")
  const formsTag = freeTag(subjects, "forms")
  const hooksTag = freeTag(subjects, "hooks")
  const filesTag = freeTag(subjects, "files")
  const files = filePaths(parentPath(basePath), subjects, filesTag, parts.admin && !parts.operated)
  return {
    paths: {
      ...(hasBatch ? batchPath(basePath, batchTag) : {}),
      ...systemPaths(parentPath(basePath), systemTag),
      ...functionPaths(parentPath(basePath), parts.functions, functionsTag),
      ...formPaths(parentPath(basePath), parts.forms, formsTag),
      ...savedViewPaths(parentPath(basePath), systemTag),
      ...files,
      ...(parts.admin ? hookPaths(parentPath(basePath), parts.hooks, hooksTag) : {}),
      ...(parts.admin ? auditPath(parentPath(basePath), systemTag) : {}),
      ...(parts.jobs && parts.admin ? jobPaths(parentPath(basePath), freeTag(subjects, "jobs")) : {}),
      ...(parts.tasks ? taskPaths(parentPath(basePath), freeTag(subjects, "tasks")) : {}),
      ...(authPath === null ? {} : signInPaths(authPath, parts.signIn, parts.admin))
    },
    parameters: headerParameters,
    headers,
    responses: {
      "204": { description: "Done; no body.", headers: headersOf("ETag", "Preference-Applied") },
      "304": { description: "The version held is current.", headers: headersOf("ETag") },
      ...problemResponses()
    },
    schemas: {
      EntityTag: { type: "string", description: "Quotes included.", examples: [exampleEtag] },
      RowCount: { type: "integer", minimum: 0 },
      Addition: closedObject({ $add: { type: ["string", "number"], description: "A value of the field." } }, ["$add"], {
        description: "What is added to the stored number, exactly."
      }),
      PageToken: { type: "string", description: "Opaque; empty: there is no such page." },
      RecordPermissions: openObject(
        {
          update: flag,
          delete: flag,
          fields: {
            type: "object",
            additionalProperties: { type: "string", enum: ["edit", "read"] },
            description: "Gets only."
          }
        },
        ["update", "delete"],
        { description: "What the caller may do with this record; every write is checked again." }
      ),
      ProblemDetails: problemSchema(),
      ...metaSchemas,
      ...(hasBatch ? batchSchemas(operations) : {})
    },
    securitySchemes: {
      bearer: { type: "http", scheme: "bearer", bearerFormat: "JWT" },
      ...(authPath === null ? {} : { session: { type: "apiKey", in: "cookie", name: parts.sessionCookie } })
    },
    tags: [
      ...(hasBatch ? [{ name: batchTag }] : []),
      { name: systemTag },
      ...(parts.functions.length === 0 ? [] : [{ name: functionsTag }]),
      ...(parts.forms.length === 0 ? [] : [{ name: formsTag }]),
      ...(parts.admin && parts.hooks.size > 0 ? [{ name: hooksTag }] : []),
      ...(Object.keys(files).length === 0 ? [] : [{ name: filesTag }]),
      ...(authPath === null ? [] : [{ name: "sign-in" }])
    ]
  }
}
