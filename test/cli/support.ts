/**
 * Projects in temporary folders and the `service` command as a process of its own: what a person at a terminal has. Everything started here
 * is ended, and every folder removed, by `dispose`.
 */

import { type ChildProcess, fork, spawn } from "node:child_process"
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { text } from "node:stream/consumers"
import { fileURLToPath } from "node:url"
import { compileCache } from "../support/compiled.ts"
import type { Order, Outcome } from "./shell.ts"

const root = fileURLToPath(new URL("../..", import.meta.url))
const main = join(root, "composition/cli/main.ts")

/** Shared by the projects of a test file: it runs what `quick` is given. */
let shell: ChildProcess | undefined
let shellFree: Promise<unknown> = Promise.resolve()

const openShell = (): ChildProcess => {
  const child = fork(fileURLToPath(new URL("shell.ts", import.meta.url)), {
    env: { ...plainEnvironment(), ...compileCache },
    execArgv: ["--conditions=source"]
  })
  // It ends with this process.
  child.unref()
  child.channel?.unref()
  child.once("exit", () => shell = undefined)
  return child
}

/** Runs a command in the process that stays, after those that wait for it. */
export const runInShell = (order: Order): Promise<Outcome> => {
  const outcome = shellFree.then(() => {
    const child = shell ??= openShell()
    return new Promise<Outcome>((resolve, reject) => {
      const ended = (code: number | null): void => reject(new Error(`The shell ended (${code}).`))
      child.once("exit", ended)
      child.once("message", (message) => {
        child.off("exit", ended)
        resolve(message as Outcome)
      })
      child.send(order)
    })
  })
  shellFree = outcome.catch(() => {})
  return outcome
}

export interface Ran {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

export interface Running {
  readonly child: ChildProcess
  readonly port: number
  /** Waits until standard output or standard error has the text. */
  readonly shows: (wanted: string) => Promise<void>
  readonly output: () => string
  /** Sends a signal and gives the exit code. */
  readonly end: (signal?: "SIGTERM" | "SIGINT") => Promise<number | null>
}

export interface Answer {
  readonly status: number
  readonly body: { readonly [name: string]: unknown }
}

export interface Project extends AsyncDisposable {
  readonly folder: string
  readonly env: Record<string, string>
  readonly write: (path: string, text: string) => void
  readonly read: (path: string) => string
  /** Runs the command to its end, as a process of its own. */
  readonly service: (...args: string[]) => Promise<Ran>
  /** The same in a process that stays for the next: for commands that neither serve nor read standard input. */
  readonly quick: (...args: string[]) => Promise<Ran>
  /** A process of its own with a text on standard input. */
  readonly serviceWith: (input: string, ...args: string[]) => Promise<Ran>
  /** Starts it on a free port and waits until it listens. */
  readonly start: (...args: string[]) => Promise<Running>
  /** The same for a program of the project itself. */
  readonly startNode: (...args: string[]) => Promise<Running>
  readonly dispose: () => Promise<void>
}

/** Only what a process needs: the variables of this machine are not the project's. */
export const plainEnvironment = (): Record<string, string> =>
  Object.fromEntries(
    ["PATH", "HOME", "TMPDIR", "LANG"].flatMap((name) => {
      const value = process.env[name]
      return value === undefined ? [] : [[name, value]]
    })
  )

export const makeProject = (env: Record<string, string> = {}): Project => {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "service-cli-")))
  mkdirSync(join(folder, "node_modules"))
  symlinkSync(root, join(folder, "node_modules/resource-admin"))
  const variables: Record<string, string> = {
    ...plainEnvironment(),
    ...compileCache,
    SERVICE_DRAIN_SECONDS: "0",
    ...env
  }
  const children = new Set<ChildProcess>()

  const launch = (args: readonly string[], extra: Record<string, string> = {}, input?: string): ChildProcess => {
    const child = spawn(process.execPath, ["--conditions=source", ...args], {
      cwd: folder,
      env: { ...variables, ...extra },
      stdio: [input === undefined ? "ignore" : "pipe", "pipe", "pipe"]
    })
    child.stdin?.end(input)
    children.add(child)
    child.once("exit", () => children.delete(child))
    return child
  }

  const startNode = async (...args: string[]): Promise<Running> => {
    const child = launch(args, { PORT: "0" })
    let output = ""
    const waiting = new Set<() => void>()
    for (const stream of [child.stdout!, child.stderr!]) {
      stream.setEncoding("utf8").on("data", (chunk: string) => {
        output += chunk
        for (const check of waiting) check()
      })
    }
    const exited = new Promise<number | null>((resolve) => child.once("exit", (code) => resolve(code)))
    // What it said may arrive after its end.
    const closed = new Promise<number | null>((resolve) => child.once("close", (code) => resolve(code)))
    const says = (wanted: string, isSaid: () => boolean): Promise<void> =>
      new Promise((resolve, reject) => {
        const check = (): void => {
          if (!isSaid()) return
          waiting.delete(check)
          resolve()
        }
        waiting.add(check)
        check()
        void closed.then((code) => reject(new Error(`It ended (${code}) before it said ${wanted}:\n${output}`)))
      })
    const shows = (wanted: string): Promise<void> => says(wanted, () => output.includes(wanted))
    await says("where it listens", () => /"event":"(?:listening|working)".*\n/.test(output))
    return {
      child,
      port: Number(/"address":"http:\/\/127\.0\.0\.1:([0-9]+)"/.exec(output)?.[1]),
      shows,
      output: () => output,
      end: (signal = "SIGTERM") => {
        child.kill(signal)
        return exited
      }
    }
  }

  const finish = async (child: ChildProcess): Promise<Ran> => {
    const exited = new Promise<number | null>((resolve) => child.once("exit", (code) => resolve(code)))
    const [stdout, stderr, code] = await Promise.all([text(child.stdout!), text(child.stderr!), exited])
    return { code, stdout, stderr }
  }

  const dispose = async (): Promise<void> => {
    await Promise.all([...children].map((child) =>
      new Promise<void>((resolve) => {
        child.once("exit", () => resolve())
        child.kill("SIGTERM")
      })
    ))
    rmSync(folder, { recursive: true, force: true })
  }

  return {
    folder,
    env: variables,
    write: (path, text) => {
      mkdirSync(dirname(join(folder, path)), { recursive: true })
      writeFileSync(join(folder, path), text)
    },
    read: (path) => readFileSync(join(folder, path), "utf8"),
    service: (...args) => finish(launch([main, ...args])),
    quick: (...args) => runInShell({ args, folder, env: variables }),
    serviceWith: (input, ...args) => finish(launch([main, ...args], {}, input)),
    startNode,
    start: (...args) => startNode(main, ...args),
    dispose,
    [Symbol.asyncDispose]: dispose
  }
}

/** A request to a running service. */
export const ask = async (
  port: number,
  path: string,
  query: Record<string, string> = {},
  init: RequestInit & { readonly token?: string } = {}
): Promise<Answer> => {
  const { token, ...rest } = init
  const response = await fetch(
    `http://127.0.0.1:${port}${path}?${new URLSearchParams(query).toString()}`.replace(/\?$/, ""),
    {
      ...rest,
      headers: {
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...(rest.headers as Record<string, string>)
      }
    }
  )
  const body = await response.text()
  return { status: response.status, body: body === "" ? {} as Answer["body"] : JSON.parse(body) as Answer["body"] }
}
