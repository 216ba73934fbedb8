import * as Result from "effect/Result"
import { describe, expect, it } from "vitest"
import { admitsEmail, judgeProvided, readProviders } from "./identity-provider.ts"

const good = { id: "corp", issuer: "https://id.example.org/", clientId: "admin", clientSecret: "s" }

const refusal = (raw: unknown, role: string | undefined = "user"): string | undefined => {
  const read = readProviders(raw, role)
  return Result.isFailure(read) ? read.failure.message : undefined
}

describe("identity providers", () => {
  it("read with their defaults", () => {
    expect(Result.getOrThrow(readProviders([good], "user"))).toEqual([{
      id: "corp",
      name: "corp",
      issuer: "https://id.example.org",
      clientId: "admin",
      clientSecret: "s",
      scopes: ["openid", "email", "profile"],
      domains: null,
      createUsers: false
    }])
    expect(Result.getOrThrow(readProviders(undefined, undefined))).toEqual([])
    expect(refusal([{ ...good, issuer: "http://127.0.0.1:8080/realm" }])).toBeUndefined()
  })

  it.each<[string, unknown, RegExp]>([
    ["no list", {}, /not a list/],
    ["no object", ["corp"], /auth\.oidc\[0\]/],
    ["an unknown setting", [{ ...good, creteUsers: true }], /creteUsers/],
    ["an id with a slash", [{ ...good, id: "a/b" }], /id must/],
    ["the id of passwords", [{ ...good, id: "credential" }], /id must/],
    ["an id twice", [good, good], /is given twice/],
    ["plain http", [{ ...good, issuer: "http://id.example.org" }], /https/],
    ["an issuer with a password", [{ ...good, issuer: "https://a:b@id.example.org" }], /https/],
    ["an issuer with a query", [{ ...good, issuer: "https://id.example.org?x=1" }], /https/],
    ["a look-alike of this machine", [{ ...good, issuer: "http://localhost.example.org" }], /https/],
    ["no client", [{ ...good, clientId: " " }], /clientId/],
    ["an empty secret", [{ ...good, clientSecret: "" }], /clientSecret/],
    ["a wildcard domain", [{ ...good, domains: ["*.example.org"] }], /domains/],
    ["no domain", [{ ...good, domains: [] }], /domains/],
    ["accounts for everybody", [{ ...good, createUsers: true }], /needs domains/]
  ])("refuse %s", (_, raw, message) => expect(refusal(raw)).toMatch(message))

  it.each([undefined, "admin"])("never make accounts with the role %j", (role) => {
    const read = readProviders([{ ...good, domains: ["example.org"], createUsers: true }], role)
    expect(Result.isFailure(read) && read.failure.message).toMatch(/default role/)
  })

  it.each([
    ["ann@example.org", true],
    ["ann@EXAMPLE.org", true],
    ["ann@sub.example.org", false],
    ["ann@example.org.evil.example", false],
    ["ann@evil.example@example.org.x", false],
    ["example.org", false],
    ["@example.org", false]
  ])("admit %s by domain: %j", (email, expected) => {
    const [provider] = Result.getOrThrow(readProviders([{ ...good, domains: ["Example.org"] }], undefined))
    if (provider === undefined) throw new Error("no provider")
    expect(admitsEmail(provider, email)).toBe(expected)
  })
})

describe("a person from a provider", () => {
  const read = (more: object) => Result.getOrThrow(readProviders([{ ...good, ...more }], "user"))[0]
  const open = read({})
  const closed = read({ domains: ["example.org"] })
  const making = read({ domains: ["example.org"], createUsers: true })
  const ann = { began: "corp", linked: true, creates: false, email: "ann@example.org", verified: true }
  const link = { ...ann, linked: false }
  const fresh = { ...link, creates: true }
  it.each([
    [open, ann, "may"],
    [open, { ...ann, verified: false }, "may"],
    [open, link, "may"],
    [open, fresh, "signup_disabled"],
    [closed, ann, "may"],
    [closed, fresh, "signup_disabled"],
    [making, fresh, "unless-first"],
    [undefined, ann, "oauth_provider_not_found"],
    // Another provider, or nobody, began this sign-in.
    [open, { ...ann, began: "other" }, "state_mismatch"],
    [open, { ...ann, began: undefined }, "state_mismatch"],
    // Whoever has an account here must not lose it to somebody who only claims its address.
    [open, { ...link, verified: false }, "email_not_verified"],
    [making, { ...fresh, verified: false }, "email_not_verified"],
    [closed, { ...ann, verified: false }, "domain_not_allowed"],
    [closed, { ...ann, email: "ann@example.com" }, "domain_not_allowed"],
    [making, { ...fresh, email: "ann@example.org.evil.example" }, "domain_not_allowed"]
  ])("of %j, %j: %s", (provider, person, expected) => expect(judgeProvided(provider, person)).toBe(expected))
})
