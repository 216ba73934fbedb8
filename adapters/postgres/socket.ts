/**
 * How the server is reached, and how long silence may last. The server ends its statements by itself; this is for the case that it, or
 * the network in between, is gone without a word: a socket on which an answer is due and none comes is closed, and whoever waits is told.
 */

import type * as PgConnection from "@effect/sql-pg/PgConnection"
import * as Redacted from "effect/Redacted"
import { connect, type Socket } from "node:net"

/** `user@/database?host=/folder` is how libpq writes a socket; a URL needs a host there. */
const parse = (url: string): URL => new URL(url.replace(/^(postgres(?:ql)?:\/\/[^/@?]*@)\//, "$1localhost/"))

const open = (host: string, port: number): Socket =>
  host.startsWith("/")
    ? connect({ path: `${host}/.s.PGSQL.${port}` })
    : connect({ host, port, noDelay: true, keepAlive: true, keepAliveInitialDelay: 30_000 })

/** The failure of a connection whose other side fell silent. */
const silent = (silenceMs: number): Error =>
  Object.assign(new Error(`The database server did not answer for ${silenceMs} ms.`), { code: "ETIMEDOUT" })

/** Closes a socket that stays silent after something was written; an idle one only when it is silent twice as long. */
export const guard = (socket: Socket, silenceMs: number): Socket => {
  let readBefore = -1
  let silences = 0
  const write = socket.write.bind(socket)
  socket.write = ((...args: Parameters<Socket["write"]>) => {
    readBefore = socket.bytesRead
    silences = 0
    return write(...args)
  }) as Socket["write"]
  socket.setTimeout(silenceMs, () => {
    if (socket.bytesRead === readBefore || ++silences > 1) {
      socket.destroy(silent(silenceMs))
    }
  })
  return socket
}

/** The driver's address of a database. */
export const addressOf = (
  url: string,
  silenceMs: number
): Pick<PgConnection.Config, "url" | "ssl" | "stream"> => {
  const parsed = parse(url)
  const host = (parsed.searchParams.get("host") ?? decodeURIComponent(parsed.hostname).replace(/^\[|\]$/g, "")) ||
    "localhost"
  const port = Number(parsed.searchParams.get("port") ?? (parsed.port === "" ? "5432" : parsed.port))
  const stream = () => guard(open(host, port), silenceMs)
  if (parsed.searchParams.get("sslmode") !== "no-verify") return { url: Redacted.make(parsed.href), stream }
  parsed.searchParams.delete("sslmode")
  return { url: Redacted.make(parsed.href), ssl: { rejectUnauthorized: false }, stream }
}
