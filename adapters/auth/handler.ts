/**
 * The HTTP side of the auth server: who is limited, how better-auth's errors become problem documents, and what is logged. It gives
 * better-auth a new request with only the headers that matter. It never decides who a user is.
 */

import { accountNamed } from "../../core/domain/account/attempt.ts"
import { clientOf } from "../../core/domain/account/client.ts"
import { pagesAllowed } from "../../core/domain/account/origin.ts"
import { passkeysMax } from "../../core/domain/account/passkey.ts"
import { isBag } from "../../core/domain/bag.ts"
import { outageProblem } from "../../core/domain/outage.ts"
import {
  notFound,
  Problem,
  problem,
  problemDocument,
  problemKinds,
  type ProblemSlug
} from "../../core/domain/problem.ts"
import { checkQuery, readBody } from "./body.ts"
import { errorIn, readAddresses, takeState, withError } from "./callback.ts"
import { deviceCookie, deviceIn, type OwnCookies, ownCookies, printCookies, signedIn } from "./cookies.ts"
import { codeOf, makeSweep, outageIn } from "./database.ts"
import { endHeld } from "./ending.ts"
import type { AuthInternals } from "./internals.ts"
import type { Limits } from "./limits.ts"
import { type MailRequest, makeMailRoutes } from "./mail-routes.ts"
import { bannedState, lastAdminState } from "./migration.ts"
import { type Asker, askerIn, makeOwnRoutes, type OwnRequest } from "./own-routes.ts"
import { adapt, type AuthRoute, type Body, inviting, makeRoutes, passkeySignIn, readListing } from "./routes.ts"
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

const passedOn = [
  "origin",
  "referer",
  "user-agent",
  "sec-fetch-site",
  "sec-fetch-mode",
  "sec-fetch-dest"
]

/** An address that no account has. */
const nobody = `${crypto.randomUUID()}@accounts.invalid`

/** What every answer carries, also without our edge in front. */
const everywhere = { "x-content-type-options": "nosniff", "referrer-policy": "no-referrer" }

const parsed = (text: string): Body => {
  try {
    const body: unknown = JSON.parse(text)
    return isBag(body) ? body : {}
  } catch {
    return {}
  }
}

/** The id of the account in an answer; better-auth always gives one. */
const userOf = ({ user }: Body): string => isBag(user) ? String(user["id"]) : ""

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

const unexpected = (): Problem => problem("internal-error", "An unexpected error occurred.")

const send = (refusal: Problem, instance: string, cookies: readonly string[] = []): Response => {
  const { status } = problemKinds[refusal.slug]
  const headers = new Headers({
    "content-type": "application/problem+json",
    "cache-control": "no-store",
    ...everywhere,
    ...(status === 401 ? { "www-authenticate": "Bearer" } : {}),
    ...refusal.headers
  })
  for (const cookie of cookies) headers.append("set-cookie", cookie)
  return new Response(JSON.stringify(problemDocument(refusal, instance)), { status, headers })
}

/** The options for using a passkey. The plugin would leave it to authenticators whether they verify their user. */
const verifying = (text: string): string => JSON.stringify({ ...parsed(text), userVerification: "required" })

/** better-auth's error as a problem: its status and code, its message as detail. */
const refusalOf = (path: string, status: number, text: string): Problem => {
  const slug = slugs[status]
  if (slug === undefined) return unexpected()
  const { code, message } = parsed(text)
  // A banned user must not learn that the password was right.
  if (path === "/sign-in/email" && (status === 401 || code === "BANNED_USER")) return wrongCredentials()
  if (path === passkeySignIn && (status === 400 || status === 401 || code === "BANNED_USER")) return wrongPasskey()
  if (path === passkeyAdding && (status === 400 || code === notAllowed)) return badPasskey()
  // For the caller, another person's passkey does not exist.
  if (path.startsWith("/passkey/") && (status === 404 || (status === 401 && code !== "UNAUTHORIZED"))) {
    return noPasskey()
  }
  return problem(
    slug,
    typeof message === "string" && message !== "" ? message : problemKinds[slug].title + ".",
    typeof code === "string" ? { code } : {},
    status === 429 ? { "retry-after": "60" } : {}
  )
}

const passkeyAdding = "/passkey/verify-registration"

const notAllowed = "YOU_ARE_NOT_ALLOWED_TO_REGISTER_THIS_PASSKEY"

/** better-auth's code for any problem with a new passkey; better-auth reports it as a failure of its own. */
const unverified = "FAILED_TO_VERIFY_REGISTRATION"

const noPasskey = (): Problem => problem("not-found", "There is no such passkey.", { code: "PASSKEY_NOT_FOUND" })

const tooManyPasskeys = (): Problem =>
  problem("conflict", `An account has at most ${passkeysMax} passkeys.`, { code: "TOO_MANY_PASSKEYS" })

const badPasskey = (): Problem => problem("invalid-record", "The passkey could not be added.", { code: unverified })

const wrongPasskey = (): Problem =>
  problem("unauthenticated", "The passkey was not accepted.", { code: "AUTHENTICATION_FAILED" })

const sessionEnded = (): Problem =>
  problem("unauthenticated", "The session has ended. Sign in again.", { code: "UNAUTHORIZED" })

const wrongCredentials = (): Problem =>
  problem("unauthenticated", "The email address or the password is wrong.", { code: "INVALID_EMAIL_OR_PASSWORD" })

const failureOf = (cause: unknown, path: string): Problem => {
  if (cause instanceof Problem) return cause
  if (codeOf(cause) === bannedState) {
    return path === "/sign-in/email"
      ? wrongCredentials()
      : problem("access-denied", "The user is banned.", { code: "BANNED_USER" })
  }
  if (codeOf(cause) === lastAdminState) {
    return problem("conflict", "The last active admin cannot be deleted, demoted or banned.", { code: "LAST_ADMIN" })
  }
  if (codeOf(cause) === "23505") {
    if (path === "/two-factor/enable") {
      return problem("conflict", "The second factor is being set up by another request.", {
        code: "TOTP_ALREADY_BEGUN"
      })
    }
    return problem("conflict", "There is already such an account.", { code: "USER_ALREADY_EXISTS" })
  }
  const outage = outageIn(cause)
  return outage === null ? unexpected() : outageProblem(outage)
}

/** The auth routes as a web handler. */
export interface AuthHandler {
  readonly handler: (request: Request) => Promise<Response>
  /** Whether a path is one of them. */
  readonly serves: (path: string) => boolean
}

export const makeHandler = (settings: HandlerSettings): AuthHandler => {
  const { basePath, internals, limits, needsAdmin, origin, passkeys, twoFactor } = settings
  const { hashOf, log, mailer, onError, providers, roles, store, table } = internals
  const routes = makeRoutes({ twoFactor, passkeys, mails: mailer?.mails ?? null }, providers)
  const ownRoutes = new Map<string, (request: MailRequest & OwnRequest) => Promise<Body>>([
    ...makeMailRoutes(internals),
    ...makeOwnRoutes({ internals, twoFactor, passkeys })
  ])
  const witness = makeWitness(internals, limits)
  const secure = origin.startsWith("https:")

  const plainly = (body: unknown): Response =>
    Response.json(body, { headers: { "cache-control": "no-store", ...everywhere } })

  const limit = async (
    path: string,
    route: AuthRoute,
    client: string,
    body: Body,
    cookies: OwnCookies
  ): Promise<void> => {
    if (route.limited === undefined) return
    const account = route.limited === "account" ? accountNamed(body["email"]) : null
    const user = route.limited === "session"
      ? await witness.owner(cookies)
      : route.limited === "challenge"
      ? await witness.challenged(cookies)
      : null
    const seconds = await limits.attempt(path, client, account ?? user)
    if (seconds === 0) return
    log({
      level: "warn",
      event: "sign-in-limited",
      client: hashOf("client", client),
      seconds,
      ...(account === null ? {} : { account: hashOf("account", account) }),
      ...(user === null ? {} : { user })
    })
    throw problem("too-many-requests", "Too many attempts. Try again later.", {}, { "retry-after": String(seconds) })
  }

  /**
   * Challenges without an answer and sign-ins with a provider that nobody finished. better-auth keeps them until the next one is finished.
   */
  const forgetChallenges = makeSweep(store, {
    table: table("verification"),
    key: `"id"`,
    past: `"expiresAt" < now()`
  })
  /** Expired sessions, which hold addresses of clients. better-auth removes one only when its cookie comes back. */
  const forgetSessions = makeSweep(store, { table: table("session"), key: `"id"`, past: `"expiresAt" < now()` })

  const engineFor = async (route: AuthRoute, body: Body) => {
    if (route.provider === undefined) return internals.engine()
    const { provider } = body
    const id = route.provider === "named" ? provider : route.provider.id
    if (typeof id !== "string" || !providers.some((each) => each.id === id)) {
      throw problem("not-found", "There is no such identity provider.", { code: "PROVIDER_NOT_FOUND" })
    }
    const engine = await internals.providerEngine(id)
    if (engine === null) {
      throw problem("unavailable", "The identity provider cannot be reached.", {}, { "retry-after": "10" })
    }
    return engine
  }

  /**
   * A callback. Its state counts once, and its code goes only to its own provider. When two first sign-ins of one person meet, the later
   * one runs again and finds the account.
   */
  const callBack = async (
    ask: () => Promise<Response>,
    provider: string,
    search: string,
    brought: OwnCookies,
    trusts: (origin: string) => boolean
  ): Promise<Response> => {
    const pending = await takeState(new URLSearchParams(search).get("state"), brought, { store, table, limits, origin })
    const leadTo = (location: string, headers = new Headers()): Response => {
      headers.set("location", location)
      return new Response(null, { status: 302, headers })
    }
    if (pending === "used") return leadTo(withError("/", origin, "state_mismatch"))
    if (pending !== null && pending.provider !== provider) {
      return leadTo(withError(pending.errorUrl, origin, "state_mismatch"))
    }
    let response = await ask()
    const met = () => ["unable_to_create_user", "unable_to_link_account"].includes(errorOf(response) ?? "")
    if (pending !== null && met()) {
      await pending.restore()
      response = await ask()
    }
    const location = response.headers.get("location")
    if (location === null) return response
    const code = errorOf(response)
    const brings = new URLSearchParams(search).has("error")
    if (code === "internal_server_error" && !brings) {
      onError(new Error(`better-auth could not end the sign-in with ${provider}`))
    }
    const { origin: target } = new URL(location, origin)
    // Untrusted addresses were refused when the sign-in began, so nothing leads there.
    const safe = target === origin || trusts(target) ? location : "/"
    return leadTo(code === null ? safe : withError(safe, origin, code), new Headers(response.headers))
  }

  const errorOf = (response: Response): string | null => errorIn(response.headers.get("location") ?? "", origin)

  /** Refuses what met a database that is away, or takes no changes, whatever better-auth made of it. */
  const refuseAway = (): void => {
    const met = store.met()
    if (met !== null) throw outageProblem(met)
  }

  /** How often a code that met another one is tried, and how many milliseconds are between two tries. */
  const codeTries = 5
  const codePauseMs = 60

  /**
   * A code of a second factor. better-auth accepts one code of a sign-in at a time. A second one at the same moment is told that there is
   * no sign-in, or that it conflicts, and its sign-in takes no further code. Here it waits for its turn.
   */
  const settled = async (ask: () => Promise<Response>, brought: OwnCookies): Promise<Response> => {
    const challenge = signedIn(brought, "service.two_factor")
    if (challenge === null) return ask()
    const attempts = `2fa-attempts-${challenge}`
    const rowOf = async (identifier: string) => {
      const [row] = await store.query<{ readonly value: string; readonly expiresAt: Date }>(
        `select "value", "expiresAt" from ${table("verification")} where "identifier" = $1 and "expiresAt" > now()`,
        [identifier]
      )
      return row
    }
    for (let round = 1;; round++) {
      const counted = await rowOf(attempts)
      const response = await ask()
      if (round === codeTries || (response.status !== 409 && response.status !== 401)) return response
      if (response.status === 409) {
        if (counted === undefined) return response
        // The other sign-in changed the list of codes, and this one used its turn without being judged.
        await store.query(
          `insert into ${table("verification")} ("id", "identifier", "value", "expiresAt")`
            + ` select $1, $2, $3, $4 where not exists (select 1 from ${
              table("verification")
            } where "identifier" = $2)`,
          [crypto.randomUUID(), attempts, counted.value, counted.expiresAt]
        )
      } else {
        const { code } = parsed(await response.clone().text())
        if (code !== "INVALID_TWO_FACTOR_COOKIE" || await rowOf(challenge) === undefined) return response
        await new Promise((resolve) => setTimeout(resolve, codePauseMs * round))
      }
    }
  }

  /** Whether the account of a session has as many passkeys as it may. */
  const hasAllPasskeys = async (brought: OwnCookies): Promise<boolean> => {
    const [known] = await store.query<{ readonly count: number }>(
      `select count(*)::int as count from ${table("passkey")} where "userId" = $1`,
      [await witness.owner(brought)]
    )
    return (known?.count ?? 0) >= passkeysMax
  }

  const pass = async (request: Request, path: string, route: AuthRoute, search: string): Promise<Response> => {
    const { method } = route
    // The caller of the handler guarantees the last address. Our edge puts there only the client that it found out.
    const client = clientOf(null, request.headers.get("x-forwarded-for"), 1)
    const body = method === "POST" ? await readBody(request) : {}
    const brought = ownCookies(request.headers.get("cookie"), secure)
    const headers = new Headers()
    for (const name of passedOn) {
      const value = request.headers.get(name)
      if (value !== null) headers.set(name, value)
    }
    if (request.headers.has("cookie")) headers.set("cookie", printCookies(brought, secure))
    if (client.address !== null) headers.set("x-forwarded-for", client.address)
    // Programs send no Origin. Browsers always do on a cross-site POST, so this allows nothing to them.
    if (method === "POST" && !["origin", "referer", "sec-fetch-site"].some((name) => headers.has(name))) {
      headers.set("origin", origin)
    }
    if (method === "POST") headers.set("content-type", "application/json")
    // better-auth asks for the origin only of requests that change something with a cookie. This is asked before anything is counted.
    const from = headers.get("origin")
    const pages = pagesAllowed(
      {
        changes: method === "POST",
        inSession: path !== "/jwks" && headers.has("cookie"),
        limited: route.limited !== undefined
      },
      { origin: from, site: headers.get("sec-fetch-site") }
    )
    if (pages === "none" || (pages === "trusted" && from !== null && !(await internals.engine()).trusts(from))) {
      throw problem("access-denied", "Invalid origin", { code: "INVALID_ORIGIN" })
    }
    await limit(path, route, client.group, body, brought)
    if (path.startsWith("/passkey/generate-") || path === "/sign-in/social") await forgetChallenges()
    if (route.signsIn === true) await forgetSessions()
    const { handle: handled, trusts } = await engineFor(route, body)
    const handle = async (asked: Request): Promise<Response> => {
      const answered = await handled(asked)
      return asked.method === "GET" && store.spare() ? handled(asked) : answered
    }
    const ownRoute = ownRoutes.get(path)
    if (ownRoute !== undefined) {
      if (route.limited !== undefined) await forgetChallenges()
      const account = async (id: string): Promise<Body> => {
        const asked = new URLSearchParams({ id })
        const found = await handle(new Request(`${origin}${basePath}/admin/get-user?${asked.toString()}`, { headers }))
        const text = await found.text()
        refuseAway()
        if (found.ok) return parsed(text)
        throw refusalOf(path, found.status, text)
      }
      const session = async (): Promise<Asker> => {
        // The cookie's signature is judged by better-auth alone.
        const found = await handle(new Request(`${origin}${basePath}/get-session?disableRefresh=true`, { headers }))
        const asker = askerIn(parsed(await found.text()))
        refuseAway()
        if (asker !== null) return asker
        throw sessionEnded()
      }
      return plainly(await ownRoute({ body, client: client.group, account, session }))
    }
    const seen = await witness.before(path, body, brought)
    // A banned account is handled exactly like an unknown one, so not even the time tells that the password was right.
    const sent = seen?.barred === true ? { ...body, email: nobody } : body
    const listing = path === "/admin/list-users" ? readListing(search) : null
    if (listing === null) checkQuery(search)
    const adapted = method === "POST" ? adapt(path, sent, roles.defaultRole) : {}
    const payload = method === "POST"
      ? JSON.stringify(path === "/sign-in/social" ? { ...adapted, ...readAddresses(adapted, origin, trusts) } : adapted)
      : null
    const ask = (): Promise<Response> =>
      handle(
        new Request(
          `${origin}${basePath}${path === inviting ? "/admin/create-user" : path}${listing?.search ?? search}`,
          {
            method,
            headers,
            ...(payload === null ? {} : { body: payload })
          }
        )
      )
    const response = typeof route.provider === "object"
      ? await callBack(ask, route.provider.id, search, brought, trusts)
      : route.limited === "challenge"
      ? await settled(ask, brought)
      : await ask()
    // For better-auth a session that cannot be read does not exist, and one that cannot be removed has ended. Nobody must be signed out, or believe
    // that, because the database is away. The page of a callback is told by its address.
    if (typeof route.provider !== "object") refuseAway()
    const given = await response.text()
    const refusedPasskey = path === passkeyAdding && parsed(given)["code"] === unverified
    if (response.status >= 500 && !refusedPasskey) {
      throw Object.assign(new Error(`better-auth answered ${response.status} at ${path}`), { response })
    }
    const text = path === "/passkey/generate-authenticate-options" && response.ok ? verifying(given) : given
    const cookies = response.headers.getSetCookie()
    if (response.status >= 400) {
      witness.refused(seen, path, route, client.group, body)
      // The trigger that keeps the limit reports to better-auth only.
      if (refusedPasskey && await hasAllPasskeys(brought)) throw tooManyPasskeys()
      return send(refusalOf(path, refusedPasskey ? 400 : response.status, text), `${basePath}${path}`, cookies)
    }
    const answer = { body: parsed(text), cookies, location: response.headers.get("location") ?? "" }
    if (listing !== null) {
      if (listing.refusal !== null) throw listing.refusal
      if (answer.body["limit"] === undefined) throw listing.failed
    }
    // A session that should not have begun ends here. Its cookie is never sent.
    if (!await witness.stands(seen, path, body, answer, brought)) {
      throw path === "/sign-in/email"
        ? wrongCredentials()
        : path === passkeySignIn
        ? wrongPasskey()
        : path.startsWith("/two-factor/verify-")
        ? problem("unauthenticated", "The code is not valid.", { code: "INVALID_CODE" })
        : sessionEnded()
    }
    // A user's first password is a new row. The trigger on changed rows does not see it.
    if (path === "/admin/revoke-user-sessions" || path === "/admin/set-user-password") {
      const change = path === "/admin/set-user-password" ? "password" : "revocation"
      await store.transaction((queries) => endHeld(queries, table, change, String(body["userId"])))
    }
    if (path === inviting) await invite(userOf(answer.body))
    const signedInUser = await witness.accepted(path, route, client.group, body, answer, brought)
    const answered = new Headers(response.headers)
    const device = signedInUser === null
      ? null
      : await noticeSignIn(signedInUser, client, headers.get("user-agent"), brought)
    if (device !== null) answered.append("set-cookie", deviceCookie(device, basePath, secure))
    for (const [name, value] of Object.entries(everywhere)) answered.set(name, value)
    answered.set("cache-control", path === "/jwks" ? "public, max-age=60" : "no-store")
    return new Response(response.body === null ? null : text, { status: response.status, headers: answered })
  }

  /** Has the link sent to an account that was made for it. Without the link nobody could ever use the account, so it goes again. */
  const invite = async (user: string): Promise<void> => {
    try {
      await mailer?.invite(user)
    } catch (cause) {
      await store.query(`delete from ${table("user")} where "id" = $1`, [user])
      throw cause
    }
  }

  /** Has the owner of an account told of a sign-in that it did not expect. Nobody fails to sign in because that cannot be. */
  const noticeSignIn = async (
    user: string,
    { address, group }: { readonly address: string | null; readonly group: string },
    agent: string | null,
    brought: OwnCookies
  ): Promise<string | null> => {
    if (mailer?.mails.signInAlerts !== true) return null
    try {
      return await mailer.notice({ user, device: deviceIn(brought), group, address, agent })
    } catch (cause) {
      onError(cause)
      return null
    }
  }

  /** What is answered without better-auth. */
  const own: ReadonlyMap<string, () => Promise<Response>> = new Map([
    ["/status", async () => plainly({ needsAdmin: await needsAdmin() })],
    [
      "/providers",
      async () =>
        plainly({
          providers: providers.map(({ id, name }) => ({ id, name })),
          twoFactor,
          passkeys,
          passwordReset: mailer?.mails.passwordReset === true,
          invitations: mailer?.mails.invitations === true
        })
    ]
  ])

  /** The path below the base path; empty for one that is elsewhere. */
  const belowOf = (path: string): string => path.startsWith(`${basePath}/`) ? path.slice(basePath.length) : ""

  const answer = async (request: Request, path: string, search: string): Promise<Response> => {
    const below = belowOf(path)
    const route = routes.get(below)
    const answerOwn = own.get(below)
    const method = answerOwn === undefined ? route?.method : "GET"
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
      if (answerOwn !== undefined) return await answerOwn()
      return route === undefined ? send(notFound(), path) : await pass(request, below, route, search)
    } catch (cause) {
      const refusal = failureOf(cause, below)
      if (refusal.slug !== "internal-error") {
        if (refusal.slug === "unavailable") onError(cause)
        return send(refusal, path)
      }
      onError(cause)
      // better-auth hides the reason of its failures.
      const met = store.met()
      return send(met === null ? refusal : outageProblem(met), path)
    }
  }

  return {
    serves: (path) => own.has(belowOf(path)) || routes.has(belowOf(path)),
    handler: async (request) => {
      const { pathname, search } = new URL(request.url)
      const response = await store.watched(() => answer(request, pathname, search))
      return request.method === "HEAD"
        ? new Response(null, { status: response.status, headers: response.headers })
        : response
    }
  }
}
