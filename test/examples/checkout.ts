/**
 * A copy of this checkout in a folder whose name has spaces and a quote, and the example running in it: started as `npm start` does, on a
 * free port and with a database of its own. It holds no expectation.
 */

import { spawn } from "node:child_process"
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"

const root = fileURLToPath(new URL("../..", import.meta.url))

export interface Checkout extends Disposable {
  readonly folder: string
}

/** Where processes of the copies keep the code that they compiled: the next one starts a second sooner. */
let compiled: string | undefined

/** What `npm start` and `npm run service` need, under another path. */
export const copyCheckout = (): Checkout => {
  const base = mkdtempSync(join(tmpdir(), "shop example "))
  const folder = join(base, "ada's project")
  mkdirSync(folder)
  compiled = join(base, "compiled")
  const files = ["package.json", "package-lock.json", "scripts", "tools"]
  for (const name of ["core", "adapters", "composition", "examples", ...files]) {
    cpSync(join(root, name), join(folder, name), { recursive: true })
  }
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"))
  return {
    folder,
    [Symbol.dispose]: () => {
      compiled = undefined
      rmSync(base, { recursive: true, force: true })
    }
  }
}

/** The environment of a shell in which nothing of ours is set. */
export const plainEnvironment = (more: NodeJS.ProcessEnv = {}): NodeJS.ProcessEnv => {
  const { ADMIN_DATABASE_URL, AUTH_SECRET, AUTH_URL, DATABASE_URL, NODE_OPTIONS, PORT, SERVICE_DATA, ...rest } =
    process.env
  void [ADMIN_DATABASE_URL, AUTH_SECRET, AUTH_URL, DATABASE_URL, NODE_OPTIONS, PORT, SERVICE_DATA]
  return {
    ...rest,
    SERVICE_LOG: "off",
    SERVICE_DRAIN_SECONDS: "0",
    ...(compiled === undefined ? {} : { NODE_COMPILE_CACHE: compiled }),
    ...more
  }
}

export interface Outcome {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** Runs a program to its end. */
export const run = (
  file: string,
  args: readonly string[],
  options: { readonly cwd: string; readonly env?: NodeJS.ProcessEnv }
): Promise<Outcome> =>
  new Promise((resolve, reject) => {
    const child = spawn(file, args, {
      ...options,
      env: options.env ?? plainEnvironment(),
      stdio: ["ignore", "pipe", "pipe"]
    })
    const output = { stdout: "", stderr: "" }
    child.stdout.setEncoding("utf8").on("data", (text: string) => output.stdout += text)
    child.stderr.setEncoding("utf8").on("data", (text: string) => output.stderr += text)
    child.once("error", reject)
    child.once("close", (code) => resolve({ code, ...output }))
  })

/** Runs the lines in `sh`, in a folder that is none of the project's, and gives what each but the first printed. */
export const paste = async (lines: readonly string[], env = plainEnvironment()): Promise<readonly string[]> => {
  const mark = "---8<---"
  const script = lines.join(`\necho; echo '${mark}'\n`)
  const { code, stderr, stdout } = await run("sh", ["-c", script], { cwd: tmpdir(), env })
  if (code !== 0) throw new Error(`sh ended with ${code}: ${stderr}`)
  return stdout.split(mark).slice(1).map((text) => text.trim())
}

/** The example's command line, as `npm start` has it. */
const start = ["--conditions=source", "examples/shop/start.ts"]

/** Runs the example where it is expected not to start. */
export const startAndFail = ({ folder }: Checkout, args: readonly string[], env: NodeJS.ProcessEnv): Promise<Outcome> =>
  run(process.execPath, [...start, ...args], { cwd: folder, env: plainEnvironment(env) })

/** The example, running. */
export interface Example {
  readonly url: string
  /** Everything it printed until it was ready. */
  readonly printed: string
  /** The lines it offers for pasting: a token, a list, facets. */
  readonly lines: readonly string[]
  /** Passwords by role, where it printed some. */
  readonly passwords: ReadonlyMap<string, string>
  /** Ctrl-C; gives the exit code. */
  readonly stop: () => Promise<number | null>
}

const passwordsIn = (printed: string): ReadonlyMap<string, string> =>
  new Map(
    [...printed.matchAll(/^ {2}(admin|sales|viewer) +\S+@shop\.example +(\w{20})$/gm)]
      .map(([, role = "", password = ""]) => [role, password])
  )

/** Starts the example and kills it, without a chance to say or do anything more, once it shows a password. Gives what it printed, and the passwords in that. */
export const startAndKill = (
  { folder }: Checkout,
  args: readonly string[],
  env: NodeJS.ProcessEnv
): Promise<Pick<Example, "printed" | "passwords">> =>
  new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [...start, ...args], {
      cwd: folder,
      env: plainEnvironment(env),
      stdio: ["ignore", "pipe", "inherit"]
    })
    let printed = ""
    child.once("error", reject)
    child.once("close", () => resolve({ printed, passwords: passwordsIn(printed) }))
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      printed += text
      if (passwordsIn(printed).size > 0) child.kill("SIGKILL")
    })
  })

/** Starts the example and waits until it has said everything. Fails with what it printed when it ends before. */
export const startExample = (
  { folder }: Checkout,
  port: number,
  args: readonly string[] = [],
  env: NodeJS.ProcessEnv = {}
): Promise<Example> =>
  new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [...start, ...args], {
      cwd: folder,
      env: plainEnvironment({ PORT: String(port), ...env }),
      stdio: ["ignore", "pipe", "pipe"]
    })
    let printed = ""
    let errors = ""
    const ended = new Promise<number | null>((done) => child.once("close", done))
    child.once("error", reject)
    child.once("close", (code) => reject(new Error(`the example ended with ${code}\n${printed}\n${errors}`)))
    child.stderr.setEncoding("utf8").on("data", (text: string) => errors += text)
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      printed += text
      if (!printed.includes("the data stays.")) return
      resolve({
        url: `http://localhost:${port}`,
        printed,
        lines: printed.split("\n").filter((line) => /^ {2}(TOKEN=|curl )/.test(line)).map((line) => line.trim()),
        passwords: passwordsIn(printed),
        stop: () => {
          child.kill("SIGINT")
          return ended
        }
      })
    })
  })
