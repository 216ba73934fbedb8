import * as Result from "effect/Result"
import { describe, expect, it } from "vitest"
import { rolesOf } from "../value/role.ts"
import { checkPassword, readEmail, readLifetime } from "./account.ts"
import { clientOf } from "./client.ts"
import { declareRoles, readRoles, type RoleList, roleOfNew } from "./roles.ts"

const outcome = <A>(result: Result.Result<A, { readonly code: string }>): A | { readonly refused: string } =>
  Result.isSuccess(result) ? result.success : { refused: result.failure.code }

const listOf = (roles?: readonly string[], defaultRole?: string): RoleList =>
  Result.getOrThrow(declareRoles(roles, defaultRole))

describe("the list of roles", () => {
  it.each([
    [undefined, undefined, ["admin", "user"], "user"],
    [["sales"], undefined, ["admin", "sales"], "sales"],
    [["sales", "admin"], undefined, ["admin", "sales"], "sales"],
    [["sales", "sales", "finance"], undefined, ["admin", "sales", "finance"], undefined],
    [["sales", "finance"], "finance", ["admin", "sales", "finance"], "finance"],
    [["admin"], undefined, ["admin"], undefined],
    [[], undefined, ["admin"], undefined]
  ])("%j with default %j is %j with default %j", (roles, given, choices, defaultRole) => {
    expect(listOf(roles, given)).toEqual({ choices, defaultRole })
  })

  it.each([["Sales"], ["a b"], [""], ["a,b"], ["ä"], ["x".repeat(65)]])("refuses the name %j", (name) => {
    expect(outcome(declareRoles([name], undefined))).toEqual({ refused: "invalid-roles" })
  })

  it.each([5, null, true, ["sales"], {}])("refuses a role that is no text: %j", (role) => {
    expect(outcome(declareRoles([role] as unknown as readonly string[], undefined))).toEqual({
      refused: "invalid-roles"
    })
  })

  it("refuses a default role that is not listed", () => {
    expect(outcome(declareRoles(["sales"], "finance"))).toEqual({ refused: "invalid-roles" })
  })
})

describe("roles of an account", () => {
  const list = listOf(["sales", "finance"])

  it.each([
    ["sales", "sales"],
    [" sales , finance,sales", "sales,finance"],
    [["finance", "admin"], "finance,admin"],
    ["", { refused: "role-required" }],
    [[], { refused: "role-required" }],
    ["boss", { refused: "unknown-role" }],
    ["sales,boss", { refused: "unknown-role" }],
    ["constructor", { refused: "unknown-role" }],
    ["Admin", { refused: "unknown-role" }]
  ])("%j reads as %j", (given, expected) => {
    expect(outcome(readRoles(list, given))).toEqual(expected)
  })

  it.each([
    [undefined, true, "admin"],
    ["sales", true, "admin"],
    ["sales,admin", true, "sales,admin"],
    ["boss", true, { refused: "unknown-role" }],
    ["sales", false, "sales"],
    [undefined, false, { refused: "role-required" }]
  ])("a new account given %j (first: %j) gets %j", (given, first, expected) => {
    expect(outcome(roleOfNew(list, given, first))).toEqual(expected)
  })

  it("names the choices when one must be made", () => {
    const refused = roleOfNew(list, undefined, false)
    expect(Result.isFailure(refused) && refused.failure.message).toContain("admin, sales, finance")
  })

  it("takes the default when there is one", () => {
    expect(outcome(roleOfNew(listOf(), undefined, false))).toBe("user")
  })

  it("splits a stored text", () => {
    expect(rolesOf("sales, ,finance,sales")).toEqual(["sales", "finance"])
    expect(rolesOf("")).toEqual([])
  })
})

describe("an account's address, password and token lifetime", () => {
  it.each([
    [" Ann@Example.ORG ", "ann@example.org"],
    ["o'neil+x@mail.example.co", "o'neil+x@mail.example.co"],
    ["ann", { refused: "invalid-email" }],
    ["ann@localhost", { refused: "invalid-email" }],
    ["a..b@example.org", { refused: "invalid-email" }],
    ["a b@example.org", { refused: "invalid-email" }],
    ["a@b@example.org", { refused: "invalid-email" }],
    [`${"a".repeat(250)}@example.org`, { refused: "invalid-email" }]
  ])("%j reads as %j", (text, expected) => {
    expect(outcome(readEmail(text))).toEqual(expected)
  })

  it.each([[11, { refused: "weak-password" }], [12, "x".repeat(12)], [128, "x".repeat(128)], [
    129,
    { refused: "long-password" }
  ]])("a password of %i characters is %j", (length, expected) => {
    expect(outcome(checkPassword("x".repeat(length)))).toEqual(expected)
  })

  it.each([
    [undefined, 900],
    [1, 1],
    [86_400, 86_400],
    [0, { refused: "invalid-lifetime" }],
    [86_401, { refused: "invalid-lifetime" }],
    [1.5, { refused: "invalid-lifetime" }],
    [NaN, { refused: "invalid-lifetime" }]
  ])("a lifetime of %j seconds is %j", (seconds, expected) => {
    expect(outcome(readLifetime(seconds))).toEqual(expected)
  })
})

describe("the client of a request", () => {
  it.each([
    // socket, X-Forwarded-For, trusted proxies, group
    ["10.0.0.1", null, 0, "10.0.0.1"],
    ["10.0.0.1", "1.2.3.4", 0, "10.0.0.1"],
    ["10.0.0.1", "1.2.3.4", 1, "1.2.3.4"],
    ["10.0.0.1", "9.9.9.9, 1.2.3.4", 1, "1.2.3.4"],
    ["10.0.0.1", "9.9.9.9, 1.2.3.4, 5.6.7.8", 2, "1.2.3.4"],
    ["10.0.0.1", "1.2.3.4", 2, "10.0.0.1"],
    ["10.0.0.1", "nonsense", 1, "10.0.0.1"],
    ["10.0.0.1", "", 1, "10.0.0.1"],
    ["10.0.0.1", "1.2.3.4:5678", 1, "1.2.3.4"],
    ["10.0.0.1", "[2001:db8:1:2:3:4:5:6]:443", 1, "2001:db8:1:2::/64"],
    ["2001:DB8:1:2::1", null, 0, "2001:db8:1:2::/64"],
    ["2001:db8:1:2:ffff::", null, 0, "2001:db8:1:2::/64"],
    ["::1", null, 0, "0:0:0:0::/64"],
    ["fe80::1%eth0", null, 0, "fe80:0:0:0::/64"],
    ["::ffff:1.2.3.4", null, 0, "1.2.3.4"],
    ["::ffff:102:304", null, 0, "1.2.3.4"],
    ["1.2.3.256", null, 0, "unknown"],
    ["1:2:3", null, 0, "unknown"],
    ["1::2::3", null, 0, "unknown"],
    [null, "1.2.3.4", 0, "unknown"],
    [null, null, 1, "unknown"]
  ])("socket %j, header %j, %i proxies: %s", (socket, header, proxies, group) => {
    expect(clientOf(socket, header, proxies).group).toBe(group)
  })
})
