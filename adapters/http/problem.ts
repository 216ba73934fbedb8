/**
 * Writes refusals. A Problem becomes `application/problem+json` (RFC 9457), and a failed authentication becomes its Problem. Bytes that
 * never became a request get a bare document of the same shape. It adds no detail of its own to a defect.
 */

import { because, problem, problemDocument, problemKinds } from "../../core/domain/problem.ts"
import type { Problem, ProblemMembers } from "../../core/domain/problem.ts"
import type { TokensError } from "../../core/ports/tokens.ts"
import { refusedAs } from "./access-log.ts"
import type { EdgeAnswer } from "./request.ts"

const mediaType = "application/problem+json"

export const problemReply = (refusal: Problem, path: string): EdgeAnswer => ({
  status: problemKinds[refusal.slug].status,
  headers: { ...refusal.headers, "content-type": mediaType },
  body: JSON.stringify(problemDocument(refusal, path)),
  refused: refusedAs(refusal.slug, refusal.why)
})

/** The answer to bytes that never became a request. There is no path to name. */
export const protocolReply = (slug: "malformed-request" | "request-timeout", detail: string): EdgeAnswer =>
  problemReply(problem(slug, detail), "")

export const internalError = (members: ProblemMembers = {}): Problem =>
  problem("internal-error", "An unexpected error occurred.", members)

export const headerTooLarge = (): Problem => problem("header-too-large", "The request line or a header is too long.")

export const methodNotAllowed = (allow: string): Problem =>
  problem("method-not-allowed", "The method is not allowed here.", {}, { allow })

/** RFC 6750, 3: what is wrong with a token that was valid once. */
const expiredChallenge = "Bearer error=\"invalid_token\", error_description=\"The token has expired.\""

/** `Retry-After` in seconds: a key set is read again at the next request, an overload passes quickly. */
export const tokensProblem = (error: TokensError): Problem => {
  switch (error.reason) {
    case "Unauthenticated":
      return error.expired === true
        ? problem("unauthenticated", "The token has expired.", {}, { "www-authenticate": expiredChallenge })
        : problem("unauthenticated", "A valid bearer token is required.", {}, { "www-authenticate": "Bearer" })
    case "Refused":
      return problem("access-denied", "This credential may not be used here.")
    case "KeysUnavailable":
      return because(
        problem("unavailable", "Credentials cannot be checked at the moment.", {}, { "retry-after": "5" }),
        "Keys",
        error
      )
  }
}

export const overloaded = (): Problem =>
  because(
    problem("unavailable", "The service is handling too many requests at the moment.", {}, { "retry-after": "1" }),
    "Requests"
  )

export const stopping = (): Problem =>
  because(problem("unavailable", "The service is stopping.", {}, { "retry-after": "5" }), "Stopping")
