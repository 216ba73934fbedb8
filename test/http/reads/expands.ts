/** Scenarios of `expand`: related records under their own access, one statement per relation. For any backend. */

import { describe, expect, it } from "vitest"
import { at, expectParameter, pluck } from "../../support/answer.ts"
import type { Query } from "../../support/answer.ts"
import type { Answer, TestCaller, TestService } from "../../support/composed.ts"
import { callers, foreign, homeless } from "../../support/shop.ts"

type Item = { readonly [name: string]: unknown } & { readonly expand: { readonly [relation: string]: unknown } }

export const expandScenarios = (service: () => TestService): void => {
  const { admin, auditor, blind, clerk, regional, sales, sampler } = callers
  const list = (resource: string, query: Query = {}, caller: TestCaller = admin): Promise<Answer> =>
    service().get(caller, at(resource, query))
  const items = (answer: Answer): readonly Item[] => {
    expect(answer.status, answer.text).toBe(200)
    return answer.json["items"] as unknown as readonly Item[]
  }
  /** All records of a resource as the caller gets them, without permissions. */
  const records = async (
    resource: string,
    caller: TestCaller = admin
  ): Promise<ReadonlyArray<{ readonly [name: string]: unknown }>> =>
    items(await list(resource, { page_size: 500 }, caller)).map((item) =>
      Object.fromEntries(Object.entries(item).filter(([name]) => name !== "permissions"))
    )

  describe("expand", () => {
    it("puts the record pointed at beside each, null where there is none or none to be seen", async () => {
      const targets = await records("customers")
      const answer = items(await list("orders", { expand: "customer", page_size: 500 }))
      for (const { customer_id, expand } of answer) {
        expect(expand).toEqual({ customer: targets.find(({ id }) => id === customer_id) ?? null })
      }
      // Pointing nowhere, at a live one, at a deleted one, at another tenant's.
      expect(answer.filter(({ customer_id }) => customer_id === null).length).toBeGreaterThan(0)
      expect(answer.filter(({ expand }) => expand["customer"] !== null).length).toBeGreaterThan(0)
      for (const id of ["7", "6"]) {
        expect(answer.find(({ customer_id }) => customer_id === id)?.expand["customer"]).toBeNull()
      }
    })

    it("puts the list of records that point back, in order of their keys", async () => {
      const all = await records("lines")
      for (const { expand, id } of items(await list("orders", { expand: "lines", page_size: 500 }))) {
        expect(expand["lines"]).toEqual(all.filter(({ order_id }) => order_id === id))
      }
      const foreignOrders = items(await list("orders", { expand: "lines" }, foreign))
      expect(foreignOrders.map(({ expand }) => (expand["lines"] as readonly unknown[]).length)).toEqual([1, 0, 0])
      // An order of the other tenant is not there for a line of everybody's.
      const line = items(await list("lines", { expand: "order", filter: "sku = foreign" }))[0]!
      expect(line.expand).toEqual({ order: null })
    })

    it("follows two levels, and several relations at once", async () => {
      const [customers, lines, accounts] = [
        await records("customers"),
        await records("lines"),
        await records("accounts")
      ]
      const answer = items(await list("orders", { expand: "lines, customer.account,customer", page_size: 500 }))
      for (const { customer_id, expand, id } of answer) {
        const customer = customers.find((each) => each["id"] === customer_id)
        expect(expand).toEqual({
          lines: lines.filter(({ order_id }) => order_id === id),
          customer: customer === undefined
            ? null
            : {
              ...customer,
              expand: { account: accounts.find((each) => each["id"] === customer["account_id"]) ?? null }
            }
        })
      }
    })

    it("works on get, :search and :seek, and with any fields", async () => {
      const [whole] = items(await list("orders", { filter: "id = 2", expand: "customer,lines" }))
      const got = (await service().get(admin, at("orders/2", { expand: "customer,lines" }))).json as unknown as Item
      expect(got.expand).toEqual(whole!.expand)
      const part = items(
        await list("orders:seek", { position: 1, page_size: 1, fields: "number", expand: "customer,lines" })
      )[0]!
      expect(Object.keys(part)).toEqual(["number", "etag", "permissions", "expand"])
      expect(part.expand).toEqual(whole!.expand)
      const searched = await service().call(admin, "POST", at("orders:search"), {
        body: { filter: "id = 2", expand: ["customer", "lines"] }
      })
      expect(items(searched)[0]!.expand).toEqual(whole!.expand)
    })

    it("does not change the ETag, which then is no tag of the answer", async () => {
      const plain = await service().get(admin, at("orders/2"))
      const expanded = await service().get(admin, at("orders/2", { expand: "lines" }))
      expect(expanded.headers.get("etag")).toBe(plain.headers.get("etag"))
      const again = await service().get(admin, at("orders/2", { expand: "lines" }), {
        "if-none-match": plain.headers.get("etag")!
      })
      // The lines may have changed though the order did not.
      expect([again.status, again.text, again.headers.get("cache-control")]).toEqual([200, expanded.text, "no-store"])
    })

    it("shows of the target what the caller may read of it", async () => {
      const customer = (answer: Answer) =>
        items(answer).find(({ expand }) => expand["customer"] !== null)!.expand["customer"] as object
      expect(Object.keys(customer(await list("orders", { expand: "customer", page_size: 500 })))).toContain("zq_email")
      expect(Object.keys(customer(await list("orders", { expand: "customer", page_size: 500 }, auditor)))).not
        .toContain("zq_email")
      expect(Object.keys(customer(await list("orders", { expand: "customer", page_size: 500 }, clerk)))).toEqual([
        "id",
        "name",
        "etag"
      ])
      // Own orders only, also on the way back.
      const own = new Set(pluck(await list("orders", { page_size: 500 }, sales), "id"))
      const back = items(await list("customers", { expand: "orders", page_size: 500 }, sales))
      const found = back.flatMap(({ expand }) =>
        (expand["orders"] as ReadonlyArray<{ readonly id: string }>).map(({ id }) => id)
      )
      expect(found.length).toBeGreaterThan(0)
      for (const id of found) expect(own.has(id)).toBe(true)
      // Rows outside the target's row filter: null one way, left out the other.
      for (const { account_id, expand } of items(await list("customers", { expand: "account" }, regional))) {
        expect(expand["account"] === null).toBe(account_id === null || account_id === 2 || account_id === 4)
      }
    })

    it.each<readonly [what: string, resource: string, path: string, caller: TestCaller]>([
      ["whose target is invisible", "orders", "zq_safe", sales],
      ["whose target is invisible", "customers", "account", sales],
      ["whose target cannot be read", "customers", "orders", regional],
      ["whose target may only be created", "tags", "feedback", sales],
      ["whose target needs a tenant", "lines", "order", homeless],
      ["whose target's field is hidden", "orders", "lines", sampler],
      ["whose own field is hidden", "orders", "customer", blind],
      ["whose own field is hidden, though its target is not", "lines", "order", sampler],
      ["that there is not", "orders", "nope", admin],
      ["that is a field", "orders", "customer_id", admin],
      ["that is a resource", "orders", "customers", admin],
      ["of every object", "orders", "constructor", admin]
    ])("knows no relation %s: %s %s", async (_, resource, path, caller) => {
      const message = (name: string) => `There is no relation "${name}".`
      const answer = await list(resource, { expand: path }, caller)
      expectParameter(answer, `/api/v1/${resource}`, "expand", message(path))
      const unknown = await list(resource, { expand: "zkzk_zkz" }, caller)
      expect(answer.text.replaceAll(path, "zkzk_zkz")).toBe(unknown.text)
    })

    it("refuses hidden steps below the first, five levels, too many relations and empty names", async () => {
      expectParameter(
        await list("lines", { expand: "order.zq_safe" }, sales),
        "/api/v1/lines",
        "expand",
        "There is no relation \"order.zq_safe\"."
      )
      expectParameter(
        await list("lines", { expand: "order.zk_safe" }, sales),
        "/api/v1/lines",
        "expand",
        "There is no relation \"order.zk_safe\"."
      )
      expectParameter(
        await list("lines", { expand: "order.customer.account.customers.orders" }),
        "/api/v1/lines",
        "expand",
        "A relation can be followed 4 levels deep."
      )
      expectParameter(await list("orders", { expand: "customer,,lines" }), "/api/v1/orders", "expand")
      expectParameter(await list("orders", { expand: "customer." }), "/api/v1/orders", "expand")
      const many = Array.from({ length: 11 }, (_, i) => `r${i}`).join(",")
      const tooMany = "At most 10 relations can be expanded."
      expectParameter(await list("orders", { expand: many }), "/api/v1/orders", "expand", tooMany)
      expect((await list("lines", { expand: "nope" })).json.errors?.[0]?.hint).toMatch(/^The relations here: .*order/)
      expectParameter(await service().get(admin, at("orders/2", { expand: "nope" })), "/api/v1/orders/2", "expand")
    })

    it("asks once per relation, however many records", async () => {
      const { fake } = service()
      if (fake === null) return
      const pages = async (query: Query): Promise<number> => {
        const before = fake.calls.length
        items(await list("orders", { page_size: 500, ...query }))
        return fake.calls.slice(before).filter((name) => name === "page").length
      }
      expect(await pages({})).toBe(1)
      expect(await pages({ expand: "customer" })).toBe(2)
      expect(await pages({ expand: "lines,customer" })).toBe(3)
      expect(await pages({ expand: "lines,customer.account,customer" })).toBe(4)
      // Nothing to follow, nothing to ask.
      expect(await pages({ expand: "customer", filter: "isNull(customer_id)" })).toBe(1)
      expect(await pages({ expand: "lines", filter: "number = \"none\"" })).toBe(1)
    })
  })
}
