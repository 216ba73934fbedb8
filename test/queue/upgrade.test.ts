// The schema `jobs` on a database that has it at a lower level, with all that stands on it; and a service whose role does not own it.
import * as Effect from "effect/Effect"
import { Pool } from "pg"
import { afterEach, describe, expect, it } from "vitest"
import { pgAddressOf } from "../../adapters/postgres/socket.ts"
import { webhooksStatements } from "../../adapters/postgres/webhooks.ts"
import { checkSchema } from "../../adapters/queue/check.ts"
import { defineJob, type Job } from "../../adapters/queue/define.ts"
import { startEngine } from "../../adapters/queue/engine.ts"
import { makeQueue } from "../../adapters/queue/queue.ts"
import {
  libraryLevel,
  libraryMigrations,
  ownLevel,
  queueQuestion,
  queueStatements
} from "../../adapters/queue/schema.ts"
import { ownSchema } from "../../adapters/queue/sql.ts"
import { checkJobs } from "../../composition/doctor/jobs.ts"
import { refuseQueue } from "../../composition/job-queue.ts"
import { makeAttempts } from "../../core/app/job/attempt.ts"
import { defaultSchemas } from "../../core/domain/declare/schemas.ts"
import { FatalJobError } from "../../core/domain/job/failure.ts"
import { modelsOf } from "../contracts/queue.ts"
import { examplesOf } from "../docs/blocks.ts"
import { openDatabase, type TestDatabase } from "../support/postgres.ts"
import { openQueue } from "../support/queue.ts"

const open: TestDatabase[] = []
const databaseOf = async (sql: string): Promise<TestDatabase> => {
  const database = await openDatabase(sql)
  open.push(database)
  return database
}
afterEach(async () => {
  await Promise.all(open.splice(0).map((database) => database.drop()))
})

/** A step as a later version of the library may have it: it changes a column that views show. */
const later = new Map([
  ...libraryMigrations(),
  [
    21,
    `drop view :GRAPHILE_WORKER_SCHEMA.jobs;
alter table :GRAPHILE_WORKER_SCHEMA._private_jobs alter column last_error type varchar;`
  ] as const
])

const schema = { schema: "webhooks" }

describe("an upgrade of the schema", () => {
  it("changes columns below the view of deliveries, and leaves the view, its owner and its grants as they were", async () => {
    const database = await databaseOf(`${queueStatements()};${webhooksStatements(schema).join(";")};
      insert into webhooks.subscriptions (name, events, url) values ('s', '*', 'https://example.com');
      select jobs.enqueue('webhooks.deliver', jsonb_build_object('subscription', 'made:1', 'id', 'evt_1', 'resource', 'orders', 'event', 'created'));
      select jobs.enqueue('webhooks.deliver-ordered', '{"subscription": "made:1", "events": [{"id": "evt_2"}]}', group_key => 'g')`)
    const role = `reader_${database.name}`.slice(0, 60)
    const look = () =>
      database.rows(
        "select relowner::regrole::text, relacl::text, (select string_agg(attname, ', ' order by attnum) from pg_attribute where attrelid = c.oid and attnum > 0) from pg_class c where oid = 'webhooks.deliveries'::regclass"
      )
    await database.execute(`create role ${role}; grant select on webhooks.deliveries to ${role}, public`)
    try {
      const before = await look()
      const shown = await database.rows("select id::text, event_id, state from webhooks.deliveries order by id")
      await expect(database.execute("alter table jobs._private_jobs alter column last_error type varchar")).rejects
        .toThrow(/view/)
      await database.execute(queueStatements(later))
      expect(await look()).toEqual(before)
      expect(await database.rows("select id::text, event_id, state from webhooks.deliveries order by id")).toEqual(
        shown
      )
      expect(
        await database.rows(
          "select format_type(atttypid, null) from pg_attribute where attrelid = 'jobs._private_jobs'::regclass and attname = 'last_error'"
        )
      ).toEqual([["character varying"]])
      expect(await database.rows("select count(*)::text from jobs.failed")).toEqual([["0"]])
      // Again, and with the views there: nothing changes.
      await database.execute(queueStatements(later))
      expect(await look()).toEqual(before)
    } finally {
      await database.execute(`drop owned by ${role}; drop role ${role}`)
    }
  })

  it("goes from every level of the library on to ours", async () => {
    const all = [...libraryMigrations()]
    for (const level of [1, 10, 11, 18, 19]) {
      const lower = queueStatements(new Map(all.slice(0, level)))
      // Only the library's part: ours needs the tables of its last level.
      const database = await databaseOf(lower.slice(0, lower.indexOf("end $steps$") + "end $steps$".length))
      await database.execute(queueStatements())
      expect(await database.rows("select max(id)::text, count(*)::text from jobs.migrations")).toEqual([["20", "20"]])
      await database.execute("select jobs.enqueue('a')")
    }
  })
})

/** What takes the schema back to level 2, as far as a caller sees it. */
const lowered = (s: string): string =>
  `drop function ${s}._fetch(text, integer, integer, double precision, interval), ${s}._pause(text, boolean, boolean),
    ${s}.enqueue(text, jsonb, timestamptz, text, text, integer, text),
    ${s}._define(text, boolean, integer, interval, interval, interval[], interval, text, integer, interval, integer);
  drop table ${s}.progress;
  alter table ${s}.definitions drop column paused_at, drop column resumed_at, drop column max_running, drop column rate_every, drop column rate_burst, drop column next_start;
  create function ${s}.enqueue(job_name text, payload jsonb default null, run_at timestamptz default null, key text default null,
    group_key text default null, priority integer default 0) returns bigint language sql security definer as $f$
    select ${s}._enqueue(job_name, coalesce(payload, 'null')::json, run_at, null, key, 'dedupe', group_key, coalesce(priority, 0), null, null) $f$;
  create function ${s}._define(job_name text, is_ordered boolean, tries integer, delay interval, longest interval, steps interval[], lasts interval,
    cron text) returns void language sql as $f$ select $f$;
  create or replace function ${s}._level() returns text language sql immutable as $f$ select '20.2' $f$`

describe("an upgrade from level 2", () => {
  it("keeps jobs, definitions, callers and the rights of others, and has each function once", async () => {
    for (const schema of ["jobs", "Own jobs"]) {
      const s = ownSchema(schema)
      const statements = queueStatements(undefined, schema)
      const database = await databaseOf(`${statements};${lowered(s)}`)
      const pool = poolOf(database)
      const role = `app_${database.name}`.slice(0, 60)
      const refused = async () => (await refuseQueue(pool as never, new Map(), schema)).map(({ message }) => message)
      try {
        const grants = examplesOf("docs/guides/jobs.md", "sql").at(-1)?.text ?? ""
        await database.execute(`create role ${role} login;
          ${grants.replaceAll(/\bapp\b/g, role).replaceAll(/\bjobs\b/g, s)};
          create function public.calls() returns bigint language plpgsql as $f$ begin
            return ${s}.enqueue('kept', '{"n":1}', key => 'k'); end $f$;
          select ${s}.enqueue('kept', '{"n":1}', now() + interval '1 hour', 'k'), public.calls()`)
        expect(await refused()).toEqual([`The schema ${schema} is missing or out of date in the database.`])
        await database.execute(statements)
        await database.execute(statements)
        expect(await refused()).toEqual([])
        expect(await database.rows(`select count(*)::text from ${s}._private_jobs`)).toEqual([["1"]])
        expect(
          await database.rows(`select proname, count(*)::text from pg_proc where pronamespace = '${s}'::regnamespace
            and proname in ('enqueue', '_define', '_enqueue') group by 1 order by 1`)
        ).toEqual([["_define", "1"], ["_enqueue", "1"], ["enqueue", "1"]])
        // Callers of before, by name and by place, and roles that had a right.
        await database.execute(
          `set role ${role}; select ${s}.enqueue('kept', '{}', null, null, null, 3), public.calls(),
          ${s}._enqueue('kept', 'null', null, null, 'k', 'running', null, 0, false, 1);
          select from ${s}._pause('kept', null, true); select from ${s}._fetch('w', 1, 1, null, '1 s'); insert into ${s}.progress (id, attempt, done) values (1, 1, 1);
          select ${s}._define('kept', false, 1, '1 s', '1 s', null, '1 s', null, null, null, null)`
        )
        expect(await database.rows(`select count(*)::text from ${s}._private_jobs`)).toEqual([["3"]])
        // Somebody without rights enqueues, and does nothing else.
        const other = `other_${database.name}`.slice(0, 60)
        await database.execute(`create role ${other}; grant usage on schema ${s} to ${other}`)
        try {
          await database.execute(`set role ${other}; select ${s}.enqueue('kept')`)
          for (const call of ["_pause('kept', null, false)", "_fetch('w', 1, 1, null, '1 s')"]) {
            await expect(database.execute(`set role ${other}; select ${s}.${call}`)).rejects.toThrow(
              /permission denied/
            )
          }
        } finally {
          await database.execute(`reset role; drop owned by ${other}; drop role ${other}`)
        }
      } finally {
        await pool.end()
        await database.execute(`reset role; drop owned by ${role}; drop role ${role}`)
      }
    }
  })
})

const poolOf = (database: TestDatabase): Pool => {
  const pool = new Pool(pgAddressOf(database.url))
  pool.on("error", () => {})
  pool.on("connect", (client) => void client.on("error", () => {}))
  return pool
}

describe("a schema that somebody changed by hand", () => {
  it("is seen with what differs, refused at the start, and made again by the migration", async () => {
    for (const schema of ["jobs", "Own jobs"]) {
      const s = ownSchema(schema)
      const statements = queueStatements(undefined, schema)
      const database = await databaseOf(statements)
      const pool = poolOf(database)
      const refused = async () => (await refuseQueue(pool as never, new Map(), schema)).map(({ message }) => message)
      const present = async () => (await pool.query(queueQuestion(schema))).rows
      try {
        expect([await refused(), await present()]).toEqual([[], [{ present: true }]])
        await database.execute(`drop function ${s}._clean(); drop trigger service_gone on ${s}._private_jobs;
          create trigger service_gone after delete on ${s}._private_jobs for each row execute function ${s}.service_gone();
          create or replace function ${s}._free_dead() returns bigint language sql security definer as 'select 0::bigint';
          alter function ${s}._enqueue_run(text, bigint, timestamptz, integer) security invoker;
          delete from ${s}.chores`)
        expect([await refused(), await present()]).toEqual([[
          `The schema ${schema} is not as this version made it: function _clean is missing, function _enqueue_run was changed, ` +
          "function _free_dead was changed, trigger service_gone was changed."
        ], [{ present: false }]])
        expect(await checkJobs(pool as never, { jobs: new Map(), schemas: { ...defaultSchemas, jobs: schema } }))
          .toMatchObject([{
            level: "error",
            message: expect.stringContaining("function _clean is missing"),
            fix: "Run: service migration --apply"
          }])
        await database.execute(statements)
        expect([await refused(), await present()]).toEqual([[], [{ present: true }]])
        await database.execute(`alter table ${s}._private_jobs disable trigger service_lock; delete from ${s}.chores`)
        expect(await present()).toEqual([{ present: false }])
        // A chore whose row is gone makes it again.
        const claim = async () => (await pool.query(`select ${s}._claim('day', '1 day')`)).rows
        expect([await claim(), await claim(), await claim()]).toMatchObject([
          [{ _claim: true }],
          [{ _claim: false }],
          [{ _claim: false }]
        ])
      } finally {
        await pool.end()
      }
    }
  })

  it("is no jobs of others: a database without it has nothing", async () => {
    const database = await databaseOf("create schema jobs")
    const pool = poolOf(database)
    try {
      expect((await pool.query(queueQuestion())).rows).toEqual([{ present: false }])
    } finally {
      await pool.end()
    }
  })
})

describe("a schema of the next version", () => {
  it("is worked with, whatever its functions do; one that is further is not", async () => {
    const database = await databaseOf(queueStatements())
    const pool = poolOf(database)
    const raise = (by: number) =>
      database.execute(
        `create or replace function jobs._level() returns text language sql immutable as $f$ select '${libraryLevel}.${
          ownLevel + by
        }' $f$; create or replace function jobs._free_dead() returns bigint language sql security definer as 'select 0::bigint'`
      )
    const stands = async () => [
      await checkSchema(pool as never),
      (await refuseQueue(pool as never, new Map())).length,
      (await pool.query(queueQuestion())).rows
    ]
    try {
      await raise(1)
      expect(await stands()).toEqual(["ahead", 0, [{ present: true }]])
      await raise(2)
      expect(await stands()).toEqual(["newer", 1, [{ present: false }]])
    } finally {
      await pool.end()
    }
  })
})

describe("a service whose role does not own the schema", () => {
  it("runs, fails, retries, schedules and cleans with the grants that the guide names", async () => {
    const harness = await openQueue()
    const { database } = harness
    const role = `app_${database.name}`.slice(0, 60)
    const grants = examplesOf("docs/guides/jobs.md", "sql").at(-1)?.text ?? ""
    expect(grants).toContain("create policy")
    await database.execute(`create role ${role} login; ${grants.replaceAll(/\bapp\b/g, role)}`)
    const pool = new Pool({ ...pgAddressOf(database.url), user: role })
    // Its sockets may still be closing when the database is dropped, which ends them.
    pool.on("connect", (client) => client.on("error", () => {}))
    try {
      expect((await pool.query<{ current_user: string }>("select current_user")).rows[0]?.current_user).toBe(role)
      const ran: string[] = []
      const fails = defineJob<number>({
        name: "fails",
        maxAttempts: 1,
        run: (n) => {
          ran.push(`fails ${n}`)
          if (ran.filter((each) => each.startsWith("fails")).length < 3) throw new FatalJobError("no")
        }
      })
      const works = defineJob<number>({ name: "works", concurrency: 5, run: (n) => void ran.push(`works ${n}`) })
      const ordered = defineJob<number>({ name: "ordered", ordered: true, run: (n) => void ran.push(`ordered ${n}`) })
      const tick = defineJob({ name: "tick", schedule: "* * * * * *", run: () => void ran.push("tick") })
      const models = modelsOf(...[fails, works, ordered, tick] as unknown as readonly Job<never>[])
      const db = { query: (sql: string, params: readonly unknown[] = []) => pool.query(sql, [...params]) }
      const queue = makeQueue(pool as never)
      const logged: string[] = []
      const workers = await startEngine({
        pool: pool as never,
        queue,
        jobs: models,
        attempt: makeAttempts(models, { db: {} as never, mail: undefined }),
        log: (_, event) => void logged.push(event),
        pollMs: 50,
        choreMs: 100
      })
      await works.enqueueMany(db, Array.from({ length: 30 }, (_, payload) => ({ payload })))
      await works.enqueue(db, 30, { key: "k" })
      for (let n = 0; n < 3; n++) await ordered.enqueue(db, n, { group: "g" })
      await fails.enqueue(db, 1)
      await fails.enqueue(db, 2)
      const failed = () => Effect.runPromise(queue.failed({ name: null, after: null, limit: 10 }))
      await harness.until(async () =>
        ran.includes("tick") && ran.filter((each) => each.startsWith("works")).length === 31 &&
        ran.includes("ordered 2") && (await failed()).length === 2
      )
      const [first, second] = await failed()
      expect(await Effect.runPromise(queue.retry({ id: first!.id }))).toBe(1)
      expect(await Effect.runPromise(queue.remove({ id: second!.id }))).toBe(1)
      await harness.until(async () => (await failed()).length === 0)
      expect(await Effect.runPromise(queue.nextDue)).not.toBeNull()
      await pool.query("select jobs._clean(), jobs._free_dead()")
      await workers.stop()
      expect(logged.filter((event) => event.startsWith("jobs-"))).toEqual([])
    } finally {
      await pool.end()
      await database.execute(`drop owned by ${role}; drop role ${role}`)
      await harness.close()
    }
  })
})
