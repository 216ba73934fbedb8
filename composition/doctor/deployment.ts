/**
 * Everything around the tables: the server's settings, extensions, clocks, poolers, connections, migrations and accounts. It asks the
 * database and changes nothing.
 */

import type { Client } from "pg"
import type { ServerFacts } from "../../core/domain/compile/catalogue.ts"
import type { Compiled } from "../../core/domain/compile/compile.ts"
import { allSecrets } from "../../core/domain/secret.ts"
import type { Assembly } from "../assembly.ts"
import { mostConnections } from "../connections.ts"
import type { Databases } from "../database.ts"
import type { Settings } from "../environment.ts"
import type { Migration } from "../migrations.ts"
import type { Finding } from "./finding.ts"

const about = (
  level: Finding["level"],
  check: string,
  message: string,
  fix: string | null,
  sql: readonly string[] = []
): Finding => ({ level, check, resource: null, field: null, message, fix, sql })

/** pg_trgm serves `similar()` and makes search fast. */
export const checkExtensions = (compiled: Compiled, server: ServerFacts): readonly Finding[] => {
  const models = [...compiled.models.values()]
  const texts = models.some((model) =>
    model.fields.some((field) => field.kind === "text" && (field.searched || field.filterable))
  )
  return texts && server.extensions["pg_trgm"] === undefined
    ? [about(
      "warning",
      "extension",
      "The extension pg_trgm is not installed: similar() is refused, and search reads whole tables.",
      null,
      ["create extension if not exists pg_trgm;"]
    )]
    : []
}

/** How far the clocks are apart, in milliseconds, and how uncertain that is. */
const clockSkew = async (client: Client): Promise<{ readonly skew: number; readonly unsure: number }> => {
  let best = { skew: 0, unsure: Number.POSITIVE_INFINITY }
  for (let i = 0; i < 3; i++) {
    const before = Date.now()
    const { rows } = await client.query<{ now: string }>(
      "select (extract(epoch from clock_timestamp()) * 1000)::text as now"
    )
    const after = Date.now()
    const unsure = (after - before) / 2
    if (unsure < best.unsure) best = { skew: Number(rows[0]?.now) - (before + after) / 2, unsure }
  }
  return best
}

/** Tokens are accepted until 30 seconds after their end. Clocks that differ by more lock people out. */
export const checkClock = async (client: Client): Promise<readonly Finding[]> => {
  const { skew, unsure } = await clockSkew(client)
  const apart = Math.abs(skew) - unsure
  if (apart < 1_000) return []
  return [about(
    apart > 30_000 ? "error" : "warning",
    "clock",
    `The database's clock is ${(Math.abs(skew) / 1_000).toFixed(1)} s ${
      skew > 0 ? "ahead of" : "behind"
    } this machine's.`,
    "Run a time service (NTP) on both."
  )]
}

/** Connections that are left for the service, and whether its pools fit in. */
export const checkConnections = async (client: Client, settings: Settings): Promise<readonly Finding[]> => {
  const { rows } = await client.query<{ free: string }>(
    "select (current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int)::text as free"
  )
  const most = mostConnections(settings.connections, settings.adminDatabaseUrl !== null)
  const free = Number(rows[0]?.free)
  return most > free
    ? [about(
      "error",
      "connections",
      `One instance opens up to ${most} connections, and the server allows ${free} in all.`,
      "Set SERVICE_CONNECTIONS, raise max_connections, or put a pooler in between."
    )]
    : []
}

/** Whether a pooler drops what a session asks for when it connects. `probe` connects with such a setting and reports what became of it. */
export const checkPooler = async (
  settings: Settings,
  probe: () => Promise<"kept" | "dropped">
): Promise<readonly Finding[]> => {
  const outcome = await probe()
  if (outcome === "dropped" && settings.pooler === false) {
    return [about(
      "error",
      "pooler",
      "A transaction-mode pooler stands between the service and the database, and SERVICE_POOLER says no.",
      "Set SERVICE_POOLER=yes, or leave it out."
    )]
  }
  if (outcome === "dropped") {
    return [about(
      "note",
      "pooler",
      "A pooler stands between the service and the database: reads run in transactions of their own, statements are not kept prepared.",
      settings.pooler === true ? "Nothing to do." : "SERVICE_POOLER=yes saves finding it out at each start."
    )]
  }
  return settings.pooler === true
    ? [
      about(
        "note",
        "pooler",
        "No pooler was found, and SERVICE_POOLER says yes.",
        "Without it every read is a little faster."
      )
    ]
    : []
}

export const checkServer = (server: ServerFacts): readonly Finding[] => [
  ...(server.readOnly
    ? [
      about(
        "error",
        "server",
        "The database takes no writes (a standby, or set to be read-only).",
        "Connect to the primary."
      )
    ]
    : []),
  ...(server.collation.startsWith("libc ") && !/ (?:C|POSIX|C\.UTF-?8)$/i.test(server.collation)
    ? [about(
      "note",
      "collation",
      `Text is ordered by ${server.collation}, which changes with the system's C library: indexes on text must be rebuilt after such an upgrade.`,
      "Databases made with the builtin C.UTF-8 or an ICU locale do not have this."
    )]
    : [])
]

export const checkMigrations = (missing: readonly Migration[], databases: Databases): readonly Finding[] =>
  missing.length === 0 ? [] : [about(
    databases.embedded ? "note" : "error",
    "migration",
    `The service's own tables (${missing.map(({ name }) => name).join(", ")}) are missing or out of date.`,
    databases.embedded ? "They are made at the next start." : "Run: service migration --apply"
  )]

/** Fewest different characters of a secret: 32 random ones have more in any notation; in hex, all but one in twenty-six million. */
const leastVariety = 8

export const checkSettings = (
  settings: Settings,
  { secret, url }: Pick<Assembly, "secret" | "url">
): readonly Finding[] => {
  const { hostname, protocol } = new URL(url)
  const local = hostname === "localhost" || hostname === "127.0.0.1" || hostname === "[::1]"
  return [
    ...settings.unknown.map(({ fix, name }) =>
      about("warning", "variable", `Nothing reads the variable ${name}.`, fix)
    ),
    ...(allSecrets(secret).some((each) => new Set(each).size < leastVariety)
      ? [about(
        "warning",
        "secret",
        "AUTH_SECRET is easy to guess: it repeats a few characters.",
        "Set 32 random bytes in base64: openssl rand -base64 32. Cookies, signing keys and page tokens rest on it."
      )]
      : []),
    ...(protocol === "http:" && !local
      ? [
        about("warning", "url", `AUTH_URL is ${url}: passwords and tokens travel unencrypted.`, "Serve it with https.")
      ]
      : []),
    ...(protocol === "https:" && settings.trustedProxies === null
      ? [about(
        "note",
        "proxy",
        "AUTH_URL is https, so a proxy stands in front, and SERVICE_TRUSTED_PROXIES is not set: all clients look like that proxy.",
        "Set it to the number of proxies that append to X-Forwarded-For."
      )]
      : [])
  ]
}

/** Whether the database role may use the service's own tables. */
export const checkOwnRights = async (
  client: Client,
  schema: string,
  user: string
): Promise<readonly Finding[]> => {
  const { rows } = await client.query<{ name: string; fits: boolean }>(
    `select c.relname as name, has_schema_privilege(n.oid, 'usage') and has_table_privilege(c.oid, 'select')
       and (c.relname = 'migration' or has_table_privilege(c.oid, 'insert')
         and (c.relname = 'audit' or has_table_privilege(c.oid, 'update'))
         and has_table_privilege(c.oid, 'delete')) as fits
     from pg_class c join pg_namespace n on n.oid = c.relnamespace where n.nspname = $1 and c.relkind = 'r' order by c.relname`,
    [schema]
  )
  const refused = rows.filter(({ fits }) => !fits).map(({ name }) => name)
  const role = `"${user.replaceAll("\"", "\"\"")}"`
  return refused.length === 0 ? [] : [about(
    "error",
    "rights",
    `The database role ${user} may not use ${refused.map((name) => `${schema}.${name}`).join(", ")}.`,
    null,
    [
      `grant usage on schema ${schema} to ${role};`,
      `grant select, insert, update, delete on all tables in schema ${schema} to ${role};`,
      // Nobody changes an entry of the audit.
      ...(rows.some(({ name }) => name === "audit") ? [`revoke update on ${schema}.audit from ${role};`] : [])
    ]
  )]
}

/** Sequences behind serial columns and other defaults that the role may not draw from: creates would fail. */
export const checkSequences = async (
  client: Client,
  tables: readonly string[],
  user: string
): Promise<readonly Finding[]> => {
  const { rows } = await client.query<{ name: string }>(
    `select distinct s.oid::regclass::text as name from pg_attrdef a
       join pg_depend d on d.classid = 'pg_attrdef'::regclass and d.objid = a.oid and d.refclassid = 'pg_class'::regclass
       join pg_class s on s.oid = d.refobjid
     where a.adrelid = any (select to_regclass(t)::oid from unnest($1::text[]) t)
       and case when s.relkind = 'S' then not has_sequence_privilege(s.oid, 'usage') else false end order by 1`,
    [tables]
  )
  return rows.length === 0 ? [] : [about(
    "error",
    "rights",
    `The database role ${user} may not draw from ${rows.map(({ name }) => name).join(", ")}: creates fail.`,
    null,
    rows.map(({ name }) => `grant usage on sequence ${name} to "${user.replaceAll("\"", "\"\"")}";`)
  )]
}
