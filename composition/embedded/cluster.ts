/**
 * The cluster on disk and its server process: creates the cluster, starts the server or adopts a running one, tells whether it
 * lives, stops it. It decides nothing about clients, and never removes or changes data of an existing cluster.
 */
import { execFileSync, spawn, spawnSync } from "node:child_process"
import { randomBytes } from "node:crypto"
import {
  chownSync,
  closeSync,
  existsSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync
} from "node:fs"
import { createServer } from "node:net"
import { basename, join } from "node:path"
import { programIn } from "./binaries.ts"
import {
  EmbeddedDatabaseError,
  errorCode,
  giveToFolderOwner,
  ifPresent,
  impossible,
  sleep,
  type StartRequest,
  writeWhole
} from "./control.ts"
import { commandOf, type Identity, isLocked, lockPrefix } from "./identity.ts"
import { prepareSocketFolder } from "./sockets.ts"

/** The name of the only user and the database to begin with, and the port, which on a unix socket only names a file. */
export const USER = "postgres"
export const DATABASE = "postgres"
const SOCKET_PORT = 5432

/** A cluster that can be run: the request plus what was found out about this machine. */
export type Cluster = StartRequest & {
  readonly identity: Identity
  readonly env: NodeJS.ProcessEnv
}

/** A running server. */
export type Postmaster = {
  readonly pid: number
  readonly host: string
  readonly port: number
  readonly durable: boolean
}

export const dataFolder = (base: string): string => join(base, "data")
export const logFile = (base: string): string => join(base, "server.log")

// ---------------------------------------------------------------------------------------------------------- creation

/**
 * Makes the cluster unless there is one, and refuses one of another major version. It is made in a folder of its own and moved
 * into place in one step: a crash leaves nothing half-made, and of several processes at once one wins.
 */
export const ensureCluster = async (cluster: Cluster): Promise<void> => {
  const data = dataFolder(cluster.base)
  const version = (): string | undefined => ifPresent(() => readFileSync(join(data, "PG_VERSION"), "utf8"))?.trim()
  removeAbandoned(cluster.base)
  if (version() === undefined) await createCluster(cluster, data)
  const major = version()
  if (major !== cluster.major) {
    throw impossible(
      major === undefined
        ? `${data} exists but is not a PostgreSQL cluster. Move it away to start with an empty database.`
        : `${data} was made by PostgreSQL ${major}, but this version ships PostgreSQL ${cluster.major}, which cannot read it.`
          + ` Dump it with the programs of PostgreSQL ${major}, move the folder away, and restore into the new one`
          + " (docs/guides/embedded-database.md)."
    )
  }
}

const createCluster = async (cluster: Cluster, data: string): Promise<void> => {
  const { base, identity } = cluster
  const mine = join(base, `init-${process.pid}`)
  mkdirSync(mine, { mode: 0o700, recursive: true })
  const password = cluster.tcp ? makePassword(cluster) : undefined
  try {
    if (await leaveItToAnother(base, data)) return
    const make = (ctype: readonly string[]) => {
      rmSync(mine, { recursive: true, force: true })
      mkdirSync(mine, { mode: 0o700 })
      giveTo(mine, identity)
      return initialize(cluster, mine, ctype, password)
    }
    // pg_trgm asks the system's locale what a letter is: without this one it sees ASCII only.
    let run = make(["--lc-ctype=C.UTF-8"])
    if (run.status !== 0 && /locale/.test(run.stderr?.toString() ?? "")) run = make([])
    if (run.error !== undefined || run.status !== 0) {
      throw impossible(
        `The database in ${base} could not be created: initdb ended with ${run.signal ?? `code ${run.status}`}\n`
          + `${run.error?.message ?? ""}${run.stderr?.toString() ?? ""}`
      )
    }
    moveIntoPlace(mine, data)
  } finally {
    rmSync(mine, { recursive: true, force: true })
    if (password !== undefined) rmSync(password, { force: true })
  }
}

const initialize = (cluster: Cluster, folder: string, ctype: readonly string[], password: string | undefined) => {
  const { identity } = cluster
  const [file, args] = commandOf(identity, programIn(cluster.native, "initdb"), [
    `--pgdata=${folder}`,
    `--username=${USER}`,
    // The same on every system, whatever locales it has. Human order is asked for with a collation ("und-x-icu").
    "--encoding=UTF8",
    "--locale-provider=builtin",
    "--builtin-locale=C.UTF-8",
    "--locale=C",
    ...ctype,
    "--no-instructions",
    ...(password === undefined ? ["--auth=trust"] : ["--auth=scram-sha-256", `--pwfile=${password}`]),
    ...(cluster.durable ? [] : ["--no-sync"])
  ])
  return spawnSync(file, args, { ...identity.ids, cwd: "/", env: cluster.env, stdio: ["ignore", "pipe", "pipe"] })
}

const moveIntoPlace = (from: string, to: string): void => {
  try {
    renameSync(from, to)
  } catch (error) {
    if (existsSync(join(to, "PG_VERSION"))) return // another process was faster
    throw impossible(`${from} could not be moved to ${to}: ${error instanceof Error ? error.message : String(error)}`)
  }
  if (process.platform === "win32") return
  const folder = openSync(join(to, ".."), "r")
  fsyncSync(folder) // else a power cut could take back the move, and with it everything committed since
  closeSync(folder)
}

/**
 * Several processes that start at once would each make a cluster, and one would be kept. So the lowest process id begins, and the others
 * wait while it lives. True when the cluster is there. This only saves work; the move into place decides.
 */
const leaveItToAnother = async (base: string, data: string): Promise<boolean> => {
  for (let waited = 0; waited < 10_000; waited += 25) {
    if (existsSync(join(data, "PG_VERSION"))) return true
    let ahead = false
    for (const name of readdirSync(base)) {
      const pid = makerOf(name)
      ahead ||= pid !== undefined && pid < process.pid && isAlive(pid)
    }
    if (!ahead) return false
    await sleep(25)
  }
  return false
}

const makerOf = (name: string): number | undefined => {
  const pid = /^init-(\d+)$/.exec(name)?.[1]
  return pid === undefined ? undefined : Number(pid)
}

/** Removes what a crash while creating left. Only old ones: a process of another container looks dead to us. */
const removeAbandoned = (base: string): void => {
  for (const name of readdirSync(base)) {
    const pid = makerOf(name)
    if (pid === undefined || isAlive(pid)) continue
    const folder = join(base, name)
    const stat = statSync(folder, { throwIfNoEntry: false })
    if (stat !== undefined && Date.now() - stat.mtimeMs > 60_000) rmSync(folder, { recursive: true, force: true })
  }
}

const giveTo = (path: string, identity: Identity): void => {
  const { uid, gid } = identity.ids
  if (uid !== undefined && gid !== undefined) chownSync(path, uid, gid)
}

// ------------------------------------------------------------------------------------------------------ TCP: password

type TcpAccess = { readonly port: number; readonly password: string }
const tcpFile = (base: string): string => join(base, "tcp.json")

/** The password of a cluster that was made for TCP; undefined for one on a unix socket. */
export const passwordOf = (base: string): string | undefined => readTcp(base)?.password

const readTcp = (base: string): TcpAccess | undefined => {
  const text = ifPresent(() => readFileSync(tcpFile(base), "utf8"))
  return text === undefined ? undefined : JSON.parse(text)
}

/** Keeps a password for this cluster and returns the file for initdb. */
const makePassword = (cluster: Cluster): string => {
  const file = join(cluster.base, `password-${process.pid}`)
  const fresh: TcpAccess = { port: 0, password: randomBytes(24).toString("base64url") }
  writeFileSync(file, JSON.stringify(fresh), { mode: 0o600 })
  giveToFolderOwner(file)
  try {
    linkSync(file, tcpFile(cluster.base)) // of several processes one sets the password
  } catch (error) {
    if (errorCode(error) !== "EEXIST") throw error
  }
  rmSync(file)
  writeFileSync(file, (readTcp(cluster.base) ?? fresh).password, { mode: 0o600 })
  giveTo(file, cluster.identity)
  return file
}

/** The port of the last time if it is free, so that clients find the server again; else any free one. */
const choosePort = async (base: string): Promise<number> => {
  const access = readTcp(base)
  if (access === undefined) {
    throw impossible(`The database in ${base} was made for a unix socket and has no password for TCP.`)
  }
  const port = await freePort(access.port).catch(() => freePort(0))
  writeWhole(tcpFile(base), JSON.stringify({ ...access, port }))
  return port
}

const freePort = (wanted: number): Promise<number> =>
  new Promise((resolve, reject) => {
    const server = createServer()
    server.once("error", reject)
    server.listen(wanted, "127.0.0.1", () => {
      const address = server.address()
      server.close(() => resolve(typeof address === "object" && address !== null ? address.port : wanted))
    })
  })

// ------------------------------------------------------------------------------------------------------------ running

/** What the server's own `postmaster.pid` says. Lines: pid, folder, start time, port, socket folder, address, memory, state. */
type PidFile = { readonly pid: number; readonly port: number; readonly socketFolder: string; readonly state: string }

const pidPath = (base: string): string => join(dataFolder(base), "postmaster.pid")

const readPidFile = (base: string): PidFile | undefined => {
  const lines = ifPresent(() => readFileSync(pidPath(base), "utf8"))?.split("\n")
  const pid = Number(lines?.[0])
  if (lines === undefined || !Number.isInteger(pid) || pid <= 0) return undefined
  return { pid, port: Number(lines[3]), socketFolder: lines[4] ?? "", state: (lines[7] ?? "").trim() }
}

const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return errorCode(error) === "EPERM"
  }
}

/** Is `pid` the server of this cluster, and not a program that got its number later, or a process nobody has reaped? */
const isServer = (base: string, pid: number): boolean => {
  if (!isAlive(pid)) return false
  const data = dataFolder(base)
  try {
    if (process.platform === "linux") {
      const [program = "", ...args] = readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0")
      return basename(program) === "postgres" && args.includes(data)
    }
    if (process.platform === "win32") {
      return execFileSync("tasklist", ["/fi", `pid eq ${pid}`, "/nh"]).toString().includes("postgres.exe")
    }
    const command = execFileSync("ps", ["-o", "args=", "-p", String(pid)]).toString()
    return command.includes("postgres") && command.includes(data)
  } catch {
    return false // it ended meanwhile
  }
}

/** Cheap enough to ask all the time. */
export const isRunning = (base: string, pid: number): boolean =>
  process.platform === "linux" ? isServer(base, pid) : isAlive(pid)

/** Is a server of this cluster up, whoever has it in charge? */
export const hasServer = (base: string): boolean => {
  const file = readPidFile(base)
  return file !== undefined && isServer(base, file.pid)
}

/** How long we see a running server whose supervisor does not show up before we take it over. */
const ADOPT_MS = 300
/** How long the data folder may be in use by a server that we cannot reach. */
const BUSY_MS = 8000

/** The supervisor should leave. */
export type Superseded = "superseded"

/**
 * The running server of this cluster: the existing one, else a new one. It ends when `superseded` says that another supervisor is in charge
 * or nobody waits any more. `stopping` tells whether a server is known to be stopping.
 */
export const obtainServer = async (
  cluster: Cluster,
  signs: { readonly superseded: () => Promise<boolean>; readonly stopping: (pid: number) => boolean }
): Promise<Postmaster | Superseded> => {
  const { base } = cluster
  const lock = lockPrefix(cluster.identity, dataFolder(base), cluster.env)
  const graceMs = ADOPT_MS + Math.random() * 200 // several may want to adopt
  let ready = 0
  let busy = 0
  for (let last = performance.now();; await sleep(25)) {
    const passed = performance.now() - last
    last += passed
    const file = readPidFile(base)
    if (file !== undefined && isServer(base, file.pid)) {
      if (await signs.superseded()) return "superseded"
      ready = file.state === "ready" && !signs.stopping(file.pid) ? ready + passed : 0
      if (ready > graceMs) return adopted(cluster, file)
      continue // starting, stopping, or its supervisor is about to appear
    }
    if (busy > BUSY_MS) throw inUse(base)
    if (file !== undefined && isLocked(cluster.identity, lock, cluster.env)) {
      busy += passed
      if (await signs.superseded()) return "superseded"
      continue
    }
    if (await signs.superseded()) return "superseded"
    removeStaleLock(base, pidPath(base))
    const socketFolder = prepareSocketFolder(base, cluster.identity.ids)
    removeStaleLock(base, join(socketFolder, `.s.PGSQL.${SOCKET_PORT}.lock`))
    const started = await startServer(cluster, socketFolder, lock)
    if (typeof started === "object") return started
    busy += passed + 100
    await sleep(100)
  }
}

/** A lock file that a crash left may hold a number that another program has by now. PostgreSQL would read it as a running server. */
const removeStaleLock = (base: string, path: string): void => {
  const pid = Number.parseInt(ifPresent(() => readFileSync(path, "utf8")) ?? "", 10)
  if (pid > 0 && isAlive(pid) && !isServer(base, pid)) rmSync(path, { force: true })
}

const inUse = (base: string): EmbeddedDatabaseError =>
  impossible(
    `The database in ${base} is in use by a server that cannot be reached from here, perhaps in another container.`
      + " Only processes of one machine or one container can share an embedded database."
  )

const adopted = ({ base, tcp }: Cluster, file: PidFile): Postmaster => ({
  pid: file.pid,
  host: tcp ? "127.0.0.1" : file.socketFolder,
  port: file.port,
  durable: !(ifPresent(() => readFileSync(join(dataFolder(base), "postmaster.opts"), "utf8")) ?? "").includes(
    "fsync=off"
  )
})

const startServer = async (
  cluster: Cluster,
  socketFolder: string,
  lock: ReadonlyArray<string>
): Promise<Postmaster | "busy"> => {
  const { base, identity, tcp } = cluster
  const data = dataFolder(base)
  const port = tcp ? await choosePort(base) : SOCKET_PORT
  const settings = settingsOf(cluster, port, socketFolder)
  const log = openSync(logFile(base), "a", 0o600)
  const logStart = statSync(logFile(base)).size
  giveToFolderOwner(logFile(base))
  // On Windows (untested) pg_ctl gives up administrator rights, which the server refuses to run with.
  const options = settings.flatMap((setting) => ["-c", setting])
  const [program = "", ...rest] = tcp
    ? [programIn(cluster.native, "pg_ctl"), "start", "-W", "-s", "-D", data, "-o", options.join(" ")]
    : [...lock, programIn(cluster.native, "postgres"), "-D", data, ...options]
  const [file, args] = commandOf(identity, program, rest)
  const child = spawn(file, args, {
    ...identity.ids,
    cwd: "/",
    env: cluster.env,
    detached: true, // a Ctrl-C in the terminal is not for the server
    stdio: ["ignore", log, log],
    windowsHide: true
  })
  closeSync(log)
  let spawnError: Error | undefined
  child.on("error", (error) => {
    spawnError = error
  })
  child.unref()
  const begin = performance.now()
  for (;; await sleep(10)) {
    const ended = spawnError !== undefined || child.exitCode !== null || child.signalCode !== null
    const pidFile = readPidFile(base)
    if (pidFile !== undefined && (pidFile.pid === child.pid || (tcp && isServer(base, pidFile.pid)))) {
      if (pidFile.state === "ready") {
        return { pid: pidFile.pid, host: tcp ? "127.0.0.1" : socketFolder, port, durable: cluster.durable }
      }
    }
    if (!ended || (tcp && child.exitCode === 0 && performance.now() - begin < 20_000)) continue
    const said = textFrom(logFile(base), logStart)
    if (child.exitCode === 75 || /lock file|shared memory block/.test(said)) return "busy"
    throw impossible(
      `The database server in ${base} did not start (${
        spawnError?.message ?? child.signalCode ?? `code ${child.exitCode}`
      }).\n${said}`
    )
  }
}

const settingsOf = (cluster: Cluster, port: number, socketFolder: string): ReadonlyArray<string> => [
  `port=${port}`,
  ...(cluster.tcp
    ? ["listen_addresses=127.0.0.1", "unix_socket_directories="]
    : [
      "listen_addresses=",
      // A list of quoted names.
      `unix_socket_directories="${socketFolder.replaceAll("\"", "\"\"")}"`,
      "unix_socket_permissions=0700"
    ]),
  "max_connections=200",
  "jit=off", // the package has no LLVM
  "random_page_cost=1.1", // disks without heads; the default makes the planner shy of indexes
  "timezone=UTC",
  "log_timezone=UTC",
  // What happens to the server; not the statements that failed, whose text may hold people's data.
  "log_min_messages=log",
  "log_checkpoints=off",
  ...(cluster.durable ? [] : ["fsync=off", "synchronous_commit=off", "full_page_writes=off"])
]

/** The text of a file from an offset, at most its last 4,000 bytes. */
export const textFrom = (path: string, offset: number): string => {
  const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0
  const start = Math.max(offset, size - 4000)
  if (size <= start) return ""
  const file = openSync(path, "r")
  const bytes = Buffer.alloc(size - start)
  const length = readSync(file, bytes, 0, bytes.length, start)
  closeSync(file)
  return bytes.toString("utf8", 0, length)
}

// ----------------------------------------------------------------------------------------------------------- stopping

/**
 * Ends the server with a clean shutdown; if that takes longer than 8 s, or its folder is gone, without one (the next start
 * recovers).
 */
export const stopServer = async (cluster: Cluster, pid: number): Promise<void> => {
  const { base, identity } = cluster
  if (cluster.tcp) {
    for (const mode of ["fast", "immediate"]) {
      if (!isServer(base, pid)) return
      const [file, args] = commandOf(identity, programIn(cluster.native, "pg_ctl"), [
        "stop",
        "-s",
        "-t",
        "8",
        "-m",
        mode,
        "-D",
        dataFolder(base)
      ])
      spawnSync(file, args, { ...identity.ids, cwd: "/", env: cluster.env, stdio: "ignore" })
    }
    return
  }
  for (const [signal, graceMs] of [["SIGINT", 8000], ["SIGQUIT", 3000], ["SIGKILL", 1000]] as const) {
    if (!isServer(base, pid)) return
    if (signal === "SIGINT" && !existsSync(dataFolder(base))) continue
    try {
      process.kill(pid, signal)
    } catch (error) {
      if (errorCode(error) !== "ESRCH") throw error
    }
    for (let waited = 0; waited < graceMs && isServer(base, pid); waited += 10) await sleep(10)
  }
}
