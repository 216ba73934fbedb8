/**
 * `files derive`: makes for files that stand what their fields declare now. Its progress is a line on standard error now and then, so that a pipe gets the
 * result alone.
 */

import * as Effect from "effect/Effect"
import { deriveJobName, deriveJobPlan } from "../../core/app/file/derive-job.ts"
import { derivePage, deriveTargets, noCounts, placeOf, plus } from "../../core/app/file/derive.ts"
import type { DeriveCounts, DeriveTarget } from "../../core/app/file/derive.ts"
import type { Core } from "../../core/app/ground/core.ts"
import type { Files } from "../../core/app/ground/files.ts"
import { needsQueue } from "../../core/domain/compile/compile.ts"
import { didYouMean } from "../../core/domain/declare/refusal.ts"
import { Problem } from "../../core/domain/problem.ts"
import type { Cell } from "../../core/domain/value/kind.ts"
import type { RecordsError } from "../../core/ports/records.ts"
import { withCore } from "./files.ts"
import { ask, withQueue } from "./jobs.ts"
import { CliFailure, note, print, printJson, printTable } from "./output.ts"
import { loadProject, type ProjectFlags } from "./project.ts"

const chosen = (all: readonly DeriveTarget[], name: string | undefined): readonly DeriveTarget[] => {
  const places = all.map(placeOf)
  if (name === undefined) return all
  const targets = all.filter((target) => placeOf(target) === name)
  if (targets.length > 0) return targets
  throw new CliFailure(
    `"${name}" is no file field with variants, a placeholder or derived values. ${didYouMean(name, places)}`
  )
}

/** What was found and done of one field. */
interface Result extends DeriveCounts {
  readonly field: string
}

/** The shortest time between two lines of progress, in milliseconds. */
const progressMs = 2_000

const deriveField = Effect.fnUntraced(function*(
  core: Core,
  files: Files,
  target: DeriveTarget,
  check: boolean
): Effect.fn.Return<Result, Problem | RecordsError> {
  const field = placeOf(target)
  let counts = noCounts
  let after: readonly Cell[] | null = null
  let told = performance.now()
  for (;;) {
    const page: Effect.Success<ReturnType<typeof derivePage>> = yield* derivePage(core, files, target, after, check)
    counts = plus(counts, page.counts)
    if (page.gaveUp) {
      throw new CliFailure(
        `${field}: several files in a row failed, after ${counts.made} were made. The lines above say why; the next run goes on.`
      )
    }
    if (page.next === null) return { field, ...counts }
    after = page.next
    if (performance.now() - told >= progressMs) {
      told = performance.now()
      note(`${field}: ${counts.records} records read, ${check ? `${counts.lacking} lacking` : `${counts.made} made`}`)
    }
  }
})

/** Enqueues a job for each field. Workers, wherever they run, do the rest. */
const enqueue = async (
  flags: ProjectFlags & { readonly json: boolean; readonly field: string | undefined; readonly check: boolean }
): Promise<void> => {
  if (flags.check) throw new CliFailure("--check counts at once. Leave --background out.")
  const { compiled } = await loadProject(flags, true)
  if (!needsQueue(compiled)) {
    throw new CliFailure("This project has no jobs, so no worker would do it. Leave --background out.")
  }
  const fields = chosen(deriveTargets(compiled), flags.field).map(placeOf)
  await withQueue(flags, async (queue) => {
    const ids = await ask(queue.enqueue(fields.map((field) => deriveJobPlan(field))))
    if (flags.json) return printJson({ jobs: fields.map((field, i) => ({ field, id: ids[i] })) })
    printTable(["FIELD", "JOB"], fields.map((field, i) => [field, ids[i]!]), nothingDeclared)
    note(
      `service jobs pending --name ${deriveJobName} --json shows how far they are; the log of a worker says what was made.`
    )
  })
}

const nothingDeclared = "No file field of this project declares variants, a placeholder or derived values."

const numbers = ["records", "lacking", "made", "nothing", "left", "missing", "failed"] as const

/** `files derive [RESOURCE.FIELD]`. Exit code 1: with `--check` where something is lacking, else where the next run has something to do. */
export const derive = async (
  flags: ProjectFlags & {
    readonly json: boolean
    readonly field: string | undefined
    readonly check: boolean
    readonly background: boolean
  }
): Promise<void> => {
  const { check } = flags
  if (flags.background) return enqueue(flags)
  const results = await withCore(flags, (core, files) =>
    Effect.catch(
      Effect.forEach(chosen(deriveTargets(core), flags.field), (target) => deriveField(core, files, target, check)),
      (error): Effect.Effect<never, RecordsError> => {
        if (!(error instanceof Problem)) return Effect.fail(error)
        throw new CliFailure(`${error.detail} The next run goes on.`)
      }
    ), note)
  const unfinished = ({ failed, lacking, left, missing }: Result): boolean =>
    check ? lacking > 0 : left + missing + failed > 0
  if (results.some(unfinished)) process.exitCode = 1
  if (flags.json) return printJson({ fields: results })
  const columns = check ? numbers.slice(0, 2) : numbers
  printTable(
    ["FIELD", ...columns.map((name) => name.toUpperCase())],
    results.map((result) => [result.field, ...columns.map((name) => String(result[name]))]),
    nothingDeclared
  )
  if (!check && results.some(({ left }) => left > 0)) print("Run it again for the records that are left.")
}
