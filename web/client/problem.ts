/**
 * The errors of a call: a problem that a service answered (RFC 9457), or no answer at all. An aborted call rejects with the reason of its signal
 * instead. Other files decide whether a call is retried.
 */

/** One entry of `errors`: of a filter or order (`span`), of a parameter, or of a record's field. */
export interface ProblemEntry {
  /** `required`, `type`, `max`, `enum`, `unknown`, `read-only`, `invalid` of records; those of filters are in the reference. */
  readonly code?: string
  readonly message: string
  readonly hint?: string
  /** Records: the field. */
  readonly field?: string
  /** Parameters: the query parameter or body member. */
  readonly parameter?: string
  /** Filters and orders: UTF-16 offsets into the text that was sent, `end` exclusive. */
  readonly span?: { readonly start: number; readonly end: number }
}

/** A problem document, with the members that the service adds where they apply. */
export interface ProblemDocument {
  readonly type?: string
  readonly title?: string
  readonly status?: number
  readonly detail?: string
  readonly instance?: string
  readonly errors?: readonly ProblemEntry[]
  readonly [member: string]: unknown
}

const text = (value: unknown): string => typeof value === "string" ? value : ""

/** A JSON object. */
export const isObject = (value: unknown): value is { readonly [member: string]: unknown } =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** A JSON list; of anything else an empty one. */
export const listOf = (value: unknown): readonly unknown[] => Array.isArray(value) ? value : []

/** A refusal by a service. `document` holds every member as it came. */
export class ProblemError extends Error {
  override readonly name = "ProblemError"
  declare readonly status: number
  declare readonly document: ProblemDocument
  /** The last part of `type`: `not-found`, `precondition-failed`, …; empty where something other than the service answered. */
  declare readonly slug: string
  declare readonly title: string
  /** A sentence for people; may be empty. */
  declare readonly detail: string
  declare readonly errors: readonly ProblemEntry[]
  /** Milliseconds to wait (`Retry-After`), or null. */
  declare readonly retryAfter: number | null
  /** `X-Request-Id`: what the operator finds the request by. */
  declare readonly requestId: string | null
  /** 412: the current ETag of the record, or null. */
  declare readonly etag: string | null
  /** 412: the readable fields that differ from the version that was held; null where that is not known. */
  declare readonly changed: readonly string[] | null
  /** The address that answered; empty where the runtime does not tell it. */
  declare readonly url: string
  /** Batches: the index of the operation that failed, from 0; else null. */
  declare readonly operation: number | null

  constructor(
    status: number,
    document: ProblemDocument,
    facts: { readonly retryAfter?: number | null; readonly requestId?: string | null; readonly url?: string } = {}
  ) {
    const title = text(document.title) || `The answer has the status ${status}`
    super(text(document.detail) || title)
    this.status = status
    this.document = document
    this.slug = /^urn:service:problem:([\w-]+)$/.exec(text(document.type))?.[1] ?? ""
    this.title = title
    this.detail = text(document.detail)
    this.errors = (Array.isArray(document.errors) ? document.errors as readonly ProblemEntry[] : []).filter(isObject)
    this.retryAfter = facts.retryAfter ?? null
    this.requestId = facts.requestId ?? null
    this.url = facts.url ?? ""
    this.etag = text(document["etag"]) || null
    const { changed, operation } = document
    this.changed = Array.isArray(changed) ? changed.filter((each) => typeof each === "string") : null
    this.operation = typeof operation === "number" ? operation : null
  }

  /** The first message for each field that the service refused. An element of a list (`tags[3]`) counts for its field. */
  get fields(): { readonly [field: string]: string } {
    const fields: { [field: string]: string } = Object.create(null)
    for (const { field, message } of this.errors) {
      if (typeof field === "string") fields[field.split("[", 1)[0]!] ??= text(message)
    }
    return fields
  }
}

/** No answer came: the network, DNS, TLS or CORS failed, or the answer broke off. For a write it is unknown whether it happened. */
export class ConnectionError extends Error {
  override readonly name = "ConnectionError"

  constructor(cause: unknown, message = "The service could not be reached.") {
    super(message, { cause })
  }
}

/** A refusal that the client makes itself, before anything is sent. */
export const refused = (status: number, slug: string, detail: string): ProblemError =>
  new ProblemError(status, { type: `urn:service:problem:${slug}`, title: "The call was not sent", status, detail })

/** Milliseconds of a `Retry-After` (seconds or a date), or null. */
export const readRetryAfter = (value: string | null): number | null => {
  if (value === null) return null
  const milliseconds = /^\d+$/.test(value) ? Number(value) * 1000 : Date.parse(value) - Date.now()
  return Number.isFinite(milliseconds) ? Math.max(0, milliseconds) : null
}

/** The problem that a response is, whatever its body holds. */
export const problemOf = (response: Response, body: string): ProblemError => {
  let document: ProblemDocument = {}
  try {
    const parsed: unknown = JSON.parse(body)
    if (isObject(parsed)) document = parsed
  } catch {
    // A proxy in front of the service answered with a page of its own. The status is enough.
  }
  return new ProblemError(response.status, document, {
    retryAfter: readRetryAfter(response.headers.get("retry-after")),
    requestId: response.headers.get("x-request-id"),
    url: response.url
  })
}
