/** The whole API over `Memory`: records, files, jobs, events and tokens on fakes, with no database and no file. */

import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { sharpImages } from "../../adapters/images/images.ts"
import { defineJob } from "../../adapters/queue/define.ts"
import { verifyStandardWebhook } from "../../adapters/seal/webhook.ts"
import { compileOrThrow } from "../../composition/create-admin.ts"
import { Http } from "../../composition/layers/http.ts"
import { build } from "../../composition/layers/live.ts"
import { JobRunner } from "../../composition/layers/queue.ts"
import { Work } from "../../composition/layers/work.ts"
import { defineConfig } from "../../core/domain/declare/config.ts"
import { f } from "../../core/domain/declare/field.ts"
import { defineResource } from "../../core/domain/declare/resource.ts"
import { defineRoles } from "../../core/domain/declare/roles.ts"
import { webhooks } from "../../core/domain/declare/webhooks.ts"
import { subscription } from "../../core/domain/event/subscription.ts"
import type { Workers } from "../../core/ports/queue.ts"
import { fakeImage } from "../fakes/images.ts"
import { Fakes, Memory } from "../fakes/memory.ts"
import { type Answered, testSecret } from "../support/composed.ts"

const notes = defineResource("notes", {
  table: "notes",
  primaryKey: "id",
  version: "version",
  fields: {
    id: f.integer().readOnly().dbDefault().filterable().sortable(),
    title: f.text().max(40).filterable().sortable(),
    picture: f.file().accept(["image/*"]).variants({ card: { width: 4, height: 4, fit: "cover" } }).optional(),
    version: f.integer().readOnly()
  },
  events: { created: true, updated: true }
})

const receiver = { origin: "https://desk.example.org", secret: `whsec_${Buffer.alloc(24, 7).toString("base64")}` }
const ran: string[] = []
const greet = defineJob<{ name: string }>({
  name: "greet",
  run: async ({ name }, { mail }) => {
    ran.push(name)
    await mail!.send({ to: "ann@example.org", subject: name, text: name })
  }
})

const compiled = compileOrThrow(defineConfig({
  resources: [notes],
  jobs: [greet],
  roles: defineRoles({ clerk: ["notes.*", "webhook_subscriptions.*"] as never }),
  extends: [webhooks({ allowPrivateAddresses: true, ownerRoles: () => Promise.resolve(["clerk"]) })],
  subscriptions: [subscription("desk", {
    events: ["notes.created"],
    as: { roles: ["clerk"] },
    url: `${receiver.origin}/hook`,
    secret: receiver.secret
  })],
  files: { imageProcessor: sharpImages() },
  options: { tasks: { ownerRoles: () => Promise.resolve(["clerk"]) } }
}))

const idOf = (record: Answered): string => `${record["id"] as unknown as string}`

const open = () =>
  build(Memory, {
    compiled,
    accounts: null,
    authenticator: () => {
      throw new Error("Tokens are asked, and nobody else.")
    },
    secret: testSecret,
    publicUrl: "http://service.test",
    webFolder: "no-admin-app"
  })

describe("a service over Memory", () => {
  let service: Awaited<ReturnType<typeof open>>
  let workers: Workers
  let token: string
  beforeAll(async () => {
    service = await open()
    const { outbound, tokens } = Context.get(service.made, Fakes)
    token = tokens.issue({ id: "ann", roles: ["clerk"], tenant: null }, 3_600)
    outbound.hosts.set("desk.example.org", ["198.51.100.7"])
    outbound.listen(receiver.origin, () => ({ status: 204 }))
    workers = await Context.get(service.made, Work).start()
  })
  afterAll(() => service.close())

  /** Until everything that was begun in the background has ended. */
  const settled = () => Effect.runPromise(workers.drain(60_000))

  const call = async (
    method: string,
    path: string,
    body?: unknown,
    headers: { readonly [name: string]: string } = {}
  ): Promise<{ readonly status: number; readonly headers: Headers; readonly json: Answered }> => {
    const raw = body instanceof Uint8Array
    const response = await Context.get(service.made, Http).fetch(
      new Request(`http://service.test${path}`, {
        method,
        headers: {
          authorization: `Bearer ${token}`,
          ...(body === undefined || raw ? {} : { "content-type": "application/json" }),
          ...headers
        },
        ...(body === undefined ? {} : { body: raw ? new Uint8Array(body) : JSON.stringify(body) })
      })
    )
    const text = await response.text()
    const json = response.headers.get("content-type")?.includes("json") === true ? JSON.parse(text) as Answered : null
    return { status: response.status, headers: response.headers, json: json as Answered }
  }
  const make = async (title: string) => {
    const answer = await call("POST", "/api/v1/notes", { title })
    expect(answer.status).toBe(201)
    return { path: `/api/v1/notes/${idOf(answer.json)}`, etag: answer.headers.get("etag")!, json: answer.json }
  }

  it("creates, gets, changes and lists records", async () => {
    const { etag, path } = await make("first")
    expect((await call("GET", path)).json).toMatchObject({ title: "first" })
    expect((await call("PATCH", path, { title: "second" })).status).toBe(428)
    expect((await call("PATCH", path, { title: "second" }, { "if-match": etag })).json).toMatchObject({
      title: "second"
    })
    expect((await call("PATCH", path, { title: "third" }, { "if-match": etag })).status).toBe(412)
    const list = await call("GET", `/api/v1/notes?filter=${encodeURIComponent("title = \"second\"")}`)
    expect(list.json["items"]).toEqual([expect.objectContaining({ title: "second" })])
  })

  it("writes batches, all or nothing", async () => {
    const both = await call("POST", "/api/v1:batchWrite", {
      operations: [
        { op: "create", resource: "notes", data: { title: "batch a" } },
        { op: "create", resource: "notes", data: { title: "batch b" } }
      ]
    })
    expect(both.status).toBe(200)
    const refused = await call("POST", "/api/v1:batchWrite", {
      operations: [
        { op: "create", resource: "notes", data: { title: "batch c" } },
        { op: "create", resource: "notes", data: { title: "x".repeat(41) } }
      ]
    })
    expect(refused.status).toBe(400)
    const { json } = await call(
      "GET",
      `/api/v1/notes?count=exact&filter=${encodeURIComponent("title = (\"batch a\" OR \"batch b\" OR \"batch c\")")}`
    )
    expect(json["total_size"]).toBe(2)
  })

  it("takes files into a storage in memory, and gives them back", async () => {
    const image = fakeImage("png", { width: 8, height: 8 })
    const ticket = await call("POST", "/api/v1/notes:upload?field=picture&name=dot.png", image, {
      "content-type": "image/png"
    })
    expect(ticket.status).toBe(201)
    const made = await call("POST", "/api/v1/notes", { title: "drawn", picture: ticket.json["value"] })
    expect(made.json["picture"]).toMatchObject({ name: "dot.png", type: "image/png", size: image.length })
    const opened = await call("GET", made.json["picture"]!["url"] as unknown as string)
    expect([opened.status, opened.headers.get("content-length")]).toEqual([200, String(image.length)])
    expect([...Context.get(service.made, Fakes).storages.get("private")!.files.keys()].length).toBeGreaterThan(0)
  })

  it("runs jobs, which send mails", async () => {
    await greet.enqueue(Context.get(service.made, JobRunner).db, { name: "hello" })
    await settled()
    expect(ran).toEqual(["hello"])
    expect(Context.get(service.made, Fakes).mail.taken().map(({ subject }) => subject)).toEqual(["hello"])
  })

  it("runs bulk changes as tasks, whose jobs are there when they are committed", async () => {
    await make("old a")
    await make("old b")
    const begun = await call("POST", "/api/v1/notes:bulk", {
      op: "delete",
      filter: "title = (\"old a\" OR \"old b\")"
    })
    expect(begun.status).toBe(202)
    await settled()
    expect((await call("GET", `/api/tasks/${idOf(begun.json)}`)).json).toMatchObject({
      state: "completed",
      written: 2
    })
  })

  it("delivers events, signed", async () => {
    const { sent } = Context.get(service.made, Fakes).outbound
    await settled()
    const before = sent.length
    const { json } = await make("told")
    await settled()
    const [request, ...more] = sent.slice(before)
    expect(more).toEqual([])
    const { body, headers, url } = request!
    expect(url).toBe(`${receiver.origin}/hook`)
    const signed = new Request(url, { method: "POST", headers, body })
    const { event } = verifyStandardWebhook({ headers: signed.headers, body }, receiver.secret)
    expect(event).toMatchObject({ type: "notes.created", data: { key: idOf(json) } })
  })

  it("asks the checks of an extension before it writes, and has its verbs", async () => {
    const save = (events: string) =>
      call("POST", "/api/v1/webhook_subscriptions", { name: `about ${events}`, events, url: `${receiver.origin}/made` })
    const made = await save("notes.created")
    expect(made.status).toBe(201)
    expect((await save("nothing.created")).status).toBe(400)
    // The fake of what the extension keeps has rows of its own. It has none of this id yet.
    expect((await call("POST", `/api/v1/webhook_subscriptions/${idOf(made.json)}:disable`)).status).toBe(404)
    const id = Context.get(service.made, Fakes).webhooks.add({ owner: "ann", roles: ["clerk"] })
    expect(id).toBe(idOf(made.json))
    expect((await call("POST", `/api/v1/webhook_subscriptions/${id}:disable`)).status).toBe(204)
    expect(Context.get(service.made, Fakes).webhooks.shown(id).enabled).toBe(false)
  })

  it("asks the tokens who is calling", async () => {
    const { tokens } = Context.get(service.made, Fakes)
    const mine = token
    token = tokens.issue({ id: "bob", roles: ["clerk"], tenant: null }, 60)
    expect((await call("GET", "/api/v1/notes")).status).toBe(200)
    tokens.revoke("bob")
    expect((await call("GET", "/api/v1/notes")).status).toBe(401)
    token = "nobody"
    expect((await call("GET", "/api/v1/notes")).status).toBe(401)
    token = mine
  })
})

it("two services over Memory share nothing", async () => {
  const [one, other] = [await open(), await open()]
  expect(Context.get(one.made, Fakes).records).not.toBe(Context.get(other.made, Fakes).records)
  await Promise.all([one.close(), other.close()])
})
