/**
 * Traffic for tests: keep-alive connections that each send one request after another and count what comes back. It opens what it is told to,
 * goes on after a broken connection, and judges no answer itself.
 */

import { connect } from "node:net"
import type { Socket } from "node:net"

/** One request. `body` is sent as JSON. */
export interface Sent {
  readonly method: string
  readonly path: string
  readonly headers?: { readonly [name: string]: string }
  readonly body?: unknown
}

export interface Received {
  readonly status: number
  /** By lower-case name. */
  readonly headers: { readonly [name: string]: string }
  readonly body: string
}

/** What became of one request: null when the connection broke before its answer was complete. */
export interface Outcome {
  readonly sent: Sent
  readonly received: Received | null
  readonly milliseconds: number
}

const headText = ({ body, headers = {}, method, path }: Sent): { readonly head: string; readonly text: string } => {
  const text = body === undefined ? "" : JSON.stringify(body)
  const lines = [
    `${method} ${path} HTTP/1.1`,
    "host: localhost",
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
    ...(body === undefined ? [] : ["content-type: application/json", `content-length: ${Buffer.byteLength(text)}`])
  ]
  return { head: `${lines.join("\r\n")}\r\n\r\n`, text }
}

/** One connection; it connects again when it has to. Requests on it come one after another. */
export class KeepAlive {
  readonly #port: number
  #socket: Socket | null = null
  constructor(port: number) {
    this.#port = port
  }

  #connected(): Socket {
    if (this.#socket !== null) return this.#socket
    const socket = connect({ host: "127.0.0.1", port: this.#port, noDelay: true })
    // The other side may end or break it also while no request is under way; the next one takes a new connection then.
    socket.on("error", () => {}).once("close", () => {
      if (this.#socket === socket) this.#socket = null
    })
    return this.#socket = socket
  }

  /** Sends one request and waits for its answer. Never rejects. */
  send(sent: Sent): Promise<Received | null> {
    return new Promise((resolve) => {
      const socket = this.#connected()
      let bytes: Buffer = Buffer.alloc(0)
      const settle = (received: Received | null): void => {
        socket.off("data", onData).off("close", onClose)
        if (received === null || received.headers["connection"] === "close") {
          if (this.#socket === socket) this.#socket = null
          socket.destroy()
        }
        resolve(received)
      }
      const onClose = (): void => settle(null)
      const onData = (chunk: Buffer): void => {
        bytes = bytes.length === 0 ? chunk : Buffer.concat([bytes, chunk])
        const end = bytes.indexOf("\r\n\r\n")
        if (end === -1) return
        const [statusLine = "", ...lines] = bytes.subarray(0, end).toString("latin1").split("\r\n")
        const headers = Object.fromEntries(lines.map((line) => {
          const colon = line.indexOf(":")
          return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()] as const
        }))
        const length = sent.method === "HEAD" ? 0 : Number(headers["content-length"] ?? 0)
        if (bytes.length < end + 4 + length) return
        settle({
          status: Number(statusLine.split(" ")[1]),
          headers,
          body: bytes.subarray(end + 4, end + 4 + length).toString()
        })
      }
      socket.on("data", onData).on("close", onClose)
      const { head, text } = headText(sent)
      socket.write(head + text)
    })
  }

  /** Closes the connection, also under a request that waits: the server sees its client go. */
  close(): void {
    this.#socket?.destroy()
  }
}

/** A load that runs until it is stopped. */
export interface Load {
  readonly outcomes: readonly Outcome[]
  /** Lets every connection finish its request, then closes it. */
  readonly stop: () => Promise<readonly Outcome[]>
  /** Waits until `next` has ended every client. */
  readonly ended: () => Promise<readonly Outcome[]>
}

const pause = (milliseconds: number) => new Promise((done) => setTimeout(done, milliseconds))

/**
 * Starts `connections` clients at a port, or at several ports in turn. `next` gives the request of a client; undefined ends that client. After a
 * broken connection a client waits 20 ms. `keep` false leaves `outcomes` empty, for long runs that look at `heard`.
 */
export const startLoad = (
  ports: number | readonly number[],
  options: {
    readonly connections: number
    readonly next: (client: number, count: number) => Sent | undefined
    readonly heard?: (outcome: Outcome) => void
    readonly keep?: boolean
    /** Milliseconds between two requests of one client. Default 0. */
    readonly pauseMs?: number
    /** Milliseconds that a client waits after a 503. Default 0. */
    readonly refusedMs?: number
  }
): Load => {
  const places = typeof ports === "number" ? [ports] : ports
  const outcomes: Outcome[] = []
  let running = true
  const client = async (number: number): Promise<void> => {
    const connection = new KeepAlive(places[number % places.length]!)
    for (let count = 0; running; count++) {
      const sent = options.next(number, count)
      if (sent === undefined) break
      const started = performance.now()
      const received = await connection.send(sent)
      const outcome = { sent, received, milliseconds: performance.now() - started }
      if (options.keep !== false) outcomes.push(outcome)
      options.heard?.(outcome)
      if (received === null) await pause(20)
      else if (received.status === 503 && options.refusedMs !== undefined) await pause(options.refusedMs)
      else if (options.pauseMs !== undefined) await pause(options.pauseMs)
    }
    connection.close()
  }
  const clients = Array.from({ length: options.connections }, (_, number) => client(number))
  return {
    outcomes,
    ended: async () => {
      await Promise.all(clients)
      return outcomes
    },
    stop: async () => {
      running = false
      await Promise.all(clients)
      return outcomes
    }
  }
}

/** How often each status came; 0 stands for no answer. */
export const statuses = (outcomes: readonly Outcome[]): { readonly [status: number]: number } => {
  const counts: Record<number, number> = {}
  for (const { received } of outcomes) counts[received?.status ?? 0] = (counts[received?.status ?? 0] ?? 0) + 1
  return counts
}
