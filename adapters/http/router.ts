/**
 * Decides from the raw path which use case answers and which methods it has. Keys stay percent-encoded, so an encoded slash, comma or colon
 * belongs to the key. It decides neither who may call nor whether the resource exists.
 */

import type * as Effect from "effect/Effect"
import { taskVerbs } from "../../core/app/app.ts"
import type { App } from "../../core/app/app.ts"
import type { Call, Incoming, Reply } from "../../core/app/ground/call.ts"
import { parentPath } from "../../core/domain/declare/config.ts"
import { webhookBodies, webhookVerbs } from "../../core/domain/declare/webhooks.ts"
import type { Problem } from "../../core/domain/problem.ts"
import { keysOf } from "../../core/domain/value/table.ts"
import { decodePercent } from "./request.ts"

/** What a method of a route runs; `body` says whether a JSON body belongs to it, or a file that is taken as it comes. */
export type Action =
  | {
    readonly body: boolean
    readonly run: (app: App, call: Call, place: PathNames, body: Uint8Array) => Effect.Effect<Reply, Problem>
  }
  | {
    readonly body: "file"
    readonly run: (app: App, call: Call, place: PathNames, body: Incoming) => Effect.Effect<Reply, Problem>
  }

type Run = Extract<Action, { readonly body: boolean }>["run"]

/** The names in the path: empty text where the route has none. */
export interface PathNames {
  readonly resource: string
  /** The raw key segment. */
  readonly key: string
}

/** The methods of a route, and `Allow` for the others. HEAD goes with GET, unless it has an action of its own. */
export interface Methods {
  readonly allow: string
  readonly actions: ReadonlyMap<string, Action>
  /** A POST may name its method in `X-HTTP-Method-Override`, as tus 1.0 wants it. */
  readonly overrides?: boolean
}

/** `methods` null: there is no such route. `resource` still names the one whose visibility decides; empty when none does. */
export interface Route extends PathNames {
  readonly methods: Methods | null
}

const reads = (run: Run): Action => ({ body: false, run })
const takesBody = (run: Run): Action => ({ body: true, run })

const methods = (actions: { readonly [method: string]: Action }): Methods => ({
  allow: [...new Set(Object.keys(actions).flatMap((method) => method === "GET" ? ["GET", "HEAD"] : [method]))].join(
    ", "
  ),
  actions: new Map(Object.entries(actions))
})

const batch = methods({ POST: takesBody((app, call, _, body) => app.batch(call, body)) })

const collection = methods({
  GET: reads((app, call, at) => app.list(call, at.resource)),
  POST: takesBody((app, call, at, body) => app.create(call, at.resource, body)),
  PATCH: takesBody((app, call, at, body) => app.updateFiltered(call, at.resource, body)),
  DELETE: reads((app, call, at) => app.removeFiltered(call, at.resource))
})

const record = methods({
  GET: reads((app, call, at) => app.get(call, at.resource, at.key)),
  PATCH: takesBody((app, call, at, body) => app.update(call, at.resource, at.key, body)),
  DELETE: reads((app, call, at) => app.remove(call, at.resource, at.key))
})

/** Uploads as a whole, and the beginning of all others. */
const uploads = methods({
  POST: {
    body: "file",
    run: (app, call, at, body) =>
      call.header("tus-resumable") !== null
        ? app.uploads.begin(call, at.resource, body)
        : call.query.some(([name]) => name === "direct")
        ? app.uploads.direct(call, at.resource, body)
        : app.upload(call, at.resource, body)
  },
  OPTIONS: reads((app, call, at) => app.uploads.options(call, at.resource))
})

/** One upload in pieces, or a direct one. */
const pendingUpload: Methods = {
  ...methods({
    GET: reads((app, call, at) => app.uploads.answer(call, at.resource, at.key)),
    HEAD: reads((app, call, at) => app.uploads.state(call, at.resource, at.key)),
    POST: reads((app, call, at) => app.uploads.confirm(call, at.resource, at.key)),
    PATCH: { body: "file", run: (app, call, at, body) => app.uploads.add(call, at.resource, at.key, body) },
    DELETE: reads((app, call, at) => app.uploads.end(call, at.resource, at.key)),
    OPTIONS: reads((app, call, at) => app.uploads.options(call, at.resource))
  }),
  overrides: true
}

const uploadWord = ":upload"

const resourceVerbs: ReadonlyMap<string, Methods> = new Map([
  ["search", methods({ POST: takesBody((app, call, at, body) => app.search(call, at.resource, body)) })],
  ["facets", methods({ GET: reads((app, call, at) => app.facets(call, at.resource)) })],
  ["series", methods({ GET: reads((app, call, at) => app.series(call, at.resource)) })],
  ["histogram", methods({ GET: reads((app, call, at) => app.histogram(call, at.resource)) })],
  [
    "aggregate",
    methods({
      GET: reads((app, call, at) => app.aggregate(call, at.resource, null)),
      POST: takesBody((app, call, at, body) => app.aggregate(call, at.resource, body))
    })
  ],
  ["bulk", methods({ POST: takesBody((app, call, at, body) => app.bulk(call, at.resource, body)) })],
  ["import", methods({ POST: { body: "file", run: (app, call, at, body) => app.import(call, at.resource, body) } })],
  ["upload", uploads],
  ["watch", methods({ GET: reads((app, call, at) => app.watch(call, at.resource)) })],
  ["export", methods({ GET: reads((app, call, at) => app.export(call, at.resource)) })],
  ["seek", methods({ GET: reads((app, call, at) => app.seek(call, at.resource)) })],
  ["refresh", methods({ POST: reads((app, call, at) => app.refresh(call, at.resource)) })]
])

/** Only these words after the last raw colon of a key segment are verbs; any other colon belongs to the key. */
const recordVerbs: ReadonlyMap<string, Methods> = new Map([
  ["undelete", methods({ POST: reads((app, call, at) => app.undelete(call, at.resource, at.key)) })],
  ["restore", methods({ POST: takesBody((app, call, at, body) => app.restore(call, at.resource, at.key, body)) })]
])

/** Verbs that an extension adds to its own resources: to all others the word is part of a key. */
const extensionVerb = (resource: string, word: string): Methods | undefined =>
  Object.hasOwn(webhookVerbs, resource) && webhookVerbs[resource]!.includes(word)
    ? methods({
      POST: webhookBodies.has(word)
        ? takesBody((app, call, at, body) => app.verb(call, at.resource, at.key, word, body))
        : reads((app, call, at) => app.verb(call, at.resource, at.key, word, null))
    })
    : undefined

const systemRoutes: ReadonlyMap<string, Route> = new Map([
  ["/meta", { methods: methods({ GET: reads((app, call) => app.meta(call)) }), resource: "", key: "" }],
  ["/sizes", { methods: methods({ GET: reads((app, call) => app.sizes(call)) }), resource: "", key: "" }],
  ["/openapi.json", { methods: methods({ GET: reads((app, call) => app.openapi(call)) }), resource: "", key: "" }]
])

const nothing = (resource: string): Route => ({ methods: null, resource, key: "" })

const batchRoute: Route = { methods: batch, resource: "", key: "" }

/** Routes below the base path: `rest` begins with `/` or `:`, or is empty. */
const resourceRoute = (rest: string): Route => {
  if (rest === ":batchWrite") return batchRoute
  if (rest.charCodeAt(0) !== 47 /* / */) return nothing("")
  const slash = rest.indexOf("/", 1)
  if (slash === -1) {
    const colon = rest.lastIndexOf(":")
    const resource = decodePercent(colon === -1 ? rest.slice(1) : rest.slice(1, colon)) ?? ""
    if (resource === "") return nothing("")
    if (colon === -1) return { methods: collection, resource, key: "" }
    return { methods: resourceVerbs.get(rest.slice(colon + 1)) ?? null, resource, key: "" }
  }
  const first = rest.slice(1, slash)
  const isUpload = first.endsWith(uploadWord)
  const resource = decodePercent(isUpload ? first.slice(0, -uploadWord.length) : first) ?? ""
  const segment = rest.slice(slash + 1)
  if (resource === "" || segment === "" || segment.includes("/")) return nothing(resource)
  if (isUpload) return { methods: pendingUpload, resource, key: segment }
  const colon = segment.lastIndexOf(":")
  const word = colon < 1 ? "" : segment.slice(colon + 1)
  const verb = recordVerbs.get(word) ?? extensionVerb(resource, word)
  return verb === undefined
    ? { methods: record, resource, key: segment }
    : { methods: verb, resource, key: segment.slice(0, colon) }
}

/** Where the API lives: the base path of the resources and its parent, where the system endpoints are. */
export interface Mount {
  readonly basePath: string
  readonly parent: string
}

/** Throws a RangeError for a base path that is not a plain absolute path: a mistake in the configuration. */
export const mountAt = (basePath: string): Mount => {
  if (!/^(?:\/[A-Za-z0-9._~-]+)+$/.test(basePath)) {
    throw new RangeError(
      `options.basePath must look like /api/v1, with no slash at its end; it is ${JSON.stringify(basePath)}`
    )
  }
  return { basePath, parent: parentPath(basePath) }
}

/** Whether the path is the prefix or continues it with `/` or `:`. */
export const isBelow = (path: string, prefix: string): boolean => {
  if (!path.startsWith(prefix)) return false
  if (path.length === prefix.length) return true
  const next = path.charCodeAt(prefix.length)
  return next === 47 /* / */ || next === 58 /* : */
}

const tasksRoute: Route = { methods: methods({ GET: reads((app, call) => app.tasks(call)) }), resource: "", key: "" }

const taskMethods = methods({ GET: reads((app, call, at, body) => app.task(call, at.key, null, body)) })

const taskVerbMethods: ReadonlyMap<string, Methods> = new Map(
  keysOf(taskVerbs).map((verb) => {
    const run: Run = (app, call, at, body) => app.task(call, at.key, verb, body)
    return [verb, methods({ [taskVerbs[verb]]: taskVerbs[verb] === "GET" ? reads(run) : takesBody(run) })]
  })
)

const tasksPrefix = "/tasks/"

/** `/tasks/{id}` and its verbs. */
const taskRoute = (segment: string): Route => {
  const colon = segment.indexOf(":")
  const key = colon === -1 ? segment : segment.slice(0, colon)
  const methods = colon === -1 ? taskMethods : taskVerbMethods.get(segment.slice(colon + 1)) ?? null
  return key === "" || segment.includes("/") ? nothing("") : { methods, resource: "", key }
}

const functionMethods = methods({ POST: takesBody((app, call, at, body) => app.call(call, at.key, body)) })

const functionsPrefix = "/functions/"

/** Routes beside the resources: `rest` is what follows the parent of the base path. */
const systemRoute = (rest: string): Route => {
  if (rest === "/tasks") return tasksRoute
  if (rest.startsWith(tasksPrefix)) return taskRoute(rest.slice(tasksPrefix.length))
  const name = rest.startsWith(functionsPrefix) ? rest.slice(functionsPrefix.length) : ""
  return name !== "" && !name.includes("/")
    ? { methods: functionMethods, resource: "", key: name }
    : systemRoutes.get(rest) ?? nothing("")
}

export const routeOf = (mount: Mount, path: string): Route =>
  isBelow(path, mount.basePath)
    ? resourceRoute(path.slice(mount.basePath.length))
    : path.startsWith(mount.parent)
    ? systemRoute(path.slice(mount.parent.length))
    : nothing("")

const reading = (name: string, verbs: ReadonlyMap<string, Methods>): readonly string[] =>
  [...verbs].flatMap(([verb, { actions }]) => actions.has("GET") ? [`${name}:${verb}`] : [])

/** Every path here that answers a GET, with `{resource}`, `{key}` and `{id}` where names stand. What is new in the tables above is in it. */
export const readablePaths = ({ basePath, parent }: Mount): readonly string[] => [
  ...[...systemRoutes.keys(), "/tasks", `${tasksPrefix}{id}`, ...reading(`${tasksPrefix}{id}`, taskVerbMethods)]
    .map((path) => `${parent}${path}`),
  ...["/{resource}", ...reading("/{resource}", resourceVerbs), "/{resource}:upload/{key}", "/{resource}/{key}"].map((
    path
  ) => `${basePath}${path}`),
  ...reading("/{resource}/{key}", recordVerbs).map((path) => `${basePath}${path}`)
]
