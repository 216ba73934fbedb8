/** What PostgreSQL says against a write, as answers: constraints, conflicts, timeouts, lost connections, and that no update is lost. */

import { connect, createServer } from "node:net"
import type { AddressInfo, Socket } from "node:net"
import { afterEach, expect, it } from "vitest"
import type { WriteHook } from "../../../core/domain/declare/config.ts"
import { expectProblem, inTime } from "../../support/answer.ts"
import type { Answer, TestService } from "../../support/composed.ts"
import { deep } from "../../support/depth.ts"
import { admin, ann, bob, ledger } from "../../support/ledger.ts"
import type { TestDatabase } from "../../support/postgres.ts"
import { base, batch, make, makeAccount, on, patch, read, takeUnhandled } from "./scenes.ts"

/** The news of a connection's end may still be on its way: a request may meet it, with a 503, and is sent again. */
const served = async (send: () => Promise<Answer>): Promise<Answer> => {
  let answer = await send()
  for (const begin = performance.now(); answer.status === 503 && performance.now() - begin < 60_000;) {
    answer = await send()
  }
  return answer
}

const accounts = `${base}/accounts`
const notes = `${base}/notes`
const secrets = /zq|ledger\.|accounts_|notes_|_key|_fkey|_check|constraint|violat|relation "|SQLSTATE|A-1/

const extras = `
create sequence ledger.tries;
create function ledger.fail() returns trigger language plpgsql as $$ begin
  if new.name like 'conflict %' and nextval('ledger.tries') < split_part(new.name, ' ', 2)::int then
    raise exception 'zq-message' using errcode = '40001';
  elsif new.name = 'slow' then perform pg_sleep(600);
  elsif new.name = 'trigger' then raise exception 'zq-message of a trigger';
  elsif new.name like 'trigger %' then
    execute format('do $do$ begin raise exception ''zq-message'' using errcode = %L; end $do$', split_part(new.name, ' ', 2));
  elsif new.name = 'swallowed' then return null;
  end if;
  return new;
end $$;
create trigger fail before insert or update on ledger.accounts for each row execute function ledger.fail();
create function ledger.late() returns trigger language plpgsql as $$ begin
  if new.name = 'slow commit' then perform pg_sleep(600);
  elsif new.name = 'late' then raise exception 'zq-late' using errcode = '23514';
  elsif new.name = 'late conflict' and nextval('ledger.tries') < 3 then raise exception 'zq-late' using errcode = '40001';
  elsif new.name = 'latest conflict' then raise exception 'zq-late' using errcode = '40001';
  end if;
  return null;
end $$;
create constraint trigger late after insert or update on ledger.accounts deferrable initially deferred
  for each row execute function ledger.late();
create function ledger.doze() returns trigger language plpgsql as $$ begin
  if new.title = 'doze' then perform pg_sleep(600); end if;
  return new;
end $$;
create trigger doze after insert on ledger.notes for each row execute function ledger.doze();
create function ledger.tire() returns trigger language plpgsql as $$ begin
  if new.n = 77 and current_query() like '%), (%' then raise exception 'zq-tired' using errcode = '57014'; end if;
  return new;
end $$;
create trigger tire before insert on ledger.counters for each row execute function ledger.tire();
`

/** Statements of the service that sleep. */
const sleeping = "wait_event = 'PgSleep' and datname = current_database()"
const asleep = (service: TestService): Promise<void> =>
  until(async () => (await service.database!.rows(`select 1 from pg_stat_activity where ${sleeping}`)).length > 0)

const takenTitle = {
  errors: ["owner_id", "title"].map((field) => ({
    field,
    code: "invalid",
    message: "Another record already has this value."
  }))
}

const expectQuiet = (answer: Answer, slug: Parameters<typeof expectProblem>[1], path: string, members = {}): void => {
  expectProblem(answer, slug, path, members)
  expect(answer.text).not.toMatch(secrets)
}

// What sleeps here does so until its connection is killed: the time that a statement has is longer than a test.
on("postgres", "the database refuses", () => ledger({ statementTimeoutMs: 60_000 }, extras), (use) => {
  const sql = (text: string) => use().database!.execute(text)
  const create = (body: object, path = accounts, caller = ann): Promise<Answer> =>
    use().call(caller, "POST", path, { body })
  const tries = async (): Promise<number> => {
    const [row] = await use().database!.rows("select last_value - (not is_called)::int from ledger.tries")
    return Number(row![0])
  }
  /** Asked of the database itself: connections of the service may be gone. */
  const named = async (name: string): Promise<number> =>
    Number((await use().database!.rows(`select count(*) from ledger.accounts where name = '${name}'`))[0]![0])
  const invalid = { errors: [{ code: "invalid", message: expect.stringMatching(/^[A-Z].*\.$/) }] }

  afterEach(async () => {
    await sql("alter sequence ledger.tries restart")
  })

  it("unique 409; foreign key, not null and check 400; fields that the caller can read, no values", async () => {
    const taken = (field: string) => ({
      errors: [{ field, code: "invalid", message: "Another record already has this value." }]
    })
    expectQuiet(await create({ name: "x", code: "A-1" }), "conflict", accounts, taken("code"))
    const { path } = await makeAccount(use())
    expectQuiet(await patch(use(), ann, path, { code: "A-1" }), "conflict", path, taken("code"))
    expectQuiet(await patch(use(), ann, path, { rating: -1 }), "invalid-record", path, {
      errors: [{ field: "rating", code: "invalid", message: "The value breaks a rule of the database." }]
    })
    expectQuiet(await create({ name: "trigger" }), "invalid-record", accounts, invalid)
    // Codes that no server has of its own: SQL's for refusals of users, and one that somebody made up.
    expectQuiet(await create({ name: "trigger 45000" }), "invalid-record", accounts, invalid)
    expectQuiet(await create({ name: "trigger OR001" }), "invalid-record", accounts, invalid)
    expectQuiet(await create({ title: "x", account_id: "98765" }, notes), "invalid-record", notes, {
      errors: [{ field: "account_id", code: "invalid", message: "There is no such record." }]
    })
  })

  it("names no field that the caller cannot read, nor one of a constraint over such a field or an expression", async () => {
    const { path } = await makeAccount(use(), { name: "quiet one" })
    await sql("alter table ledger.accounts add constraint quiet_check check (zq_note <> 'zq-bad')")
    await sql("create unique index quiet_pair on ledger.accounts (name, zq_note) where name like 'quiet%'")
    await sql("create unique index quiet_text on ledger.accounts (lower(name)) where name like 'Quiet%'")
    try {
      const bad = await patch(use(), admin, path, { zq_note: "zq-bad" })
      expect(bad.json["errors"]).toEqual([{
        field: "zq_note",
        code: "invalid",
        message: "The value breaks a rule of the database."
      }])
      await patch(use(), admin, path, { zq_note: "zq-x" })
      const other = await makeAccount(use(), { name: "other" })
      await patch(use(), admin, other.path, { zq_note: "zq-x" })
      expectQuiet(await patch(use(), ann, other.path, { name: "quiet one" }), "conflict", other.path)
      const seen = await patch(use(), admin, other.path, { name: "quiet one" })
      expect((seen.json["errors"] as unknown as readonly object[]).map((error) => (error as { field: string }).field))
        .toEqual([
          "name",
          "zq_note"
        ])
      await makeAccount(use(), { name: "Quiet two" })
      expectQuiet(await create({ name: "Quiet TWO" }), "conflict", accounts)
    } finally {
      await sql(
        "alter table ledger.accounts drop constraint quiet_check; drop index ledger.quiet_pair, ledger.quiet_text"
      )
    }
  })

  it("a delete that other records block, alone and in a batch", async () => {
    const note = await make(use(), ann, "notes", { title: "held" })
    await make(use(), ann, "labels", { note_id: Number(note.id), label: "holds" })
    expectQuiet(await use().call(ann, "DELETE", note.path), "still-referenced", note.path)
    const remove = { op: "delete", resource: "notes", key: note.id }
    expectQuiet(await batch(use(), ann, [remove]), "still-referenced", `${base}:batchWrite`, {
      operation: 0,
      op: "delete",
      resource: "notes"
    })
    expect((await use().get(ann, note.path)).status).toBe(200)
  })

  it("a row that the rule refuses anyway is a 403, so that nobody learns what others have", async () => {
    await make(use(), bob, "notes", { title: "zq-secret plan" })
    const mine = await make(use(), ann, "notes", { title: "zq-mine" })
    for (const title of ["zq-secret plan", "zq-other plan"]) {
      expectProblem(await create({ owner_id: "bob", title }, notes), "access-denied", notes)
      expectProblem(await patch(use(), ann, mine.path, { owner_id: "bob", title }), "access-denied", mine.path)
      const operation = { op: "create", resource: "notes", data: { owner_id: "bob", title } }
      const [one, many] = [
        await batch(use(), ann, [operation]),
        await batch(use(), ann, [{ ...operation, data: { title: `own ${title}` } }, operation])
      ]
      expect([one.status, one.json["operation"], many.status, many.json["operation"]]).toEqual([403, 0, 403, 1])
    }
    expectQuiet(await create({ title: "zq-mine" }, notes), "conflict", notes, takenTitle)
  })

  it("serialization failures: tried again three times, then 409", async () => {
    for (const fits of ["conflict 2", "conflict 4"]) {
      await sql("alter sequence ledger.tries restart")
      expect((await create({ name: fits })).status).toBe(201)
      expect(await named(fits)).toBe(1)
    }
    await sql("alter sequence ledger.tries restart")
    expectQuiet(await create({ name: "conflict 5" }), "conflict", accounts)
    expect(await tries()).toBe(4)
    const { path } = await makeAccount(use())
    await sql("alter sequence ledger.tries restart")
    const ops = [{ op: "create", resource: "notes", data: { title: "with a conflict" } }, {
      op: "update",
      resource: "accounts",
      key: path.split("/").at(-1),
      etag: "*",
      data: { name: "conflict 9" }
    }]
    expectQuiet(await batch(use(), ann, ops), "conflict", `${base}:batchWrite`, {
      operation: 1,
      op: "update",
      resource: "accounts"
    })
    expect(await tries()).toBe(4)
    // One that shows at the commit is no operation's.
    await sql("alter sequence ledger.tries restart")
    const late = { op: "create", resource: "accounts", data: { name: "latest conflict" } }
    expectQuiet(await batch(use(), ann, [late]), "conflict", `${base}:batchWrite`)
    // A conflict that shows at the commit only.
    await sql("alter sequence ledger.tries restart")
    expect((await create({ name: "late conflict" })).status).toBe(201)
    expect([await tries(), await named("late conflict")]).toEqual([3, 1])
  })

  it("deferred constraints: refused at the commit, and by a dry run", async () => {
    expectQuiet(await create({ name: "late" }), "invalid-record", accounts, invalid)
    expectQuiet(
      await use().call(ann, "POST", `${accounts}?dry_run=true`, { body: { name: "late" } }),
      "invalid-record",
      accounts,
      invalid
    )
    const batched = await batch(
      use(),
      ann,
      [{ op: "create", resource: "accounts", data: { name: "late" } }],
      {},
      "?dry_run=true"
    )
    expect(batched.status).toBe(400)
    expect((await batch(use(), ann, [{ op: "create", resource: "accounts", data: { name: "late" } }])).status).toBe(400)
    expect(await named("late")).toBe(0)
  })

  it("a trigger that swallows the row is the operator's to know: 500, and nothing half answered", async () => {
    expect((await create({ name: "swallowed" })).status).toBe(500)
    const ops = ["a", "swallowed", "b"].map((name) => ({
      op: "create",
      resource: "accounts",
      data: { name: `${name}` }
    }))
    expect((await batch(use(), ann, ops)).status).toBe(500)
    expect(takeUnhandled(use()).map(String)).toEqual([
      "Error: 1 rows were inserted, 0 came back",
      "Error: 3 rows were inserted, 2 came back"
    ])
    expect(await named("a")).toBe(0)
  })

  it("read-only 503, and well again afterwards", async () => {
    const { path } = await makeAccount(use())
    const name = use().database!.name
    await sql(`alter database ${name} set default_transaction_read_only = on`)
    await use().database!.disconnectAll()
    const refused = await patch(use(), ann, path, { name: "x" })
    expectQuiet(refused, "unavailable", path)
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0)
    await sql(`begin read write; alter database ${name} set default_transaction_read_only = off; commit`)
    await use().database!.disconnectAll()
    expect((await served(() => patch(use(), ann, path, { name: "y" }))).status).toBe(200)
  })

  it("a connection killed before the commit: 503 and nothing written", async () => {
    const { etag, path } = await makeAccount(use())
    const inside = batch(use(), ann, [{
      op: "update",
      resource: "accounts",
      key: path.split("/").at(-1),
      etag: "*",
      data: { name: "slow" }
    }])
    await asleep(use())
    await use().database!.disconnectAll()
    expectQuiet(await inside, "unavailable", `${base}:batchWrite`, { operation: 0, op: "update", resource: "accounts" })
    expect((await served(() => use().get(ann, path))).json).toMatchObject({ name: "made", etag })
  })

  it("a connection killed during the commit: 503, outcome unknown", async () => {
    const pending = create({ name: "slow commit" })
    await asleep(use())
    await use().database!.disconnectAll()
    const answer = await pending
    expectQuiet(answer, "unavailable", accounts, { outcome: "unknown" })
    expect(answer.headers.get("retry-after")).not.toBeNull()
    expect(await named("slow commit")).toBe(0)
  })

  it("a create that commits by itself, as nothing can refuse it afterwards: the same", async () => {
    const pending = create({ title: "doze", owner_id: "root" }, notes, admin)
    await asleep(use())
    await use().database!.disconnectAll()
    expectQuiet(await pending, "unavailable", notes, { outcome: "unknown" })
    expect(await use().database!.rows("select count(*) from ledger.notes where title = 'doze'")).toEqual([["0"]])
    expect((await served(() => create({ title: "awake", owner_id: "root" }, notes, admin))).status).toBe(201)
    expectQuiet(await create({ title: "awake", owner_id: "root" }, notes, admin), "conflict", notes, takenTitle)
  })
})

on("postgres", "the database takes too long", () => ledger({ statementTimeoutMs: 700 }, extras), (use) => {
  const sql = (text: string) => use().database!.execute(text)
  const create = (body: object, path = accounts, caller = ann): Promise<Answer> =>
    use().call(caller, "POST", path, { body })

  it("statement timeout 504", async () => {
    expectQuiet(await create({ name: "slow" }), "statement-timeout", accounts)
    const group = await batch(
      use(),
      ann,
      [1, 2].map((n) => ({ op: "create", resource: "accounts", data: { name: n === 1 ? "fast" : "slow" } }))
    )
    expectQuiet(group, "statement-timeout", `${base}:batchWrite`, { operation: 1, op: "create", resource: "accounts" })
    expect(await use().database!.rows("select count(*) from ledger.accounts where name = 'fast'")).toEqual([["0"]])
  })

  it("the limit is one operation's: creates that take longer together have their time one by one", async () => {
    const ops = [901, 902, 903].map((id) => ({ op: "create", resource: "counters", data: { id, n: 77 } }))
    const answer = await batch(use(), ann, ops)
    expect([answer.status, answer.json["results"]?.["length"]]).toEqual([200, 3])
  })

  it("who waits for the row too long gets 504", async () => {
    const path = `${accounts}/1`
    // Until it is cancelled.
    const holder = sql("begin; select 1 from ledger.accounts where id = 1 for update; select pg_sleep(600); commit")
      .then(() => "done", () => "cancelled")
    await asleep(use())
    expectProblem(await patch(use(), ann, path, { name: "waiter" }), "statement-timeout", path)
    await use().database!.rows(`select pg_cancel_backend(pid) from pg_stat_activity where ${sleeping}`)
    expect(await holder).toBe("cancelled")
    expect((await inTime(() => patch(use(), ann, path, { name: "later" }))).status).toBe(200)
  })

  it("a create that commits by itself: the same, and nothing is left of it", async () => {
    expectQuiet(await create({ title: "doze", owner_id: "root" }, notes, admin), "statement-timeout", notes)
    expect(await use().database!.rows("select count(*) from ledger.notes where title = 'doze'")).toEqual([["0"]])
  })
})

const until = async (met: () => Promise<boolean>): Promise<void> => {
  for (const begin = performance.now(); !(await met());) {
    if (performance.now() - begin > 60_000) throw new Error("waited too long")
  }
}

let hook: WriteHook = () => {}

on(
  "postgres",
  "while a hook runs",
  () => ledger({ writeHooks: [(change) => hook(change)] }),
  (use) => {
    afterEach(() => {
      hook = () => {}
    })

    it("the connection is killed: 503, nothing written, the next request is served", async () => {
      const { etag, path } = await makeAccount(use())
      hook = async () => {
        await use().database!.disconnectAll()
      }
      const refused = await patch(use(), ann, path, { name: "killed" })
      // The commit itself finds the connection gone: whether it had reached the server is not known to the client.
      expect(refused.status).toBe(503)
      expect(refused.json["type"]).toBe("urn:service:problem:unavailable")
      hook = () => {}
      expect((await served(() => use().get(ann, path))).json).toMatchObject({ name: "made", etag })
      expect((await served(() => patch(use(), ann, path, { name: "alive" }, etag))).status).toBe(200)
    })
  }
)

// ------------------------------------------------------------------------------------------ a network that loses the commit

type Loss = "none" | "reply" | "request"
let lose: Loss = "none"

/** Passes bytes on to the database, until it is told to lose a commit: before the server gets it, or the server's reply to it. */
const throughProxy = async (
  { url }: TestDatabase
): Promise<{ readonly url: string; readonly close: () => Promise<void> }> => {
  const target = new URL(url.replace(/^(postgres(?:ql)?:\/\/[^/@?]*@)\//, "$1localhost/"))
  const folder = target.searchParams.get("host")
  const port = Number(target.searchParams.get("port") ?? (target.port === "" ? 5432 : target.port))
  const sockets = new Set<Socket>()
  const server = createServer((client) => {
    const upstream = folder === null ? connect(port, target.hostname) : connect(`${folder}/.s.PGSQL.${port}`)
    const end = (): void => {
      client.destroy()
      upstream.destroy()
    }
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.on("error", end)
      socket.on("close", end)
    }
    let losing = false
    client.on("data", (data) => {
      // A connection's first commit carries its text; later ones name the prepared statement.
      if (lose !== "none" && data.includes("commit\0")) {
        if (lose === "request") return end()
        losing = true
      }
      upstream.write(data)
    })
    upstream.on("data", (data) => losing ? end() : client.write(data))
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const address = server.address() as AddressInfo
  return {
    url: `postgres://${target.username}@127.0.0.1:${address.port}${target.pathname}`,
    close: () => {
      for (const socket of sockets) socket.destroy()
      return new Promise<void>((resolve) => server.close(() => resolve()))
    }
  }
}

for (const [loss, kept] of [["reply", 1], ["request", 0]] as const) {
  on("postgres", `the network loses a commit's ${loss}`, ledger, (use) => {
    it("answers 503, never 2xx; a retry with the same idempotency key settles what is unknown", async () => {
      const send = () =>
        use().call(ann, "POST", accounts, { body: { name: loss }, headers: { "idempotency-key": loss } })
      const stored = async (): Promise<number> =>
        Number((await use().database!.rows(`select count(*) from ledger.accounts where name = '${loss}'`))[0]![0])
      lose = loss
      const answer = await send()
      lose = "none"
      expectProblem(answer, "unavailable", accounts, { outcome: "unknown" })
      await until(async () => await stored() === kept)
      const again = await send()
      expect([again.status, again.json["name"], again.headers.get("idempotency-replayed")]).toEqual([
        201,
        loss,
        kept === 1 ? "true" : null
      ])
      expect(await stored()).toBe(1)
    })
  }, { through: throughProxy })
}

// ---------------------------------------------------------------------------------------------------------- no lost update

on("postgres", "concurrent clients", ledger, (use) => {
  // The work grows with the square of the clients: each success makes all others stale.
  const [clients, increments] = deep ? [16, 20] : [6, 6]
  it(`${clients} clients of ${increments} increments each: read, PATCH with If-Match, again on 412: the sum is exact`, async () => {
    const path = `${base}/counters/1`
    let stale = 0
    const client = async (): Promise<void> => {
      for (let done = 0; done < increments;) {
        const { headers, json } = await use().get(ann, path)
        const answer = await patch(
          use(),
          ann,
          path,
          { n: String(BigInt(json["n"] as unknown as string) + 1n) },
          headers.get("etag")
        )
        if (answer.status === 200) done++
        else {
          expect(answer.status, answer.text).toBe(412)
          stale++
        }
      }
    }
    await Promise.all(Array.from({ length: clients }, client))
    const sum = clients * increments
    expect(await read(use(), ann, path)).toMatchObject({ n: String(sum), rev: sum + 1 })
    expect(stale).toBeGreaterThan(0)
  })

  it("a version without end moves on like any other, so that the second of two writes is stale", async () => {
    await use().database!.execute(
      "insert into ledger.papers (id, level, state, updated_at) values (7001, 1, 'draft', 'infinity'), (7002, 1, 'draft', '-infinity')"
    )
    for (const id of [7001, 7002]) {
      const path = `${base}/papers/${id}`
      const etag = (await use().get(ann, path)).headers.get("etag")
      const [first, second] = [
        await patch(use(), ann, path, { level: 2 }, etag),
        await patch(use(), ann, path, { level: 3 }, etag)
      ]
      expect([first.status, second.status], second.text).toEqual([200, 412])
    }
  })

  it("deadlocks: both writes happen", async () => {
    const [a, b] = [(await makeAccount(use())).id, (await makeAccount(use())).id]
    for (let round = 0; round < 2; round++) {
      const order = (keys: readonly string[]) =>
        batch(
          use(),
          ann,
          keys.map((key) => ({ op: "update", resource: "accounts", key, etag: "*", data: { name: `r${round}` } }))
        )
      const answers = await Promise.all([order([a, b]), order([b, a])])
      expect(answers.map(({ status }) => status), answers.map(({ text }) => text).join()).toEqual([200, 200])
    }
  })

  it("of concurrent creates with the same key one wins", async () => {
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => use().call(ann, "POST", `${base}/papers`, { body: { id: 5000, level: 1 } }))
    )
    expect(answers.map(({ status }) => status).sort((a, b) => a - b)).toEqual([
      201,
      ...Array.from({ length: 7 }, () => 409)
    ])
  })

  it("of concurrent deletes one finds the record", async () => {
    const { path } = await makeAccount(use())
    const answers = await Promise.all(Array.from({ length: 6 }, () => use().call(ann, "DELETE", path)))
    expect(answers.map(({ status }) => status).sort((a, b) => a - b)).toEqual([204, 404, 404, 404, 404, 404])
  })
})
