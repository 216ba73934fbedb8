/** Scenarios of page tokens: what they walk over, what they are bound to, and that they say nothing. For any backend. */

import { describe, expect, it } from "vitest"
import { at, expectParameter, pluck } from "../../support/answer.ts"
import type { Query } from "../../support/answer.ts"
import type { Answer, TestCaller, TestService } from "../../support/composed.ts"
import { callers, foreign } from "../../support/shop.ts"

const refused = "The page token does not belong to this request."

export const tokenScenarios = (service: () => TestService): void => {
  const { admin, auditor, clerk } = callers
  const list = (query: Query = {}, caller: TestCaller = admin, resource = "orders"): Promise<Answer> =>
    service().get(caller, at(resource, query))
  const nextOf = (answer: Answer): string => {
    expect(answer.status, answer.text).toBe(200)
    return answer.json["next_page_token"] as unknown as string
  }
  const batch = async (ops: readonly unknown[]): Promise<void> => {
    const answer = await service().call(admin, "POST", "/api/v1:batchWrite", { body: { ops } })
    expect(answer.status, answer.text).toBe(200)
  }
  const create = (id: number, rank: number | null) => ({
    op: "create",
    resource: "steps",
    data: { id: String(id), rank, name: `n${id % 7}` }
  })
  const remove = (id: number) => ({ op: "delete", resource: "steps", key: String(id) })

  describe("page tokens", () => {
    it.each(["", "rank", "rank desc", "name desc, rank", "rank, name desc", "id desc"])(
      "visit every row that stays once while others come and go: order_by=%s",
      async (order) => {
        const stay = Array.from({ length: 40 }, (_, i) => (i + 1) * 100)
        const go = stay.map((id) => id + 50)
        const rankOf = (id: number): number | null => id % 3 === 0 ? null : id % 7
        await batch([...stay, ...go].map((id) => create(id, rankOf(id))))
        const seen: unknown[] = []
        const come: number[] = []
        let token = ""
        for (let round = 0; round === 0 || token !== ""; round++) {
          const page = await list({ order_by: order, page_size: 6, page_token: token }, admin, "steps")
          seen.push(...pluck(page, "id"))
          token = nextOf(page)
          // Rows before, after and around the position, and rows that go.
          const fresh = [
            round * 3 + 1,
            4_200 + round,
            stay[round % stay.length]! + 25 + Math.floor(round / stay.length)
          ]
          come.push(...fresh)
          const gone = go.splice(0, 3)
          await batch([...fresh.map((id, i) => create(id, [null, 3, 6][i]!)), ...gone.map(remove)])
          expect(round).toBeLessThan(200)
        }
        const staying = seen.filter((id) => Number(id) % 100 === 0 && Number(id) <= 4_000)
        expect(new Set(staying)).toEqual(new Set(stay.map(String)))
        expect(new Set(seen).size).toBe(seen.length)
        await batch([...stay, ...go, ...come].map(remove))
      }
    )

    it("end with an empty text, also when the last page is full", async () => {
      const first = await list({ page_size: 30 })
      const second = await list({ page_size: 30, page_token: nextOf(first) })
      expect(pluck(second, "id")).toHaveLength(30)
      expect(nextOf(second)).toBe("")
      expect(nextOf(await list({ filter: "number = \"none\"" }))).toBe("")
    })

    it("repeat the first page's estimate, and may change what does not move the position", async () => {
      const first = await list({ page_size: 10 })
      const token = nextOf(first)
      const second = await list({
        page_size: 5,
        page_token: token,
        fields: "number",
        count: "exact",
        expand: "customer"
      })
      expect(pluck(second, "number")).toEqual(pluck(await list({ page_size: 15 }), "number").slice(10))
      expect(second.json["total_size"]).toBe(60)
      const third = await list({ page_size: 10, page_token: token })
      expect(third.json["total_size_estimate"]).toBe(60)
      expect(third.json["prev_page_token"]).toBeUndefined()
    })

    it("repeat no estimate that counted what other roles may read", async () => {
      const token = nextOf(await list({ page_size: 10 }))
      // The same user with fewer roles, as with an API key, owns none of the orders.
      const fewer = await list({ page_token: token, count: "exact" }, { ...callers.sales, id: admin.id })
      expect([fewer.status, fewer.json["total_size"]]).toEqual([200, 0])
      const again = await list({ page_token: token }, { ...callers.sales, id: admin.id })
      expect(again.json["total_size_estimate"]).toBe(0)
    })

    it("repeat no lower bound that stood in for an estimate", async () => {
      const query = { filter: "id > -3", page_size: 1, fields: "id" }
      const first = await list(query, admin, "samples")
      expect([first.json["total_size_estimate"], first.json["total_size_accuracy"]]).toEqual([10_000, "counting"])
      const size = async () => (await list(query, admin, "samples")).json["total_size_estimate"] as unknown as number
      for (const begin = performance.now(); await size() === 10_000 && performance.now() - begin < 60_000;) {
        // The full count runs beside the requests; let it.
        await new Promise(setImmediate)
      }
      const second = await list({ ...query, page_token: nextOf(first) }, admin, "samples")
      expect([second.json["total_size_estimate"], second.json["total_size_accuracy"]]).toEqual([12_000, "estimate"])
    })

    const base: Query = { filter: "qty >= 0", order_by: "number", page_size: 5 }
    const others: ReadonlyArray<readonly [what: string, query: Query, caller: TestCaller]> = [
      ["another filter", { ...base, filter: "qty >= 1" }, admin],
      ["no filter", { order_by: "number" }, admin],
      ["the same filter written otherwise", { ...base, filter: "qty >=  0" }, admin],
      ["another order", { ...base, order_by: "number desc" }, admin],
      ["no order", { filter: "qty >= 0" }, admin],
      ["show_deleted", { ...base, show_deleted: true }, admin],
      ["another user", base, { ...admin, id: "u-other" }],
      ["another role and user", base, auditor],
      ["another tenant", base, { ...admin, tenant: "2" }],
      ["another user and tenant", base, foreign]
    ]
    it.each(others)("are bound: %s", async (_, query, caller) => {
      const token = nextOf(await list(base))
      expect((await list({ ...base, page_token: token })).status).toBe(200)
      expectParameter(await list({ ...query, page_token: token }, caller), "/api/v1/orders", "page_token", refused)
      const { filter, order_by, show_deleted } = query
      const body = {
        filter: filter ?? "",
        order_by: order_by ?? "",
        show_deleted: show_deleted === true,
        page_token: token
      }
      const searched = await service().call(caller, "POST", at("orders:search"), { body })
      expectParameter(searched, "/api/v1/orders:search", "page_token", refused)
    })

    it("are bound to the resource", async () => {
      const token = nextOf(await list({ page_size: 1 }, admin, "tags"))
      for (const resource of ["orders", "meta", "lines", "samples"]) {
        expectParameter(
          await list({ page_size: 1, page_token: token }, admin, resource),
          `/api/v1/${resource}`,
          "page_token",
          refused
        )
      }
    })

    it("are refused when anything about them changed", async () => {
      const token = nextOf(await list(base))
      const wrong = [
        ...Array.from(token, (char, i) => token.slice(0, i) + (char === "A" ? "B" : "A") + token.slice(i + 1)),
        token.slice(0, -1),
        token.slice(1),
        `${token}A`,
        `${token}=`,
        `${token}%`,
        token + token,
        "0",
        "A".repeat(60),
        "null",
        Buffer.from(JSON.stringify([1, 5, "N-000", "1"])).toString("base64url")
      ].filter((each) => each !== token)
      for (const page_token of wrong) {
        expectParameter(await list({ ...base, page_token }), "/api/v1/orders", "page_token", refused)
      }
      expectParameter(await list({ ...base, page_token: "A".repeat(50_000) }), "/api/v1/orders", "page_token", refused)
    })

    it("walk over values however long they are, in a query and in a body", async () => {
      const long = "\u00e9\u{1f600}".repeat(3_000)
      const ids = ["9001", "9002", "9003", "9004"]
      const name = (i: number) => i === 3 ? null : `${long}${i}`
      await batch(ids.map((id, i) => ({ op: "create", resource: "steps", data: { id, rank: null, name: name(i) } })))
      for (const order_by of ["name", "name desc"]) {
        const seen: unknown[] = []
        let token = ""
        for (let page = 0; page === 0 || token !== ""; page++) {
          const query = { order_by, page_size: 1, page_token: token }
          const answer = page % 2 === 0
            ? await list(query, admin, "steps")
            : await service().call(admin, "POST", at("steps:search"), { body: query })
          seen.push(...pluck(answer, "id"))
          token = nextOf(answer)
        }
        expect(seen).toEqual(order_by === "name" ? ids : [...ids].reverse())
      }
      await batch(ids.map((id) => remove(Number(id))))
    })

    it("say nothing and never repeat", async () => {
      const query = { order_by: "number", page_size: 3 }
      const tokens = [nextOf(await list(query, clerk)), nextOf(await list(query, clerk))]
      expect(tokens[0]).not.toBe(tokens[1])
      for (const token of tokens) {
        expect(token).toMatch(/^[\w-]+$/)
        const plain = Buffer.from(token, "base64url").toString("latin1")
        expect(plain).not.toMatch(/N-0|orders|u-clerk|number/)
      }
    })
  })

  describe(":seek", () => {
    const seek = (query: Query, caller: TestCaller = admin, resource = "orders"): Promise<Answer> =>
      service().get(caller, at(`${resource}:seek`, query))
    const order = "qty desc, number"
    const whole = async (): Promise<readonly unknown[]> => pluck(await list({ order_by: order, page_size: 500 }), "id")

    it("answers the page at a row number with tokens both ways, and nothing else", async () => {
      const all = await whole()
      for (const position of [0, 1, 7, 30, 54, 55, 56, 59]) {
        const page = await seek({ position, order_by: order, page_size: 5 })
        expect(pluck(page, "id"), String(position)).toEqual(all.slice(position, position + 5))
        expect(Object.keys(page.json)).toEqual(["items", "next_page_token", "prev_page_token"])
        expect(page.json["prev_page_token"] === "").toBe(position === 0)
        expect(page.json["next_page_token"] === "").toBe(position >= 55)
      }
    })

    it.each([60, 61, 1_000, "999999999999999999999"])("gives the last page beyond the end: %s", async (position) => {
      const all = await whole()
      const page = await seek({ position, order_by: order, page_size: 7 })
      expect(pluck(page, "id")).toEqual(all.slice(-7))
      expect(page.json["next_page_token"]).toBe("")
      const before = await list({
        order_by: order,
        page_size: 7,
        page_token: page.json["prev_page_token"] as unknown as string
      })
      expect(pluck(before, "id")).toEqual(all.slice(-14, -7))
      // All of it on one page, with room left or not.
      for (const page_size of [100, all.length]) {
        const one = await seek({ position, order_by: order, page_size })
        expect(pluck(one, "id")).toEqual(all)
        expect([one.json["next_page_token"], one.json["prev_page_token"]]).toEqual(["", ""])
      }
    })

    it.each([[0, 50], [500, 500], [501, 500]])("page_size=%i gives %i", async (page_size, length) => {
      expect(pluck(await seek({ position: 3, page_size }, admin, "samples"), "id")).toHaveLength(length)
    })

    it("walks from anywhere to both ends and back again", async () => {
      const all = await whole()
      const page = await seek({ position: 23, order_by: order, page_size: 5 })
      const walk = async (from: Answer, token: "next_page_token" | "prev_page_token"): Promise<readonly unknown[]> => {
        const ids: unknown[] = []
        let at_ = from
        let last = from
        while (at_.json[token] as unknown as string !== "") {
          at_ = await list({ order_by: order, page_size: 5, page_token: at_.json[token] as unknown as string })
          const found = pluck(at_, "id")
          if (token === "next_page_token") ids.push(...found)
          else ids.unshift(...found)
          last = at_
        }
        // And one page back.
        const back = token === "next_page_token" ? "prev_page_token" : "next_page_token"
        const returned = await list({ order_by: order, page_size: 5, page_token: last.json[back] as unknown as string })
        const edge = token === "next_page_token"
          ? all.indexOf(pluck(last, "id")[0])
          : all.indexOf(pluck(last, "id").at(-1)) + 1
        expect(pluck(returned, "id")).toEqual(
          token === "next_page_token" ? all.slice(edge - 5, edge) : all.slice(edge, edge + 5)
        )
        return ids
      }
      expect(await walk(page, "next_page_token")).toEqual(all.slice(28))
      expect(await walk(page, "prev_page_token")).toEqual(all.slice(0, 23))
    })

    it("walks on from a page whose records are gone meanwhile, both ways", async () => {
      const ids = Array.from({ length: 9 }, (_, i) => 10_001 + i)
      await batch(ids.map((id) => create(id, 1)))
      const among = (token: string, parameters: Query = {}) =>
        list({ order_by: "rank", page_size: 3, page_token: token, ...parameters }, admin, "steps")
      const middle = await seek({ position: 3, order_by: "rank", page_size: 3 }, admin, "steps")
      expect(pluck(middle, "id")).toEqual(["10004", "10005", "10006"])
      await batch([...ids.slice(0, 3), ...ids.slice(6)].map(remove))
      const left = ["10004", "10005", "10006"]

      const before = await among(middle.json["prev_page_token"] as unknown as string)
      expect([pluck(before, "id"), before.json["prev_page_token"]]).toEqual([[], ""])
      // It is not the last page.
      const onwards = await among(nextOf(before))
      expect(pluck(onwards, "id")).toEqual(left)
      expect([nextOf(onwards), onwards.json["prev_page_token"] === ""]).toEqual(["", false])

      const after = await among(nextOf(middle))
      expect([pluck(after, "id"), nextOf(after)]).toEqual([[], ""])
      const back = await among(after.json["prev_page_token"] as unknown as string)
      expect([pluck(back, "id"), back.json["prev_page_token"]]).toEqual([left, ""])
      await batch(ids.slice(3, 6).map(remove))
      // Where nothing is left at all the walk ends, too.
      expect(nextOf(await among(nextOf(await among(after.json["prev_page_token"] as unknown as string))))).toBe("")
    })

    it("stays within tenant, row filter and filter", async () => {
      expect(pluck(await seek({ position: 1 }, foreign), "id")).toEqual(["301", "302"])
      const own = pluck(await list({ page_size: 500 }, callers.sales), "id")
      expect(pluck(await seek({ position: 3, page_size: 4 }, callers.sales), "id")).toEqual(own.slice(3, 7))
      const paid = pluck(await list({ filter: "status = paid", page_size: 500 }), "id")
      expect(pluck(await seek({ position: 10, filter: "status = paid", fields: "id" }), "id")).toEqual(
        paid.slice(10, 60)
      )
      const none = await seek({ position: 5, filter: "number = \"none\"" })
      expect(none.json).toEqual({ items: [], next_page_token: "", prev_page_token: "" })
      expect(pluck(await seek({ position: 60, show_deleted: true }), "id")).toHaveLength(2)
    })

    it.each([{}, { position: "" }, { position: "-1" }, { position: "1.5" }, { position: "1e3" }, {
      position: "+1"
    }])(
      "%j is refused",
      async (query) => expectParameter(await seek(query as Query), "/api/v1/orders:seek", "position")
    )

    it("takes neither a page token nor a count", async () => {
      expectParameter(await seek({ position: 1, page_token: "" }), "/api/v1/orders:seek", "page_token")
      expectParameter(await seek({ position: 1, count: "exact" }), "/api/v1/orders:seek", "count")
    })
  })
}
