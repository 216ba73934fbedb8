/**
 * How the server is reached, encrypted or not, how long silence may last, and how much one answer may be. The server ends its statements by itself;
 * silence is for the case that it, or the network in between, is gone without a word: a socket on which an answer is due and none comes is closed,
 * and whoever waits is told. So is one on which more comes than fits into memory.
 */

import type * as PgConnection from "@effect/sql-pg/PgConnection"
import * as Redacted from "effect/Redacted"
import { isIP, type OnReadOpts, Socket } from "node:net"
import { Duplex } from "node:stream"
import { connect as secure, type ConnectionOptions, type TLSSocket } from "node:tls"
import { readAddress, tlsOptionsOf } from "./address.ts"

/** How long a connection may be idle before the system asks whether the other side is still there, in milliseconds. */
const keepAliveMs = 30_000

const plainSocket = (): Socket => new Socket().setNoDelay(true).setKeepAlive(true, keepAliveMs)

/** The failure of a connection whose other side fell silent. */
const silent = (silenceMs: number): Error =>
  Object.assign(new Error(`The database server did not answer for ${silenceMs} ms.`), { code: "ETIMEDOUT" })

/** The code of the failure of a connection whose server sent more than one answer may be. */
export const tooLargeCode = "ERR_ANSWER_TOO_LARGE"

/** Counts the bytes that come after each write: those of one statement's answer. */
class Meter {
  readonly #most: number
  #left: number

  constructor(most: number) {
    this.#most = most
    this.#left = most
  }

  /** A statement is sent. */
  begin(): void {
    this.#left = this.#most
  }

  /** Bytes have come: the failure of the connection where they are too many. */
  take(bytes: number): Error | null {
    this.#left -= bytes
    return this.#left >= 0
      ? null
      : Object.assign(new Error(`The database server answered with more than ${this.#most} bytes.`), {
        code: tooLargeCode
      })
  }
}

/** A plain socket with a meter. */
class MeteredSocket extends Socket {
  readonly #meter: Meter

  constructor(meter: Meter, onread: OnReadOpts) {
    super({ onread })
    this.#meter = meter
    this.setNoDelay(true).setKeepAlive(true, keepAliveMs)
  }

  // Not `write`, which `connect` sets back.
  override _write(chunk: unknown, encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    this.#meter.begin()
    super._write(chunk, encoding, done)
  }
}

/** Length of `ReadyForQuery`, with which the server ends each answer (PostgreSQL, "Message Formats"). */
const readyBytes = 6
const none = Buffer.alloc(0)

/** Whether bytes end with `ReadyForQuery`: all but its last byte are always the same. */
const endsAnswer = (bytes: Buffer): boolean => {
  const at = bytes.length - readyBytes
  return at >= 0 && bytes[at] === 0x5a && bytes[at + 1] === 0 && bytes[at + 2] === 0 && bytes[at + 3] === 0 &&
    bytes[at + 4] === 5
}

/** Closes a socket that stays silent before an answer, or in the middle of one. An idle one stays open. Gives what is to see all that arrives. */
const guard = (socket: Socket, silenceMs: number): (bytes: Buffer) => void => {
  let due = false
  /** What an end that comes in pieces began with. */
  let tail = none
  const write = socket.write.bind(socket)
  socket.write = ((...args: Parameters<Socket["write"]>) => {
    due = true
    return write(...args)
  }) as Socket["write"]
  // Not `setTimeout`'s own listener, which hears the first silence only: that of a connection that idles, most of the time.
  socket.setTimeout(silenceMs).on("timeout", () => {
    if (due) socket.destroy(silent(silenceMs))
  })
  return (chunk) => {
    if (!due) return
    const bytes = chunk.length < readyBytes ? Buffer.concat([tail, chunk]) : chunk
    due = !endsAnswer(bytes)
    tail = due ? Buffer.from(bytes.subarray(1 - readyBytes)) : none
  }
}

/** Guards a socket that is read as a stream. */
const guardStream = (socket: Socket, silenceMs: number): void => {
  const arrived = guard(socket, silenceMs)
  const push = socket.push.bind(socket)
  socket.push = (chunk: Buffer | null, encoding?: BufferEncoding) => {
    if (chunk !== null) arrived(chunk)
    return push(chunk, encoding)
  }
}

/** What one read may bring: as much as Node asks for by itself. */
const readBytes = 64 * 1024

/**
 * A guarded socket that reads into one buffer again and again, where Node would make one for each read. `data` hands out views of it, which hold until
 * the listener returns: for a driver that copies what it keeps.
 */
const reusingSocket = (silenceMs: number, meter: Meter): Socket => {
  let arrived: (bytes: Buffer) => void = () => {}
  const buffer = Buffer.allocUnsafeSlow(readBytes)
  const callback: OnReadOpts["callback"] = (size) => {
    const tooMuch = meter.take(size)
    if (tooMuch !== null) {
      socket.destroy(tooMuch)
      return false
    }
    const bytes = buffer.subarray(0, size)
    arrived(bytes)
    socket.emit("data", bytes)
    return true
  }
  const socket = new MeteredSocket(meter, { buffer, callback })
  return socket.once("connect", () => void (arrived = guard(socket, silenceMs)))
}

const lost = (): Error =>
  Object.assign(new Error("The database server closed the connection before it was encrypted."), { code: "ECONNRESET" })

/** SSLRequest: its length, and 1234 and 5679 where a version would stand (PostgreSQL, "Message Formats"). */
const sslRequest = Buffer.from([0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f])

/**
 * A connection that is encrypted before anything else is said: what is written waits for that. To a driver it looks like a plain one, so that
 * both drivers do the same, and so that the guard sees what really passes. It never goes on in plain text.
 */
class SecureSocket extends Duplex {
  readonly #socket = plainSocket()
  readonly #options: ConnectionOptions
  readonly #silenceMs: number | undefined
  readonly #meter: Meter | undefined
  #inner: TLSSocket | null = null
  /** What a write waits with until the connection is encrypted. */
  #waiting: (() => void) | null = null

  constructor(options: ConnectionOptions, silenceMs: number | undefined, meter?: Meter) {
    super({ allowHalfOpen: false })
    this.#options = options
    this.#silenceMs = silenceMs
    this.#meter = meter
  }

  connect(port: number, host: string): this {
    const socket = this.#socket
    const failed = (error: Error) => this.destroy(error)
    const closed = () => this.destroy(lost())
    socket.on("error", failed).once("close", closed).once("connect", () => socket.write(sslRequest))
    socket.once("data", (answer) => {
      socket.off("close", closed)
      const [first] = answer
      // Bytes after it came from somebody who speaks before the server is known (CVE-2021-23222).
      if (first === 0x53 && answer.length === 1) this.#encrypt()
      else if (first === 0x4e && answer.length === 1) {
        failed(Object.assign(new Error("The database server offers no TLS."), { code: "ERR_TLS_REFUSED" }))
      } else failed(lost())
    })
    socket.connect(port, host)
    return this
  }

  #encrypt(): void {
    const { host = "" } = this.#options
    const inner = secure({ ...this.#options, ...(isIP(host) === 0 ? { servername: host } : {}), socket: this.#socket })
    const early = () => this.destroy(lost())
    inner.on("error", (error) => this.destroy(error)).once("close", early)
    // From the first, so that an end during the handshake shows.
    inner.on("data", (bytes: Buffer) => {
      const tooMuch = this.#meter?.take(bytes.length) ?? null
      if (tooMuch !== null) this.destroy(tooMuch)
      else if (!this.push(bytes)) inner.pause()
    })
    inner.once("secureConnect", () => {
      inner.off("close", early).once("close", () => this.destroy())
      inner.once("end", () => this.push(null))
      if (this.#silenceMs !== undefined) guardStream(inner, this.#silenceMs)
      this.#inner = inner
      this.emit("connect")
      this.#waiting?.()
      this.#waiting = null
    })
  }

  override _read(): void {
    this.#inner?.resume()
  }

  override _write(bytes: Buffer, encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    this.#meter?.begin()
    if (this.#inner === null) this.#waiting = () => this._write(bytes, encoding, done)
    else if (this.#inner.write(bytes)) done()
    else this.#inner.once("drain", done)
  }

  override _writev(chunks: ReadonlyArray<{ readonly chunk: Buffer }>, done: (error?: Error | null) => void): void {
    this._write(Buffer.concat(chunks.map(({ chunk }) => chunk)), "utf8", done)
  }

  override _final(done: (error?: Error | null) => void): void {
    if (this.#inner === null) this.#waiting = () => this._final(done)
    else if (this.#inner.writable) this.#inner.end(() => done())
    else done()
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#inner?.destroy()
    this.#socket.destroy()
    done(error)
  }

  // What drivers ask of a socket besides: it is so already.
  setNoDelay(): this {
    return this
  }
  setKeepAlive(): this {
    return this
  }
  ref(): this {
    this.#socket.ref()
    return this
  }
  unref(): this {
    this.#socket.unref()
    return this
  }
}

/** A socket to connect with, as the address wants it. From its connection on, `silenceMs` counts. */
const socketFor = (tls: ConnectionOptions | null, silenceMs: number | undefined): Socket | SecureSocket => {
  if (tls !== null) return new SecureSocket(tls, silenceMs)
  const socket = plainSocket()
  return silenceMs === undefined ? socket : socket.once("connect", () => guardStream(socket, silenceMs))
}

/** The Effect driver's address of a database; a connection whose server answers a statement with more than `answerBytes` is closed. Throws `AddressError`. */
export const addressOf = (
  url: string,
  silenceMs: number,
  answerBytes: number
): Pick<
  PgConnection.Config,
  "host" | "port" | "username" | "password" | "database" | "startupOptions" | "ssl" | "stream"
> => {
  const address = readAddress(url)
  const { database, host, options, password, port, user } = address
  const tls = tlsOptionsOf(address)
  return {
    host,
    port,
    ...(user === null ? {} : { username: user }),
    ...(password === null ? {} : { password: Redacted.make(password) }),
    ...(database === null ? {} : { database }),
    ...(options === null ? {} : { startupOptions: options }),
    ssl: false,
    stream: () => {
      const meter = new Meter(answerBytes)
      const socket = tls === null ? reusingSocket(silenceMs, meter) : new SecureSocket(tls, silenceMs, meter)
      return host.startsWith("/")
        ? (socket as Socket).connect(`${host}/.s.PGSQL.${port}`)
        : socket.connect(port, host)
    }
  }
}

/** The same address for `pg`, which connects the socket by itself. Throws `AddressError`. */
export const pgAddressOf = (url: string, silenceMs?: number) => {
  const address = readAddress(url)
  const { database, host, options, password, port, user } = address
  const tls = tlsOptionsOf(address)
  return {
    host,
    port,
    ...(user === null ? {} : { user }),
    ...(password === null ? {} : { password }),
    ...(database === null ? {} : { database }),
    ...(options === null ? {} : { options }),
    // Said, so that no variable of the environment adds to it: the socket encrypts.
    ssl: false,
    stream: () => socketFor(tls, silenceMs)
  }
}
