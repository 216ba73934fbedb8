/**
 * Every refusal the service can give, in one total table (RFC 9457). Code raises a `Problem`; only this file knows statuses and
 * titles. A detail never holds a value, name or message that the caller may not read.
 */

import * as Data from "effect/Data"

interface ProblemKind {
  readonly status: number
  readonly title: string
  /** What it means to a caller: the reference page's text. */
  readonly meaning: string
}

/** Slug to status and title: the source of the reference page and of the golden file. */
export const problemKinds = {
  "invalid-filter": {
    status: 400,
    title: "The filter is not valid",
    meaning:
      "The filter breaks the language, names what is not there, or asks too much of it. `errors` say where, with hints."
  },
  "invalid-order-by": {
    status: 400,
    title: "The order is not valid",
    meaning: "The order names what is not there or cannot be sorted. `errors` say where, with hints."
  },
  "invalid-parameter": {
    status: 400,
    title: "A parameter is not valid",
    meaning: "A query parameter, header or body member is unknown, repeated or out of range; `errors` name it."
  },
  "invalid-key": {
    status: 400,
    title: "The key is not valid",
    meaning: "The key in the path is not of the form the resource's key has."
  },
  "invalid-record": {
    status: 400,
    title: "The record is not valid",
    meaning:
      "Fields of the body are unknown, read-only, missing or wrong, or the record breaks a rule; `errors` list all of them."
  },
  "malformed-json": {
    status: 400,
    title: "The body is not valid JSON",
    meaning: "The body is not strict JSON: broken, too deep, a name twice, or a number that cannot be held exactly."
  },
  "expensive-query": {
    status: 400,
    title: "The query would read too many rows",
    meaning: "The scan guard refused to scan a big table; `suggestion` is the index that would help."
  },
  "answer-too-large": {
    status: 400,
    title: "The answer would be too large",
    meaning:
      "The answer would be larger than the service sends, and cannot end early as a page can; `errors` say what makes it smaller."
  },
  "bot-check-failed": {
    status: 400,
    title: "The check against robots failed",
    meaning: "A form was sent without a solved challenge, or with one that is wrong, expired, used, or of another form."
  },
  "malformed-request": {
    status: 400,
    title: "The request is not valid HTTP",
    meaning: "Bytes that are no HTTP request."
  },
  "unauthenticated": {
    status: 401,
    title: "Authentication is required",
    meaning: "No credential, or one that is expired, revoked or not valid."
  },
  "access-denied": {
    status: 403,
    title: "Access is denied",
    meaning: "The caller may not do this, to this record, or with these values."
  },
  "tenant-required": {
    status: 403,
    title: "A tenant is required",
    meaning: "The resource belongs to tenants, and the credential names none."
  },
  "not-found": {
    status: 404,
    title: "Not found",
    meaning: "No such resource or record, or none that this caller can see: the two look the same."
  },
  "method-not-allowed": {
    status: 405,
    title: "The method is not allowed",
    meaning: "The path exists, the method does not; `Allow` names those that do."
  },
  "request-timeout": {
    status: 408,
    title: "The request took too long to arrive",
    meaning: "Head or body did not arrive in time; the connection is closed."
  },
  "conflict": {
    status: 409,
    title: "Conflict with the current state",
    meaning:
      "Another record has these values, the record is not in the state this needs, or another change got in the way."
  },
  "still-referenced": {
    status: 409,
    title: "Other records refer to this one",
    meaning: "The record cannot be deleted while other records refer to it."
  },
  "precondition-failed": {
    status: 412,
    title: "The record has changed",
    meaning:
      "`If-Match` names an older version. `etag` is the current one; `changed`, where known, the fields that differ."
  },
  "payload-too-large": {
    status: 413,
    title: "The body is too large",
    meaning:
      "The body is larger than the service takes, or the records of a batch are; of a batch `operation` says where it ended."
  },
  "unsupported-media-type": {
    status: 415,
    title: "The media type is not supported",
    meaning: "The body has a content type or encoding that this route does not read."
  },
  "idempotency-key-reused": {
    status: 422,
    title: "The idempotency key was used for another request",
    meaning: "The `Idempotency-Key` was used within 24 hours for a request with other content."
  },
  "precondition-required": {
    status: 428,
    title: "A precondition is required",
    meaning: "A PATCH needs `If-Match` with the record's ETag, or `*`."
  },
  "too-many-requests": {
    status: 429,
    title: "Too many requests",
    meaning: "Too many attempts; `Retry-After` says when to try again."
  },
  "too-many-submissions": {
    status: 429,
    title: "Too many submissions",
    meaning: "A form was sent too often by this client; `Retry-After` says when to try again."
  },
  "header-too-large": {
    status: 431,
    title: "The request header is too large",
    meaning: "The request line or the headers are longer than the service takes."
  },
  "internal-error": {
    status: 500,
    title: "Internal error",
    meaning: "Something unexpected went wrong. It was reported to the operator; nothing more is told."
  },
  "unavailable": {
    status: 503,
    title: "The service is not available",
    meaning:
      "The database or the keys cannot be reached, or too many requests wait; `Retry-After` says when to try again."
  },
  "insufficient-storage": {
    status: 507,
    title: "There is no room for the file",
    meaning:
      "The disk or the quota of the place where the file would be stored is full. Nothing of the upload was kept."
  },
  "statement-timeout": {
    status: 504,
    title: "The database took too long",
    meaning: "The database did not finish within the statement timeout."
  }
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

/** The caller may not do it, and never learns more than that. */
export const accessDenied = (): Problem => problem("access-denied", "You may not do this.")

export const tenantRequired = (): Problem =>
  problem("tenant-required", "This resource belongs to tenants, and the credential names none.")

/** A parameter's refusal: `errors: [{ parameter, message, hint? }]`. */
export const invalidParameter = (parameter: string, message: string, hint?: string): Problem =>
  problem("invalid-parameter", message, { errors: [{ parameter, message, ...(hint === undefined ? {} : { hint }) }] })

/** The RFC 9457 document of a problem. `instance` is the request's path. */
export const problemDocument = (p: Problem, instance: string): { readonly [member: string]: unknown } => ({
  type: `urn:service:problem:${p.slug}`,
  title: problemKinds[p.slug].title,
  status: problemKinds[p.slug].status,
  detail: p.detail,
  instance,
  ...p.members
})
