/** What the OpenAPI document tells of bulk changes and imports: the verbs of resources that may begin one, and the paths of the caller's own tasks. */

import { delimiters, formulaModes, maxBodyFilter } from "../read/request.ts"
import { mostExcept } from "../task/request.ts"
import { bulkOps, mostListed, previewSize } from "../task/task.ts"
import { headersOf, jsonContent, operation, refusals } from "./openapi-resource.ts"
import { closedObject, type Doc, openObject, ref, type Subject } from "./openapi-schema.ts"
import { transfersOf } from "./permissions.ts"

const text: Doc = { type: "string" }
const count: Doc = { type: "integer", minimum: 0 }
const instant: Doc = { type: "string", format: "date-time" }
const orNull = (schema: Doc): Doc => ({ anyOf: [schema, { type: "null" }] })
const parameter = (id: string): Doc => ref("parameters", id)

const refusal = closedObject({
  key: { ...orNull(text), description: "Key of the record, of a bulk change." },
  line: { ...orNull(count), description: "Line of the file, of an import." },
  column: { ...orNull(text), description: "Column of the file." },
  field: orNull(text),
  slug: { ...text, description: "Of the problem that a single write would have had." },
  message: text
}, ["key", "line", "column", "field", "slug", "message"])

const task = openObject({
  id: text,
  resource: text,
  kind: { type: "string", enum: ["bulk", "import"] },
  state: {
    type: "string",
    enum: ["uploading", "uploaded", "checking", "checked", "running", "completed", "cancelled", "failed"]
  },
  total: { ...orNull(count), description: "Records or lines in all." },
  done: { ...count, description: "Those that were gone through." },
  written: { ...count, description: "Those that were changed; in a check, that would be." },
  refused: count,
  error: orNull(closedObject({ slug: text, message: text }, ["slug", "message"])),
  created_at: instant,
  ended_at: orNull(instant),
  op: { type: "string", enum: bulkOps, description: "This and the next three: of a bulk change, as it was sent." },
  filter: text,
  except: { type: "array", items: text, description: "Keys as in URLs." },
  data: {},
  name: { ...orNull(text), description: "This and those that follow: of an import." },
  format: { type: "string", enum: ["csv", "ndjson"] },
  delimiter: { type: "string", enum: delimiters },
  formulas: { type: "string", enum: formulaModes },
  columns: {
    type: "array",
    items: closedObject({
      name: text,
      samples: { type: "array", items: text, description: "The first values." },
      guess: { ...orNull(text), description: "The field that it is probably for." }
    }, ["name", "samples", "guess"])
  },
  plan: { ...orNull(ref("schemas", "ImportPlan")), description: "How it was last checked or started." },
  refusals: { type: "array", maxItems: mostListed, items: ref("schemas", "TaskRefusal") }
}, ["id", "resource", "kind", "state", "total", "done", "written", "refused", "error", "created_at", "ended_at"])

const preview = closedObject({
  total: { ...count, description: "Records that pass the filter now." },
  tried: {
    ...count,
    description: `The first of them, which were changed and changed back: at most ${previewSize}, for about a second.`
  },
  written: count,
  refused: count,
  refusals: { type: "array", maxItems: mostListed, items: ref("schemas", "TaskRefusal") }
}, ["total", "tried", "written", "refused", "refusals"])

const plan = closedObject({
  mapping: {
    type: "array",
    description: "For each column the field that it is for, or null. Without it, the guesses of the upload.",
    items: orNull(text)
  },
  mode: { type: "string", enum: ["create", "update", "upsert"], default: "create" },
  match: {
    anyOf: [text, { type: "array", items: text, minItems: 1 }, { type: "null" }],
    description: "The field by which records are found, or all fields of the primary key; default the primary key."
  },
  errors: {
    type: "string",
    enum: ["stop", "skip"],
    default: "stop",
    description: "`stop`: a refused line ends the import before its batch. `skip`: it is left out."
  }
}, [])

const answered = (description: string, schema: Doc, ...headers: readonly string[]): Doc => ({
  description,
  headers: headersOf(...headers),
  content: jsonContent(schema)
})

/** The schemas and responses of tasks. */
export const taskSchemas: Doc = { Task: task, TaskRefusal: refusal, TaskPreview: preview, ImportPlan: plan }
export const taskResponses: Doc = {
  Task: answered("The task.", ref("schemas", "Task")),
  TaskPreview: answered("What a dry run found.", ref("schemas", "TaskPreview")),
  TaskBegun: answered(
    "The task; its job works on it now.",
    ref("schemas", "Task"),
    "Location",
    "Idempotency-Replayed"
  ),
  Uploaded: answered("The file is kept. Check it, then start it.", ref("schemas", "Task"), "Location")
}

/** `:bulk` and `:import` of one resource, as far as its caller may. */
export const transferPaths = (subject: Subject, collection: string): Doc => {
  const transfers = transfersOf(subject.access, true)
  const paths: { [path: string]: Doc } = {}
  if (transfers.bulk.length > 0) {
    const rule = transfers.bulk[0] === "delete" ? "delete" : "update"
    paths[`${collection}:bulk`] = {
      post: operation(subject, "bulk", {
        rule,
        summary: "Change all records that pass a filter",
        parameters: [...["dry_run", "validate_only"].map(parameter), parameter("Idempotency-Key")],
        body: closedObject({
          op: { type: "string", enum: transfers.bulk },
          filter: { type: "string", maxLength: maxBodyFilter },
          except: { type: "array", maxItems: mostExcept, items: {}, description: "Keys of records that are left out." },
          ...(transfers.bulk.includes("update") ? { data: ref("schemas", `${subject.access.model.name}.Update`) } : {})
        }, ["op"]),
        responses: {
          "200": ref("responses", "TaskPreview"),
          "202": ref("responses", "TaskBegun"),
          ...refusals(400, 401, 403, 409, 422, 429)
        }
      })
    }
  }
  if (transfers.import.length > 0) {
    const rule = transfers.import.includes("create") ? "create" : "update"
    paths[`${collection}:import`] = {
      post: {
        ...operation(subject, "import", {
          rule,
          summary: "Upload a file of records",
          parameters: [
            {
              name: "format",
              in: "query",
              description: "The format of a form's file, CSV without it. Other bodies have it in their Content-Type.",
              schema: { type: "string", enum: ["csv", "ndjson"] }
            },
            {
              name: "delimiter",
              in: "query",
              description: "What separates the values; without it, the first line tells.",
              schema: { type: "string", enum: delimiters }
            },
            {
              name: "formulas",
              in: "query",
              description: "`escape` takes away the apostrophes that an export put before formulas.",
              schema: { type: "string", enum: formulaModes, default: "escape" }
            },
            { name: "name", in: "query", description: "The file's name.", schema: text }
          ],
          responses: { "201": ref("responses", "Uploaded"), ...refusals(400, 401, 403, 413, 415, 429) }
        }),
        requestBody: {
          required: true,
          content: {
            "text/csv": { schema: text },
            "application/x-ndjson": { schema: text },
            "multipart/form-data": { schema: openObject({ file: { type: "string", format: "binary" } }, ["file"]) }
          }
        }
      }
    }
  }
  return paths
}

/** The paths below `/api/tasks`. */
export const taskPaths = (parent: string, tag: string): Doc => {
  const id: Doc = { name: "id", in: "path", required: true, schema: text }
  const of = (operationId: string, summary: string, response: Doc, more: Doc = {}): Doc => ({
    operationId,
    tags: [tag],
    summary,
    ...more,
    responses: { ...response, ...refusals(400, 401, 404) }
  })
  const body: Doc = { requestBody: { content: jsonContent(ref("schemas", "ImportPlan")) } }
  return {
    [`${parent}/tasks`]: {
      get: of("tasks_list", "Your tasks, newest first", {
        "200": answered(
          "At most 50.",
          closedObject({ tasks: { type: "array", items: ref("schemas", "Task") } }, ["tasks"])
        )
      })
    },
    [`${parent}/tasks/{id}`]: {
      parameters: [id],
      get: of("tasks_get", "How far a task is", { "200": ref("responses", "Task") })
    },
    [`${parent}/tasks/{id}:check`]: {
      parameters: [id],
      post: of("tasks_check", "Try all lines of an import, and undo it", { "202": ref("responses", "Task") }, body)
    },
    [`${parent}/tasks/{id}:start`]: {
      parameters: [id],
      post: of("tasks_start", "Start an import", { "202": ref("responses", "Task") }, body)
    },
    [`${parent}/tasks/{id}:cancel`]: {
      parameters: [id],
      post: of("tasks_cancel", "End a task after its batch", { "200": ref("responses", "Task") })
    },
    [`${parent}/tasks/{id}:report`]: {
      parameters: [id],
      get: of("tasks_report", "What was refused, as a file", {
        "200": {
          description: "The first 10,000 refusals.",
          headers: {
            ...headersOf(),
            "Content-Disposition": { description: "`attachment`, with a name for the file.", schema: text }
          },
          content: { "text/csv": { schema: text }, "application/x-ndjson": { schema: text } }
        }
      }, { parameters: [parameter("format")] })
    }
  }
}
