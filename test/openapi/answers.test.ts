/**
 * What a running service answers against the document that it gives to the same caller: the status, every header and every member of the body are
 * described there. Nothing is looked at that the document does not close.
 */

import { afterAll, beforeAll, describe, expect, it } from "vitest"
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
    const keyed = path.replace(/(\/api\/v1\/\w+\/)[^/:]+/, "$1{key}")
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
      check(`${place}${pointerOf("content", type, "schema")}`, answer.json)
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
    for (const path of ["orders?expand=customer.account,lines", "lines?expand=order", "meta", "tags", "feedback"]) {
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
