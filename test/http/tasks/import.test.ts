// Imports over HTTP, on both backends: uploads, guesses, checks, creates and updates, refusals by line and column, hostile files, and what may be written.
import { afterEach, describe, expect, it } from "vitest"
import { boss, clerk, fixture, hooks, idOf, onBothTasks, startTasks, viewer } from "./scenes.ts"
import type { TaskScene } from "./scenes.ts"

const lines = (...all: readonly string[]): string => all.map((line) => `${line}\r\n`).join("")

/** Uploads, starts and works; gives the task at its end. */
const bring = async (scene: TaskScene, caller: typeof boss, text: string, plan: unknown, query = "") => {
  const uploaded = await scene.upload(caller, text, query)
  expect(uploaded.status, uploaded.text).toBe(201)
  const id = idOf(uploaded)
  const started = await scene.post(caller, `/api/tasks/${id}:start`, plan)
  expect(started.status, started.text).toBe(202)
  await scene.work()
  return (await scene.task(caller, id)).json
}

onBothTasks("imports", () => fixture(20), (use) => {
  it("guess which column is for which field, and wait", async () => {
    const answer = await use().upload(
      boss,
      lines("ID;E-Mail;TITLE;Nothing;version", "100;a@x.org;One;x;1", "101;;\"Two; quoted\";y;2"),
      "?name=notes.csv"
    )
    expect(answer.status, answer.text).toBe(201)
    expect(answer.headers.get("location")).toBe(`/api/tasks/${idOf(answer)}`)
    expect(answer.json).toMatchObject({
      kind: "import",
      state: "uploaded",
      format: "csv",
      delimiter: "semicolon",
      name: "notes.csv",
      total: 2,
      plan: null,
      columns: [
        { name: "ID", samples: ["100", "101"], guess: "id" },
        { name: "E-Mail", samples: ["a@x.org"], guess: "email" },
        { name: "TITLE", samples: ["One", "Two; quoted"], guess: "title" },
        { name: "Nothing", guess: null },
        { name: "version", guess: null }
      ]
    })
    expect(use().waiting).toEqual([])
    await use().post(boss, `/api/tasks/${idOf(answer)}:cancel`)
  })

  it("are checked as a whole: each refusal by its line and column, and nothing written", async () => {
    const uploaded = await use().upload(
      boss,
      lines(
        "id,title,amount,done",
        "200,fine,1.50,TRUE",
        "201,bad,1,false",
        "x,far too long for this field,1.234,maybe",
        "203,,,"
      )
    )
    const id = idOf(uploaded)
    expect((await use().post(boss, `/api/tasks/${id}:check`)).json).toMatchObject({ state: "checking" })
    await use().work()
    const { json } = await use().task(boss, id)
    expect(json).toMatchObject({ state: "checked", total: 4, done: 4, written: 1, refused: 3, ended_at: null })
    expect(json["refusals"]).toEqual([
      { key: null, line: 3, column: "title", field: "title", slug: "invalid-record", message: "Not this title." },
      { key: null, line: 4, column: "id", field: "id", slug: "invalid-record", message: expect.any(String) as string },
      { key: null, line: 4, column: "done", field: "done", slug: "invalid-record", message: "Expected true or false." },
      {
        key: null,
        line: 5,
        column: "title",
        field: "title",
        slug: "invalid-record",
        message: "The field \"title\" is required."
      }
    ])
    expect((await use().titles("id >= 200")).size).toBe(0)
    // Again with another plan, and then for good.
    await use().post(boss, `/api/tasks/${id}:check`, { mapping: ["id", null, "amount", "done"] })
    await use().work()
    expect((await use().task(boss, id)).json).toMatchObject({ state: "checked", refused: 4, written: 0 })
    const started = await use().post(boss, `/api/tasks/${id}:start`, { errors: "skip" })
    expect(started.json).toMatchObject({
      state: "running",
      done: 0,
      refused: 0,
      plan: { errors: "skip", mode: "create", match: null }
    })
    await use().work()
    expect((await use().task(boss, id)).json).toMatchObject({ state: "completed", written: 1, refused: 3 })
    const record = (await use().service.get(boss, "/api/v1/notes/200")).json
    expect(record).toMatchObject({ title: "fine", amount: "1.50", done: true, status: "open" })
    expect((await use().post(boss, `/api/tasks/${id}:start`)).status).toBe(409)
    const report = await use().service.get(boss, `/api/tasks/${id}:report?format=ndjson`)
    expect(report.text.trimEnd().split("\n")).toHaveLength(4)
  })

  it("have no formula in their report, whatever their columns are called", async () => {
    const id = idOf(await use().upload(boss, lines("id,=1+1", "210,bad")))
    await use().post(boss, `/api/tasks/${id}:check`, { mapping: ["id", "title"] })
    await use().work()
    const report = await use().service.get(boss, `/api/tasks/${id}:report`)
    expect(report.text).toContain("2,'=1+1,,title,invalid-record,Not this title.")
    await use().post(boss, `/api/tasks/${id}:cancel`)
  })

  it("stop before the batch with a refused line, and keep what came before it", async () => {
    const text = lines(
      "id,title",
      ...Array.from({ length: 1_100 }, (_, i) => `${1_000 + i},${i === 700 ? "bad" : "stop"}`)
    )
    const json = await bring(use(), boss, text, {})
    expect(json).toMatchObject({
      state: "failed",
      total: 1_100,
      done: 500,
      written: 500,
      refused: 1,
      error: { slug: "invalid-record" },
      refusals: [{ line: 702, column: "title" }]
    })
    expect((await use().titles("title = stop")).size).toBe(500)
  })

  it("create what is new and update what is there, by a unique field", async () => {
    const text = lines(
      "email,title,id",
      "n1@example.org,Updated,",
      "new@example.org,New,300",
      "new@example.org,Newer,300",
      "n2@example.org,note 2,"
    )
    const json = await bring(use(), boss, text, {
      mode: "upsert",
      match: "email",
      mapping: ["email", "title", "id"],
      errors: "skip"
    })
    // The key of a record that is there cannot be written: those lines say so.
    expect(json).toMatchObject({ state: "completed" })
    const again = await bring(
      use(),
      boss,
      lines(
        "email,title",
        "n1@example.org,Updated",
        "n2@example.org,note 2",
        "n1@example.org,Twice",
        "gone@example.org,x"
      ),
      {
        mode: "update",
        match: "email",
        errors: "skip"
      }
    )
    expect(again).toMatchObject({
      state: "completed",
      done: 4,
      written: 2,
      refused: 1,
      refusals: [{ line: 5, slug: "not-found" }]
    })
    expect((await use().service.get(boss, "/api/v1/notes/1")).json["title"]).toBe("Twice")
    const byKey = await bring(use(), boss, lines("id,title", "2,By key", "301,Made"), { mode: "upsert" })
    expect(byKey).toMatchObject({ state: "completed", written: 2, refused: 0, plan: { match: "id" } })
    expect((await use().titles("id IN (2, 301)".replace(" IN ", " = 2 OR id = 301").replace("(2, 301)", ""))).size)
      .toBe(2)
  })

  it("clear a value with an empty cell in an update, and take its default in a create", async () => {
    await bring(use(), boss, lines("id,amount", "3,7.00"), { mode: "update" })
    expect((await use().service.get(boss, "/api/v1/notes/3")).json["amount"]).toBe("7.00")
    await bring(use(), boss, lines("id,amount", "3,"), { mode: "update" })
    expect((await use().service.get(boss, "/api/v1/notes/3")).json["amount"]).toBe(null)
    const json = await bring(use(), boss, lines("id,title,status", "310,Default,"), {})
    expect(json).toMatchObject({ written: 1 })
    expect((await use().service.get(boss, "/api/v1/notes/310")).json["status"]).toBe("open")
  })

  it("take back what an export wrote, formulas and all", async () => {
    await bring(
      use(),
      boss,
      lines("id,title,email", "320,\"'=1+1\",\"'+49\"", "321,\"a \"\"b\"\"\",\"\""),
      {},
      "?formulas=escape"
    )
    const stored = (await use().service.get(boss, "/api/v1/notes/320")).json
    expect([stored["title"], stored["email"]]).toEqual(["=1+1", "+49"])
    const exported = await use().service.get(
      boss,
      "/api/v1/notes:export?filter=id>=320+AND+id<=321&fields=id,title,email"
    )
    expect(exported.text).toContain("320,'=1+1,'+49")
    const json = await bring(use(), boss, exported.text, { mode: "upsert" })
    expect(json).toMatchObject({ state: "completed", done: 2, written: 0, refused: 0 })
    const raw = await bring(use(), boss, lines("id,title", "322,'=1"), {}, "?formulas=raw")
    expect(raw).toMatchObject({ written: 1 })
    expect((await use().service.get(boss, "/api/v1/notes/322")).json["title"]).toBe("'=1")
  })

  it("read lines of JSON", async () => {
    const text =
      "{\"id\":\"330\",\"title\":\"J\",\"amount\":1.5,\"done\":true}\n\n{\"title\":\"K\",\"id\":331,\"more\":[1]}\n"
    const uploaded = await use().upload(boss, text, "?format=ndjson")
    expect(uploaded.json).toMatchObject({
      total: 2,
      columns: [{ name: "id", guess: "id" }, { name: "title" }, { name: "amount" }, { name: "done" }, {
        name: "more",
        samples: ["[1]"],
        guess: null
      }]
    })
    const id = idOf(uploaded)
    await use().post(boss, `/api/tasks/${id}:start`)
    await use().work()
    expect((await use().task(boss, id)).json).toMatchObject({ state: "completed", written: 2 })
    expect((await use().service.get(boss, "/api/v1/notes/330")).json).toMatchObject({ amount: "1.50", done: true })
  })

  it.each(
    [
      ["a quote that is not closed", "id,title\r\n1,\"x\r\n2,y", "Line 2: A quote is not closed."],
      [
        "text after a quote",
        "id,title\r\n1,\"x\"y",
        "Line 2: A closing quote must be followed by a separator or the end of the line."
      ],
      ["NUL", "id,title\r\n1,a\0b", "Line 2: The text holds a NUL character."],
      ["too many values", "id,title\r\n1,a,b", "Line 2: The line has 3 values, and the first line names 2 columns."],
      ["no records", "id,title\r\n", "Line 1: The file has no records."],
      ["nothing", "", "Line 1: The file has no records."],
      [
        "a line without an end",
        `id,title\r\n1,${"x".repeat(1_100_000)}`,
        "Line 2: A line has at most 1,048,576 characters."
      ],
      [
        "a quote without an end",
        `id,title\r\n1,"${"x\n".repeat(700_000)}`,
        /^Line \d+: A line has at most 1,048,576 characters\.$/
      ],
      ["too many columns", `${"c,".repeat(600)}c\r\n1\r\n`, "Line 1: A line has at most 500 values."],
      [
        "another encoding",
        new Uint8Array([0x69, 0x64, 0x0a, 0xe4, 0x0a]),
        "Line 1: The file is not valid UTF-8. Save it as UTF-8."
      ],
      ["UTF-16", new Uint8Array([0xff, 0xfe, 0x69, 0, 0x64, 0]), "Line 1: The file is in UTF-16. Save it as UTF-8."]
    ] as const
  )("refuse a table with %s", async (_name, text, detail) => {
    const answer = await use().upload(boss, text)
    expect(answer.status, answer.text).toBe(400)
    if (typeof detail === "string") expect(answer.json["detail"]).toBe(detail)
    else expect(answer.json["detail"]).toMatch(detail)
    expect(answer.json["line"]).toBeGreaterThan(0)
    const tasks = (await use().service.get(boss, "/api/tasks")).json["tasks"] as unknown as ReadonlyArray<
      { readonly state: string }
    >
    expect(tasks.filter(({ state }) => state === "uploading")).toEqual([])
  })

  it("refuse what is no JSON, no object, or too deep", async () => {
    for (
      const text of ["{", "[1]", "{\"a\":1}\n1", `{"a":${"[".repeat(100)}${"]".repeat(100)}}`, "{\"a\":1,\"a\":2}"]
    ) {
      expect([text, (await use().upload(boss, text, "?format=ndjson")).status]).toEqual([text, 400])
    }
  })

  it("take a file of the type that it is said to be, and no other", async () => {
    const send = async (type: string | null, text: string, query = "") => {
      const answer = await use().service.call(boss, "POST", `/api/v1/notes:import${query}`, {
        raw: text as never,
        headers: type === null ? {} : { "content-type": type }
      })
      const { json, status } = answer
      if (status === 201) await use().post(boss, `/api/tasks/${idOf(answer)}:cancel`)
      return [status, status === 201 ? (json["columns"] as readonly object[]).length : json["type"]]
    }
    const csv = lines("id,title", "500,x")
    const ndjson = "{\"id\":500,\"title\":\"x\"}\n"
    for (const type of ["text/csv", "Text/CSV; header=present; charset=UTF-8"]) {
      expect([type, ...await send(type, csv)]).toEqual([type, 201, 2])
    }
    for (const type of ["application/x-ndjson", "application/jsonl; charset=\"utf-8\"", "application/ndjson"]) {
      expect([type, ...await send(type, ndjson)]).toEqual([type, 201, 2])
    }
    const unsupported = "urn:service:problem:unsupported-media-type"
    for (
      const type of [
        "application/json",
        "application/x-www-form-urlencoded",
        "application/vnd.ms-excel",
        "text/plain",
        "text/csv; charset=latin1",
        "constructor",
        ""
      ]
    ) {
      expect([type, ...await send(type, csv)]).toEqual([type, 415, unsupported])
    }
    expect(await send("text/csv", csv, "?format=csv")).toEqual([201, 2])
    expect(await send("text/csv", csv, "?format=ndjson")).toEqual([400, "urn:service:problem:invalid-parameter"])
  })

  it("refuse more bytes than an import takes, whether announced or not", async () => {
    const line = "1,x\r\n"
    const stream = new ReadableStream<Uint8Array>({
      pull: (controller) => controller.enqueue(new TextEncoder().encode(line.repeat(20_000)))
    })
    const endless = await use().service.call(boss, "POST", "/api/v1/notes:import", {
      raw: stream,
      headers: { "content-type": "text/csv" }
    })
    expect(endless.status, endless.text).toBe(413)
    expect((await use().upload(boss, line.repeat(1_100_000))).status).toBe(413)
  })

  it("fill only fields that the caller may write", async () => {
    const uploaded = await use().upload(clerk, lines("id,title,secret,version", "400,x,y,9"))
    expect(uploaded.json["columns"]).toMatchObject([{ guess: "id" }, { guess: "title" }, { guess: null }, {
      guess: null
    }])
    const id = idOf(uploaded)
    const plan = (mapping: unknown, more = {}) => use().post(clerk, `/api/tasks/${id}:start`, { mapping, ...more })
    const hidden = await plan(["id", "title", "secret", null])
    const unknown = await plan(["id", "title", "nosuch", null])
    expect([hidden.status, unknown.status]).toEqual([400, 400])
    expect(hidden.text.replaceAll("secret", "nosuch")).toBe(unknown.text)
    for (
      const [mapping, more] of [
        [["id", "title", null, "version"], {}],
        [["id", "id", null, null], {}],
        [["id"], {}],
        [[null, null, null, null], {}],
        ["id", {}],
        [["id", "title", null, null], { mode: "upsert", match: "secret" }],
        [["id", "title", null, null], { mode: "upsert", match: "amount" }],
        [["id", "title", null, null], { mode: "upsert", match: "email" }],
        [["id", "title", null, null], { mode: "replace" }],
        [["id", "title", null, null], { errors: "ignore" }],
        [["id", "title", null, null], { owner: "bob" }]
      ] as const
    ) {
      expect([mapping, more, (await plan(mapping, more)).status]).toEqual([mapping, more, 400])
    }
    // Another credential of hers with more roles must not lend them.
    expect((await use().post({ id: "ann", roles: ["clerk", "boss"] }, `/api/tasks/${id}:start`)).status).toBe(403)
    expect((await use().post(boss, `/api/tasks/${id}:start`)).status).toBe(404)
    expect((await plan(["id", "title", null, null])).status).toBe(202)
    await use().work()
    expect((await use().task(clerk, id)).json).toMatchObject({ state: "completed", written: 1 })
    expect((await use().service.get(boss, "/api/v1/notes/400")).json).toMatchObject({
      secret: null,
      version: 1,
      owner: "ann"
    })
    expect((await use().upload(viewer, lines("id,title", "1,x"))).status).toBe(403)
    expect((await use().upload({ id: "eve", roles: [] }, lines("id", "1"))).status).toBe(404)
  })

  it("update only what the caller can see and may change", async () => {
    // Bob's note 2 is not there for Ann; her closed one is refused by the rule over the record.
    const json = await bring(use(), clerk, lines("id,title", "2,mine", "4,mine", "5,mine"), {
      mode: "update",
      errors: "skip"
    })
    expect(json).toMatchObject({ state: "completed", done: 3, refused: 2, written: 1 })
    expect((await use().service.get(boss, "/api/v1/notes/2")).json["title"]).not.toBe("mine")
  })

  it("update to values of their own, and count as unchanged what is as it was", async () => {
    const text = lines(
      "id,title,amount,done",
      ...Array.from({ length: 600 }, (_, i) => `${5_700 + i},new ${i},${i}.00,${i % 2 === 0}`)
    )
    expect(await bring(use(), boss, text, {})).toMatchObject({ state: "completed", written: 600 })
    const changed = text.replaceAll("new ", "own ").replace("own 5,", "new 5,")
    const plan = { mode: "update", errors: "skip" }
    expect(await bring(use(), boss, changed.replace(",7.00,", ",7.77,"), plan)).toMatchObject({
      state: "completed",
      done: 600,
      written: 599,
      refused: 0
    })
    const titles = await use().titles("id >= 5700 AND id < 6300")
    expect([...titles].every(([id, title]) => title === `${id === "5705" ? "new" : "own"} ${Number(id) - 5_700}`)).toBe(
      true
    )
    const record = async (id: number) => (await use().service.get(boss, `/api/v1/notes/${id}`)).json
    expect(await record(5_707)).toMatchObject({ amount: "7.77", done: false, version: 2 })
    expect(await record(5_705)).toMatchObject({ amount: "5.00", version: 1 })
  })

  it("go on in the order of the lines where a key comes again, and refuse single lines", async () => {
    const text = lines(
      "id,title,email",
      "6400,first,",
      "8,one,",
      "6400,second,",
      "8,bad,",
      "8,three,",
      "9,mine,n12@example.org",
      "6401,later,n10@example.org",
      "10,moved,moved@example.org",
      "11,after,",
      "6400,third,third@example.org"
    )
    const json = await bring(use(), boss, text, { mode: "upsert", errors: "skip" })
    // Which values are taken is a matter of the database.
    const postgres = use().service.backend === "postgres"
    expect(json).toMatchObject({ state: "completed", done: 10, refused: postgres ? 3 : 1, written: postgres ? 7 : 9 })
    expect((json["refusals"] as unknown as ReadonlyArray<{ readonly line: number }>).map(({ line }) => line)).toEqual(
      postgres ? [5, 7, 8] : [5]
    )
    const titles = await use().titles("id >= 8")
    expect(["6400", "8", "9", "6401", "10", "11"].map((id) => titles.get(id))).toEqual([
      "third",
      "three",
      postgres ? "note 9" : "mine",
      postgres ? undefined : "later",
      "moved",
      "after"
    ])
  })

  it("find no record by a value that several have, and all others", async () => {
    await bring(
      use(),
      boss,
      lines("id,title", ...Array.from({ length: 20 }, (_, i) => `${1_500 + i},same`), "1530,alone", "1531,lonely"),
      {}
    )
    const json = await bring(use(), boss, lines("title,amount", "same,1", "alone,2", "lonely,3", "nobody,4"), {
      mode: "update",
      match: "title",
      errors: "skip"
    })
    expect(json).toMatchObject({
      written: 2,
      refused: 2,
      refusals: [{ line: 2, slug: "conflict" }, { line: 5, slug: "not-found" }]
    })
    expect((await use().service.get(boss, "/api/v1/notes/1531")).json["amount"]).toBe("3.00")
  })

  it("create nothing in place of what the caller cannot see, and bring back nothing deleted", async () => {
    expect((await use().service.call(boss, "DELETE", "/api/v1/notes/13", { headers: { "if-match": "*" } })).status)
      .toBeLessThan(300)
    // Note 2 is Bob's, note 13 is deleted; both keys are taken.
    const json = await bring(use(), clerk, lines("id,title", "2,mine", "13,back", "1,hers"), {
      mode: "upsert",
      errors: "skip"
    })
    expect(json).toMatchObject({
      written: 1,
      refused: 2,
      refusals: [{ line: 2, slug: "conflict" }, { line: 3, slug: "conflict" }]
    })
    const refusals = json["refusals"] as unknown as ReadonlyArray<{ readonly message: string }>
    expect(refusals[0]!.message).toBe(refusals[1]!.message)
    expect((await use().titles("id = 2 OR id = 13")).get("2")).not.toBe("mine")
  })

  it("run with the access that the person has then", async () => {
    const uploaded = await use().upload(boss, lines("id,title", "500,x"))
    const id = idOf(uploaded)
    await use().post(boss, `/api/tasks/${id}:start`)
    use().roles.set("bob", null)
    await use().work()
    use().roles.set("bob", ["boss"])
    expect((await use().task(boss, id)).json).toMatchObject({
      state: "failed",
      written: 0,
      error: { slug: "access-denied" }
    })
    expect((await use().service.get(boss, "/api/v1/notes/500")).status).toBe(404)
  })

  it("find records by a key of several fields", async () => {
    const plan = async (text: string, body: unknown) => {
      const uploaded = await use().upload(boss, text, "", "parts")
      expect(uploaded.status, uploaded.text).toBe(201)
      const id = idOf(uploaded)
      const started = await use().post(boss, `/api/tasks/${id}:start`, body)
      await use().work()
      if (started.status !== 202) await use().post(boss, `/api/tasks/${id}:cancel`)
      return [started, (await use().task(boss, id)).json] as const
    }
    const [, made] = await plan(lines("note_id,number,label", "1,1,a", "1,2,b", "2,1,c"), { mode: "upsert" })
    expect(made).toMatchObject({ state: "completed", written: 3, plan: { match: ["note_id", "number"] } })
    const [, changed] = await plan(lines("number,label,note_id", "2,B,1", "1,c,2", "2,new,2", "2,newer,2"), {
      mode: "upsert",
      match: ["number", "note_id"]
    })
    expect(changed).toMatchObject({ state: "completed", done: 4, written: 3, refused: 0 })
    const labels = (await use().service.get(boss, "/api/v1/parts?page_size=10"))
      .json["items"] as unknown as ReadonlyArray<
        { readonly note_id: string; readonly number: number; readonly label: string }
      >
    expect(labels.map(({ label, note_id, number }) => `${note_id}/${number} ${label}`).toSorted()).toEqual([
      "1/1 a",
      "1/2 B",
      "2/1 c",
      "2/2 newer"
    ])
    const [, missing] = await plan(lines("note_id,number,label", "1,,x", "9,9,y"), { mode: "update", errors: "skip" })
    expect(missing).toMatchObject({
      refused: 2,
      refusals: [{ line: 2, field: "number", message: "A value is required to find the record." }, {
        line: 3,
        slug: "not-found"
      }]
    })
    for (
      const match of [
        ["note_id", "label"],
        ["note_id", "number", "label"],
        ["note_id", "note_id"],
        [],
        [1],
        ["nosuch"],
        {
          a: 1
        }
      ]
    ) {
      const [refused] = await plan(lines("note_id,number,label", "1,1,x"), { mode: "update", match })
      expect([match, refused.status]).toEqual([match, 400])
    }
    const [unmapped] = await plan(lines("note_id,label", "1,x"), { mode: "update" })
    expect([unmapped.status, unmapped.json["detail"]]).toEqual([400, "No column is assigned to the field \"number\"."])
  })

  it("leave no field out silently when the person may not fill it any more", async () => {
    const both = { id: "ann", roles: ["clerk", "boss"] }
    use().roles.set("ann", both.roles)
    const uploaded = await use().upload(both, lines("id,title,secret", "600,x,s"))
    const id = idOf(uploaded)
    expect((await use().post(both, `/api/tasks/${id}:start`)).status).toBe(202)
    use().roles.set("ann", ["clerk"])
    await use().work()
    expect((await use().task(both, id)).json).toMatchObject({
      state: "failed",
      written: 0,
      error: { slug: "invalid-parameter" }
    })
    expect((await use().service.get(boss, "/api/v1/notes/600")).status).toBe(404)
  })
})

onBothTasks("imports with hooks", () => fixture(20, true), (use) => {
  afterEach(() => {
    hooks.write = null
  })

  it("tell a hook of each line in order, and refuse the line that it throws at", async () => {
    const seen: unknown[] = []
    hooks.write = ({ after, before, operation }) => {
      seen.push([operation, after?.["id"], before?.["title"], after?.["title"]])
      if (after?.["title"] === "throws") throw new Error("the hook's own words")
    }
    const json = await bring(use(), boss, lines("id,title", "1,a", "30,b", "2,note 2", "3,throws", "30,c", "4,d"), {
      mode: "upsert",
      errors: "skip"
    })
    expect(json).toMatchObject({ written: 4, refused: 1, refusals: [{ line: 5, slug: "internal-error" }] })
    expect(use().unexpected.splice(0).map(String)).toEqual(["Error: the hook's own words"])
    // All together first, and then one by one because of the line that threw.
    const all = [["update", "1", "note 1", "a"], ["create", "30", undefined, "b"], ["update", "3", "note 3", "throws"]]
    expect(seen).toEqual([...all, ...all, ["update", "30", "b", "c"], ["update", "4", "note 4", "d"]])
    expect(Object.fromEntries(await use().titles("id < 5 OR id = 30"))).toEqual({
      1: "a",
      2: "note 2",
      3: "note 3",
      4: "d",
      30: "c"
    })
  })
})

describe("imports on PostgreSQL", () => {
  it("write what they change with one statement, and what they create with another", async () => {
    const scene = await startTasks("postgres", fixture(40))
    const text = lines(
      "id,title",
      ...Array.from({ length: 80 }, (_, i) => `${i % 2 === 0 ? i / 2 + 1 : i + 100},own ${i}`)
    )
    const json = await bring(scene, boss, text, { mode: "upsert" })
    expect(json).toMatchObject({ state: "completed", written: 80 })
    const [found] = await scene.service.database!.rows(
      `select count(*) filter (where version = 2), count(distinct cmin::text) filter (where version = 2), count(*) filter (where version = 1),
        count(distinct cmin::text) filter (where version = 1) from notes where title like 'own %'`
    )
    await scene.service.close()
    expect(found!.map(Number)).toEqual([40, 1, 40, 1])
  })

  it("refuse the lines whose records somebody changes at the same time, and only those", async () => {
    const scene = await startTasks("postgres", fixture(20))
    const { database } = scene.service
    let other = Promise.resolve<unknown>(null)
    hooks.claim = async () => {
      hooks.claim = null
      // It commits when the import waits for it: the import has read its records by then.
      other = database!.execute(
        `begin; update notes set title = 'theirs', version = version + 1 where id = 7; select pg_advisory_xact_lock(4711);
        do $$ begin for i in 1..1000 loop perform pg_stat_clear_snapshot();
          if exists (select from pg_stat_activity where pg_backend_pid() = any (pg_blocking_pids(pid))) then return; end if;
          perform pg_sleep(0.02); end loop; raise 'nobody waited'; end $$; commit`
      )
      await expect.poll(() =>
        database!.rows("select 1 from pg_locks where locktype = 'advisory' and objid = 4711 and granted")
      )
        .toHaveLength(1)
    }
    const text = lines("id,title", ...Array.from({ length: 20 }, (_, i) => `${i + 1},own`))
    const json = await bring(scene, boss, text, { mode: "update", errors: "skip" })
    await other
    hooks.claim = null
    const titles = await scene.titles()
    await scene.service.close()
    expect(json).toMatchObject({
      state: "completed",
      written: 19,
      refused: 1,
      refusals: [{ line: 8, slug: "precondition-failed" }]
    })
    expect([...titles.values()].filter((title) => title === "own")).toHaveLength(19)
    expect(titles.get("7")).toBe("theirs")
  })
})
