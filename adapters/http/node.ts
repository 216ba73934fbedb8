/**
 * The edge on `node:http`. It turns Node's objects into plain requests and runs each on one runtime context. It writes head and body at once. It
 * interrupts the work when the client goes away, and drains on close. It makes no `Request` or `Response` and routes nothing.
 */

import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import { createServer } from "node:http"
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http"
import type { AddressInfo, Socket } from "node:net"
import type { Duplex } from "node:stream"
import { setTimeout as sleep } from "node:timers/promises"
import type { Problem } from "../../core/domain/problem.ts"
import type { Edge } from "./handle.ts"
import { brokenBody, tooLarge } from "./request.ts"
import type { EdgeHeaders, EdgeReply, EdgeRequest, StreamedBody } from "./request.ts"

/** Where to listen, and the limits of a connection. */
export interface ListenOptions {
  /** 0 picks a free port. */
  readonly port: number
  /** Default `127.0.0.1`. */
  readonly host?: string
  /** What the effects run in: a tracer, a logger. */
  readonly context?: Context.Context<never>
  /** Time for a request's head, in milliseconds. Default 10,000. */
  readonly headersTimeoutMs?: number
  /** Time for a whole request, body included. Default 30,000. */
  readonly requestTimeoutMs?: number
  /** How long an idle connection stays open. Default 65,000: longer than the load balancers in front keep theirs. */
  readonly keepAliveMs?: number
  /**
   * A connection on which nothing moves for so long is cut, also while it is being answered. It is not cut while its client waits for work,
   * which has its own limits. Default 120,000.
   */
  readonly idleTimeoutMs?: number
  /** Largest request head in bytes. Default 160 KiB: the longest target, and room for a token and cookies. */
  readonly maxHeaderBytes?: number
  /** How long the rest of a refused body is read and dropped before the connection is cut. Default 5,000. */
  readonly lingerMs?: number
  /** How long `close` lets running requests finish. Default 10,000. */
  readonly graceMs?: number
}

/** An open port. */
export interface Listener {
  readonly port: number
  readonly address: string
  /**
   * Says that the service is about to stop, and goes on answering for so many milliseconds: `/readyz` is 503, and each answer closes its connection. So a load
   * balancer sends its requests elsewhere before the port closes.
   */
  readonly drain: (milliseconds: number) => Promise<void>
  /** Stops accepting, lets requests that have arrived finish within the grace time, cuts the rest and waits until their work has stopped. */
  readonly close: () => Promise<void>
}

class NodeHeaders implements EdgeHeaders {
  readonly #raw: IncomingHttpHeaders
  constructor(raw: IncomingHttpHeaders) {
    this.#raw = raw
  }
  get(name: string): string | null {
    const value = this.#raw[name] ?? this.#raw[name.toLowerCase()]
    return typeof value === "string" ? value : Array.isArray(value) ? value.join(", ") : null
  }
  *entries(): Generator<readonly [string, string]> {
    for (const [name, value] of Object.entries(this.#raw)) {
      if (value !== undefined) yield [name, typeof value === "string" ? value : value.join(", ")]
    }
  }
}

/** Absolute-form targets (RFC 9112, 3.2.2) lose their origin; all others stay. */
const originForm = (target: string): string => {
  if (target.charCodeAt(0) === 47 /* / */) return target
  const absolute = /^https?:\/\/[^/?#]*(.*)$/is.exec(target)
  const rest = absolute?.[1] ?? target
  return absolute === null || rest.startsWith("/") ? rest : `/${rest}`
}

/** Whether an absolute-form target names another host than the header: who routed the request may have read the one, and the tenant would be of the other. */
const namesOtherHost = ({ headers, url = "" }: IncomingMessage): boolean => {
  const authority = /^https?:\/\/([^/?#]*)/i.exec(url)?.[1]
  return authority !== undefined && authority.toLowerCase() !== headers.host?.toLowerCase()
}

const hasBody = ({ headers }: IncomingMessage): boolean => {
  const length = headers["content-length"]
  return headers["transfer-encoding"] !== undefined || (length !== undefined && Number(length) > 0)
}

/** How long a body may take that is read whole, and what happens to a connection whose time is over. */
interface BodyTimeout {
  readonly milliseconds: number
  readonly over: (socket: Socket) => void
}

class NodeRequest implements EdgeRequest {
  readonly method: string
  readonly target: string
  readonly headers: NodeHeaders
  readonly #req: IncomingMessage
  readonly #res: ServerResponse
  readonly #origin: string
  /** The client waits for `100 Continue`; it gets it when the body is wanted, not before. */
  waits: boolean
  /** The body was read to its end, perhaps before Node says so. */
  isRead = false

  readonly #timeout: BodyTimeout

  constructor(req: IncomingMessage, res: ServerResponse, origin: string, waits: boolean, timeout: BodyTimeout) {
    this.method = req.method ?? "GET"
    this.target = originForm(req.url ?? "/")
    this.headers = new NodeHeaders(req.headers)
    this.#req = req
    this.#res = res
    this.#origin = origin
    this.waits = waits
    this.#timeout = timeout
  }

  get url(): string {
    return this.target.startsWith("/") ? this.#origin + this.target : `${this.#origin}/${this.target}`
  }

  get host(): string | null {
    return this.#req.headers.host ?? null
  }

  get address(): string | null {
    return this.#req.socket.remoteAddress ?? null
  }

  get hasBody(): boolean {
    return hasBody(this.#req)
  }

  async *stream(): AsyncGenerator<Uint8Array> {
    if (this.waits) {
      this.waits = false
      this.#res.writeContinue()
    }
    try {
      // The request is not destroyed with the loop: its refusal is still to be answered.
      for await (const chunk of this.#req.iterator({ destroyOnReturn: false })) yield chunk
    } catch {
      throw brokenBody()
    }
    this.isRead = true
  }

  body(limit: number): Effect.Effect<Uint8Array, Problem> {
    const req = this.#req
    // A short body comes with its head: then there is nothing to wait for.
    if (req.readableLength <= limit && req.readableLength === Number(req.headers["content-length"])) {
      const bytes: Buffer | null = req.read()
      if (bytes !== null) {
        this.isRead = true
        this.waits = false
        return Effect.succeed(bytes)
      }
    }
    return Effect.callback((resume) => {
      const chunks: Array<Buffer> = []
      let size = 0
      const timer = setTimeout(() => this.#timeout.over(req.socket), this.#timeout.milliseconds)
      const stop = (): void => {
        clearTimeout(timer)
        req.off("data", onData).off("end", onEnd).off("error", onError)
      }
      const onData = (chunk: Buffer): void => {
        size += chunk.length
        if (size <= limit) {
          chunks.push(chunk)
          return
        }
        stop()
        resume(Effect.fail(tooLarge(limit)))
      }
      const onEnd = (): void => {
        stop()
        resume(Effect.succeed(chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks, size)))
      }
      const onError = (): void => {
        stop()
        resume(Effect.fail(brokenBody()))
      }
      if (this.waits) {
        this.waits = false
        this.#res.writeContinue()
      }
      req.on("data", onData).on("end", onEnd).on("error", onError)
      return Effect.sync(stop)
    })
  }
}

/**
 * Whether the head names two hosts or two credentials (RFC 9112, 3.2; RFC 9110, 11.6.2). Node would take the first and a proxy perhaps the last, so
 * that what one of them checked is not what the other uses.
 */
const isAmbiguous = (rawHeaders: readonly string[]): boolean => {
  let hosts = 0
  let credentials = 0
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i]!
    if (name.length === 4 && name.toLowerCase() === "host") hosts++
    else if (name.length === 13 && name.toLowerCase() === "authorization") credentials++
  }
  return hosts > 1 || credentials > 1
}

/** Whether a Host header is a name or an address with an optional port (RFC 9112, 3.2); it may be empty. */
const isHost = (value: string): boolean => /^(?:[\w.~!$&'()*+,;=%-]*|\[[\w.:~%-]+\])(?::\d*)?$/.test(value)

/** Reads an unwanted body and drops it. An unread body blocks its connection. */
const drop = (req: IncomingMessage): void => {
  // Who read the body may have stopped in the middle of it. A stream that still has such a reader does not flow, and where one goes later, it stops unless
  // somebody listens.
  req.removeAllListeners("readable")
  req.on("data", () => {})
  req.resume()
}

/**
 * Ends an answer that is sent before its request has come to the end. The rest is read and dropped first, also where the connection closes after
 * it. So the client gets the answer and not a broken connection (RFC 9112, 9.6). But only for so long.
 */
const linger = (req: IncomingMessage, res: ServerResponse, milliseconds: number): void => {
  const cut = setTimeout(() => req.socket.destroy(), milliseconds)
  cut.unref()
  req.once("close", () => clearTimeout(cut)).once("end", () => res.end())
  drop(req)
}

/** Sends a body as fast as the client takes it, and lets its source go when the client does. */
const pump = async (res: ServerResponse, { bytes, length }: StreamedBody): Promise<void> => {
  const source = bytes[Symbol.asyncIterator]()
  let sent = 0
  let wake = (): void => {}
  let closed = res.destroyed
  const onDrain = (): void => wake()
  const onClose = (): void => {
    closed = true
    wake()
    // A stream that waits for news would learn of it with the next piece only.
    void Promise.resolve(source.return?.()).catch(() => {})
  }
  res.on("drain", onDrain).on("close", onClose)
  try {
    for (;;) {
      const next = closed ? null : await source.next()
      if (next === null || closed) {
        await source.return?.()
        return
      }
      if (next.done === true) break
      sent += next.value.length
      if (length !== null && sent >= length) {
        if (sent > length) throw new Error("the body is longer than was announced")
        // The last bytes go with the end of the answer: a small file is one write.
        res.end(next.value)
        await source.return?.()
        return
      }
      if (!res.write(next.value)) await new Promise<void>((resolve) => wake = resolve)
    }
    res.end()
  } finally {
    res.off("drain", onDrain).off("close", onClose)
  }
}

/** A text that is as long in bytes as in characters is ASCII. Its bytes are the same in Latin 1, which needs no encoding before it is written. */
const encodingOf = ({ body, headers }: EdgeReply): "latin1" | "utf8" =>
  typeof body === "string" && headers["content-length"] === String(body.length) ? "latin1" : "utf8"

/** A reply for a connection that has no response object: bytes that could not be parsed. */
const rawReply = (reply: EdgeReply): string => {
  const head = Object.entries({ ...reply.headers, "date": new Date().toUTCString(), "connection": "close" })
  const phrase = reply.status === 400
    ? "Bad Request"
    : reply.status === 408
    ? "Request Timeout"
    : "Request Header Fields Too Large"
  return `HTTP/1.1 ${reply.status} ${phrase}\r\n${head.map(([name, value]) => `${name}: ${value}\r\n`).join("")}\r\n${
    String(reply.body)
  }`
}

/** Lets go of a body that nobody is there to take. */
const letGo = ({ stream }: EdgeReply): void => {
  if (stream !== null) void Promise.resolve(stream.bytes[Symbol.asyncIterator]().return?.()).catch(() => {})
}

const unreadableOf = (code: string | undefined): Parameters<Edge["unreadable"]>[0] =>
  code === "HPE_HEADER_OVERFLOW" ? "header-too-large" : code === "ERR_HTTP_REQUEST_TIMEOUT" ? "too-slow" : "malformed"

/** A response that a connection owes, and the work behind it. */
interface Owed {
  readonly res: ServerResponse
  readonly fiber: Fiber.Fiber<EdgeReply>
}

/** How many requests a connection may have under way when one of them has to wait for the others. */
const longestPipeline = 100

const isSafe = (method: string | undefined): boolean =>
  method === "GET" || method === "HEAD" || method === "OPTIONS" || method === "TRACE"

/**
 * The earlier requests of its connection that a request has to wait for. They may run side by side only if all of them are safe (RFC 9112,
 * 9.3.2).
 */
const waitedFor = (req: IncomingMessage, owed: readonly Owed[]): readonly Owed[] => {
  const earlier = owed.filter(({ fiber }) => fiber.pollUnsafe() === undefined)
  return isSafe(req.method) && earlier.every(({ res }) => isSafe(res.req.method)) ? [] : earlier
}

/** Opens the port. Build the app first: from the first connection on, every request is answered. Rejects when the port is taken. */
export const listen = (edge: Edge, options: ListenOptions): Promise<Listener> => {
  const runFork = Effect.runForkWith(options.context ?? Context.empty())
  const headersTimeout = options.headersTimeoutMs ?? 10_000
  const requestTimeout = options.requestTimeoutMs ?? 30_000
  const lingerMs = options.lingerMs ?? 5_000
  /** Requests whose work goes on, and who waits for there to be none. */
  let running = 0
  /** Whether the port is being closed. While the service only drains, a connection may still bring a request. */
  let isClosing = false
  let allStopped = (): void => {}
  /**
   * Every open connection with the responses it still owes. What comes and goes with each request is kept in arrays and numbers. When a Map or
   * Set grows, its old table points to the new one, and keeps everything alive until the next full collection.
   */
  const connections = new Map<Duplex, Owed[]>()

  const server = createServer({
    headersTimeout: Math.min(headersTimeout, requestTimeout),
    // A clock of its own, below: files may take longer.
    requestTimeout: 0,
    // How late a head may be cut.
    connectionsCheckingInterval: Math.min(500, Math.ceil(Math.min(headersTimeout, requestTimeout) / 2)),
    keepAliveTimeout: options.keepAliveMs ?? 65_000,
    // Finds out about clients that vanished while they wait.
    keepAlive: true,
    keepAliveInitialDelay: 60_000,
    maxHeaderSize: options.maxHeaderBytes ?? 160 * 1024,
    // Checked below, so that its answer is a problem document like every other.
    requireHostHeader: false
  })
  server.timeout = options.idleTimeoutMs ?? 120_000

  const bodyTimeout: BodyTimeout = {
    milliseconds: requestTimeout,
    over: (socket) =>
      void server.emit(
        "clientError",
        Object.assign(new Error("too slow"), { code: "ERR_HTTP_REQUEST_TIMEOUT" }),
        socket
      )
  }

  const write = (request: NodeRequest, req: IncomingMessage, res: ServerResponse, reply: EdgeReply): void => {
    // Without its 100 the client sends no body, so nothing valid can follow on this connection.
    if (edge.isDraining() || request.waits) res.setHeader("connection", "close")
    res.writeHead(
      reply.status,
      reply.cookies.length === 0 ? reply.headers : { ...reply.headers, "set-cookie": [...reply.cookies] }
    )
    if (reply.stream !== null) {
      pump(res, reply.stream).catch(() => res.destroy())
      if (request.hasBody && !request.isRead) drop(req)
    } else if (!req.complete && request.hasBody && !request.isRead && !request.waits) {
      if (reply.body === null) res.flushHeaders()
      else res.write(reply.body)
      linger(req, res, lingerMs)
    } else {
      if (request.hasBody && !request.isRead && !request.waits) drop(req)
      if (reply.body === null) res.end()
      else res.end(reply.body, encodingOf(reply))
    }
  }

  const send = (request: NodeRequest, req: IncomingMessage, res: ServerResponse, reply: EdgeReply): void => {
    try {
      write(request, req, res, reply)
    } catch (error) {
      if (res.headersSent) res.destroy()
      else write(request, req, res, edge.failed(request, error))
    }
  }

  const onRequest = (req: IncomingMessage, res: ServerResponse, waits: boolean): void => {
    const request = new NodeRequest(req, res, edge.origin, waits, bodyTimeout)
    const { host } = req.headers
    if (
      (host === undefined ? req.httpVersionMinor > 0 : !isHost(host)) || isAmbiguous(req.rawHeaders)
      || (edge.byHost && namesOtherHost(req))
    ) {
      return send(request, req, res, edge.unreadable("malformed"))
    }
    const owed = connections.get(req.socket) ?? []
    const earlier = owed.length === 0 ? owed : waitedFor(req, owed)
    // Those who wait count nowhere else.
    if (earlier.length >= longestPipeline) return void req.socket.destroy()
    const work = edge.handle(request)
    // The answers sent while draining close the connection: what still waits then would never be answered, so it does not begin.
    const turn = (): Effect.Effect<EdgeReply> => edge.isDraining() ? Effect.never : work
    const fiber = runFork(
      earlier.length === 0 ? work : Effect.flatMap(Fiber.awaitAll(earlier.map((each) => each.fiber)), turn)
    )
    const answer = (exit: Exit.Exit<EdgeReply>): void => {
      if (req.socket.destroyed) {
        if (Exit.isSuccess(exit)) letGo(exit.value)
        return
      }
      send(request, req, res, Exit.isSuccess(exit) ? exit.value : edge.failed(request, Cause.squash(exit.cause)))
    }
    const one: Owed = { res, fiber }
    owed.push(one)
    res.once("close", () => {
      owed.splice(owed.indexOf(one), 1)
      // An answer of before the drain leaves its connection open.
      if (owed.length === 0 && isClosing) req.socket.destroySoon()
    })
    const done = fiber.pollUnsafe()
    if (done !== undefined) return answer(done)
    running++
    fiber.addObserver((exit) => {
      if (--running === 0) allStopped()
      answer(exit)
    })
  }

  // A request with a body begins when the bytes that came with its head are read, but before the next request of its connection.
  let held: (() => void) | null = null
  const release = (): void => {
    const begin = held
    held = null
    begin?.()
  }
  const onArrival = (waits: boolean) => (req: IncomingMessage, res: ServerResponse): void => {
    release()
    if (waits || !hasBody(req)) return onRequest(req, res, waits)
    held = () => {
      // What followed the head may have been no HTTP, and was answered.
      if (req.socket.writable) onRequest(req, res, false)
    }
    process.nextTick(release)
  }

  server.on("request", onArrival(false))
  server.on("checkContinue", onArrival(true))
  server.on("checkExpectation", onArrival(false))
  server.on("connection", (socket: Socket) => {
    const owed: Owed[] = []
    connections.set(socket, owed)
    // Not the responses' own `close`: one that waits behind another in a pipeline never gets it.
    socket.once("close", () => {
      connections.delete(socket)
      // The last first, so that none begins because the one it waited for has ended.
      for (const { fiber } of owed.toReversed()) fiber.interruptUnsafe()
    })
  })
  server.on("timeout", (socket: Socket) => {
    // Only the first response can be written. Until then nothing can move, and writing it starts the time again.
    const next = connections.get(socket)?.[0]?.res
    if (next === undefined || next.headersSent || !next.req.complete) socket.destroy()
  })
  server.on("clientError", (error: NodeJS.ErrnoException, socket) => {
    const owed = connections.get(socket)
    // What comes behind a last request is nobody's (RFC 9112, 9.6); the answers before it are still owed, and end the connection.
    if (error.code === "HPE_CLOSED_CONNECTION" && owed !== undefined && owed.length > 0) return
    // A response under way, or one owed for an earlier complete request, must not be mixed with this one.
    const mixes = owed !== undefined && owed.some(({ res }) => res.headersSent || res.req.complete)
    if (!socket.writable || mixes || error.code === "ECONNRESET") socket.destroy()
    else socket.end(rawReply(edge.unreadable(unreadableOf(error.code))), () => socket.destroy())
  })

  const close = async (): Promise<void> => {
    edge.drain()
    isClosing = true
    // The event loop reads arrived bytes during these turns. A connection with an unread request must not count as idle.
    for (let turns = 0; turns < 3; turns++) await new Promise((resolve) => setImmediate(resolve))
    // To Node a connection is idle whose answer was handed over, sent or not.
    server.closeIdleConnections = () => {}
    const closed = new Promise<void>((resolve) => server.close(() => resolve()))
    for (const [socket, owed] of connections) if (owed.length === 0) socket.destroy()
    const cut = setTimeout(() => server.closeAllConnections(), options.graceMs ?? 10_000)
    await closed
    clearTimeout(cut)
    if (running > 0) await new Promise<void>((resolve) => allStopped = resolve)
  }

  return new Promise((resolve, reject) => {
    server.once("error", reject)
    server.listen(options.port, options.host ?? "127.0.0.1", () => {
      server.off("error", reject)
      const bound = server.address() as AddressInfo
      let closing: Promise<void> | null = null
      resolve({
        port: bound.port,
        address: bound.address,
        drain: (milliseconds) => {
          edge.drain()
          return sleep(milliseconds, undefined, { ref: false })
        },
        close: () => closing ??= close()
      })
    })
  })
}
