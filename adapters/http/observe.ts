/**
 * What a request shows of itself while it runs: its phases for `Server-Timing` and its server span. Both are off unless asked for; the
 * numbers come from `core/app/ground/timing.ts` and are never computed twice.
 */

import * as Effect from "effect/Effect"
import * as Tracer from "effect/Tracer"
import type { TimingRecorder } from "../../core/app/ground/timing.ts"
import type { EdgeReply, EdgeRequest } from "./request.ts"

/** A recorder that can print itself as a `Server-Timing` value; phases that ran more than once are summed. */
export interface PrintedTiming extends TimingRecorder {
  readonly header: () => string
}

export const makeTiming = (): PrintedTiming => {
  const start = performance.now()
  const phases = new Map<string, number>()
  return {
    now: () => performance.now(),
    record: (phase, milliseconds) => phases.set(phase, (phases.get(phase) ?? 0) + milliseconds),
    header: () =>
      [...phases, ["total", performance.now() - start] as const].map(([name, ms]) => `${name};dur=${ms.toFixed(2)}`)
        .join(", ")
  }
}

/** The caller's span from a W3C `traceparent`, or undefined. */
const parentSpan = (sent: string | null): Tracer.ExternalSpan | undefined => {
  const parts = sent === null ? null : /^[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(?:-|$)/.exec(sent)
  const [, traceId = "", spanId = "", flags = ""] = parts ?? []
  if (parts === null || sent?.startsWith("ff") === true || /^0+$/.test(traceId) || /^0+$/.test(spanId)) return undefined
  return Tracer.externalSpan({ traceId, spanId, sampled: (Number.parseInt(flags, 16) & 1) === 1 })
}

/** Wraps the answer in a server span (OpenTelemetry HTTP names) that continues the client's trace. */
export const withServerSpan = (
  answer: Effect.Effect<EdgeReply>,
  request: EdgeRequest,
  path: string,
  id: string
): Effect.Effect<EdgeReply> => {
  const parent = parentSpan(request.headers.get("traceparent"))
  return Effect.withSpan(
    Effect.tap(answer, (reply) => Effect.annotateCurrentSpan("http.response.status_code", reply.status)),
    `HTTP ${request.method}`,
    {
      kind: "server",
      attributes: { "http.request.method": request.method, "url.path": path, "request.id": id },
      captureStackTrace: false,
      ...(parent === undefined ? {} : { parent })
    }
  )
}
