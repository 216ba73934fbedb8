// Jobs from the command line: migration, counts, failed jobs, a worker from a bundle with its health and its end, what does not start.
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { examplesOf } from "../docs/blocks.ts"
import { runLines } from "../docs/shell.ts"
import { openDatabase, type TestDatabase } from "../support/postgres.ts"
import { config, notesProject, table } from "./notes.ts"
import type { Project } from "./support.ts"

const pause = "await new Promise((resolve) => setTimeout(resolve, 300))"
const untilTold = `while ((await db.query("select 1 from notes where body = 'go'")).length === 0) ${pause}`
const jobs = `import { defineJob, FatalJobError } from "resource-admin"
export const keep = defineJob({ name: "notes/keep", run: async (payload, { db }) => {
  if (payload?.fail) throw new FatalJobError("no, " + payload.fail)
  await db.query("insert into notes (body) values ($1)", ["kept " + payload?.text])
} })
export const slow = defineJob({ name: "slow", ordered: true, run: async (_, { db, progress }) => {
  await db.query("insert into notes (body) values ('began')")
  progress(1, 2, "half")
  ${pause}
  while ((await db.query("select 1 from notes where body = 'hold'")).length > 0) ${pause}
  await db.query("insert into notes (body) values ('ended')")
} })
`

let database: TestDatabase
let project: Project

/** A fresh look at the database until it answers what is wanted. */
const shows = async (sql: string, wanted: string): Promise<void> => {
  const end = performance.now() + 60_000
  for (;;) {
    const found = JSON.stringify(await database.rows(sql))
    if (found.includes(wanted)) return
    if (performance.now() > end) throw new Error(`It never showed ${wanted}: ${found}`)
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}

beforeAll(async () => {
  database = await openDatabase(table)
  project = notesProject({ DATABASE_URL: database.url }, "jobs: [keep, slow]")
  project.write("jobs.ts", jobs)
  project.write("admin.config.ts", `import { keep, slow } from "./jobs.ts"\n${config("jobs: [keep, slow]")}`)
})
afterAll(async () => {
  await project?.dispose()
  await database?.drop()
})

describe("jobs on the command line", () => {
  it("need their schema, which the migration command writes and applies, again and again", async () => {
    const early = await project.quick("jobs", "list")
    expect([early.code, early.stderr]).toEqual([
      1,
      expect.stringContaining("The schema jobs is missing or out of date")
    ])
    expect(early.stderr).toContain("service migration --apply")
    const worker = await project.quick("worker")
    expect([worker.code, worker.stderr]).toEqual([1, expect.stringMatching(/jobs[^]*missing or out of date/)])
    expect((await project.quick("migration")).stdout).toMatch(/Wrote db\/migrations\/\d{3}_jobs\.sql/)
    expect((await project.quick("migration")).stdout).toContain("Nothing to write")
    expect((await project.quick("migration", "--apply")).stdout).toContain("Applied jobs 5")
    expect((await project.quick("migration", "--apply")).stdout).toContain("Nothing to apply")
    const none = await project.quick("jobs", "list")
    expect([none.code, none.stdout]).toEqual([0, "There are no jobs yet.\n"])
  })

  it("are enqueued, run by a worker from a bundle, listed, retried and deleted", async () => {
    expect((await project.quick("build")).code).toBe(0)
    const enqueued = await project.quick("jobs", "run", "notes/keep", "--payload", "{\"text\":\"one\"}", "--json")
    expect(JSON.parse(enqueued.stdout)).toEqual({ id: expect.stringMatching(/^\d+$/) })
    expect((await project.quick("jobs", "run", "notes/keep", "--payload", "{\"fail\":\"never\"}")).stdout).toContain(
      "Enqueued job"
    )
    for (
      const [args, message] of [
        [["notes/other"], "has no job \"notes/other\""],
        [["notes/keep", "--payload", "{"], "not JSON"],
        [["notes/keep", "--group", "a"], "takes no group"],
        [["slow"], "needs a group"]
      ] as const
    ) expect((await project.quick("jobs", "run", ...args)).stderr).toContain(message)

    const running = await project.start("worker", "dist/server.mjs", "--port", "0")
    await shows("select body from notes", "kept one")
    const health = async (path: string) => (await fetch(`http://127.0.0.1:${running.port}${path}`)).status
    expect([await health("/livez"), await health("/readyz"), await health("/api/v1/notes")]).toEqual([200, 200, 404])
    await shows("select name from jobs.failed", "notes/keep")

    const failed = await project.quick("jobs", "failed")
    expect(failed.stdout).toMatch(/\d+ +notes\/keep +1 .* UTC +no, never/)
    const [job] = JSON.parse((await project.quick("jobs", "failed", "--name", "notes/keep", "--json")).stdout) as [
      { readonly id: string }
    ]
    expect(job).toMatchObject({ payload: { fail: "never" }, attempts: 1 })
    expect((await project.quick("jobs", "retry", job.id)).stdout).toBe("Retrying 1 job.\n")
    await shows("select attempts from jobs.failed", "2")
    expect((await project.quick("jobs", "retry")).stderr).toContain("Give the id of one failed job, or --name")
    expect((await project.quick("jobs", "delete", "--name", "notes/keep")).stdout).toBe("Deleted 1 job.\n")
    expect((await project.quick("jobs", "delete", job.id)).stderr).toContain(`No failed job has the id ${job.id}.`)
    expect((await project.quick("jobs", "list")).stdout).toMatch(/notes\/keep +0 +0 +0 +0 +1/)

    // Jobs of the service's own are in no configuration, and no finding.
    await database.execute("select jobs.enqueue('nobody/knows'); select jobs.enqueue('webhooks.deliver')")
    const doctor = await project.quick("doctor")
    expect(doctor.stdout).toContain("1 job \"nobody/knows\" waiting: the configuration has no job of this name.")
    expect(doctor.stdout).not.toContain("webhooks.deliver")

    // What is paused begins for nobody.
    expect((await project.quick("jobs", "pause", "notes/keep")).stdout).toMatch(/^Paused "notes\/keep", since .* UTC\./)
    await database.execute(`select jobs.enqueue('notes/keep', '{"text":"paused"}')`)
    expect((await project.quick("jobs", "list")).stdout).toMatch(/notes\/keep +1 +0 +0 +0 +1 +paused since .* UTC/)
    expect((await project.quick("doctor")).stdout).toContain(`Jobs "notes/keep" are paused since`)
    expect((await project.quick("jobs", "pause", "no/name")).stderr).toContain("There is no job \"no/name\".")
    expect(JSON.parse((await project.quick("jobs", "resume", "notes/keep", "--json")).stdout)).toEqual({
      name: "notes/keep",
      pausedAt: null
    })
    await shows("select body from notes", "kept paused")

    // One waits for its next try, and one for its time.
    await database.execute(
      `delete from jobs._private_jobs; select jobs.enqueue('notes/keep', '{"text":"soon"}', now() + interval '1 day');
      select jobs.enqueue('tasks.run', run_at => now() + interval '2 days');
      update jobs._private_jobs set last_error = 'the receiver\n is away' where payload::text like '%soon%'`
    )
    const pending = await project.quick("jobs", "pending")
    expect(pending.stdout).toMatch(
      /\d+ +notes\/keep +retrying +0 of 10 +.* UTC +the receiver is away\n\d+ +tasks\.run +waiting/
    )
    const waits = async (name: string): Promise<string> =>
      (JSON.parse((await project.quick("jobs", "pending", "--name", name, "--json")).stdout) as [{ id: string }])[0].id
    const [kept, task] = [await waits("notes/keep"), await waits("tasks.run")]
    expect((await project.quick("jobs", "run-now", kept)).stdout).toBe(`Made due now: job ${kept} (notes/keep).\n`)
    await shows("select body from notes", "kept soon")
    expect((await project.quick("jobs", "run-now", kept)).stderr).toContain(`No waiting job has the id ${kept}.`)
    expect((await project.quick("jobs", "cancel", task)).stderr).toContain("Cancel the task.")
    await database.execute(`select jobs.enqueue('notes/keep', '{"text":"later"}', now() + interval '1 day')`)
    const later = await waits("notes/keep")
    expect((await project.quick("jobs", "cancel", later)).stdout).toBe(`Cancelled job ${later} (notes/keep).\n`)
    expect((await project.quick("jobs", "cancel", later)).stderr).toContain(`No waiting job has the id ${later}.`)

    // A running job is waited for; the line of it names no payload.
    expect((await project.quick("jobs", "running")).stdout).toBe("No job runs.\n")
    await database.execute("insert into notes (body) values ('hold')")
    await project.quick("jobs", "run", "slow", "--group", "a")
    await shows("select body from notes", "began")
    await shows("select note from jobs.progress", "half")
    expect((await project.quick("jobs", "running")).stdout).toMatch(/\d+ +slow +1 of 10 +.* UTC +\S+:\d+ +1 of 2, half/)
    await database.execute("delete from notes where body = 'hold'")
    expect(await running.end("SIGTERM")).toBe(0)
    expect(JSON.stringify(await database.rows("select body from notes"))).toContain("ended")
    expect(running.output()).toContain("\"event\":\"job-completed\",\"name\":\"notes/keep\"")
    expect(running.output()).not.toContain("never")
  })

  it("do not start once `ordered` has changed, until their queue is deleted", async () => {
    project.write("jobs.ts", jobs.replace("ordered: true, ", ""))
    const refused = await project.quick("worker")
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining("select jobs.delete_queue('slow')")])
    await database.execute("select jobs.delete_queue('slow')")
    const running = await project.start("worker", "--port", "0")
    expect(await running.end("SIGTERM")).toBe(0)
    project.write("jobs.ts", jobs)
  })

  it("run in a process that is started for a drain alone, as on a host that sleeps", async () => {
    await database.execute("delete from jobs._private_jobs; delete from jobs.groups; select jobs.delete_queue('slow')")
    const token = "a-drain-token-of-a-sleeping-host"
    const source = `import { keep, slow } from "./jobs.ts"\n${config("jobs: [keep, slow]")}`
    const hostWith = (env: Record<string, string>): Project => {
      const host = notesProject({ DATABASE_URL: database.url, ...env })
      host.write("jobs.ts", jobs.replace(pause, untilTold))
      host.write("admin.config.ts", source)
      return host
    }
    const nextDue = async () => (await database.rows("select to_json(jobs.next_due())::text"))[0]![0]
    const host = hostWith({ SERVICE_JOBS_DRAIN_TOKEN: token })
    const drain = async (port: number, seconds: string, credential = token) => {
      const answer = await fetch(`http://127.0.0.1:${port}/api/jobs/drain?seconds=${seconds}`, {
        method: "POST",
        headers: { authorization: `Bearer ${credential}` }
      })
      return { status: answer.status, body: await answer.json() as { readonly nextDue?: string | null } }
    }
    expect(await nextDue()).toBeNull()
    await database.execute(`select jobs.enqueue('notes/keep', '{"text":"asleep"}'),
      jobs.enqueue('notes/keep', '{"text":"tomorrow"}', now() + interval '1 day'), jobs.enqueue('slow', group_key => 'a')`)
    expect(Date.parse(JSON.parse((await nextDue())!) as string)).toBeLessThanOrEqual(Date.now())

    const first = await host.start("serve", "--port", "0")
    // The slow one waits until it is told to end, and the other one has its time.
    await shows("select body from notes", "kept asleep")
    expect(await drain(first.port, "1")).toMatchObject({ status: 200, body: { drained: false, remaining: 1 } })
    expect((await drain(first.port, "1", `${token}x`)).status).toBe(401)
    expect((await drain(first.port, "301")).status).toBe(400)
    await database.execute("insert into notes (body) values ('go')")
    const { body } = await drain(first.port, "25")
    expect(body).toEqual({ drained: true, remaining: 0, nextDue: expect.stringMatching(/^\d{4}-.*Z$/) })
    expect(await first.end("SIGTERM")).toBe(0)
    // What the drain answered is when to wake up next.
    expect(Date.parse(JSON.parse((await nextDue())!) as string)).toBe(Date.parse(body.nextDue!))

    // A process that was killed has left a job: its lease's end is when to come back, whatever its timeout.
    await database.execute("delete from notes where body = 'go'; select jobs.enqueue('slow', group_key => 'b')")
    const killed = await host.start("serve", "--port", "0")
    await shows("select count(*) from jobs._private_jobs where locked_at is not null", "1")
    killed.child.kill("SIGKILL")
    const due = Date.parse(JSON.parse((await nextDue())!) as string) - Date.now()
    expect(due).toBeLessThanOrEqual(30_000)
    const free = async () => (await host.quick("jobs", "free")).stdout
    const outlive = `begin; set local session_replication_role = replica;
      update jobs._private_jobs set locked_at = now() - interval '5 hours' where locked_at is not null; commit`
    await database.execute(outlive.replace("5 hours", "3 hours"))
    expect(await free()).toBe("No job's lease has ended: whatever runs is held by a worker.\n")
    await database.execute(outlive)
    expect(await free()).toBe("Freed 1 job. The next try begins within ten seconds.\n")
    expect(Date.parse(JSON.parse((await nextDue())!) as string) - Date.now()).toBeLessThanOrEqual(10_000)
    await host.dispose()

    const api = hostWith({ SERVICE_JOBS_DRAIN_TOKEN: token, SERVICE_JOBS: "false" })
    const idle = await api.start("serve", "--port", "0")
    expect((await drain(idle.port, "5")).status).toBe(409)
    expect(await idle.end("SIGTERM")).toBe(0)
    await api.dispose()
    await database.execute("delete from jobs._private_jobs; delete from jobs.groups; select jobs.delete_queue('slow')")
  })

  it("are looked after as the guide does, with the names of this project", async () => {
    // One is retried, and the other deleted.
    await database.execute(`select jobs.enqueue('notes/keep'), jobs.enqueue('notes/keep');
      update jobs._private_jobs set attempts = max_attempts, last_error = 'no, never'`)
    const [[id] = []] = await database.rows("select min(id)::text from jobs.failed")
    const [said] = await runLines(examplesOf("docs/guides/jobs.md", "sh").slice(0, 1), {
      folder: project.folder,
      env: project.env,
      given: { "orders/confirm": "notes/keep", "orders/report": "notes/keep", "4711": id ?? "none" }
    })
    expect(said).toMatch(/no, never[^]*Retrying 1 job\.[^]*Deleted 1 job\.[^]*No job's lease[^]*Enqueued job/)
  })

  it("do not run beside the API where SERVICE_JOBS is false, and settings that cannot be are refused", async () => {
    const other = notesProject({
      DATABASE_URL: database.url,
      SERVICE_JOBS: "no",
      SERVICE_JOBS_DRAIN_TOKEN: "short",
      SERVICE_SMTP_URL: "http://user:geheim@host",
      SERVICE_MAIL_FROM: "nobody"
    })
    const refused = await other.quick("serve")
    expect(refused.stderr).toContain("SERVICE_JOBS is \"no\".")
    expect(refused.stderr).toContain("SERVICE_JOBS_DRAIN_TOKEN is not a text of at least 16 characters")
    expect(refused.stderr).toContain("SERVICE_SMTP_URL is not the URL of a mail server.")
    expect(refused.stderr).toContain("SERVICE_MAIL_FROM is not one address.")
    expect(refused.stderr).not.toContain("geheim")
    const idle = await other.quick("worker")
    expect(idle.code).toBe(1)
    await other.dispose()
  })
})
