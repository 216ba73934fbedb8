import * as Result from "effect/Result"
import { describe, expect, it } from "vitest"
import type { AuthDeclaration, Config } from "../declare/config.ts"
import { f } from "../declare/field.ts"
import { defineResource } from "../declare/resource.ts"
import { fromHost, fromPath } from "../declare/tenants.ts"
import { compileModels } from "./compile.ts"

const notes = defineResource("notes", {
  primaryKey: "id",
  tenant: "tenant_id",
  fields: { id: f.integer(), tenant_id: f.integer().bits(64), body: f.text() }
})

const configOf = (auth: object, more: Partial<Config> = {}): Config => ({
  resources: [notes],
  auth: auth as AuthDeclaration,
  ...more
})

const refusalsOf = (config: Config): readonly string[] => {
  const compiled = compileModels(config)
  return Result.isFailure(compiled) ? compiled.failure.map(({ fix, message }) => `${message} ${fix}`) : []
}

const compiledOf = (config: Config) => Result.getOrThrow(compileModels(config))

const authenticate = () => ({ user: { id: "ann", roles: [] } })

it("hosts, their tenants and URLs are compiled", () => {
  const { auth, tenants } = compiledOf(
    configOf({ tenant: fromHost({ hosts: { "Acme.example.com": 1, "b.example": "2" } }) })
  )
  expect(auth).toEqual({})
  expect(tenants).toMatchObject({ by: "host", suffix: null, lookup: null })
  expect([...tenants?.hosts ?? []]).toEqual([["acme.example.com", "1"], ["b.example", "2"]])
  expect([...tenants?.known ?? []]).toEqual(["1", "2"])
})

it("without a source nothing of it is there", () => {
  expect(compiledOf(configOf({ tenant: 7 }))).toMatchObject({ auth: { tenant: 7 }, tenants: null })
  expect(compiledOf(configOf({})).tenants).toBeNull()
})

it("which tenants there are may stay open where another server keeps the accounts", () => {
  const open = { tenant: fromHost({ suffix: ".example.com", tenantOf: async () => null }) }
  expect(compiledOf(configOf(open, { authenticate })).tenants?.known).toBeNull()
  expect(refusalsOf(configOf(open))).toEqual([
    "auth.tenant leaves open which tenants there are, and this service keeps their accounts. List them: tenants: [\"acme\", \"globex\"]. Or let another server keep the accounts: authenticate: (request) => ({ user, tenant })."
  ])
})

describe("refusals", () => {
  const hosts = { "a.example": 1 }
  it.each<[string, object, Partial<Config>, RegExp]>([
    ["no host at all", { tenant: fromHost({}) }, {}, /fromHost names no host/],
    ["a scheme in a host", { tenant: fromHost({ hosts: { "https://a.example": 1 } }) }, {}, /which is no host/],
    ["a port in a host", { tenant: fromHost({ hosts: { "a.example:5173": 1 } }) }, {}, /which is no host/],
    ["one host twice", { tenant: fromHost({ hosts: { "a.example": 1, "A.example.": 1 } }) }, {}, /a\.example twice/],
    [
      "a tenant that no column holds",
      { tenant: fromHost({ hosts: { "a.example": "acme" } }) },
      {},
      /no value of the tenant/
    ],
    [
      "another way to write a tenant",
      { tenant: fromHost({ hosts: { "a.example": "07" } }) },
      {},
      /another way to write one/
    ],
    ["an empty tenant", { tenant: fromHost({ hosts: { "a.example": "" } }) }, {}, /hosts\["a\.example"\] is ""/],
    [
      "a suffix without its dot",
      { tenant: fromHost({ suffix: "example.com", tenants: [1] }) },
      {},
      /suffix is "example\.com"/
    ],
    ["tenants without hosts", { tenant: fromHost({ hosts, tenants: [2] }) }, {}, /"2" has no host/],
    [
      "one host of two tenants",
      {
        tenant: fromHost({ suffix: ".example", hosts: { "1.example": 2 }, tenants: [1] })
      },
      {},
      /1\.example is of "2", and by the suffix of "1"/
    ],
    ["a lookup that is none", { tenant: fromHost({ hosts, tenantOf: "x" as never }) }, {}, /not a function/],
    [
      "a word that is none",
      { tenant: fromHost({ hosts, host: hosts } as never) },
      {},
      /There is no property auth\.tenant\.host/
    ],
    ["a prefix without a slash", { tenant: fromPath({ prefix: "t", tenants: [1] }) }, {}, /prefix is "t"/],
    ["a prefix with a slash at its end", { tenant: fromPath({ prefix: "/t/", tenants: [1] }) }, {}, /prefix is/],
    ["open paths", { tenant: fromPath({ prefix: "/t" }) }, {}, /leaves open which tenants/],
    ["keys of another server", { tenant: fromHost({ hosts }), jwksUrl: "https://id.example/jwks" }, {}, /tenantClaim/],
    [
      "an app without a tenant",
      {
        tenant: fromHost({ hosts }),
        apps: [{ issuer: "https://shop.example", roles: {} }]
      },
      {},
      /auth\.apps\[0\] has no tenant/
    ],
    [
      "a provider whose people come into every tenant",
      {
        tenant: fromHost({ hosts }),
        roles: ["user"],
        defaultRole: "user",
        oidc: [
          { id: "known", issuer: "https://id.example", clientId: "a" },
          { id: "corp", issuer: "https://id.example", clientId: "a", domains: ["example.org"], createUsers: true }
        ]
      },
      {},
      /auth\.oidc\[1\]\.createUsers gives people of its domains an account at every tenant/
    ],
    [
      "one page for all links",
      { tenant: fromHost({ hosts }), mail: { invitations: true, page: "https://p.example" } },
      {},
      /auth\.mail\.page/
    ],
    [
      "one origin of passkeys",
      {
        tenant: fromHost({ hosts }),
        passkeys: { rpId: "example.org", origins: ["https://a.example.org"] }
      },
      {},
      /auth\.passkeys\.origins/
    ],
    [
      "a trusted origin that is a tenant's",
      {
        tenant: fromHost({ hosts: { "a.example.com": 1, "b.example.com": 2 } }),
        trustedOrigins: ["https://*.example.com"]
      },
      {},
      /pages of one tenant could use sessions of another/
    ],
    ["a tenant of all forms", { tenant: fromHost({ hosts }) }, { forms: { tenant: 1 } }, /forms\.tenant means nothing/]
  ])("%s", (_, auth, more, message) => {
    expect(refusalsOf(configOf(auth, more))).toEqual([expect.stringMatching(message)])
  })
})

it("stands beside authenticate, which answers the tenant of the person", () => {
  expect(refusalsOf(configOf({ tenant: fromHost({ hosts: { "a.example": 1 } }) }, { authenticate }))).toEqual([])
})
