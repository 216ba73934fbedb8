/** Scenarios of filters through relations: a relation is the target as the caller sees it, in every read that takes a filter. For any backend. */

import { describe, expect, it } from "vitest"
import { at, pluck, related } from "../../support/answer.ts"
import type { Query } from "../../support/answer.ts"
import type { Answer, TestCaller, TestService } from "../../support/composed.ts"
import { callers, foreign, homeless } from "../../support/shop.ts"

type Item = { readonly [name: string]: unknown }

export const relationScenarios = (service: () => TestService): void => {
  const { admin, auditor, blind, clerk, regional, sales, sampler } = callers
  const list = (resource: string, query: Query = {}, caller: TestCaller = admin): Promise<Answer> =>
    related(() => service().get(caller, at(resource, { page_size: 500, ...query })))
  const all = async (resource: string, caller: TestCaller = admin): Promise<readonly Item[]> => {
    const answer = await list(resource, {}, caller)
    expect(answer.status, answer.text).toBe(200)
    return answer.json["items"] as unknown as readonly Item[]
  }
  const ids = async (resource: string, filter: string, caller: TestCaller = admin, key = "id") =>
    pluck(await list(resource, { filter }, caller), key)

  describe("filters through relations", () => {
    it("find what the records themselves say", async () => {
      const customers = new Map((await all("customers")).map((each) => [each["id"], each]))
      const orders = await all("orders")
      const lines = await all("lines")
      const linesOf = (order: Item) => lines.filter((line) => line["order_id"] === order["id"])
      const country = (order: Item) => customers.get(order["customer_id"])?.["country"] ?? null
      const quantity = (line: Item) => line["quantity"] as number
      const expected: ReadonlyArray<readonly [filter: string, passes: (order: Item) => boolean]> = [
        ["customer.country = DE", (order) => country(order) === "DE"],
        ["customer.country != DE", (order) => country(order) !== "DE"],
        ["NOT customer.country = DE", (order) => country(order) !== "DE"],
        ["in(customer.country, DE, NO)", (order) => country(order) !== null],
        ["customer.country = null", (order) => country(order) === null],
        ["customer.country:*", (order) => country(order) !== null],
        ["has(customer)", (order) => customers.has(order["customer_id"])],
        ["customer.title : ann", (order) => /ann/i.test(customers.get(order["customer_id"])?.["name"] as string)],
        ["lines.quantity > 4", (order) => linesOf(order).some((line) => quantity(line) > 4)],
        ["NOT lines.quantity > 4", (order) => !linesOf(order).some((line) => quantity(line) > 4)],
        ["has(lines, 'quantity > 4 AND quantity < 6')", (order) => linesOf(order).some((line) => quantity(line) === 5)],
        ["count(lines) >= 3", (order) => linesOf(order).length >= 3],
        ["count(lines) = 0", (order) => linesOf(order).length === 0],
        ["count(lines, 'quantity > 1') < 2", (order) => linesOf(order).filter((each) => quantity(each) > 1).length < 2],
        ["status = draft OR customer.country = DE", (order) => order["status"] === "draft" || country(order) === "DE"],
        [
          "customer.orders.lines.quantity = 6",
          (order) =>
            customers.has(order["customer_id"]) &&
            orders.some((other) =>
              other["customer_id"] === order["customer_id"] && linesOf(other).some((line) => quantity(line) === 6)
            )
        ]
      ]
      for (const [filter, passes] of expected) {
        const wanted = orders.filter(passes).map(({ id }) => id)
        expect(await ids("orders", filter), filter).toEqual(wanted)
        expect(wanted.length, filter).toBeGreaterThan(0)
        expect(wanted.length, filter).toBeLessThan(orders.length)
      }
    })

    it("see of the target what the caller sees: tenant, deleted records, row filters", async () => {
      // A line of everybody's belongs to an order of the other tenant.
      expect(await ids("lines", "NOT has(order)", admin, "sku")).toEqual(["foreign"])
      expect(await ids("lines", "has(order)", foreign, "sku")).toEqual(["foreign"])
      // Customer 7 is deleted: for a condition it is not there.
      const seventh = (await all("orders")).filter((order) => order["customer_id"] === "7").map(({ id }) => id)
      expect(seventh.length).toBeGreaterThan(0)
      const missing = await ids("orders", "NOT has(customer) AND customer_id:*")
      for (const id of seventh) expect(missing).toContain(id)
      // Deleted orders are none of customer 1's.
      const own = (await all("orders")).filter((order) => order["customer_id"] === "1").length
      expect(await ids("customers", `id = 1 AND count(orders) = ${own}`)).toEqual(["1"])
      expect(await ids("customers", "has(account, 'id = 2')", regional)).toEqual([])
      expect((await ids("customers", "has(account, 'id = 2')")).length).toBeGreaterThan(0)
      expect(await ids("customers", "account.name : South", regional)).toEqual([])
    })

    it("give one text's rows to each role by what it sees, whoever asked before", async () => {
      const filter = "count(orders) >= 1"
      const seen = async (caller: TestCaller) =>
        new Set((await all("orders", caller)).map((order) => order["customer_id"]))
      const expected = new Map<TestCaller, readonly unknown[]>()
      for (const caller of [auditor, sales]) {
        const having = await seen(caller)
        expected.set(caller, pluck(await list("customers", {}, caller), "id").filter((id) => having.has(id)))
      }
      expect(expected.get(auditor)).not.toEqual(expected.get(sales))
      for (const caller of [sales, auditor, sales, auditor]) {
        const answer = await list("customers", { filter, count: "exact" }, caller)
        expect(pluck(answer, "id")).toEqual(expected.get(caller))
        expect(answer.json["total_size"]).toBe(expected.get(caller)!.length)
        const few = await list("customers", { filter, page_size: 1 }, caller)
        // Where counting takes too long, the list does not wait for it.
        if (few.json["total_size_accuracy"] === "exact") {
          expect(few.json["total_size_estimate"]).toBe(expected.get(caller)!.length)
        }
        const facets = await service().get(caller, at("customers:facets", { field: "id", filter }))
        expect(facets.status, facets.text).toBe(200)
        expect((facets.json["facets"] as unknown as readonly unknown[]).length).toBe(expected.get(caller)!.length)
      }
    })

    it("tell each role its own number of records of everybody", async () => {
      for (const caller of [auditor, sales, auditor, sales]) {
        const orders = new Set((await all("orders", caller)).map(({ id }) => id))
        const own = (await all("lines", caller)).filter((line) => orders.has(line["order_id"]))
        expect(own.length).toBeGreaterThan(1)
        const { json } = await list("lines", { filter: "has(order)", page_size: 1 }, caller)
        // Where counting takes too long, the list does not wait for it.
        if (json["total_size_accuracy"] === "exact") expect(json["total_size_estimate"]).toBe(own.length)
      }
    })

    it("work in every read that takes a filter", async () => {
      const filter = "customer.tier:* AND lines.quantity > 0"
      const wanted = await ids("orders", filter)
      expect(wanted.length).toBeGreaterThan(2)
      const search = await related(() =>
        service().call(admin, "POST", "/api/v1/orders:search", { body: { filter, page_size: 500 } })
      )
      expect(pluck(search, "id")).toEqual(wanted)
      const seek = await related(() => service().get(admin, at("orders:seek", { filter, position: 1, page_size: 2 })))
      expect(pluck(seek, "id")).toEqual(wanted.slice(1, 3))
      const sum = (values: unknown) =>
        (values as ReadonlyArray<{ readonly count: number }>).reduce((total, { count }) => total + count, 0)
      const facets = await service().get(admin, at("orders:facets", { field: "status", filter }))
      expect(sum(facets.json["facets"])).toBe(wanted.length)
      const histogram = await service().get(admin, at("orders:histogram", { field: "total", filter }))
      expect(sum(histogram.json["buckets"])).toBe(wanted.length)
      const series = await service().get(
        admin,
        at("orders:series", {
          field: "placed_at",
          granularity: "year",
          filter,
          from: "2025-01-01T00:00:00Z",
          to: "2028-01-01T00:00:00Z"
        })
      )
      expect(series.status, series.text).toBe(200)
      expect(sum(series.json["points"])).toBe(wanted.length)
      const grouped = await service().get(admin, at("orders:aggregate", { measures: "count", filter }))
      expect(grouped.json["groups"]?.[0], grouped.text).toMatchObject({ measures: { count: wanted.length } })
      const shaped = "orders(filter: \"lines.quantity > 0\", fields: \"id\")"
      const customers = await list("customers", { expand: shaped, fields: "id" })
      expect(customers.status, customers.text).toBe(200)
      const filled = new Set(await ids("orders", "has(customer) AND lines.quantity > 0"))
      const expanded = (customers.json["items"] as unknown as readonly Item[]).flatMap(({ expand }) =>
        (expand as { readonly orders: ReadonlyArray<{ readonly id: string }> }).orders.map(({ id }) => id)
      )
      expect(new Set(expanded)).toEqual(filled)
      const exported = await related(() => service().get(admin, at("orders:export", { filter, format: "ndjson" })))
      expect(exported.text.trim().split("\n").map((line) => (JSON.parse(line) as Item)["id"])).toEqual(wanted)
    })

    it("group by fields of one related record, and a record without one has none", async () => {
      const groupsOf = async (group_by: string, caller: TestCaller = admin, more: Query = {}) => {
        const answer = await service().get(caller, at("orders:aggregate", { group_by, limit: 1000, ...more }))
        expect(answer.status, answer.text).toBe(200)
        return (answer.json["groups"] as unknown as readonly Item[]).map(({ group, measures }) => [
          ...Object.values(group as Item),
          (measures as Item)["count"]
        ])
      }
      for (const caller of [admin, auditor, sales]) {
        const customers = new Map((await all("customers", caller)).map((each) => [each["id"], each]))
        const orders = await all("orders", caller)
        const expected = (keyOf: (order: Item) => unknown) =>
          [...Map.groupBy(orders, keyOf)].map(([key, of]) => JSON.stringify([key, of.length])).toSorted()
        const seen = async (path: string) => (await groupsOf(path, caller)).map((row) => JSON.stringify(row)).toSorted()
        const country = (order: Item) => customers.get(order["customer_id"])?.["country"] ?? null
        expect(await seen("customer.country")).toEqual(expected(country))
        const { json } = await service().get(caller, at("orders:facets", { field: "customer.country", limit: 500 }))
        expect(json["field"]).toBe("customer.country")
        const facets = json["facets"] as unknown as readonly Item[]
        expect(facets.map(({ count, value }) => JSON.stringify([value, count])).toSorted()).toEqual(expected(country))
      }
      // Accounts outside of the caller's rows are none for them.
      const accounts = new Map((await all("accounts", regional)).map((each) => [each["id"], each["name"]]))
      const named = await service().get(regional, at("customers:aggregate", { group_by: "account.name" }))
      const customers = await all("customers", regional)
      expect(
        (named.json["groups"] as unknown as readonly Item[]).map((each) => JSON.stringify(each)).toSorted(),
        named.text
      ).toEqual(
        [...Map.groupBy(customers, (customer) => accounts.get(customer["account_id"]) ?? null)].map(([name, of]) =>
          JSON.stringify({ group: { "account.name": name }, measures: { count: of.length } })
        ).toSorted()
      )
      const one = await groupsOf("customer.country,status", admin, {
        order_by: "count desc, customer.country",
        limit: 1,
        having: "count >= 1"
      })
      expect(one).toHaveLength(1)
      // Two relations, and the bucket of a related time: each line is counted once.
      const lines = await all("lines")
      const deep = await service().get(
        admin,
        at("lines:aggregate", { group_by: "order.customer.country, year(order.placed_at)", limit: 1000 })
      )
      const counts = (deep.json["groups"] as unknown as readonly Item[]).map(({ measures }) =>
        (measures as Item)["count"]
      )
      expect(counts.length, deep.text).toBeGreaterThan(2)
      expect(counts.reduce((total: number, count) => total + Number(count), 0)).toBe(lines.length)
    })

    it("refuse a group behind what is hidden like one that never was, and one of several records", async () => {
      const refused = async (caller: TestCaller, resource: string, field: string) => {
        const answers = await Promise.all([
          service().get(caller, at(`${resource}:aggregate`, { group_by: field })),
          service().get(caller, at(`${resource}:facets`, { field }))
        ])
        return answers.map(({ status, text }) => `${status} ${text.replaceAll(field, "…")}`)
      }
      const unknown = await refused(admin, "orders", "customer.nope")
      expect(unknown[0]).toMatch(/^400 .*There is no field/)
      expect(await refused(admin, "orders", "nope.country")).toEqual(unknown)
      expect(await refused(blind, "orders", "customer.country")).toEqual(await refused(blind, "orders", "nope.country"))
      expect((await refused(admin, "orders", "lines.quantity"))[0]).toContain("leads to several records")
      expect((await refused(admin, "orders", "a.b.c.d.e"))[0]).toContain("at most 3 relations")
      for (const path of ["customer.", ".country", "customer..country"]) {
        expect(await refused(admin, "orders", path)).toEqual(unknown)
      }
    })

    it("page by tokens that belong to the filter", async () => {
      const filter = "has(customer) AND lines.quantity >= 0"
      const wanted = await ids("orders", filter)
      const found: unknown[] = []
      let token = ""
      do {
        const answer = await list("orders", { filter, page_size: 3, ...(token === "" ? {} : { page_token: token }) })
        found.push(...pluck(answer, "id"))
        token = answer.json["next_page_token"] as unknown as string
        if (token !== "") {
          const other = await list("orders", { filter: "has(customer)", page_size: 3, page_token: token })
          expect(other.status).toBe(400)
        }
      } while (token !== "")
      expect(found).toEqual(wanted)
      const record = await service().get(admin, at(`orders/${String(wanted[0])}`))
      const [listed] = (await list("orders", { filter, page_size: 1 })).json["items"] as unknown as readonly Item[]
      expect(listed!["etag"]).toBe(record.headers.get("etag"))
    })

    it.each<readonly [resource: string, hidden: string, unknown: string, caller: TestCaller]>([
      ["orders", "zq_safe.id = 1", "zk_safe.id = 1", sales],
      ["orders", "has(zq_safe)", "has(zk_safe)", sales],
      ["orders", "count(zq_safe) > 0", "count(zk_safe) > 0", sales],
      ["orders", "zq_safe.amount : x", "zk_safe.amount : x", auditor],
      ["orders", "zq_safe.orders.id = 1", "zk_safe.orders.id = 1", auditor],
      ["orders", "customer.zq_email = a", "customer.zk_email = a", clerk],
      ["orders", "customer.zq_mail_alias = a", "customer.zk_mail_alias = a", auditor],
      ["orders", "customer.crewdit > 1", "customer.crevdit > 1", clerk],
      ["orders", "in(customer.zq_email, a)", "in(customer.zk_email, a)", sales],
      ["orders", "isNull(customer.zq_email)", "isNull(customer.zk_email)", sales],
      ["orders", "regex(customer.zq_email, '^a')", "regex(customer.zk_email, '^a')", sales],
      ["orders", "has(customer, 'zq_email : a')", "has(customer, 'zk_email : a')", sales],
      [
        "orders",
        "has(customer, \"name = \\\"a\\\" OR zq_email : a\")",
        "has(customer, \"name = \\\"a\\\" OR zk_email : a\")",
        sales
      ],
      ["orders", "customer.zq_tenant = 2", "customer.zk_tenant = 2", sales],
      ["orders", "count(lines, 'zq_cost > 1') > 1", "count(lines, 'zk_cost > 1') > 1", auditor],
      ["customers", "account.name = a", "accoumt.name = a", sales],
      ["customers", "orders.id = 1", "olders.id = 1", regional],
      ["tags", "feedback.id = 1", "feedbaxk.id = 1", sales],
      ["lines", "order.id = 1", "olxer.id = 1", homeless],
      ["orders", "customer.name = a", "cuxtomer.name = a", blind],
      ["lines", "order.id = 1", "olxer.id = 1", sampler],
      ["lines", "order.zq_safe.id = 1", "order.zk_safe.id = 1", sales],
      ["lines", "order.customer.zq_email = a", "order.customer.zk_email = a", sales],
      ["lines", "order.customer.account.id = 1", "order.customer.axxount.id = 1", sales],
      ["lines", "has(order.customer.account)", "has(order.customer.axxount)", sales],
      ["lines", "has(order, \"has(customer, 'zq_email : a')\")", "has(order, \"has(customer, 'zk_email : a')\")", sales]
    ])(
      "answer byte for byte alike what is hidden and what never was: %s %s",
      async (resource, hidden, unknown, caller) => {
        const marks = hidden.split(/[^A-Za-z_]+/).filter((word, i) => word !== unknown.split(/[^A-Za-z_]+/)[i])
        const twins = unknown.split(/[^A-Za-z_]+/).filter((word, i) => word !== hidden.split(/[^A-Za-z_]+/)[i])
        expect(marks.length).toBe(1)
        for (const [path, query] of [["", {}], [":facets", { field: pathField(resource) }], [":export", {}]] as const) {
          const [one, other] = [
            await service().get(caller, at(`${resource}${path}`, { filter: hidden, ...query })),
            await service().get(caller, at(`${resource}${path}`, { filter: unknown, ...query }))
          ]
          expect(one.status, one.text).toBe(400)
          expect(one.text.replaceAll(marks[0]!, twins[0]!)).toBe(other.text)
          // Hints name nothing hidden.
          expect(one.text.replaceAll(marks[0]!, "")).not.toMatch(/zq_/)
        }
      }
    )

    it("tell nothing of another tenant's children", async () => {
      // Lines belong to everybody, their orders do not: order 300 is foreign, and so is its line to each condition that goes through it.
      expect(await ids("lines", "order.status = draft OR order.status != draft", admin, "sku")).toContain("foreign")
      expect(await ids("lines", "order.status = draft", admin, "sku")).not.toContain("foreign")
      expect(await ids("lines", "order.customer.orders.number : \"X-\"", admin, "sku")).toEqual([])
      for (const filter of ["count(orders) > 0", "orders.number : X", "orders.lines.quantity = 1"]) {
        const before = await ids("customers", filter, foreign)
        for (const id of before) expect((await all("customers", foreign)).map((each) => each["id"])).toContain(id)
      }
      expect(await ids("customers", "orders.number : \"X-\"")).toEqual([])
    })

    it("are saved, and left out for who cannot follow them", async () => {
      const filter = "account.name : North"
      const made = await service().call(regional, "POST", "/api/saved-views", {
        body: { resource: "customers", name: "northern", filter, shared_with: ["regional"] }
      })
      expect(made.status, made.text).toBe(201)
      expect(made.json["filter"]).toBe(filter)
      const both: TestCaller = { id: "u-both", roles: ["regional", "sales"], tenant: "1" }
      const shown = await service().get(both, "/api/saved-views?resource=customers")
      expect((shown.json["items"] as unknown as readonly Item[]).find((each) => each["name"] === "northern"))
        .toMatchObject({ filter, incomplete: false })
      const refused = await service().call(sales, "POST", "/api/saved-views", {
        body: { resource: "customers", name: "northern", filter }
      })
      expect(refused.status).toBe(400)
    })

    it("are columns of saved views, and are left out for who cannot follow them", async () => {
      const save = (caller: TestCaller, columns: readonly string[], resource = "customers") =>
        service().call(caller, "POST", "/api/saved-views", {
          body: { resource, name: "far", columns, shared_with: ["sales"] }
        })
      const made = await save({ id: "u-chief", roles: ["admin", "regional", "sales"], tenant: "1" }, [
        "id",
        "account.name"
      ])
      expect(made.status, made.text).toBe(201)
      expect(made.json["columns"]).toEqual(["id", "account.name"])
      const shown = await service().get(sales, "/api/saved-views?resource=customers")
      expect((shown.json["items"] as unknown as readonly Item[]).find((each) => each["name"] === "far"))
        .toMatchObject({ columns: ["id"], incomplete: true })
      // A hidden relation, a hidden field and one that never was are refused alike. A way to several records is no column.
      const far = ["orders.number", "nothing.name", "account.name", "id.id", "", "."].map((name) =>
        ["customers", name] as const
      )
      for (
        const [resource, name] of [...far, ["orders", "customer.zq_email"], ["orders", "customer.nothing"]] as const
      ) {
        const refused = await save(sales, ["id", name], resource)
        expect([refused.status, refused.json["errors"]]).toEqual([
          400,
          [{ field: "columns", code: "invalid", message: `There is no field ${JSON.stringify(name)}.` }]
        ])
      }
      expect((await save(sales, ["customer.orders.customer.orders.customer.id"], "orders")).status).toBe(400)
      expect((await save(sales, ["customer.id"], "orders")).status).toBe(201)
    })
  })
}

const pathField = (resource: string): string => resource === "tags" ? "label" : resource === "lines" ? "sku" : "id"
