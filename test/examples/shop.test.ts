/**
 * The example's first minute: it starts on nothing, prints lines that work as they are, shows each role what it should see, and starts
 * again on what is there. All in a folder whose name needs quoting.
 */

import { existsSync, readFileSync, statSync } from "node:fs"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { freePort } from "../support/cluster.ts"
import { deep } from "../support/depth.ts"
import { openDatabase } from "../support/postgres.ts"
import {
  type Checkout,
  copyCheckout,
  type Example,
  paste,
  plainEnvironment,
  run,
  startAndFail,
  startAndKill,
  startExample
} from "./checkout.ts"

// The example and its commands are processes of their own; a busy machine takes its time.
type Record = { readonly [field: string]: unknown }
interface Page {
  readonly items: readonly Record[]
  readonly total_size: number
}

/** Below a thousand the example draws an eighth of its pictures, which take most of its first start. A deep run has what it makes unasked. */
const orders = deep ? 10_000 : 900
const customers = orders / 5

let checkout: Checkout
let port = 0
let example: Example

beforeAll(async () => {
  checkout = copyCheckout()
  port = await freePort()
  example = await startExample(checkout, port, ["--demo", ...(deep ? [] : ["--scale", String(orders)])])
})

afterAll(async () => {
  await example?.stop()
  checkout?.[Symbol.dispose]()
})

/** A token for the account of a role, by signing in. */
const tokens = new Map<string, string>()
const tokenOf = async (role: string): Promise<string> => {
  const known = tokens.get(role)
  if (known !== undefined) return known
  const signedIn = await fetch(`${example.url}/api/auth/sign-in/email`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ email: `${role}@shop.example`, password: example.passwords.get(role) })
  })
  const cookie = signedIn.headers.getSetCookie().map((each) => each.split(";", 1)[0]).join("; ")
  const answer = await fetch(`${example.url}/api/auth/token`, { headers: { cookie } })
  const { token } = await answer.json() as { readonly token: string }
  tokens.set(role, token)
  return token
}

interface Ask {
  readonly method?: string
  readonly body?: unknown
  readonly etag?: string
}

const ask = async <A = Record>(role: string, path: string, { body, etag, method = "GET" }: Ask = {}) => {
  const response = await fetch(`${example.url}/api${path}`, {
    method,
    headers: {
      authorization: `Bearer ${await tokenOf(role)}`,
      ...(etag === undefined ? {} : { "if-match": etag }),
      ...(body === undefined ? {} : { "content-type": "application/json" })
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) })
  })
  const text = await response.text()
  return { status: response.status, text, body: (text === "" ? null : JSON.parse(text)) as A }
}

const etagOf = (record: Record | undefined): string => {
  const etag = record?.["etag"]
  if (typeof etag !== "string") throw new Error("the record carries no etag")
  return etag
}

const list = async (role: string, path: string): Promise<Page> => {
  const { body, status, text } = await ask<Page>(role, `/v1/${path}`)
  expect(status, text).toBe(200)
  return body
}

describe("the first start", () => {
  it("generates the data and shows a password for each account", () => {
    expect(example.printed).toContain(`Generated a furniture shop with ${orders.toLocaleString("en")} orders.`)
    expect([...example.passwords.keys()]).toEqual(["admin", "sales", "viewer"])
    expect(new Set(example.passwords.values()).size).toBe(3)
  })

  it("keeps a secret that only its owner can read", () => {
    expect(statSync(join(checkout.folder, "data", "secret")).mode & 0o777).toBe(0o600)
    expect(existsSync(join(checkout.folder, "data", "postgres"))).toBe(true)
  })

  it("prints three lines that work when pasted", async () => {
    expect(example.lines).toHaveLength(3)
    const [page = "", facets = ""] = await paste(example.lines)
    const { items } = JSON.parse(page) as Page
    expect(items).toHaveLength(3)
    for (const order of items) {
      expect(order["status"]).toBe("paid")
      expect(Number(order["total"])).toBeGreaterThan(1000)
    }
    const counted = JSON.parse(facets) as {
      readonly facets: ReadonlyArray<{ readonly value: string; readonly count: number }>
    }
    expect(counted.facets.map(({ value }) => value).toSorted()).toEqual(
      ["cancelled", "draft", "paid", "pending", "refunded", "shipped"]
    )
    const all = await list("admin", "orders?page_size=1&count=exact")
    expect(counted.facets.reduce((sum, { count }) => sum + count, 0)).toBe(all.total_size)
  })

  it("has a reference: a form to sign in, and the document behind it", async () => {
    const form = await fetch(`${example.url}/api/docs`, { headers: { accept: "text/html" } })
    expect([form.status, form.headers.get("content-type")]).toEqual([401, "text/html; charset=utf-8"])
    const authorization = `Bearer ${await tokenOf("viewer")}`
    expect((await fetch(`${example.url}/api/docs`, { headers: { authorization } })).status).toBe(200)
    expect((await ask("viewer", "/openapi.json")).body).toMatchObject({ openapi: "3.1.0" })
  })
})

describe("what each role sees", () => {
  it("an admin sees everything of this shop and nothing of the other", async () => {
    const { items } = await list("admin", "products?page_size=500")
    expect(items.every((product) => "cost" in product && "deleted_at" in product)).toBe(true)
    // The other shop's orders follow those of this one.
    expect((await ask("admin", `/v1/orders/${orders - 1}`)).status).toBe(200)
    expect((await ask("admin", `/v1/orders/${orders + 1}`)).status).toBe(404)
    expect((await list("admin", "shops")).items.map(({ id }) => id)).toEqual([1])
    expect((await list("admin", "staff?page_size=500")).items.map(({ id }) => id)).not.toContain("seller-5")
  })

  it("an admin's webhooks show a viewer neither address nor headers, nor what they tell", async () => {
    const made = await ask("admin", "/v1/webhook_subscriptions", {
      method: "POST",
      body: {
        name: "desk",
        events: "orders.paid",
        url: "https://93.184.216.34/T0/secret",
        headers: { "x-key": "hush" }
      }
    })
    expect(made.status, JSON.stringify(made.body)).toBe(201)
    const [seen] = (await list("viewer", "webhook_subscriptions")).items
    expect(Object.keys(seen!)).toEqual(expect.arrayContaining(["name", "enabled"]))
    expect(JSON.stringify(seen)).not.toMatch(/secret|hush|"url"|"headers"|"events"|"filter"|"payload"/)
    const meta = JSON.stringify((await ask("admin", "/meta")).body)
    expect(meta).toContain("\"Operations\"")
  })

  it("a viewer reads all orders, and no cost anywhere", async () => {
    const all = await list("admin", "orders?page_size=1&count=exact")
    expect((await list("viewer", "orders?page_size=1&count=exact")).total_size).toBe(all.total_size)
    const products = await ask("viewer", "/v1/products?page_size=500")
    const meta = await ask("viewer", "/meta")
    const openapi = await ask("viewer", "/openapi.json")
    for (const { status, text } of [products, meta, openapi]) {
      expect(status).toBe(200)
      expect(text).not.toMatch(/"cost"|"commission"|"credit_limit"|"internal_note"/)
    }
    const hidden = await ask("viewer", "/v1/products?filter=cost%20%3E%201")
    const unknown = await ask("viewer", "/v1/products?filter=cosy%20%3E%201")
    expect(hidden.status).toBe(400)
    expect(hidden.text.replaceAll("cost", "cosy")).toBe(unknown.text)
  })

  it("a viewer changes nothing", async () => {
    const [order] = (await list("viewer", "orders?page_size=1&filter=status=draft")).items
    const path = `/v1/orders/${String(order?.["id"])}`
    expect((await ask("viewer", path, { method: "PATCH", body: { note: "x" }, etag: etagOf(order) })).status).toBe(
      403
    )
    expect((await ask("viewer", path, { method: "DELETE" })).status).toBe(403)
    expect((await ask("viewer", "/v1/orders", { method: "POST", body: {} })).status).toBe(403)
  })

  it("sales works on their own orders and lines only", async () => {
    const { id } = (await list("admin", "staff?filter=email=sales@shop.example")).items[0]!
    const all = await list("admin", "orders?page_size=1&count=exact")
    const mine = await list("admin", `orders?page_size=1&count=exact&filter=owner_id=${String(id)}`)
    const seen = await list("sales", "orders?page_size=500&count=exact&order_by=id%20desc")
    expect(seen.total_size).toBe(mine.total_size)
    expect(seen.total_size).toBeGreaterThan(0)
    expect(seen.total_size).toBeLessThan(all.total_size)
    expect(new Set(seen.items.map((order) => order["owner_id"]))).toEqual(new Set([id]))
    expect(new Set((await list("sales", "order_lines?page_size=500")).items.map((line) => line["owner_id"]))).toEqual(
      new Set([id])
    )
    const [other] = (await list("admin", `orders?page_size=1&filter=NOT%20owner_id=${String(id)}`)).items
    expect((await ask("sales", `/v1/orders/${String(other?.["id"])}`)).status).toBe(404)
  })

  it("sales takes an order from draft to paid, and a shipped one stays", async () => {
    const body = { customer_id: "1", ship_country: "DE" }
    const created = await ask("sales", "/v1/orders", { method: "POST", body })
    expect(created.status, created.text).toBe(201)
    const path = `/v1/orders/${String(created.body["id"])}`
    const line = { order_id: created.body["id"], product_id: "17", quantity: 10, unit_price: "10.00", discount: "5" }
    const added = await ask("sales", "/v1/order_lines", { method: "POST", body: line })
    expect(added.body).toMatchObject({ total: "95.00", owner_id: created.body["owner_id"] })
    expect((await ask("sales", "/v1/order_lines", { method: "POST", body: { ...line, quantity: 9 } })).status).toBe(400)
    const paid = await ask("sales", path, {
      method: "PATCH",
      body: { status: "paid", total: "95.00" },
      etag: etagOf(created.body)
    })
    expect(paid.body).toMatchObject({ status: "paid", total: "95.00" })
    const stale = await ask("sales", path, { method: "PATCH", body: { note: "x" }, etag: etagOf(created.body) })
    expect(stale.status).toBe(412)
    // Only drafts may be deleted by their sellers.
    expect((await ask("sales", path, { method: "DELETE" })).status).toBe(403)
    const shipped = await ask("sales", path, { method: "PATCH", body: { status: "shipped" }, etag: etagOf(paid.body) })
    expect(shipped.status).toBe(200)
    const after = await ask("sales", path, { method: "PATCH", body: { note: "x" }, etag: etagOf(shipped.body) })
    expect(after.status).toBe(403)
  })

  it("rows of another shop cannot be pointed at", async () => {
    // The other shop's customers follow those of this one.
    const body = { customer_id: String(customers + 1), owner_id: "seller-2", ship_country: "DE" }
    expect((await ask("admin", "/v1/orders", { method: "POST", body })).status).toBe(400)
    expect(
      (await ask("admin", "/v1/orders", { method: "POST", body: { ...body, customer_id: String(customers) } })).status
    ).toBe(
      201
    )
  })
})

describe("the commands beside it", () => {
  it("the printed one makes another account, which is a member of the staff", async () => {
    const command = example.printed.split("\n").find((line) => line.includes("users create you@example.com"))
    const { code, stdout } = await run("sh", ["-c", command ?? "false"], { cwd: "/" })
    expect(code).toBe(0)
    expect(stdout).toMatch(/^Created you@example\.com \(admin\)\.\nPassword: \S{20,}\n$/)
    expect((await list("admin", "staff?filter=email=you@example.com")).items).toMatchObject([{ active: true }])
  })

  it("the doctor finds nothing", async () => {
    const args = [
      "--conditions=source",
      "composition/cli/main.ts",
      "doctor",
      "--all",
      "--config",
      "examples/shop/admin.config.ts"
    ]
    const { code, stdout } = await run(process.execPath, args, { cwd: checkout.folder })
    expect(stdout.trim()).toBe("Nothing to mend.")
    expect(code).toBe(0)
  })

  it("a second example on the same port says what to do", async () => {
    const { code, stderr } = await startAndFail(checkout, [], { PORT: String(port) })
    expect(code).toBe(1)
    expect(stderr).toContain(`Port ${port} of 127.0.0.1 cannot be opened (EADDRINUSE)`)
    expect(stderr).toContain("PORT=5174 npm start")
  })

  it("a folder for data that cannot be made is named, without a stack", async () => {
    const { code, stderr } = await startAndFail(checkout, [], { SERVICE_DATA: "package.json/data" })
    expect(code).toBe(1)
    expect(stderr).toMatch(/ENOTDIR.*package\.json/)
    expect(stderr).toContain("SERVICE_DATA")
    expect(stderr).not.toMatch(/^ {4}at /m)
  })

  it.each([["--scale=lots"], ["--tiny"]])("refuses %s with the usage", async (...args) => {
    const { code, stderr } = await startAndFail(checkout, args, {})
    expect(code).toBe(1)
    expect(stderr).toContain("npm start -- [--scale <orders>] [--demo]")
  })
})

describe("the second start", () => {
  it("ends on Ctrl-C, finds everything again, and shows no password", async () => {
    const before = await list("admin", "orders?page_size=1&count=exact&show_deleted=true")
    expect(await example.stop()).toBe(0)
    example = await startExample(checkout, port, ["--scale", "100"])
    expect(example.printed).toContain(`Found a furniture shop with ${before.total_size.toLocaleString("en")} orders.`)
    expect(example.printed).toContain("--scale counts only where there are no data yet.")
    expect([...example.passwords.keys()]).toEqual([])
    // What was issued before the restart is still good: the secret and the keys were kept.
    expect((await list("admin", "orders?page_size=1&count=exact&show_deleted=true")).total_size).toBe(before.total_size)
  })
})

describe("on a database of somebody else", () => {
  it("works as on the embedded one, loses no password when it is killed, and prints neither its URL nor the secret", async () => {
    const database = await openDatabase()
    const env = { DATABASE_URL: database.url, PORT: String(await freePort()) }
    let other: Example | undefined
    try {
      const first = await startAndKill(checkout, ["--scale", "100", "--demo"], env)
      expect(first.passwords.has("admin")).toBe(true)
      expect(first.printed).toContain("Generated a furniture shop with 100 orders.")
      // The database may still be at what it was asked last.
      await database.disconnectAll()
      other = await startExample(checkout, Number(env.PORT), ["--demo"], { DATABASE_URL: database.url })
      // Each account was made by one start or the other; the password shown by the one that made it is the one that counts.
      const passwords = new Map([...first.passwords, ...other.passwords])
      expect([...passwords.keys()].toSorted()).toEqual(["admin", "sales", "viewer"])
      for (const [role, password] of passwords) {
        const signedIn = await fetch(`${other.url}/api/auth/sign-in/email`, {
          method: "POST",
          headers: { "content-type": "application/json" },
          body: JSON.stringify({ email: `${role}@shop.example`, password })
        })
        expect(signedIn.status, role).toBe(200)
      }

      const secret = readFileSync(join(checkout.folder, "data", "secret"), "utf8").trim()
      for (const { printed } of [first, other]) {
        expect(printed).not.toContain(database.url)
        expect(printed).not.toContain(secret)
      }
      // The printed lines and command, in the environment that the program was started with.
      const given = plainEnvironment({ DATABASE_URL: database.url })
      const [page = ""] = await paste(other.lines, given)
      expect((JSON.parse(page) as Page).items.length).toBeGreaterThan(0)
      const command = other.printed.split("\n").find((line) => line.includes("users create you@example.com"))
      const { stderr, stdout } = await run("sh", ["-c", command ?? "false"], { cwd: "/", env: given })
      expect(stdout, stderr).toContain("Created you@example.com (admin).")
      expect(await other.stop()).toBe(0)
    } finally {
      await other?.stop()
      await database.drop()
    }
  })

  it("leaves a schema of the same name alone", async () => {
    const database = await openDatabase("create schema shop; create table shop.orders (id int)")
    try {
      const { code, stderr } = await startAndFail(checkout, [], { DATABASE_URL: database.url })
      expect(code).toBe(1)
      expect(stderr).toContain("This database already has a schema \"shop\"")
      expect(await database.rows("select count(*)::text from information_schema.tables where table_schema = 'shop'"))
        .toEqual([["1"]])
    } finally {
      await database.drop()
    }
  })
})
