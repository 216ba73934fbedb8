/**
 * How the server is reached, encrypted or not, and how much one answer may be. A socket that receives more than that is closed. It never
 * looks at what passes once the connection is made; `silence.ts` notices silence.
 */

import type * as PgConnection from "@effect/sql-pg/PgConnection"
import * as Redacted from "effect/Redacted"
import { isIP, type OnReadOpts, Socket } from "node:net"
import { Duplex } from "node:stream"
import { connect as secure, type ConnectionOptions } from "node:tls"
import { type Address, readAddress, tlsOptionsOf } from "./address.ts"
import { type Hosts, makeHosts, type Place, type ServerState } from "./hosts.ts"

/** How long a connection may be idle before the system asks whether the other side is still there, in milliseconds. */
const keepAliveMs = 30_000

const plainSocket = (onread?: OnReadOpts): Socket =>
  new Socket(onread === undefined ? {} : { onread }).setNoDelay(true).setKeepAlive(true, keepAliveMs)

/** The code of the failure of a connection whose server sent more than one answer may be. */
export const tooLargeCode = "ERR_ANSWER_TOO_LARGE"

/** Counts the bytes of one statement's answer. */
export class Meter {
  readonly #most: number
  #left: number

  constructor(most: number) {
    this.#most = most
    this.#left = most
  }

  /** A statement begins. */
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

/** What one read may bring: as much as Node asks for by itself. */
const readBytes = 64 * 1024

/**
 * A socket that reads into one buffer again and again, where Node would allocate one for each read. `data` gives views of it, which hold
 * until the listener returns. The driver copies what it keeps.
 */
const reusingSocket = (meter: Meter): Socket => {
  const buffer = Buffer.allocUnsafeSlow(readBytes)
  const callback: OnReadOpts["callback"] = (size) => {
    const tooMuch = meter.take(size)
    if (tooMuch !== null) {
      socket.destroy(tooMuch)
      return false
    }
    socket.emit("data", buffer.subarray(0, size))
    return true
  }
  const socket = plainSocket({ buffer, callback })
  return socket
}

/** A connection to a server that was left for another one. */
const left = (): Error =>
  Object.assign(new Error("The service connects to another database server now."), { code: "ECONNRESET" })

const lost = (): Error =>
  Object.assign(new Error("The database server closed the connection before it was encrypted."), { code: "ECONNRESET" })

/** SSLRequest: its length, and 1234 and 5679 where a version would stand (PostgreSQL, "Message Formats"). */
const sslRequest = Buffer.from([0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f])

/**
 * A connection that is encrypted before anything else is sent. Writes wait for that. A driver sees a plain connection, so both drivers do
 * the same. It never continues in plain text.
 */
export class SecureSocket extends Duplex {
  readonly #socket = plainSocket()
  /** Null: it is not encrypted. */
  readonly #options: ConnectionOptions | null
  /** Says where to connect; null: whoever connects does. */
  readonly #hosts: Hosts | null
  readonly #meter: Meter | undefined
  #inner: Socket | null = null
  /** What a write waits with until the connection is encrypted. */
  #waiting: (() => void) | null = null

  constructor(options: ConnectionOptions | null, meter?: Meter, hosts: Hosts | null = null) {
    super({ allowHalfOpen: false })
    this.#options = options
    this.#meter = meter
    this.#hosts = hosts
  }

  get bytesRead(): number {
    return this.#socket.bytesRead
  }
  get bytesWritten(): number {
    return this.#socket.bytesWritten
  }

  /** Several hosts decide by themselves where it goes; `port` and `host` are then of no account. */
  connect(port: number, host: string): this {
    if (this.#hosts === null) return this.#connectTo({ host, port })
    const hosts = this.#hosts
    hosts.choose().then((place) => {
      if (this.destroyed) return
      this.once("close", hosts.opened(place, () => this.destroy(left())))
      this.#connectTo(place)
    }, (error: Error) => this.destroy(error))
    return this
  }

  #connectTo({ host, port }: Place): this {
    const socket = this.#socket
    const failed = (error: Error) => this.destroy(error)
    const closed = () => this.destroy(lost())
    socket.on("error", failed)
    if (this.#options === null || host.startsWith("/")) {
      socket.once("connect", () => this.#goOn(socket))
      if (host.startsWith("/")) socket.connect(`${host}/.s.PGSQL.${port}`)
      else socket.connect(port, host)
      return this
    }
    const options = { ...this.#options, host }
    socket.once("close", closed).once("connect", () => socket.write(sslRequest))
    socket.once("data", (answer) => {
      socket.off("close", closed)
      const [first] = answer
      // More bytes would come from somebody who sends before the server is known (CVE-2021-23222).
      if (first === 0x53 && answer.length === 1) this.#encrypt(options)
      else if (first === 0x4e && answer.length === 1) {
        failed(Object.assign(new Error("The database server offers no TLS."), { code: "ERR_TLS_REFUSED" }))
      } else failed(lost())
    })
    socket.connect(port, host)
    return this
  }

  #encrypt(options: ConnectionOptions & { readonly host: string }): void {
    const { host } = options
    const inner = secure({ ...options, ...(isIP(host) === 0 ? { servername: host } : {}), socket: this.#socket })
    const early = () => this.destroy(lost())
    inner.on("error", (error) => this.destroy(error)).once("close", early)
    // Listening from the start, so that an end during the handshake is seen.
    this.#listen(inner)
    inner.once("secureConnect", () => {
      inner.off("close", early)
      this.#begin(inner)
    })
  }

  /** Goes on without encryption. */
  #goOn(inner: Socket): void {
    this.#listen(inner)
    this.#begin(inner)
  }

  #listen(inner: Socket): void {
    inner.on("data", (bytes: Buffer) => {
      const tooMuch = this.#meter?.take(bytes.length) ?? null
      if (tooMuch !== null) this.destroy(tooMuch)
      else if (!this.push(bytes)) inner.pause()
    })
  }

  #begin(inner: Socket): void {
    inner.once("close", () => this.destroy()).once("end", () => this.push(null))
    this.#inner = inner
    this.emit("connect")
    this.#waiting?.()
    this.#waiting = null
  }

  override _read(): void {
    this.#inner?.resume()
  }

  override _write(bytes: Buffer, encoding: BufferEncoding, done: (error?: Error | null) => void): void {
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

  // Drivers call these, too. The socket is set up so already.
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

/** Milliseconds that a server has to say what it is. */
const askMs = 2_000

/** Asks a server for its state. The driver is loaded with the first question. */
const askServer = async (address: Address, place: Place): Promise<ServerState> => {
  const { default: pg } = await import("pg")
  const only = {
    ...address,
    ...place,
    places: [place],
    encryption: place.host.startsWith("/") ? null : address.encryption
  }
  const client = new pg.Client({
    ...driverAddressOf(only, null),
    connectionTimeoutMillis: askMs,
    query_timeout: askMs,
    application_name: "service"
  })
  // A broken connection fails the question, which tells.
  client.on("error", () => {})
  try {
    await client.connect()
    const { rows: [row] } = await client.query<{ readonly standby: boolean; readonly read_only: boolean }>(
      "select pg_is_in_recovery() as standby, current_setting('default_transaction_read_only') = 'on' as read_only"
    )
    return { standby: row?.standby === true, readOnly: row?.read_only === true }
  } finally {
    void client.end().catch(() => {})
  }
}

/** The servers of each URL that has several. All connections of a process agree on where they go. */
const hostsByUrl = new Map<string, Hosts>()

const hostsOf = (url: string, address: Address): Hosts | null => {
  const { places, target } = address
  if (places.length === 1 && target === "any") return null
  let hosts = hostsByUrl.get(url)
  if (hosts === undefined) {
    hostsByUrl.set(url, hosts = makeHosts({ places, target, ask: (place) => askServer(address, place) }))
  }
  return hosts
}

/** Says that the server of a URL with several may not be the right one any more. */
export const doubtHost = (url: string, why: "away" | "read-only"): void => hostsByUrl.get(url)?.doubt(why)

/** The Effect driver's address of a database. Throws `AddressError`. */
export const addressOf = (
  url: string
): Pick<PgConnection.Config, "host" | "port" | "username" | "password" | "database" | "startupOptions" | "ssl"> & {
  /** Connects a new socket; it is closed when an answer is more than the meter lets through. */
  readonly connect: (meter: Meter) => Socket | SecureSocket
  /** Whether there are several servers to choose from. */
  readonly chooses: boolean
} => {
  const address = readAddress(url)
  const { database, host, options, password, port, user } = address
  const tls = tlsOptionsOf(address)
  const hosts = hostsOf(url, address)
  return {
    host,
    port,
    ...(user === null ? {} : { username: user }),
    ...(password === null ? {} : { password: Redacted.make(password) }),
    ...(database === null ? {} : { database }),
    ...(options === null ? {} : { startupOptions: options }),
    ssl: false,
    chooses: hosts !== null,
    connect: (meter) => {
      if (hosts !== null) return new SecureSocket(tls, meter, hosts).connect(port, host)
      const socket = tls === null ? reusingSocket(meter) : new SecureSocket(tls, meter)
      return host.startsWith("/")
        ? (socket as Socket).connect(`${host}/.s.PGSQL.${port}`)
        : socket.connect(port, host)
    }
  }
}

/** The same address for `pg`, which connects the socket by itself. Throws `AddressError`. */
export const pgAddressOf = (url: string) => {
  const address = readAddress(url)
  return driverAddressOf(address, hostsOf(url, address))
}

const driverAddressOf = (address: Address, hosts: Hosts | null) => {
  const { database, host, options, password, port, user } = address
  const tls = tlsOptionsOf(address)
  return {
    host,
    port,
    ...(user === null ? {} : { user }),
    ...(password === null ? {} : { password }),
    ...(database === null ? {} : { database }),
    ...(options === null ? {} : { options }),
    // Set explicitly, so that no environment variable adds to it. The socket encrypts.
    ssl: false,
    stream: (): Socket | SecureSocket =>
      hosts === null && tls === null ? plainSocket() : new SecureSocket(tls, undefined, hosts)
  }
}
