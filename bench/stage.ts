/**
 * What every kind of measurement stands on: PostgreSQL with its own data folder, the systems started on it, and which processors they have. It stops
 * what it started. It decides nothing about what is measured.
 */

import { spawnSync } from "node:child_process"
import { mkdirSync, readFileSync } from "node:fs"
import { availableParallelism, cpus } from "node:os"
import { join, resolve } from "node:path"
import { Client } from "pg"
import { openEmbedded } from "../composition/embedded/embedded.ts"
import { type Case, State, type World } from "./cases.ts"
import { type Database, type Size, sizes, sql, templateOf } from "./data.ts"
import { type Keys, makeKeys } from "./keys.ts"
import { canPin, pin } from "./machine.ts"
import type { Host, Running, WarmUp } from "./measure.ts"
import { type Recipe, serviceRecipe, start, type System } from "./systems.ts"

/** What the command line says, for every kind of measurement. */
export interface Options {
  readonly size: Size
  readonly kinds: readonly Case[]
  readonly connections: readonly number[]
  readonly rounds: number
  readonly seconds: number
  readonly warmUp: WarmUp
  /** Folder of a foreign reference. */
  readonly reference: string | undefined
  readonly source: boolean
  readonly flags: readonly string[]
  /** Data folder. */
  readonly folder: string
  readonly say: (line: string) => void
}

export interface Stage extends Host {
  readonly keys: Keys
  /** Starts the system of a recipe in so many processes, which share one database. */
  readonly start: (recipe: Recipe, world: World, processes?: number) => Promise<Running>
}

const root = join(import.meta.dirname, "..")

/** Where and when, as reports say it. */
export const placeAndTime = (): { readonly at: string; readonly machine: string } => ({
  at: new Date().toISOString(),
  machine: `${cpus().length} × ${cpus()[0]?.model.trim() ?? "unknown processor"}, Node ${process.versions.node}`
})

/** The recipe of the service as the options want it. */
export const serviceOf = ({ flags, source }: Options, keys: Keys, database?: string): Recipe =>
  serviceRecipe(keys, source, flags, database)

const build = (say: Options["say"]): void => {
  say("building the package …")
  const built = spawnSync(process.execPath, [join(root, "scripts", "build.mjs")], { stdio: "inherit" })
  if (built.status !== 0) throw new Error("The package does not build; --source runs the sources.")
}

/** Any number that nothing else locks. */
const runLock = 20_260_101

/** Two runs on one data folder would drop each other's databases; the lock goes with the connection. */
const claim = async (database: Database): Promise<Client> => {
  const client = new Client({ ...database, database: "postgres" })
  await client.connect()
  const { rows } = await client.query<{ free: boolean }>(`select pg_try_advisory_lock(${runLock}) as free`)
  if (rows[0]?.free === true) return client
  await client.end()
  throw new Error("Another run is using this data folder; --data names a different one.")
}

/**
 * Opens the stage, plays and clears it. `pinned`: where there are two processors or more, servers have the first and PostgreSQL and the load
 * generator the second, so that they do not take turns on one.
 */
export const onStage = async (
  options: Options,
  pinned: boolean,
  play: (stage: Stage) => Promise<void>
): Promise<void> => {
  const { folder, say, source } = options
  if (!source) build(say)
  const path = resolve(root, folder)
  mkdirSync(path, { recursive: true })
  const embedded = await openEmbedded(path, { tcp: true })
  const systems: System[] = []
  let claimed: Client | undefined
  try {
    const { host, password = "", port, user } = embedded
    const database: Database = { host, port, user, password }
    claimed = await claim(database)
    const postmaster = Number(readFileSync(join(path, "data", "postmaster.pid"), "utf8").split("\n")[0])
    const binds = pinned && canPin(availableParallelism())
    // This process before any system: binding it binds its descendants.
    if (binds) { for (const pid of [postmaster, process.pid]) pin(pid, 1) }
    await play({
      database,
      postmaster,
      say,
      keys: makeKeys(),
      start: async (recipe, world, processes = 1) => {
        const started: System[] = []
        for (let i = 0; i < processes; i++) {
          const system = await start(recipe, database)
          systems.push(system)
          started.push(system)
          if (binds) pin(system.pid, 0)
        }
        const [first, ...others] = started as [System, ...System[]]
        return {
          name: recipe.dialect.name,
          dialect: recipe.dialect,
          database: recipe.database,
          processes: [first, ...others],
          state: new State(world, first.port)
        }
      }
    })
  } finally {
    for (const system of systems) await system.stop()
    await claimed?.end()
    await embedded.release()
  }
}

/** The world of a size, read from its template. */
export const worldOf = async ({ database, keys }: Stage, size: Size): Promise<World> => {
  const orders = sizes[size]
  const page = Math.max(2, 2_000 * orders / 1_000_000)
  const template = templateOf(size)
  const ids = await sql(
    database,
    template,
    "select id::text from orders where deleted_at is null order by hashint8(id) limit 20000"
  )
  const [deep] = await sql(
    database,
    template,
    `select to_char(created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), id::text from orders
      where deleted_at is null and status = 'paid' and total > 100 order by created_at desc, id desc limit 1 offset ${
      (page - 1) * 50 - 1
    }`
  )
  if (deep === undefined) throw new Error(`The filtered list has no page ${page}.`)
  const [line] = await sql(
    database,
    template,
    `select p.name, l.id::text from lines l join products p on p.id = l.product_id and p.deleted_at is null
      order by p.name, l.id limit 1 offset ${(page - 1) * 50 - 1}`
  )
  if (line === undefined) throw new Error(`The lines have no page ${page}.`)
  return {
    keys,
    orders,
    seekTo: orders * 0.9,
    ids: ids.map(([id]) => String(id)),
    deep: { page, createdAt: String(deep[0]), id: String(deep[1]) },
    line: { name: String(line[0]), id: String(line[1]) }
  }
}
