import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { describe, expect, it, onTestFinished, vi } from "vitest"
import type { TenantLookup, Tenants } from "../core/domain/account/tenants.ts"
import { accountsSchema, makeEdgeTenants, ofTenant, tenantJobs, tenantSecret } from "./tenants.ts"

const tenantsOf = (lookup: TenantLookup): Tenants => ({
  by: "host",
  hosts: new Map([["a.example", "1"]]),
  suffix: null,
  prefix: "",
  lookup,
  known: null,
  fits: (tenant) => tenant !== "bad"
})

describe("the schema of a tenant's accounts", () => {
  it("is plain where the tenant is", () => {
    expect(accountsSchema("auth", "acme")).toBe("auth_acme")
    expect(accountsSchema("auth", "7")).toBe("auth_7")
  })

  it("is another for each tenant, and a name that PostgreSQL keeps", () => {
    const tenants = [
      "acme",
      "Acme",
      "ac-me",
      "ac_me",
      "ac me",
      "9f1c2d3e-0000-4000-8000-000000000001",
      "é",
      "x".repeat(200),
      "x".repeat(201),
      "acme_1"
    ]
    const names = tenants.map((tenant) => accountsSchema("auth", tenant))
    expect(new Set(names).size).toBe(tenants.length)
    for (const name of names) expect(name).toMatch(/^[a-z_][a-z0-9_]{0,62}$/)
    expect(accountsSchema("s".repeat(63), "acme").length).toBeLessThanOrEqual(63)
  })
})

it("a tenant's secret follows from both, and from nothing else", () => {
  const secret = "a secret that is long enough for everything"
  const made = ["1", "2", "11"].map((tenant) => tenantSecret(secret, tenant))
  expect(new Set([secret, ...made]).size).toBe(4)
  expect(made[0]).toBe(tenantSecret(secret, "1"))
  for (const one of made) expect(one.length).toBeGreaterThanOrEqual(32)
})

describe("lookups of hosts", () => {
  const ask = async (edge: ReturnType<typeof makeEdgeTenants>, host: string) => {
    const exit = await Effect.runPromiseExit(edge.placeOf(host, "/"))
    return Exit.isSuccess(exit) ? exit.value?.tenant ?? null : "503"
  }

  it("ask once for each host, at the same time too, and nobody for a host that is listed or none", async () => {
    const lookup = vi.fn(async (host: string) => host === "b.example" ? 2 : null)
    const edge = makeEdgeTenants(tenantsOf(lookup), "https://admin.example:8443", null, () => {})
    expect(await Promise.all(["b.example", "B.example:80", "b.example."].map((host) => ask(edge, host)))).toEqual([
      "2",
      "2",
      "2"
    ])
    expect(await ask(edge, "b.example")).toBe("2")
    expect(await ask(edge, "c.example")).toBeNull()
    expect(await ask(edge, "c.example")).toBeNull()
    expect(await ask(edge, "a.example")).toBe("1")
    expect(await ask(edge, "[::1]")).toBeNull()
    expect(lookup.mock.calls).toEqual([["b.example"], ["c.example"]])
    const place = await Effect.runPromise(edge.placeOf("b.example", "/"))
    expect(place).toEqual({ tenant: "2", url: "https://b.example:8443", origin: "https://b.example:8443", cut: "" })
  })

  it("forget the hosts that were asked for longest ago", async () => {
    const lookup = vi.fn((host: string) => host.split(".")[0] ?? null)
    const edge = makeEdgeTenants(tenantsOf(lookup), "https://admin.example", null, () => {}, { hosts: 2 })
    for (const host of ["b.example", "c.example", "d.example", "b.example"]) await ask(edge, host)
    expect(lookup).toHaveBeenCalledTimes(4)
  })

  it("are forgotten for no host that is of none, however many of these are named", async () => {
    const lookup = vi.fn((host: string) => host === "b.example" ? "2" : null)
    const edge = makeEdgeTenants(tenantsOf(lookup), "https://admin.example", null, () => {}, { hosts: 2 })
    for (const host of ["b.example", "x1.example", "x2.example", "x3.example", "b.example"]) await ask(edge, host)
    expect(lookup).toHaveBeenCalledTimes(4)
  })

  it("leave a host what it was while nobody answers, and not for ever", async () => {
    let answer = (): string => "2"
    const clock = vi.spyOn(performance, "now")
    onTestFinished(() => clock.mockRestore())
    const edge = makeEdgeTenants(tenantsOf(() => answer()), "https://admin.example", null, () => {}, { keptMs: 1_000 })
    clock.mockReturnValue(0)
    expect(await ask(edge, "b.example")).toBe("2")
    answer = () => {
      throw new Error("away")
    }
    clock.mockReturnValue(9_999)
    expect(await ask(edge, "b.example")).toBe("2")
    clock.mockReturnValue(10_000)
    expect(await ask(edge, "b.example")).toBe("503")
    answer = () => "3"
    expect(await ask(edge, "b.example")).toBe("3")
  })

  it("go on for hosts that are known while strangers name as many others as may be asked for", async () => {
    const clock = vi.spyOn(performance, "now").mockReturnValue(0)
    onTestFinished(() => clock.mockRestore())
    const held = Promise.withResolvers<null>()
    const edge = makeEdgeTenants(
      tenantsOf((host) => host === "b.example" ? "2" : held.promise),
      "https://admin.example",
      null,
      () => {},
      { asking: 1, keptMs: 100 }
    )
    expect(await ask(edge, "b.example")).toBe("2")
    const stranger = ask(edge, "c.example")
    // Longer than what was said lasts while nobody answers.
    clock.mockReturnValue(10_000)
    expect(await ask(edge, "b.example")).toBe("2")
    expect(await ask(edge, "d.example")).toBe("503")
    held.resolve(null)
    expect(await stranger).toBeNull()
    expect(await ask(edge, "d.example")).toBeNull()
  })

  it("that fail, are late or too many are a 503, and are not remembered", async () => {
    const failures: unknown[] = []
    const answers = new Map<string, () => Promise<string>>([
      ["b.example", () => Promise.reject(new Error("away"))],
      // It answers after the limit, which is one turn.
      ["c.example", () => new Promise((resolve) => setTimeout(resolve, 200, "3"))],
      ["d.example", () => {
        throw new Error("broken")
      }],
      ["e.example", () => Promise.resolve("bad")]
    ])
    const edge = makeEdgeTenants(
      tenantsOf((host) => answers.get(host)!()),
      "https://admin.example",
      null,
      (error) => void failures.push(error),
      { timeMs: 1, asking: 1 }
    )
    expect(await ask(edge, "b.example")).toBe("503")
    answers.set("b.example", () => Promise.resolve("2"))
    expect(await ask(edge, "b.example")).toBe("2")
    expect(await Promise.all([ask(edge, "c.example"), ask(edge, "d.example")])).toEqual(["503", "503"])
    expect(await ask(edge, "d.example")).toBe("503")
    expect(await ask(edge, "e.example")).toBeNull()
    expect(failures).toHaveLength(4)
  })
})

it("jobs about accounts run with the tenant of their payload, and with no other", async () => {
  const [plan] = ofTenant("1", [{
    name: "accounts.invite",
    payload: JSON.stringify({ user: "ann", tenant: "2" }),
    runAt: null,
    delayMs: null,
    priority: 0,
    key: "ann",
    mode: "dedupe",
    group: null,
    ordered: false,
    maxAttempts: 1
  }])
  expect(plan).toMatchObject({ payload: JSON.stringify({ user: "ann", tenant: "1" }), key: "1 ann" })
  const ran: unknown[] = []
  const authOf = (tenant: string) => ({
    mailer: {
      jobs: new Map([["accounts.invite", {
        name: "accounts.invite",
        run: (payload: unknown) => void ran.push([tenant, payload])
      }]])
    }
  })
  const job = tenantJobs(new Map([["1", authOf("1")], ["2", authOf("2")]]) as never).get("accounts.invite")
  await job?.run(JSON.parse(plan?.payload ?? ""), {} as never)
  expect(ran).toEqual([["1", { user: "ann", tenant: "1" }]])
  expect(() => job?.run({ user: "ann", tenant: "3" }, {} as never)).toThrow("does not have")
  expect(() => job?.run({ user: "ann" }, {} as never)).toThrow("does not have")
})
