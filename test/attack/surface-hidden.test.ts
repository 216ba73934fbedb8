/** Ways around the walls between callers: other tenants, other roles of the same user, hidden fields, and what counts and tags could tell of them. */

import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { startService } from "../support/composed.ts"
import type { Answer, TestCaller, TestService } from "../support/composed.ts"
import { boss, clerk, foreigner, own, surface } from "./surface-stage.ts"

const base = "/api/v1"

describe.each(["fake", "postgres"] as const)("walls, %s", (backend) => {
  let service: TestService
  beforeAll(async () => {
    service = await startService(backend, surface())
  })
  afterAll(async () => {
    await service.close()
    expect(service.unhandled).toEqual([])
  })

  const create = (caller: TestCaller, resource: string, body: unknown, headers = {}): Promise<Answer> =>
    service.call(caller, "POST", `${base}/${resource}`, { body, headers })
  const patch = (caller: TestCaller, path: string, body: unknown, match = "*"): Promise<Answer> =>
    service.call(caller, "PATCH", `${base}/${path}`, { body, headers: { "if-match": match } })
  const batch = (caller: TestCaller, ops: readonly unknown[]): Promise<Answer> =>
    service.call(caller, "POST", `${base}:batchWrite`, { body: { ops } })

  /** A refusal without what names the request. */
  const refusal = ({ json, status }: Answer): unknown => {
    const { instance: _, ...rest } = json as unknown as { readonly [member: string]: unknown }
    return { status, rest }
  }

  describe("a relation to a row of another tenant", () => {
    const item = { name: "made", owner_id: "clerk-1" }

    it("is refused in a create exactly like one to no row", async () => {
      const foreign = await create(clerk, "items", { ...item, folder_id: "2" })
      const missing = await create(clerk, "items", { ...item, folder_id: "777" })
      expect(foreign.status).toBe(400)
      expect(refusal(foreign)).toEqual(refusal(missing))
      expect((await create(clerk, "items", { ...item, folder_id: "1" })).status).toBe(201)
    })

    it("is refused in a PATCH, and changes nothing", async () => {
      const foreign = await patch(clerk, "items/2", { folder_id: "2" })
      expect(refusal(foreign)).toEqual(refusal(await patch(clerk, "items/2", { folder_id: "777" })))
      expect(foreign.status).toBe(400)
      expect((await service.get(clerk, `${base}/items/2`)).json["folder_id"]).toBe("1")
    })

    it("is refused in a batch, whose other creates go with it", async () => {
      const names = ["first", "second", "third"]
      const ops = names.map((name, i) => ({
        op: "create",
        resource: "items",
        data: { ...item, name, folder_id: i === 1 ? "2" : "1" }
      }))
      const answer = await batch(clerk, ops)
      expect(answer.status).toBe(400)
      expect(answer.json["operation"]).toBe(1)
      const left = await service.get(
        clerk,
        `${base}/items?filter=${encodeURIComponent("in(name, first, second, third)")}`
      )
      expect(left.json["items"]).toEqual([])
    })

    it("is refused where it is a row of the same resource", async () => {
      expect((await create(clerk, "items", { ...item, parent_id: "3" })).status).toBe(400)
      expect((await create(clerk, "items", { ...item, parent_id: "1" })).status).toBe(201)
    })

    it("does not keep the other tenant from removing its row", async () => {
      const theirs = await create(foreigner, "folders", { name: "to go" })
      expect(theirs.status).toBe(201)
      const id = theirs.json["id"] as unknown as string
      expect((await create(clerk, "items", { ...item, folder_id: id })).status).toBe(400)
      expect((await service.call(foreigner, "DELETE", `${base}/folders/${id}`)).status).toBe(204)
    })

    it("leaves rows that are written together free to point at each other", async () => {
      const answer = await batch(clerk, [
        { op: "create", resource: "folders", data: { name: "new" }, ref: "f" },
        { op: "create", resource: "items", data: { ...item, name: "parent", folder_id: { $ref: "f" } }, ref: "p" },
        {
          op: "create",
          resource: "items",
          data: { ...item, name: "child", folder_id: { $ref: "f" }, parent_id: { $ref: "p" } }
        },
        { op: "create", resource: "items", data: { ...item, id: "501", name: "self", parent_id: "501" } },
        { op: "create", resource: "items", data: { ...item, id: "502", name: "in a row", parent_id: "501" } },
        { op: "create", resource: "items", data: { ...item, id: "503", name: "in a row", parent_id: "502" } }
      ])
      expect(answer.status, answer.text).toBe(200)
      expect((await patch(clerk, "items/501", { parent_id: "503" })).status).toBe(200)
      expect((await patch(clerk, "items/501", { parent_id: null })).status).toBe(200)
    })
  })

  describe("counts", () => {
    it("of one user do not pass from a wider role to a narrower one", async () => {
      const wide: TestCaller = { id: "own-1", roles: ["clerk"], tenant: "t1" }
      const narrow: TestCaller = { ...wide, roles: ["own"] }
      for (let i = 0; i < 3; i++) {
        await create(clerk, "items", { name: "counted", owner_id: i === 0 ? "clerk-1" : "own-1" })
      }
      const query = `${base}/items?page_size=1&filter=${encodeURIComponent("name = counted")}`
      expect((await service.get(wide, query)).json["total_size_estimate"]).toBe(3)
      expect((await service.get(narrow, query)).json["total_size_estimate"]).toBe(2)
    })

    it("do not pass between callers whose tenant and id read alike together", async () => {
      const one: TestCaller = { id: "c", roles: ["boss"], tenant: "a/b" }
      const other: TestCaller = { id: "b/c", roles: ["boss"], tenant: "a" }
      for (let i = 0; i < 3; i++) await create(one, "folders", { name: "alike" })
      for (let i = 0; i < 2; i++) await create(other, "folders", { name: "alike" })
      const query = `${base}/folders?page_size=1&filter=${encodeURIComponent("name = alike")}`
      expect((await service.get(one, query)).json["total_size_estimate"]).toBe(3)
      expect((await service.get(other, query)).json["total_size_estimate"]).toBe(2)
    })
  })

  describe("tags", () => {
    it("do not move for a caller who cannot read what changed", async () => {
      const before = (await service.get(clerk, `${base}/items/4`)).headers.get("etag")!
      const seen = (await service.get(boss, `${base}/items/4`)).headers.get("etag")
      expect((await patch(boss, "items/4", { secret: "changed", cost: "8.00" })).status).toBe(200)
      expect((await service.get(clerk, `${base}/items/4`)).headers.get("etag")).toBe(before)
      expect((await service.get(boss, `${base}/items/4`)).headers.get("etag")).not.toBe(seen)
      expect((await patch(clerk, "items/4", {}, before)).status).toBe(200)
    })

    it("are the same in list, get, with few fields, in a search, after a write and in a batch", async () => {
      const made = await create(clerk, "items", { name: "tagged", owner_id: "clerk-1" })
      const etag = made.headers.get("etag")!
      const id = made.json["id"] as unknown as string
      const filter = `id = ${id}`
      const all = [
        (await service.get(clerk, `${base}/items/${id}`)).json["etag"],
        (await service.get(clerk, `${base}/items/${id}?fields=name`)).json["etag"],
        (await service.get(clerk, `${base}/items?filter=${encodeURIComponent(filter)}`)).json["items"]![0]!["etag"],
        (await service.call(clerk, "POST", `${base}/items:search`, { body: { filter, fields: ["id"] } }))
          .json["items"]![0]!["etag"],
        (await patch(clerk, `items/${id}`, {})).json["etag"],
        (await batch(clerk, [{ op: "update", resource: "items", key: id, etag, data: {} }]))
          .json["results"]![0]!["etag"]
      ]
      expect(all).toEqual(all.map(() => etag))
    })

    it("of a stale version name only readable fields as changed", async () => {
      const made = await create(clerk, "items", { name: "stale", owner_id: "clerk-1" })
      const path = made.headers.get("location")!.slice(base.length + 1)
      expect((await patch(boss, path, { secret: "x", name: "fresh" })).status).toBe(200)
      const answer = await patch(clerk, path, { name: "mine" }, made.headers.get("etag")!)
      expect(answer.status).toBe(412)
      expect(answer.json["changed"]).toEqual(["name"])
    })
  })

  describe("bodies", () => {
    it.each(["secret", "cost"])("refuse the hidden field %s byte for byte like an unknown one", async (hidden) => {
      const unknown = "n".repeat(hidden.length)
      const same = async (of: (field: string) => Promise<Answer>): Promise<void> => {
        const [a, b] = [await of(hidden), await of(unknown)]
        expect(a.status).toBe(400)
        expect(a.text.replaceAll(hidden, unknown)).toBe(b.text)
      }
      for (const value of ["1.00", null, 5, { $ref: "r" }, []]) {
        await same((field) => create(clerk, "items", { name: "x", owner_id: "clerk-1", [field]: value }))
        await same((field) => patch(clerk, "items/2", { [field]: value }))
        await same((field) =>
          batch(clerk, [{ op: "update", resource: "items", key: "2", etag: "*", data: { [field]: value } }])
        )
      }
      await same((field) => batch(clerk, [{ op: "reorder", resource: "items", field, keys: ["2"] }]))
      await same((field) =>
        batch(clerk, [
          { op: "create", resource: "items", data: { name: "x", owner_id: "clerk-1" }, ref: "r" },
          { op: "create", resource: "items", data: { name: { $ref: "r", field }, owner_id: "clerk-1" } }
        ])
      )
    })

    it("reach no row outside of the caller's, whatever names it", async () => {
      const gone = await batch(own, [{
        op: "reorder",
        resource: "items",
        field: "position",
        keys: ["1", "2"],
        etags: { 1: "*", 2: "*" }
      }])
      const none = await batch(own, [{
        op: "reorder",
        resource: "items",
        field: "position",
        keys: ["1", "9"],
        etags: { 1: "*", 9: "*" }
      }])
      expect(gone.status).toBe(404)
      // Each names the key that it was sent, and nothing else is different.
      expect(gone.text).toBe(none.text.replace("\"key\":\"9\"", "\"key\":\"2\""))
      for (const key of ["2", "3", "9"]) {
        expect((await patch(own, `items/${key}`, { name: "x" })).status, key).toBe(404)
        expect(
          (await service.call(own, "DELETE", `${base}/items/${key}`, { headers: { "if-match": "\"guess\"" } })).status
        ).toBe(404)
        expect((await service.call(own, "POST", `${base}/items/${key}:undelete`)).status, key).toBe(404)
      }
    })

    it("take keys that are names of what every object has", async () => {
      for (const a of ["toString", "valueOf", "hasOwnProperty", "constructor", "__proto__"]) {
        const made = await create(boss, "extremes", { a, b: "1" })
        expect(made.status, a).toBe(201)
        expect((await service.get(boss, `${base}/extremes/${a},1`)).json["a"]).toBe(a)
        const list = await service.get(boss, `${base}/extremes?filter=${encodeURIComponent(`a = "${a}"`)}`)
        expect(list.json["items"]![0]!["a"]).toBe(a)
      }
    })
  })
})
