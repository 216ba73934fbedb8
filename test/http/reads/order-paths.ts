/** Scenarios of orders through relations: every record once in both directions, and a target is what the caller sees. For any backend. */

import { describe, expect, it } from "vitest"
import { at, expectParameter, pluck, related } from "../../support/answer.ts"
import type { Query } from "../../support/answer.ts"
import type { Answer, TestCaller, TestService } from "../../support/composed.ts"
import { callers, foreign, homeless } from "../../support/shop.ts"

type Item = { readonly [name: string]: unknown }
type Value = string | number | null
type Cells = readonly Value[]

/** By code points, numbers by size; null last. */
const compare = (a: Value, b: Value): number => {
  if (a === b) return 0
  if (a === null) return 1
  if (b === null) return -1
  return a < b ? -1 : 1
}

export const orderPathScenarios = (service: () => TestService): void => {
  const { admin, auditor, blind, clerk, regional, sales, sampler } = callers
  const list = (resource: string, query: Query = {}, caller: TestCaller = admin): Promise<Answer> =>
    related(() => service().get(caller, at(resource, query)))
  const all = async (resource: string, caller: TestCaller = admin): Promise<readonly Item[]> => {
    const answer = await list(resource, { page_size: 500 }, caller)
    expect(answer.status, answer.text).toBe(200)
    return answer.json["items"] as unknown as readonly Item[]
  }
  const tokenOf = (answer: Answer, name: "next_page_token" | "prev_page_token"): string =>
    (answer.json[name] as unknown as string | undefined) ?? ""

  /** All keys of a list, page by page. */
  const walk = async (resource: string, query: Query, key: string, caller: TestCaller): Promise<readonly unknown[]> => {
    const found: unknown[] = []
    let token = ""
    do {
      const page = await list(resource, { ...query, ...token === "" ? {} : { page_token: token } }, caller)
      found.push(...pluck(page, key))
      token = tokenOf(page, "next_page_token")
    } while (token !== "" && found.length < 1_000)
    return found
  }

  /** The same from the end: a jump past it, and pages before. */
  const walkBack = async (
    resource: string,
    query: Query,
    key: string,
    caller: TestCaller
  ): Promise<readonly unknown[]> => {
    let page = await related(() => service().get(caller, at(`${resource}:seek`, { ...query, position: 100_000 })))
    const found = [...pluck(page, key)]
    for (;;) {
      const token = tokenOf(page, "prev_page_token")
      if (token === "" || found.length > 1_000) return found
      page = await list(resource, { ...query, page_token: token }, caller)
      found.unshift(...pluck(page, key))
    }
  }

  const customersOf = async (caller: TestCaller): Promise<ReadonlyMap<unknown, Item>> =>
    new Map((await all("customers", caller)).map((each) => [each["id"], each]))

  /** The ids of orders, sorted here. */
  const sorted = async (
    caller: TestCaller,
    keys: (order: Item, customer: Item | undefined) => Cells,
    descending: readonly boolean[]
  ): Promise<readonly unknown[]> => {
    const customers = await customersOf(caller)
    return (await all("orders", caller))
      .map((order) => ({ id: order["id"], cells: keys(order, customers.get(order["customer_id"])) }))
      .sort((a, b) => {
        for (const [i, down] of descending.entries()) {
          const order = compare(a.cells[i]!, b.cells[i]!)
          if (order !== 0) return down ? -order : order
        }
        return 0
      })
      .map(({ id }) => id)
  }
  const value = (item: Item | undefined, name: string): Value => (item?.[name] as Value | undefined) ?? null
  const id = (order: Item): number => Number(order["id"])

  describe("orders through relations", () => {
    const orders: ReadonlyArray<readonly [text: string, keys: Parameters<typeof sorted>[1], down: readonly boolean[]]> =
      [
        ["customer.name", (order, customer) => [value(customer, "name"), id(order)], [false, false]],
        ["customer.title desc", (order, customer) => [value(customer, "name"), id(order)], [true, true]],
        ["customer.country,id desc", (order, customer) => [value(customer, "country"), id(order)], [false, true]],
        [
          "customer.tier desc,status,id",
          (order, customer) => [value(customer, "tier"), value(order, "status"), id(order)],
          [true, false, false]
        ],
        [
          "status desc,customer.rank,id",
          (order, customer) => [value(order, "status"), value(customer, "rank"), id(order)],
          [true, false, false]
        ]
      ]
    it.each(orders)("visit every record once, in both directions: %s", async (orderBy, keys, down) => {
      for (const caller of [admin, sales, foreign]) {
        const wanted = await sorted(caller, keys, down)
        expect(wanted.length).toBeGreaterThan(1)
        for (const size of [1, 4, 500]) {
          if (size === 1 && caller !== sales) continue
          const query = { order_by: orderBy, page_size: size, fields: "id" }
          expect(await walk("orders", query, "id", caller), `${caller.id} ${size}`).toEqual(wanted)
          expect(await walkBack("orders", query, "id", caller), `${caller.id} ${size}`).toEqual(wanted)
        }
      }
    })

    it("have records whose target is deleted or hidden where those without one are", async () => {
      const ids = pluck(await list("orders", { order_by: "customer.name desc,id", page_size: 500 }), "id")
      const customers = await customersOf(admin)
      const own = await all("orders")
      const without = own.filter((order) => !customers.has(order["customer_id"])).map((order) => order["id"])
      // Customer 7 is deleted.
      expect(own.filter((order) => order["customer_id"] === "7").length).toBeGreaterThan(0)
      expect(ids.slice(0, without.length)).toEqual(without)
    })

    it("sort for each role by what it sees, whoever asked before", async () => {
      const order = "account.name desc,id"
      const accounts = new Map((await all("accounts")).map((each) => [each["id"], each]))
      const wanted = async (caller: TestCaller, seen: (name: string) => boolean) =>
        (await all("customers", caller))
          .map((each) => {
            const name = value(accounts.get(each["account_id"]), "name") as string | null
            return { id: each["id"], cells: [name !== null && seen(name) ? name : null, Number(each["id"])] as Cells }
          })
          .sort((a, b) => -compare(a.cells[0]!, b.cells[0]!) || compare(a.cells[1]!, b.cells[1]!))
          .map((each) => each.id)
      const full = await wanted(admin, () => true)
      const northern = await wanted(regional, (name) => name.includes("North"))
      expect(full).not.toEqual(northern)
      for (const [caller, expected] of [[regional, northern], [admin, full], [regional, northern]] as const) {
        expect(await walk("customers", { order_by: order, page_size: 2 }, "id", caller)).toEqual(expected)
        expect(await walkBack("customers", { order_by: order, page_size: 3 }, "id", caller)).toEqual(expected)
      }
    })

    it("give each role its own order, also where both see the same of the list", async () => {
      const wanted = async (caller: TestCaller) => {
        const seen = new Map((await all("orders", caller)).map((each) => [each["id"], each["number"] as string]))
        return (await all("lines", caller))
          .map((line) => [seen.get(line["order_id"]) ?? null, line["sku"] as string, Number(line["order_id"])] as const)
          .sort((a, b) => -compare(a[0], b[0]) || compare(a[1], b[1]) || a[2] - b[2])
          .map(([, sku]) => sku)
      }
      const [own, every] = [await wanted(sales), await wanted(auditor)]
      expect(own).not.toEqual(every)
      const query = { order_by: "order.number desc,sku,order_id", page_size: 500, fields: "sku,order_id" }
      for (const caller of [sales, auditor, sales, auditor]) {
        expect(pluck(await list("lines", query, caller), "sku"), caller.id).toEqual(caller === sales ? own : every)
      }
    })

    it("go through several relations, and with a filter through them", async () => {
      const orders = new Map((await all("orders")).map((each) => [each["id"], each]))
      const customers = await customersOf(admin)
      const keys = (await all("lines")).map((line) => {
        const order = orders.get(line["order_id"])
        return [value(customers.get(order?.["customer_id"]), "name"), line["sku"] as string, line] as const
      })
      const wanted = (lines: typeof keys) =>
        [...lines].sort((a, b) =>
          compare(a[0], b[0]) || compare(a[1], b[1]) || Number(a[2]["order_id"]) - Number(b[2]["order_id"])
        ).map(([, , line]) => line["sku"])
      const query = { order_by: "order.customer.name,sku", page_size: 5, fields: "sku,order_id" }
      expect(await walk("lines", query, "sku", admin)).toEqual(wanted(keys))
      const filter = "has(order.customer) AND quantity > 1"
      const some = keys.filter(([name, , line]) => name !== null && (line["quantity"] as number) > 1)
      expect(await walk("lines", { ...query, filter }, "sku", admin)).toEqual(wanted(some))
    })

    it("work in every read that takes an order", async () => {
      const order = "customer.name desc,id"
      const wanted = await sorted(admin, (each, customer) => [value(customer, "name"), -id(each)], [true, true])
      const search = await related(() =>
        service().call(admin, "POST", "/api/v1/orders:search", { body: { order_by: order, page_size: 500 } })
      )
      expect(pluck(search, "id")).toEqual(wanted)
      const seek = await related(() =>
        service().get(admin, at("orders:seek", { order_by: order, position: 3, page_size: 4 }))
      )
      expect(pluck(seek, "id")).toEqual(wanted.slice(3, 7))
      const exported = await related(() =>
        service().get(admin, at("orders:export", { order_by: order, format: "ndjson" }))
      )
      expect(exported.text.trim().split("\n").map((line) => (JSON.parse(line) as Item)["id"])).toEqual(wanted)
      const counted = await list("orders", { order_by: order, page_size: 2, count: "exact" })
      expect(pluck(counted, "id")).toEqual(wanted.slice(0, 2))
      expect(counted.json["total_size"]).toBe(wanted.length)
      const [first] = (await list("orders", { order_by: order, page_size: 1 })).json["items"] as unknown as Item[]
      const record = await service().get(admin, at(`orders/${String(first!["id"])}`))
      expect(first!["etag"]).toBe(record.headers.get("etag"))
    })

    it("have tokens of their own", async () => {
      const page = await list("orders", { order_by: "customer.name,id", page_size: 2 })
      const token = tokenOf(page, "next_page_token")
      const foreignToken = (answer: Answer) =>
        expectParameter(answer, "/api/v1/orders", "page_token", "The page token does not belong to this request.")
      for (const order of ["customer.name desc,id", "customer.tier,id", "id", "number,id"]) {
        foreignToken(await list("orders", { order_by: order, page_size: 2, page_token: token }))
      }
      const other = { order_by: "customer.name,id", page_size: 2, page_token: token }
      foreignToken(await list("orders", other, auditor))
      expect(token).not.toContain("customer")
    })

    it("follow a target that gets another name between pages", async () => {
      const order = { order_by: "customer.name,id", fields: "id,customer_id", page_size: 500 }
      const whole = (await list("orders", order)).json["items"] as unknown as readonly Item[]
      const names = await customersOf(admin)
      const last = whole.findLast((each) => names.has(each["customer_id"]))!
      const customer = last["customer_id"] as string
      const name = names.get(customer)!["name"] as string
      const rename = async (to: string) => {
        const record = await service().get(admin, at(`customers/${customer}`))
        const answer = await service().call(admin, "PATCH", `/api/v1/customers/${customer}`, {
          body: { name: to },
          headers: { "if-match": record.headers.get("etag")! }
        })
        expect(answer.status, answer.text).toBe(200)
      }
      const first = await list("orders", { ...order, page_size: 3 })
      const shown = pluck(first, "id")
      const moving = whole.filter((each) => each["customer_id"] === customer).map((each) => each["id"])
      expect(moving.some((each) => shown.includes(each))).toBe(false)
      await rename("")
      try {
        const rest: unknown[] = []
        let token = tokenOf(first, "next_page_token")
        while (token !== "") {
          const page = await list("orders", { ...order, page_size: 3, page_token: token })
          rest.push(...pluck(page, "id"))
          token = tokenOf(page, "next_page_token")
        }
        // Its orders have moved before the position, all others come once.
        const others = whole.map((each) => each["id"]).filter((each) => !shown.includes(each) && !moving.includes(each))
        expect(rest).toEqual(others)
      } finally {
        await rename(name)
      }
    })

    it("are saved, and left out for who cannot follow them", async () => {
      const made = await service().call(regional, "POST", "/api/saved-views", {
        body: { resource: "customers", name: "by account", order_by: "account.name desc,id", shared_with: ["regional"] }
      })
      expect(made.status, made.text).toBe(201)
      expect(made.json["order_by"]).toBe("account.name desc,id")
      const refused = await service().call(sales, "POST", "/api/saved-views", {
        body: { resource: "customers", name: "by account", order_by: "account.name desc,id" }
      })
      expect(refused.status).toBe(400)
    })

    it.each<readonly [resource: string, hidden: string, unknown: string, caller: TestCaller]>([
      ["orders", "zq_safe.id", "zk_safe.id", sales],
      ["orders", "zq_safe.id desc,id", "zk_safe.id desc,id", auditor],
      ["orders", "customer.zq_email", "customer.zk_email", clerk],
      ["orders", "customer.zq_mail_alias", "customer.zk_mail_alias", auditor],
      ["orders", "customer.crewdit", "customer.crevdit", clerk],
      ["orders", "-customer.zq_email", "-customer.zk_email", sales],
      ["orders", "customer.zq_tenant", "customer.zk_tenant", sales],
      ["orders", "customer.account.name", "customer.axxount.name", sales],
      ["customers", "account.name", "accoumt.name", sales],
      ["customers", "account.zq_region", "account.zk_region", regional],
      ["orders", "customer.name", "cuxtomer.name", blind],
      ["lines", "order.id", "olxer.id", sampler],
      ["lines", "order.id", "olxer.id", homeless],
      ["lines", "order.zq_safe.id", "order.zk_safe.id", sales],
      ["lines", "order.zq_code", "order.zk_code", sales],
      ["lines", "order.customer.zq_email", "order.customer.zk_email", sales],
      ["lines", "order.customer.account.id", "order.customer.axxount.id", sales]
    ])(
      "answer byte for byte alike what is hidden and what never was: %s %s",
      async (resource, hidden, unknown, caller) => {
        const [mark = ""] = hidden.split(/[ ,]/)
        const [twin = ""] = unknown.split(/[ ,]/)
        for (const path of ["", ":export", ":seek"]) {
          const more = path === ":seek" ? { position: 0 } : {}
          const one = await service().get(caller, at(`${resource}${path}`, { order_by: hidden, ...more }))
          const other = await service().get(caller, at(`${resource}${path}`, { order_by: unknown, ...more }))
          expect(one.status, one.text).toBe(400)
          expect(one.text.replaceAll(mark, twin)).toBe(other.text)
          expect(one.text.replaceAll(mark, "")).not.toMatch(/zq_/)
        }
      }
    )
  })
}
