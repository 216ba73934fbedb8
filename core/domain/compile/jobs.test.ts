// What a declared job may say, and what the service says to one that is wrong.
import { describe, expect, it } from "vitest"
import type { DeclaredJob } from "../job/definition.ts"
import { compileJobs } from "./jobs.ts"

const refusalsOf = (...jobs: readonly unknown[]): readonly string[] => {
  const said: string[] = []
  compileJobs(jobs, (_, __, message, fix) => said.push(`${message} → ${fix}`))
  return said
}
const run = (): void => {}
const defineJob = (declaration: { readonly name: string; readonly [option: string]: unknown }): DeclaredJob => ({
  _tag: "Job",
  name: declaration.name,
  declaration
})

describe("declared jobs", () => {
  it("get their defaults", () => {
    const [job] = compileJobs([defineJob({ name: "a/b.c-d_e", run })], () => {
      throw new Error("refused")
    }).values()
    expect(job).toEqual({
      name: "a/b.c-d_e",
      payload: null,
      run,
      maxAttempts: 10,
      retryDelayMs: 2_000,
      maxRetryDelayMs: 3_600_000,
      retryStepsMs: null,
      timeoutMs: 900_000,
      concurrency: 1,
      maxRunning: null,
      rate: null,
      ordered: false,
      schedule: null
    })
  })

  it("take durations as milliseconds and as texts", () => {
    const [job] = compileJobs([
      defineJob({
        name: "a",
        run,
        retryDelay: "30 seconds",
        maxRetryDelay: "2 h",
        timeout: 1500,
        retrySteps: ["5 s", "1.5 minutes", 0]
      })
    ], () => {
      throw new Error("refused")
    }).values()
    expect(job).toMatchObject({
      retryDelayMs: 30_000,
      maxRetryDelayMs: 7_200_000,
      timeoutMs: 1_500,
      retryStepsMs: [5_000, 90_000, 0]
    })
    const rates = [{ jobs: 100, per: "1 minute" }, { jobs: 1_000, per: 1_000 }, { jobs: 50, per: "1 day", burst: 20 }]
    expect(
      [
        ...compileJobs(rates.map((rate, n) => defineJob({ name: `${n}`, run, rate })), () => {
          throw new Error("refused")
        }).values()
      ].map(({ rate }) => rate)
    ).toEqual([
      { jobs: 100, perMs: 60_000, burst: 1 },
      { jobs: 1_000, perMs: 1_000, burst: 100 },
      { jobs: 50, perMs: 86_400_000, burst: 20 }
    ])
  })

  it("are refused, each mistake with its job and what to write", () => {
    const never = {
      "~standard": { version: 1, vendor: "test", validate: () => ({ issues: [{ message: "no" }] }) }
    } as const
    const wrong: ReadonlyArray<readonly [object, RegExp]> = [
      [{ name: "a b" }, /name is "a b"\. → Write 1 to 128 letters/],
      [{ name: "x".repeat(129) }, /Write 1 to 128/],
      [{ name: "webhooks.deliver" }, /\("webhooks\.deliver"\): its name is that of a job of the service's own/],
      [{ run: 1 }, /jobs\[0\] \("a"\): run is 1, not a function/],
      [{ payload: { parse: run } }, /not a Standard Schema/],
      [{ maxAttempts: 0 }, /maxAttempts is 0\. → Write a whole number from 1 to 1000/],
      [{ concurrency: 1.5 }, /concurrency is 1\.5/],
      [{ maxRunning: 0 }, /maxRunning is 0\. → Write a whole number from 1 to 10000/],
      [{ maxRunning: 10_001 }, /maxRunning is 10001/],
      [{ maxRunning: null }, /maxRunning is null/],
      [{ rate: 100 }, /rate is 100\. → Write rate: \{ jobs: 100, per: "1 minute" \}/],
      [{ rate: { per: "1 minute" } }, /rate\.jobs is null\. → Write a whole number from 1 to 100000/],
      [{ rate: { jobs: 0, per: "1 minute" } }, /rate\.jobs is 0/],
      [{ rate: { jobs: 5 } }, /rate\.per is undefined\. → Write a time from 1 second/],
      [{ rate: { jobs: 5, per: 999 } }, /rate\.per is 999/],
      [{ rate: { jobs: 5, per: "31 days" } }, /rate\.per is "31 days"/],
      [{ rate: { jobs: 5, per: "1 minute", burst: 6 } }, /rate\.burst is 6\. → Write a whole number from 1 to 5/],
      [{ rate: { jobs: 5, per: "1 minute", max: 6 } }, /max/],
      [{ timeout: 0 }, /timeout is 0/],
      [{ timeout: "2 days" }, /timeout is "2 days"/],
      [{ retryDelay: "soon" }, /retryDelay is "soon"/],
      [{ retryDelay: "2 h", maxRetryDelay: "1 h" }, /shorter than retryDelay/],
      [{ retrySteps: [] }, /retrySteps is \[\]/],
      [{ retrySteps: ["x"] }, /retrySteps\[0\] is "x"/],
      [{ ordered: "yes" }, /ordered is "yes"/],
      [{ schedule: "every day" }, /which is no cron pattern/],
      [{ schedule: "0 0 30 2 *" }, /never comes/],
      [{ schedule: "* * * * *", timezone: "Mars" }, /no time zone/],
      [{ timezone: "UTC" }, /timezone stands without schedule/],
      [{ schedule: "* * * * *", ordered: true }, /cannot be ordered/],
      [{ schedule: "* * * * *", payload: never }, /refuses a run of the schedule/],
      [{ maxattempts: 3 }, /maxattempts/]
    ]
    for (const [options, message] of wrong) {
      expect(refusalsOf(defineJob({ name: "a", run, ...options } as never)).join("\n")).toMatch(message)
    }
    expect(refusalsOf(defineJob({ name: "a", run }), defineJob({ name: "a", run }))).toEqual([
      "Two jobs have the name \"a\". → Give each job a name of its own."
    ])
    expect(refusalsOf({ name: "a", run })[0]).toMatch(/jobs\[0\] is .*, not a job/)
  })
})
