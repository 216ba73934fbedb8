/**
 * Settings from outside of the code: environment variables and the project's `.env` file. It decides about names, defaults and valid
 * values, and reports everything that is wrong together. It opens nothing and connects to nothing.
 */

import { existsSync, readFileSync } from "node:fs"
import { join, resolve } from "node:path"
import * as util from "node:util"
import { withOneHost } from "../adapters/postgres/address.ts"
import { isOriginPattern, isPlainUrl } from "../core/domain/account/origin.ts"
import { mostAuditDays } from "../core/domain/audit/entry.ts"
import type { Refusal } from "../core/domain/declare/refusal.ts"
import { didYouMean, quoteValue, shownAddress } from "../core/domain/declare/refusal.ts"
import { providerVariable } from "../core/domain/file/provider.ts"
import { readDuration } from "../core/domain/file/size.ts"
import { isMailAddress } from "../core/domain/mail/message.ts"
import { smtpProblem } from "../core/domain/mail/server.ts"
import { type PoolSizes, shareConnections, usualSizes } from "./connections.ts"
import type { KeyPair } from "./files.ts"

/** How log lines are written: JSON for machines, short lines for people, or not at all. */
export type LogFormat = "json" | "pretty" | "off"

/** What a deployment sets (`docs/guides/deployment.md`). Null: not set. */
export interface Settings {
  /** The project's folder, absolute. */
  readonly folder: string
  /** `SERVICE_DATA`: folder of everything the service keeps itself, absolute; default `data`. */
  readonly data: string
  /** `DATABASE_URL`; null: the embedded database in `<data>/postgres`. */
  readonly databaseUrl: string | null
  /** `DATABASE_READ_URLS`: replicas that reads go to. */
  readonly readUrls: readonly string[]
  /** `SERVICE_READ_LAG_SECONDS`: how far behind a replica may be that is read from. Null: 10. */
  readonly readLagSeconds: number | null
  /** `ADMIN_DATABASE_URL`: the database of accounts where it is another one. */
  readonly adminDatabaseUrl: string | null
  /** `AUTH_SECRET`. */
  readonly secret: string | null
  /** `AUTH_SECRET_ACCEPTED`: further secrets, which only open. */
  readonly acceptedSecrets: readonly string[]
  /** `SERVICE_FORMS_SECRET`: seals challenges of public forms instead of `AUTH_SECRET`. */
  readonly formsSecret: string | null
  /** `SERVICE_FORMS_SECRET_ACCEPTED`: further secrets, which only open. */
  readonly acceptedFormsSecrets: readonly string[]
  /** `AUTH_URL`. */
  readonly url: string | null
  /** `SERVICE_HOST`: the address to listen on, default 127.0.0.1. */
  readonly host: string
  /** `PORT`. */
  readonly port: number | null
  /** `TRUSTED_ORIGINS`: further origins whose pages may sign in. */
  readonly trustedOrigins: readonly string[]
  /** `SERVICE_TRUSTED_PROXIES`: proxies in front that append to `X-Forwarded-For`. */
  readonly trustedProxies: number | null
  /** `SERVICE_SOURCES`: further sources, as `options.sources` has them; what they say is checked with those. */
  readonly sources: readonly unknown[]
  /** `SERVICE_PLUGINS`: further manifests of plugins, as `options.plugins` has them. */
  readonly plugins: readonly unknown[]
  /** `SERVICE_CORS_ORIGINS`: further origins whose pages may call the API. */
  readonly corsOrigins: readonly string[]
  /** `SERVICE_POOLER`: whether a transaction-mode pooler stands in between; null: found out. */
  readonly pooler: boolean | null
  /** `SERVICE_READ_CONNECTIONS`, `SERVICE_WRITE_CONNECTIONS`, `SERVICE_AUTH_CONNECTIONS`, `SERVICE_JOBS_CONNECTIONS`, within `SERVICE_CONNECTIONS`. */
  readonly connections: PoolSizes
  /** `SERVICE_WAIT_MS`: longest wait of a request for a free database connection, then 503. Null: 5000. */
  readonly waitMs: number | null
  /** `SERVICE_MAX_IN_FLIGHT`: requests worked on at once; past it 503. Null: 1024. */
  readonly maxInFlight: number | null
  /** `SERVICE_REQUEST_TIMEOUT_MS`: longest time for a whole request to arrive, body included. Null: 30000. */
  readonly requestTimeoutMs: number | null
  /** `SERVICE_DRAIN_SECONDS`: how long the service goes on after SIGTERM while `/readyz` says 503. Null: 0 on a terminal, else 5. */
  readonly drainSeconds: number | null
  /** `SERVICE_METRICS_PORT`: a port of its own for `/metrics`; `SERVICE_METRICS_TOKEN`: whoever sends it gets `/metrics` at the port of the API. Null: not there. */
  readonly metrics: { readonly port: number | null; readonly token: string | null }
  /** `SERVICE_LOG`; null: `pretty` on a terminal, else `json`. */
  readonly log: LogFormat | null
  /** `SERVICE_AUDIT_DAYS`: days that entries of the audit are kept. Null: 365. */
  readonly auditDays: number | null
  /** `SERVICE_READS_ONLY`: this process serves reads of a standby; it runs no jobs and no cleanup. */
  readonly readsOnly: boolean
  /** `SERVICE_JOBS`: whether this process runs jobs beside the API; default yes. */
  readonly jobs: boolean
  /** `SERVICE_JOBS_DRAIN_TOKEN`: the token of `POST /api/jobs/drain`; null: there is no such route. */
  readonly drainToken: string | null
  /** `SERVICE_SMTP_URL` and `SERVICE_MAIL_FROM`; null: no mail is sent. */
  readonly mail: { readonly url: string; readonly from: string } | null
  /** What is said of files. */
  readonly files: {
    /** `SERVICE_FILES_<NAME>`: addresses of providers by the name of their variable. */
    readonly addresses: { readonly [variable: string]: string }
    /** `SERVICE_FILES_RETENTION` in milliseconds; null: not set. */
    readonly retention: number | null
    /** `SERVICE_FILES_SECRET`. */
    readonly secret: string | null
    /** `SERVICE_FILES_SECRET_ACCEPTED`: further secrets, which only open. */
    readonly acceptedSecrets: readonly string[]
    /** `SERVICE_FILES_CLEANUP_MINUTES`, default 60; 0: no runs in the server. */
    readonly cleanupMinutes: number
    /** The keys of a provider's bucket: its own, else those of `S3_…`, else those of `CLOUD_…`. Half a pair is none. */
    readonly keys: (provider: string) => KeyPair | null
  }
  /** Variables with the prefix of the service's own that nothing reads, each with the name that may have been meant. */
  readonly unknown: ReadonlyArray<{ readonly name: string; readonly fix: string }>
}

/** The public URL where none is configured. */
export const defaultUrl = "http://localhost:5173"

const logFormats: readonly LogFormat[] = ["json", "pretty", "off"]

/** Whether a text has the form of a URL of PostgreSQL. What it says is checked with the databases. */
const isDatabaseUrl = (text: string): boolean => /^postgres(?:ql)?:\/\/./.test(text) && URL.canParse(withOneHost(text))

/** A JSON list of a variable; what is in it is checked with the configuration. */
const readJsonList = (
  name: string,
  text: string | null,
  example: string,
  refuse: (message: string, fix: string) => void
): readonly unknown[] => {
  if (text === null) return []
  try {
    const list: unknown = JSON.parse(text)
    if (Array.isArray(list)) return list
  } catch {
    // Text that is no JSON is refused below, as it is no list.
  }
  refuse(`${name} is not a JSON list.`, `Write ${example}.`)
  return []
}

/**
 * Reads settings from variables. Everything wrong is a refusal, with defaults in its place, so that further checks can go on. Secrets
 * and passwords are never repeated.
 */
export const readSettings = (
  env: { readonly [name: string]: string | undefined },
  folder: string
): { readonly settings: Settings; readonly refusals: readonly Refusal[] } => {
  const refusals: Refusal[] = []
  const refuse = (message: string, fix: string): void => {
    refusals.push({ resource: null, field: null, message, fix })
  }
  const read = new Set<string>()
  const text = (name: string): string | null => {
    read.add(name)
    const value = env[name]?.trim()
    return value === undefined || value === "" ? null : value
  }
  const count = (name: string, least: number, most: number): number | null => {
    const value = text(name)
    if (value === null) return null
    const number = /^[0-9]{1,9}$/.test(value) ? Number(value) : Number.NaN
    if (number >= least && number <= most) return number
    refuse(`${name} is ${quoteValue(value)}.`, `Set a whole number from ${least} to ${most}, or leave it out.`)
    return null
  }
  const list = (name: string, fits: (item: string) => boolean, fix: string): readonly string[] => {
    const items = (text(name) ?? "").split(",").map((item) => item.trim().replace(/\/$/, "")).filter((item) =>
      item !== ""
    )
    return items.filter((item) => {
      if (fits(item)) return true
      refuse(`${name} has ${shownAddress(item)}, which is not an origin.`, fix)
      return false
    })
  }
  const database = (name: string): string | null => {
    const value = text(name)
    if (value === null || isDatabaseUrl(value)) return value
    refuse(
      `${name} is not the URL of a PostgreSQL database.`,
      "Write postgres://user:password@host:5432/database; percent-encode special characters of the password."
    )
    return null
  }

  const secret = text("AUTH_SECRET")
  if (secret !== null && secret.length < 32) {
    refuse("AUTH_SECRET is shorter than 32 characters.", "Set 32 random bytes in base64: openssl rand -base64 32.")
  }
  const formsSecret = text("SERVICE_FORMS_SECRET")
  if (formsSecret !== null && formsSecret.length < 32) {
    refuse(
      "SERVICE_FORMS_SECRET is shorter than 32 characters.",
      "Set 32 random bytes in base64 (openssl rand -base64 32), the same in every instance; or leave it out."
    )
  }
  const accepted = (name: string): readonly string[] => {
    const all = (text(name) ?? "").split(/[\s,]+/).filter((each) => each !== "")
    if (all.every((each) => each.length >= 32)) return all
    refuse(
      `${name} has a secret of less than 32 characters.`,
      "Write further secrets that are still good, or soon will be, separated by commas; or leave it out."
    )
    return []
  }
  let url = text("AUTH_URL")
  if (url !== null && !isPlainUrl(url)) {
    refuse(
      `AUTH_URL is ${shownAddress(url)}, not the http(s) URL of an API.`,
      "Set the public URL without password and query, such as https://admin.example.com."
    )
    url = null
  }
  const pooler = text("SERVICE_POOLER")
  if (pooler !== null && !["auto", "yes", "no"].includes(pooler)) {
    refuse(`SERVICE_POOLER is ${quoteValue(pooler)}.`, "Set yes, no or auto.")
  }
  const jobs = text("SERVICE_JOBS")
  if (jobs !== null && !["true", "false"].includes(jobs)) {
    refuse(`SERVICE_JOBS is ${quoteValue(jobs)}.`, "Set true or false; without it, jobs run beside the API.")
  }
  const readsOnly = text("SERVICE_READS_ONLY")
  if (readsOnly !== null && !["true", "false"].includes(readsOnly)) {
    refuse(`SERVICE_READS_ONLY is ${quoteValue(readsOnly)}.`, "Set true or false; without it, the service also writes.")
  }
  const secretToken = (name: string): string | null => {
    const value = text(name)
    if (value === null || (value.length >= 16 && !/\s/.test(value))) return value
    refuse(
      `${name} is not a text of at least 16 characters without spaces.`,
      "Set 32 random bytes in base64: openssl rand -base64 32."
    )
    return null
  }
  const smtpUrl = text("SERVICE_SMTP_URL")
  const mailFrom = text("SERVICE_MAIL_FROM")
  if (smtpUrl !== null) {
    const problem = smtpProblem(smtpUrl)
    if (problem !== null) refuse(`SERVICE_SMTP_URL ${problem.message}`, problem.fix)
  }
  if (mailFrom !== null && !isMailAddress(mailFrom)) {
    refuse("SERVICE_MAIL_FROM is not one address.", "Write Shop <shop@example.com>, or the address alone.")
  }
  if ((smtpUrl === null) !== (mailFrom === null)) {
    refuse(
      `${smtpUrl === null ? "SERVICE_SMTP_URL" : "SERVICE_MAIL_FROM"} is not set, and mail needs both.`,
      "Set SERVICE_SMTP_URL to the mail server and SERVICE_MAIL_FROM to the sender, or neither."
    )
  }
  const log = text("SERVICE_LOG")
  const logFormat = logFormats.find((format) => format === log) ?? null
  if (log !== null && logFormat === null) refuse(`SERVICE_LOG is ${quoteValue(log)}.`, "Set json, pretty or off.")

  const sources = readJsonList(
    "SERVICE_SOURCES",
    text("SERVICE_SOURCES"),
    "[{\"url\":\"https://stock.example.com/api/v1\",\"label\":\"Stock\",\"resources\":[\"items\"]}]",
    refuse
  )
  const plugins = readJsonList(
    "SERVICE_PLUGINS",
    text("SERVICE_PLUGINS"),
    "[\"https://plugins.example.com/map/manifest.json\"]",
    refuse
  )
  // By spaces and lines only: a URL may hold commas.
  const readUrls = (text("DATABASE_READ_URLS") ?? "").split(/\s+/).filter((url) => url !== "")
  const settings: Omit<Settings, "unknown"> = {
    folder: resolve(folder),
    data: resolve(folder, text("SERVICE_DATA") ?? "data"),
    databaseUrl: database("DATABASE_URL"),
    readUrls,
    readLagSeconds: count("SERVICE_READ_LAG_SECONDS", 1, 600),
    adminDatabaseUrl: database("ADMIN_DATABASE_URL"),
    secret,
    acceptedSecrets: accepted("AUTH_SECRET_ACCEPTED"),
    formsSecret,
    acceptedFormsSecrets: accepted("SERVICE_FORMS_SECRET_ACCEPTED"),
    sources,
    plugins,
    url,
    host: text("SERVICE_HOST") ?? "127.0.0.1",
    port: count("PORT", 0, 65_535),
    trustedOrigins: list(
      "TRUSTED_ORIGINS",
      isOriginPattern,
      "Write scheme and host, such as https://app.example.com or https://*.example.com, separated by commas."
    ),
    trustedProxies: count("SERVICE_TRUSTED_PROXIES", 0, 100),
    corsOrigins: list(
      "SERVICE_CORS_ORIGINS",
      (item) => !item.includes("*") && isOriginPattern(item),
      "Write scheme, host and port as browsers send them, such as https://app.example.com; there is no wildcard."
    ),
    pooler: pooler === "yes" ? true : pooler === "no" ? false : null,
    connections: poolSizes(env, count, refuse, readUrls.length),
    waitMs: count("SERVICE_WAIT_MS", 1, 600_000),
    maxInFlight: count("SERVICE_MAX_IN_FLIGHT", 1, 1_000_000),
    requestTimeoutMs: count("SERVICE_REQUEST_TIMEOUT_MS", 100, 86_400_000),
    auditDays: count("SERVICE_AUDIT_DAYS", 1, mostAuditDays),
    drainSeconds: count("SERVICE_DRAIN_SECONDS", 0, 3_600),
    metrics: { port: count("SERVICE_METRICS_PORT", 0, 65_535), token: secretToken("SERVICE_METRICS_TOKEN") },
    readsOnly: readsOnly === "true",
    jobs: jobs !== "false" && readsOnly !== "true",
    drainToken: secretToken("SERVICE_JOBS_DRAIN_TOKEN"),
    mail: smtpUrl === null || mailFrom === null ? null : { url: smtpUrl, from: mailFrom },
    log: logFormat,
    files: fileSettings(env, text, count, accepted, refuse, read)
  }
  // Not refused, because other tools may use such names.
  const unknown = Object.keys(env).filter((name) => name.startsWith("SERVICE_") && !read.has(name)).map((name) => ({
    name,
    fix: didYouMean(name, [...read].filter((each) => each.startsWith("SERVICE_")))
  }))
  return { settings: { ...settings, unknown }, refusals }
}

/** The sizes of the pools. A bound that is too small for them is refused. */
const poolSizes = (
  env: { readonly [name: string]: string | undefined },
  count: (name: string, least: number, most: number) => number | null,
  refuse: (message: string, fix: string) => void,
  replicas: number
): PoolSizes => {
  const given = {
    replica: count("SERVICE_REPLICA_CONNECTIONS", 1, 1_000),
    replicas,
    read: count("SERVICE_READ_CONNECTIONS", 1, 1_000),
    write: count("SERVICE_WRITE_CONNECTIONS", 1, 1_000),
    auth: count("SERVICE_AUTH_CONNECTIONS", 1, 1_000),
    jobs: count("SERVICE_JOBS_CONNECTIONS", 1, 1_000)
  }
  const bound = count("SERVICE_CONNECTIONS", 1, 10_000)
  const { least, sizes } = shareConnections(given, bound, (env["ADMIN_DATABASE_URL"] ?? "").trim() !== "")
  if (sizes === null) {
    refuse(
      `SERVICE_CONNECTIONS is ${bound}, and the pools of one process need at least ${least}.`,
      `Set at least ${least}, or lower the size of a pool.`
    )
  }
  return sizes ?? usualSizes
}

/** Variables about files that name no provider. */
const ownFileVariables = [
  "SERVICE_FILES_RETENTION",
  "SERVICE_FILES_SECRET",
  "SERVICE_FILES_SECRET_ACCEPTED",
  "SERVICE_FILES_CLEANUP_MINUTES"
]

const fileSettings = (
  env: { readonly [name: string]: string | undefined },
  text: (name: string) => string | null,
  count: (name: string, least: number, most: number) => number | null,
  accepted: (name: string) => readonly string[],
  refuse: (message: string, fix: string) => void,
  read: Set<string>
): Settings["files"] => {
  const duration = text("SERVICE_FILES_RETENTION")
  const retention = duration === null ? null : readDuration(duration)
  if (duration !== null && retention === null) {
    refuse(`SERVICE_FILES_RETENTION is ${quoteValue(duration)}.`, "Set a duration such as 1d, 12 hours or 0.")
  }
  const secret = text("SERVICE_FILES_SECRET")
  if (secret !== null && secret.length < 32) {
    refuse(
      "SERVICE_FILES_SECRET is shorter than 32 characters.",
      "Set 32 random bytes in base64: openssl rand -base64 32."
    )
  }
  const addresses: Record<string, string> = {}
  for (const name of Object.keys(env)) {
    if (!/^SERVICE_FILES_[A-Z0-9_]+$/.test(name) || ownFileVariables.includes(name)) continue
    read.add(name)
    const value = text(name)
    if (value !== null && !/_(?:ACCESS_KEY_ID|SECRET_ACCESS_KEY)$/.test(name)) addresses[name] = value
  }
  const pair = (prefix: string): KeyPair | null => {
    const [accessKeyId, secretAccessKey] = [text(`${prefix}_ACCESS_KEY_ID`), text(`${prefix}_SECRET_ACCESS_KEY`)]
    return accessKeyId === null || secretAccessKey === null ? null : { accessKeyId, secretAccessKey }
  }
  return {
    addresses,
    retention,
    secret,
    acceptedSecrets: accepted("SERVICE_FILES_SECRET_ACCEPTED"),
    cleanupMinutes: count("SERVICE_FILES_CLEANUP_MINUTES", 0, 525_600) ?? 60,
    keys: (provider) => pair(providerVariable(provider)) ?? pair("S3") ?? pair("CLOUD")
  }
}

/** The port to listen on: `PORT`, else the port written in the public URL, else 5173. */
export const portOf = (settings: Pick<Settings, "port">, publicUrl: string): number => {
  if (settings.port !== null) return settings.port
  const written = /^https?:\/\/[^/]*:([0-9]+)(?:[/?#]|$)/i.exec(publicUrl)?.[1]
  return written === undefined ? 5173 : Number(written)
}

/** Variables that came from an `.env` file, so that another reading of the file may change them. */
const fromFile = new Map<string, string>()

/** The project's `.env` file, whether it exists or not. */
export const envFile = (folder: string): string => join(folder, ".env")

/**
 * Puts the variables of `<folder>/.env` into the environment. A variable that is really set wins over the file. One from an earlier reading
 * of the file is replaced.
 */
export const loadEnvFile = (folder: string): void => {
  const path = envFile(folder)
  // Some editors begin a file with a byte order mark, which would become part of the first name.
  const values = existsSync(path) ? util.parseEnv(readFileSync(path, "utf8").replace(/^\uFEFF/, "")) : {}
  for (const [name, value] of fromFile) {
    if (process.env[name] === value && values[name] === undefined) delete process.env[name]
  }
  for (const [name, value] of Object.entries(values)) {
    if (value === undefined) continue
    const current = process.env[name]
    if (current !== undefined && current !== fromFile.get(name)) continue
    process.env[name] = value
    fromFile.set(name, value)
  }
}

/** Reads the settings of a project: from the given variables, else from the process's own and those of the `.env` file. */
export const settingsOf = (options: {
  readonly folder?: string
  readonly env?: { readonly [name: string]: string | undefined }
}): ReturnType<typeof readSettings> => {
  const folder = options.folder ?? process.cwd()
  if (options.env === undefined) loadEnvFile(folder)
  return readSettings(options.env ?? process.env, folder)
}
