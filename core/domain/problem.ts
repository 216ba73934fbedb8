/**
 * Every refusal the service can give, in one total table (RFC 9457). Code raises a `Problem`; only this file knows statuses and
 * titles. A detail never holds a value, name or message that the caller may not read.
 */

import * as Data from "effect/Data"

interface ProblemKind {
  readonly status: number
  readonly title: string
  /** What it means for a caller. The reference page shows this text. */
  readonly meaning: string
}

/** Status, title and meaning of each slug. The reference page and the golden file are made from it. */
export const problemKinds = {
  "invalid-filter": {
    status: 400,
    title: "The filter is not valid",
    meaning:
      "The filter is not valid: the syntax is wrong, a name is unknown, or it is too large. Each entry of `errors` has the position and a hint."
  },
  "invalid-order-by": {
    status: 400,
    title: "The order is not valid",
    meaning:
      "The order is not valid: a name is unknown, or the field cannot be sorted. Each entry of `errors` has the position and a hint."
  },
  "invalid-parameter": {
    status: 400,
    title: "A parameter is not valid",
    meaning:
      "A query parameter, a header or a member of the body is unknown, repeated or out of range. `errors` names it."
  },
  "invalid-key": {
    status: 400,
    title: "The key is not valid",
    meaning: "The key in the path does not have the form of this resource's keys."
  },
  "invalid-record": {
    status: 400,
    title: "The record is not valid",
    meaning:
      "Fields of the body are unknown, read-only, missing or wrong, or the record breaks a rule. `errors` lists all of them."
  },
  "malformed-json": {
    status: 400,
    title: "The body is not valid JSON",
    meaning:
      "The body is not strict JSON. It has a syntax error, too many levels, a repeated name, or a number that cannot be stored exactly."
  },
  "expensive-query": {
    status: 400,
    title: "The query would read too many rows",
    meaning: "The scan guard refused a query that would read too many rows. `suggestion` is an index that would help."
  },
  "answer-too-large": {
    status: 400,
    title: "The answer would be too large",
    meaning:
      "The answer would be larger than the service's limit, and it cannot be split into pages. `errors` says how to make it smaller."
  },
  "bot-check-failed": {
    status: 400,
    title: "The bot check failed",
    meaning:
      "A form was sent without a solved challenge. Or its challenge is wrong, expired, already used, or for another form."
  },
  "malformed-request": {
    status: 400,
    title: "The request is not valid HTTP",
    meaning: "The bytes are not a valid HTTP request."
  },
  "unauthenticated": {
    status: 401,
    title: "Authentication is required",
    meaning: "The request has no credential, or the credential is expired, revoked or not valid."
  },
  "access-denied": {
    status: 403,
    title: "Access is denied",
    meaning: "The caller may not do this, may not do it to this record, or may not write these values."
  },
  "tenant-required": {
    status: 403,
    title: "A tenant is required",
    meaning: "The records of this resource belong to tenants, and the credential has no tenant."
  },
  "not-found": {
    status: 404,
    title: "Not found",
    meaning: "The resource or record does not exist, or the caller may not see it. Both cases get the same answer."
  },
  "method-not-allowed": {
    status: 405,
    title: "The method is not allowed",
    meaning: "The path exists, but not with this method. The header `Allow` lists the methods."
  },
  "request-timeout": {
    status: 408,
    title: "The request took too long to arrive",
    meaning: "The headers or the body did not arrive in time. The service closes the connection."
  },
  "conflict": {
    status: 409,
    title: "Conflict with the current state",
    meaning:
      "Another record has the same unique values, the record is in the wrong state, or another change was made at the same time."
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
      "`If-Match` has the ETag of an older version. `etag` is the current ETag. `changed` lists the fields that differ, if they are known."
  },
  "unsupported-protocol": {
    status: 412,
    title: "The version of the protocol is not supported",
    meaning: "An upload in pieces needs the header `Tus-Resumable` with the version that `Tus-Version` names."
  },
  "payload-too-large": {
    status: 413,
    title: "The body is too large",
    meaning:
      "The body, or the records of a batch, are larger than the service's limit. For a batch, `operation` is where it stopped."
  },
  "unsupported-media-type": {
    status: 415,
    title: "The media type is not supported",
    meaning: "This route does not read this content type or content encoding."
  },
  "idempotency-key-reused": {
    status: 422,
    title: "The idempotency key was used for another request",
    meaning: "The same `Idempotency-Key` was used within 24 hours for a request with other content."
  },
  "precondition-required": {
    status: 428,
    title: "A precondition is required",
    meaning: "A PATCH needs the header `If-Match` with the record's ETag, or with `*`."
  },
  "too-many-requests": {
    status: 429,
    title: "Too many requests",
    meaning: "There were too many attempts. `Retry-After` says when to try again."
  },
  "too-many-submissions": {
    status: 429,
    title: "Too many submissions",
    meaning: "This client sent a form too often. `Retry-After` says when to try again."
  },
  "header-too-large": {
    status: 431,
    title: "The request header is too large",
    meaning: "The request line or the headers are longer than the service's limit."
  },
  "internal-error": {
    status: 500,
    title: "Internal error",
    meaning: "An unexpected error occurred. The operator finds it in the log. The caller gets no details."
  },
  "unavailable": {
    status: 503,
    title: "The service is not available",
    meaning:
      "The database or the signing keys cannot be reached, or too many requests are waiting. `Retry-After` says when to try again."
  },
  "statement-timeout": {
    status: 504,
    title: "The database took too long",
    meaning: "The database did not finish within the statement timeout."
  },
  "insufficient-storage": {
    status: 507,
    title: "There is no room for the file",
    meaning: "The disk or the quota for the file is full. The service stored nothing of the upload."
  }
} as const satisfies { readonly [slug: string]: ProblemKind }

export type ProblemSlug = keyof typeof problemKinds

/** A place in a filter or order text: UTF-16 offsets into the decoded text, end exclusive. */
export interface Span {
  readonly start: number
  readonly end: number
}

/** One entry of `errors` in a problem. Its members depend on the slug (docs/reference/problems.md). */
export interface ProblemError {
  readonly code?: string
  readonly message: string
  readonly hint?: string
  readonly span?: Span
  readonly parameter?: string
  readonly field?: string
}

/** Further members of a problem document. `errors` and `parameter` are the common ones. */
export interface ProblemMembers {
  readonly parameter?: string
  readonly errors?: readonly ProblemError[]
  readonly [member: string]: unknown
}

/** What led to a refusal, for the operator: it is in logs and metrics, and never in an answer. */
export interface Why {
  /** A word of ours for the kind of failure, such as `read-only` or `unique`. */
  readonly cause: string
  /** The failure, whose SQLSTATE or system code the log tells. */
  readonly error?: unknown
}

/** A refusal on its way to the caller. `headers` are lower-case names. */
export class Problem extends Data.TaggedError("Problem")<{
  readonly slug: ProblemSlug
  readonly detail: string
  readonly members: ProblemMembers
  readonly headers: { readonly [name: string]: string }
  readonly why?: Why
}> {}

/** Whether something that was thrown or failed is a refusal, and not a defect. */
export const isProblem = (error: unknown): error is Problem =>
  error instanceof Error && "_tag" in error && error._tag === "Problem"

export const problem = (
  slug: ProblemSlug,
  detail: string,
  members: ProblemMembers = {},
  headers: { readonly [name: string]: string } = {}
): Problem => new Problem({ slug, detail, members, headers })

/** The same refusal with what led to it. `kind` is the name of a failure of a port, such as `DiskFull`. */
export const because = ({ detail, headers, members, slug }: Problem, kind: string, error?: unknown): Problem =>
  new Problem({ slug, detail, members, headers, why: { cause: wordOf(kind), error } })

/** The same refusal with more headers. */
export const withHeaders = (
  { detail, headers, members, slug, why }: Problem,
  more: { readonly [name: string]: string }
): Problem =>
  new Problem({ slug, detail, members, headers: { ...headers, ...more }, ...(why === undefined ? {} : { why }) })

/** `DiskFull` as `disk-full`. */
export const wordOf = (name: string): string => name.replace(/(?<=[a-z])(?=[A-Z])/g, "-").toLowerCase()

/** The answer for what is absent, hidden, of another tenant or deleted. The text is the same for all, so that it reveals nothing. */
export const notFound = (): Problem => problem("not-found", "There is no such resource or record.")

/** The refusal of an operation. It gives no reason. */
export const accessDenied = (): Problem => problem("access-denied", "You may not do this.")

/** A write to a resource that is read-only for everybody. */
export const isReadOnly = (): Problem => problem("access-denied", "The resource is read-only: nobody may do this.")

export const tenantRequired = (): Problem =>
  problem("tenant-required", "The records of this resource belong to tenants, and your credential has no tenant.")

/** The refusal of a parameter: `errors: [{ parameter, message, hint? }]`. */
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
