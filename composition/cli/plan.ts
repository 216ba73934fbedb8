/**
 * `migration --plan`: what `--apply` would do to databases in use, for people and for programs. It changes nothing. Estimates say what they count with.
 */

import { ownSchema } from "../../adapters/postgres/sql.ts"
import { libraryLevel } from "../../adapters/queue/schema.ts"
import type { LazyPool } from "../database.ts"
import { contracts, paces, type PlannedStep, planSteps, wholeTime } from "../migration-plan.ts"
import {
  asking,
  findMissing,
  isInTransaction,
  type Migration,
  type MigrationFile,
  recordedVersions
} from "../migrations.ts"
import { print, printJson } from "./output.ts"

/** What one migration or file would do. */
export interface PlannedMigration {
  readonly name: string
  /** Null: a file of the project's own. */
  readonly version: number | null
  /** What the database has; null: nothing of it. */
  readonly has: number | null
  readonly database: "application" | "accounts"
  /** Those of one database in a transaction of their own set are applied together. */
  readonly transaction: boolean
  /** Whether programs of the version before may miss something; null: not known. */
  readonly contracts: boolean | null
  readonly steps: readonly PlannedStep[]
  /** Null: not known. */
  readonly milliseconds: number | null
}

/** The queue's library makes its own steps where they are missing. */
const librarySteps = /^do \$steps\$/

/** What the missing migrations of a database would do. */
export const planMigrations = async (
  pool: LazyPool,
  database: PlannedMigration["database"],
  wanted: readonly Migration[]
): Promise<readonly PlannedMigration[]> => {
  const missing = await findMissing(pool, wanted)
  if (missing[0] === undefined) return []
  const recorded = await recordedVersions(pool, missing[0].schemas.service)
  return asking(pool, async (query) => {
    const planned: PlannedMigration[] = []
    for (const { least, name, recordedAs, schemas: { jobs }, statements, version } of missing) {
      const has = recorded.get(recordedAs) ?? null
      const all = await planSteps(query, statements)
      const isReady = name === "jobs" && has !== null &&
        Number((await query(`select max(id)::text as id from ${ownSchema(jobs)}.migrations`))[0]?.["id"]) ===
          libraryLevel
      // A schema that is made anew has nobody who could wait.
      const steps = all.filter(({ statement }) => !librarySteps.test(statement) || (has !== null && !isReady))
      planned.push({
        name,
        version,
        has,
        database,
        transaction: true,
        contracts: least === null ? false : least === version,
        steps,
        milliseconds: wholeTime(steps)
      })
    }
    return planned
  })
}

/** What the files would do that were not applied yet. */
export const planFiles = async (
  pool: LazyPool,
  files: readonly MigrationFile[],
  schema: string
): Promise<readonly PlannedMigration[]> => {
  const recorded = await recordedVersions(pool, schema)
  return asking(pool, async (query) => {
    const planned: PlannedMigration[] = []
    for (const file of files) {
      if (recorded.has(`file:${file.name}`)) continue
      const steps = await planSteps(query, file.text)
      planned.push({
        name: file.name,
        version: null,
        has: null,
        database: "application",
        transaction: isInTransaction(file),
        contracts: contracts(file.text),
        steps,
        milliseconds: wholeTime(steps)
      })
    }
    return planned
  })
}

const sizeOf = (bytes: number | null): string => {
  if (bytes === null) return ""
  const units = ["B", "kB", "MB", "GB", "TB"]
  let [size, unit] = [bytes, 0]
  while (size >= 1_000 && unit < units.length - 1) [size, unit] = [size / 1_000, unit + 1]
  return `${size < 10 && unit > 0 ? size.toFixed(1) : size.toFixed(0)} ${units[unit]}`
}

const timeOf = (milliseconds: number | null): string =>
  milliseconds === null
    ? "for an unknown time"
    : milliseconds < 100
    ? "for a moment"
    : milliseconds < 120_000
    ? `for about ${Math.ceil(milliseconds / 1_000)} s`
    : `for about ${Math.ceil(milliseconds / 60_000)} min`

const workTexts: Readonly<Record<PlannedStep["work"], string>> = {
  none: "",
  scan: ", reads all rows",
  index: ", makes an index",
  rewrite: ", writes all rows",
  unknown: ", does something that cannot be read here"
}

const meaning = ({ contracts: taken }: PlannedMigration): string =>
  taken === null
    ? "may take away what the version before needs: look"
    : taken
    ? "takes away or narrows: the version before must be gone"
    : "adds only: the version before goes on working"

/** Prints a plan. */
export const tellPlan = (planned: readonly PlannedMigration[], json: boolean): void => {
  const milliseconds = wholeTime(planned.flatMap(({ steps }) => steps))
  if (json) return printJson({ migrations: planned, milliseconds, bytesPerSecond: paces })
  if (planned.length === 0) return print("Nothing to apply: the database is up to date.")
  for (const each of planned) {
    const { database, has, name, steps, transaction, version } = each
    const state = version === null ? "" : has === null ? ` ${version} (new)` : ` ${version} (the database has ${has})`
    print(
      `${name}${state}${database === "accounts" ? ", in the database of accounts" : ""}: ${meaning(each)}${
        transaction ? "" : "; without a transaction"
      }`
    )
    for (const step of steps) {
      print(
        `  ${step.table ?? step.statement}${
          step.bytes === null ? "" : ` (${sizeOf(step.bytes)})`
        }: blocks ${step.blocks} ${timeOf(step.milliseconds)}${workTexts[step.work]}`
      )
    }
  }
  print(
    `All of it: ${
      timeOf(milliseconds).replace("for ", "")
    }. What the service's own migrations of a database lock stays locked to the end of their one transaction; a file of yours is one of its own.`
  )
  print(
    `Times are estimates from sizes of tables: ${paces.scan / 1e6} MB/s to read, ${
      paces.index / 1e6
    } MB/s to make an index or to write. They do not count waiting for others, so`
      + " that a long transaction of somebody else makes all wait who come after."
  )
}
