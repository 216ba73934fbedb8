/**
 * The process that owns the server of one embedded database. A client starts it detached. It starts the server, or takes over a running
 * one, and stops it when the last client is gone. It is a process of its own, so a Ctrl-C or `kill -9` of one client does not stop the
 * server for the others. It never talks to the database.
 *
 * Run by a client as `node supervisor.ts <StartRequest as JSON>`. It writes the reason for giving up to file descriptor 3.
 */
import { lstatSync, rmSync, writeSync } from "node:fs"
import { createServer, Socket } from "node:net"
import { join } from "node:path"
import { completeLibraries, programIn } from "./binaries.ts"
import {
  type Cluster,
  DATABASE,
  dataFolder,
  ensureCluster,
  isRunning,
  obtainServer,
  passwordOf,
  type Postmaster,
  stopServer,
  USER
} from "./cluster.ts"
import {
  connectionOf,
  EmbeddedDatabaseError,
  EXIT_FINAL,
  EXIT_RETRY,
  isServed,
  readRun,
  removeRun,
  sleep,
  type StartRequest,
  writeRun
} from "./control.ts"
import { chooseIdentity } from "./identity.ts"
import { controlAddress, prepareSocketRoot, removeOldControls, removeSocketFolders } from "./sockets.ts"

/** How long a server waits for its first client. */
const FIRST_CLIENT_MS = 10_000
/** How long after SIGTERM clients may still finish their work. */
const DRAIN_MS = 10_000
/** How often the supervisor looks whether its server lives and whether it is still in charge. */
const WATCH_MS = 250

type Running = { readonly cluster: Cluster; readonly server: Postmaster }

/** Undefined when another supervisor serves this folder, or nobody waits for us any more. */
const bringUp = async (request: StartRequest): Promise<Running | undefined> => {
  const { base, native } = request
  if (await isServed(base)) return undefined
  const env = cleanEnvironment(completeLibraries(native, join(base, "lib")))
  const identity = chooseIdentity({
    base,
    data: dataFolder(base),
    folders: [base, prepareSocketRoot(base)],
    program: programIn(native, "postgres"),
    env
  })
  const cluster: Cluster = { ...request, identity, env }
  await ensureCluster(cluster)
  const server = await obtainServer(cluster, {
    superseded: async () => !wanted || await isServed(base),
    stopping: (pid) => {
      const run = readRun(base)
      return run?.stopping === true && run.postmaster === pid && isProcess(run.supervisor)
    }
  })
  return server === "superseded" ? undefined : { cluster, server }
}

/** Only what the programs need: the caller's PG* variables would change how they behave. */
const cleanEnvironment = (more: Readonly<Record<string, string>>): NodeJS.ProcessEnv => {
  const variables = Object.entries(process.env).filter(([name]) => ["PATH", "SystemRoot", "TEMP", "TMP"].includes(name))
  return { ...Object.fromEntries(variables), LC_ALL: "C", TZ: "UTC", ...more }
}

const isProcess = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

const serve = async ({ cluster, server }: Running): Promise<void> => {
  const { base } = cluster
  const control = controlAddress(base)
  const run = { supervisor: process.pid, control, postmaster: server.pid, stopping: false }
  const password = passwordOf(base)
  const { pid: postmaster, ...address } = server
  const greeting = JSON.stringify(connectionOf({
    ...address,
    user: USER,
    database: DATABASE,
    ...(password === undefined ? {} : { password }),
    postmaster,
    supervisor: process.pid
  }))
  const clients = new Set<Socket>()
  /** Clients that left last, to be told when the server has stopped. */
  const waiting: Socket[] = []
  /** Until then clients of an earlier supervisor may still come, so the last client here may not be the last of all. */
  let gathered = 0
  let timer: NodeJS.Timeout | undefined
  let draining = false
  let stopping = false

  /** Unless `run.json` names another; a missing one names nobody. */
  const inCharge = (): boolean => (readRun(base)?.supervisor ?? process.pid) === process.pid
  const leave = (): void => {
    rmSync(control, { force: true })
    removeSocketFolders(base)
    process.exit(0)
  }
  const stop = async (): Promise<void> => {
    if (stopping) return
    stopping = true
    listener.close()
    if (inCharge()) {
      try {
        writeRun(base, { ...run, stopping: true })
      } catch {
        // A full disk must not keep the server running. The mark only saves the next supervisor a look at a server that is stopping.
      }
      await stopServer(cluster, server.pid)
      if (inCharge()) {
        removeOldControls(control)
        removeRun(base)
      }
    }
    const told = waiting.map((socket) => new Promise<void>((resolve) => socket.end("stopped\n", () => resolve())))
    await Promise.race([Promise.all(told), sleep(500)])
    leave()
  }
  /** A client will start another supervisor. Its server recovers in the same socket folder, for which `run.json` stays. */
  const crashed = (): void => {
    if (!stopping) leave()
  }
  const stopIn = (milliseconds: number): void => {
    clearTimeout(timer)
    timer = setTimeout(() => void stop(), milliseconds)
  }

  const hear = (socket: Socket, line: string): void => {
    if (line === "hello") {
      // This client was greeted before the last one left. It would be given a server that is shutting down.
      if (stopping) return void socket.destroy()
      if (!isRunning(base, server.pid)) return crashed()
      clients.add(socket)
      socket.write("held\n")
      for (const left of waiting.splice(0)) left.end("kept\n")
      if (!draining) clearTimeout(timer)
    }
    if (line !== "bye") return
    clients.delete(socket)
    if (clients.size > 0) socket.end("kept\n")
    else {
      waiting.push(socket)
      stopIn(draining ? 0 : Math.max(0, gathered - performance.now()))
    }
  }
  const listener = createServer((socket) => {
    if (stopping) {
      socket.destroy()
      return
    }
    socket.write(`${greeting}\n`)
    let text = ""
    socket.on("error", () => socket.destroy()) // `close` follows
    socket.on("data", (chunk) => {
      const lines = (text + chunk.toString()).split("\n")
      text = lines.pop() ?? ""
      for (const line of lines) hear(socket, line)
    })
    socket.on("close", () => {
      if (clients.delete(socket) && clients.size === 0) stopIn(draining ? 0 : cluster.linger)
    })
  })

  process.removeAllListeners("SIGTERM")
  process.on("SIGTERM", () => {
    // A service manager may signal every process at once: clients that are still finishing need the database.
    if (draining || clients.size === 0) void stop()
    else stopIn(DRAIN_MS)
    draining = true
  })
  await new Promise<void>((resolve, reject) => {
    listener.once("error", reject)
    listener.listen(control, resolve)
  })
  if (readRun(base) !== undefined) gathered = performance.now() + cluster.linger
  writeRun(base, run)
  stopIn(terminated ? 0 : FIRST_CLIENT_MS)
  const unwanted = (): void => {
    if (clients.size === 0 && !stopping) stopIn(cluster.linger)
  }
  if (wanted) caller.once("close", unwanted)
  else unwanted()

  setInterval(() => {
    if (stopping) return
    const runFile = readRun(base)
    if (runFile === undefined && lstatSync(dataFolder(base), { throwIfNoEntry: false }) === undefined) {
      void stop() // the whole folder was removed: there is nothing left to serve
    } else if (runFile !== undefined && runFile.supervisor !== process.pid) {
      leave() // two had adopted the server; our clients attach to the other
    } else if (!isRunning(base, server.pid)) {
      crashed()
    } else if (runFile === undefined) {
      try {
        writeRun(base, run)
      } catch {
        // The folder is being removed, or the disk is full: the next look tells.
      }
    }
  }, WATCH_MS)
}

/** Says why to the client that waits, if it still does, and to the log. */
const giveUp = (error: unknown): never => {
  const known = error instanceof EmbeddedDatabaseError
  const message = known ? error.message : `The supervisor of the embedded database failed: ${describe(error)}`
  process.stderr.write(`${message}\n`)
  try {
    writeSync(3, message)
  } catch {
    // The client is gone; the log has it.
  }
  removeSocketFolders(request.base)
  process.exit(!known || error.final ? EXIT_FINAL : EXIT_RETRY)
}

const describe = (error: unknown): string => error instanceof Error ? error.stack ?? error.message : String(error)

/** The client that started us holds the other end until it is attached, to us or to a supervisor that was faster. */
const caller = new Socket({ fd: 3 })
let wanted = true
caller.on("error", () => caller.destroy())
caller.on("close", () => {
  wanted = false
})
caller.resume()
caller.unref()

let terminated = false
const ignore = (): void => {}
process.on("SIGINT", ignore) // Ctrl-C and a closed terminal are for the clients; they tell us when they are done
process.on("SIGHUP", ignore)
process.on("SIGTERM", () => {
  terminated = true
})
process.umask(0o077)

const request: StartRequest = JSON.parse(process.argv[2] ?? "")
try {
  const running = await bringUp(request)
  if (running === undefined) process.exit(EXIT_RETRY)
  try {
    await serve(running)
  } catch (error) {
    await stopServer(running.cluster, running.server.pid)
    throw error
  }
} catch (error) {
  giveUp(error)
}
