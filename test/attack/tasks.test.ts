// The routes of tasks against callers who mean harm: uploads that are not what they say, that never end or come all at once, tasks that are cancelled,
// started and changed at the wrong moment, and people whose rights change in the middle.
import * as Effect from "effect/Effect"
import { afterEach, expect, it } from "vitest"
import { runTask } from "../../core/app/task/run.ts"
import { boss, clerk, fixture, hooks, idOf, onBothTasks, type TaskScene } from "../http/tasks/scenes.ts"
import type { Answer, TestCaller } from "../support/composed.ts"

const lines = (...all: readonly string[]): string => all.map((line) => `${line}\r\n`).join("")

const tasksOf = async ({ service }: TaskScene, caller: TestCaller) =>
  (await service.get(caller, "/api/tasks")).json["tasks"] as unknown as ReadonlyArray<
    { readonly id: string; readonly state: string }
  >

const cancelAll = async (scene: TaskScene, caller: TestCaller): Promise<void> => {
  for (const { id } of await tasksOf(scene, caller)) await scene.post(caller, `/api/tasks/${id}:cancel`)
}

/** Rows that the service keeps of uploads. */
const parts = async ({ service }: TaskScene): Promise<number> =>
  service.database === null ? 0 : Number((await service.database.rows("select count(*) from service.task_part"))[0]![0])

/** A body that is sent piece by piece, when the test says so. */
const stream = () => {
  let controller!: ReadableStreamDefaultController<Uint8Array>
  const body = new ReadableStream<Uint8Array>({ start: (given) => void (controller = given) })
  const encoder = new TextEncoder()
  return {
    body,
    send: (text: string) => controller.enqueue(encoder.encode(text)),
    end: () => controller.close(),
    breakOff: () => controller.error(new Error("gone"))
  }
}

const one = async (scene: TaskScene, state: string): Promise<string> => {
  let found: string | undefined
  await expect.poll(async () => found = (await tasksOf(scene, boss)).find((task) => task.state === state)?.id)
    .toBeDefined()
  return found!
}

onBothTasks("hostile uploads", () => fixture(3), (use) => {
  afterEach(async () => {
    await cancelAll(use(), boss)
    expect(await parts(use())).toBe(0)
  })

  it("are refused before they are read where they are packed, or are no file", async () => {
    const call = (headers: { readonly [name: string]: string }, raw: string | Uint8Array = "id,title\r\n9,x\r\n") =>
      use().service.call(boss, "POST", "/api/v1/notes:import", { raw: raw as never, headers })
    const csv = "text/csv"
    for (const coding of ["gzip", "deflate", "br", "zstd", "gzip, gzip"]) {
      expect([coding, (await call({ "content-type": csv, "content-encoding": coding })).status]).toEqual([coding, 415])
    }
    // A picture, an archive: no text in UTF-8, or a NUL in it.
    for (
      const bytes of [[0x50, 0x4b, 3, 4, 0x14, 0], [0x1f, 0x8b, 8, 0], [0x89, 0x50, 0x4e, 0x47], [0xd0, 0xcf, 0x11]]
    ) {
      expect([bytes, (await call({ "content-type": csv }, new Uint8Array([...bytes, 10, 10]))).status]).toEqual([
        bytes,
        400
      ])
    }
    const form = (...parts: readonly string[]) =>
      call(
        { "content-type": "multipart/form-data; boundary=b" },
        `${parts.map((part) => `--b\r\n${part}\r\n`).join("")}--b--\r\n`
      )
    const part = (name: string) =>
      `content-disposition: form-data; name="${name}"; filename="a.csv"\r\ncontent-type: text/csv\r\n\r\nid,title\r\n9,x`
    expect((await form(part("file"), part("other"))).status).toBe(400)
    expect((await form("content-disposition: form-data; name=\"a\"\r\n\r\nb")).status).toBe(400)
    expect((await form()).status).toBe(400)
    expect((await call({ "content-type": "multipart/form-data" })).status).toBe(415)
    expect((await form(part("file"))).status).toBe(201)
    expect((await tasksOf(use(), boss)).map(({ state }) => state)).toEqual(["uploaded"])
  })

  it("stay small whatever their lines are", async () => {
    const half = "x".repeat(600_000)
    for (
      const [text, query] of [
        [`id,title\r\n1,${half}${half}`, ""],
        [`id,title\r\n1,"${half}\n${half}"`, ""],
        [half + half, ""],
        [`"${half}${half}`, ""],
        [`${"a,".repeat(500)}a\r\n`, ""],
        [`${"\"\",".repeat(300_000)}`, ""],
        [`{"id":"${half}${half}"}`, "?format=ndjson"],
        [`{"a":${"[".repeat(500_000)}`, "?format=ndjson"],
        [Array.from({ length: 600 }, (_, i) => `{"n${i}":1}`).join("\n"), "?format=ndjson"],
        [`{"${"n".repeat(201)}":1}`, "?format=ndjson"],
        ["{\"__proto__\":{\"id\":1}}", "?format=ndjson"],
        ["{\"constructor\":1}", "?format=ndjson"]
      ] as const
    ) {
      const { json, status, text: answer } = await use().upload(boss, text, query)
      expect([text.slice(0, 40), status], answer).toEqual([text.slice(0, 40), 400])
      expect(answer.length).toBeLessThan(1_000)
      expect(json["line"]).toBeGreaterThan(0)
    }
  })

  it("name columns as they like: a name is a text and nothing else", async () => {
    const names = [
      "__proto__",
      "constructor",
      "toString",
      "title",
      "title",
      "=1+1",
      "<img src=x>",
      "\u202Eid",
      "",
      "id"
    ]
    const answer = await use().upload(boss, lines(names.join(","), "a,b,c,bad,e,f,g,h,i,800"))
    expect(answer.status, answer.text).toBe(201)
    const columns = answer.json["columns"] as unknown as ReadonlyArray<{ name: string; guess: string | null }>
    expect(columns.map(({ guess }) => guess)).toEqual([null, null, null, "title", null, null, null, "id", null, null])
    const id = idOf(answer)
    const mapping = columns.map(({ name }, at): string | null => at === 5 ? "title" : name === "id" ? "id" : null)
    await use().post(boss, `/api/tasks/${id}:check`, { mapping: mapping.with(5, null).with(3, "title") })
    await use().work()
    expect((await use().task(boss, id)).json["refusals"]).toMatchObject([{ column: "title", field: "title" }])
    for (const wrong of ["__proto__", "constructor", "hasOwnProperty"]) {
      const { status } = await use().post(boss, `/api/tasks/${id}:check`, { mapping: mapping.with(5, wrong) })
      expect([wrong, status]).toEqual([wrong, 400])
    }
    for (const match of ["__proto__", ["__proto__", "constructor"]]) {
      const { status } = await use().post(boss, `/api/tasks/${id}:check`, { mapping, mode: "upsert", match })
      expect([match, status]).toEqual([match, 400])
    }
    // Formulas in the name of a column do not become formulas in the report.
    const report = async () => (await use().service.get(boss, `/api/tasks/${id}:report`)).text
    await use().post(boss, `/api/tasks/${id}:check`, {
      mapping: columns.map((_, at) => at === 5 ? "amount" : at === 9 ? "id" : null)
    })
    await use().work()
    expect(await report()).toContain(",'=1+1,")
  })

  it("leave nothing behind when they break off, end early, or are cancelled while they are sent", async () => {
    const csv = { "content-type": "text/csv" }
    const open = (): readonly [ReturnType<typeof stream>, Promise<Answer>] => {
      const sent = stream()
      return [sent, use().service.call(boss, "POST", "/api/v1/notes:import", { raw: sent.body, headers: csv })]
    }
    const many = (from: number): string => lines(...Array.from({ length: 1_200 }, (_, i) => `${from + i},x`))

    const [broken, answered] = open()
    broken.send(lines("id,title") + many(10_000))
    await one(use(), "uploading")
    broken.breakOff()
    expect((await answered).status).toBe(400)
    expect((await tasksOf(use(), boss)).filter(({ state }) => state === "uploading")).toEqual([])

    const [cancelled, told] = open()
    cancelled.send(lines("id,title") + many(20_000))
    const id = await one(use(), "uploading")
    expect((await use().post(boss, `/api/tasks/${id}:start`)).status).toBe(409)
    expect((await use().post(boss, `/api/tasks/${id}:check`)).status).toBe(409)
    expect((await use().post(boss, `/api/tasks/${id}:cancel`)).json["state"]).toBe("cancelled")
    cancelled.send(many(30_000))
    cancelled.end()
    expect((await told).status).toBe(409)
    expect((await use().task(boss, id)).json["state"]).toBe("cancelled")
    expect(await parts(use())).toBe(0)
  })
})

onBothTasks("hostile people", () => fixture(1_100), (use) => {
  afterEach(async () => {
    hooks.claim = null
    use().roles.set("bob", ["boss"]).set("ann", ["clerk"])
    await cancelAll(use(), boss)
    await use().work()
  })

  it("get five tasks, however many they ask for at once", async () => {
    const body = { op: "update", filter: "id = 1", data: { title: "many" } }
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, i) =>
        i % 2 === 0
          ? use().post(boss, "/api/v1/notes:bulk", body)
          : use().upload(boss, lines("id,title", "900000,x")))
    )
    const refused = answers.filter(({ status }) => status === 429)
    expect([answers.length - refused.length, refused.length]).toEqual([5, 15])
    expect(refused[0]!.headers.get("retry-after")).toBe("10")
    expect(await tasksOf(use(), boss)).toHaveLength(5)
  })

  it("start an import once, however often they ask at once", async () => {
    const id = idOf(await use().upload(boss, lines("id,title", "1,once")))
    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, i) => use().post(boss, `/api/tasks/${id}:${i % 2 === 0 ? "start" : "check"}`))
    )
    expect(answers.filter(({ status }) => status === 202)).toHaveLength(1)
    expect(answers.filter(({ status }) => status === 409)).toHaveLength(7)
    expect(use().waiting).toHaveLength(1)
    await use().work()
  })

  it("cancel in every state, and nothing comes after", async () => {
    const upload = async (from: number) =>
      idOf(await use().upload(boss, lines("id,title", ...Array.from({ length: 1_100 }, (_, i) => `${from + i},c`))))
    const cancel = async (id: string) => (await use().post(boss, `/api/tasks/${id}:cancel`)).json["state"]
    const batches = (id: string, most: number) => {
      let done = 0
      return Effect.runPromise(runTask(use().tasking, id, 1, () => ++done >= most))
    }
    const uploaded = await upload(10_000)
    expect(await cancel(uploaded)).toBe("cancelled")
    expect((await use().post(boss, `/api/tasks/${uploaded}:start`)).status).toBe(409)

    const checking = await upload(20_000)
    await use().post(boss, `/api/tasks/${checking}:check`)
    await batches(checking, 1)
    expect(await cancel(checking)).toBe("cancelled")

    const checked = await upload(30_000)
    await use().post(boss, `/api/tasks/${checked}:check`)
    await use().work()
    expect((await use().task(boss, checked)).json["state"]).toBe("checked")
    expect(await cancel(checked)).toBe("cancelled")

    const running = await upload(40_000)
    await use().post(boss, `/api/tasks/${running}:start`)
    // At the moment when its batch has been read.
    hooks.claim = async () => {
      hooks.claim = null
      expect(await cancel(running)).toBe("cancelled")
    }
    await use().work()
    for (const id of [uploaded, checking, checked, running]) {
      expect((await use().task(boss, id)).json).toMatchObject({
        state: "cancelled",
        written: id === running ? 0 : expect.any(Number) as number
      })
    }
    expect((await use().titles("title = c")).size).toBe(0)
    expect(await parts(use())).toBe(0)
  })

  it("lose what they may do in the middle of each kind of task", async () => {
    const title = "role"
    const begin = async (caller: TestCaller, body: unknown): Promise<string> =>
      idOf(await use().post(caller, "/api/v1/notes:bulk", body))
    const after = async (caller: TestCaller, id: string, now: readonly string[] | null) => {
      let done = 0
      await Effect.runPromise(runTask(use().tasking, id, 1, () => ++done >= 1))
      use().roles.set(caller.id, now)
      await use().work()
      const task = (await use().task(caller, id)).json
      use().roles.set("bob", ["boss"]).set("ann", ["clerk"])
      return task
    }
    const both: TestCaller = { id: "bob", roles: ["boss", "clerk"] }
    // A filter over a field that only one of the roles may read: the rest of the batches would tell what it holds.
    const secret = await begin(both, { op: "update", filter: "secret = s", data: { title } })
    expect(await after(both, secret, ["clerk"])).toMatchObject({
      state: "failed",
      done: 500,
      error: { slug: "invalid-filter" }
    })
    const hidden = await begin(both, { op: "update", filter: "", data: { secret: "t" } })
    expect(await after(both, hidden, ["clerk"])).toMatchObject({ state: "failed", done: 500 })
    // With the rows of the other role only their own are left, from where the batches are.
    const rows = await begin(both, { op: "delete", filter: "" })
    const deleted = await after(both, rows, ["clerk"])
    expect(deleted).toMatchObject({ state: "completed", total: 1_100, done: 800, written: 800 })
    const back = await begin(both, { op: "undelete", filter: "" })
    expect(await after(both, back, ["viewer"])).toMatchObject({ state: "failed", error: { slug: "access-denied" } })
    await begin(boss, { op: "undelete" })
    await use().work()
    expect((await use().titles()).size).toBe(1_100)
  })

  it("find out nothing about tasks of others, by any id and any verb", async () => {
    const id = idOf(await use().post(boss, "/api/v1/notes:bulk", { op: "update", filter: "", data: { title: "mine" } }))
    const shapes = new Set<string>()
    for (const each of [id, "task999", "%2e%2e", `${id}%00`, `${id}%2f`, "x".repeat(65), "x".repeat(4_000), "ä"]) {
      for (
        const [method, verb] of [["GET", ""], ["GET", ":report"], ["POST", ":cancel"], ["POST", ":start"]] as const
      ) {
        const { status, text } = await use().service.call(clerk, method, `/api/tasks/${each}${verb}`)
        shapes.add(`${status} ${text.replace(/"instance":"[^"]*"/, "")}`)
      }
    }
    expect([...shapes]).toHaveLength(1)
    for (
      const [method, verb] of [["DELETE", ""], ["PUT", ":cancel"], ["GET", ":cancel"], ["POST", ":report"]] as const
    ) {
      expect([verb, (await use().service.call(clerk, method, `/api/tasks/${id}${verb}`)).status]).toEqual([verb, 405])
    }
  })

  it("are kept from a key with fewer roles than they act with", async () => {
    const both: TestCaller = { id: "bob", roles: ["boss", "clerk"] }
    const key: TestCaller = { id: "bob", roles: ["clerk"] }
    use().roles.set("bob", both.roles)
    const begin = async (caller: TestCaller) =>
      idOf(
        await use().post(caller, "/api/v1/notes:bulk", {
          op: "update",
          filter: caller === both ? "secret = s" : "",
          data: { title: "k" }
        })
      )
    const [wide, narrow] = [await begin(both), await begin(key)]
    const listed = async (caller: TestCaller) =>
      ((await use().service.get(caller, "/api/tasks")).json["tasks"] as unknown as ReadonlyArray<
        { readonly id: string }
      >)
        .map(({ id }) => id).filter((id) => id === wide || id === narrow)
    expect([await listed(both), await listed(key)]).toEqual([[narrow, wide], [narrow]])
    const unknown = await use().task(key, "task999")
    for (const [method, verb] of [["GET", ""], ["GET", ":report"], ["POST", ":cancel"], ["POST", ":start"]] as const) {
      const { status, text } = await use().service.call(key, method, `/api/tasks/${wide}${verb}`)
      expect([status, text.replace(/"instance":"[^"]*"/, "")]).toEqual([
        404,
        unknown.text.replace(/"instance":"[^"]*"/, "")
      ])
    }
    expect((await use().task(both, wide)).json).toMatchObject({ state: "running" })
    // Roles that their owner has lost act in nothing. What is left is theirs to see and to end.
    use().roles.set("bob", ["clerk"])
    expect((await use().post(key, `/api/tasks/${wide}:cancel`)).status).toBe(200)
    expect((await use().post(both, `/api/tasks/${narrow}:cancel`)).status).toBe(200)
    use().roles.set("bob", ["boss"])
  })

  it("cannot make a bulk change or its dry run hold what others write", async () => {
    const write = () =>
      use().service.call(boss, "PATCH", "/api/v1/notes/3", { body: { title: "free" }, headers: { "if-match": "*" } })
    const [dry, patch] = await Promise.all([
      use().post(clerk, "/api/v1/notes:bulk?dry_run=true", { op: "delete" }),
      write()
    ])
    expect([dry.status, patch.status]).toEqual([200, 200])
    expect((await use().service.get(boss, "/api/v1/notes/3")).json["title"]).toBe("free")
    expect(dry.json["refused"]).toBeLessThanOrEqual(1)
  })
})

onBothTasks("hostile updates", () => fixture(200), (use) => {
  const update = async (caller: TestCaller, text: string, plan: object, query = "") => {
    const uploaded = await use().upload(caller, text, query)
    expect(uploaded.status, uploaded.text).toBe(201)
    const id = idOf(uploaded)
    const started = await use().post(caller, `/api/tasks/${id}:start`, { mode: "update", errors: "skip", ...plan })
    if (started.status !== 202) {
      await use().post(caller, `/api/tasks/${id}:cancel`)
      return started
    }
    await use().work()
    return await use().task(caller, id)
  }
  const record = async (id: string) => (await use().service.get(boss, `/api/v1/notes/${id}`)).json

  it("fill nothing that the caller may not write, whatever the file names", async () => {
    const line =
      "{\"id\":\"1\",\"title\":\"t\",\"secret\":\"mine\",\"version\":77,\"deleted_at\":\"2020-01-01T00:00:00Z\"}"
    for (const wrong of ["secret", "version", "deleted_at"]) {
      const mapping = ["id", "title", "secret", "version", "deleted_at"].map((name) =>
        name === "id" || name === wrong ? name : null
      )
      expect([wrong, (await update(clerk, line, { mapping }, "?format=ndjson")).status]).toEqual([wrong, 400])
    }
    expect((await update(clerk, line, {}, "?format=ndjson")).json).toMatchObject({ state: "completed", written: 1 })
    expect(await record("1")).toMatchObject({ title: "t", secret: "s", version: 2, owner: "ann" })
  })

  it("find nothing by what the caller cannot read, and are refused as if it were not there", async () => {
    const by = (name: string) => update(clerk, lines(`${name},title`, "s,x"), { mapping: [name, "title"], match: name })
    const [hidden, unknown] = [await by("secret"), await by("nosuch")]
    expect([hidden.status, unknown.status]).toEqual([400, 400])
    // Each answer names the task that it is for.
    const plain = ({ text }: Answer): string => text.replace(/task\d+/, "task").replaceAll("secret", "nosuch")
    expect(plain(hidden)).toBe(plain(unknown))
    // Rows that are hidden and rows that are not there answer alike.
    const { json } = await update(clerk, lines("email,title", "n2@example.org,x", "no@example.org,x"), {
      match: "email"
    })
    const [row, none] = json["refusals"] as unknown as ReadonlyArray<
      { readonly slug: string; readonly message: string }
    >
    expect([row!.slug, row!.message]).toEqual([none!.slug, none!.message])
  })

  it("change no record where several have the value", async () => {
    const { json } = await update(boss, lines("status,title", "open,all", "closed,all"), { match: "status" })
    expect(json).toMatchObject({ written: 0, refused: 2, refusals: [{ slug: "conflict" }, { slug: "conflict" }] })
  })

  it("keep every digit, or are not taken", async () => {
    const rounded = await use().upload(boss, "{\"id\":9007199254740993,\"title\":\"a\"}", "?format=ndjson")
    expect([rounded.status, rounded.json["line"]]).toEqual([400, 1])
    const text = "{\"id\":\"9007199254740993\",\"title\":\"a\",\"amount\":1234567890.12}\n" +
      "{\"id\":\"9223372036854775807\",\"title\":\"b\",\"amount\":\"9999999999.99\"}\n{\"id\":\"9007199254740992\",\"title\":\"c\"}"
    expect((await update(boss, text, { mode: "upsert" }, "?format=ndjson")).json).toMatchObject({ written: 3 })
    const again = text.replaceAll("\"}", "2\"}").replaceAll("\"a\"", "\"a2\"").replace("9999999999.992", "0.01")
    expect((await update(boss, again, {}, "?format=ndjson")).json).toMatchObject({ written: 3, refused: 0 })
    expect(await record("9007199254740993")).toMatchObject({ title: "a2", amount: "1234567890.12" })
    expect(await record("9223372036854775807")).toMatchObject({ title: "b", amount: "0.01" })
    expect(await record("9007199254740992")).toMatchObject({ title: "c2" })
    const bad = lines("id,amount", "9223372036854775808,1", "1e3,1", "5,1.005", "7,99999999999")
    expect((await update(boss, bad, {})).json).toMatchObject({ written: 0, refused: 4 })
  })

  it("write long values whole", async () => {
    const long = (letter: string): string => letter.repeat(1_000_000)
    const json = (await update(
      boss,
      lines("id,secret", ...["1", "2", "3", "4"].map((id) => `${id},${long(id)}`)),
      {}
    )).json
    expect(json).toMatchObject({ state: "completed", written: 4 })
    for (const id of ["1", "4"]) expect((await record(id))["secret"] === long(id) as never).toBe(true)
    await update(boss, lines("id,secret", "1,s", "2,s", "3,s", "4,s"), {})
  })

  it("end, many at once over the same records, with each record as one of them left it", async () => {
    const begin = async (caller: TestCaller, word: string, ids: readonly number[]) => {
      const id = idOf(await use().upload(caller, lines("id,title,done", ...ids.map((each) => `${each},${word},true`))))
      await use().post(caller, `/api/tasks/${id}:start`, { mode: "update", errors: "skip" })
      return id
    }
    // Open records of Ann's, which both may change.
    const ids = Array.from({ length: 80 }, (_, i) => 21 + i * 2).filter((id) => id % 10 !== 0)
    const tasks: Array<readonly [TestCaller, string]> = []
    for (let i = 0; i < 3; i++) {
      tasks.push([boss, await begin(boss, `boss ${i}`, ids)], [
        clerk,
        await begin(clerk, `clerk ${i}`, ids.toReversed())
      ])
    }
    use().waiting.splice(0)
    await Promise.all(tasks.map(([, id]) => Effect.runPromise(runTask(use().tasking, id))))
    await use().work()
    let written = 0
    for (const [caller, id] of tasks) {
      const { json } = await use().task(caller, id)
      expect(json).toMatchObject({ state: "completed", done: ids.length })
      const refusals = json["refusals"] as unknown as ReadonlyArray<{ readonly slug: string }>
      expect(refusals.every(({ slug }) => slug === "precondition-failed")).toBe(true)
      expect(Number(json["written"]) + Number(json["refused"])).toBe(ids.length)
      written += Number(json["written"])
    }
    let versions = 0
    for (const id of ids) {
      const { title, version } = await record(String(id))
      expect(title).toMatch(/^(boss|clerk) \d$/)
      versions += Number(version) - 1
    }
    // Nobody's change went over another's without being told.
    expect(versions).toBe(written)
  })
})
