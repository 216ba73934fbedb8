/**
 * The HTTP face of the auth server: which routes exist, what a body may be, who is limited, and how better-auth's errors become problem
 * documents. It hands better-auth a request made anew from the few headers that matter, and never decides who a user is.
 */

import { clientOf } from "../../core/domain/account/client.ts"
import { rolesOf } from "../../core/domain/account/roles.ts"
import {
  notFound,
  type Problem,
  problem,
  problemDocument,
  problemKinds,
  type ProblemSlug
} from "../../core/domain/problem.ts"
import type { AuthInternals } from "./auth.ts"
import { codeOf, isUnavailable } from "./database.ts"
import type { Limits } from "./limits.ts"
import { lastAdminState } from "./migration.ts"

export interface HandlerSettings {
  readonly internals: AuthInternals
  readonly origin: string
  readonly basePath: string
  readonly limits: Limits
  readonly needsAdmin: () => Promise<boolean>
  readonly onError: (cause: unknown) => void
}

type Body = { [name: string]: unknown }

/** better-auth's routes that exist here. Everything else is a 404, whatever a later version of it adds. */
const routes: ReadonlyMap<string, "GET" | "POST"> = new Map([
  ["/jwks", "GET"],
  ["/token", "GET"],
  ["/get-session", "GET"],
  ["/list-sessions", "GET"],
  ["/admin/get-user", "GET"],
  ["/admin/list-users", "GET"],
  ["/sign-in/email", "POST"],
  ["/sign-up/email", "POST"],
  ["/sign-out", "POST"],
  ["/change-password", "POST"],
  ["/update-user", "POST"],
  ["/revoke-session", "POST"],
  ["/revoke-sessions", "POST"],
  ["/revoke-other-sessions", "POST"],
  ["/admin/create-user", "POST"],
  ["/admin/update-user", "POST"],
  ["/admin/set-role", "POST"],
  ["/admin/ban-user", "POST"],
  ["/admin/unban-user", "POST"],
  ["/admin/remove-user", "POST"],
  ["/admin/set-user-password", "POST"],
  ["/admin/has-permission", "POST"],
  ["/admin/list-user-sessions", "POST"],
  ["/admin/revoke-user-session", "POST"],
  ["/admin/revoke-user-sessions", "POST"]
])

/** Largest body in bytes. */
const bodyMax = 32_768
const passedOn = [
  "cookie",
  "origin",
  "referer",
  "user-agent",
  "sec-fetch-site",
  "sec-fetch-mode",
  "sec-fetch-dest"
]
/** Fields of a user that an admin may set by `data`; above all not its id. */
const settable = ["name", "email", "emailVerified", "image", "role", "banned", "banReason", "banExpires"]

const isObject = (value: unknown): value is Body => typeof value === "object" && value !== null && !Array.isArray(value)

const readBytes = async (request: Request): Promise<Uint8Array> => {
  const tooLarge = (): Problem => problem("payload-too-large", `The body is larger than ${bodyMax} bytes.`)
  if (Number(request.headers.get("content-length") ?? 0) > bodyMax) throw tooLarge()
  const { body } = request
  if (body === null) return new Uint8Array()
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of body) {
    size += chunk.byteLength
    if (size > bodyMax) throw tooLarge()
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

const readBody = async (request: Request): Promise<Body> => {
  const bytes = await readBytes(request)
  if (bytes.byteLength === 0) return {}
  const type = request.headers.get("content-type")?.split(";", 1)[0]?.trim().toLowerCase()
  if (type !== "application/json") {
    throw problem("unsupported-media-type", "The body must be JSON with Content-Type: application/json.")
  }
  let body: unknown
  try {
    body = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes))
  } catch {
    throw problem("malformed-json", "The body is not valid JSON.")
  }
  if (!isObject(body) || Object.hasOwn(body, "__proto__")) {
    throw problem("malformed-json", "The body must be a JSON object.")
  }
  return body
}

/** Role texts become lists, as better-auth wants several roles. What is no text is left for it to refuse. */
const rolesIn = (role: unknown): unknown => typeof role === "string" ? rolesOf(role) : role

const chosen = (data: unknown): unknown =>
  isObject(data)
    ? Object.fromEntries(
      settable.filter((name) => Object.hasOwn(data, name)).map((
        name
      ) => [name, name === "role" ? rolesIn(data[name]) : data[name]])
    )
    : data

/** The body as better-auth gets it. */
const adapt = (route: string, body: Body, defaultRole: string | undefined): Body => {
  switch (route) {
    case "/change-password":
      // A password change ends every session; this flag gives the caller a new one.
      return { ...body, revokeOtherSessions: true }
    case "/admin/set-role":
      return { ...body, role: rolesIn(body["role"]) }
    case "/admin/update-user":
      return { ...body, data: chosen(body["data"]) }
    case "/admin/create-user": {
      const { data: given, role, ...rest } = body
      const data = chosen(given ?? {})
      const wanted = role ?? (isObject(data) ? data["role"] : undefined) ?? defaultRole
      // Without any role an empty list is passed on: it is refused, with the choices, after the caller's rights were checked.
      return { ...rest, data, role: rolesIn(wanted ?? "") }
    }
    default:
      return body
  }
}

const slugs: { readonly [status: number]: ProblemSlug } = {
  400: "invalid-record",
  401: "unauthenticated",
  403: "access-denied",
  404: "not-found",
  405: "method-not-allowed",
  409: "conflict",
  413: "payload-too-large",
  415: "unsupported-media-type",
  422: "invalid-record",
  429: "too-many-requests",
  503: "unavailable"
}

const unavailable = (): Problem =>
  problem("unavailable", "The service cannot answer right now. Try again soon.", {}, { "retry-after": "2" })

const unexpected = (): Problem => problem("internal-error", "Something went wrong on our side.")

const isProblem = (cause: unknown): cause is Problem =>
  typeof cause === "object" && cause !== null && (cause as { _tag?: unknown })._tag === "Problem"

const send = (refusal: Problem, instance: string, cookies: readonly string[] = []): Response => {
  const { status } = problemKinds[refusal.slug]
  const headers = new Headers({
    "content-type": "application/problem+json",
    "cache-control": "no-store",
    ...(status === 401 ? { "www-authenticate": "Bearer" } : {}),
    ...refusal.headers
  })
  for (const cookie of cookies) headers.append("set-cookie", cookie)
  return new Response(JSON.stringify(problemDocument(refusal, instance)), { status, headers })
}

/** better-auth's error as a problem: its status and code, its message as detail. */
const refusalOf = async (route: string, response: Response): Promise<Problem> => {
  const slug = slugs[response.status]
  if (slug === undefined) return unexpected()
  const text = await response.text()
  let body: unknown
  try {
    body = text === "" ? {} : JSON.parse(text)
  } catch {
    body = {}
  }
  const { code, message } = isObject(body) ? body : {}
  // A banned user must not learn that the password was right.
  if (route === "/sign-in/email" && code === "BANNED_USER") return wrongCredentials()
  if (route === "/sign-in/email" && response.status === 401) return wrongCredentials()
  return problem(
    slug,
    typeof message === "string" && message !== "" ? message : problemKinds[slug].title + ".",
    typeof code === "string" ? { code } : {}
  )
}

const wrongCredentials = (): Problem =>
  problem("unauthenticated", "The email address or the password is wrong.", { code: "INVALID_EMAIL_OR_PASSWORD" })

const failureOf = (cause: unknown): Problem => {
  if (isProblem(cause)) return cause
  if (codeOf(cause) === lastAdminState) {
    return problem("conflict", "The last active admin cannot be deleted, demoted or banned.", { code: "LAST_ADMIN" })
  }
  if (codeOf(cause) === "23505") {
    return problem("conflict", "There is already such an account.", { code: "USER_ALREADY_EXISTS" })
  }
  return isUnavailable(cause) ? unavailable() : unexpected()
}

export const makeHandler = (settings: HandlerSettings): (request: Request) => Promise<Response> => {
  const { basePath, internals, limits, needsAdmin, onError, origin } = settings
  const { roles, store, table } = internals

  const status = async (): Promise<Response> =>
    Response.json({ needsAdmin: await needsAdmin() }, { headers: { "cache-control": "no-store" } })

  const limit = async (route: string, client: string, body: Body): Promise<void> => {
    if (route !== "/sign-in/email" && route !== "/change-password") return
    const { email } = body
    const account = route === "/sign-in/email" && typeof email === "string" ? email.trim().toLowerCase() : null
    const seconds = await limits.attempt(route, client, account)
    if (seconds > 0) {
      throw problem("too-many-requests", "Too many attempts. Try again later.", {}, { "retry-after": String(seconds) })
    }
  }

  const pass = async (request: Request, route: string, method: "GET" | "POST", search: string): Promise<Response> => {
    // Whoever calls the handler vouches for the last address: our edge puts the client it worked out there, and nothing else.
    const client = clientOf(null, request.headers.get("x-forwarded-for"), 1)
    const body = method === "POST" ? await readBody(request) : {}
    await limit(route, client.group, body)
    const headers = new Headers()
    for (const name of passedOn) {
      const value = request.headers.get(name)
      if (value !== null) headers.set(name, value)
    }
    if (client.address !== null) headers.set("x-forwarded-for", client.address)
    // Programs send no Origin; browsers always do on a cross-site POST, so this opens nothing to them.
    if (method === "POST" && !["origin", "referer", "sec-fetch-site"].some((name) => headers.has(name))) {
      headers.set("origin", origin)
    }
    if (method === "POST") headers.set("content-type", "application/json")
    const { handle } = await internals.engine()
    const response = await handle(
      new Request(`${origin}${basePath}${route}${search}`, {
        method,
        headers,
        ...(method === "POST" ? { body: JSON.stringify(adapt(route, body, roles.defaultRole)) } : {})
      })
    )
    if (response.status >= 500) {
      throw Object.assign(new Error(`better-auth answered ${response.status} at ${route}`), { response })
    }
    // To better-auth a session that cannot be read is none. Who has a cookie must not be signed out because the database is away.
    if (headers.has("cookie") && (response.status === 401 || route === "/get-session")) await store.query("select 1")
    if (response.status >= 400) {
      return send(await refusalOf(route, response), `${basePath}${route}`, response.headers.getSetCookie())
    }
    if (route === "/admin/revoke-user-sessions") {
      await store.query(`update ${table("user")} set "tokenEpoch" = "tokenEpoch" + 1 where "id" = $1`, [
        String(body["userId"])
      ])
    }
    const answered = new Headers(response.headers)
    answered.set("cache-control", route === "/jwks" ? "public, max-age=60" : "no-store")
    return new Response(response.body, { status: response.status, headers: answered })
  }

  const answer = async (request: Request, path: string, search: string): Promise<Response> => {
    const route = path.startsWith(`${basePath}/`) ? path.slice(basePath.length) : ""
    const method = route === "/status" ? "GET" : routes.get(route)
    if (method === undefined) return send(notFound(), path)
    const asked = request.method === "HEAD" && method === "GET" ? "GET" : request.method
    if (asked !== method) {
      return send(
        problem("method-not-allowed", "This path does not take the method.", {}, {
          allow: method === "GET" ? "GET, HEAD" : method
        }),
        path
      )
    }
    try {
      return route === "/status" ? await status() : await pass(request, route, method, search)
    } catch (cause) {
      const refusal = failureOf(cause)
      if (refusal.slug !== "internal-error") {
        if (refusal.slug === "unavailable") onError(cause)
        return send(refusal, path)
      }
      onError(cause)
      // better-auth hides what failed inside it; when the database is away that is the reason.
      const away = await store.query("select 1").then(() => false, isUnavailable)
      return send(away ? unavailable() : refusal, path)
    }
  }

  return async (request) => {
    const { pathname, search } = new URL(request.url)
    const response = await answer(request, pathname, search)
    return request.method === "HEAD"
      ? new Response(null, { status: response.status, headers: response.headers })
      : response
  }
}
