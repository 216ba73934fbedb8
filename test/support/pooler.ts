/**
 * A PgBouncer of one's own in transaction mode between tests and their database: on a unix socket in a temporary folder, with few server
 * connections so that they are shared. It never touches another PgBouncer and leaves nothing behind.
 */

import { spawn } from "node:child_process"
import { chownSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Client } from "pg"
import { findProgram } from "../../scripts/programs.mjs"
import type { TestDatabase } from "./postgres.ts"

export interface Pooler {
  /** Like the database's own URL, through the pooler. */
  readonly url: string
  /** Most connections it holds to the server. */
  readonly poolSize: number
  readonly close: () => Promise<void>
}

/** Where PgBouncer is, or null where it is not installed. */
export const findPooler = (): string | null => findProgram("pgbouncer")

/** Few, so that requests share them. */
const usualSize = 3
const startMs = 60_000

/**
 * Starts a pooler in front of a database. Rejects with what PgBouncer said when it does not come up. `poolSize`: most connections to the server; more
 * are needed where transactions wait for each other.
 */
export const openPooler = async (
  program: string,
  database: TestDatabase,
  poolSize = usualSize
): Promise<Pooler> => {
  const target = new URL(database.url.replace(/^(postgres(?:ql)?:\/\/[^/@?]*@)\//, "$1localhost/"))
  const host = target.searchParams.get("host") ?? target.hostname
  const port = target.searchParams.get("port") ?? target.port
  const folder = mkdtempSync(join(tmpdir(), "pooler-"))
  const file = (name: string): string => join(folder, name)
  writeFileSync(file("users.txt"), `"${target.username}" ""\n`)
  writeFileSync(
    file("pgbouncer.ini"),
    `[databases]
* = host=${host} port=${port} user=${target.username}
[pgbouncer]
listen_addr =
listen_port = 6432
unix_socket_dir = ${folder}
auth_type = trust
auth_file = ${file("users.txt")}
pool_mode = transaction
default_pool_size = ${poolSize}
max_client_conn = 200
server_login_retry = 1
logfile =
pidfile = ${file("pgbouncer.pid")}
`
  )
  // The server's socket may be its owner's alone, and PgBouncer refuses to be root.
  const { gid, uid } = statSync(host)
  const isRoot = process.getuid?.() === 0
  const ids = isRoot && uid !== 0 ? { uid, gid } : {}
  const command = isRoot && uid === 0
    ? ["unshare", "--user", "--map-user=65534", "--map-group=65534", "--", program]
    : [program]
  if (isRoot && uid !== 0) {
    for (const path of [folder, file("users.txt"), file("pgbouncer.ini")]) chownSync(path, uid, gid)
  }
  const child = spawn(command[0]!, [...command.slice(1), file("pgbouncer.ini")], {
    ...ids,
    stdio: ["ignore", "pipe", "pipe"]
  })
  let said = ""
  child.stdout.on("data", (chunk: Buffer) => said += chunk.toString())
  child.stderr.on("data", (chunk: Buffer) => said += chunk.toString())
  let ended = false
  const end = new Promise<void>((resolve) => {
    const done = () => {
      ended = true
      resolve()
    }
    child.once("exit", done)
    child.once("error", (error) => {
      said += String(error)
      done()
    })
  })
  const close = async (): Promise<void> => {
    // SIGTERM is its immediate shutdown.
    if (!ended) child.kill("SIGTERM")
    await end
    rmSync(folder, { recursive: true, force: true })
  }
  const begin = performance.now()
  for (;;) {
    const client = new Client({ host: folder, port: 6432, user: target.username, database: database.name })
    client.on("error", () => {})
    const problem = await client.connect().then(() => client.query("select 1")).then(
      () => null,
      (error: unknown) => error
    )
    await client.end().catch(() => {})
    if (problem === null) break
    if (ended || performance.now() - begin > startMs) {
      await close()
      throw new Error(
        `PgBouncer did not start: ${problem instanceof Error ? problem.message : "no connection"}\n${said}`
      )
    }
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  return { url: `postgres://${target.username}@/${database.name}?host=${folder}&port=6432`, poolSize, close }
}
