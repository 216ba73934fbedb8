/**
 * A load generator on raw sockets: keep-alive connections with one request in flight each, in a closed loop. It understands answers with a
 * `Content-Length` and none at all (204, 304), which is what the systems measured send; it judges no answer but by its status.
 */

import { connect, type Socket } from "node:net"

export interface Request {
  readonly method: "GET" | "POST" | "PATCH"
  readonly path: string
  readonly headers: { readonly [name: string]: string }
  readonly body?: string
}

export interface Answer {
  readonly status: number
  /** Status line and headers. */
  readonly head: string
  readonly body: Buffer
}

/** The value of a header of an answer, or null. */
export const headerOf = (answer: Answer, name: string): string | null =>
  new RegExp(`\\r\\n${name}: *([^\\r]*)`, "i").exec(answer.head)?.[1] ?? null

const encode = ({ body, headers, method, path }: Request, host: string): string => {
  let text = `${method} ${path} HTTP/1.1\r\nHost: ${host}\r\n`
  for (const name in headers) text += `${name}: ${headers[name]}\r\n`
  if (body === undefined) return `${text}\r\n`
  return `${text}Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
}

/** One connection. `done` gets each answer, or null when the connection broke under a request; the next request then opens another. */
class Connection {
  readonly #port: number
  readonly #done: (answer: Answer | null) => void
  #socket: Socket | undefined
  #chunks: Buffer[] = []
  #size = 0
  #head = ""
  #bodyAt = 0
  #needed = -1

  constructor(port: number, done: (answer: Answer | null) => void) {
    this.#port = port
    this.#done = done
  }

  send(request: Request): void {
    this.#open().write(encode(request, `127.0.0.1:${this.#port}`))
  }

  end(): void {
    this.#socket?.removeAllListeners("close").destroy()
    this.#socket = undefined
  }

  #open(): Socket {
    if (this.#socket !== undefined) return this.#socket
    const socket = connect(this.#port, "127.0.0.1")
    socket.setNoDelay(true)
    socket.on("data", (chunk) => this.#take(chunk))
    socket.on("error", () => {})
    socket.on("close", () => {
      this.#socket = undefined
      this.#reset()
      this.#done(null)
    })
    this.#socket = socket
    return socket
  }

  #reset(): void {
    this.#chunks = []
    this.#size = 0
    this.#needed = -1
  }

  #take(chunk: Buffer): void {
    this.#chunks.push(chunk)
    this.#size += chunk.length
    if (this.#needed === -1) {
      const all = this.#chunks.length === 1 ? chunk : Buffer.concat(this.#chunks)
      const end = all.indexOf("\r\n\r\n")
      if (end === -1) return
      this.#head = all.toString("latin1", 0, end)
      this.#bodyAt = end + 4
      this.#needed = this.#bodyAt + Number(/\r\ncontent-length: *(\d+)/i.exec(this.#head)?.[1] ?? 0)
    }
    if (this.#size < this.#needed) return
    const answer = {
      status: Number(this.#head.slice(9, 12)),
      head: this.#head,
      body: Buffer.concat(this.#chunks).subarray(this.#bodyAt)
    }
    this.#reset()
    this.#done(answer)
  }
}

/** Sends one request on a connection of its own. */
export const once = (port: number, request: Request): Promise<Answer> =>
  new Promise((resolve, reject) => {
    const connection = new Connection(port, (answer) => {
      connection.end()
      if (answer === null) reject(new Error(`${request.method} ${request.path}: the connection broke`))
      else resolve(answer)
    })
    connection.send(request)
  })

export interface Load {
  /** Connections take turns: the first goes to the first port, the second to the second. */
  readonly ports: readonly [number, ...number[]]
  readonly connections: number
  /** Milliseconds before measuring begins, and of measuring. */
  readonly warmMs: number
  readonly ms: number
  /** Slow requests go on until so many were answered (12), but never longer than `longestMs` (five times `ms`). */
  readonly fewest?: number
  readonly longestMs?: number
  readonly next: (slot: number) => Request
  readonly after?: ((slot: number, request: Request, answer: Answer) => void) | undefined
  /** Called when measuring begins and ends. */
  readonly begin?: () => void
  readonly end?: () => void
}

export interface Measured {
  readonly requests: number
  readonly perSecond: number
  /** Milliseconds. */
  readonly p50: number
  readonly p99: number
  readonly kilobytes: number
  /** Answers that were not 2xx, and the first of them. */
  readonly failed: number
  readonly firstFailure: string | null
}

export const load = async (job: Load): Promise<Measured> => {
  const { fewest = 12, longestMs = job.ms * 5, ports } = job
  const times: number[] = []
  let measuring = false
  let stopped = false
  let bytes = 0
  let failed = 0
  let firstFailure: string | null = null
  const connections: Connection[] = []
  // The last requests are waited for, though not counted: what they still cost is not to meet the next measurement.
  let owed = job.connections
  let answered = (): void => {}
  const allAnswered = new Promise<void>((resolve) => {
    answered = () => {
      if (--owed === 0) resolve()
    }
  })
  for (let slot = 0; slot < job.connections; slot++) {
    let request = job.next(slot)
    let sent = performance.now()
    const connection = new Connection(ports[slot % ports.length]!, (answer) => {
      if (stopped) return answered()
      const now = performance.now()
      if (answer === null || answer.status < 200 || answer.status > 299) {
        failed++
        firstFailure ??= `${answer?.status ?? "broken connection"} ${request.method} ${request.path.slice(0, 200)}`
      }
      if (measuring) {
        times.push(now - sent)
        bytes += answer?.body.length ?? 0
      }
      if (answer !== null) job.after?.(slot, request, answer)
      request = job.next(slot)
      sent = performance.now()
      connection.send(request)
    })
    connections.push(connection)
    connection.send(request)
  }
  const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))
  await pause(job.warmMs)
  job.begin?.()
  measuring = true
  const start = performance.now()
  await pause(job.ms)
  while (times.length < fewest && performance.now() - start < longestMs) await pause(50)
  const seconds = (performance.now() - start) / 1000
  stopped = true
  job.end?.()
  await Promise.race([allAnswered, pause(30_000)])
  for (const connection of connections) connection.end()
  times.sort((a, b) => a - b)
  const at = (share: number) => times[Math.min(times.length - 1, Math.floor(times.length * share))] ?? Number.NaN
  return {
    requests: times.length,
    perSecond: times.length / seconds,
    p50: at(0.5),
    p99: at(0.99),
    kilobytes: bytes / 1024 / Math.max(1, times.length),
    failed,
    firstFailure
  }
}
