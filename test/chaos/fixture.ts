/**
 * What the chaos tests share: the service under test, a database for it on a server of its own, an account with its token, and the poolers in
 * between. It holds no expectation.
 */

import { spawn, spawnSync } from "node:child_process"
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { connect } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Client, Pool } from "pg"
import { createAuth } from "../../adapters/auth/auth.ts"
import type { Auth } from "../../adapters/auth/auth.ts"
import { createUser, issueToken } from "../../adapters/auth/users.ts"
import { applyMigrations, authMigration, serviceMigration } from "../../composition/migrations.ts"
import { defineConfig } from "../../core/domain/declare/config.ts"
import { f } from "../../core/domain/declare/field.ts"
import { defineResource } from "../../core/domain/declare/resource.ts"
import { freePort, leash } from "../support/cluster.ts"
import type { TestCluster } from "../support/cluster.ts"
import { KeepAlive } from "../support/load.ts"
import type { Received, Sent } from "../support/load.ts"

const entries = defineResource("entries", {
  table: "entries",
  primaryKey: "id",
  version: "changed_at",
  fields: {
    id: f.integer().bits(64).readOnly().dbDefault().filterable().sortable(),
    name: f.text().max(200).filterable().sortable(),
    amount: f.integer().bits(32).filterable().sortable(),
    changed_at: f.timestamp()
  }
})

/** Big records, for a disk that fills up. */
const papers = defineResource("papers", {
  table: "papers",
  primaryKey: "id",
  fields: {
    id: f.integer().bits(64).readOnly().dbDefault().filterable().sortable(),
    text: f.text()
  }
})

export const config = defineConfig({
  resources: [entries, papers],
  // Longer than any pause of a busy machine, unless a test wants statements to be given up.
  options: {
    statementTimeoutMs: Number(process.env["CHAOS_STATEMENT_MS"] ?? 60_000),
    scanGuard: { seqScanRows: Number(process.env["CHAOS_SCAN_ROWS"] ?? 10_000) }
  }
})

const schema = `
create table entries (
  id bigint generated always as identity primary key,
  name text not null unique,
  amount integer not null,
  changed_at timestamptz not null default clock_timestamp()
);
create index on entries (amount, id);
create table papers (id bigint generated always as identity primary key, text text not null);
alter table papers alter text set storage external;
insert into entries (name, amount) select 'seed ' || i, i from generate_series(1, 200) i;
analyze;
`

/** What the service may do: use the tables, no more. It gets none of the connections that are kept for superusers. */
const rights = `
create role app login;
grant usage on schema public, service, auth to app;
grant select, insert, update, delete on all tables in schema public, service, auth to app;
grant usage on all sequences in schema public, service, auth to app;
`

export const secret = "a secret of at least thirty-two characters"
export const publicUrl = "http://localhost:5173"
export const email = "ada@example.org"

/** A database ready to serve, and who may call. */
export interface Ready extends AsyncDisposable {
  /** One more instance of sign-in, in this process. */
  readonly auth: Auth
  readonly bearer: string
  /** What a server process needs to know; `url` where it goes through a pooler. */
  readonly env: (
    more?: { readonly url?: string; readonly [name: string]: string | undefined }
  ) => { readonly [name: string]: string }
}

export const prepare = async (cluster: Pick<TestCluster, "execute" | "url" | "urlOf">): Promise<Ready> => {
  await cluster.execute(schema)
  const pool = new Pool({ connectionString: cluster.url, max: 2 })
  pool.on("error", () => {})
  await applyMigrations(pool, [serviceMigration, authMigration])
  await cluster.execute(rights)
  const auth = createAuth({ database: pool, secret, url: publicUrl, onError: () => {} })
  await createUser(auth, { email, password: "correct horse battery" })
  const { token } = await issueToken(auth, { email, ttlSeconds: 86_400 })
  return {
    auth,
    bearer: `Bearer ${token}`,
    env: ({ url = cluster.urlOf({ user: "app" }), ...more } = {}) => ({
      DATABASE_URL: url,
      AUTH_SECRET: secret,
      AUTH_URL: publicUrl,
      ...Object.fromEntries(Object.entries(more).filter((entry): entry is [string, string] => entry[1] !== undefined))
    }),
    [Symbol.asyncDispose]: () => pool.end()
  }
}

/** Sends one request on a connection of its own. */
export const ask = async (port: number, sent: Sent): Promise<Received | null> => {
  const connection = new KeepAlive(port)
  const received = await connection.send(sent)
  connection.close()
  return received
}

/** A client that sends its token with everything. */
export const clientOf = (bearer: string) => ({
  get: (path: string): Sent => ({ method: "GET", path: `/api/v1${path}`, headers: { authorization: bearer } }),
  send: (method: string, path: string, body: unknown, headers: { readonly [name: string]: string } = {}): Sent => ({
    method,
    path: `/api/v1${path}`,
    headers: { authorization: bearer, ...headers },
    body
  })
})

export const pause = (milliseconds: number): Promise<void> => new Promise((done) => setTimeout(done, milliseconds))

/** Milliseconds until `attempt` gives true for the first time; Infinity when it never does within `longest`. */
export const untilTrue = async (attempt: () => Promise<boolean>, longest = 60_000): Promise<number> => {
  const started = performance.now()
  while (performance.now() - started < longest) {
    if (await attempt()) return performance.now() - started
    await pause(20)
  }
  return Number.POSITIVE_INFINITY
}

/** Asks for an answer that takes no time from whoever is not standing still. A rejection counts as a late one. */
export type Sign = () => Promise<unknown>

export const signOf = (cluster: TestCluster): Sign => () => cluster.rows("select 1")
/** Needs no database. */
export const lives = (port: number): Sign => () => ask(port, { method: "GET", path: "/livez" })

/** How late a sign, or the turn of this process, has to be before that counts as standing still, in milliseconds. */
const lateMs = 500

export interface Watch extends AsyncDisposable {
  /** Milliseconds so far in which this process, or one that signs come from, stood still. */
  readonly stood: () => number
  /** When the last of them went on again, or when the watch began. */
  readonly since: () => number
  /** Waits for the signs that are under way: what they tell is in the numbers then. */
  readonly end: () => Promise<void>
}

/**
 * Whoever shares this machine may stop any process of a test for a moment, at any time. This notices it, so that a time that is promised can be
 * measured without it.
 */
export const watchMachine = (signs: readonly Sign[]): Watch => {
  let stood = 0
  let since = performance.now()
  let looking = true
  const watched = (async () => {
    while (looking) {
      const asked = performance.now()
      const given = await Promise.allSettled(signs.map((sign) => sign()))
      await pause(50)
      const took = performance.now() - asked
      if (took <= lateMs && given.every(({ status }) => status === "fulfilled")) continue
      stood += took
      since = performance.now()
    }
  })()
  const end = (): Promise<void> => {
    looking = false
    return watched
  }
  return { stood: () => stood, since: () => since, end, [Symbol.asyncDispose]: end }
}

/**
 * Milliseconds until `attempt` gives true on a machine that goes on: whenever this process or one that `signs` come from stood still, counting
 * begins again, as whatever it caused ended only then. Infinity when it never does within `longest`, whatever stood still.
 */
export const untilTrueOf = async (
  signs: readonly Sign[],
  attempt: () => Promise<boolean>,
  longest = 60_000
): Promise<number> => {
  await using watch = watchMachine(signs)
  const took = await untilTrue(attempt, longest)
  const done = performance.now()
  await watch.end()
  return Number.isFinite(took) ? Math.max(0, done - watch.since()) : took
}

/**
 * Waits until a server reads. The first request has to fetch the list of revoked tokens, and a database that is late with it makes that an honest
 * 503; tests that are about something else begin after that.
 */
export const untilServing = async (port: number, bearer: string): Promise<void> => {
  const took = await untilTrue(async () => (await ask(port, clientOf(bearer).get("/entries/1")))?.status === 200)
  if (took === Number.POSITIVE_INFINITY) throw new Error("the server does not serve")
}

// ------------------------------------------------------------------------------------------------------------ pooler

const pgbouncer = [
  "/usr/sbin/pgbouncer",
  "/usr/bin/pgbouncer",
  "/usr/local/bin/pgbouncer",
  "/opt/homebrew/bin/pgbouncer"
]
  .find((path) => spawnSync(path, ["--version"]).status === 0)

/** Whether this machine has PgBouncer; tests that need it are skipped where it has not. */
export const hasPooler = pgbouncer !== undefined

export interface Pooler extends AsyncDisposable {
  readonly url: string
  /** From its console: needs no database. */
  readonly sign: Sign
  readonly start: () => Promise<void>
  /** Ends it without letting anybody finish. */
  readonly kill: () => Promise<void>
}

const accepts = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect({ host: "127.0.0.1", port })
    socket.once("connect", () => {
      socket.destroy()
      resolve(true)
    }).once("error", () => resolve(false))
  })

/** PgBouncer in transaction mode before a server. */
export const openPooler = async (cluster: TestCluster, size = 20): Promise<Pooler> => {
  const folder = mkdtempSync(join(tmpdir(), "chaos-pooler-"))
  chmodSync(folder, 0o755)
  const port = await freePort()
  const file = join(folder, "pgbouncer.ini")
  writeFileSync(
    file,
    `[databases]
postgres = host=127.0.0.1 port=${cluster.port} dbname=postgres user=app
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = ${size}
max_client_conn = 500
server_login_retry = 1
server_connect_timeout = 3
ignore_startup_parameters = extra_float_digits
`
  )
  chmodSync(file, 0o644)
  let child: ReturnType<typeof spawn> | undefined
  const atExit = (): void => void child?.kill("SIGKILL")
  process.on("exit", atExit)
  const start = async (): Promise<void> => {
    const [program, ...args] = [...leash, pgbouncer ?? "pgbouncer", file]
    // It refuses to be root.
    const nobody = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {}
    const started = spawn(program, args, { ...nobody, cwd: folder, stdio: "ignore" })
    child = started
    const up = await untilTrue(() => accepts(port))
    if (up === Number.POSITIVE_INFINITY) throw new Error("PgBouncer does not listen")
  }
  const kill = async (): Promise<void> => {
    const running = child
    if (running === undefined || running.exitCode !== null || running.signalCode !== null) return
    const ended = new Promise((done) => running.once("exit", done))
    running.kill("SIGKILL")
    await ended
  }
  await start()
  return {
    url: `postgres://app@127.0.0.1:${port}/postgres`,
    sign: async () => {
      const client = new Client({ connectionString: `postgres://app@127.0.0.1:${port}/pgbouncer` })
      client.on("error", () => {})
      await client.connect()
      try {
        await client.query("show version")
      } finally {
        await client.end()
      }
    },
    start,
    kill,
    [Symbol.asyncDispose]: async () => {
      await kill()
      process.off("exit", atExit)
      rmSync(folder, { recursive: true, force: true })
    }
  }
}
