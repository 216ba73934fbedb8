/**
 * Refusals of the auth routes as problem documents, made from answers of better-auth and from refusals of the store's triggers. They tell no secret.
 * This module decides nothing about who is refused.
 */

import { passkeysMax } from "../../core/domain/account/passkey.ts"
import { isBag } from "../../core/domain/bag.ts"
import { outageProblem } from "../../core/domain/outage.ts"
import { Problem, problem, problemDocument, problemKinds, type ProblemSlug } from "../../core/domain/problem.ts"
import type { Body } from "./auth-body.ts"
import { codeOf, outageIn } from "./database.ts"
import { bannedState, lastAdminState } from "./migration.ts"
import { type AuthRoute, passkeyAdding, passkeySignIn, passwordSignIn } from "./routes.ts"

/** What every answer carries, also without our edge in front. */
export const everywhere = { "x-content-type-options": "nosniff", "referrer-policy": "no-referrer" }

/** The JSON object of an answer; empty for anything else. */
export const parsed = (text: string): Body => {
  try {
    const body: unknown = JSON.parse(text)
    return isBag(body) ? body : {}
  } catch {
    return {}
  }
}

/** better-auth's code for any problem with a new passkey; better-auth reports it as a failure of its own. */
export const unverified = "FAILED_TO_VERIFY_REGISTRATION"

const unexpected = (): Problem => problem("internal-error", "An unexpected error occurred.")

export const sessionEnded = (): Problem =>
  problem("unauthenticated", "The session has ended. Sign in again.", { code: "UNAUTHORIZED" })

export const foreignOrigin = (): Problem => problem("access-denied", "Invalid origin", { code: "INVALID_ORIGIN" })

export const tooManyAttempts = (seconds: number): Problem =>
  problem("too-many-requests", "Too many attempts. Try again later.", {}, { "retry-after": String(seconds) })

export const tooManyPasskeys = (): Problem =>
  problem("conflict", `An account has at most ${passkeysMax} passkeys.`, { code: "TOO_MANY_PASSKEYS" })

const wrongCredentials = (): Problem =>
  problem("unauthenticated", "The email address or the password is wrong.", { code: "INVALID_EMAIL_OR_PASSWORD" })

const wrongPasskey = (): Problem =>
  problem("unauthenticated", "The passkey was not accepted.", { code: "AUTHENTICATION_FAILED" })

const badPasskey = (): Problem => problem("invalid-record", "The passkey could not be added.", { code: unverified })

const noPasskey = (): Problem => problem("not-found", "There is no such passkey.", { code: "PASSKEY_NOT_FOUND" })

/** Why a session that began was ended at once, in the words of a sign-in that failed. */
export const overtakenAt = (path: string): Problem =>
  path === passwordSignIn
    ? wrongCredentials()
    : path === passkeySignIn
    ? wrongPasskey()
    : path.startsWith("/two-factor/verify-")
    ? problem("unauthenticated", "The code is not valid.", { code: "INVALID_CODE" })
    : sessionEnded()

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

/** Who is banned must not learn that the password, or the passkey, was right. */
const isBanned = (code: unknown): boolean => code === "BANNED_USER"

/** What is said in place of better-auth's words, where these tell too much or nothing; null: its words stay. */
const inPlaceOf = (path: string, status: number, code: unknown): Problem | null => {
  if (path === passwordSignIn) return status === 401 || isBanned(code) ? wrongCredentials() : null
  if (!path.startsWith("/passkey/")) return null
  if (path === passkeySignIn && (status === 400 || status === 401 || isBanned(code))) return wrongPasskey()
  if (path === passkeyAdding && (status === 400 || code === "YOU_ARE_NOT_ALLOWED_TO_REGISTER_THIS_PASSKEY")) {
    return badPasskey()
  }
  // For the caller, another person's passkey does not exist.
  return status === 404 || (status === 401 && code !== "UNAUTHORIZED") ? noPasskey() : null
}

/** better-auth's error as a problem: its status and code, its message as detail. */
export const refusalOf = (path: string, status: number, text: string): Problem => {
  const slug = slugs[status]
  if (slug === undefined) return unexpected()
  const { code, message } = parsed(text)
  return inPlaceOf(path, status, code) ?? problem(
    slug,
    typeof message === "string" && message !== "" ? message : problemKinds[slug].title + ".",
    typeof code === "string" ? { code } : {},
    status === 429 ? { "retry-after": "60" } : {}
  )
}

/** What was thrown on the way as a problem. */
export const failureOf = (cause: unknown, path: string): Problem => {
  if (cause instanceof Problem) return cause
  switch (codeOf(cause)) {
    case bannedState:
      return path === passwordSignIn
        ? wrongCredentials()
        : problem("access-denied", "The user is banned.", { code: "BANNED_USER" })
    case lastAdminState:
      return problem("conflict", "The last active admin cannot be deleted, demoted or banned.", { code: "LAST_ADMIN" })
    case "23505":
      return path === "/two-factor/enable"
        ? problem("conflict", "The second factor is being set up by another request.", { code: "TOTP_ALREADY_BEGUN" })
        : problem("conflict", "There is already such an account.", { code: "USER_ALREADY_EXISTS" })
    default: {
      const outage = outageIn(cause)
      return outage === null ? unexpected() : outageProblem(outage, cause)
    }
  }
}

export const wrongMethod = ({ method }: AuthRoute): Problem =>
  problem("method-not-allowed", "This path does not take the method.", {}, {
    allow: method === "GET" ? "GET, HEAD" : method
  })

/** A refusal as it is sent. `instance`: the path of the request. */
export const send = (refusal: Problem, instance: string, cookies: readonly string[] = []): Response => {
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
