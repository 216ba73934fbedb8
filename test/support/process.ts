/**
 * A server as a process of its own, started on a small script with a folder of its own. It reports when the server listens, gathers its log, and
 * only ever ends the process it started.
 */

import { spawn } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { compileCache } from "./compiled.ts"

const script = fileURLToPath(new URL("../chaos/serve.ts", import.meta.url))

export interface Measure {
  /** Bytes in use after a collection. */
  readonly heapUsed: number
  readonly rss: number
  /** Timers, sockets and other things that keep the event loop alive. */
  readonly resources: number
}

export interface ServerProcess extends AsyncDisposable {
  readonly pid: number
  readonly port: number
  /** Lines of its log so far; those of requests are only counted when `quiet`. */
  readonly log: readonly string[]
  readonly requests: number
  readonly stderr: () => string
  readonly running: () => boolean
  /** Resident memory in bytes, now. */
  readonly memory: () => number
  /** Asks the process for a collection and what is left after it. */
  readonly measure: () => Promise<Measure>
  readonly send: (message: "reject") => void
  readonly kill: (signal: NodeJS.Signals) => void
  /** Closes the reading end of its standard output. */
  readonly closeLog: () => void
  /** Its exit code or signal; waits for the end. */
  readonly ended: Promise<number | NodeJS.Signals>
}

/** The code or signal, and what it said and logged, of a server that did not come up. */
export class NotStarted extends Error {
  readonly code: number | NodeJS.Signals
  readonly stderr: string
  readonly log: readonly string[]
  constructor(code: number | NodeJS.Signals, stderr: string, log: readonly string[]) {
    super(`the server ended with ${code}: ${stderr}`)
    this.code = code
    this.stderr = stderr
    this.log = log
  }
}

const inherited = ["PATH", "HOME", "TMPDIR", "LANG", "TZ"]

/** Starts a server on a free port. Rejects with `NotStarted` when it ends before it listens. */
export const startProcess = async (env: { readonly [name: string]: string }): Promise<ServerProcess> => {
  const folder = mkdtempSync(join(tmpdir(), "chaos-server-"))
  const child = spawn(process.execPath, ["--conditions=source", "--expose-gc", script], {
    cwd: folder,
    env: {
      ...Object.fromEntries(
        inherited.flatMap((name) => process.env[name] === undefined ? [] : [[name, process.env[name]]])
      ),
      ...compileCache,
      PORT: "0",
      SERVICE_LOG: "json",
      SERVICE_DRAIN_SECONDS: "0",
      ...env
    },
    stdio: ["ignore", "pipe", "pipe", "ipc"]
  })
  const { pid } = child
  if (pid === undefined) throw new Error("no process")
  const log: string[] = []
  let requests = 0
  let stderr = ""
  let rest = ""
  let port: ((port: number) => void) | undefined
  child.stderr?.on("data", (text: Buffer) => {
    stderr = (stderr + text.toString()).slice(-20_000)
  })
  child.stdout?.on("data", (text: Buffer) => {
    const lines = (rest + text.toString()).split("\n")
    rest = lines.pop() ?? ""
    for (const line of lines) {
      if (line.includes(`"event":"request"`)) {
        requests++
        continue
      }
      log.push(line)
      const listening = /"event":"listening","address":"http:\/\/[^"]*:([0-9]+)"/.exec(line)?.[1]
      if (listening !== undefined) port?.(Number(listening))
    }
  })
  const ended = new Promise<number | NodeJS.Signals>((resolve) =>
    child.once("close", (code, signal) => {
      rmSync(folder, { recursive: true, force: true })
      resolve(signal ?? code ?? -1)
    })
  )
  const running = (): boolean => child.exitCode === null && child.signalCode === null
  const listening = await Promise.race([
    new Promise<number>((resolve) => {
      port = resolve
    }),
    ended.then((code) => new NotStarted(code, stderr, log))
  ])
  if (listening instanceof NotStarted) throw listening
  return {
    pid,
    port: listening,
    log,
    get requests() {
      return requests
    },
    stderr: () => stderr,
    running,
    memory: () => Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? 0) * 1_024,
    measure: () =>
      new Promise((resolve) => {
        child.once("message", (answer) => resolve(answer as Measure))
        child.send("measure")
      }),
    send: (message) => void child.send(message),
    kill: (signal) => void child.kill(signal),
    closeLog: () => void child.stdout?.destroy(),
    ended,
    [Symbol.asyncDispose]: async () => {
      if (running()) child.kill("SIGTERM")
      const cut = setTimeout(() => child.kill("SIGKILL"), 15_000)
      await ended
      clearTimeout(cut)
    }
  }
}
