/** What the OpenAPI document tells admins of the queue: counts, pauses, failed jobs, one more try, removal, jobs that wait. Nobody else sees these paths. */

import { mostErrors } from "../job/failure.ts"
import { activityMinutes, jobStates, longestListed, mostBehind, mostSearched } from "../job/state.ts"
import { headersOf, jsonContent, refusals } from "./openapi-resource.ts"
import { closedObject, type Doc, ref } from "./openapi-schema.ts"

const text: Doc = { type: "string" }
const count: Doc = { type: "integer", minimum: 0 }
const instant: Doc = { type: "string", format: "date-time" }
const orNull = (schema: Doc): Doc => ({ anyOf: [schema, { type: "null" }] })
const list = (items: Doc): Doc => ({ type: "array", items })
const whole = (properties: { readonly [name: string]: Doc }): Doc => closedObject(properties, Object.keys(properties))

const counts = whole({
  name: text,
  declared: { type: "boolean", description: "Whether the configuration has a job of this name." },
  waiting: count,
  running: count,
  retrying: count,
  failed: count,
  completed: { ...count, description: "Of the last 7 days." },
  nextDue: orNull(instant),
  oldestDue: { ...orNull(instant), description: "When the one that waits longest was due." },
  ordered: orNull({ type: "boolean" }),
  maxRunning: { ...orNull(count), description: "Most jobs of it that run at once over all processes." },
  rate: {
    ...orNull(whole({ jobs: count, perMs: count, burst: count })),
    description: "Most jobs of it that begin in so many milliseconds over all processes."
  },
  schedule: { ...orNull(text), description: "Cron pattern of a recurring job." },
  timezone: orNull(text),
  nextRun: {
    ...orNull(instant),
    description: "When the next run of the schedule is due; null until a worker has seen it."
  },
  lastRun: {
    ...orNull(whole({ at: instant, state: { enum: jobStates.filter((state) => state !== "waiting") } })),
    description: "The latest run of the schedule that was begun, and when it came to its state."
  },
  pausedAt: {
    ...orNull(instant),
    description: "Since when nothing of it is begun. `nextDue` and `oldestDue` go on as if it were not paused."
  }
})

const failedMembers = {
  id: text,
  name: text,
  attempts: count,
  error: text,
  group: orNull(text),
  waitingBehind: { ...count, description: `Jobs of its group that it holds back, counted up to ${mostBehind}.` },
  enqueuedAt: instant,
  failedAt: instant,
  payload: {
    description: `Any JSON, as it was enqueued. In lists null where it is longer than ${longestListed} bytes.`
  },
  payloadBytes: { ...count, description: "The length of the payload's JSON." }
}
const failed = whole(failedMembers)

const pendingMembers = {
  id: text,
  name: text,
  state: { enum: ["waiting", "retrying"] },
  attempts: { ...count, description: "Tries that it has had." },
  maxAttempts: count,
  runAt: { ...instant, description: "From when on it may run." },
  error: { ...text, description: "Its last error; empty without one." },
  group: orNull(text),
  held: { type: "boolean", description: "Whether others of its group come first." },
  enqueuedAt: instant,
  payload: {
    description: `Any JSON, as it was enqueued. In lists null where it is longer than ${longestListed} bytes.`
  },
  payloadBytes: { ...count, description: "The length of the payload's JSON." }
}
const pending = whole(pendingMembers)

/** What a job alone has besides: its last errors. */
const errors = {
  description: `The errors of its last tries, the newest first, at most ${mostErrors}. They go with the job.`,
  ...list(whole({
    at: instant,
    attempt: { ...count, description: "Which try it was." },
    message: text,
    stack: {
      ...orNull(text),
      description: "The frames of its stack, one a line. Causes have their classes and frames, and no messages."
    }
  }))
}

const amount: Doc = { type: "number", minimum: 0 }

const runningMembers = {
  id: text,
  name: text,
  attempt: { ...count, description: "The try that runs, from 1." },
  maxAttempts: count,
  startedAt: { ...instant, description: "When a worker fetched it." },
  worker: { ...text, description: "The process that has it: its host, and its id there." },
  progress: {
    ...orNull(whole({ done: amount, total: orNull(amount), note: orNull(text), at: instant })),
    description: "What this try last told of itself; null: nothing."
  },
  group: orNull(text),
  enqueuedAt: instant,
  payload: {
    description: `Any JSON, as it was enqueued. In lists null where it is longer than ${longestListed} bytes.`
  },
  payloadBytes: { ...count, description: "The length of the payload's JSON." }
}
const running = whole(runningMembers)

const minute = whole({
  at: { ...instant, description: "When the minute began." },
  completed: count,
  failed: { ...count, description: "Jobs that failed for good in it and are still there." },
  averageMs: {
    ...orNull(count),
    description: "How long the last tries of the completed ones took on average; null without one."
  },
  longestMs: { ...orNull(count), description: "The longest of them." }
})

const query = (name: string, description: string, schema: Doc, required = false): Doc => ({
  name,
  in: "query",
  required,
  description,
  schema
})

const answered = (description: string, schema: Doc): Doc => ({
  description,
  headers: headersOf(),
  content: jsonContent(schema)
})

/** The paths below `/api/jobs`, without the drain: that one is the operator's. */
export const jobPaths = (parent: string, tag: string): Doc => {
  const id: Doc = { name: "id", in: "path", required: true, schema: text }
  const one = (operationId: string, summary: string, ...more: readonly number[]): Doc => ({
    operationId,
    tags: [tag],
    summary,
    responses: { "204": ref("responses", "204"), ...refusals(400, 401, 403, 404, ...more) }
  })
  const all = (operationId: string, summary: string): Doc => ({
    operationId,
    tags: [tag],
    summary,
    parameters: [query("name", "The job's name.", text, true)],
    responses: { "200": answered("How many there were.", whole({ count })), ...refusals(400, 401, 403) }
  })
  /** A list of jobs in pages. `more`: parameters that only this list has. */
  const page = (operationId: string, summary: string, jobs: Doc, ...more: readonly Doc[]): Doc => ({
    operationId,
    tags: [tag],
    summary,
    parameters: [
      query("name", "Only jobs of this name.", text),
      query(
        "search",
        `A part of the name, key, group or error, or of a text or number that is the payload or a direct member of it, ignoring case; or the whole id. Payloads of at most ${longestListed} bytes are searched, and the next ${mostSearched} jobs of the list.`,
        { type: "string", maxLength: 200 }
      ),
      ...more,
      query("page_size", "0 or absent: 50. At most 500.", count),
      query("page_token", "`next_page_token` of the page before.", text)
    ],
    responses: {
      "200": answered("A page.", whole({ jobs: list(jobs), next_page_token: orNull(text) })),
      ...refusals(400, 401, 403)
    }
  })
  const single = (operationId: string, summary: string, members: { readonly [name: string]: Doc }): Doc => ({
    operationId,
    tags: [tag],
    summary,
    responses: { "200": answered("The job.", whole({ ...members, errors })), ...refusals(400, 401, 403, 404) }
  })
  const pause = (operationId: string, summary: string): Doc => ({
    post: {
      operationId,
      tags: [tag],
      summary,
      parameters: [query("name", "The job's name.", text, true)],
      responses: {
        "200": answered("Since when it is paused; null: it is not.", whole({ name: text, pausedAt: orNull(instant) })),
        ...refusals(400, 401, 403, 404)
      }
    }
  })
  return {
    [`${parent}/jobs:pause`]: pause("pauseJobs", "Begins no more jobs of a name, in any process; those that run go on"),
    [`${parent}/jobs:resume`]: pause("resumeJobs", "Lets the jobs of a paused name go on"),
    [`${parent}/jobs`]: {
      get: {
        operationId: "listJobs",
        tags: [tag],
        summary: "Counts of jobs by name and state",
        responses: {
          "200": answered("Every name that has jobs or is declared.", whole({ jobs: list(counts) })),
          ...refusals(400, 401, 403)
        }
      }
    },
    [`${parent}/jobs/activity`]: {
      get: {
        operationId: "getJobActivity",
        tags: [tag],
        summary: `Completed and failed jobs of the last ${activityMinutes} minutes, the oldest minute first`,
        parameters: [query("name", "Only jobs of this name.", text)],
        responses: { "200": answered("The minutes.", whole({ minutes: list(minute) })), ...refusals(400, 401, 403) }
      }
    },
    [`${parent}/jobs/failed`]: {
      get: page("listFailedJobs", "Failed jobs, newest first", failed),
      delete: all("deleteFailedJobs", "Deletes all failed jobs of a name")
    },
    [`${parent}/jobs/failed:retry`]: { post: all("retryFailedJobs", "Gives all failed jobs of a name one more try") },
    [`${parent}/jobs/failed/{id}`]: {
      parameters: [id],
      get: single("getFailedJob", "A failed job with its whole payload", failedMembers),
      delete: one("deleteFailedJob", "Deletes a failed job for good")
    },
    [`${parent}/jobs/failed/{id}:retry`]: {
      parameters: [id],
      post: one("retryFailedJob", "Gives a failed job one more try")
    },
    [`${parent}/jobs/running`]: {
      get: page("listRunningJobs", "Jobs that run, the longest running first", running)
    },
    [`${parent}/jobs/running/{id}`]: {
      parameters: [id],
      get: single("getRunningJob", "A job that runs, with its whole payload", runningMembers)
    },
    [`${parent}/jobs/pending`]: {
      get: page(
        "listPendingJobs",
        "Jobs that wait, or wait for their next try, soonest first",
        pending,
        query("state", "Only jobs in this state.", { enum: ["waiting", "retrying"] })
      )
    },
    [`${parent}/jobs/pending/{id}`]: {
      parameters: [id],
      get: single("getPendingJob", "A job that waits, with its whole payload", pendingMembers),
      delete: one("cancelPendingJob", "Cancels a job that waits", 409)
    },
    [`${parent}/jobs/pending/{id}:run`]: {
      parameters: [id],
      post: one("runPendingJob", "Makes a job that waits due now", 409)
    }
  }
}
