/** `PATCH /{resource}/{key}`: an update of the record that the path names, or an upsert where the query asks for one. */

import type * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import type { Problem } from "../../domain/problem.ts"
import { readKey } from "../../domain/read/key.ts"
import { asksUpsert } from "../../domain/write/request.ts"
import { readJson } from "../ground/call.ts"
import type { Call, Reply } from "../ground/call.ts"
import type { Core } from "../ground/core.ts"
import { ticketsOf } from "./attach.ts"
import { prepareUpdate } from "./intent.ts"
import { single } from "./single.ts"
import { upsert } from "./upsert.ts"

/** The fields of the body, on the condition of `If-Match`. With `allow_missing` or `match` it is an upsert. */
export const patch = (
  core: Core,
  call: Call,
  resource: string,
  segment: string,
  body: Uint8Array
): Effect.Effect<Reply, Problem> =>
  asksUpsert(call.query) ? upsert(core, call, resource, segment, body) : single(core, call, resource, {
    op: "update",
    parse: ({ model }) =>
      Result.flatMap(readKey(model, segment), (key) => Result.map(readJson(body), (record) => ({ key, record }))),
    plan: (access, { key, record }) => prepareUpdate(access, key, record, call.header("if-match"), ticketsOf(core))
  })
