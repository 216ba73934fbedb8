/**
 * A PostgreSQL server of one test's own, on loopback, that may be stopped, killed, frozen and filled up: an ordinary database as an operator
 * runs one, not the embedded one. It ends only processes that it started, and removes its folder when it is done.
 */

import { spawn, spawnSync } from "node:child_process"
import type { ChildProcess } from "node:child_process"
import { createHash, randomBytes, randomInt } from "node:crypto"
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync
} from "node:fs"
import { createServer } from "node:net"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { Client } from "pg"
import { completeLibraries, locateBinaries, programIn } from "../../composition/embedded/binaries.ts"
import { chooseIdentity, commandOf } from "../../composition/embedded/identity.ts"
import { quickFolder } from "./memory.ts"

/** How a server goes down: letting clients finish, cutting them off, or without a chance to tidy up. */
export type Stop = "fast" | "immediate" | "kill"

export interface TestCluster extends AsyncDisposable {
  readonly port: number
  /** Its data folder. */
  readonly data: string
  /** As the superuser; the password is never asked for on this address. */
  readonly url: string
  /** The same server under another database, user or password. */
  readonly urlOf: (more: { readonly database?: string; readonly user?: string; readonly password?: string }) => string
  readonly start: (settings?: { readonly [name: string]: string }) => Promise<void>
  readonly stop: (how: Stop) => Promise<void>
  /** Stops all its processes where they are: it keeps its connections and answers nothing. */
  readonly freeze: () => void
  readonly thaw: () => void
  /** Sets a setting while it runs, or takes that back. */
  readonly set: (name: string, value: string | null) => Promise<void>
  /** Statements on a connection of their own, as the superuser. */
  readonly execute: (sql: string) => Promise<void>
  readonly rows: (sql: string) => Promise<ReadonlyArray<ReadonlyArray<string | null>>>
}

/**
 * What goes before a program so that it ends with this process, however that ends; empty where the system cannot do that. It must not change
 * its user by itself.
 */
export const leash: readonly string[] = spawnSync("setpriv", ["--pdeathsig", "KILL", "true"]).status === 0
  ? ["setpriv", "--pdeathsig", "KILL"]
  : []

const isFree = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const server = createServer()
    server.once("error", () => resolve(false))
    server.listen(port, "127.0.0.1", () => server.close(() => resolve(true)))
  })

/** Files that run at the same time take their ports from ranges of their own, and each takes one after the other. */
const portsEach = 1_000
const firstPort = 20_000 + Number(process.env["VITEST_POOL_ID"] ?? 0) % 10 * portsEach
let nextPort = randomInt(portsEach)

/**
 * A free port that nobody is given who asks for any: it is none of those that systems hand out (from 32768 on), so it also stays free while its
 * server is down for a while. `count`: so many in a row are free.
 */
export const freePort = async (count = 1): Promise<number> => {
  for (let tries = 0; tries < portsEach; tries++) {
    const port = firstPort + nextPort % portsEach
    nextPort += count
    const free = await Promise.all(Array.from({ length: count }, (_, at) => isFree(port + at)))
    if (free.every(Boolean)) return port
  }
  throw new Error("there is no free port")
}

/** Processes whose parent is `pid`. */
const childrenOf = (pid: number): readonly number[] =>
  readdirSync("/proc").filter((name) => /^\d+$/.test(name)).map(Number).filter((candidate) => {
    try {
      const stat = readFileSync(`/proc/${candidate}/stat`, "utf8")
      return Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]) === pid
    } catch {
      return false // it ended meanwhile
    }
  })

/** What the system says a process does: R, S, T (stopped), Z (ended and not reaped); null when there is none. */
const stateOf = (pid: number): string | null => {
  try {
    return /^\d+ \([^]*\) (\w)/.exec(readFileSync(`/proc/${pid}/stat`, "utf8"))?.[1] ?? null
  } catch {
    return null
  }
}

const exists = (pid: number): boolean => ![null, "Z"].includes(stateOf(pid))

/** Some of them end by themselves in between. */
const signal = (pids: readonly number[], name: "SIGSTOP" | "SIGCONT"): void => {
  for (const pid of pids) if (exists(pid)) process.kill(pid, name)
}

const nothing = new Int32Array(new SharedArrayBuffer(4))

/** Stops processes where they are, and waits until they stand: one that is about to make another may still do that. */
const halt = (pids: readonly number[]): void => {
  signal(pids, "SIGSTOP")
  for (const pid of pids) {
    for (let i = 0; exists(pid) && stateOf(pid) !== "T"; i++) {
      if (i === 10_000) throw new Error("a process of the server goes on although it was stopped")
      Atomics.wait(nothing, 0, 0, 1)
    }
  }
}

const pause = (milliseconds: number) => new Promise((done) => setTimeout(done, milliseconds))

const signals = { fast: "SIGINT", immediate: "SIGQUIT", kill: "SIGKILL" } as const

/** A folder that everybody may enter, and how a server runs in it. */
const prepareFolder = (parent: string) => {
  const folder = mkdtempSync(join(parent, "chaos-"))
  chmodSync(folder, 0o755)
  const { native } = locateBinaries([import.meta.url])
  const env = {
    PATH: process.env["PATH"] ?? "",
    LC_ALL: "C",
    TZ: "UTC",
    ...completeLibraries(native, join(folder, "lib"))
  }
  const data = join(folder, "data")
  const identity = chooseIdentity({
    base: folder,
    data,
    folders: [folder],
    program: programIn(native, "postgres"),
    env
  })
  if (identity.ids.uid !== undefined) chownSync(folder, identity.ids.uid, identity.ids.gid ?? identity.ids.uid)
  const run = (program: "initdb" | "postgres", args: readonly string[]): [string, string[]] =>
    commandOf(identity, programIn(native, program), args)
  return { folder, data, identity, env, run }
}

/** Copies a data folder with its owners. False where it cannot be done. */
export const copyData = (from: string, to: string): boolean => spawnSync("cp", ["-a", from, to]).status === 0

const initOptions = [
  "--username=postgres",
  "--auth=trust",
  "--encoding=UTF8",
  "--locale-provider=builtin",
  "--builtin-locale=C.UTF-8",
  "--locale=C",
  "--no-instructions",
  "--no-sync"
]

const initialize = ({ data, env, identity, run }: ReturnType<typeof prepareFolder>): void => {
  const [initdb, initArgs] = run("initdb", [`--pgdata=${data}`, ...initOptions])
  const made = spawnSync(initdb, initArgs, { ...identity.ids, cwd: "/", env, stdio: ["ignore", "ignore", "pipe"] })
  if (made.status !== 0) throw new Error(`initdb failed: ${made.stderr.toString()}`)
}

const cacheFolder = fileURLToPath(new URL("../../node_modules/.cache", import.meta.url))

/** Makes the data folder of a new server: a copy of one that was never used, which is made once and kept. */
const makeData = (place: ReturnType<typeof prepareFolder>): void => {
  const { data, identity, run } = place
  // Of this program, these options and this user.
  const made = createHash("sha256").update(JSON.stringify([run("initdb", initOptions), identity.ids])).digest("hex")
  const kept = join(cacheFolder, `cluster-${made.slice(0, 16)}`)
  if (existsSync(kept) && copyData(kept, data)) return
  initialize(place)
  const copy = `${kept}-${randomBytes(6).toString("hex")}`
  mkdirSync(cacheFolder, { recursive: true })
  try {
    if (copyData(data, copy)) renameSync(copy, kept)
  } catch {
    // Another process was faster.
    rmSync(copy, { recursive: true, force: true })
  }
}

/** Makes and starts a server; fast rather than safe against a power cut, which no test causes. `parent`: where its folder goes. */
export const openCluster = async (
  options: {
    readonly settings?: { readonly [name: string]: string }
    readonly parent?: string
    /** Makes the data folder in place of an empty one of a new server. */
    readonly fill?: (data: string) => void
  } = {}
): Promise<TestCluster> => {
  const place = prepareFolder(options.parent ?? quickFolder())
  const { data, env, folder, identity, run } = place
  if (options.fill === undefined) makeData(place)
  else options.fill(data)

  const port = await freePort()
  let child: ChildProcess | undefined
  let said = ""
  // Whatever happens to this process, the server does not outlive it.
  const atExit = (): void => void child?.kill("SIGQUIT")
  process.on("exit", atExit)

  const urlOf: TestCluster["urlOf"] = ({ database = "postgres", password, user = "postgres" }) =>
    `postgres://${user}${
      password === undefined ? "" : `:${encodeURIComponent(password)}`
    }@127.0.0.1:${port}/${database}`
  const url = urlOf({})

  const withClient = async <A>(work: (client: Client) => Promise<A>): Promise<A> => {
    const client = new Client({ connectionString: url })
    client.on("error", () => {})
    await client.connect()
    try {
      return await work(client)
    } finally {
      await client.end()
    }
  }

  const gone = async (pids: readonly number[]): Promise<void> => {
    for (let i = 0; i < 6_000 && pids.some(exists); i++) await pause(10)
  }

  const start: TestCluster["start"] = async (settings = {}) => {
    if (child !== undefined) throw new Error("it runs already")
    said = ""
    const all = {
      port: String(port),
      listen_addresses: "127.0.0.1",
      unix_socket_directories: "",
      max_connections: "120",
      fsync: "off",
      jit: "off",
      shared_buffers: "32MB",
      ...options.settings,
      ...settings
    }
    const [file, args] = run("postgres", [
      "-D",
      data,
      ...Object.entries(all).flatMap(([name, value]) => ["-c", `${name}=${value}`])
    ])
    const [program = file, ...words] = [...leash, file, ...args]
    const started = spawn(program, words, { ...identity.ids, cwd: "/", env, stdio: ["ignore", "ignore", "pipe"] })
    child = started
    started.stderr.on("data", (text: Buffer) => {
      said = (said + text.toString()).slice(-20_000)
    })
    started.once("exit", () => {
      if (child === started) child = undefined
    })
    for (let i = 0; i < 6_000; i++) {
      if (child !== started) throw new Error(`the server did not start:\n${said}`)
      try {
        return await withClient(async (client) => void await client.query("select 1"))
      } catch {
        await pause(10)
      }
    }
    throw new Error(`the server did not answer:\n${said}`)
  }

  const stop: TestCluster["stop"] = async (how) => {
    const running = child
    if (running?.pid === undefined) return
    // Its processes end by themselves once it is gone; until then its memory is in use. Killed, it must not be just making one more.
    if (how === "kill") halt([running.pid])
    const backends = childrenOf(running.pid)
    const ended = new Promise<void>((done) => running.once("exit", () => done()))
    running.kill(signals[how])
    await ended
    await gone(backends)
  }

  let still: readonly number[] = []
  const cluster: TestCluster = {
    port,
    data,
    url,
    urlOf,
    start,
    stop,
    freeze: () => {
      if (child?.pid === undefined) throw new Error("it does not run")
      // The one that makes others first, so that none is missed.
      halt([child.pid])
      still = [child.pid, ...childrenOf(child.pid)]
      halt(still)
    },
    thaw: () => signal(still, "SIGCONT"),
    set: (name, value) =>
      withClient(async (client) => {
        // Also where the setting is that nothing may be written.
        await client.query("set default_transaction_read_only = off")
        await client.query(value === null ? `alter system reset ${name}` : `alter system set ${name} = ${value}`)
        await client.query("select pg_reload_conf()")
      }),
    execute: (sql) => withClient(async (client) => void await client.query(sql)),
    rows: (sql) =>
      withClient(async (client) =>
        (await client.query<Array<string | null>>({
          text: sql,
          rowMode: "array",
          types: { getTypeParser: () => String }
        })).rows
      ),
    [Symbol.asyncDispose]: async () => {
      await stop("immediate")
      process.off("exit", atExit)
      rmSync(folder, { recursive: true, force: true })
    }
  }
  await start()
  return cluster
}
