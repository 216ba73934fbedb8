/** The result of one delivery attempt, and what a receiver's answer means (docs/reference/events.md#a-try). */

import { readRetryAfter } from "./retry.ts"

/** Headers of an answer that help to find out what the receiver did. No cookies: these are credentials. */
export const toldHeaders: readonly string[] = [
  "content-type",
  "location",
  "retry-after",
  "server",
  "www-authenticate",
  "x-request-id"
]

type Headers = { readonly [name: string]: string }

/** A request as it was sent. */
export interface SentRequest {
  readonly url: string
  readonly headers: Headers
  readonly body: string
}

/** `skipped`: the subscription may no longer see the record, so nothing was sent. */
export interface TryResult {
  readonly outcome: "delivered" | "failed" | "skipped"
  readonly eventId: string
  /** `<resource>.<event>` */
  readonly event: string
  readonly resource: string
  readonly key: string
  /** From 1. */
  readonly attempt: number
  /** The HTTP status, where there was one. */
  readonly status: number | null
  /** Why it failed, for people. It contains no value of a record. */
  readonly error: string | null
  /** The beginning of what the receiver answered, or null. */
  readonly answer: string | null
  /** Those of `toldHeaders` that the answer had, or null. */
  readonly headers: Headers | null
  /** What was sent to a URL, or null. */
  readonly request: SentRequest | null
  /** The roles that the subscription of a person acted with, or null. */
  readonly roles: readonly string[] | null
  /** The receiver said that the endpoint is permanently gone. */
  readonly gone: boolean
  /** Seconds that the receiver asked to wait, or null. */
  readonly asked: number | null
  readonly milliseconds: number
  readonly test: boolean
}

/** What an answer means: 2xx is success, everything else is failure, redirects included. `now` in milliseconds. */
export const judgeAnswer = (
  answer: { readonly status: number; readonly headers: Headers; readonly text: string },
  now: number
): Pick<TryResult, "outcome" | "status" | "error" | "answer" | "headers" | "gone" | "asked"> => {
  const { status } = answer
  const success = status >= 200 && status < 300
  return {
    outcome: success ? "delivered" : "failed",
    status,
    error: success ? null : status === 410 ? "The receiver answered 410 Gone." : `The receiver answered ${status}.`,
    answer: answer.text,
    headers: answer.headers,
    gone: status === 410,
    asked: success ? null : readRetryAfter(answer.headers["retry-after"] ?? null, now)
  }
}
