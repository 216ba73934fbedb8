/**
 * The `migration` command: writes the SQL of the service's own tables into the project's migrations, once for each version, or applies the
 * project's migrations. Files that exist are never changed, and a file of the project's own is applied once.
 */

import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { join, relative, resolve } from "node:path"
import type { Schemas } from "../../core/domain/declare/schemas.ts"
import { keepsAccounts } from "../assembly.ts"
import {
  applyFiles,
  applyMigrations,
  authMigrations,
  findMissing,
  followingMigrations,
  jobsMigrations,
  lookFirst,
  migrationScript,
  refuseForeign,
  serviceMigrationOf
} from "../migrations.ts"
import type { Migration, MigrationFile } from "../migrations.ts"
import { CliFailure, print, printJson } from "./output.ts"
import { planFiles, planMigrations, type PlannedMigration, tellPlan } from "./plan.ts"
import { loadProject, type ProjectFlags, withDatabases, withPool } from "./project.ts"

const heading = ({ digest, name, version }: Migration): string => `-- service migration ${name} ${version} ${digest}`

const purposesIn = (schemas: Schemas): { readonly [name: string]: string } => ({
  service: "Tables that the service keeps beside yours: applied migrations, answers kept for Idempotency-Key.",
  auth: `Accounts, sessions, signing keys and API keys, in the schema ${schemas.auth}.`,
  jobs: `Jobs, in the schema ${schemas.jobs}. A later version may need stopped workers: it says so instead of waiting.`,
  second_factor: `Second factors of accounts, in the schema ${schemas.auth}.`,
  passkey: `Passkeys of accounts, in the schema ${schemas.auth}.`,
  webhooks: "Subscriptions that people make, and their deliveries.",
  events: `Where changes wait to be sent to those who subscribe, in the schema ${schemas.service}.`
})

const capturePurpose =
  "A trigger that keeps the changes of a table until they are sent to those who subscribe. Apply it after the migrations that make or change the table."

/** That of a table of versions. */
const versionsPurpose =
  "Versions of tracked records, in the schema history. Apply it after the migrations that make or change their table."

/** What goes to the database of accounts. */
const ofAccounts: ReadonlySet<Migration["name"]> = new Set(["auth", "second_factor", "passkey"])

/** The folder's files that people wrote, in order of their names; those that this command wrote are applied by their content. */
const ownFiles = (folder: string): readonly MigrationFile[] =>
  !existsSync(folder) ? [] : readdirSync(folder).filter((name) => name.endsWith(".sql")).toSorted().flatMap((name) => {
    const text = readFileSync(join(folder, name), "utf8")
    return text.startsWith("-- service migration ") ? [] : [{ name, text }]
  })

/** Writes what is missing in the folder; gives the paths of new files. */
const writeFiles = (folder: string, migrations: readonly Migration[], separate: boolean): readonly string[] => {
  mkdirSync(folder, { recursive: true })
  const names = readdirSync(folder).filter((name) => name.endsWith(".sql"))
  const headings = new Set(names.map((name) => readFileSync(join(folder, name), "utf8").split("\n", 1)[0]))
  let number = Math.max(0, ...names.map((name) => Number(/^[0-9]+/.exec(name)?.[0] ?? 0)))
  return migrations.flatMap((migration) => {
    if (headings.has(heading(migration))) return []
    number += 1
    const path = join(folder, `${String(number).padStart(3, "0")}_${migration.name}.sql`)
    const place = separate && ofAccounts.has(migration.name)
      ? "\n-- Apply it to the database of ADMIN_DATABASE_URL."
      : ""
    const text = `${heading(migration)}\n-- ${
      purposesIn(migration.schemas)[migration.name] ??
        (migration.name.startsWith("events_") ? capturePurpose : versionsPurpose)
    }${place}\n-- Safe to apply again.\n\n${migrationScript(migration)}`
    writeFileSync(path, text, { flag: "wx" })
    return [path]
  })
}

export const migration = async (
  flags: ProjectFlags & {
    readonly apply: boolean
    readonly plan: boolean
    readonly out: string | undefined
    readonly json: boolean
  }
): Promise<void> => {
  if (flags.apply && flags.plan) throw new CliFailure("Give --plan or --apply, not both.")
  const project = await loadProject(flags, true)
  const { settings } = project
  const accounts = keepsAccounts(project) ? authMigrations(project.compiled) : []
  const own = [serviceMigrationOf(project.compiled), ...jobsMigrations(project.compiled)]
  const wanted = [...own, ...accounts]
  const versions = followingMigrations(project.compiled)
  const separate = settings.adminDatabaseUrl !== null

  const folder = resolve(settings.folder, flags.out ?? "db/migrations")

  if (flags.plan) {
    return withDatabases(settings, project.config, async ({ authUrl, url }) => {
      const sets = authUrl === url
        ? [{ database: "application", url, migrations: [...wanted, ...versions] } as const]
        : [
          { database: "application", url, migrations: [...own, ...versions] } as const,
          { database: "accounts", url: authUrl, migrations: accounts } as const
        ]
      const planned: PlannedMigration[] = []
      for (const { database, migrations, url: at } of sets) {
        planned.push(...await withPool(at, (pool) => planMigrations(pool, database, migrations)))
      }
      const files = await withPool(url, (pool) => planFiles(pool, ownFiles(folder), project.compiled.schemas.service))
      tellPlan([...planned, ...files], flags.json)
    })
  }

  if (!flags.apply) {
    const written = writeFiles(folder, [...wanted, ...versions], separate).map((path) =>
      relative(settings.folder, path)
    )
    if (flags.json) return printJson({ written })
    if (written.length === 0) return print(`Nothing to write: ${relative(settings.folder, folder)} is up to date.`)
    for (const path of written) print(`Wrote ${path}`)
    return print("Apply them with psql -f, or all at once with: service migration --apply")
  }

  await withDatabases(settings, project.config, async ({ authUrl, url }) => {
    const applied: string[] = []
    const parts = authUrl === url
      ? [{ url, migrations: wanted }]
      : [
        { url, migrations: own },
        { url: authUrl, migrations: accounts }
      ]
    // Looks at all of them first: nothing is made anywhere where something stands in the way somewhere.
    const foreign = []
    for (const { migrations, url: at } of [...parts, { url, migrations: versions }]) {
      foreign.push(...(await withPool(at, (pool) => lookFirst(pool, migrations))).foreign)
    }
    refuseForeign(foreign)
    const applyTo = (at: string, migrations: readonly Migration[]): Promise<void> =>
      withPool(at, async (pool) => {
        const made = await applyMigrations(pool, await findMissing(pool, migrations))
        applied.push(...made.map(({ name, version }) => `${name} ${version}`))
      })
    for (const part of parts) await applyTo(part.url, part.migrations)
    const { applied: files, changed } = await withPool(
      url,
      (pool) => applyFiles(pool, ownFiles(folder), project.compiled)
    )
    applied.push(...files)
    // Last, as their columns follow those of the project's own tables.
    await applyTo(url, versions)
    if (flags.json) return printJson({ applied, changed })
    for (const name of applied) print(`Applied ${name}`)
    for (const name of changed) print(`Not applied again: ${name} has changed since it was applied`)
    if (applied.length === 0) print("Nothing to apply: the database is up to date.")
  })
}
