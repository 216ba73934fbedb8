/**
 * Every refusal the service can give, in one total table (RFC 9457). Code raises a `Problem`; only this file knows statuses and
 * titles. A detail never holds a value, name or message that the caller may not read.
 */

import * as Data from "effect/Data"

interface ProblemKind {
  readonly status: number
  readonly title: string
}

/** Slug to status and title: the source of the reference page and of the golden file. */
export const problemKinds = {
  "invalid-filter": { status: 400, title: "The filter is not valid" },
  "invalid-order-by": { status: 400, title: "The order is not valid" },
  "invalid-parameter": { status: 400, title: "A parameter is not valid" },
  "invalid-key": { status: 400, title: "The key is not valid" },
  "invalid-record": { status: 400, title: "The record is not valid" },
  "malformed-json": { status: 400, title: "The body is not valid JSON" },
  "expensive-query": { status: 400, title: "The query would read too many rows" },
  "unauthenticated": { status: 401, title: "Authentication is required" },
  "access-denied": { status: 403, title: "Access is denied" },
  "tenant-required": { status: 403, title: "A tenant is required" },
  "not-found": { status: 404, title: "Not found" },
  "method-not-allowed": { status: 405, title: "The method is not allowed" },
  "conflict": { status: 409, title: "Conflict with the current state" },
  "precondition-failed": { status: 412, title: "The record has changed" },
  "payload-too-large": { status: 413, title: "The body is too large" },
  "unsupported-media-type": { status: 415, title: "The media type is not supported" },
  "idempotency-key-reused": { status: 422, title: "The idempotency key was used for another request" },
  "precondition-required": { status: 428, title: "A precondition is required" },
  "too-many-requests": { status: 429, title: "Too many requests" },
  "header-too-large": { status: 431, title: "The request header is too large" },
  "internal-error": { status: 500, title: "Internal error" },
  "unavailable": { status: 503, title: "The service is not available" },
  "statement-timeout": { status: 504, title: "The database took too long" }
} as const satisfies { readonly [slug: string]: ProblemKind }

export type ProblemSlug = keyof typeof problemKinds

/** A place in a filter or order text: UTF-16 offsets into the decoded text, end exclusive. */
export interface Span {
  readonly start: number
  readonly end: number
}

/** One error of `errors` in a problem. Which members stand depends on the slug (spec 1, Errors, 2). */
export interface ProblemError {
  readonly code?: string
  readonly message: string
  readonly hint?: string
  readonly span?: Span
  readonly parameter?: string
  readonly field?: string
}

/** Further members of a problem document; `errors` and `parameter` are the common ones. */
export interface ProblemMembers {
  readonly parameter?: string
  readonly errors?: readonly ProblemError[]
  readonly [member: string]: unknown
}

/** A refusal on its way to the caller. `headers` are lower-case names. */
export class Problem extends Data.TaggedError("Problem")<{
  readonly slug: ProblemSlug
  readonly detail: string
  readonly members: ProblemMembers
  readonly headers: { readonly [name: string]: string }
}> {}

export const problem = (
  slug: ProblemSlug,
  detail: string,
  members: ProblemMembers = {},
  headers: { readonly [name: string]: string } = {}
): Problem => new Problem({ slug, detail, members, headers })

/** One answer to "no such thing": the same text for absent, hidden, foreign and deleted. */
export const notFound = (): Problem => problem("not-found", "There is no such resource or record.")

/** A parameter's refusal: `errors: [{ parameter, message }]`. */
export const invalidParameter = (parameter: string, message: string): Problem =>
  problem("invalid-parameter", message, { errors: [{ parameter, message }] })

/** The RFC 9457 document of a problem. `instance` is the request's path. */
export const problemDocument = (p: Problem, instance: string): { readonly [member: string]: unknown } => ({
  type: `urn:service:problem:${p.slug}`,
  title: problemKinds[p.slug].title,
  status: problemKinds[p.slug].status,
  detail: p.detail,
  instance,
  ...p.members
})
