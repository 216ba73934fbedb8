/**
 * The Outbound port on node:http and node:https. It resolves a host once and connects to the address that it checked. Kept connections were
 * checked when they were made. It does not know what is sent or what an answer means.
 */

import * as Effect from "effect/Effect"
import type { LookupAddress } from "node:dns"
import { lookup } from "node:dns/promises"
import * as http from "node:http"
import * as https from "node:https"
import { isIP } from "node:net"
import { toldHeaders } from "../../core/domain/event/try.ts"
import type { OutboundAnswer, OutboundRequest, OutboundService } from "../../core/ports/outbound.ts"
import { OutboundError } from "../../core/ports/outbound.ts"
import { hostOf, isPublic, readTarget } from "./address.ts"

/** Most bytes of an answer that are read. */
const mostRead = 64 * 1024
/** Bytes of an answer that are kept. */
const mostKept = 2_048

/** Characters of a header of an answer that are kept. */
const mostHeader = 500

/** Most connections to one host at a time. */
const mostSockets = 64
/** How long a connection is kept without use. */
const idleMs = 10_000

type Resolve = (host: string) => Promise<readonly LookupAddress[]>

const resolveHost: Resolve = (host) => lookup(host, { all: true, verbatim: true })

const failed = (reason: OutboundError["reason"], message: string): OutboundError =>
  new OutboundError({ reason, message })

/** The addresses of a host, all of them judged. Rejects with `OutboundError`. */
const addressesOf = async (url: URL, anyAddress: boolean, resolve: Resolve): Promise<readonly LookupAddress[]> => {
  const host = hostOf(url)
  const family = isIP(host)
  let addresses: readonly LookupAddress[]
  try {
    addresses = family === 0 ? await resolve(host) : [{ address: host, family }]
  } catch {
    throw failed("unknown-host", "The host is not known.")
  }
  if (addresses.length === 0) throw failed("unknown-host", "The host is not known.")
  if (!anyAddress && !addresses.every(({ address }) => isPublic(address))) {
    throw failed("address", "The host has an address that is private, loopback, link-local or reserved.")
  }
  return addresses
}

const certificateCodes = /^(?:CERT_|ERR_TLS_|ERR_SSL_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO_|HOSTNAME_MISMATCH|EPROTO)/

const reasonOf = (error: unknown): OutboundError => {
  if (error instanceof OutboundError) return error
  const code = error instanceof Error && "code" in error ? String(error.code) : ""
  if (certificateCodes.test(code)) return failed("certificate", `TLS failed (${code}).`)
  if (code.startsWith("HPE_")) return failed("answer", "The answer is not HTTP.")
  return failed("unreachable", `The receiver could not be reached${code === "" ? "" : ` (${code})`}.`)
}

/**
 * The agents that keep connections: one for URLs of the operator and one for checked URLs, so that neither uses connections of the other.
 */
interface Agents {
  readonly http: http.Agent
  readonly https: https.Agent
}

const openAgents = (ca: string | undefined): Agents => {
  const options = { keepAlive: true, maxSockets: mostSockets, maxFreeSockets: mostSockets, timeout: idleMs }
  return { http: new http.Agent(options), https: new https.Agent({ ...options, ...(ca === undefined ? {} : { ca }) }) }
}

const toldOf = (headers: http.IncomingHttpHeaders): OutboundAnswer["headers"] =>
  Object.fromEntries(toldHeaders.flatMap((name) => {
    const value = headers[name]
    return typeof value === "string" ? [[name, value.slice(0, mostHeader)]] : []
  }))

/** A kept connection that the receiver closed while the request was on its way. */
const isStale = (sent: http.ClientRequest, error: Error): boolean =>
  sent.reusedSocket && "code" in error && (error.code === "ECONNRESET" || error.code === "EPIPE")

/** Sends one request to addresses that were judged; `done` is called at least once, and the first call counts. Gives what ends it. */
const send = (
  request: OutboundRequest,
  url: URL,
  agents: Agents | null,
  addresses: readonly LookupAddress[],
  done: (outcome: OutboundAnswer | OutboundError) => void
): () => void => {
  let again: (() => void) | undefined
  const secure = url.protocol === "https:"
  const host = hostOf(url)
  const sent = (secure ? https : http).request(url, {
    method: "POST",
    agent: agents === null ? false : secure ? agents.https : agents.http,
    headers: { ...request.headers, "content-length": String(Buffer.byteLength(request.body)) },
    // The name serves for the certificate and the Host header. The connection goes to the checked address.
    lookup: (_, options, answer) => {
      if (options.all === true) answer(null, [...addresses])
      else answer(null, addresses[0]!.address, addresses[0]!.family)
    },
    ...(secure && isIP(host) === 0 ? { servername: host } : {})
  })
  sent.on("error", (error) => {
    // The receiver has not handled the request yet, so it is sent once more, on a connection of its own.
    if (agents !== null && isStale(sent, error)) again = send(request, url, null, addresses, done)
    else done(reasonOf(error))
  })
  sent.on("upgrade", (_, socket) => {
    socket.destroy()
    done(failed("answer", "The receiver changed the protocol."))
  })
  sent.on("response", (response) => {
    const { headers, statusCode = 0 } = response
    const chunks: Buffer[] = []
    let size = 0
    const finish = (): void => {
      const text = Buffer.concat(chunks).subarray(0, mostKept).toString("utf8")
      done({ status: statusCode, headers: toldOf(headers), text })
    }
    response.on("data", (chunk: Buffer) => {
      if (size < mostKept) chunks.push(chunk)
      size += chunk.length
      if (size > mostRead) {
        finish()
        sent.destroy()
      }
    })
    response.on("end", finish)
    response.on("error", (error) => done(reasonOf(error)))
    response.on(
      "close",
      () => done(failed("unreachable", "The receiver closed the connection before its answer was whole."))
    )
  })
  sent.end(request.body)
  return () => {
    sent.destroy()
    again?.()
  }
}

/** What tests replace. */
export interface OutboundOptions {
  /** Resolves a host to all of its addresses. Default: the system's resolver. */
  readonly resolve?: Resolve
  /** Certificate authorities in PEM instead of the system's. */
  readonly ca?: string
}

/** The port, with connections of its own, and what closes them. */
export const makeOutbound = (
  { ca, resolve = resolveHost }: OutboundOptions = {}
): OutboundService & { readonly close: () => void } => {
  const free = openAgents(ca)
  const guarded = openAgents(ca)
  const post = (request: OutboundRequest): Effect.Effect<OutboundAnswer, OutboundError> =>
    Effect.callback((resume) => {
      let over = false
      let end: (() => void) | undefined
      const done = (outcome: OutboundAnswer | OutboundError): void => {
        if (over) return
        over = true
        clearTimeout(timer)
        resume(outcome instanceof OutboundError ? Effect.fail(outcome) : Effect.succeed(outcome))
      }
      const stop = (): void => {
        over = true
        clearTimeout(timer)
        end?.()
      }
      const timer = setTimeout(() => {
        done(failed("timeout", `The receiver took longer than ${request.timeoutMs / 1_000} seconds.`))
        end?.()
      }, request.timeoutMs)
      const url = readTarget(request.url)
      if (typeof url === "string") done(failed("url", `The URL cannot be used: ${url}.`))
      else {
        addressesOf(url, request.anyAddress, resolve).then((addresses) => {
          if (!over) end = send(request, url, request.anyAddress ? free : guarded, addresses, done)
        }).catch((error: unknown) => done(reasonOf(error)))
      }
      return Effect.sync(stop)
    })
  return {
    post,
    check: (text) =>
      Effect.asVoid(Effect.tryPromise({
        try: () => {
          const url = readTarget(text)
          if (typeof url === "string") throw failed("url", `The URL cannot be used: ${url}.`)
          return addressesOf(url, false, resolve)
        },
        catch: reasonOf
      })),
    close: () => {
      for (const { http: plain, https: secure } of [free, guarded]) {
        plain.destroy()
        secure.destroy()
      }
    }
  }
}
