/**
 * What clients of the embedded database and its supervisor process say to each other: the start request, the file `run.json`
 * in the data folder that names the supervisor in charge, and the line protocol on the control socket. It starts and stops
 * nothing; it never talks to PostgreSQL.
 *
 * Protocol, one line each: the supervisor greets with the {@link ServerAddress} as JSON. A client that wants to stay says
 * `hello` and is counted from the answer `held` on. `bye` ends that; the answer is `kept` (others still need the server) or,
 * after the server's clean shutdown, `stopped`. A counted connection that closes without `bye` is a client that died.
 */
import { chownSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs"
import { connect, type Socket } from "node:net"
import { dirname, join } from "node:path"

/** Exit code of a supervisor that gave up for good. Its message says why, and another try would end the same way. */
export const EXIT_FINAL = 78
/** Exit code of a supervisor that is not needed or not possible right now: another one serves, or a moment later it works. */
export const EXIT_RETRY = 75

const PROTOCOL = 1

/** What the client hands to a new supervisor, as JSON in its only argument. */
export type StartRequest = {
  /** The data folder, absolute, without symbolic links. */
  readonly base: string
  /** The `native` folder of the PostgreSQL package: `bin`, `lib`, `share`. */
  readonly native: string
  /** Major version of the PostgreSQL in `native`, as in `PG_VERSION`: "18". */
  readonly major: string
  /** Milliseconds the server outlives its last client, if that died without saying `bye`. */
  readonly linger: number
  /** False turns off fsync and its companions: data does not survive a crash of the machine. */
  readonly durable: boolean
  /** TCP on 127.0.0.1 with a password instead of a unix socket. */
  readonly tcp: boolean
}

/** How to reach the server, and which one it is. */
export type ServerAddress = {
  readonly protocol: number
  /** Folder of the unix socket, or 127.0.0.1. */
  readonly host: string
  readonly port: number
  readonly user: string
  readonly database: string
  readonly password?: string
  readonly durable: boolean
  /** Process ids, for people and for tests. */
  readonly postmaster: number
  readonly supervisor: number
}

/** The content of `run.json`. Whoever it names is in charge; a supervisor that finds another name there leaves. */
export type RunFile = {
  readonly supervisor: number
  readonly control: string
  readonly postmaster: number
  /** The server is being stopped: wait for its end, do not adopt it. */
  readonly stopping: boolean
}

/** Why there is no embedded database. `final`: trying again is useless; the message tells the way out. */
export class EmbeddedDatabaseError extends Error {
  readonly final: boolean
  constructor(message: string, options: { readonly final: boolean; readonly cause?: unknown }) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.name = "EmbeddedDatabaseError"
    this.final = options.final
  }
}

/** A final error whose last sentence names the way out that always exists. */
export const impossible = (message: string): EmbeddedDatabaseError =>
  new EmbeddedDatabaseError(
    `${message}\nSet DATABASE_URL to a PostgreSQL server (15 to 18) to run without the embedded database.`,
    { final: true }
  )

export const connectionOf = (fields: Omit<ServerAddress, "protocol">): ServerAddress => ({
  protocol: PROTOCOL,
  ...fields
})

/** The `code` of a Node system error ("ENOENT"), undefined for anything else. */
export const errorCode = (error: unknown): string | undefined =>
  error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : undefined

/** Runs a file operation that may find nothing to do: undefined for ENOENT, every other error is thrown. */
export const ifPresent = <A>(operation: () => A): A | undefined => {
  try {
    return operation()
  } catch (error) {
    if (errorCode(error) === "ENOENT") return undefined
    throw error
  }
}

/** As root, gives a file we made to the owner of its folder, so that the same project also works without root later. */
export const giveToFolderOwner = (path: string): void => {
  if (process.getuid?.() !== 0) return
  const owner = statSync(dirname(path))
  if (owner.uid !== 0) chownSync(path, owner.uid, owner.gid)
}

/** Replaces a small file in one step: a reader sees the old or the new text, never a part. */
export const writeWhole = (path: string, text: string): void => {
  const next = `${path}.${process.pid}`
  writeFileSync(next, text, { mode: 0o600 })
  giveToFolderOwner(next)
  renameSync(next, path)
}

const runPath = (base: string): string => join(base, "run.json")

/** The content of `run.json`; undefined when there is none or it is not one of ours. */
export const readRun = (base: string): RunFile | undefined => {
  const text = ifPresent(() => readFileSync(runPath(base), "utf8"))
  if (text === undefined) return undefined
  try {
    const run: RunFile = JSON.parse(text)
    return typeof run.control === "string" && Number.isInteger(run.supervisor) ? run : undefined
  } catch {
    return undefined
  }
}

export const writeRun = (base: string, run: RunFile): void => writeWhole(runPath(base), JSON.stringify(run))

export const removeRun = (base: string): void => rmSync(runPath(base), { force: true })

/** A control connection that is counted, and what the supervisor said on it. */
export type Attachment = { readonly socket: Socket; readonly connection: ServerAddress }

/** How long a supervisor may take to answer before it counts as dead. It answers from memory, so only a stopped one takes so long. */
const ANSWER_MS = 3000

/**
 * Attaches to the supervisor named in `run.json`. Undefined when nobody is there: no file, nobody listening, no answer, or a
 * server that is about to stop. `accept` may throw to refuse the server before we count. Throws a final error when the
 * supervisor belongs to a version with another protocol.
 */
export const attach = async (
  base: string,
  accept: (connection: ServerAddress) => void
): Promise<Attachment | undefined> => {
  const attachment = await greet(base)
  if (attachment === undefined) return undefined
  const { socket, connection, run } = attachment
  try {
    if (connection.protocol !== PROTOCOL) {
      throw impossible(
        `The embedded database in ${base} is served by another version of this program (process ${run.supervisor}).`
          + " End its clients first."
      )
    }
    accept(connection)
  } catch (error) {
    socket.destroy()
    throw error
  }
  const answer = lineFrom(socket)
  socket.write("hello\n")
  if (await answer === "held") return { socket, connection }
  socket.destroy()
  return undefined
}

/** Is a supervisor serving this folder? */
export const isServed = async (base: string): Promise<boolean> => {
  const attachment = await greet(base)
  attachment?.socket.destroy()
  return attachment !== undefined
}

const greet = async (base: string): Promise<Attachment & { run: RunFile } | undefined> => {
  const run = readRun(base)
  if (run === undefined || run.stopping) return undefined
  const socket = connect(run.control)
  socket.on("error", () => socket.destroy()) // for its whole life; `close` follows
  const line = await lineFrom(socket)
  if (line !== undefined) {
    const connection: ServerAddress = JSON.parse(line)
    return { socket, connection, run }
  }
  socket.destroy()
  return undefined
}

/** The next line, undefined if the connection ends or nothing comes in time. Each line answers something: none is lost. */
const lineFrom = (socket: Socket): Promise<string | undefined> =>
  new Promise((resolve) => {
    let text = ""
    const finish = (line: string | undefined): void => {
      clearTimeout(timer)
      socket.off("data", hear)
      socket.off("close", end)
      resolve(line)
    }
    const hear = (chunk: Buffer): void => {
      text += chunk.toString()
      if (text.includes("\n")) finish(text.slice(0, text.indexOf("\n")))
    }
    const end = (): void => finish(undefined)
    const timer = setTimeout(end, ANSWER_MS)
    socket.on("data", hear)
    socket.on("close", end)
  })

export const sleep = (milliseconds: number, options?: { readonly ref: boolean }): Promise<void> =>
  new Promise((resolve) => {
    const timer = setTimeout(resolve, milliseconds)
    if (options?.ref === false) timer.unref()
  })
