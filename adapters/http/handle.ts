/**
 * The edge: one function from a plain request to a plain reply that never fails. It decides the order of the checks (overload, health,
 * preflight, public routes, credential, visibility, method, body) and what every answer carries. It knows neither Node nor a database,
 * and no use case knows it.
 */

import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Result from "effect/Result"
import type { App } from "../../core/app/app.ts"
import { Asked } from "../../core/app/ground/audit.ts"
import type { Accesses, Call } from "../../core/app/ground/call.ts"
import { OperationDefect } from "../../core/app/ground/refusal.ts"
import { isTraced, phase, Timing } from "../../core/app/ground/timing.ts"
import type { RequestFiber } from "../../core/app/ground/timing.ts"
import type { Caller } from "../../core/domain/access/caller.ts"
import { readKeyText } from "../../core/domain/account/api-key.ts"
import type { UnhandledErrorHook } from "../../core/domain/declare/config.ts"
import { tusVersion } from "../../core/domain/file/unfinished.ts"
import { notFound, Problem, problem } from "../../core/domain/problem.ts"
import type { Credentials, TokensService } from "../../core/ports/tokens.ts"
import { accessLine, errorLine, loggedPath, refusedAs, unfailing } from "./access-log.ts"
import type { Log, Refused } from "./access-log.ts"
import { runMounted, statusReply } from "./auth-mount.ts"
import type { AuthMount, AuthStatus } from "./auth-mount.ts"
import { makeCors } from "./cors.ts"
import type { CorsOptions } from "./cors.ts"
import { healthRoute } from "./health.ts"
import type { Readiness } from "./health.ts"
import { knownMethod, routeTemplate } from "./measure.ts"
import type { Measure } from "./measure.ts"
import { makeTiming, withServerSpan } from "./observe.ts"
import type { PrintedTiming } from "./observe.ts"
import {
  headerTooLarge,
  internalError,
  methodNotAllowed,
  overloaded,
  problemReply,
  protocolReply,
  stopping,
  tokensProblem
} from "./problem.ts"
import {
  acceptedId,
  askedHost,
  bodyRefusal,
  clientAddress,
  decodePercent,
  readQuery,
  splitTarget,
  utf8Length
} from "./request.ts"
import type { EdgeAnswer, EdgeReply, EdgeRequest, StreamedBody } from "./request.ts"
import { isBelow, mountAt, routeOf } from "./router.ts"
import type { Action, Methods, Mount, Route } from "./router.ts"
import { incomingOf } from "./upload.ts"

/** The place of a tenant: what its host or path says. */
export interface Place {
  readonly tenant: string
  /** Its public URL, without a slash at its end. */
  readonly url: string
  readonly origin: string
  /** What precedes the service's own paths: `/t/acme`, or empty where hosts decide. */
  readonly cut: string
}

/** The auth server of a tenant. */
export interface TenantMount {
  readonly mount: AuthMount
  readonly status: Effect.Effect<AuthStatus, Problem>
}

/** Where tenants are, and who signs their people in. */
export interface EdgeTenants {
  /** Whether hosts decide. Then a request that names two is refused. */
  readonly byHost: boolean
  /** The place that a host (as sent) or path asks for; null: of nobody. Fails where nobody can say now. */
  readonly placeOf: (host: string | null, path: string) => Effect.Effect<Place | null, Problem>
  /** Null: another server keeps the accounts. */
  readonly authOf: (tenant: string) => TenantMount | null
}

/** What an extra route is told about a request. */
export interface Visit {
  readonly request: EdgeRequest
  /** As sent, but GET for HEAD: answer it in full, the edge drops the body. */
  readonly method: string
  /** Raw path, and the raw query without `?` (null when there is none). */
  readonly path: string
  readonly query: string | null
  readonly id: string
  /** The client's address behind the trusted proxies, or null when unknown. */
  readonly address: string | null
  /** That of its tenant; null where requests do not decide the tenant. */
  readonly place: Place | null
}

/** Reads the body of a request. Bodies under way have places of their own, so slow senders hold up only each other. */
export type ReadBody = (limit: number) => Effect.Effect<Uint8Array, Problem>

type RouteAnswer = Effect.Effect<EdgeAnswer, Problem>

/**
 * A route beside the resources (docs, files, forms). It gets every method and path that equals the prefix or continues it with `/` or
 * `:`; the longest prefix wins, and all go before the resources. The prefix `/` gets what is outside the API and nobody else's.
 */
export type ExtraRoute =
  | {
    readonly prefix: string
    readonly access: "public"
    readonly handle: (visit: Visit, body: ReadBody) => RouteAnswer
    /** Writes no line of the log for its requests. */
    readonly quiet?: boolean
    /** False: no page of another origin may call it, whatever the service allows else. */
    readonly crossOrigin?: false
    /** Whether it is the operator's and belongs to no tenant: it answers at any host. */
    readonly anywhere?: true
  }
  | {
    readonly prefix: string
    readonly access: "caller"
    readonly handle: (visit: Visit, caller: Caller) => RouteAnswer
    /** Answers whoever has no valid credential; without it they get the refusal itself. */
    readonly refused?: (visit: Visit, refusal: Problem) => RouteAnswer
  }

/** Settings of the edge; each has a default. */
export interface EdgeOptions {
  /** Path of the resources; the system endpoints are beside it. Default `/api/v1`. */
  readonly basePath?: string
  /** Public URL of the service (`AUTH_URL`). Its origin is what handlers see; https turns HSTS on. */
  readonly publicUrl?: string
  /** Largest body in bytes. Default 2 MiB. */
  readonly maxBodyBytes?: number
  /** Requests worked on at once, and as many again whose bodies are on their way; past it the answer is 503. Default 1024. */
  readonly maxInFlight?: number
  /** Files that are received at once; past it the answer is 503. Default 256. */
  readonly maxUploads?: number
  /** How long the sender of a file may send nothing, or be slower than 16 KiB a second, in milliseconds. Default 30,000. */
  readonly uploadGraceMs?: number
  /** Which pages' browsers may call. Default none. */
  readonly cors?: CorsOptions
  /** Adds `Server-Timing`. Default off. */
  readonly serverTiming?: boolean
  /** Proxies in front that append to `X-Forwarded-For`. Default 0. */
  readonly trustedProxies?: number
  readonly onUnhandledError?: UnhandledErrorHook
  readonly log?: Log
  /** Told of every finished request, for metrics. Default nobody. */
  readonly measure?: Measure
  /** Told the cause of every refusal that has one, such as `read-only`. Default nobody. */
  readonly onRefused?: (cause: string) => void
  /** Whether the service may be sent traffic. Default yes. */
  readonly ready?: Effect.Effect<Readiness>
  /** Whether jobs of some name are paused, as this process knows it; for `/readyz`. */
  readonly jobsPaused?: () => boolean
  /** Answers its routes below `/api/auth`. */
  readonly auth?: AuthMount
  readonly authStatus?: Effect.Effect<AuthStatus, Problem>
  /** Where the tenants are, where requests decide the tenant. `auth` and `authStatus` are not asked then. */
  readonly tenants?: EdgeTenants
  readonly extraRoutes?: readonly ExtraRoute[]
  /** Called when the service is about to stop, so that long answers end. */
  readonly onDrain?: () => void
}

/** The service as one function, with what the hosts around it need. */
export interface Edge {
  /** Never fails. Interrupt it when the client goes away: the query it runs is cancelled. */
  readonly handle: (request: EdgeRequest) => Effect.Effect<EdgeReply>
  /** Origin for the URLs of requests whose host gives only a target. */
  readonly origin: string
  /** Where the routes beside the resources begin, the longest first; sign-in last. */
  readonly prefixes: readonly string[]
  /** From now on `/readyz` answers 503. Everything else goes on. */
  readonly drain: () => void
  /** From now on every request is refused with 503. Those under way go on. */
  readonly end: () => void
  readonly isDraining: () => boolean
  /** Whether the host of a request decides its tenant. */
  readonly byHost: boolean
  /** The fixed 500 for what went wrong after `handle`; reports the error. */
  readonly failed: (request: EdgeRequest, error: unknown) => EdgeReply
  /** The answer to bytes that never became a request. */
  readonly unreadable: (what: "malformed" | "too-slow" | "header-too-large") => EdgeReply
}

/** Requests of one sort that are under way. */
interface Slots {
  taken: number
}

/** What is known about a request so far. */
interface Progress extends Visit {
  path: string
  place: Place | null
  readonly start: number
  readonly fiber: RequestFiber
  readonly timing: PrintedTiming | null
  caller: Caller | null
  /** Where the request is counted, or null once it is answered. */
  slots: Slots | null
  /** The resource's or system route, once it is known to be there for the caller. */
  route: Route | null
  /** Whether its line is written: it may be interrupted right after its answer. */
  logged: boolean
}

/** The id of the API key that a request came with: the part of its text that is no secret. It says nothing about whether the key is good. */
const keyOf = ({ headers }: EdgeRequest): string | null => {
  const text = /^bearer +(\S+)$/i.exec(headers.get("authorization") ?? "")?.[1]
  return text === undefined ? null : readKeyText(text)?.id ?? null
}

const noBody = new Uint8Array(0)

/** Longest request target in characters: room for a filter of 10,000 characters percent-encoded. */
const maxTarget = 128 * 1024

/** The action of a method. HEAD has its own action or runs the action of GET. */
const actionOf = (
  { headers, method: sent }: EdgeRequest,
  method: string,
  { actions, overrides }: Methods
): Action | undefined => {
  const named = overrides === true && sent === "POST" ? headers.get("x-http-method-override")?.toUpperCase() : undefined
  return named === undefined ? actions.get(sent) ?? actions.get(method) : actions.get(named)
}

/** What a proxy takes off the paths of requests: the path of the public URL, unless the service has it in its own paths. */
const takenPrefix = ({ pathname }: URL, { basePath }: Mount): string => {
  const prefix = pathname.replace(/\/+$/, "")
  return isBelow(basePath, prefix) ? "" : prefix
}

/** Whether an answer belongs to an upload in pieces: it then says the version of the protocol, a refusal too. */
const isPieced = ({ path, request }: Pick<Visit, "path" | "request">): boolean =>
  request.headers.get("tus-resumable") !== null && /:upload(?:\/|$)/.test(path)

const refuse = (_: Visit, refusal: Problem): RouteAnswer => Effect.fail(refusal)

/** Throws a RangeError when the options make no sense; there is no other failure. */
export const makeEdge = (app: App, tokens: TokensService, options: EdgeOptions = {}): Edge => {
  const mount = mountAt(options.basePath ?? "/api/v1")
  const apiRoot = mount.parent === "" ? mount.basePath : mount.parent
  const authPrefix = `${mount.parent}/auth`
  const statusPath = `${authPrefix}/status`
  const publicUrl = new URL(options.publicUrl ?? "http://localhost")
  const prefix = takenPrefix(publicUrl, mount)
  const maxBody = options.maxBodyBytes ?? 2 * 1024 * 1024
  const maxInFlight = options.maxInFlight ?? 1024
  const maxUploads = options.maxUploads ?? 256
  const uploadGraceMs = options.uploadGraceMs ?? 30_000
  const cors = makeCors(options.cors)
  const trustedProxies = options.trustedProxies ?? 0
  const { auth, authStatus, measure, tenants = null } = options
  const log = options.log === undefined ? undefined : unfailing(options.log)
  const allExtra = [...options.extraRoutes ?? []].sort((a, b) => b.prefix.length - a.prefix.length)
  const extraRoutes = allExtra.filter((route) => route.prefix !== "/")
  const rootRoute = allExtra.find((route) => route.prefix === "/") ?? null
  const quiet = allExtra.filter((route) => route.access === "public" && route.quiet === true)
  const closed = allExtra.filter((route) => route.access === "public" && route.crossOrigin === false)
  const operated = extraRoutes.filter((route) => route.access === "public" && route.anywhere === true)
  const prefixes = [
    ...extraRoutes.map(({ prefix }) => prefix),
    ...(auth === undefined && tenants === null ? [] : [authPrefix])
  ]

  // A body takes as long as its sender likes. Those who wait for one are counted apart, strangers apart from callers, so that slow
  // senders keep only their like from being served.
  const working: Slots = { taken: 0 }
  const sending: Slots = { taken: 0 }
  const sendingUnknown: Slots = { taken: 0 }
  // Files take as long as their senders and readers like, and more memory than texts.
  const uploading: Slots = { taken: 0 }
  const downloading: Slots = { taken: 0 }
  let draining = false
  let ended = false
  const ready = Effect.suspend((): Effect.Effect<Readiness> =>
    draining ? Effect.succeed(stopping()) : options.ready ?? Effect.succeed(true)
  )

  const crossesTo = (path: string): boolean => !closed.some(({ prefix }) => isBelow(path, prefix))

  const vary = cors === null ? "Authorization" : "Authorization, Origin"
  const everywhere: { readonly [name: string]: string } = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    ...(publicUrl.protocol === "https:" ? { "strict-transport-security": "max-age=31536000" } : {})
  }

  const begin = (request: EdgeRequest, fiber: RequestFiber): Progress => {
    const [path, query] = splitTarget(request.target)
    return {
      request,
      method: request.method === "HEAD" ? "GET" : request.method,
      path,
      query,
      id: acceptedId(request.headers.get("x-request-id")) ?? crypto.randomUUID(),
      address: trustedProxies === 0 ? request.address : clientAddress(request, trustedProxies),
      place: null,
      start: performance.now(),
      fiber,
      timing: options.serverTiming === true ? makeTiming() : null,
      caller: null,
      slots: null,
      route: null,
      logged: false
    }
  }

  const leave = (progress: Progress): void => {
    if (progress.slots !== null) progress.slots.taken--
    progress.slots = null
  }

  /** Counts a request elsewhere; false, and it stays where it is, when there is no room. */
  const enter = (progress: Progress, slots: Slots): boolean => {
    if (slots.taken >= (slots === uploading ? maxUploads : maxInFlight)) return false
    leave(progress)
    slots.taken++
    progress.slots = slots
    return true
  }

  /** Bodies from this size on are read one a turn of the event loop. */
  const largeBody = 65_536
  let lastTurn: Promise<void> = Promise.resolve()

  /**
   * Waits for a turn of its own. Otherwise large bodies that come at once would be read one right after the other, and all other requests would
   * wait for all of them.
   */
  const ownTurn = Effect.promise(() => lastTurn = lastTurn.then(() => new Promise((resolve) => setTimeout(resolve, 0))))

  /** Goes on with the body once it is there. */
  const withBody = <A>(
    progress: Progress,
    limit: number,
    next: (body: Uint8Array) => Effect.Effect<A, Problem>
  ): Effect.Effect<A, Problem> =>
    enter(progress, progress.caller === null ? sendingUnknown : sending)
      ? Effect.flatMap(
        progress.request.body(limit),
        (body) =>
          enter(progress, working)
            ? body.byteLength < largeBody ? next(body) : Effect.flatMap(ownTurn, () => next(body))
            : Effect.fail(overloaded())
      )
      : Effect.fail(overloaded())

  const writeLine = (progress: Progress, status: number, bytes: number, refused: Refused | null = null): void => {
    if (progress.logged) return
    progress.logged = true
    measure?.({
      method: knownMethod(progress.request.method),
      route: routeTemplate(mount, progress.path, progress.route, prefixes),
      status,
      refused,
      seconds: (performance.now() - progress.start) / 1_000
    })
    if (refused?.cause !== undefined) options.onRefused?.(refused.cause)
    if (log === undefined || quiet.some(({ prefix }) => isBelow(progress.path, prefix))) return
    log(accessLine({
      id: progress.id,
      method: progress.request.method,
      path: loggedPath(progress.path, authPrefix),
      status,
      milliseconds: performance.now() - progress.start,
      bytes,
      user: progress.caller === null ? null : progress.caller.id,
      refused,
      tenant: progress.place === null ? null : progress.place.tenant
    }))
  }

  /** Counts a body as it is sent, and ends its request with it, however it ends. */
  const watchedBody = (progress: Progress, status: number, { bytes, length }: StreamedBody): StreamedBody => {
    const source = bytes[Symbol.asyncIterator]()
    let sent = 0
    let ended = false
    const end = (): void => {
      if (ended) return
      ended = true
      leave(progress)
      writeLine(progress, length === null || sent === length ? status : 499, sent)
    }
    const iterator: AsyncIterator<Uint8Array> = {
      next: async () => {
        try {
          const next = await source.next()
          if (next.done === true) end()
          else sent += next.value.length
          return next
        } catch (error) {
          end()
          // A refusal in the middle (a role that was taken away) cuts the answer off, and is no defect.
          if (!(error instanceof Problem)) {
            report(error, progress.id, progress.request.method, loggedPath(progress.path, authPrefix))
          }
          throw error
        }
      },
      return: async () => {
        end()
        await source.return?.()
        return { done: true, value: undefined }
      }
    }
    return { length, bytes: { [Symbol.asyncIterator]: () => iterator } }
  }

  /** Completes an answer whose body is sent as it comes. Its line is written when it has ended. */
  const finishStream = (
    progress: Progress,
    answer: EdgeAnswer,
    headers: Record<string, string>,
    stream: StreamedBody
  ): EdgeReply => {
    if (stream.length !== null) headers["content-length"] = String(stream.length)
    const reply = { status: answer.status, headers, cookies: answer.cookies ?? [], body: null }
    if (stream.length === null && progress.request.method !== "HEAD") {
      // It lasts: whoever gives it bounds how many there are.
      leave(progress)
      return { ...reply, stream: watchedBody(progress, answer.status, stream) }
    }
    if (progress.request.method === "HEAD" || !enter(progress, downloading)) {
      void Promise.resolve(stream.bytes[Symbol.asyncIterator]().return?.()).catch(() => {})
      if (progress.request.method !== "HEAD") return finish(progress, problemReply(overloaded(), progress.path))
      leave(progress)
      writeLine(progress, answer.status, 0)
      return { ...reply, stream: null }
    }
    return { ...reply, stream: watchedBody(progress, answer.status, stream) }
  }

  /** Completes an answer: what every reply carries, its length, and the access line. */
  const finish = (progress: Progress, answer: EdgeAnswer): EdgeReply => {
    if (answer.stream === undefined) leave(progress)
    const { request, method } = progress
    const headers: Record<string, string> = { ...everywhere, ...answer.headers }
    headers["vary"] = answer.headers["vary"] === undefined ? vary : `${vary}, ${answer.headers["vary"]}`
    headers["cache-control"] ??= method === "GET" && headers["etag"] !== undefined ? "private, no-cache" : "no-store"
    headers["x-meta-version"] = app.metaVersion(progress.caller)
    headers["x-request-id"] = progress.id
    if (isPieced(progress)) headers["tus-resumable"] = tusVersion
    if (cors !== null) {
      const origin = request.headers.get("origin")
      if (origin !== null && crossesTo(progress.path)) Object.assign(headers, cors.headersFor(origin))
    }
    if (progress.timing !== null) headers["server-timing"] = progress.timing.header()
    if (answer.stream !== undefined) return finishStream(progress, answer, headers, answer.stream)
    const bodiless = answer.status === 204 || answer.status === 304
    const body = bodiless ? null : answer.body
    const bytes = body === null ? 0 : typeof body === "string" ? utf8Length(body) : body.byteLength
    if (!bodiless) headers["content-length"] = String(bytes)
    const headOnly = request.method === "HEAD"
    writeLine(progress, answer.status, headOnly ? 0 : bytes, answer.refused)
    return { status: answer.status, headers, cookies: answer.cookies ?? [], body: headOnly ? null : body, stream: null }
  }

  const hookFailed = (id: string) => (error: unknown): void => log?.(errorLine("onUnhandledError failed", id, error))

  const report = (error: unknown, id: string, method: string, path: string): void => {
    if (options.onUnhandledError === undefined) {
      log?.(errorLine("unhandled error", id, error))
      return
    }
    try {
      const done = options.onUnhandledError(error, { requestId: id, method, path })
      if (done instanceof Promise) done.catch(hookFailed(id))
    } catch (broken) {
      hookFailed(id)(broken)
    }
  }

  const refused = (progress: Progress, cause: Cause.Cause<Problem>): EdgeReply => {
    const only = cause.reasons.length === 1 ? cause.reasons[0] : undefined
    if (only !== undefined && Cause.isFailReason(only) && only.error instanceof Problem) {
      return finish(progress, problemReply(only.error, progress.path))
    }
    const error = Cause.squash(cause)
    const [defect, members] = error instanceof OperationDefect ? [error.defect, error.members] : [error, {}]
    report(defect, progress.id, progress.request.method, loggedPath(progress.path, authPrefix))
    return finish(progress, {
      ...problemReply(internalError(members), progress.path),
      refused: refusedAs("internal-error", { cause: "defect", error: defect })
    })
  }

  /** The credential of a request, with the tenant that it asks for. */
  const credentials = ({ place, request }: Progress): Credentials =>
    place === null
      ? request
      : { method: request.method, url: request.url, headers: request.headers, tenant: place.tenant }

  const authenticated = (
    progress: Progress,
    next: (progress: Progress, caller: Caller) => RouteAnswer,
    refused: (visit: Visit, refusal: Problem) => RouteAnswer = refuse
  ): RouteAnswer => {
    const caller = phase(progress.fiber, "authenticate", tokens.authenticate(credentials(progress)))
    return Effect.matchEffect(caller, {
      onFailure: (error) => refused(progress, tokensProblem(error)),
      onSuccess: (caller) => {
        progress.caller = caller
        return next(progress, caller)
      }
    })
  }

  const callOf = (progress: Progress, caller: Caller, access: Accesses): Result.Result<Call, Problem> =>
    Result.map(readQuery(progress.query), (query) => ({
      caller,
      access,
      path: progress.path,
      query,
      origin: () => progress.place?.origin ?? new URL(progress.request.url).origin,
      ...(progress.place === null ? {} : { tenantUrl: progress.place.url }),
      // Asked by what lasts only: a token is looked up when it is.
      again: Effect.suspend(() => tokens.authenticate(credentials(progress))),
      header: (name) => progress.request.headers.get(name)
    }))

  /** Body checks come last: the route and the method are known to exist by now. */
  const perform = (progress: Progress, action: Action, call: Call, resource: string, key: string): RouteAnswer => {
    const place = { resource, key }
    if (action.body === "file") {
      if (!enter(progress, uploading)) return Effect.fail(overloaded())
      const incoming = incomingOf(progress.request, { graceMs: uploadGraceMs })
      return Result.isFailure(incoming)
        ? Effect.fail(incoming.failure)
        : action.run(app, call, place, incoming.success)
    }
    if (!action.body) return action.run(app, call, place, noBody)
    const refusal = bodyRefusal(progress.request, maxBody)
    if (refusal !== null) return Effect.fail(refusal)
    if (!progress.request.hasBody) return action.run(app, call, place, noBody)
    return withBody(progress, maxBody, (body) => action.run(app, call, place, body))
  }

  /** `Location` as clients reach it. */
  const located = (answer: EdgeAnswer, before: string): EdgeAnswer => {
    const { location } = answer.headers
    return location === undefined || !location.startsWith("/")
      ? answer
      : { ...answer, headers: { ...answer.headers, location: before + location } }
  }

  const dispatch = (progress: Progress, caller: Caller): RouteAnswer => {
    const route = routeOf(mount, progress.path)
    const access = app.accesses(caller)
    if (route.resource !== "" && access(route.resource) === null) return Effect.fail(notFound())
    if (route.methods === null) return Effect.fail(notFound())
    progress.route = route
    const action = actionOf(progress.request, progress.method, route.methods)
    if (action === undefined) return Effect.fail(methodNotAllowed(route.methods.allow))
    if (decodePercent(route.key) === null) {
      return Effect.fail(problem("invalid-key", "The key is not valid percent-encoded UTF-8."))
    }
    const call = callOf(progress, caller, access)
    if (Result.isFailure(call)) return Effect.fail(call.failure)
    const answered = perform(progress, action, call.success, route.resource, route.key)
    const before = progress.place === null ? prefix : prefix + progress.place.cut
    return before === "" ? answered : Effect.map(answered, (answer) => located(answer, before))
  }

  const extra = (route: ExtraRoute, progress: Progress): RouteAnswer =>
    route.access === "public"
      ? route.handle(progress, (limit) => withBody(progress, limit, Effect.succeed))
      : authenticated(progress, route.handle, route.refused)

  /** The sign-in routes, or null when the path is none of them. */
  const signIn = (progress: Progress): RouteAnswer | null => {
    const { path, place, request } = progress
    if (path !== statusPath && !path.startsWith(`${authPrefix}/`)) return null
    const own = place === null ? { mount: auth, status: authStatus } : tenants?.authOf(place.tenant) ?? null
    if (own === null) return null
    const { mount: served, status } = own
    if (status !== undefined && path === statusPath) {
      return progress.method === "GET" ? Effect.map(status, statusReply) : Effect.fail(methodNotAllowed("GET, HEAD"))
    }
    if (served === undefined || !served.serves((place?.cut ?? "") + path)) return null
    const maxAuthBody = Math.min(maxBody, served.maxBodyBytes)
    return runMounted(
      served.handler,
      request,
      progress.method,
      Effect.suspend(() => withBody(progress, maxAuthBody, Effect.succeed)),
      maxAuthBody,
      trustedProxies,
      progress.id,
      place === null ? request.url : place.origin + request.target
    )
  }

  const answer = (progress: Progress): RouteAnswer => {
    const { request, path } = progress
    if (ended) return Effect.fail(stopping())
    if (request.target.length > maxTarget) return Effect.fail(headerTooLarge())
    const health = healthRoute(path, progress.method, ready, options.jobsPaused ?? (() => false))
    if (health !== null) return health
    if (!enter(progress, working)) return Effect.fail(overloaded())
    if (tenants === null) return answerAt(progress)
    for (const route of operated) if (isBelow(path, route.prefix)) return extra(route, progress)
    return Effect.flatMap(tenants.placeOf(askedHost(request, trustedProxies), path), (place) => {
      // Nothing says what is wrong: a host that nobody has is like an address that nobody has.
      if (place === null) return Effect.fail(notFound())
      progress.place = place
      progress.path = path.slice(place.cut.length) || "/"
      return answerAt(progress)
    })
  }

  /** The answer at the place of a tenant, or at the only place that there is. */
  const answerAt = (progress: Progress): RouteAnswer => {
    const { request, path } = progress
    if (cors !== null && request.method === "OPTIONS" && crossesTo(path)) {
      const preflight = cors.preflight(request)
      if (preflight !== null) return Effect.succeed(preflight)
    }
    for (const route of extraRoutes) if (isBelow(path, route.prefix)) return extra(route, progress)
    const signedIn = signIn(progress)
    if (signedIn !== null) return signedIn
    if (rootRoute !== null && !isBelow(path, apiRoot) && routeOf(mount, path).methods === null) {
      return extra(rootRoute, progress)
    }
    return authenticated(progress, dispatch)
  }

  const handle = (request: EdgeRequest): Effect.Effect<EdgeReply> =>
    Effect.withFiber((fiber) => {
      const progress = begin(request, fiber)
      const answered = Effect.matchCause(Effect.suspend(() => answer(progress)), {
        onFailure: (cause) => refused(progress, cause),
        onSuccess: (reply) => finish(progress, reply)
      })
      const watched = Effect.onExitPrimitive(answered, (exit) => {
        if (Exit.hasInterrupts(exit)) {
          leave(progress)
          writeLine(progress, 499, 0)
        }
        return undefined
      })
      // Only what acts, and exports, are noted.
      const known = progress.method === "GET" && !progress.path.endsWith(":export")
        ? watched
        : Effect.provideService(watched, Asked, { id: progress.id, key: () => keyOf(request) })
      const timed = progress.timing === null ? known : Effect.provideService(known, Timing, progress.timing)
      return isTraced(fiber)
        ? withServerSpan(timed, request, loggedPath(progress.path, authPrefix), progress.id)
        : timed
    })

  /** A reply outside of any request: no caller, no log line, nothing that could fail. */
  const bare = (id: string, reply: EdgeAnswer): EdgeReply => {
    let metaVersion: { readonly [name: string]: string } = {}
    try {
      metaVersion = { "x-meta-version": app.metaVersion(null) }
    } catch (error) {
      log?.(errorLine("metaVersion failed", id, error))
    }
    return {
      status: reply.status,
      headers: {
        ...everywhere,
        ...reply.headers,
        ...metaVersion,
        "cache-control": "no-store",
        "x-request-id": id,
        "content-length": String(typeof reply.body === "string" ? utf8Length(reply.body) : 0)
      },
      cookies: [],
      body: reply.body,
      stream: null
    }
  }

  return {
    handle,
    origin: publicUrl.origin,
    prefixes,
    drain: () => {
      draining = true
      options.onDrain?.()
    },
    end: () => {
      draining = ended = true
      options.onDrain?.()
    },
    isDraining: () => draining,
    byHost: tenants?.byHost === true,
    failed: (request, error) => {
      const [path] = splitTarget(request.target)
      const id = acceptedId(request.headers.get("x-request-id")) ?? crypto.randomUUID()
      report(error, id, request.method, loggedPath(path, authPrefix))
      const reply = bare(id, problemReply(internalError(), path))
      return request.method === "HEAD" ? { ...reply, body: null } : reply
    },
    unreadable: (what) =>
      bare(
        crypto.randomUUID(),
        what === "header-too-large"
          ? problemReply(headerTooLarge(), "/")
          : what === "too-slow"
          ? protocolReply("request-timeout", "The request did not arrive in time.")
          : protocolReply("malformed-request", "The request is not valid HTTP.")
      )
  }
}
