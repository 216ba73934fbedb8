/** Scenarios of single records: keys of all kinds, ETags and conditional requests, permissions, soft delete. For any backend. */

import * as Effect from "effect/Effect"
import { describe, expect, it } from "vitest"
import { at, expectParameter, expectProblem, pluck } from "../../support/answer.ts"
import type { Query } from "../../support/answer.ts"
import type { Answer, TestCaller, TestService } from "../../support/composed.ts"
import { tokenOf } from "../../support/composed.ts"
import { callers, foreign, homeless, oddTexts } from "../../support/shop.ts"

export const getScenarios = (service: () => TestService): void => {
  const { admin, auditor, blind, clerk, nobody, sales } = callers
  const get = (
    path: string,
    query: Query = {},
    caller: TestCaller = admin,
    headers?: { readonly [name: string]: string }
  ): Promise<Answer> => service().get(caller, at(path, query), headers)
  const etagOf = (answer: Answer): string => {
    expect(answer.status, answer.text).toBe(200)
    return answer.headers.get("etag")!
  }

  describe("get", () => {
    it("answers the record with its ETag in header and body", async () => {
      const answer = await get("orders/7")
      const listed = (await get("orders", { filter: "id = 7" })).json["items"]![0]!
      const { permissions, ...record } = answer.json as unknown as {
        readonly permissions: unknown
        readonly etag: string
      }
      const { permissions: _, ...item } = listed as unknown as { readonly permissions: unknown }
      expect(record).toEqual(item)
      expect(answer.headers.get("etag")).toBe(record.etag)
      expect(answer.headers.get("cache-control")).toBe("private, no-cache")
      expect(answer.headers.get("content-type")).toBe("application/json; charset=utf-8")
      expect(permissions).toMatchObject({ update: true, delete: false })
    })

    it("says what may be done with the record and each readable field", async () => {
      // An order of the caller in draft, one that is paid; the record decides both, and one field by a rule of its own.
      const draft = (await get("orders", { filter: "status = draft", page_size: 1 }, sales)).json["items"]![0]!
      const paid = (await get("orders", { filter: "status = paid", page_size: 1 }, sales)).json["items"]![0]!
      const read = ["id", "updated_at"]
      const names = Object.keys(draft).filter((name) => name !== "etag" && name !== "permissions")
      expect((await get(`orders/${draft["id"] as unknown as string}`, {}, sales)).json["permissions"]).toEqual({
        update: true,
        delete: true,
        fields: Object.fromEntries(names.map((name) => [name, read.includes(name) ? "read" : "edit"]))
      })
      const all = Object.fromEntries(names.map((name) => [name, "read"]))
      expect((await get(`orders/${paid["id"] as unknown as string}`, {}, sales)).json["permissions"]).toEqual({
        update: false,
        delete: false,
        fields: all
      })
      expect((await get(`orders/${paid["id"] as unknown as string}`, {}, admin)).json["permissions"]!["fields"])
        .toMatchObject({
          total: "read",
          status: "edit"
        })
      expect((await get("orders/1", {}, clerk)).json["permissions"]).toEqual({
        update: false,
        delete: false,
        fields: { id: "read", number: "read", customer_id: "read", status: "read", placed_at: "read" }
      })
      expect((await get("lines/2,plain", {}, admin)).json["permissions"]).toEqual({
        update: true,
        delete: true,
        fields: { order_id: "read", sku: "read", quantity: "edit", price: "edit", zq_cost: "edit", remark: "edit" }
      })
    })

    it("restricts fields without changing the ETag or the permissions", async () => {
      for (const path of ["orders/7", "lines/2,plain"]) {
        const [whole, part] = [
          await get(path),
          await get(path, { fields: path.startsWith("o") ? "number" : "quantity" })
        ]
        expect(Object.keys(part.json)).toEqual([path.startsWith("o") ? "number" : "quantity", "etag", "permissions"])
        expect(etagOf(part)).toBe(etagOf(whole))
        expect(part.json["permissions"]).toEqual(whole.json["permissions"])
      }
      expectParameter(
        await get("orders/7", { fields: "nope" }),
        "/api/v1/orders/7",
        "fields",
        "There is no field \"nope\"."
      )
    })

    it("has one ETag for list, search, seek and get, of the version or of what the caller reads", async () => {
      for (const caller of [admin, auditor, clerk]) {
        for (const [resource, key] of [["orders", "1"], ["lines", "2,100%25"]] as const) {
          const filter = resource === "orders" ? "id = 1" : "sku = \"100%\" AND order_id = 2"
          const tags = [
            etagOf(await get(`${resource}/${key}`, {}, caller)),
            pluck(await get(resource, { filter, fields: resource === "orders" ? "id" : "sku" }, caller), "etag")[0],
            pluck(await get(`${resource}:seek`, { position: 0, filter }, caller), "etag")[0],
            pluck(await service().call(caller, "POST", at(`${resource}:search`), { body: { filter } }), "etag")[0]
          ]
          expect(new Set(tags).size).toBe(1)
        }
      }
      // By the version it is the same for everybody; by fields it is that of what each one reads.
      expect(etagOf(await get("orders/1"))).toBe(etagOf(await get("orders/1", {}, clerk)))
      expect(etagOf(await get("lines/2,plain"))).not.toBe(etagOf(await get("lines/2,plain", {}, clerk)))
    })

    it("keeps the ETag of who cannot read the field that changed", async () => {
      const path = "lines/3,sku-00"
      const before = [etagOf(await get(path)), etagOf(await get(path, {}, clerk))]
      const patch = (price: string) =>
        service().call(admin, "PATCH", at(path), { body: { price }, headers: { "if-match": "*" } })
      expect((await patch("123219.9999")).status).toBe(200)
      const after = [etagOf(await get(path)), etagOf(await get(path, {}, clerk))]
      expect(after[0]).not.toBe(before[0])
      expect(after[1]).toBe(before[1])
      await patch("123210.0000")
      expect(etagOf(await get(path))).toBe(before[0])
    })

    it("answers 304 to a tag the client has", async () => {
      const tag = etagOf(await get("orders/7"))
      for (const header of [tag, `"other", ${tag}`, `W/${tag}`, "*", `"a",${tag} ,"b"`]) {
        const answer = await get("orders/7", {}, admin, { "if-none-match": header })
        expect([answer.status, answer.text, answer.headers.get("etag")]).toEqual([304, "", tag])
        expect(answer.headers.get("content-type")).toBeNull()
        expect(answer.headers.get("x-meta-version")).not.toBeNull()
      }
      for (const header of ["\"other\"", tag.slice(1, -1), "", `${tag.slice(0, -1)}x"`]) {
        expect((await get("orders/7", {}, admin, { "if-none-match": header })).status).toBe(200)
      }
      // Not for records that are not there.
      expect((await get("orders/999999", {}, admin, { "if-none-match": "*" })).status).toBe(404)
    })

    it("answers HEAD like GET without the body", async () => {
      for (
        const path of [
          "orders/7",
          "orders",
          "orders:facets?field=status",
          "orders:seek?position=1",
          "orders/0",
          "nope",
          "orders/x"
        ]
      ) {
        const [full, head] = [
          await service().get(admin, `/api/v1/${path}`),
          await service().call(admin, "HEAD", `/api/v1/${path}`)
        ]
        expect([head.status, head.text]).toEqual([full.status, ""])
        const headers = (answer: Answer) =>
          Object.fromEntries([...answer.headers].filter(([name]) => name !== "x-request-id"))
        // The length is that of the body a GET has; tokens differ from answer to answer, their length does not.
        expect(headers(head)).toEqual(headers(full))
        expect(head.headers.get("content-length")).toBe(String(Buffer.byteLength(full.text)))
      }
    })

    it("shows deleted records only when asked", async () => {
      expectProblem(await get("orders/200"), "not-found", "/api/v1/orders/200")
      const answer = await get("orders/200", { show_deleted: true })
      expect(answer.json).toMatchObject({ id: "200", permissions: { update: false, delete: false } })
      expect(Object.values(answer.json["permissions"]!["fields"]!)).not.toContain("edit")
      expect((await get("customers/7")).status).toBe(404)
      expect((await get("customers/7", { show_deleted: true })).json["deleted_at"]).toBe("2026-02-01T00:00:00.000001Z")
      expectParameter(await get("tags/plain", { show_deleted: true }), "/api/v1/tags/plain", "show_deleted")
      expectParameter(await get("orders/200", { show_deleted: "yes" }), "/api/v1/orders/200", "show_deleted")
    })

    it.each<readonly [what: string, path: string, caller: TestCaller]>([
      ["an unknown key", "orders/424242", admin],
      ["another tenant's", "orders/300", admin],
      ["ours for the other tenant", "orders/1", foreign],
      ["a deleted one", "orders/201", admin],
      ["one outside the own rows", "orders/3", sales],
      ["one outside the row filter", "accounts/2", callers.regional],
      ["of an invisible resource", "vaultzq/1", auditor],
      ["of no resource", "nothing/1", admin],
      ["for who sees nothing", "orders/1", nobody],
      ["a composite key", "lines/2,none", admin],
      ["half of a composite key that exists elsewhere", "lines/1,plain", admin],
      ["a longer path", "orders/1/2", admin],
      ["no key", "orders/", admin],
      ["a number near 2^53", "orders/9007199254740995", admin]
    ])("answers the same 404 for %s", async (_, path, caller) => {
      expectProblem(
        await get(path, {}, caller),
        "not-found",
        `/api/v1/${path}`,
        {},
        "There is no such resource or record."
      )
    })

    it("tells neighbours beyond 2^53 apart", async () => {
      for (const id of ["9007199254740992", "9007199254740993", "9007199254740994"]) {
        expect((await get(`orders/${id}`)).json["id"]).toBe(id)
      }
    })

    it.each([
      "orders/x",
      "orders/1.0",
      "orders/1e3",
      "orders/%201",
      "orders/9223372036854775808",
      "orders/1,2",
      "orders/%ZZ",
      "orders/%FF",
      "meta/1",
      "meta/00000000-0000-4000-8000-00000000000",
      "lines/2",
      "lines/2,a,b",
      "lines/x,plain",
      "lines/,plain",
      "lines/2%2Cplain",
      "tags/%00",
      "tags/%ED%A0%80"
    ])("refuses %s as a key", async (path) => {
      const answer = await get(path)
      const errors = answer.json["errors"]
      expectProblem(
        answer,
        "invalid-key",
        `/api/v1/${path}`,
        errors === undefined ? {} : { errors: [{ message: answer.json["detail"] }] }
      )
    })

    // `.` and `..` are no path segments that a URL can carry; they are asked for below.
    it.each(oddTexts.filter((text) => text !== "." && text !== ".."))(
      "finds the key %j, alone and as a part",
      async (text) => {
        const encoded = encodeURIComponent(text)
        expect((await get(`tags/${encoded}`)).json["label"]).toBe(text)
        expect((await get(`lines/2,${encoded}`)).json["sku"]).toBe(text)
        // Every character encoded says the same.
        const every = [...Buffer.from(text)].map((byte) => `%${byte.toString(16).padStart(2, "0")}`).join("")
        expect((await get(`lines/%32,${every}`)).json["sku"]).toBe(text)
        expect((await get("tags/" + every.toUpperCase())).json["label"]).toBe(text)
      }
    )

    it("finds keys that a URL cannot carry, as a server sees them", async () => {
      const authorization = `Bearer ${tokenOf(admin)}`
      for (const segment of ["tags/..", "tags/.", "lines/2,.."]) {
        const reply = await Effect.runPromise(
          service().edge.handle({
            method: "GET",
            url: `http://service.test/api/v1/${segment}`,
            target: `/api/v1/${segment}`,
            headers: new Headers({ authorization }),
            hasBody: false,
            address: null,
            stream: () => (async function*() {})(),
            body: () => Effect.succeed(new Uint8Array())
          })
        )
        expect([segment, reply.status]).toEqual([segment, 200])
      }
    })

    it("takes a raw comma, colon and star in a single text key, and any case of a UUID", async () => {
      expect((await get("tags/a,b")).json["label"]).toBe("a,b")
      expect((await get("tags/a:b")).json["label"]).toBe("a:b")
      expect((await get("tags/x%3Aundelete")).json["label"]).toBe("x:undelete")
      // A verb of a record wins over a raw colon in a key.
      expect((await get("tags/x:undelete")).status).toBe(405)
      const id = "00000000-0000-4000-8000-000000000001"
      expect((await get(`meta/${id.toUpperCase()}`)).json["id"]).toBe(id)
    })

    it("works without seeing the key, without a tenant where there is none, and not without one where there is", async () => {
      expect(Object.keys((await get("orders/2", {}, blind)).json)).toEqual(["status", "qty", "etag", "permissions"])
      expect((await get("tags/plain", {}, homeless)).status).toBe(200)
      expectProblem(await get("orders/1", {}, homeless), "tenant-required", "/api/v1/orders/1")
    })

    it("serves a resource named meta beside the system endpoint", async () => {
      expect(pluck(await get("meta"), "note")).toEqual([null, "note 1", "note 2", "note 3", "note 4"])
      expect(pluck(await get("meta", { fields: "contents" }), "contents")).toEqual([
        null,
        { a: [1, null, "ü"] },
        [],
        "text",
        1.5
      ])
      const system = await service().get(admin, "/api/meta")
      expect(Object.keys(system.json)).toContain("models")
    })
  })
}
