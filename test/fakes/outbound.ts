/**
 * The Outbound port in memory: receivers are functions by the origin of their URL. It judges URLs and addresses as the port's contract says, and
 * opens no connection.
 */

import * as Effect from "effect/Effect"
import { hostOf, isPublic, readTarget } from "../../adapters/outbound/address.ts"
import { toldHeaders } from "../../core/domain/event/try.ts"
import type { OutboundAnswer, OutboundRequest, OutboundService } from "../../core/ports/outbound.ts"
import { OutboundError } from "../../core/ports/outbound.ts"

/** What a receiver does with a request: answers, closes the connection, or never answers. */
export type Reaction =
  | { readonly status: number; readonly headers?: { readonly [name: string]: string }; readonly body?: string }
  | "reset"
  | "silence"

export type Receiver = (request: OutboundRequest) => Reaction

export interface FakeOutbound {
  readonly service: OutboundService
  readonly listen: (origin: string, receiver: Receiver) => void
  /** Hosts and their addresses. */
  readonly hosts: Map<string, readonly string[]>
  readonly sent: OutboundRequest[]
}

const failed = (reason: OutboundError["reason"]): Effect.Effect<never, OutboundError> =>
  Effect.fail(new OutboundError({ reason, message: reason }))

export const makeFakeOutbound = (): FakeOutbound => {
  const receivers = new Map<string, Receiver>()
  const hosts = new Map<string, readonly string[]>([["localhost", ["127.0.0.1"]]])
  const sent: OutboundRequest[] = []
  const judged = (text: string, anyAddress: boolean): Effect.Effect<URL, OutboundError> => {
    const url = readTarget(text)
    if (typeof url === "string") return failed("url")
    const host = hostOf(url)
    const addresses = hosts.get(host) ?? (/^[\d.]+$|:/.test(host) ? [host] : [])
    if (addresses.length === 0) return failed("unknown-host")
    return anyAddress || addresses.every(isPublic) ? Effect.succeed(url) : failed("address")
  }
  const answerOf = (reaction: Reaction, timeoutMs: number): Effect.Effect<OutboundAnswer, OutboundError> =>
    reaction === "reset"
      ? failed("unreachable")
      : reaction === "silence"
      ? Effect.timeoutOrElse(Effect.never, { duration: timeoutMs, orElse: () => failed("timeout") })
      : Effect.succeed({
        status: reaction.status,
        headers: Object.fromEntries(
          Object.entries(reaction.headers ?? {}).filter(([name]) => toldHeaders.includes(name)).map((
            [name, value]
          ) => [name, value.slice(0, 500)])
        ),
        text: (reaction.body ?? "").slice(0, 2_048)
      })
  return {
    hosts,
    sent,
    listen: (origin, receiver) => void receivers.set(origin, receiver),
    service: {
      check: (url) => Effect.asVoid(judged(url, false)),
      post: (request) =>
        Effect.flatMap(judged(request.url, request.anyAddress), ({ origin }) => {
          const receiver = receivers.get(origin)
          if (receiver === undefined) return failed("unreachable")
          sent.push(request)
          return answerOf(receiver(request), request.timeoutMs)
        })
    }
  }
}
