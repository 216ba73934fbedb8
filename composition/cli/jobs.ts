/** The `jobs` commands: what there is, pauses, failed jobs, jobs that wait, one more try, removal, and running one by hand. They work on the database, whoever runs the jobs. */

import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import { makeQueue } from "../../adapters/queue/queue.ts"
import { keptBecause } from "../../core/domain/compile/jobs.ts"
import { namePattern } from "../../core/domain/job/definition.ts"
import { checkPayload, encodePayload, planEnqueue } from "../../core/domain/job/enqueue.ts"
import type { BegunJob, JobCounts } from "../../core/domain/job/state.ts"
import { QueueError } from "../../core/ports/queue.ts"
import type { QueueService } from "../../core/ports/queue.ts"
import { refuseQueue } from "../job-queue.ts"
import { StartupError } from "../startup-error.ts"
import { CliFailure, print, printJson, printTable } from "./output.ts"
import { loadProject, type Project, type ProjectFlags, withDatabases, withPool } from "./project.ts"

type Flags = ProjectFlags & { readonly json: boolean }

export const ask = async <A>(effect: Effect.Effect<A, QueueError>): Promise<A> => {
  const result = await Effect.runPromise(Effect.result(effect))
  if (Result.isSuccess(result)) return result.success
  const { cause, message, reason } = result.failure
  if (reason._tag === "Refused") throw new CliFailure(message)
  // Problems with the way to the database are explained by the caller.
  throw cause ?? result.failure
}

export const withQueue = async (
  flags: ProjectFlags,
  work: (queue: QueueService, project: Project) => Promise<void>
): Promise<void> => {
  const project = await loadProject(flags, true)
  await withDatabases(project.settings, project.config, ({ url }) =>
    withPool(url, async (pool) => {
      const refusals = await refuseQueue(pool, project.compiled.jobs, project.compiled.schemas.jobs)
      if (refusals.length > 0) throw new StartupError(refusals)
      await work(makeQueue(pool, undefined, project.compiled.schemas.jobs), project)
    }))
}

const when = (time: string | null): string => time === null ? "" : `${time.slice(0, 19).replace("T", " ")} UTC`

const nextOf = ({ nextDue, pausedAt }: JobCounts): string =>
  pausedAt === null ? when(nextDue) : `paused since ${when(pausedAt)}`

const row = (counts: JobCounts): readonly string[] => [
  counts.name,
  ...[counts.waiting, counts.running, counts.retrying, counts.failed, counts.completed].map(String),
  nextOf(counts)
]

/** Counts of each name by state. */
export const list = (flags: Flags): Promise<void> =>
  withQueue(flags, async (queue, { compiled }) => {
    const counts = await ask(queue.counts)
    if (flags.json) return printJson(counts)
    printTable(
      ["job", "waiting", "running", "retrying", "failed", "completed", "next"],
      counts.map(row),
      compiled.jobs.size === 0 ? "The configuration has no jobs." : "There are no jobs yet."
    )
  })

const withPayload = <Job extends { readonly payload: string | null }>({ payload, ...job }: Job) => ({
  ...job,
  payload: JSON.parse(payload ?? "null")
})

const lineOf = (error: string): string => error.replace(/[\s\p{Cc}]+/gu, " ").slice(0, 100)

/** Failed jobs, newest first. Errors stand there, payloads only in JSON. */
export const failed = (
  flags: Flags & { readonly name: string | undefined; readonly limit: number | undefined }
): Promise<void> =>
  withQueue(flags, async (queue) => {
    const jobs = await ask(
      queue.failed({ name: flags.name ?? null, after: null, limit: Math.max(1, flags.limit ?? 50) })
    )
    if (flags.json) return printJson(jobs.map(withPayload))
    printTable(
      ["id", "job", "tries", "failed", "error"],
      jobs.map((job) => [job.id, job.name, String(job.attempts), when(job.failedAt), lineOf(job.error)]),
      "No job has failed."
    )
  })

/** Jobs that wait, or wait for their next try, soonest first. Errors stand there, payloads only in JSON. */
export const pending = (
  flags: Flags & { readonly name: string | undefined; readonly limit: number | undefined }
): Promise<void> =>
  withQueue(flags, async (queue) => {
    const jobs = await ask(
      queue.pending({ name: flags.name ?? null, state: null, after: null, limit: Math.max(1, flags.limit ?? 50) })
    )
    if (flags.json) return printJson(jobs.map(withPayload))
    printTable(
      ["id", "job", "state", "tries", "next try", "error"],
      jobs.map((job) => [
        job.id,
        job.name,
        job.state,
        `${job.attempts} of ${job.maxAttempts}`,
        job.held ? "after its group" : when(job.runAt),
        lineOf(job.error)
      ]),
      "No job waits."
    )
  })

const progressOf = ({ progress }: BegunJob): string => {
  if (progress === null) return ""
  const { done, note, total } = progress
  return lineOf(`${done}${total === null ? "" : ` of ${total}`}${note === null ? "" : `, ${note}`}`)
}

/** Jobs that workers have, the longest running first, with what they tell of themselves. Payloads only in JSON. */
export const running = (
  flags: Flags & { readonly name: string | undefined; readonly limit: number | undefined }
): Promise<void> =>
  withQueue(flags, async (queue) => {
    const jobs = await ask(
      queue.running({ name: flags.name ?? null, after: null, limit: Math.max(1, flags.limit ?? 50) })
    )
    if (flags.json) return printJson(jobs.map(withPayload))
    printTable(
      ["id", "job", "try", "since", "worker", "progress"],
      jobs.map((job) => [
        job.id,
        job.name,
        `${job.attempt} of ${job.maxAttempts}`,
        when(job.startedAt),
        job.worker,
        progressOf(job)
      ]),
      "No job runs."
    )
  })

type OneJob = Flags & { readonly id: string }

const act = (
  { id, json, ...flags }: OneJob,
  verb: "hurry" | "withdraw",
  done: string,
  refuse: (name: string) => string | null = () => null
): Promise<void> =>
  withQueue(flags, async (queue) => {
    const [job] = await ask(queue.pending({ id }))
    const reason = job === undefined ? null : refuse(job.name)
    if (reason !== null) throw new CliFailure(reason)
    if (job === undefined || !await ask(queue[verb](id))) throw new CliFailure(`No waiting job has the id ${id}.`)
    if (json) printJson({ id, name: job.name })
    else print(`${done} job ${id} (${job.name}).`)
  })

/** Makes one that waits due now. */
export const runNow = (flags: OneJob): Promise<void> => act(flags, "hurry", "Made due now:")

/** Cancels one that waits. */
export const cancel = (flags: OneJob): Promise<void> => act(flags, "withdraw", "Cancelled", keptBecause)

type Choice = Flags & { readonly id: string | undefined; readonly name: string | undefined }

const choose = (
  { id, json, name }: Choice,
  act: (queue: QueueService) => QueueService["retry"],
  done: string,
  flags: ProjectFlags
): Promise<void> => {
  if ((id === undefined) === (name === undefined)) {
    throw new CliFailure("Give the id of one failed job, or --name for all of a name.")
  }
  return withQueue(flags, async (queue) => {
    const count = await ask(act(queue)(id === undefined ? { name: name! } : { id }))
    if (count === 0) {
      throw new CliFailure(id === undefined ? `No job "${name!}" has failed.` : `No failed job has the id ${id}.`)
    }
    if (json) printJson({ count })
    else print(`${done} ${count} ${count === 1 ? "job" : "jobs"}.`)
  })
}

/** One more try, from now. */
export const retry = (flags: Choice): Promise<void> => choose(flags, (queue) => queue.retry, "Retrying", flags)

/** Removes failed jobs for good. */
export const remove = (flags: Choice): Promise<void> => choose(flags, (queue) => queue.remove, "Deleted", flags)

type OneName = Flags & { readonly name: string }

const pauses = ({ json, name, ...flags }: OneName, paused: boolean): Promise<void> =>
  withQueue(flags, async (queue, { compiled }) => {
    const held = namePattern.test(name)
      ? await ask(queue.pause(name, paused, compiled.jobs.get(name)?.ordered ?? null))
      : null
    if (held === null) throw new CliFailure(`There is no job "${name}".`)
    if (json) printJson({ name, pausedAt: held.pausedAt })
    else if (held.pausedAt === null) print(`Resumed "${name}". Workers look for its jobs every two seconds.`)
    else print(`Paused "${name}", since ${when(held.pausedAt)}. What runs goes on: service jobs resume ${name}`)
  })

/** Begins no more jobs of a name, in any process. */
export const pause = (flags: OneName): Promise<void> => pauses(flags, true)

/** Lets the jobs of a paused name go on. */
export const resume = (flags: OneName): Promise<void> => pauses(flags, false)

/** Returns jobs to their queues whose leases have ended: their workers were killed or cut off. */
export const free = (flags: Flags): Promise<void> =>
  withQueue(flags, async (queue) => {
    const count = await ask(queue.freeDead)
    if (flags.json) printJson({ count })
    else if (count === 0) print("No job's lease has ended: whatever runs is held by a worker.")
    else print(`Freed ${count} ${count === 1 ? "job" : "jobs"}. The next try begins within ten seconds.`)
  })

/** Enqueues a job, for the workers to run. */
export const run = (
  flags: Flags & { readonly name: string; readonly payload: string | undefined; readonly group: string | undefined }
): Promise<void> =>
  withQueue(flags, async (queue, { compiled }) => {
    const job = compiled.jobs.get(flags.name)
    if (job === undefined) {
      throw new CliFailure(
        `The configuration has no job "${flags.name}". There are: ${[...compiled.jobs.keys()].join(", ")}.`
      )
    }
    let payload: unknown
    try {
      payload = flags.payload === undefined ? undefined : JSON.parse(flags.payload)
    } catch {
      throw new CliFailure("The payload is not JSON. Quote it for the shell: --payload '{\"order\":\"17\"}'")
    }
    const checked = await checkPayload(job.payload, payload)
    if (Result.isFailure(checked)) throw new CliFailure(`The payload is refused: ${checked.failure}.`)
    const plan = Result.flatMap(encodePayload(payload), (text) =>
      planEnqueue(job, text, flags.group === undefined ? {} : { group: flags.group }))
    if (Result.isFailure(plan)) {
      throw new CliFailure(plan.failure)
    }
    const [id] = await ask(queue.enqueue([plan.success]))
    if (flags.json) {
      printJson({ id })
    } else print(`Enqueued job ${id!}. It runs as soon as a worker does: in dev, serve or worker.`)
  })
