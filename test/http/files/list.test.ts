// Several files in one field: what a write takes, what answers show, links, history, batches and exports.
import { expect, it } from "vitest"
import { fakeImage } from "../../fakes/images.ts"
import type { Answer, Answered, TestCaller } from "../../support/composed.ts"
import { admin, ann, base, bob, create, onStage, patch, scheduled, type Stage, ticketFor, tom } from "./stage.ts"

const textOf = (value: Answered | undefined): string => value as unknown as string
const listOf = (value: Answered | undefined): readonly Answered[] => value as unknown as readonly Answered[]
const urisOf = (value: Answered | undefined): readonly string[] => listOf(value).map((file) => textOf(file["uri"]))
const idOf = (record: Answered): string => textOf(record["id"])
const image = (size: number) => new Uint8Array(fakeImage("png", { width: size, height: size }))

const photoFor = (stage: Stage, caller: TestCaller, name: string): Promise<string> =>
  ticketFor(stage, caller, "galleries.photos", image(60), { name })
const noteFor = (stage: Stage, caller: TestCaller, text: string): Promise<string> =>
  ticketFor(stage, caller, "galleries.notes", text, { name: `${text}.txt` })

onStage("lists of files", (stage) => {
  const gallery = async (caller: TestCaller, names: readonly string[], more: object = {}): Promise<Answered> => {
    const photos: string[] = []
    for (const name of names) photos.push(await photoFor(stage(), caller, name))
    return create(stage(), caller, "galleries", { title: "g", owner_id: caller.id, photos, ...more })
  }
  const refusal = (answer: Answer): readonly unknown[] => [
    answer.status,
    answer.json["errors"]?.[0]?.["field"],
    answer.json["errors"]?.[0]?.["message"]
  ]
  const opens = async (url: Answered | undefined): Promise<number> =>
    (await stage().service.get(null, textOf(url))).status

  it("begin with none, and show their files in order", async () => {
    const empty = await create(stage(), ann, "galleries", { title: "e", owner_id: "ann" })
    expect(empty).toMatchObject({ photos: [], notes: null })
    const full = await gallery(ann, ["b.png", "a.png"])
    expect(listOf(full["photos"]).map(({ name }) => name)).toEqual(["b.png", "a.png"])
    const [file] = listOf(full["photos"])
    expect(file).toEqual({
      uri: expect.stringMatching(/^private:t1\/[a-z2-7]{26}\.png\?name=b\.png&size=\d+&variants=card\.webp/) as string,
      name: "b.png",
      type: "image/png",
      size: image(60).length,
      url: expect.stringMatching(
        new RegExp(`^/api/files/private/t1/[a-z2-7]{26}\\.png\\?r=galleries&k=${idOf(full)}&f=photos&exp=`)
      ) as string,
      variants: { card: { url: expect.any(String) as string, type: "image/webp", width: 40, height: 40 } }
    })
    const listed = await stage().service.get(ann, `${base}/galleries?filter=title%3Dg&fields=photos`)
    expect(listOf(listed.json["items"]).map((item) => urisOf(item["photos"]))).toContainEqual(urisOf(full["photos"]))
    for (const each of listOf(full["photos"])) {
      expect([await opens(each["url"]), await opens(each["variants"]!["card"]!["url"])]).toEqual([200, 200])
    }
  })

  it("take tickets and the files that they hold, in any order, and schedule what is gone", async () => {
    const record = await gallery(ann, ["1.png", "2.png", "3.png"])
    const path = `galleries/${idOf(record)}`
    const [one, two, three] = urisOf(record["photos"]) as [string, string, string]
    const same = await patch(stage(), ann, path, { photos: [one, two, three] })
    expect([same.status, same.json["etag"]]).toEqual([200, record["etag"]])
    const before = scheduled(stage().storages.private).length
    const turned = await patch(stage(), ann, path, { photos: [three, one, two] })
    expect(urisOf(turned.json["photos"])).toEqual([three, one, two])
    expect(turned.json["etag"]).not.toBe(record["etag"])
    expect(scheduled(stage().storages.private).length).toBe(before)
    const fresh = await photoFor(stage(), ann, "4.png")
    const changed = await patch(stage(), ann, path, { photos: [two, fresh, three] })
    expect(listOf(changed.json["photos"]).map(({ name }) => name)).toEqual(["2.png", "4.png", "3.png"])
    expect(scheduled(stage().storages.private).length).toBe(before + 2)
    // The link of the file that left ends with it; those of the others go on.
    const links = listOf(record["photos"]).map(({ url }) => url)
    expect(await Promise.all(links.map(opens))).toEqual([404, 200, 200])
    // An ETag that is older is a 412, and says which field changed.
    const late = await patch(stage(), ann, path, { photos: [] }, { "if-match": textOf(record["etag"]) })
    expect([late.status, late.text]).toEqual([412, expect.stringContaining("photos")])
    const cleared = await patch(stage(), ann, path, { photos: [] })
    expect(cleared.json["photos"]).toEqual([])
    expect(await Promise.all(links.map(opens))).toEqual([404, 404, 404])
  })

  it("say which file of a list is refused, and why", async () => {
    const record = await gallery(ann, ["1.png", "2.png"])
    const path = `galleries/${idOf(record)}`
    const [one, two] = urisOf(record["photos"]) as [string, string]
    const ticket = await photoFor(stage(), ann, "3.png")
    const other = await gallery(ann, ["o.png"])
    const theirs = await gallery(bob, ["b.png"])
    const foreign = await gallery(tom, ["t.png"])
    const [strange] = urisOf(other["photos"])
    const notOurs = "The list has a value that is not a file of this record."
    for (
      const [photos, message] of [
        [null, "The field \"photos\" is required."],
        ["x", "Expected a list of files."],
        [{ 0: ticket }, "Expected a list of files."],
        [[one, null], "File 2: Expected a text."],
        [[[ticket]], "File 1: Expected a text."],
        [[listOf(record["photos"])[0]], "File 1: The value is the file object of an answer."],
        [[one, one], "File 2 is file 1 again."],
        [[ticket, one, ticket], "File 3 is file 1 again."],
        [[one, two, `${ticket.slice(0, -2)}xx`], "File 3: The ticket is not valid for this user and field."],
        [[await photoFor(stage(), bob, "b.png")], "File 1: The ticket is not valid for this user and field."],
        [
          [await noteFor(stage(), ann, "x")],
          "File 1: The ticket is not valid for this user and field."
        ],
        [["https://files.example.com/a.png"], "File 1: The value is not a file."],
        [[""], notOurs],
        [[one, "a\0b"], notOurs],
        [[one, strange], notOurs],
        [urisOf(theirs["photos"]), notOurs],
        [urisOf(foreign["photos"]), notOurs],
        [[one.replace(/\?.*/, "")], notOurs],
        [["private:t1/../../etc/passwd"], notOurs],
        [[`private:t1/${"x".repeat(5_000)}`], "File 1: The value is not a file."],
        [Array.from({ length: 6 }, () => ticket), "Expected at most 5 files."],
        [Array.from({ length: 101 }, (_, i) => `private:t1/${i}.png`), "Expected at most 5 files."]
      ] as const
    ) {
      const answer = await patch(stage(), ann, path, { photos })
      expect(refusal(answer)).toEqual([400, "photos", message])
    }
    const created = await stage().service.call(ann, "POST", `${base}/galleries`, {
      body: { title: "x", owner_id: "ann", photos: [one] }
    })
    expect(refusal(created)).toEqual([400, "photos", "File 1: The value is not a file."])
    expect((await patch(stage(), ann, path, { notes: ["x".repeat(4_000_000)] })).status).toBeGreaterThanOrEqual(400)
    expect((await patch(stage(), ann, path, { secrets: [] })).status).toBe(400)
    const kept = await stage().service.get(ann, `${base}/${path}`)
    expect([urisOf(kept.json["photos"]), kept.json["etag"]]).toEqual([[one, two], record["etag"]])
  })

  it("may be null where they are optional, and hold addresses where they may", async () => {
    const url = "https://files.example.com/a/plan.pdf"
    const record = await create(stage(), ann, "galleries", {
      title: "n",
      owner_id: "ann",
      notes: [await noteFor(stage(), ann, "first"), url]
    })
    expect(record["notes"]).toMatchObject([{ name: "first.txt", type: "text/plain" }, {
      uri: url,
      name: "plan.pdf",
      type: "application/pdf",
      url
    }])
    const path = `galleries/${idOf(record)}`
    const [first] = urisOf(record["notes"])
    expect(urisOf((await patch(stage(), ann, path, { notes: [url, first] })).json["notes"])).toEqual([url, first])
    expect(refusal(await patch(stage(), ann, path, { notes: [url, first, url] }))[2]).toBe("File 3 is file 1 again.")
    expect(refusal(await patch(stage(), ann, path, { notes: ["http://files.example.com/a.pdf"] }))[2])
      .toBe("File 1: The value is not a file.")
    expect((await patch(stage(), ann, path, { notes: null })).json["notes"]).toBeNull()
  })

  it("take the ticket of an upload that is there, and no other", async () => {
    const record = await gallery(ann, ["1.png"])
    const path = `galleries/${idOf(record)}`
    const [one] = urisOf(record["photos"])
    const ticket = await photoFor(stage(), ann, "2.png")
    // The same request again, as after an answer that was lost.
    for (let i = 0; i < 2; i++) {
      expect(listOf((await patch(stage(), ann, path, { photos: [one, ticket] })).json["photos"]).length).toBe(2)
    }
    const now = urisOf((await stage().service.get(ann, `${base}/${path}`)).json["photos"])
    // Ticket and uri name one file.
    expect(refusal(await patch(stage(), ann, path, { photos: [now[1], ticket] }))[2]).toBe("File 2 is file 1 again.")
    const lost = await photoFor(stage(), ann, "3.png")
    for (const file of stage().storages.private.files.keys()) {
      if (!file.startsWith(".") && !now.some((uri) => uri.includes(file.split(".")[0]!))) {
        stage().storages.private.files.delete(file)
      }
    }
    expect(refusal(await patch(stage(), ann, path, { photos: [...now, lost] })))
      .toEqual([400, "photos", "The uploaded file is gone."])
  })

  it("are written in batches, and a batch that fails takes and schedules nothing", async () => {
    const record = await gallery(ann, ["1.png", "2.png"])
    const [one] = urisOf(record["photos"])
    const before = scheduled(stage().storages.private).length
    const batch = (ops: object) => stage().service.call(ann, "POST", `${base}:batchWrite`, { body: { ops } })
    const update = { op: "update", resource: "galleries", key: idOf(record), etag: "*", data: { photos: [one] } }
    const photo = await photoFor(stage(), ann, "n.png")
    const made = {
      op: "create",
      resource: "galleries",
      data: { title: "b", owner_id: "ann", photos: [photo] }
    }
    const failed = await batch([update, made, { ...made, data: { title: "b", owner_id: "ann", photos: [one] } }])
    expect(failed.status, failed.text).toBe(400)
    expect(urisOf((await stage().service.get(ann, `${base}/galleries/${idOf(record)}`)).json["photos"]).length).toBe(2)
    const done = await batch([update, made])
    expect(done.status, done.text).toBe(200)
    expect(urisOf((await stage().service.get(ann, `${base}/galleries/${idOf(record)}`)).json["photos"])).toEqual([one])
    expect(scheduled(stage().storages.private).length).toBeGreaterThan(before)
    const removed = await batch([{ op: "delete", resource: "galleries", key: idOf(record) }])
    expect(removed.status, removed.text).toBe(200)
  })

  it("are attached by as many operations of a batch as it has", async () => {
    const ops: object[] = []
    for (let i = 0; i < 8; i++) {
      const { id } = await create(stage(), ann, "galleries", { title: "many", owner_id: "ann" }) as {
        readonly id: unknown
      }
      const photos = [await photoFor(stage(), ann, `${i}.png`), await photoFor(stage(), ann, `${i} too.png`)]
      ops.push({ op: "update", resource: "galleries", key: id, etag: "*", data: { photos } })
    }
    const done = await stage().service.call(ann, "POST", `${base}:batchWrite`, { body: { ops } })
    expect(done.status, done.text).toBe(200)
    expect(listOf(done.json["results"]).map(({ record }) => listOf(record!["photos"]).length)).toEqual(Array(8).fill(2))
  })

  it("stay as they are when a version is restored, and versions show them", async () => {
    const record = await gallery(ann, ["1.png", "2.png"])
    const path = `galleries/${idOf(record)}`
    const [one] = urisOf(record["photos"])
    await patch(stage(), ann, path, { photos: [one], title: "later" })
    const versions = await stage().service.get(
      ann,
      `${base}/galleries_history?filter=id%3D${idOf(record)}&order_by=history_id`
    )
    const [first, second] = listOf(versions.json["items"])
    expect([urisOf(first!["photos"]).length, urisOf(second!["photos"])]).toEqual([2, [one]])
    const restored = await stage().service.call(ann, "POST", `${base}/${path}:restore`, {
      body: { version: first!["history_id"] },
      headers: { "if-match": "*" }
    })
    expect([restored.status, restored.json["title"], urisOf(restored.json["photos"])]).toEqual([200, "g", [one]])
  })

  it("are left out for who may not see the field, in answers, bodies, uploads and meta", async () => {
    const secrets = [await ticketFor(stage(), admin, "galleries.secrets", "secret", { name: "s.txt" })]
    const record = await create(stage(), admin, "galleries", { title: "s", owner_id: "root", secrets })
    const seen = await stage().service.get(ann, `${base}/galleries/${idOf(record)}`)
    expect([seen.status, seen.text.includes("secrets")]).toEqual([200, false])
    const meta = async (caller: TestCaller) =>
      listOf((await stage().service.get(caller, "/api/meta")).json["models"])
        .find(({ name }) => textOf(name) === "galleries")!["fields"]
    const fields = listOf(await meta(ann))
    expect(fields.map(({ name }) => name)).not.toContain("secrets")
    expect(fields.find(({ name }) => textOf(name) === "photos")).toMatchObject({
      kind: "files",
      file: { accept: ["image/*"], maxSize: 300_000, variants: ["card"], maxFiles: 5, derived: [], placeholder: null },
      default: { value: [] },
      optional: false,
      filterable: false,
      sortable: false
    })
    const filtered = await stage().service.get(ann, `${base}/galleries?filter=photos%3Dnull`)
    expect(filtered.status).toBe(400)
    // The secret file's uri is no file of another field, whoever sends it.
    const [uri] = urisOf(record["secrets"])
    expect((await patch(stage(), admin, `galleries/${idOf(record)}`, { notes: [uri] })).status).toBe(400)
  })

  it("are exported as lists, in CSV as JSON", async () => {
    const title = `export ${stage().service.backend}`
    const record = await gallery(ann, ["1.png", "=cmd.png"], { title })
    const filter = `filter=${encodeURIComponent(`title = "${title}"`)}`
    const fields = "fields=id,photos,notes"
    const csv = await stage().service.get(ann, `${base}/galleries:export?format=csv&${filter}&${fields}`)
    const uris = JSON.stringify(urisOf(record["photos"]))
    expect(csv.text).toBe(
      `id,photos,photos.name,notes,notes.name\r\n${idOf(record)},"${
        uris.replaceAll("\"", "\"\"")
      }","[""1.png"",""=cmd.png""]",,\r\n`
    )
    const lines = await stage().service.get(ann, `${base}/galleries:export?format=ndjson&${filter}&${fields}`)
    const [line] = lines.text.split("\n")
    expect(urisOf((JSON.parse(line!) as Answered)["photos"])).toEqual(urisOf(record["photos"]))
  })
})

onStage("a request with very many uploads", (stage) => {
  it("is refused before it takes locks for them", async () => {
    const tickets: string[] = []
    for (let i = 0; i < 1_020; i++) tickets.push(await noteFor(stage(), ann, `n${i}`))
    const ops = Array.from({ length: 51 }, (_, i) => ({
      op: "create",
      resource: "galleries",
      data: { title: "very many", owner_id: "ann", notes: tickets.slice(i * 20, i * 20 + 20) }
    }))
    const write = (some: readonly object[]) =>
      stage().service.call(ann, "POST", `${base}:batchWrite`, { body: { ops: some } })
    const answer = await write(ops)
    expect([answer.status, answer.json["detail"]]).toEqual([
      413,
      "The request attaches more than 1000 uploads. Send fewer at once."
    ])
    const made = await write(ops.slice(0, 50))
    expect(made.status).toBe(200)
    const extra = await write([{ ...ops[0], data: { ...ops[0]!.data, notes: tickets.slice(0, 1) } }])
    const results = [made, extra].flatMap(({ json }) =>
      json["results"] as unknown as ReadonlyArray<{ readonly record: { readonly id: string; readonly etag: string } }>
    )
    const keys = results.map(({ record }) => record.id)
    // They let go of 1,001 files in all. Nothing of it is done.
    const { archive } = stage().storages
    const before = scheduled(archive).length
    const removal = (some: readonly string[]) => some.map((key) => ({ op: "delete", resource: "galleries", key }))
    for (const query of ["", "?dry_run=true"]) {
      const refused = await stage().service.call(admin, "POST", `${base}:batchWrite${query}`, {
        body: { ops: removal(keys) }
      })
      expect([refused.status, refused.json["detail"]]).toEqual([
        413,
        "The request lets go of more than 1000 files. Send fewer operations at once."
      ])
    }
    expect(scheduled(archive)).toHaveLength(before)
    const fewer = await stage().service.call(admin, "POST", `${base}:batchWrite`, {
      body: { ops: removal(keys.slice(0, 50)) }
    })
    expect([fewer.status, scheduled(archive).length]).toEqual([200, before + 1_000])
  })
}, ["fake"])

onStage("arrays that no write made", (stage) => {
  it("show what is no file as missing, and are never an error", async () => {
    const { service } = stage()
    const record = await create(stage(), ann, "galleries", {
      title: "odd",
      owner_id: "ann",
      photos: [await photoFor(stage(), ann, "1.png")]
    })
    const path = `${base}/galleries/${idOf(record)}`
    const [uri] = urisOf(record["photos"])
    const store = (sql: string) =>
      service.database!.execute(`update galleries set photos = ${sql} where id = ${idOf(record)}`)
    await store(`array['${uri}', null, 'nowhere:t1/a.png', E'quote" back\\\\slash \\u0007 ü', '']`)
    const odd = await service.get(ann, path)
    expect(listOf(odd.json["photos"]).slice(1)).toEqual([
      { uri: "", missing: true },
      { uri: "nowhere:t1/a.png", missing: true },
      { uri: "quote\" back\\slash \u0007 ü", missing: true },
      { uri: "", missing: true }
    ])
    // ETag of a get and of a list that leaves fields out, which the database hashes.
    const listed = await service.get(ann, `${base}/galleries?filter=title%3Dodd&fields=id`)
    expect(listed.json["items"]![0]!["etag"]).toBe(odd.json["etag"])
    // Texts that are there may be kept, in another order; nulls may not.
    const texts = [textOf(odd.json["photos"]![3]!["uri"]), uri!, "nowhere:t1/a.png"]
    const turned = await patch(stage(), ann, `galleries/${idOf(record)}`, { photos: texts })
    expect([turned.status, urisOf(turned.json["photos"])]).toEqual([200, texts])
    await store(`array[['${uri}', 'a'], [null, 'b']]`)
    const nested = await service.get(ann, path)
    expect(listOf(nested.json["photos"])).toEqual([
      { uri: JSON.stringify([uri, "a"]), missing: true },
      { uri: "[null,\"b\"]", missing: true }
    ])
    // A title can be changed beside it: the history takes the array as it is.
    expect((await patch(stage(), ann, `galleries/${idOf(record)}`, { title: "odd 2" })).status).toBe(200)
    const kept = await service.database!.rows(
      `select photos::text from history.galleries where id = ${idOf(record)} order by history_id desc limit 1`
    )
    expect(kept).toEqual([[`{{${uri},a},{NULL,b}}`]])
    const cleared = await patch(stage(), ann, `galleries/${idOf(record)}`, { photos: [] })
    expect([cleared.status, cleared.json["photos"]]).toEqual([200, []])
    expect(scheduled(stage().storages.private).length).toBeGreaterThan(0)
    await store("'{}'::text[]")
    expect((await service.get(ann, path)).json["photos"]).toEqual([])
  })

  it("with a text of four megabytes are answered", async () => {
    const { service } = stage()
    const record = await create(stage(), ann, "galleries", { title: "big", owner_id: "ann" })
    await service.database!.execute(
      `update galleries set photos = array[repeat('x', 4000000)] where id = ${idOf(record)}`
    )
    const answer = await service.get(ann, `${base}/galleries/${idOf(record)}`)
    expect([answer.status, answer.json["photos"]![0]!["missing"]]).toEqual([200, true])
    const download = await service.get(null, `/api/files/private/t1/a.png?r=galleries&k=${idOf(record)}`)
    expect(download.status).toBe(403)
  })
}, ["postgres"])
