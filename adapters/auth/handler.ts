/**
 * The HTTP side of the auth server: the stages of a request, from its route to its answer. Pages that may not send it and clients that came too often are
 * refused first. Then a route of our own answers, or better-auth does and the witness looks at what it did. It never decides who a user is.
 */

import { pagesAllowed } from "../../core/domain/account/origin.ts"
import { outageProblem } from "../../core/domain/outage.ts"
import { notFound } from "../../core/domain/problem.ts"
import { type AnswerParts, checkListing, complete, present, readGiven, refuse } from "./answers.ts"
import { type AuthCall, readAsked } from "./asked.ts"
import { ask, type AskParts, engineFor, ownRequest } from "./asking.ts"
import { makeAttempts } from "./attempts.ts"
import { type Body, checkQuery } from "./auth-body.ts"
import { makeSweep } from "./database.ts"
import type { AuthInternals } from "./internals.ts"
import type { Limits } from "./limits.ts"
import { readListing } from "./listing.ts"
import { type MailRequest, makeMailRoutes } from "./mail-routes.ts"
import { makeOwnRoutes, type OwnRequest } from "./own-routes.ts"
import { everywhere, failureOf, foreignOrigin, send, wrongMethod } from "./refusals.ts"
import { makeRoutes } from "./routes.ts"
import { makeWitness } from "./witness.ts"

export interface HandlerSettings {
  readonly internals: AuthInternals
  readonly origin: string
  readonly basePath: string
  readonly limits: Limits
  readonly needsAdmin: () => Promise<boolean>
  readonly twoFactor: boolean
  readonly passkeys: boolean
}

/** The auth routes as a web handler. */
export interface AuthHandler {
  readonly handler: (request: Request) => Promise<Response>
  /** Whether a path is one of them. */
  readonly serves: (path: string) => boolean
}

/** A stage that lets a request pass, or throws its refusal. */
type Stage = (asked: AuthCall) => Promise<void>

/** Refuses pages that may not send a request, before anything is counted. */
const makePageCheck = ({ engine }: AuthInternals): Stage => async ({ headers, route }) => {
  const origin = headers.get("origin")
  const pages = pagesAllowed(
    {
      changes: route.method === "POST",
      inSession: route.plain !== true && headers.has("cookie"),
      limited: route.limited !== undefined
    },
    { origin, site: headers.get("sec-fetch-site") }
  )
  if (pages === "all") return
  if (pages === "none" || origin === null || !(await engine()).trusts(origin)) throw foreignOrigin()
}

/** Removes what has expired, as fast as requests make more of it. */
const makeTidying = ({ store, table }: AuthInternals): Stage => {
  const expired = (name: string) => makeSweep(store, { table: table(name), key: `"id"`, past: `"expiresAt" < now()` })
  // Challenges without an answer and sign-ins with a provider that nobody finished: better-auth keeps them until the next one is finished. It removes a
  // session, which holds the address of its client, only when the session's cookie comes back.
  const [forgetKept, forgetSessions] = [expired("verification"), expired("session")]
  return async ({ route }) => {
    if (route.keeps === true) await forgetKept()
    if (route.signsIn !== undefined) await forgetSessions()
  }
}

type OwnRoutes = ReadonlyMap<string, (request: MailRequest & OwnRequest) => Promise<Body>>

/** The routes that better-auth does not answer. */
const ownRoutesOf = ({ internals, needsAdmin, passkeys, twoFactor }: HandlerSettings): OwnRoutes => {
  const { mailer, providers } = internals
  return new Map<string, (request: MailRequest & OwnRequest) => Promise<Body>>([
    ["/status", async () => ({ needsAdmin: await needsAdmin() })],
    ["/providers", async () => ({
      providers: providers.map(({ id, name }) => ({ id, name })),
      twoFactor,
      passkeys,
      passwordReset: mailer?.mails.passwordReset === true,
      invitations: mailer?.mails.invitations === true
    })],
    ...makeMailRoutes(internals),
    ...makeOwnRoutes({ internals, twoFactor, passkeys })
  ])
}

const plainly = (body: unknown): Response =>
  Response.json(body, { headers: { "cache-control": "no-store", ...everywhere } })

/** The stages of a request that better-auth answers. */
const passOn = async (parts: AnswerParts & AskParts, asked: AuthCall): Promise<Response> => {
  const { internals, witness } = parts
  const engine = await engineFor(internals, asked)
  const seen = await witness.before(asked)
  const listing = asked.path === "/admin/list-users" ? readListing(asked.search) : null
  if (listing === null) checkQuery(asked.search)
  const response = await ask(parts, asked, engine, seen, listing?.search ?? asked.search)
  const given = await readGiven(internals.store, asked, response)
  if (given.status >= 400) return refuse(parts, asked, seen, given)
  if (listing !== null) checkListing(listing, given)
  await complete(parts, asked, seen, given)
  return present(parts, asked, seen, given)
}

/** A failure on the way as an answer. better-auth hides the reasons of its own. */
const failed = ({ onError, store }: AuthInternals, cause: unknown, below: string, path: string): Response => {
  const refusal = failureOf(cause, below)
  const met = refusal.slug === "internal-error" ? store.met() : null
  if (refusal.slug === "internal-error" || refusal.slug === "unavailable") onError(cause)
  return send(met === null ? refusal : outageProblem(met), path)
}

export const makeHandler = (settings: HandlerSettings): AuthHandler => {
  const { basePath, internals, limits, passkeys, twoFactor } = settings
  const routes = makeRoutes({ twoFactor, passkeys, mails: internals.mailer?.mails ?? null }, internals.providers)
  const ownRoutes = ownRoutesOf(settings)
  const witness = makeWitness(internals, limits)
  const parts = { ...settings, witness }
  const stages = [makePageCheck(internals), makeAttempts(internals, limits, witness), makeTidying(internals)]

  const pass = async (asked: AuthCall): Promise<Response> => {
    for (const stage of stages) await stage(asked)
    const own = ownRoutes.get(asked.path)
    return own === undefined ? passOn(parts, asked) : plainly(await own(ownRequest(parts, asked)))
  }

  /** The path below the base path; empty for one that is elsewhere. */
  const belowOf = (path: string): string => path.startsWith(`${basePath}/`) ? path.slice(basePath.length) : ""

  const answer = async (request: Request, path: string, search: string): Promise<Response> => {
    const below = belowOf(path)
    const route = routes.get(below)
    if (route === undefined) return send(notFound(), path)
    const method = request.method === "HEAD" && route.method === "GET" ? "GET" : request.method
    if (method !== route.method) return send(wrongMethod(route), path)
    try {
      return await pass(await readAsked(request, below, route, search, settings))
    } catch (cause) {
      return failed(internals, cause, below, path)
    }
  }

  return {
    serves: (path) => routes.has(belowOf(path)),
    handler: async (request) => {
      const { pathname, search } = new URL(request.url)
      const response = await internals.inRequest(
        request.headers.get("x-request-id"),
        () => internals.store.watched(() => answer(request, pathname, search))
      )
      return request.method === "HEAD"
        ? new Response(null, { status: response.status, headers: response.headers })
        : response
    }
  }
}
