/**
 * The port to other people's servers: one POST, judged and sent. It follows nothing, keeps nothing and never throws anything but its error.
 *
 * Contract (test/contracts/outbound.ts runs it against every implementation):
 * - The host is resolved once. Unless `anyAddress`, every address that it has must be public, and the connection goes to one of those that were
 *   checked.
 * - No redirect is followed; a 3xx is an answer like any other. Certificates are verified.
 * - The request ends `timeoutMs` after it began, whatever the receiver does. At most 64 KiB of an answer are read; of a longer one the rest is left.
 * - Interrupting the effect closes the connection.
 */

import * as Data from "effect/Data"
import type * as Effect from "effect/Effect"

/** One POST. Header names are lower case; `content-length` and `host` are the adapter's own. */
export interface OutboundRequest {
  readonly url: string
  readonly headers: { readonly [name: string]: string }
  readonly body: string
  /** Whether private addresses may be reached: for URLs that the operator wrote. */
  readonly anyAddress: boolean
  readonly timeoutMs: number
}

export interface OutboundAnswer {
  readonly status: number
  /** The header `Retry-After`, or null. */
  readonly retryAfter: string | null
  /** The answer's beginning as text, at most 2 KB of it. */
  readonly text: string
}

export class OutboundError extends Data.TaggedError("OutboundError")<{
  /**
   * `url`: not one that a request may be sent to · `address`: the host has an address that is not public · `unknown-host` · `unreachable`: no
   * connection, or it was closed · `certificate`: TLS failed · `timeout` · `answer`: what came is no HTTP answer.
   */
  readonly reason: "url" | "address" | "unknown-host" | "unreachable" | "certificate" | "timeout" | "answer"
  /** For people, without anything secret of the URL. */
  readonly message: string
}> {}

export interface OutboundService {
  readonly post: (request: OutboundRequest) => Effect.Effect<OutboundAnswer, OutboundError>
  /** Whether a request to the URL would be sent now: resolves the host, connects to nothing. */
  readonly check: (url: string) => Effect.Effect<void, OutboundError>
}
