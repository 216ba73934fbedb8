/**
 * Which databases the service works on and who holds them: the server that a URL names, or the embedded one, which is started when it is
 * needed. It runs no statement of the application.
 */

import { randomBytes } from "node:crypto"
import { chmodSync, existsSync, linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import type { ClientConfig, Pool, PoolClient } from "pg"
import { AddressError, readAddress, readReplica, tlsOptionsOf } from "../adapters/postgres/address.ts"
import { type SilenceWatch, watchSilence } from "../adapters/postgres/silence.ts"
import { pgAddressOf } from "../adapters/postgres/socket.ts"
import type { Refusal } from "../core/domain/declare/refusal.ts"
import type { Settings } from "./environment.ts"
import { StartupError } from "./startup-error.ts"

/** Databases held for this process. */
export interface Databases {
  /** The application's tables. */
  readonly url: string
  /** Accounts and sessions: the same database unless `ADMIN_DATABASE_URL` is set. */
  readonly authUrl: string
  /** Whether `url` is the embedded database: then the service is its owner and keeps its own tables current. */
  readonly embedded: boolean
  /** Lets the embedded database go; it shuts down with its last user. Close pools first. */
  readonly release: () => Promise<void>
}

/** What is wrong with the URLs of replicas. `name`: what holds them. */
export const refuseReadUrls = (urls: readonly string[], name: string, files: boolean): readonly Refusal[] =>
  urls.flatMap((url, at) => {
    try {
      const { address } = readReplica(url)
      if (files) tlsOptionsOf(address)
      return []
    } catch (error) {
      if (!(error instanceof AddressError)) throw error
      const message = `${name}: URL ${at + 1} of ${urls.length} ${error.problem}`
      return [{ resource: null, field: null, message, fix: error.fix }]
    }
  })

/** What is wrong with the URLs, and with the files that they name when `files` is true. `configured` as in `openDatabases`. */
export const refuseUrls = (
  settings: Pick<Settings, "adminDatabaseUrl" | "databaseUrl" | "readUrls">,
  configured: string | undefined,
  files: boolean
): readonly Refusal[] => [
  ...refuseReadUrls(settings.readUrls, "DATABASE_READ_URLS", files),
  ...([
    configured === undefined ? ["DATABASE_URL", settings.databaseUrl] : ["The configuration's db", configured],
    ["ADMIN_DATABASE_URL", settings.adminDatabaseUrl]
  ] as const).flatMap(([name, url]) => {
    if (typeof url !== "string") return []
    try {
      const address = readAddress(url)
      if (files) tlsOptionsOf(address)
      return []
    } catch (error) {
      if (!(error instanceof AddressError)) throw error
      return [{ resource: null, field: null, message: `${name} ${error.problem}`, fix: error.fix }]
    }
  })
]

/**
 * Opens what the settings name. `configured` is the configuration's own `db`, which wins over `DATABASE_URL`. Throws `StartupError` for a URL
 * that cannot be used.
 */
export const openDatabases = async (
  settings: Settings,
  configured: string | undefined,
  log: (line: string) => void
): Promise<Databases> => {
  const refusals = refuseUrls(settings, configured, true)
  if (refusals.length > 0) throw new StartupError(refusals)
  const url = configured ?? settings.databaseUrl
  if (url !== null) {
    return { url, authUrl: settings.adminDatabaseUrl ?? url, embedded: false, release: () => Promise.resolve() }
  }
  const { openEmbedded } = await import("./embedded/embedded.ts")
  const held = await openEmbedded(join(settings.data, "postgres"), { log })
  return { url: held.url, authUrl: settings.adminDatabaseUrl ?? held.url, embedded: true, release: held.release }
}

/** The part of a pool that the auth store and migrations use. */
export interface LazyPool {
  readonly connect: () => Promise<PoolClient>
  readonly end: () => Promise<void>
}

/**
 * A `pg` pool that is made, and its driver loaded, when the first connection is needed. `silenceMs`: a connection on which an answer is due
 * for so long is closed. Left out, statements may take as long as they like.
 */
export const openPool = (url: string, connections: number, silenceMs?: number): LazyPool => {
  let made: Promise<Pool> | undefined
  let watch: SilenceWatch | null = null
  const make = async (): Promise<Pool> => {
    const { default: pg } = await import("pg")
    if (silenceMs !== undefined) watch = watchSilence(silenceMs)
    const address = pgAddressOf(url)
    /** A client with a socket that the watch knows. */
    class WatchedClient extends pg.Client {
      constructor(config: ClientConfig = {}) {
        const socket = address.stream()
        super({ ...config, stream: () => socket })
        const line = { isDue: () => Reflect.get(this, "readyForQuery") === false, wires: () => [socket] }
        watch?.add(line)
        socket.once("close", () => watch?.remove(line))
      }
    }
    const pool = new pg.Pool({
      ...address,
      ...(watch === null ? {} : { Client: WatchedClient }),
      max: connections,
      connectionTimeoutMillis: 5_000,
      idleTimeoutMillis: 60_000,
      application_name: "service",
      // The driver reads times in this form only. Only the ISO style is set: the order of day and month stays that of the database, for
      // migrations of the project's own. Not in `verify`: a connection whose caller stops waiting meanwhile would never be released there, and the
      // pool could not end. The pool waits for what this returns, though its type does not say so.
      onConnect: (client): unknown => client.query("set datestyle = 'ISO'")
    })
    // A broken connection is replaced at its next use, and the statement on it fails. Without listeners, one for idle connections and one
    // for those in use, the error event would end the process.
    pool.on("error", () => {})
    pool.on("connect", (client) => void client.on("error", () => {}))
    return pool
  }
  return {
    connect: async () => (await (made ??= make())).connect(),
    end: async () => {
      if (made !== undefined) await (await made).end()
      watch?.close()
    }
  }
}

/**
 * The deployment's secret where none is set and the database is the embedded one. It is made once and kept beside the database, readable
 * for its owner only. Processes that make it at the same time agree on one.
 */
export const keptSecret = (data: string): string => {
  const path = join(data, "secret")
  if (!existsSync(path)) {
    // As root the embedded server runs as another user, who must get through.
    mkdirSync(data, { recursive: true, mode: process.getuid?.() === 0 ? 0o711 : 0o700 })
    const draft = `${path}.${process.pid}`
    writeFileSync(draft, `${randomBytes(32).toString("base64")}\n`, { mode: 0o600 })
    chmodSync(draft, 0o600)
    try {
      linkSync(draft, path)
    } catch (error) {
      if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw error
    } finally {
      rmSync(draft, { force: true })
    }
  }
  return readFileSync(path, "utf8").trim()
}
