/**
 * What most commands begin with: the project's configuration, its settings, its databases, its accounts. Everything opened here is closed
 * when the work is done. It prints nothing.
 */

import type { Auth } from "../../adapters/auth/auth.ts"
import type { Config } from "../../core/domain/declare/config.ts"
import { assemble, keepsAccounts, makeAuth } from "../assembly.ts"
import type { Assembly } from "../assembly.ts"
import { findConfig, loadConfig } from "../config-file.ts"
import { openDatabases, openPool } from "../database.ts"
import type { Databases, LazyPool } from "../database.ts"
import type { Settings } from "../environment.ts"
import { settingsOf } from "../environment.ts"
import { applyMigrations, authMigrations, findMissing } from "../migrations.ts"
import { fileProblem, StartupError } from "../startup-error.ts"
import { isDown, refusalOf } from "../unreachable.ts"
import { CliFailure } from "./output.ts"

/** Flags that every command about a project has. */
export interface ProjectFlags {
  /** Folder of the project. */
  readonly project: string
  /** The configuration file where it is not the usual one. */
  readonly config: string | undefined
}

/** Flags of commands about accounts. */
export interface AccountFlags extends ProjectFlags {
  /** Whose accounts, where each tenant has its own. */
  readonly tenant?: string | undefined
}

/** The tenant whose accounts are meant; null: there is one set of accounts. */
const tenantOf = ({ compiled: { tenants } }: Assembly, flags: AccountFlags): string | null => {
  const tenant = flags.tenant ?? null
  if (tenants === null) {
    if (tenant === null) return null
    throw new CliFailure("This project has one set of accounts. Leave --tenant out.")
  }
  const known = [...tenants.known ?? []]
  if (tenant !== null && known.includes(tenant)) return tenant
  throw new CliFailure(
    `${
      tenant === null ? "Each tenant has its own accounts." : `There is no tenant "${tenant}".`
    } Give --tenant, one of: ${known.slice(0, 20).join(", ")}${known.length > 20 ? ", …" : ""}.`
  )
}

export interface Project extends Assembly {
  readonly settings: Settings
  /** The configuration file. */
  readonly path: string
  /** It and everything it imports. */
  readonly files: readonly string[]
}

/** Loads a project. Throws `ConfigFileError` or `StartupError`. Work that signs nothing is `secretless`. */
export const loadProject = async (flags: ProjectFlags, secretless = false): Promise<Project> => {
  const read = settingsOf({ folder: flags.project })
  const { config, files, path } = await loadConfig(findConfig(read.settings.folder, flags.config))
  return { ...assemble(config, read, secretless), settings: read.settings, path, files }
}

/** What the database says about a right that its role lacks, or about writes that it does not take; null for any other error. */
const denial = (error: unknown): CliFailure | null => {
  for (let at = error; at instanceof Error; at = at.cause) {
    const code = "code" in at ? at.code : null
    if (code === "42501") {
      return new CliFailure(
        `The database refuses this to its role: ${at.message}.\nTo migrate, it must own the database or be allowed to create schemas in it; service doctor prints the grants that a lesser role needs.`
      )
    }
    if (code === "25006") return new CliFailure(`The database takes no writes: ${at.message}.\nConnect to the primary.`)
  }
  return null
}

/** Explains a failure to use the database of `url`, when its address or rights are the cause. Any other failure is given unchanged. */
const explained = (error: unknown, url: string): unknown => {
  const denied = denial(error)
  if (denied !== null) return denied
  const { final, refusal } = refusalOf(error, url)
  const away = isDown(error)
  // A missing file and a missing socket have the same code.
  return (final || away) && fileProblem(error) === null ? new StartupError([refusal]) : error
}

/** Runs work on the project's databases and lets them go. A database that cannot be reached is a `StartupError`. */
export const withDatabases = async <A>(
  settings: Settings,
  config: Pick<Config, "db"> | null,
  work: (databases: Databases) => Promise<A>
): Promise<A> => {
  const databases = await openDatabases(settings, config?.db, () => {})
  try {
    return await work(databases)
  } catch (error) {
    throw explained(error, databases.url)
  } finally {
    await databases.release()
  }
}

/** Runs work on a pool and closes it. */
export const withPool = async <A>(url: string, work: (pool: LazyPool) => Promise<A>): Promise<A> => {
  const pool = openPool(url, 2)
  try {
    return await work(pool)
  } catch (error) {
    throw explained(error, url)
  } finally {
    await pool.end()
  }
}

/** Runs work on the project's accounts. In the embedded database their tables are made when missing. */
export const withAuth = async <A>(
  flags: AccountFlags,
  work: (auth: Auth, project: Project) => Promise<A>
): Promise<A> => {
  const project = await loadProject(flags)
  if (!keepsAccounts(project)) {
    throw new CliFailure(
      "This project keeps no accounts: its configuration says that somebody else verifies credentials."
    )
  }
  const tenant = tenantOf(project, flags)
  return withDatabases(project.settings, project.config, (databases) =>
    withPool(databases.authUrl, async (pool) => {
      const missing = await findMissing(pool, authMigrations(project.compiled))
      if (missing.length > 0) {
        if (!databases.embedded || databases.authUrl !== databases.url) {
          throw new CliFailure("The tables of accounts are missing or out of date. Run: service migration --apply")
        }
        await applyMigrations(pool, missing)
      }
      return work(makeAuth(project, project.settings, pool, {}, tenant), project)
    }))
}
