// `:bulk` over HTTP, on both backends: preview, batches, refusals, progress, cancel, resume, and whose access counts when.
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import { afterEach, describe, expect, it } from "vitest"
import { bulkScope } from "../../../core/app/task/bulk.ts"
import { runTask, taskJob } from "../../../core/app/task/run.ts"
import { LeftToOthers } from "../../../core/domain/job/retry.ts"
import { boss, clerk, fixture, hooks, idOf, onBothTasks, startTasks, viewer } from "./scenes.ts"
import type { TaskScene } from "./scenes.ts"

const path = "/api/v1/notes:bulk"

const start = async ({ post }: TaskScene, caller: typeof boss, body: unknown) => {
  const answer = await post(caller, path, body)
  expect(answer.status, answer.text).toBe(202)
  expect(answer.headers.get("location")).toBe(`/api/tasks/${idOf(answer)}`)
  return idOf(answer)
}

onBothTasks("bulk changes", () => fixture(1_203), (use) => {
  it("tell first how many records they are for, and change nothing then", async () => {
    const answer = await use().post(boss, `${path}?dry_run=true`, {
      op: "update",
      filter: "status = open",
      data: { title: "x" }
    })
    expect(answer.status, answer.text).toBe(200)
    // At least one batch of them; how many more depends on the time that it takes.
    const tried = Number(answer.json["tried"])
    expect(tried).toBeGreaterThanOrEqual(500)
    expect(answer.json).toEqual({ total: 1_083, tried, written: tried, refused: 0, refusals: [] })
    expect([...(await use().titles()).values()].filter((title) => title === "x")).toHaveLength(0)
    expect(use().waiting).toEqual([])
    // Of her own records, closed ones are refused by the rule over the record.
    const refused = await use().post(clerk, `${path}?dry_run=true`, {
      op: "update",
      filter: "status = closed OR id < 4",
      data: { title: "y" }
    })
    expect(refused.json["total"]).toBe(2)
    const own = await use().post(boss, `${path}?dry_run=true`, {
      op: "update",
      filter: "id < 3",
      data: { title: "bad" }
    })
    expect(own.json).toMatchObject({
      total: 2,
      written: 0,
      refused: 2,
      refusals: [{ key: "1", line: null, field: "title", slug: "invalid-record", message: "Not this title." }, {
        key: "2"
      }]
    })
  })

  it("go through relations, as far as the caller sees them", async () => {
    const body = { op: "update", filter: "marks.colour = red", data: { title: "marked" } }
    const tried = await use().post(boss, `${path}?dry_run=true`, body)
    expect(tried.json, tried.text).toMatchObject({ total: 2, written: 2, refused: 0 })
    const hidden = await use().post(clerk, path, body)
    expect(hidden.status).toBe(400)
    expect(hidden.text).toContain("There is no field \\\"marks.colour\\\".")
    const id = await start(use(), boss, body)
    await use().work()
    expect((await use().task(boss, id)).json).toMatchObject({ state: "completed", done: 2, written: 2 })
    const titles = await use().titles()
    expect([...titles].filter(([, title]) => title === "marked").map(([note]) => note).sort()).toEqual(["1", "2"])
  })

  it("tell of refusals that come late, and stop trying at the most that an answer lists", async () => {
    const late = await use().post(boss, `${path}?dry_run=true`, {
      op: "update",
      filter: "",
      except: Array.from({ length: 1_000 }, (_, i) => i + 1),
      data: { title: "bad" }
    })
    expect(late.json).toMatchObject({ total: 203, tried: 203, written: 0, refused: 203 })
    expect(late.json["refusals"]).toHaveLength(200)
    const all = await use().post(boss, `${path}?dry_run=true`, { op: "update", filter: "", data: { title: "bad" } })
    expect(all.json).toMatchObject({ total: 1_203, tried: 500, refused: 500 })
    expect(all.json["refusals"]).toHaveLength(200)
  })

  it("take few records at once where the new value is long", () => {
    const request = {
      kind: "bulk",
      op: "update",
      filter: "",
      except: [],
      data: { secret: "x".repeat(1_900_000) }
    } as const
    const accesses = use().tasking.accesses({ ...boss, tenant: null })
    const scope = Result.getOrThrow(Result.gen(() => bulkScope(use().tasking.core, accesses, "notes", request)))
    expect(scope.page.limit).toBe(2)
  })

  it("change all that match, but for some, in batches with progress", async () => {
    const id = await start(use(), boss, {
      op: "update",
      filter: "id <= 1100",
      except: ["7", 9],
      data: { title: "all" }
    })
    expect((await use().task(boss, id)).json).toMatchObject({
      id,
      kind: "bulk",
      resource: "notes",
      state: "running",
      total: 1_098,
      done: 0,
      refusals: []
    })
    await use().work()
    const done = await use().task(boss, id)
    expect(done.json).toMatchObject({
      state: "completed",
      total: 1_098,
      done: 1_098,
      written: 1_098,
      refused: 0,
      error: null
    })
    expect(done.json["ended_at"]).not.toBeNull()
    const titles = await use().titles()
    expect([...titles].filter(([, title]) => title === "all")).toHaveLength(1_098)
    expect([titles.get("7"), titles.get("9"), titles.get("1101")]).toEqual(["note 7", "note 9", "note 1101"])
  })

  it("count as unchanged what has the values already", async () => {
    const id = await start(use(), boss, { op: "update", filter: "id = 1", data: { title: "all" } })
    await use().work()
    expect((await use().task(boss, id)).json).toMatchObject({ state: "completed", done: 1, written: 0, refused: 0 })
  })

  it("leave out what is refused, say why, and go on", async () => {
    // Ann sees her own; those that are closed she may not change.
    await use().post(boss, path, { op: "update", filter: "id = 3 OR id = 5", data: { status: "closed" } })
    await use().work()
    const id = await start(use(), clerk, { op: "update", filter: "id < 12", data: { title: "ann's" } })
    await use().work()
    const { json } = await use().task(clerk, id)
    expect(json).toMatchObject({ state: "completed", total: 6, done: 6, written: 4, refused: 2 })
    expect(json["refusals"]).toEqual([
      { key: "3", line: null, column: null, field: null, slug: "access-denied", message: "You may not do this." },
      { key: "5", line: null, column: null, field: null, slug: "access-denied", message: "You may not do this." }
    ])
    expect([...(await use().titles("title = \"ann's\"")).keys()]).toEqual(["1", "7", "9", "11"])
    const report = await use().service.get(clerk, `/api/tasks/${id}:report`)
    expect(report.status).toBe(200)
    expect(report.headers.get("content-type")).toBe("text/csv; charset=utf-8; header=present")
    expect(report.text.replace("\uFEFF", "").split("\r\n")).toEqual([
      "line,column,key,field,slug,message",
      ",,3,,access-denied,You may not do this.",
      ",,5,,access-denied,You may not do this.",
      ""
    ])
  })

  it("report a constraint of the database like a single write, without undoing the others", async () => {
    const id = await start(use(), boss, { op: "update", filter: "id > 1195", data: { email: "same@example.org" } })
    await use().work()
    const { json } = await use().task(boss, id)
    if (use().service.backend === "postgres") {
      expect(json).toMatchObject({ state: "completed", done: 8, written: 1, refused: 7 })
      expect(json["refusals"]![0]).toMatchObject({ key: "1197", field: "email", slug: "conflict" })
    } else expect(json).toMatchObject({ state: "completed", written: 8 })
  })

  it("delete softly where the resource says so", async () => {
    const id = await start(use(), boss, { op: "delete", filter: "id > 1200" })
    await use().work()
    expect((await use().task(boss, id)).json).toMatchObject({ state: "completed", written: 3 })
    expect((await use().titles("id > 1200")).size).toBe(0)
    expect((await use().service.get(boss, "/api/v1/notes?filter=id>1200&show_deleted=true")).json["items"])
      .toHaveLength(3)
  })

  it("bring back what was deleted, and only that", async () => {
    await start(use(), boss, { op: "delete", filter: "id > 600" })
    await use().work()
    const left = (await use().titles()).size
    expect(left).toBe(600)
    const tried = await use().post(boss, `${path}?dry_run=true`, { op: "undelete", filter: "id > 590" })
    expect(tried.json).toMatchObject({ total: 603, written: Number(tried.json["tried"]), refused: 0 })
    expect((await use().titles()).size).toBe(left)
    const version = async () =>
      (await use().service.get(boss, "/api/v1/notes?filter=id=700&show_deleted=true")).json["items"]![0]!["version"]
    const before = await version()
    const id = await start(use(), boss, { op: "undelete", filter: "id > 590", except: [601] })
    await use().work()
    expect((await use().task(boss, id)).json).toMatchObject({
      op: "undelete",
      state: "completed",
      total: 602,
      done: 602,
      written: 602,
      refused: 0
    })
    expect((await use().titles("id > 590")).size).toBe(612)
    expect(await version()).toBe(Number(before) + 1)
    // Once more there is nothing to do, and the one that was left out is still gone.
    const again = await use().post(boss, `${path}?dry_run=true`, { op: "undelete", filter: "" })
    expect(again.json).toMatchObject({ total: 1, tried: 1, written: 1 })
    await start(use(), boss, { op: "undelete" })
    await use().work()
    expect((await use().titles()).size).toBe(1_203)
  })

  it("bring back under the rule of updates, and only what the person can see", async () => {
    await start(use(), boss, { op: "delete", filter: "id <= 20" })
    await use().work()
    // Ann's are the odd ones, of which 3 and 5 are closed; Vic may not change anything.
    const id = await start(use(), clerk, { op: "undelete", filter: "id <= 20" })
    await use().work()
    const { json } = await use().task(clerk, id)
    expect(json).toMatchObject({ state: "completed", total: 10, done: 10, written: 8, refused: 2 })
    expect(json["refusals"]).toMatchObject([{ key: "3", slug: "access-denied" }, { key: "5", slug: "access-denied" }])
    expect((await use().post(viewer, path, { op: "undelete" })).status).toBe(403)
    await start(use(), boss, { op: "undelete" })
    await use().work()
    expect((await use().titles("id <= 20")).size).toBe(20)
  })

  it("delete for good in one go, and bring nothing back where there is no soft delete", async () => {
    const rows = Array.from({ length: 30 }, (_, i) => ({
      op: "create",
      resource: "parts",
      data: { note_id: 1, number: i, label: i < 10 ? "few" : "many" }
    }))
    expect((await use().post(boss, "/api/v1:batchWrite", { ops: rows })).status).toBe(200)
    const started = await use().post(boss, "/api/v1/parts:bulk", { op: "delete", filter: "label = many" })
    await use().work()
    expect((await use().task(boss, idOf(started))).json).toMatchObject({ state: "completed", done: 20, written: 20 })
    expect((await use().service.get(boss, "/api/v1/parts?count=exact")).json["total_size"]).toBe(10)
    const undelete = await use().post(boss, "/api/v1/parts:bulk", { op: "undelete" })
    expect([undelete.status, undelete.json["errors"]]).toMatchObject([400, [{ parameter: "op" }]])
    await start(use(), boss, { op: "update", filter: "id = 1", data: { title: "x" } })
    await use().work()
  })

  it("end after their batch when they are cancelled", async () => {
    const id = await start(use(), boss, { op: "update", filter: "id <= 1150", data: { title: "late" } })
    // One batch by hand.
    let batches = 0
    await Effect.runPromise(runTask(use().tasking, id, 1, () => ++batches >= 1))
    expect((await use().task(boss, id)).json).toMatchObject({ state: "running", done: 500 })
    const cancelled = await use().post(boss, `/api/tasks/${id}:cancel`)
    expect(cancelled.status).toBe(200)
    expect(cancelled.json).toMatchObject({ state: "cancelled", done: 500, written: 500 })
    await use().work()
    expect((await use().titles("title = late")).size).toBe(500)
    expect((await use().post(boss, `/api/tasks/${id}:cancel`)).json).toMatchObject({ state: "cancelled" })
  })

  it("do no batch twice, whoever else works on the same task", async () => {
    const id = await start(use(), boss, { op: "update", filter: "id <= 1150", data: { title: "once" } })
    const before = (await use().service.get(boss, "/api/v1/notes/1000")).json["version"]
    await Promise.all(Array.from({ length: 4 }, () => Effect.runPromise(runTask(use().tasking, id))))
    await use().work()
    expect((await use().task(boss, id)).json).toMatchObject({
      state: "completed",
      done: 1_150,
      written: 1_150,
      refused: 0
    })
    expect((await use().service.get(boss, "/api/v1/notes/1000")).json["version"]).toBe(Number(before) + 1)
  })

  it("stop when the person has lost the right, and when they are banned", async () => {
    for (
      const [now, message] of [[["viewer"], "You may not do this."], [
        null,
        "The user who started the task no longer has access."
      ]] as const
    ) {
      const id = await start(use(), boss, { op: "update", filter: "id <= 1150", data: { title: `r${message.length}` } })
      let batches = 0
      await Effect.runPromise(runTask(use().tasking, id, 1, () => ++batches >= 1))
      use().roles.set("bob", now)
      await use().work()
      use().roles.set("bob", ["boss"])
      expect((await use().task(boss, id)).json).toMatchObject({
        state: "failed",
        done: 500,
        error: {
          slug: "access-denied",
          message: now === null ? message : "The user who started the task no longer has access."
        }
      })
    }
  })

  it("never have more roles than the credential that started them", async () => {
    // A key of Bob's that may only read, beside roles that may write.
    const narrow = { id: "bob", roles: ["viewer"] }
    expect((await use().post(narrow, path, { op: "update", filter: "", data: { title: "no" } })).status).toBe(403)
    use().roles.set("ann", ["clerk", "boss"])
    const id = await start(use(), clerk, { op: "update", filter: "id < 5", data: { title: "clerk" } })
    await use().work()
    use().roles.set("ann", ["clerk"])
    expect([...(await use().titles("title = clerk")).keys()]).toEqual(["1"])
    expect((await use().task(clerk, id)).json).toMatchObject({ total: 2, refused: 1 })
  })

  it("are left to a process that knows their tenant, with all their tries", async () => {
    const id = await start(use(), boss, { op: "update", filter: "id < 5", data: { title: "left" } })
    use().roles.set("bob", "elsewhere")
    use().waiting.length = 0
    const job = taskJob(use().tasking)
    const attempt = { job: { id: "1", name: job.name, attempt: job.maxAttempts, maxAttempts: job.maxAttempts } }
    const run = async () => job.run({ id }, { ...attempt, signal: new AbortController().signal } as never)
    await expect(run()).rejects.toThrow(LeftToOthers)
    expect((await use().task(boss, id)).json).toMatchObject({ state: "running", done: 0 })
    use().roles.set("bob", ["boss"])
    await run()
    expect((await use().task(boss, id)).json).toMatchObject({ state: "completed" })
  })

  it("run with the roles of a key that an admin gave roles of others", async () => {
    const key = { id: "bob", roles: ["clerk"] }
    use().roles.set("bob", ["admin"])
    const id = await start(use(), key, { op: "update", filter: "id < 5", data: { title: "key" } })
    await use().work()
    use().roles.set("bob", ["boss"])
    expect((await use().task(key, id)).json).toMatchObject({ state: "completed", error: null })
    expect((await use().titles("title = key")).size).toBeGreaterThan(0)
  })

  it("are refused for what a list or a single write would refuse", async () => {
    const data = { title: "x" }
    for (
      const [caller, body, status] of [
        [clerk, { op: "update", filter: "secret = s", data }, 400],
        [clerk, { op: "update", filter: "", data: { secret: "x" } }, 400],
        [boss, { op: "update", filter: "", data: { version: 7 } }, 400],
        [boss, { op: "update", filter: "", data: { nosuch: 1 } }, 400],
        [boss, { op: "update", filter: "", data: { title: "x".repeat(21) } }, 400],
        [boss, { op: "update", filter: "title =", data }, 400],
        [boss, { op: "update", filter: "" }, 400],
        [boss, { op: "delete", filter: "", data }, 400],
        [boss, { op: "undelete", filter: "", data }, 400],
        [boss, { op: "create", filter: "", data }, 400],
        [boss, { op: "update", filter: "", data, more: 1 }, 400],
        [boss, { op: "update", filter: "", data, except: ["x y"] }, 400],
        [boss, { op: "update", filter: "", data, except: Array.from({ length: 1_001 }, (_, i) => i) }, 400],
        [viewer, { op: "update", filter: "", data }, 403],
        [{ id: "eve", roles: [] }, { op: "update", filter: "", data }, 404]
      ] as const
    ) {
      const answer = await use().post(caller, path, body)
      expect([body, answer.status], `${JSON.stringify(body)} ${answer.text}`).toEqual([body, status])
    }
    // A hidden field and one that does not exist are refused alike.
    const [hidden, unknown] = await Promise.all(
      ["secret", "nosuch"].map((name) => use().post(clerk, path, { op: "update", filter: `${name} = s`, data }))
    )
    expect(hidden!.text.replaceAll("secret", "nosuch")).toBe(unknown!.text)
    expect(use().waiting).toEqual([])
  })

  it("begin once for an idempotency key", async () => {
    const body = { op: "update", filter: "id = 2", data: { title: "key" } }
    const first = await use().post(boss, path, body, { "idempotency-key": "k1" })
    const second = await use().post(boss, path, body, { "idempotency-key": "k1" })
    expect([first.status, second.status]).toEqual([202, 202])
    expect(second.json["id"]).toBe(first.json["id"])
    expect(second.headers.get("idempotency-replayed")).toBe("true")
    expect(use().waiting).toHaveLength(1)
    await use().work()
  })

  it("are their owner's alone, and few at once", async () => {
    const ids: string[] = []
    for (let i = 0; i < 5; i++) {
      ids.push(await start(use(), boss, { op: "update", filter: "id = 2", data: { title: "few" } }))
    }
    const sixth = await use().post(boss, path, { op: "update", filter: "id = 2", data: { title: "few" } })
    expect(sixth.status).toBe(429)
    const id = ids[0]!
    for (const caller of [clerk, viewer, { id: "bob", roles: ["boss"], tenant: "7" }, { id: "bob", roles: [] }]) {
      expect((await use().task(caller, id)).status).toBe(404)
      expect((await use().post(caller, `/api/tasks/${id}:cancel`)).status).toBe(404)
      expect((await use().service.get(caller, `/api/tasks/${id}:report`)).status).toBe(404)
    }
    expect((await use().service.get(clerk, "/api/tasks")).text).not.toContain(id)
    expect((await use().service.get(boss, "/api/tasks")).json["tasks"]![0]).toMatchObject({ kind: "bulk" })
    for (const bad of ["nosuch", "a%27b", "%00"]) {
      expect((await use().service.get(boss, `/api/tasks/${bad}`)).status).toBe(404)
    }
    expect((await use().post(boss, `/api/tasks/${id}:start`, {})).status).toBe(404)
    await use().work()
    for (const each of ids) expect((await use().task(boss, each)).json["state"]).toBe("completed")
  })
})

onBothTasks("bulk changes with hooks", () => fixture(120, true), (use) => {
  afterEach(() => {
    hooks.write = null
    hooks.claim = null
  })

  it("refuse records that somebody changed since their batch was read", async () => {
    const id = await start(use(), boss, { op: "update", filter: "id <= 20", data: { title: "mine" } })
    hooks.claim = async () => {
      hooks.claim = null
      const answer = await use().service.call(boss, "PATCH", "/api/v1/notes/20", {
        body: { title: "theirs" },
        headers: { "if-match": "*" }
      })
      expect(answer.status).toBe(200)
    }
    await use().work()
    expect((await use().task(boss, id)).json).toMatchObject({
      state: "completed",
      written: 19,
      refused: 1,
      refusals: [{ key: "20", slug: "precondition-failed" }]
    })
    expect((await use().titles("id >= 19")).get("20")).toBe("theirs")
  })

  it("report a hook that throws as an internal error of its record, and tell the operator", async () => {
    const id = await start(use(), boss, { op: "update", filter: "id <= 5", data: { title: "boom" } })
    hooks.write = (change) => {
      if (change.after?.["id"] === "3") throw new Error("detail of the hook")
    }
    await use().work()
    const { json, text } = await use().task(boss, id)
    expect(json).toMatchObject({
      state: "completed",
      written: 4,
      refused: 1,
      refusals: [{ key: "3", slug: "internal-error" }]
    })
    expect(text).not.toContain("detail of the hook")
    expect(use().unexpected.splice(0).map(String)).toEqual(["Error: detail of the hook"])
    expect((await use().titles("title = boom")).size).toBe(4)
  })
})

describe("bulk changes on PostgreSQL", () => {
  const change = async (schema: string) => {
    const made = fixture(40)
    const scene = await startTasks("postgres", { ...made, schema: `${made.schema}; ${schema}` })
    await start(scene, boss, { op: "update", filter: "", data: { title: "alike" } })
    await scene.work()
    return scene
  }

  it("write records that change alike with one statement", async () => {
    const { service } = await change("")
    const found = await service.database!.rows(
      "select count(*), count(distinct cmin::text) from notes where title = 'alike' and version = 2"
    )
    await service.close()
    expect(found.map((row) => row.map(Number))).toEqual([[40, 1]])
  })

  it("write one by one where a trigger could tell", async () => {
    const { service } = await change(
      `create table seen (id bigint, alike bigint);
       create function see() returns trigger language plpgsql as
         $$ begin insert into seen select new.id, count(*) from notes where title = new.title; return null; end $$;
       create trigger seen after update on notes for each row execute function see()`
    )
    const found = await service.database!.rows("select id, alike from seen order by id")
    await service.close()
    expect(found.map((row) => row.map(Number))).toEqual(Array.from({ length: 40 }, (_, i) => [i + 1, i + 1]))
  })
})
