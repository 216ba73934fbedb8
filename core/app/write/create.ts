/**
 * `POST /{resource}`: a record, alone or with the records that belong to it in lists under the names of their relations. Such lists become a batch of
 * creates: one transaction, each record under the access of its own resource.
 */

import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import type { Access } from "../../domain/access/access.ts"
import type { Model, Relation } from "../../domain/model/model.ts"
import { ownJson } from "../../domain/own-json.ts"
import type { Problem } from "../../domain/problem.ts"
import { writeKey } from "../../domain/read/key.ts"
import type { Json } from "../../domain/value/kind.ts"
import type { BatchOperation } from "../../domain/write/batch.ts"
import { belowRecord, nestedOperations, type NestedRelation } from "../../domain/write/nested.ts"
import { returnPreference } from "../../domain/write/precondition.ts"
import { RecordsError } from "../../ports/records.ts"
import { json, readJson } from "../ground/call.ts"
import type { Call, Reply } from "../ground/call.ts"
import { bindingsAt, type Checks, type Core, permitted, pipeline } from "../ground/core.ts"
import { recordsProblem } from "../ground/refusal.ts"
import { clockOf, during, phase } from "../ground/timing.ts"
import type { RequestFiber } from "../ground/timing.ts"
import { ticketsOf } from "./attach.ts"
import { runBatch } from "./batch.ts"
import { execute } from "./execute.ts"
import { type CreateWrite, prepareCreate } from "./intent.ts"
import { executeAndPresent, preferenceApplied, standsAlone } from "./single.ts"
import { committed, inTransaction, traceOf, writtenRecord } from "./transaction.ts"

const ways = new WeakMap<Model, readonly Relation[]>()

/** The relations of a model that lead to several records. */
const manyOf = (model: Model): readonly Relation[] => {
  let relations = ways.get(model)
  if (relations === undefined) ways.set(model, relations = [...model.relations.values()].filter(({ many }) => many))
  return relations
}

/** The relations that a body has lists for. One that `expand` does not know for this caller is no relation: its name is an unknown field. */
const nestedIn = (call: Call, { model, restricted }: Access, body: Json): readonly NestedRelation[] => {
  const relations = manyOf(model)
  if (relations.length === 0 || body === null || typeof body !== "object" || Array.isArray(body)) return []
  return relations.flatMap(({ from, name, target, to }) => {
    if (!Object.hasOwn(body, name) || restricted.byName.has(name) || !restricted.byName.has(from.name)) return []
    const access = call.access(target)
    const known = access !== null && !access.tenantMissing && access.decisions.read.of !== "deny" &&
      access.restricted.byName.has(to)
    return known ? [{ name, resource: target, field: to }] : []
  })
}

type Plan =
  | { readonly of: "one"; readonly write: CreateWrite }
  | {
    readonly of: "several"
    readonly operations: readonly BatchOperation[]
    readonly relations: readonly NestedRelation[]
    /** Where the record of each operation stands in the body; empty: it is the body. */
    readonly places: readonly string[]
  }

const planCreate = function*(
  fiber: RequestFiber,
  core: Core,
  call: Call,
  resource: string,
  bytes: Uint8Array
): Checks<Plan> {
  const access = yield* during(fiber, "write.access", () => permitted(call, resource, "create"))
  const body = yield* during(fiber, "write.parse", () => readJson(bytes))
  const relations = nestedIn(call, access, body)
  if (relations.length > 0) return { of: "several", relations, ...yield* nestedOperations(resource, body, relations) }
  const write = yield* during(fiber, "write.plan", () => prepareCreate(access, body, ticketsOf(core)))
  return { of: "one", write }
}

/** The record of an answer with the records below it, as `expand` shows them. The caller sees no others. */
const withBelow = (plan: Plan & { of: "several" }, [record = "", ...below]: readonly string[]): string => {
  const lists = plan.relations.map(({ name }) => {
    const items = below.filter((item, i) => item !== "" && plan.places[i + 1]!.startsWith(`${name}[`))
    return `${JSON.stringify(name)}:[${items.join(",")}]`
  })
  return `${record.slice(0, -1)},"expand":{${lists.join(",")}}}`
}

const several = (
  fiber: RequestFiber,
  core: Core,
  call: Call,
  body: Uint8Array,
  plan: Plan & { of: "several" }
): Effect.Effect<Reply, Problem> => {
  const preference = returnPreference(call.header("prefer"))
  return runBatch(fiber, core, call, body, plan.operations, {
    entry: ({ bindings, minimal, rehearses }, written) => {
      if (!written.visible) return ""
      const { etag, json } = writtenRecord(core, written, bindings, rehearses)
      return minimal ? JSON.stringify({ etag }) : json
    },
    reply: (entries, [first]) => {
      const record = entries[0]!
      const visible = record !== ""
      const withBody = visible && preference !== "minimal"
      const headers = {
        ...(preference === (withBody ? "representation" : "minimal") ? preferenceApplied(preference) : {}),
        ...(visible ? { etag: ownJson<{ readonly etag: string }>(record).etag } : {}),
        location: `${call.path}/${writeKey(first!.key)}`
      }
      return withBody ? json(201, withBelow(plan, entries), headers) : { status: 201, headers, body: null }
    },
    refusal: (error, index) => index === 0 ? error : belowRecord(error, plan.places[index]!)
  })
}

/** `POST /{resource}`: 201 with record, ETag and `Location`. */
export const create = (core: Core, call: Call, resource: string, body: Uint8Array): Effect.Effect<Reply, Problem> =>
  pipeline(
    (fiber) => Result.gen(() => planCreate(fiber, core, call, resource, body)),
    (plan, fiber) =>
      plan.of === "one"
        ? executeAndPresent(fiber, core, call, body, plan.write)
        : several(fiber, core, call, body, plan)
  )

/**
 * Creates a record for somebody who may see nothing of it. When the database refuses it because another record has its values, it is
 * answered like one that was written. Otherwise anybody could try values to find out which ones are stored.
 */
export const createUnseen = (
  core: Core,
  access: Access,
  values: Json
): Effect.Effect<"created" | "duplicate", Problem> =>
  pipeline(
    () => prepareCreate(access, values),
    (write, fiber) => {
      const bindings = bindingsAt(clockOf(fiber), access.caller)
      const executed = inTransaction(core, (tx) => execute(core, tx, write, bindings), standsAlone(core, write))
      const done = Effect.map(executed, (written) => {
        committed(core, traceOf(written))
        return "created" as const
      })
      return phase(
        fiber,
        "write.execute",
        Effect.catch(done, (error): Effect.Effect<"duplicate", Problem> =>
          !(error instanceof RecordsError)
            ? Effect.fail(error)
            : error.reason._tag === "Unique"
            ? Effect.succeed("duplicate")
            : recordsProblem(error))
      )
    }
  )
