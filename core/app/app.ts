/**
 * The use cases as one value: what an edge (HTTP now) may ask for. Each is one pipeline: parse -> access -> plan -> execute ->
 * present. Refusals are Problems; anything else is a defect and becomes the fixed 500 at the edge.
 */

import type * as Effect from "effect/Effect"
import type { Caller } from "../domain/access/caller.ts"
import type { Problem } from "../domain/problem.ts"
import type { Accesses, Call, Incoming, Reply } from "./ground/call.ts"

type Answer = Effect.Effect<Reply, Problem>

/** Words after a task's id, with the method of each. */
export const taskVerbs = { check: "POST", start: "POST", cancel: "POST", report: "GET" } as const
export type TaskVerb = keyof typeof taskVerbs

/** Bulk changes and imports. */
export interface TasksApp {
  /** `:bulk`: starts a change of all records that pass a filter, or tries it. */
  readonly bulk: (call: Call, resource: string, body: Uint8Array) => Answer
  /** `:import`: keeps a file of records. */
  readonly import: (call: Call, resource: string, incoming: Incoming) => Answer
  readonly tasks: (call: Call) => Answer
  readonly task: (call: Call, id: string, verb: TaskVerb | null, body: Uint8Array) => Answer
}

/** Uploads in pieces, and direct ones. `key`: the part of the path after `:upload/`. */
export interface UploadsApp {
  readonly options: (call: Call, resource: string) => Answer
  readonly begin: (call: Call, resource: string, incoming: Incoming) => Answer
  readonly state: (call: Call, resource: string, key: string) => Answer
  readonly add: (call: Call, resource: string, key: string, incoming: Incoming) => Answer
  readonly answer: (call: Call, resource: string, key: string) => Answer
  readonly end: (call: Call, resource: string, key: string) => Answer
  readonly direct: (call: Call, resource: string, incoming: Incoming) => Answer
  readonly confirm: (call: Call, resource: string, key: string) => Answer
}

/** Bodies arrive as bytes already limited in size; the use case parses JSON itself (depth, duplicate and prototype keys are refused). */
export interface App extends TasksApp {
  readonly list: (call: Call, resource: string) => Answer
  readonly search: (call: Call, resource: string, body: Uint8Array) => Answer
  /** `key` is the raw path segment, still percent-encoded (composite keys are comma-separated encoded parts). */
  readonly get: (call: Call, resource: string, key: string) => Answer
  readonly facets: (call: Call, resource: string) => Answer
  readonly series: (call: Call, resource: string) => Answer
  readonly histogram: (call: Call, resource: string) => Answer
  /** `:aggregate`; `body` null: a GET, with the parameters in the query. */
  readonly aggregate: (call: Call, resource: string, body: Uint8Array | null) => Answer
  readonly seek: (call: Call, resource: string) => Answer
  /** `:refresh`: has the materialized view behind a resource refreshed. */
  readonly refresh: (call: Call, resource: string) => Answer
  readonly create: (call: Call, resource: string, body: Uint8Array) => Answer
  readonly update: (call: Call, resource: string, key: string, body: Uint8Array) => Answer
  readonly remove: (call: Call, resource: string, key: string) => Answer
  /** `PATCH` and `DELETE /{resource}?filter=…`: the records that pass, all of them or none. */
  readonly updateFiltered: (call: Call, resource: string, body: Uint8Array) => Answer
  readonly removeFiltered: (call: Call, resource: string) => Answer
  readonly undelete: (call: Call, resource: string, key: string) => Answer
  /** `:restore`: writes a version of the record back, where a history is kept. */
  readonly restore: (call: Call, resource: string, key: string, body: Uint8Array) => Answer
  readonly batch: (call: Call, body: Uint8Array) => Answer
  /** `:watch`: changes of the resource as they happen, as an answer that streams. */
  readonly watch: (call: Call, resource: string) => Answer
  /** `:export`: all that a list shows, as an answer that streams. */
  readonly export: (call: Call, resource: string) => Answer
  /** A record verb that an extension adds, such as `:test` of a subscription. */
  readonly verb: (call: Call, resource: string, key: string, verb: string, body: Uint8Array | null) => Answer
  /** `POST /api/functions/{name}`: an API function. */
  readonly call: (call: Call, name: string, body: Uint8Array) => Answer
  /** `:upload`: stores a file and answers a ticket for it. */
  readonly upload: (call: Call, resource: string, incoming: Incoming) => Answer
  readonly uploads: UploadsApp
  readonly meta: (call: Call) => Answer
  /** `GET /api/sizes`: how many records several resources have. */
  readonly sizes: (call: Call) => Answer
  readonly openapi: (call: Call) => Answer
  /** What the caller may do, for one request: decides 404 before 405, and goes into its `Call`. */
  readonly accesses: (caller: Caller) => Accesses
  /** `X-Meta-Version`: hash of the models and of the caller's roles (docs/reference/meta.md#keeping-it). Without a caller: of the models alone. */
  readonly metaVersion: (caller: Caller | null) => string
}
