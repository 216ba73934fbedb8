/**
 * A request to an auth route as the stages of the handler see it, and as better-auth gets it: only the headers that matter, only the cookies that are ours.
 * It judges nobody.
 */

import { type Client, clientOf } from "../../core/domain/account/client.ts"
import { type Body, readBody } from "./auth-body.ts"
import { type OwnCookies, ownCookies, printCookies } from "./cookies.ts"
import type { AuthInternals } from "./internals.ts"
import type { AuthRoute } from "./routes.ts"

export interface AuthCall {
  /** Below the base path. */
  readonly path: string
  readonly route: AuthRoute
  /** The query with its `?`, or an empty text. */
  readonly search: string
  readonly body: Body
  readonly client: Client
  readonly cookies: OwnCookies
  /** What better-auth gets. */
  readonly headers: Headers
}

/** Where an auth server answers. */
export interface AuthAddress {
  readonly origin: string
  readonly basePath: string
}

const passedOn = ["origin", "referer", "user-agent", "sec-fetch-site", "sec-fetch-mode", "sec-fetch-dest"]

/** The headers by which browsers say where a request comes from. */
const browserSigns = ["origin", "referer", "sec-fetch-site"]

/** Whether cookies of a service at an origin are secure ones. */
export const isSecure = ({ origin }: AuthAddress): boolean => origin.startsWith("https:")

const headersOf = (
  request: Request,
  route: AuthRoute,
  client: Client,
  cookies: OwnCookies,
  place: AuthAddress
): Headers => {
  const headers = new Headers()
  for (const name of passedOn) {
    const value = request.headers.get(name)
    if (value !== null) headers.set(name, value)
  }
  if (request.headers.has("cookie")) headers.set("cookie", printCookies(cookies, isSecure(place)))
  if (client.address !== null) headers.set("x-forwarded-for", client.address)
  if (route.method === "GET") return headers
  headers.set("content-type", "application/json")
  // Programs send no Origin. Browsers always do on a cross-site POST, so this allows nothing to them.
  if (!browserSigns.some((name) => headers.has(name))) headers.set("origin", place.origin)
  return headers
}

/** Reads a request to a route. Throws a `Problem` for a body that cannot be. */
export const readAsked = async (
  request: Request,
  path: string,
  route: AuthRoute,
  search: string,
  place: AuthAddress & { readonly internals: Pick<AuthInternals, "renewCookies"> }
): Promise<AuthCall> => {
  // The caller of the handler guarantees the last address. Our edge puts there only the client that it found out.
  const client = clientOf(null, request.headers.get("x-forwarded-for"), 1)
  const body = route.method === "POST" ? await readBody(request) : {}
  const cookies = await place.internals.renewCookies(ownCookies(request.headers.get("cookie"), isSecure(place)))
  return { path, route, search, body, client, cookies, headers: headersOf(request, route, client, cookies, place) }
}

/** A request to better-auth with the same headers. */
export const requestFor = (
  { headers }: AuthCall,
  { basePath, origin }: AuthAddress,
  path: string,
  method: "GET" | "POST" = "GET",
  body: Body | null = null
): Request =>
  new Request(`${origin}${basePath}${path}`, {
    method,
    headers,
    ...(body === null ? {} : { body: JSON.stringify(body) })
  })
