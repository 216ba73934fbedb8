/**
 * The client side of the embedded database: gives a running PostgreSQL for a data folder, whoever started it, and holds it for the life of
 * this process. It decides when to start a supervisor and when to give up. The supervisor takes care of the server itself.
 */
import { spawn } from "node:child_process"
import { chownSync, closeSync, existsSync, mkdirSync, openSync, realpathSync, renameSync, statSync } from "node:fs"
import { Socket } from "node:net"
import { dirname, extname, join, resolve } from "node:path"
import { fileURLToPath } from "node:url"
import { type Binaries, locateBinaries } from "./binaries.ts"
import { hasServer, logFile, textFrom } from "./cluster.ts"
import {
  attach,
  type Attachment,
  EmbeddedDatabaseError,
  errorCode,
  EXIT_FINAL,
  giveToFolderOwner,
  impossible,
  readRun,
  type ServerAddress,
  sleep,
  type StartRequest
} from "./control.ts"

export { EmbeddedDatabaseError } from "./control.ts"

export type EmbeddedOptions = {
  /** Milliseconds the server outlives its last client if that dies without releasing it; set by whoever starts it. Default 1500. */
  readonly linger?: number
  /** Milliseconds to wait for the server. A recovery after a crash counts too. Default 30000. */
  readonly timeout?: number
  /**
   * False gives up durability for speed (no fsync): for tests only, a crash of the machine destroys the database. A server
   * that was started so is refused to everyone who did not ask for it. Default true.
   */
  readonly durable?: boolean
  /** TCP on 127.0.0.1 with a generated password. Default only on Windows (untested), where clients cannot use unix sockets. */
  readonly tcp?: boolean
  /** Told in one sentence when the supervisor is lost, and when the server is reached again. */
  readonly log?: (line: string) => void
}

/** A server held for this process. `url` has everything; the other fields are for drivers that want them one by one. */
export type EmbeddedDatabase = {
  /** Folder of the unix socket (or 127.0.0.1). */
  readonly host: string
  readonly port: number
  readonly user: string
  readonly database: string
  /** Only with TCP. */
  readonly password?: string
  readonly url: string
  /** How often the supervisor was lost and found again. After that, `host` and `port` are the same. */
  readonly reattached: number
  /**
   * Gives the server up. The last process to do so waits for the server's clean shutdown, so close pools first: their connections end with
   * it. Never fails, may be called again.
   */
  readonly release: () => Promise<void>
}

/**
 * The embedded database of a data folder: created, started or shared as needed, by any number of processes at once. Fails
 * with {@link EmbeddedDatabaseError}: at once where this machine can never run it, else after `options.timeout`.
 */
export const openEmbedded = async (folder: string, options: EmbeddedOptions = {}): Promise<EmbeddedDatabase> => {
  const base = prepareFolder(resolve(folder))
  const wish: Wish = {
    base,
    linger: options.linger ?? 1500,
    timeout: options.timeout ?? 30_000,
    durable: options.durable ?? true,
    tcp: options.tcp ?? process.platform === "win32"
  }
  const log = options.log ?? (() => {})
  const first = await reach(wish, { ref: true })
  let held: Attachment | undefined = first
  /** Resolves when the supervisor that was lost is found again, or not needed any more. */
  let search = Promise.resolve()
  let released = false
  let reattached = 0

  const watch = ({ socket }: Attachment): void => {
    socket.unref() // a program that has nothing else to do may end
    socket.once("close", () => {
      held = undefined
      if (!released) search = again()
    })
  }
  /** Also after the release, while a server runs that nobody stops: its supervisor must hear that we left. */
  const needed = (): boolean => !released || (hasServer(base) && readRun(base)?.stopping !== true)
  const again = async (): Promise<void> => {
    log(`The supervisor of the embedded database in ${base} is gone; starting another.`)
    for (let pause = 250; needed(); pause = Math.min(pause * 2, 2_500)) {
      try {
        held = await reach(wish, { ref: false, needed })
        reattached += 1
        watch(held)
        const { host, port } = held.connection
        return log(
          host === first.connection.host && port === first.connection.port
            ? `The embedded database in ${base} is reached again.`
            : `The embedded database in ${base} runs at another address now: restart this process.`
        )
      } catch (error) {
        if (!needed()) return
        log(error instanceof Error ? error.message : String(error))
        await sleep(pause, { ref: false })
      }
    }
  }

  const leave = async (): Promise<void> => {
    await search
    while (held !== undefined && !(await sayBye(held.socket))) await again()
  }

  watch(first)
  const { host, port, user, database, password } = first.connection
  return {
    host,
    port,
    user,
    database,
    ...(password === undefined ? {} : { password }),
    url: urlOf(first.connection),
    get reattached() {
      return reattached
    },
    release: async () => {
      if (released) return
      released = true
      let timer: NodeJS.Timeout | undefined // also keeps the process alive, which a search does not
      const grace = new Promise<void>((resolve) => {
        timer = setTimeout(resolve, BYE_MS)
      })
      await Promise.race([leave(), grace])
      clearTimeout(timer)
      held?.socket.destroy()
    }
  }
}

/** `sslmode=disable` because a PGSSLMODE in the environment would otherwise ask the socket for TLS. */
const urlOf = ({ host, port, user, database, password }: ServerAddress): string => {
  const at = password === undefined ? user : `${user}:${encodeURIComponent(password)}`
  return host.startsWith("/")
    ? `postgresql://${at}@/${database}?host=${encodeURIComponent(host)}&port=${port}&sslmode=disable`
    : `postgresql://${at}@${host}:${port}/${database}?sslmode=disable`
}

/** Longer than a supervisor needs to stop a server that does not react. */
const BYE_MS = 30_000

/** False when nobody heard it, because the supervisor was lost. */
const sayBye = (socket: Socket): Promise<boolean> =>
  new Promise((resolve) => {
    let heard = false
    socket.ref()
    socket.once("close", () => resolve(heard))
    socket.on("data", () => {
      heard = true // `kept` or `stopped`
      socket.end()
    })
    socket.write("bye\n")
  })

// ------------------------------------------------------------------------------------------------------------ folder

const prepareFolder = (folder: string): string => {
  try {
    // Nobody else's to look into. As root the server runs as another user, who must get through.
    const made = mkdirSync(folder, { recursive: true, mode: process.getuid?.() === 0 ? 0o711 : 0o700 })
    if (made !== undefined) giveAway(made, folder)
    closeSync(openSync(logFile(folder), "a", 0o600))
    giveToFolderOwner(logFile(folder))
    return realpathSync(folder)
  } catch (error) {
    const code = errorCode(error)
    if (code === undefined) throw error
    throw impossible(`The folder ${folder} for the embedded database cannot be written (${code}).`)
  }
}

/** As root in another person's project, folders that we make belong to that person, who may come back without root. */
const giveAway = (made: string, folder: string): void => {
  const owner = statSync(dirname(made))
  if (process.getuid?.() !== 0 || owner.uid === 0) return
  for (let path = folder; path.length >= made.length; path = dirname(path)) chownSync(path, owner.uid, owner.gid)
}

/** The log holds what happened to the server, some lines a start; the previous file is kept. */
const LOG_BYTES = 1 << 20

const openLog = (base: string): number => {
  const path = logFile(base)
  if ((statSync(path, { throwIfNoEntry: false })?.size ?? 0) > LOG_BYTES) renameSync(path, `${path}.old`)
  const file = openSync(path, "a", 0o600)
  giveToFolderOwner(path)
  return file
}

// ------------------------------------------------------------------------------------------------------------- start

type Wish = Omit<StartRequest, "native" | "major"> & { readonly timeout: number }

/**
 * Attaches to the supervisor in charge, starting one whenever there is none. `ref`: keep this process alive meanwhile. Fails
 * when it is not `needed` any more.
 */
const reach = async (
  wish: Wish,
  { ref, needed = () => true }: { readonly ref: boolean; readonly needed?: () => boolean }
): Promise<Attachment> => {
  const logStart = statSync(logFile(wish.base), { throwIfNoEntry: false })?.size ?? 0
  const begin = performance.now()
  const accept = refuseUnsafe(wish)
  let binaries: Binaries | undefined
  let start: Start | undefined
  for (;; await sleep(25, { ref })) {
    const attachment = await attach(wish.base, accept)
    if (attachment !== undefined) {
      start?.hangUp()
      return attachment
    }
    if (start?.failure !== undefined) throw start.failure
    if (!needed()) {
      start?.hangUp()
      throw new EmbeddedDatabaseError(`The embedded database in ${wish.base} is not needed any more.`, { final: false })
    }
    if (start === undefined || (start.ended && performance.now() - start.begin > 250)) {
      binaries ??= locateBinaries([import.meta.url, join(process.cwd(), "x.js"), join(wish.base, "x.js")])
      start = startSupervisor(wish, binaries)
    }
    if (performance.now() - begin > wish.timeout) {
      start.hangUp()
      const log = textFrom(logFile(wish.base), logStart)
      throw new EmbeddedDatabaseError(
        `The embedded database in ${wish.base} did not come up within ${wish.timeout} ms.\n${start.message}${log}`,
        { final: false }
      )
    }
  }
}

const refuseUnsafe = (wish: Wish) => (connection: ServerAddress): void => {
  if (connection.durable || !wish.durable) return
  throw impossible(
    `The database in ${wish.base} is running without durability (started by a test, process ${connection.supervisor}).`
      + " End the processes that use it, then start again."
  )
}

/** A supervisor we started, and what became of it. */
type Start = {
  readonly begin: number
  ended: boolean
  message: string
  failure?: EmbeddedDatabaseError
  /** Tells it that we do not wait for it any more: it leaves, unless it has other clients. */
  readonly hangUp: () => void
}

/** Beside this file with the same extension: in the source tree, and in a bundle that has it as an entry of its own. */
const supervisorFile = fileURLToPath(new URL(`./supervisor${extname(import.meta.url)}`, import.meta.url))

const startSupervisor = ({ base, linger, durable, tcp }: Wish, binaries: Binaries): Start => {
  if (!existsSync(supervisorFile)) {
    throw impossible(`${supervisorFile} is missing: the program was not built completely.`)
  }
  const request: StartRequest = { base, linger, durable, tcp, ...binaries }
  const log = openLog(base)
  const child = spawn(process.execPath, [supervisorFile, JSON.stringify(request)], {
    cwd: "/",
    detached: true,
    env: supervisorEnvironment(),
    stdio: ["ignore", log, log, "pipe"],
    windowsHide: true
  })
  closeSync(log)
  child.unref()
  const words = child.stdio[3]
  if (!(words instanceof Socket)) throw new Error("The supervisor has no file descriptor 3.")
  const start: Start = { begin: performance.now(), ended: false, message: "", hangUp: () => words.destroy() }
  words.unref()
  words.on("error", () => words.destroy())
  words.on("data", (chunk) => {
    start.message += chunk.toString()
  })
  child.on("error", (error) => {
    start.failure = impossible(`The supervisor of the embedded database cannot be started: ${error.message}`)
  })
  child.on("close", (code) => {
    start.ended = true
    if (code === EXIT_FINAL) start.failure = new EmbeddedDatabaseError(start.message, { final: true })
  })
  return start
}

/** The environment of the caller is not passed on: NODE_OPTIONS and coverage settings are not meant for a process that outlives it. */
const supervisorEnvironment = (): NodeJS.ProcessEnv => {
  const variables = ["PATH", "TMPDIR", "TEMP", "TMP", "SystemRoot", "HOME", "USERPROFILE"]
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => variables.includes(name)))
}
