/**
 * A cluster of three PostgreSQL servers under Patroni, with etcd, in a folder of its own on loopback: synchronous replication, and another primary when one is
 * lost. It ends only processes that it started.
 */

import { type ChildProcess, spawn } from "node:child_process"
import { chownSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Client } from "pg"
import { freePort, leash } from "../support/cluster.ts"

const bins = [
  "/usr/lib/postgresql/18/bin",
  "/usr/lib/postgresql/17/bin",
  "/usr/lib/postgresql/16/bin",
  "/usr/lib/postgresql/15/bin"
]
const bin = bins.find((folder) => existsSync(join(folder, "initdb")))

/** What this machine lacks for a cluster; null: nothing. */
export const missing: string | null = [
  ["patroni", existsSync("/usr/bin/patroni")],
  ["etcd-server", existsSync("/usr/bin/etcd")],
  ["postgresql", bin !== undefined]
].flatMap(([name, there]) => there === true ? [] : [String(name)]).join(", ") || null

/** PostgreSQL refuses to run as root. */
const ids = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {}

const pause = (milliseconds: number): Promise<void> => new Promise((done) => setTimeout(done, milliseconds))

interface Node {
  readonly name: string
  /** Of the server, and of Patroni's own API. */
  readonly port: number
  readonly rest: number
  readonly data: string
  patroni: ChildProcess | null
}

export interface PatroniCluster extends AsyncDisposable {
  /** All servers in one URL, as a user. */
  readonly urlOf: (user: string) => string
  /** The URL of the primary of this moment. */
  readonly primaryUrl: () => Promise<string>
  readonly execute: (sql: string) => Promise<void>
  readonly rows: (sql: string) => Promise<ReadonlyArray<ReadonlyArray<string | null>>>
  /** The number of the primary; null: there is none. */
  readonly primary: () => Promise<number | null>
  /** Ends Patroni and the server of a node without a chance to tidy up, as a machine that is lost. */
  readonly kill: (node: number) => void
  /** Starts Patroni again, which makes the node a follower. */
  readonly revive: (node: number) => void
  /** Whether all three serve, one of them as a synchronous follower. */
  readonly isWhole: () => Promise<boolean>
}

/** Waits until something is so. */
export const until = async (what: string, so: () => Promise<boolean>, longest = 120_000): Promise<number> => {
  const began = performance.now()
  while (!await so()) {
    if (performance.now() - began > longest) throw new Error(`${what} did not happen within ${longest / 1_000} s`)
    await pause(50)
  }
  return performance.now() - began
}

const settings = {
  wal_level: "replica",
  hot_standby: "on",
  max_connections: "100",
  max_wal_senders: "10",
  max_replication_slots: "10",
  wal_log_hints: "on",
  wal_keep_size: "64MB",
  wal_receiver_status_interval: "1s",
  fsync: "off",
  jit: "off",
  timezone: "UTC"
}

/** The file of a node. Patroni promises another primary at most one `ttl` after the last one was lost. */
const configOf = (folder: string, { data, name, port, rest }: Node, etcd: number): string =>
  `scope: test
namespace: /service/
name: ${name}
restapi: { listen: "127.0.0.1:${rest}", connect_address: "127.0.0.1:${rest}" }
etcd3: { hosts: ["127.0.0.1:${etcd}"] }
bootstrap:
  dcs:
    ttl: 10
    loop_wait: 1
    retry_timeout: 3
    master_start_timeout: 0
    maximum_lag_on_failover: 1048576
    synchronous_mode: true
    postgresql:
      use_pg_rewind: true
      use_slots: true
      parameters: ${JSON.stringify(settings)}
  initdb: [ { encoding: UTF8 }, { locale: C }, data-checksums ]
  pg_hba: [ "host replication replicator 127.0.0.1/32 trust", "local all all trust", "host all all 127.0.0.1/32 trust" ]
postgresql:
  listen: "127.0.0.1:${port}"
  connect_address: "127.0.0.1:${port}"
  data_dir: ${data}
  bin_dir: ${bin}
  pgpass: ${join(folder, `pgpass-${name}`)}
  authentication: { superuser: { username: postgres, password: x }, replication: { username: replicator, password: x }, rewind: { username: rewinder, password: x } }
  parameters: { unix_socket_directories: "${folder}" }
  basebackup: { checkpoint: fast }
watchdog: { mode: "off" }
`

const status = async (port: number, path: string): Promise<number | null> => {
  try {
    const answer = await fetch(`http://127.0.0.1:${port}${path}`, { signal: AbortSignal.timeout(1_000) })
    await answer.text()
    return answer.status
  } catch {
    return null
  }
}

export const openPatroni = async (): Promise<PatroniCluster> => {
  const folder = mkdtempSync(join(tmpdir(), "pat-"))
  if (ids.uid !== undefined) chownSync(folder, ids.uid, ids.gid)
  const port = await freePort(8)
  const env = { PATH: `${bin}:${process.env["PATH"] ?? ""}`, LC_ALL: "C", TZ: "UTC", HOME: folder }
  const children = new Set<ChildProcess>()
  const start = (program: string, args: readonly string[]): ChildProcess => {
    const [file = program, ...rest] = [...leash, program, ...args]
    const child = spawn(file, rest, { ...ids, cwd: folder, env, stdio: "ignore" })
    children.add(child)
    child.once("exit", () => children.delete(child))
    return child
  }
  const atExit = (): void => children.forEach((child) => void child.kill("SIGKILL"))
  process.on("exit", atExit)

  start("/usr/bin/etcd", [
    "--name=e0",
    `--data-dir=${join(folder, "etcd")}`,
    `--listen-client-urls=http://127.0.0.1:${port}`,
    `--advertise-client-urls=http://127.0.0.1:${port}`,
    `--listen-peer-urls=http://127.0.0.1:${port + 1}`,
    `--initial-advertise-peer-urls=http://127.0.0.1:${port + 1}`,
    `--initial-cluster=e0=http://127.0.0.1:${port + 1}`,
    "--heartbeat-interval=250",
    "--election-timeout=2500"
  ])
  await until("etcd", async () => await status(port, "/health") === 200)

  const nodes = [0, 1, 2].map((at): Node => {
    const data = join(folder, `n${at}`)
    mkdirSync(data, { mode: 0o700 })
    if (ids.uid !== undefined) chownSync(data, ids.uid, ids.gid)
    return { name: `n${at}`, port: port + 2 + at, rest: port + 5 + at, data, patroni: null }
  })
  const nodeAt = (at: number): Node => {
    const node = nodes[at]
    if (node === undefined) throw new Error(`There is no node ${at}.`)
    return node
  }
  const revive = (at: number): void => {
    const node = nodeAt(at)
    const file = join(folder, `${node.name}.yml`)
    writeFileSync(file, configOf(folder, node, port))
    node.patroni = start("/usr/bin/patroni", [file])
  }
  const primary = async (): Promise<number | null> => {
    const found = await Promise.all(nodes.map(({ rest }) => status(rest, "/primary")))
    const at = found.indexOf(200)
    return at === -1 ? null : at
  }
  const isWhole = async (): Promise<boolean> => {
    const follow = await Promise.all(nodes.map(({ rest }) => status(rest, "/replica")))
    const sync = await Promise.all(nodes.map(({ rest }) => status(rest, "/sync")))
    return follow.filter((each) => each === 200).length === 2 && sync.includes(200) && await primary() !== null
  }
  revive(0)
  await until("a primary", async () => await primary() === 0)
  revive(1)
  revive(2)
  await until("a whole cluster", isWhole)

  const primaryUrl = async (): Promise<string> => {
    await until("a primary", async () => await primary() !== null)
    return `postgres://postgres@127.0.0.1:${nodeAt((await primary())!).port}/postgres`
  }
  const withClient = async <A>(work: (client: Client) => Promise<A>): Promise<A> => {
    const client = new Client({ connectionString: await primaryUrl() })
    client.on("error", () => {})
    await client.connect()
    try {
      return await work(client)
    } finally {
      await client.end()
    }
  }
  const serverPid = ({ data }: Node): number | null => {
    try {
      return Number(readFileSync(join(data, "postmaster.pid"), "utf8").split("\n")[0])
    } catch {
      return null
    }
  }
  return {
    urlOf: (user) => `postgres://${user}@${nodes.map((node) => `127.0.0.1:${node.port}`).join(",")}/postgres`,
    primaryUrl,
    execute: (sql) => withClient(async (client) => void await client.query(sql)),
    rows: (sql) =>
      withClient(async (client) => (await client.query({ text: sql, rowMode: "array" })).rows as string[][]),
    primary,
    kill: (at) => {
      const node = nodeAt(at)
      const pid = serverPid(node)
      node.patroni?.kill("SIGKILL")
      if (pid !== null) process.kill(pid, "SIGKILL")
    },
    revive,
    isWhole,
    [Symbol.asyncDispose]: async () => {
      const gone = (child: ChildProcess) =>
        child.exitCode !== null || child.signalCode !== null
          ? Promise.resolve()
          : new Promise<void>((done) => child.once("exit", () => done()))
      const patronis = nodes.flatMap(({ patroni }) => patroni === null ? [] : [patroni])
      for (const each of patronis) each.kill("SIGTERM")
      await Promise.race([Promise.all(patronis.map(gone)), pause(20_000)])
      for (const node of nodes) {
        const pid = serverPid(node)
        if (pid === null) continue
        try {
          process.kill(pid, "SIGQUIT")
        } catch {
          // It has ended.
        }
      }
      for (const child of children) child.kill("SIGKILL")
      process.off("exit", atExit)
      await pause(500)
      rmSync(folder, { recursive: true, force: true })
    }
  }
}
