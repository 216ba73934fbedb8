/**
 * A scripted App and two ways to reach the edge in front of it: the fetch handler and a real Node listener. The App records what was
 * routed to it and answers by the key it is asked for; it decides nothing about HTTP.
 */

import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import { request as httpRequest } from "node:http"
import { connect } from "node:net"
import type { AuthMount } from "../../adapters/http/auth-mount.ts"
import { makeFetch } from "../../adapters/http/fetch.ts"
import { makeEdge } from "../../adapters/http/handle.ts"
import type { Edge, EdgeOptions } from "../../adapters/http/handle.ts"
import { listen } from "../../adapters/http/node.ts"
import type { Listener, ListenOptions } from "../../adapters/http/node.ts"
import type { App } from "../../core/app/app.ts"
import { json } from "../../core/app/ground/call.ts"
import type { Call, Reply } from "../../core/app/ground/call.ts"
import { phase } from "../../core/app/ground/timing.ts"
import { notFound, problem } from "../../core/domain/problem.ts"
import type { Problem } from "../../core/domain/problem.ts"
import { TokensError } from "../../core/ports/tokens.ts"
import type { TokensService } from "../../core/ports/tokens.ts"
import { anyAccess } from "../support/openapi.ts"

export interface Routed {
  readonly use: string
  readonly resource?: string
  readonly key?: string
  readonly body?: string
  readonly query: ReadonlyArray<readonly [string, string]>
  readonly path: string
  readonly user: string
}

export const secretText = "the text of a secret row"

/** More characters than fit into a connection whose reader pauses. */
export const hugeLength = 20_000_000

/** Keys and resources with a meaning; every other key is a record that exists. */
const answer = (use: string, key: string | undefined, call: Call): Effect.Effect<Reply, Problem> => {
  switch (key ?? "") {
    case "missing":
      return Effect.fail(notFound())
    case "boom":
      return Effect.die(new Error(secretText))
    case "throws":
      throw new TypeError(secretText)
    case "inside-interrupt":
      return Effect.interrupt
    case "bad-header":
      return Effect.succeed(json(200, "{}", { "x-odd": "line\nbreak" }))
    case "huge":
      return Effect.succeed(json(200, "1".repeat(hugeLength)))
    case "stale":
      return Effect.fail(problem("precondition-failed", "Stale.", { changed: ["note"] }, { etag: `"2"` }))
    case "same":
      return call.header("if-none-match") === `"1"`
        ? Effect.succeed({ status: 304, headers: { etag: `"1"` }, body: null })
        : Effect.succeed(json(200, `{"etag":1}`, { etag: `"1"` }))
    case "bytes":
      return Effect.succeed({
        status: 200,
        headers: { "content-type": "application/json" },
        body: Buffer.from(`{"é":1}`)
      })
    case "unicode":
      return Effect.succeed(json(200, `{"name":"Ünïcødé 𝄞"}`))
  }
  if (use === "create" || use === "uploads.begin") {
    return Effect.succeed(json(200, JSON.stringify({ use }), { location: `${call.path}/7` }))
  }
  if (use === "remove") return Effect.succeed({ status: 204, headers: {}, body: null })
  return Effect.succeed(json(200, JSON.stringify({ use })))
}

export interface Script {
  readonly app: App
  readonly tokens: TokensService
  readonly routed: Routed[]
  readonly authenticated: { count: number }
  /** Requests for the key `slow` wait here; `started` and `interrupted` count them. */
  readonly gate: Deferred.Deferred<void>
  readonly slow: { started: number; interrupted: number; finished: number }
}

export const script = (): Script => {
  const routed: Routed[] = []
  const authenticated = { count: 0 }
  const gate = Deferred.makeUnsafe<void>()
  const slow = { started: 0, interrupted: 0, finished: 0 }
  const record = (use: string) => (call: Call, resource?: string, key?: string, body?: Uint8Array) => {
    routed.push({
      use,
      ...(resource === undefined ? {} : { resource }),
      ...(key === undefined ? {} : { key }),
      ...(body === undefined ? {} : { body: new TextDecoder().decode(body) }),
      query: call.query,
      path: call.path,
      user: call.caller.id
    })
    if (key !== "slow") {
      return Effect.withFiber((fiber) => phase(fiber, "list.parse", Effect.suspend(() => answer(use, key, call))))
    }
    return Effect.suspend(() => {
      slow.started++
      return Effect.onInterrupt(
        Effect.map(Deferred.await(gate), () => {
          slow.finished++
          return json(200, `{"slow":true}`)
        }),
        () => Effect.sync(() => slow.interrupted++)
      )
    })
  }
  const list = record("list")
  const search = record("search")
  const create = record("create")
  const batch = record("batch")
  const app: App = {
    list,
    search: (call, resource, body) => search(call, resource, undefined, body),
    get: record("get"),
    watch: record("watch"),
    refresh: record("refresh"),
    sizes: record("sizes"),
    export: record("export"),
    bulk: (call, resource, body) => record("bulk")(call, resource, undefined, body),
    import: (call, resource) => record("import")(call, resource),
    tasks: (call) => record("tasks")(call),
    task: (call, id, verb, body) => record("task")(call, undefined, verb === null ? id : `${id}:${verb}`, body),
    verb: (call, resource, key, verb) => record("verb")(call, resource, `${key}:${verb}`),
    call: (call, name, body) => record("call")(call, name, undefined, body),
    facets: record("facets"),
    series: record("series"),
    histogram: record("histogram"),
    aggregate: (call, resource, body) => record("aggregate")(call, resource, undefined, body ?? undefined),
    seek: record("seek"),
    create: (call, resource, body) => create(call, resource, undefined, body),
    update: record("update"),
    remove: record("remove"),
    updateFiltered: (call, resource, body) => record("updateFiltered")(call, resource, undefined, body),
    removeFiltered: (call, resource) => record("removeFiltered")(call, resource),
    undelete: record("undelete"),
    restore: record("restore"),
    batch: (call, body) => batch(call, undefined, undefined, body),
    // It refuses what it sees of the file's beginning, and leaves the rest unread.
    upload: (call, resource, body) =>
      resource !== "refused" ? record("upload")(call, resource) : Effect.gen(function*() {
        const { bytes } = yield* body.open
        yield* Effect.promise(() => bytes[Symbol.asyncIterator]().next())
        return yield* Effect.fail(problem("unsupported-media-type", "No such file."))
      }),
    uploads: {
      options: record("uploads.options"),
      begin: (call, resource) => record("uploads.begin")(call, resource),
      state: record("uploads.state"),
      add: (call, resource, key) => record("uploads.add")(call, resource, key),
      answer: record("uploads.answer"),
      end: record("uploads.end"),
      direct: (call, resource) => record("uploads.direct")(call, resource),
      confirm: record("uploads.confirm")
    },
    meta: record("meta"),
    openapi: record("openapi"),
    accesses: (caller) => (resource) =>
      ["orders", "refused", "meta", "docs"].includes(resource) && caller.id !== "nobody" ? anyAccess(caller) : null,
    metaVersion: (caller) => caller === null ? "models" : `models+${caller.roles.join("+")}`
  }
  const tokens: TokensService = {
    authenticate: (request) => {
      authenticated.count++
      const credential = request.headers.get("authorization")
      if (credential === "Bearer defect") throw new Error(secretText)
      if (credential?.startsWith("Bearer user-") === true) {
        return Effect.succeed({ id: credential.slice("Bearer user-".length), roles: ["admin"], tenant: null })
      }
      return Effect.fail(
        new TokensError({
          reason: credential === "Bearer refused"
            ? "Refused"
            : credential === "Bearer keys"
            ? "KeysUnavailable"
            : "Unauthenticated",
          why: secretText
        })
      )
    }
  }
  return { app, tokens, routed, authenticated, gate, slow }
}

/** A handler as an auth server with any route and body. */
export const mounted = (handler: AuthMount["handler"], more: Partial<AuthMount> = {}): AuthMount => ({
  handler,
  serves: () => true,
  maxBodyBytes: Number.MAX_SAFE_INTEGER,
  ...more
})

export interface Asked {
  readonly method?: string
  readonly target: string
  /** Sent as `Bearer <token>`; null sends none. Default `user-ada`. */
  readonly token?: string | null
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Uint8Array
}

export interface Answered {
  readonly status: number
  readonly headers: Headers
  readonly text: string
}

export type Ask = (asked: Asked) => Promise<Answered>

const headersOf = (asked: Asked): Record<string, string> => ({
  ...(asked.token === null ? {} : { authorization: `Bearer ${asked.token ?? "user-ada"}` }),
  ...(asked.body === undefined ? {} : { "content-type": "application/json" }),
  ...asked.headers
})

export interface Stage extends Script {
  readonly edge: Edge
  readonly ask: Ask
  readonly lines: string[]
  readonly errors: Array<readonly [error: unknown, info: { requestId: string; method: string; path: string }]>
}

const stage = (options: EdgeOptions): Omit<Stage, "ask"> => {
  const made = script()
  const lines: string[] = []
  const errors: Array<readonly [unknown, { requestId: string; method: string; path: string }]> = []
  const edge = makeEdge(made.app, made.tokens, {
    log: (line) => lines.push(line),
    onUnhandledError: (error, info) => {
      errors.push([error, info])
    },
    ...options
  })
  return { ...made, edge, lines, errors }
}

export const viaFetch = (options: EdgeOptions = {}): Stage & { readonly fetch: ReturnType<typeof makeFetch> } => {
  const made = stage(options)
  const fetch = makeFetch(made.edge)
  const ask: Ask = async (asked) => {
    const response = await fetch(
      new Request(`http://localhost${asked.target}`, {
        method: asked.method ?? "GET",
        headers: headersOf(asked),
        body: asked.body ?? null
      })
    )
    return { status: response.status, headers: response.headers, text: await response.text() }
  }
  return { ...made, ask, fetch }
}

export interface NodeStage extends Stage {
  readonly listener: Listener
  /** Sends the text as it is and gives back everything until the server closes the connection. */
  readonly talk: (text: string) => Promise<string>
}

export const askPort = (port: number): Ask => (asked) =>
  new Promise((resolve, reject) => {
    const req = httpRequest({
      port,
      host: "127.0.0.1",
      method: asked.method ?? "GET",
      path: asked.target,
      headers: headersOf(asked),
      agent: false
    }, (res) => {
      const chunks: Buffer[] = []
      res.on("data", (chunk: Buffer) => chunks.push(chunk))
      res.on("end", () => {
        const headers = new Headers()
        for (let at = 0; at < res.rawHeaders.length; at += 2) {
          headers.append(res.rawHeaders[at]!, res.rawHeaders[at + 1]!)
        }
        resolve({ status: res.statusCode!, headers, text: Buffer.concat(chunks).toString() })
      })
    })
    req.on("error", reject)
    req.end(asked.body)
  })

const talkTo = (port: number) => (text: string): Promise<string> =>
  new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    const socket = connect(port, "127.0.0.1", () => socket.write(text))
    socket.on("data", (chunk) => chunks.push(chunk))
    socket.on("close", () => resolve(Buffer.concat(chunks).toString()))
    socket.on("error", reject)
  })

export const viaNode = async (
  options: EdgeOptions = {},
  listening: Partial<ListenOptions> = {}
): Promise<NodeStage> => {
  const made = stage(options)
  const listener = await listen(made.edge, { port: 0, graceMs: 200, ...listening })
  return { ...made, listener, ask: askPort(listener.port), talk: talkTo(listener.port) }
}

/** Waits for a fact that another task makes true; fails by the test's own timeout. */
export const until = async (fact: () => boolean): Promise<void> => {
  while (!fact()) await new Promise((resolve) => setImmediate(resolve))
}
