// API functions over HTTP: who may call, input and answers, records under the caller's access, and the function's own transaction.
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { describe, expect, it } from "vitest"
import { hmac, newWebhookSecret, verifyStandardWebhook } from "../../adapters/seal/webhook.ts"
import {
  defineConfig,
  defineFunction,
  defineResource,
  defineRoles,
  f,
  FunctionRefusal,
  refuse
} from "../../composition/index.ts"
import { readSecret, signatureHeader, signedContent } from "../../core/domain/event/signature.ts"
import type { Fixture, TestCaller, TestService } from "../support/composed.ts"
import { on, onBoth, takeUnhandled } from "./writes/scenes.ts"

const secret = newWebhookSecret()

const orders = defineResource("orders", {
  table: "orders",
  primaryKey: "id",
  owner: "owner",
  softDelete: "deleted_at",
  fields: {
    id: f.integer().bits(64),
    status: f.enum(["draft", "paid"]).filterable().default("draft"),
    cost: f.integer().optional(),
    owner: f.text().filterable()
  },
  access: { fields: { cost: { read: ["boss"], write: ["boss"] } } }
})

/** For others than those in sales. */
const ledgers = defineResource("ledgers", { table: "ledgers", primaryKey: "id", fields: { id: f.integer() } })

const order = Schema.toStandardSchemaV1(Schema.Struct({ id: Schema.String, more: Schema.optionalKey(Schema.Number) }))

const functions = {
  echo: defineFunction({
    roles: true,
    description: "Gives back what it got.",
    run: (input, { caller }) => ({ input, user: caller().id })
  }),
  nothing: defineFunction({ roles: true, run: () => undefined }),
  typed: defineFunction({ input: order, roles: ["sales", "boss"], run: ({ id }) => id }),
  own: defineFunction({ roles: ({ caller }) => caller.id === "ann", run: () => "yes" }),
  broken: defineFunction({
    roles: () => {
      throw new Error("rule")
    },
    run: () => "no"
  }),
  pay: defineFunction({
    input: order,
    roles: ["sales", "boss"],
    run: async ({ id }, { records }) => {
      const found = await records(orders).get(id)
      if (found === null) throw refuse("not-found", "There is no such order.")
      if (found.status === "paid") throw refuse("conflict", "The order is paid.")
      return records(orders).update(id, { status: "paid" }, found.etag)
    }
  }),
  tour: defineFunction({
    roles: ["sales", "boss"],
    run: async (_, { records }) => {
      const own = records("orders")
      const made = await own.create({ id: "900", owner: "ann" })
      const { items } = await own.list({ filter: "status = \"draft\"", fields: ["id"], pageSize: 500 })
      await own.remove("900", made.etag)
      const gone = await own.get("900")
      const back = await own.undelete("900")
      await own.remove("900")
      const hidden = await records("nothing").list().catch((error: unknown) =>
        error instanceof FunctionRefusal ? error.slug : error
      )
      const unseen = await records("ledgers").list().catch((error: unknown) =>
        error instanceof FunctionRefusal ? error.slug : error
      )
      const cost = await own.update("900", { cost: 1 }, "*").catch((error: unknown) =>
        error instanceof FunctionRefusal ? error.slug : error
      )
      return {
        ids: items.map(({ id }) => id),
        gone,
        back: back["status"],
        hidden,
        unseen,
        cost,
        names: Object.keys(made)
      }
    }
  }),
  fail: defineFunction({
    roles: true,
    run: () => {
      throw new Error("secret detail")
    }
  }),
  signed: defineFunction({ roles: true, run: (_, { request }) => verifyStandardWebhook(request, secret).event })
}

const config = defineConfig({
  resources: [orders, ledgers],
  roles: defineRoles({
    sales: ["orders.read", "orders.create", "orders.update", "orders.delete"],
    boss: ["*"]
  }),
  functions
})

const fixture = (): Fixture => ({
  config,
  schema:
    "create table orders (id bigint primary key, status text not null default 'draft', cost integer, owner text not null, deleted_at timestamptz); create table notes (text text); create table ledgers (id integer primary key)",
  rows: {
    orders: [{ id: "1", status: "draft", cost: 5, owner: "ann" }, { id: "2", status: "paid", cost: 5, owner: "ann" }]
  },
  defaultOf: (field) => field.name === "status" ? "draft" : null
})

const ann: TestCaller = { id: "ann", roles: ["sales"] }
const bob: TestCaller = { id: "bob", roles: ["boss"] }
const eve: TestCaller = { id: "eve", roles: [] }

const call = (service: TestService, caller: TestCaller | null, name: string, body?: unknown, headers = {}) =>
  service.call(caller, "POST", `/api/functions/${name}`, { headers, ...(body === undefined ? {} : { body }) })

onBoth("functions", fixture, (use) => {
  it("give back JSON, or nothing", async () => {
    const answer = await call(use(), eve, "echo", { a: [1, "ü"] })
    expect(answer.status).toBe(200)
    expect(answer.headers.get("content-type")).toContain("application/json")
    expect(answer.json).toEqual({ input: { a: [1, "ü"] }, user: "eve" })
    expect((await call(use(), eve, "echo")).json).toEqual({ user: "eve" })
    expect(await call(use(), eve, "nothing")).toMatchObject({ status: 204, text: "" })
  })

  it.each<[string, TestCaller | null, number]>([
    ["echo", null, 401],
    ["echo", eve, 200],
    ["typed", eve, 404],
    ["own", ann, 200],
    ["own", bob, 404],
    ["broken", bob, 404],
    ["missing", bob, 404],
    ["constructor", bob, 404],
    ["%00", bob, 404],
    ["%zz", bob, 400]
  ])("%s by %o is a %i", async (name, caller, status) => {
    expect((await call(use(), caller, name, {})).status).toBe(status)
  })

  it("that a caller may not call look like those that are not there", async () => {
    const [hidden, missing] = [await call(use(), eve, "typed", {}), await call(use(), eve, "zyped", {})]
    expect(hidden.text.replaceAll("typed", "zyped")).toBe(missing.text)
  })

  it("are called by POST only", async () => {
    const answer = await use().call(eve, "GET", "/api/functions/echo")
    expect(answer.status).toBe(405)
    expect(answer.headers.get("allow")).toBe("POST")
  })

  it("check their input", async () => {
    expect((await call(use(), ann, "typed", { id: "x" })).json).toBe("x")
    const wrong = await call(use(), ann, "typed", { id: 5, more: "x" })
    expect(wrong.status).toBe(400)
    expect(wrong.json).toMatchObject({
      type: "urn:service:problem:invalid-record",
      errors: [{ field: "id", code: "invalid" }, { field: "more", code: "invalid" }]
    })
    expect((await call(use(), ann, "typed")).status).toBe(400)
    expect((await call(use(), ann, "typed", "{\"id\":\"x\",\"id\":\"y\"}")).status).toBe(400)
    expect((await call(use(), ann, "typed", "id=x", { "content-type": "text/plain" })).status).toBe(415)
  })

  it("work on records as their caller", async () => {
    const tour = await call(use(), ann, "tour")
    expect(tour.status, tour.text).toBe(200)
    expect(tour.json).toEqual({
      ids: expect.arrayContaining(["1", "900"]) as unknown,
      gone: null,
      back: "draft",
      hidden: "not-found",
      unseen: "not-found",
      cost: "invalid-record",
      names: ["id", "status", "owner", "etag"]
    })
  })

  it("answer with what they refuse, and with what records refuse", async () => {
    expect((await call(use(), ann, "pay", { id: "1" })).json).toMatchObject({ id: "1", status: "paid" })
    const paid = await call(use(), ann, "pay", { id: "2" })
    expect(paid.status).toBe(409)
    expect(paid.json).toMatchObject({
      type: "urn:service:problem:conflict",
      detail: "The order is paid.",
      instance: "/api/functions/pay"
    })
    expect((await call(use(), ann, "pay", { id: "77" })).status).toBe(404)
    expect((await call(use(), ann, "pay", { id: "no number" })).json).toMatchObject({
      type: "urn:service:problem:invalid-key"
    })
  })

  it("that fail are the fixed 500", async () => {
    const answer = await call(use(), eve, "fail")
    expect(answer.status).toBe(500)
    expect(answer.text).not.toContain("secret detail")
    expect(takeUnhandled(use())).toHaveLength(1)
  })

  it("see the request as it was signed", async () => {
    const body = "{\"b\":1,  \"a\":2}"
    const seconds = Math.floor(Date.now() / 1_000)
    const headers = {
      "webhook-id": "evt_1",
      "webhook-timestamp": String(seconds),
      "webhook-signature": signatureHeader([
        hmac(Result.getOrThrow(readSecret(secret)), signedContent("evt_1", seconds, body))
      ])
    }
    expect((await call(use(), eve, "signed", body, headers)).json).toEqual({ b: 1, a: 2 })
    expect((await call(use(), eve, "signed", `${body} `, headers)).status).toBe(403)
    expect((await call(use(), eve, "signed", body)).status).toBe(403)
  })

  it("are told to whom they are for", async () => {
    const names = async (caller: TestCaller) => {
      const meta = (await use().get(caller, "/api/meta")).json["functions"] as unknown as ReadonlyArray<
        { readonly name: string }
      >
      const paths = Object.keys((await use().get(caller, "/api/openapi.json")).json["paths"]!)
        .flatMap((path) => path.startsWith("/api/functions/") ? [path.slice("/api/functions/".length)] : [])
      expect(paths).toEqual(meta.map(({ name }) => name))
      return paths
    }
    expect(await names(eve)).toEqual(["echo", "nothing", "fail", "signed"])
    expect(await names(ann)).toEqual(["echo", "nothing", "typed", "own", "pay", "tour", "fail", "signed"])
  })
})

describe("the transaction of a function", () => {
  const transactional = (): Fixture => ({
    ...fixture(),
    config: defineConfig({
      resources: [orders],
      roles: defineRoles({ boss: ["*"] }),
      functions: {
        note: defineFunction({
          roles: true,
          run: async (input, { db }) => {
            await db.query("insert into notes values ($1)", ["first"])
            if (input === "fail") throw refuse("conflict", "No.")
            if (input === "swallow") await db.query("insert into nowhere values (1)").catch(() => undefined)
            await db.query("insert into notes values ($1)", ["second"])
            return (await db.query("select count(*)::integer as count from notes"))[0]!["count"]
          }
        }),
        actor: defineFunction({
          roles: true,
          run: async (_, { db }) =>
            JSON.parse(String((await db.query("select current_setting('service.actor') as actor"))[0]!["actor"]))
        }),
        late: defineFunction({
          roles: true,
          run: (_, { db }) => {
            later = () => db.query("select 1")
            return "done"
          }
        })
      }
    })
  })
  let later: () => Promise<unknown> = async () => undefined

  on("postgres", "transactions", transactional, (use) => {
    const notes = () => use().database!.rows("select text from notes order by text")
    it("commits when the function succeeds", async () => {
      expect((await call(use(), eve, "note", "\"ok\"")).json).toBe(2)
      expect(await notes()).toEqual([["first"], ["second"]])
    })
    it("rolls back when it refuses, or goes on after a statement that failed", async () => {
      await use().database!.execute("truncate notes")
      expect((await call(use(), eve, "note", "\"fail\"")).status).toBe(409)
      expect((await call(use(), eve, "note", "\"swallow\"")).status).toBe(500)
      takeUnhandled(use())
      expect(await notes()).toEqual([])
    })
    it("says who called, for triggers and for what captures changes", async () => {
      expect((await call(use(), ann, "actor")).json).toEqual({ id: "ann", roles: ["sales"] })
    })
    it("ends with it", async () => {
      expect((await call(use(), eve, "late")).json).toBe("done")
      await expect(later()).rejects.toThrow("have ended")
    })
  })
})
