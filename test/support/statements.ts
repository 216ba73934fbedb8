/**
 * Listens between a service and its database: each statement with its values, as they are sent. It reads the messages of PostgreSQL's protocol that go to the
 * server, and changes nothing.
 */

import { mkdtempSync, rmSync } from "node:fs"
import { connect, createServer, type Socket } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { TestDatabase } from "./postgres.ts"

/** A statement as the server gets it. */
export interface SentStatement {
  readonly sql: string
  readonly params: ReadonlyArray<string | null>
  /** It was prepared under a name, so that the server may plan it once for all values. */
  readonly named: boolean
}

export interface Recorder {
  /** Like the database's own URL, through here. */
  readonly url: string
  /** What was sent, in order. */
  readonly sent: readonly SentStatement[]
  readonly close: () => Promise<void>
}

/** Reads the texts, numbers and values of one message. */
class Message {
  readonly #bytes: Buffer
  #at = 0

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  text(): string {
    const end = this.#bytes.indexOf(0, this.#at)
    const text = this.#bytes.toString("utf8", this.#at, end)
    this.#at = end + 1
    return text
  }

  int16(): number {
    this.#at += 2
    return this.#bytes.readInt16BE(this.#at - 2)
  }

  value(): string | null {
    const length = this.#bytes.readInt32BE(this.#at)
    this.#at += 4
    if (length < 0) return null
    this.#at += length
    return this.#bytes.toString("utf8", this.#at - length, this.#at)
  }
}

/** Cuts what a client sends into messages: the first has no type. */
const reader = (told: (statement: SentStatement) => void) => {
  let waiting = Buffer.alloc(0)
  let begun = false
  const parsed = new Map<string, string>()
  const read = (type: string, message: Message): void => {
    if (type === "Q") told({ sql: message.text(), params: [], named: false })
    if (type === "P") {
      const name = message.text()
      parsed.set(name, message.text())
    }
    if (type !== "B") return
    message.text()
    const name = message.text()
    for (let formats = message.int16(); formats > 0; formats--) message.int16()
    const params = Array.from({ length: message.int16() }, () => message.value())
    told({ sql: parsed.get(name) ?? "", params, named: name !== "" })
  }
  return (bytes: Buffer): void => {
    waiting = Buffer.concat([waiting, bytes])
    for (;;) {
      const head = begun ? 1 : 0
      if (waiting.length < head + 4) return
      const end = head + waiting.readInt32BE(head)
      if (waiting.length < end) return
      if (begun) read(waiting.toString("latin1", 0, 1), new Message(waiting.subarray(5, end)))
      begun = true
      waiting = waiting.subarray(end)
    }
  }
}

/** Records what is sent to a database through the URL that it gives. */
export const recordStatements = async (database: TestDatabase): Promise<Recorder> => {
  const target = new URL(database.url.replace(/^(postgres(?:ql)?:\/\/[^/@?]*@)\//, "$1localhost/"))
  const host = target.searchParams.get("host") ?? target.hostname
  const port = target.searchParams.get("port") ?? target.port
  const folder = mkdtempSync(join(tmpdir(), "statements-"))
  const sent: SentStatement[] = []
  const sockets = new Set<Socket>()
  const server = createServer((client) => {
    const upstream = host.startsWith("/")
      ? connect(join(host, `.s.PGSQL.${port}`))
      : connect(Number(port), host)
    const read = reader((statement) => void sent.push(statement))
    client.on("data", read)
    client.pipe(upstream).pipe(client)
    for (const [own, other] of [[client, upstream], [upstream, client]] as const) {
      sockets.add(own)
      own.on("error", () => other.destroy())
      own.on("close", () => {
        sockets.delete(own)
        other.destroy()
      })
    }
  })
  await new Promise<void>((resolve) => server.listen(join(folder, ".s.PGSQL.5432"), resolve))
  return {
    url: `postgres://${target.username}@/${database.name}?host=${folder}&port=5432`,
    sent,
    close: async () => {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
      rmSync(folder, { recursive: true, force: true })
    }
  }
}
