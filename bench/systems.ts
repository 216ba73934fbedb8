/** The systems measured, as processes: how each is started, and when it is up. Every one gets its own database and its own port. */

import { type ChildProcess, spawn } from "node:child_process"
import { existsSync } from "node:fs"
import { createServer } from "node:net"
import { join } from "node:path"
import { type Case, type Dialect, referenceDialect, serviceDialect } from "./cases.ts"
import type { Database } from "./data.ts"
import type { Keys } from "./keys.ts"

export interface System {
  readonly dialect: Dialect
  /** Its database. */
  readonly database: string
  readonly port: number
  readonly pid: number
  readonly stop: () => Promise<void>
}

/** How to start a system; `environment` is told port and database. */
export interface Recipe {
  readonly dialect: Dialect
  readonly database: string
  readonly command: readonly string[]
  readonly environment: (port: number, url: string) => { readonly [name: string]: string }
}

const folder = import.meta.dirname

/** As the deployment guide says. */
const deployed = [
  "--max-semi-space-size=16",
  "--heap-growing-percent=100",
  "--no-flush-bytecode",
  "--use-largepages=silent"
]

/** The service as a package (`dist`), or from its sources. `flags` go to Node: a profiler, for example. */
export const serviceRecipe = (
  keys: Keys,
  source: boolean,
  flags: readonly string[],
  database = "bench_service"
): Recipe => ({
  dialect: serviceDialect,
  database,
  command: [...deployed, ...flags, ...source ? ["--conditions=source"] : [], join(folder, "subject.mjs")],
  environment: (port, url) => ({ PORT: String(port), DATABASE_URL: url, KEY_SET: keys.keySet })
})

export const referenceRecipe = (keys: Keys): Recipe => ({
  dialect: referenceDialect("reference", []),
  database: "bench_reference",
  command: [join(folder, "reference.mjs")],
  environment: (port, url) => ({ PORT: String(port), DATABASE_URL: url, PUBLIC_KEY: keys.pem })
})

const missing: readonly Case[] = [
  "series",
  "groups",
  "seek",
  "expand",
  "related",
  "sorted",
  "sortedDeep",
  "exists",
  "relatedGroups"
]

/** A reference server from elsewhere: a folder with `reference/server.mjs` that takes these variables and speaks the plain API. */
export const foreignRecipe = (keys: Keys, where: string, database: Database): Recipe => {
  const server = join(where, "reference", "server.mjs")
  if (!existsSync(server)) throw new Error(`There is no ${server}.`)
  return {
    dialect: referenceDialect("foreign reference", missing),
    database: "bench_foreign",
    command: [server],
    environment: (port) => ({
      PORT: String(port),
      DB: "bench_foreign",
      MODE: "spec",
      PGPORT: String(database.port),
      PGPASSWORD: database.password,
      JWT_PUBLIC_PEM: keys.pem,
      PEER_HOME: join(folder, "..")
    })
  }
}

const freePort = (): Promise<number> =>
  new Promise((resolve, reject) => {
    const server = createServer()
    server.once("error", reject)
    server.listen(0, "127.0.0.1", () => {
      const address = server.address()
      server.close(() =>
        typeof address === "object" && address !== null ? resolve(address.port) : reject(new Error("no port"))
      )
    })
  })

/** Resolves once the process says "up", rejects when it ends before. */
const isUp = (child: ChildProcess, name: string): Promise<void> =>
  new Promise((resolve, reject) => {
    const deadline = setTimeout(() => reject(new Error(`${name} did not start in 30 seconds.`)), 30_000)
    child.stdout?.on("data", (chunk: Buffer) => {
      if (!chunk.includes("up")) return
      clearTimeout(deadline)
      resolve()
    })
    child.once("exit", (code) => {
      clearTimeout(deadline)
      reject(new Error(`${name} ended with code ${code}.`))
    })
  })

export const start = async (recipe: Recipe, database: Database): Promise<System> => {
  const port = await freePort()
  const { host, password, port: at, user } = database
  const url = `postgresql://${user}:${encodeURIComponent(password)}@${host}:${at}/${recipe.database}?sslmode=disable`
  const child = spawn(process.execPath, [...recipe.command], {
    env: { ...process.env, ...recipe.environment(port, url) },
    stdio: ["ignore", "pipe", "inherit"]
  })
  const ended = new Promise<void>((resolve) => child.once("exit", () => resolve()))
  // It ends with whoever measures it, also where that is ended in the middle.
  const end = () => void child.kill("SIGTERM")
  process.once("exit", end)
  child.once("exit", () => process.off("exit", end))
  await isUp(child, recipe.dialect.name)
  return {
    dialect: recipe.dialect,
    database: recipe.database,
    port,
    pid: child.pid!,
    stop: () => {
      end()
      return ended
    }
  }
}
