import { describe, expect, it } from "vitest"
import {
  coversTenants,
  declaredHost,
  hostName,
  hostsOf,
  tenantOfHost,
  tenantOfPath,
  type Tenants,
  tenantSaid,
  urlOfTenant
} from "./tenants.ts"

const tenants = (more: Partial<Tenants> = {}): Tenants => ({
  by: "host",
  hosts: new Map([["acme.example.com", "1"], ["shop.acme.com", "1"], ["globex.example.com", "2"]]),
  suffix: null,
  prefix: "",
  lookup: null,
  known: new Set(["1", "2"]),
  fits: (tenant) => /^[a-z0-9]+$/.test(tenant),
  ...more
})

describe("the name of a host", () => {
  it.each([
    ["acme.example.com", "acme.example.com"],
    ["ACME.Example.COM", "acme.example.com"],
    ["acme.example.com:8443", "acme.example.com"],
    ["acme.example.com:", "acme.example.com"],
    ["acme.example.com.", "acme.example.com"],
    ["acme.example.com.:80", "acme.example.com"],
    ["xn--bcher-kva.example", "xn--bcher-kva.example"],
    ["localhost", "localhost"],
    ["127.0.0.1:5173", "127.0.0.1"]
  ])("%s is %s", (sent, name) => {
    expect(hostName(sent)).toBe(name)
  })

  it.each([
    null,
    "",
    ".",
    "..",
    "acme.example.com..",
    "acme..example.com",
    ".example.com",
    "-acme.example.com",
    "acme-.example.com",
    "acme.example.com:80:80",
    "acme.example.com:999999",
    "acme.example.com:80x",
    "acme.example.com@evil.example",
    "evil.example/acme.example.com",
    "acme.example.com evil.example",
    "acme.example.com,evil.example",
    "acme%2eexample.com",
    "acme_x.example.com",
    "bücher.example",
    "ａcme.example.com",
    "acme.example.com\u0000",
    "[::1]",
    `${"a".repeat(64)}.example.com`,
    `${"a.".repeat(127)}com`
  ])("%j is none", (sent) => {
    expect(hostName(sent)).toBeNull()
  })

  it("is read from what people write", () => {
    expect(declaredHost("Bücher.example")).toBe("xn--bcher-kva.example")
    expect(declaredHost("ACME.example.com.")).toBe("acme.example.com")
    for (
      const wrong of [
        "",
        "https://a.example",
        "a.example/x",
        "a.example:8080",
        "a@b.example",
        "a b.example",
        "[::1]",
        "a?b"
      ]
    ) {
      expect([wrong, declaredHost(wrong)]).toEqual([wrong, null])
    }
  })
})

describe("the tenant of a host", () => {
  it("is that of a listed host, and no other's", () => {
    const found = (host: string) => tenantOfHost(tenants(), host)
    expect(found("acme.example.com")).toEqual({ tenant: "1" })
    expect(found("shop.acme.com")).toEqual({ tenant: "1" })
    for (
      const host of ["example.com", "x.acme.example.com", "acme.example.com.evil.example", "constructor", "localhost"]
    ) {
      expect([host, found(host)]).toEqual([host, { tenant: null }])
    }
  })

  it("is one label before a suffix, of the tenants that there are", () => {
    const all = tenants({ hosts: new Map(), suffix: ".admin.example.com", known: null })
    const some = { ...all, known: new Set(["acme"]) }
    expect(tenantOfHost(all, "acme.admin.example.com")).toEqual({ tenant: "acme" })
    expect(tenantOfHost(all, "globex.admin.example.com")).toEqual({ tenant: "globex" })
    expect(tenantOfHost(some, "globex.admin.example.com")).toEqual({ tenant: null })
    for (
      const host of ["admin.example.com", "a.b.admin.example.com", "xadmin.example.com", "acme-x.admin.example.com"]
    ) {
      expect([host, tenantOfHost(all, host)]).toEqual([host, { tenant: null }])
    }
  })

  it("is asked of a lookup where nothing else says it, whose answer has to fit", () => {
    const asking = tenants({ lookup: () => null, known: null })
    expect(tenantOfHost(asking, "acme.example.com")).toEqual({ tenant: "1" })
    expect(tenantOfHost(asking, "new.example.com")).toBe("ask")
    expect(["7", 7, null, undefined, "", "NO", {}, 1.5, ["7"]].map((said) => tenantSaid(asking, said)))
      .toEqual(["7", "7", null, null, null, null, null, null, null])
  })
})

it("the tenant of a path is its first segment behind the prefix", () => {
  const paths = tenants({ by: "path", hosts: new Map(), prefix: "/t", known: new Set(["acme"]) })
  expect(tenantOfPath(paths, "/t/acme/api/v1/orders")).toEqual({ tenant: "acme", cut: 7 })
  expect(tenantOfPath(paths, "/t/acme")).toEqual({ tenant: "acme", cut: 7 })
  for (
    const path of [
      "/",
      "/t",
      "/t/",
      "/t//acme/api",
      "/tacme",
      "/t/globex/api",
      "/T/acme/",
      "/t/ACME/",
      "/t/%61cme/",
      "/t/acme%2f/",
      "/x/t/acme/"
    ]
  ) {
    expect([path, tenantOfPath(paths, path)]).toEqual([path, null])
  }
  expect(urlOfTenant(paths, "acme", "https://admin.example.com/")).toBe("https://admin.example.com/t/acme")
})

it("the URL of a tenant has its first host, and what AUTH_URL says besides", () => {
  const base = "https://admin.example.com:8443/office/"
  expect(urlOfTenant(tenants(), "1", base)).toBe("https://acme.example.com:8443/office")
  expect(hostsOf(tenants(), "1")).toEqual(["acme.example.com", "shop.acme.com"])
  expect(urlOfTenant(tenants(), "3", base)).toBeNull()
  const suffixed = tenants({ hosts: new Map(), suffix: ".admin.example.com", known: new Set(["acme"]) })
  expect(urlOfTenant(suffixed, "acme", "http://localhost:5173")).toBe("http://acme.admin.example.com:5173")
})

it("an origin covers tenants where one of their pages could have it", () => {
  const suffixed = tenants({ suffix: ".admin.example.com" })
  for (
    const origin of [
      "https://acme.example.com",
      "http://acme.example.com:8080",
      "https://*.example.com",
      "https://*.admin.example.com",
      "https://x.admin.example.com",
      "https://*.x.admin.example.com"
    ]
  ) {
    expect([origin, coversTenants(suffixed, origin)]).toEqual([origin, true])
  }
  for (const origin of ["https://panel.example.org", "https://*.example.org", "https://example.com"]) {
    expect([origin, coversTenants(suffixed, origin)]).toEqual([origin, false])
  }
})
