/**
 * What a running service answers against the document that it gives to the same caller: the status, every header and every member of the body are
 * described there. Nothing is looked at that the document does not close.
 */

import { Validator } from "@seriousme/openapi-schema-validator"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { boss, clerk, fixture, idOf, startTasks, type TaskScene, viewer as taskViewer } from "../http/tasks/scenes.ts"
import { type Answer, type CallOptions, startService, type TestCaller, type TestService } from "../support/composed.ts"
import { admin, ann, bob, ledger, viewer, writer } from "../support/ledger.ts"
import type { OpenapiDoc } from "../support/openapi.ts"
import { checker } from "../support/schema.ts"
import { callers, shop } from "../support/shop.ts"

/** Headers of every answer, whatever it is of. */
const everywhere = new Set([
  "cache-control",
  "content-length",
  "content-security-policy",
  "content-type",
  "referrer-policy",
  "vary",
  "x-content-type-options"
])

interface Described {
  readonly $ref?: string
  readonly description?: string
  readonly headers?: { readonly [name: string]: unknown }
  readonly content?: { readonly [type: string]: unknown }
}

const pointerOf = (...parts: readonly string[]): string =>
  parts.map((part) => `/${part.replaceAll("~", "~0").replaceAll("/", "~1")}`).join("")

/** Calls the service and holds the answer against the caller's document; one reader for each service. */
const makeAsk = (use: () => TestService) => {
  const documents = new Map<
    TestCaller,
    { readonly doc: OpenapiDoc; readonly check: ReturnType<typeof checker>["check"] }
  >()
  const documentFor = async (caller: TestCaller) => {
    const known = documents.get(caller)
    if (known !== undefined) return known
    const doc = (await use().get(caller, "/api/openapi.json")).json as unknown as OpenapiDoc
    const made = { doc, check: checker(doc).check }
    documents.set(caller, made)
    return made
  }
  return async (
    status: number,
    caller: TestCaller,
    method: string,
    target: string,
    options: CallOptions = {}
  ): Promise<Answer> => {
    const { check, doc } = await documentFor(caller)
    const answer = await use().call(caller, method, target, options)
    const at = `${method} ${target}`
    expect([at, answer.status, answer.text]).toEqual([at, status, answer.text])
    const [path = ""] = target.split("?")
    const keyed = path.replace(/(\/api\/v1\/\w+\/)[^/:]+/, "$1{key}").replace(/(\/api\/tasks\/)\w+/, "$1{id}")
    const operation = ["paths", keyed, method.toLowerCase()]
    const responses = doc.paths[keyed]?.[method.toLowerCase()]?.responses as
      | { readonly [status: string]: Described }
      | undefined
    expect(responses, at).toBeDefined()
    const listed = responses![status] === undefined ? "default" : String(status)
    const reference = responses![listed]?.$ref?.split("/").at(-1)
    const place = reference === undefined
      ? pointerOf(...operation, "responses", listed)
      : pointerOf("components", "responses", reference)
    const described = (reference === undefined
      ? responses![listed]
      : doc.components.responses[reference]) as Described
    const names = new Set(Object.keys(described.headers ?? {}).map((name) => name.toLowerCase()))
    expect([at, [...answer.headers.keys()].filter((name) => !everywhere.has(name) && !names.has(name))]).toEqual([
      at,
      []
    ])
    if (answer.text === "") {
      // A creator may see nothing of it, or ask for nothing; a stored answer may be of other roles.
      expect([at, described.content === undefined || described.description!.includes("no body")]).toEqual([at, true])
    } else {
      const type = answer.headers.get("content-type")!.split(";")[0]!
      expect(Object.keys(described.content ?? {}), at).toContain(type)
      check(`${place}${pointerOf("content", type, "schema")}`, /[/+]json$/.test(type) ? answer.json : answer.text)
    }
    return answer
  }
}

describe("what the ledger answers", () => {
  let service: TestService
  const ask = makeAsk(() => service)
  beforeAll(async () => {
    const many = "insert into ledger.notes (owner_id, title) select 'x', 'note ' || i from generate_series(1, 20000) i"
    service = await startService("postgres", ledger({ scanGuard: { mode: "warn", seqScanRows: 1_000 } }, many))
  })
  afterAll(() => service?.close())

  const minimal = { Prefer: "return=minimal" }
  const whole = { Prefer: "return=representation" }

  it("is described: reads", async () => {
    await ask(200, ann, "GET", "/api/v1/accounts?count=exact&fields=id,name")
    const { headers } = await ask(200, ann, "GET", "/api/v1/accounts/1")
    await ask(304, ann, "GET", "/api/v1/accounts/1", { headers: { "If-None-Match": headers.get("etag")! } })
    await ask(200, ann, "POST", "/api/v1/accounts:search", { body: { page_size: 1 } })
    await ask(200, ann, "GET", "/api/v1/accounts:seek?position=1&page_size=1")
    await ask(200, ann, "GET", "/api/v1/accounts:facets?field=status")
    await ask(200, ann, "GET", "/api/v1/accounts:histogram?field=balance")
    await ask(200, ann, "GET", "/api/v1/accounts:facets?field=status&measure=max:balance")
    await ask(
      200,
      ann,
      "GET",
      "/api/v1/accounts:aggregate?group_by=status&measures=count,avg(balance)&having=count%3E0"
    )
    await ask(200, ann, "POST", "/api/v1/accounts:aggregate", {
      body: { measures: ["count", "p95(balance)"], limit: 1 }
    })
    await ask(404, ann, "GET", "/api/v1/accounts/3")
    await ask(400, ann, "GET", "/api/v1/accounts/x")
    await ask(400, ann, "GET", "/api/v1/accounts?filter=nope%20%3D%201")
    await ask(400, ann, "GET", "/api/v1/accounts?page_size=-1")
    for (
      const path of [
        "/api/v1/notes?filter=title:nothing",
        "/api/v1/accounts?expand=notes",
        "/api/v1/accounts/1?expand=notes"
      ]
    ) {
      expect((await ask(200, viewer, "GET", path)).headers.has("x-service-warning"), path).toBe(true)
    }
  })

  it("is described: writes", async () => {
    const first = await ask(201, ann, "POST", "/api/v1/accounts", { body: { name: "one" } })
    const path = first.headers.get("location")!
    await ask(201, ann, "POST", "/api/v1/accounts", { body: { name: "two" }, headers: minimal })
    const noted = { title: "nested", owner_id: "ann" }
    await ask(201, ann, "POST", "/api/v1/accounts", { body: { name: "three", notes: [noted] } })
    await ask(400, ann, "POST", "/api/v1/accounts", { body: { name: "four", notes: [{ ...noted, title: 1 }] } })
    await ask(201, writer, "POST", "/api/v1/dropbox", { body: { message: "unseen" } })
    await ask(400, ann, "POST", "/api/v1/accounts", { body: { name: 1, zq_note: "x" } })
    await ask(409, ann, "POST", "/api/v1/accounts", { body: { name: "three", code: "A-1" } })
    await ask(415, ann, "POST", "/api/v1/accounts", { body: "{}", headers: { "content-type": "text/plain" } })
    await ask(428, ann, "PATCH", path, { body: { name: "x" } })
    const changed = await ask(200, ann, "PATCH", path, { body: { name: "x" }, headers: { "If-Match": "*" } })
    const stale = { "If-Match": first.headers.get("etag")! }
    await ask(412, ann, "PATCH", path, { body: { name: "y" }, headers: stale })
    const quiet = await ask(204, ann, "PATCH", path, { body: { name: "y" }, headers: { "If-Match": "*", ...minimal } })
    expect(quiet.headers.get("etag")).not.toBe(changed.headers.get("etag"))
    await ask(201, ann, "PATCH", "/api/v1/papers/70?allow_missing=true", { body: { level: 1 } })
    const counted = "/api/v1/papers?filter=level%3D3"
    await ask(200, ann, "PATCH", `${counted}&dry_run=true`, { body: { level: 2 } })
    await ask(428, ann, "DELETE", counted)
    await ask(412, ann, "DELETE", `${counted}&expected_count=7`)
    const found = (await ask(200, ann, "PATCH", `${counted}&dry_run=true`, { body: { level: 3 } })).json["count"]
    for (const [status, level] of [[200, 3], [200, 3], [422, 4]] as const) {
      const headers = { "Idempotency-Key": "by-filter" }
      const sent = `${counted}&expected_count=${found as unknown as number}`
      await ask(status, ann, "PATCH", sent, { body: { level }, headers })
      const once = { "If-Match": "*", "Idempotency-Key": "upsert" }
      await ask(status, ann, "PATCH", "/api/v1/papers/70?allow_missing=true", { body: { level }, headers: once })
    }
    await ask(403, ann, "PATCH", "/api/v1/accounts/2", { body: { name: "x" }, headers: { "If-Match": "*" } })
    await ask(200, ann, "DELETE", path, { headers: whole })
    await ask(200, admin, "POST", `${path}:undelete`)
    await ask(409, admin, "POST", `${path}:undelete`)
    await ask(204, ann, "DELETE", path)
    await ask(204, admin, "POST", `${path}:undelete`, { headers: minimal })
    await ask(404, bob, "DELETE", path)
  })

  it("is described: idempotency keys and batches", async () => {
    const key = { "Idempotency-Key": "k" }
    await ask(201, ann, "POST", "/api/v1/accounts", { body: { name: "kept" }, headers: key })
    await ask(201, ann, "POST", "/api/v1/accounts", { body: { name: "kept" }, headers: key })
    await ask(422, ann, "POST", "/api/v1/accounts", { body: { name: "other" }, headers: key })
    const batch = (status: number, ops: readonly unknown[], headers: CallOptions["headers"] = {}) =>
      ask(status, ann, "POST", "/api/v1:batchWrite", { body: { ops }, headers })
    const create = { op: "create", resource: "notes", data: { title: "of a batch" }, ref: "n" }
    const steps = (await service.get(ann, "/api/v1/steps")).json["items"] as unknown as ReadonlyArray<{
      readonly id: number
      readonly etag: string
    }>
    const reorder = {
      op: "reorder",
      resource: "steps",
      field: "place",
      keys: steps.map(({ id }) => id).toReversed(),
      etags: Object.fromEntries(steps.map(({ etag, id }) => [id, etag]))
    }
    await batch(200, [
      create,
      { op: "update", resource: "notes", key: { $ref: "n" }, etag: "*", data: { body: "later" } },
      { op: "delete", resource: "notes", key: { $ref: "n" } },
      reorder
    ])
    await batch(200, [create], { "Idempotency-Key": "b", ...minimal })
    await batch(200, [create], { "Idempotency-Key": "b", ...minimal })
    const promoted = { ...ann, roles: [...ann.roles, "viewer"] }
    const again = await ask(200, promoted, "POST", "/api/v1:batchWrite", {
      body: { ops: [create] },
      headers: { "Idempotency-Key": "b", ...minimal }
    })
    expect(again.text).toBe("")
    const packed = { body: "{}", headers: { "content-encoding": "gzip" } }
    expect((await ask(415, ann, "POST", "/api/v1:batchWrite", packed)).headers.get("accept-encoding")).toBe("identity")
    await ask(415, ann, "POST", "/api/v1/accounts", packed)
    await batch(428, [{ op: "update", resource: "accounts", key: 1, data: {} }])
    await batch(412, [{ op: "update", resource: "accounts", key: 1, etag: "\"old\"", data: { name: "x" } }])
    await batch(404, [{ op: "delete", resource: "notes", key: 999_999 }])
  })
})

describe("what the shop answers", () => {
  let service: TestService
  const ask = makeAsk(() => service)
  beforeAll(async () => {
    service = await startService("fake", shop())
  })
  afterAll(() => service?.close())

  it.each(Object.values(callers))("is described: documents of $id", async (caller) => {
    const { headers } = await ask(200, caller, "GET", "/api/meta")
    await ask(304, caller, "GET", "/api/meta", { headers: { "If-None-Match": headers.get("etag")! } })
    await ask(200, caller, "GET", "/api/openapi.json")
    await ask(400, caller, "GET", "/api/meta?x=1")
  })

  it("is described: records of every kind, expanded", async () => {
    const shaped = [
      "customer(fields:'name').account",
      "lines(page_size:1,order_by:'sku')",
      "lines(count)",
      "lines(fields:'sku,order.id')"
    ].map((expand) => `orders?expand=${encodeURIComponent(expand)}`)
    const plain = ["orders?expand=customer.account,lines", "lines?expand=order", "meta", "tags", "feedback"]
    for (const path of [...plain, ...shaped, "orders?fields=id,customer.name,customer.account.id"]) {
      await ask(200, callers.admin, "GET", `/api/v1/${path}`)
    }
    await ask(
      200,
      callers.admin,
      "GET",
      "/api/v1/orders:series?field=placed_at&range=all&granularity=year&measure=avg:total"
    )
  })
})

describe.each(["fake", "postgres"] as const)("what a service with tasks answers, %s", (backend) => {
  let scene: TaskScene
  const ask = makeAsk(() => scene.service)
  beforeAll(async () => {
    scene = await startTasks(backend, fixture(1_030))
  })
  afterAll(() => scene?.service.close())
  const bulk = (status: number, caller: TestCaller, body: unknown, target = "/api/v1/notes:bulk", headers = {}) =>
    ask(status, caller, "POST", target, { body, headers })
  const csv = { "content-type": "text/csv" }

  it("is described: documents", async () => {
    for (const caller of [boss, clerk, taskViewer]) {
      await ask(200, caller, "GET", "/api/meta")
      const { json } = await ask(200, caller, "GET", "/api/openapi.json")
      expect(await new Validator().validate(JSON.parse(JSON.stringify(json)) as never)).toEqual({ valid: true })
    }
  })

  it("is described: bulk changes in each state", async () => {
    await bulk(200, boss, { op: "update", data: { title: "bad" } }, "/api/v1/notes:bulk?dry_run=true")
    for (
      const body of [{ op: "update", filter: "id < 3", data: { title: "x" } }, { op: "delete", filter: "id < 3" }, {
        op: "undelete"
      }]
    ) {
      const id = idOf(await bulk(202, boss, body))
      await ask(200, boss, "GET", `/api/tasks/${id}`)
      await scene.work()
      expect((await ask(200, boss, "GET", `/api/tasks/${id}`)).json["state"]).toBe("completed")
    }
    const key = { "Idempotency-Key": "k" }
    await bulk(202, boss, { op: "undelete" }, "/api/v1/notes:bulk", key)
    await bulk(202, boss, { op: "undelete" }, "/api/v1/notes:bulk", key)
    await bulk(422, boss, { op: "delete" }, "/api/v1/notes:bulk", key)
    const id = idOf(await bulk(202, boss, { op: "update", data: { title: "bad" } }))
    await ask(200, boss, "POST", `/api/tasks/${id}:cancel`)
    await ask(200, boss, "POST", `/api/tasks/${id}:cancel`)
    await scene.work()
    const refused = idOf(await bulk(202, boss, { op: "update", data: { title: "bad" } }))
    await scene.work()
    expect((await ask(200, boss, "GET", `/api/tasks/${refused}`)).json).toMatchObject({ refused: 1_030 })
    await ask(200, boss, "GET", `/api/tasks/${refused}:report`)
    await ask(200, boss, "GET", `/api/tasks/${refused}:report?format=ndjson`)
    await ask(400, boss, "GET", `/api/tasks/${refused}:report?format=xml`)
    await ask(200, boss, "GET", "/api/tasks")
    await ask(400, boss, "GET", "/api/tasks?page=2")
    await ask(404, clerk, "GET", `/api/tasks/${refused}`)
    await bulk(400, boss, { op: "replace" })
    for (let i = 0; i < 5; i++) await bulk(202, boss, { op: "undelete" })
    await bulk(429, boss, { op: "undelete" })
    await scene.work()
  })

  it("is described: imports in each state", async () => {
    const upload = (status: number, text: string, query = "", headers: CallOptions["headers"] = csv) =>
      ask(status, boss, "POST", `/api/v1/notes:import${query}`, { raw: text, headers: headers! })
    await upload(400, "id,title\r\n1,\"x")
    await upload(400, "id\r\n1", "?format=xml")
    await upload(413, `id,title\r\n${"1,x\r\n".repeat(1_100_000)}`)
    await upload(415, "id", "", { ...csv, "content-encoding": "gzip" })
    const id = idOf(await upload(201, "id,title,more\r\n5000,x,1\r\n5001,bad,2\r\n", "?name=a.csv"))
    const verb = (status: number, name: string, body?: unknown) =>
      ask(status, boss, "POST", `/api/tasks/${id}:${name}`, body === undefined ? {} : { body })
    await verb(400, "start", { mode: "replace" })
    await verb(202, "check")
    await verb(409, "start")
    await scene.work()
    await ask(200, boss, "GET", `/api/tasks/${id}`)
    await verb(202, "start", { mapping: ["id", "title", null], mode: "upsert", match: ["id"], errors: "stop" })
    await scene.work()
    expect((await ask(200, boss, "GET", `/api/tasks/${id}`)).json).toMatchObject({
      state: "failed",
      error: { slug: "invalid-record" }
    })
    const composite = await ask(201, boss, "POST", "/api/v1/parts:import", {
      raw: "note_id,number,label\r\n1,1,x\r\n",
      headers: csv
    })
    await ask(202, boss, "POST", `/api/tasks/${idOf(composite)}:start`, { body: { mode: "upsert" } })
    await scene.work()
    const { json } = await ask(200, boss, "GET", `/api/tasks/${idOf(composite)}`)
    expect(json).toMatchObject({ state: "completed", plan: { match: ["note_id", "number"] } })
    await ask(200, boss, "GET", "/api/tasks")
  })
})
