import { describe, expect, it } from "vitest"
import {
  type AccountAct,
  type ActRefusal,
  isActiveAdmin,
  isHome,
  judgeAct,
  managesAccounts,
  rolesNow
} from "./authority.ts"

const admin = { id: "ada", role: "admin", barred: false }
const acts: readonly AccountAct[] = [
  "read",
  "change",
  "ban",
  "delete",
  "set-password",
  "revoke",
  "send-link",
  "take-factor",
  "take-passkeys"
]

describe("rights over accounts", () => {
  it.each(["user", "sales", "Admin", "administrator", "constructor", "", "admin "])("are not those of %j", (role) => {
    expect(managesAccounts(role)).toBe(false)
  })

  it.each([
    [admin, true],
    [{ ...admin, role: "sales, admin" }, true],
    [{ ...admin, role: "sales,administrator" }, false],
    [{ ...admin, role: "" }, false],
    [{ ...admin, barred: true }, false]
  ])("of %j: %s", (standing, expected) => expect(isActiveAdmin(standing)).toBe(expected))

  it.each(acts)("are asked for %s", (act) => {
    for (const by of [{ ...admin, role: "sales" }, { ...admin, barred: true }]) {
      for (const  of of["ada", "bob"]) expect(judgeAct(act, by, of)).toBe("not-an-admin")
    }
    expect(judgeAct(act, admin, "bob")).toBeNull()
  })

  it.each<[AccountAct, ActRefusal | null]>([
    ["read", null],
    ["change", null],
    ["ban", "own-account"],
    ["delete", "own-account"],
    ["set-password", null],
    ["revoke", null],
    ["send-link", null],
    ["take-factor", "own-account"],
    ["take-passkeys", "own-account"]
  ])("over the own account: %s is %j", (act, expected) => expect(judgeAct(act, admin, "ada")).toBe(expected))
})

describe("roles that an account has now", () => {
  it.each([
    ["sales", false, ["sales"]],
    ["sales, finance,sales", false, ["sales", "finance"]],
    ["sales", true, null],
    ["", false, null],
    [" , ", false, null]
  ])("%j, barred %s: %j", (role, barred, expected) => expect(rolesNow({ role, barred })).toEqual(expected))

  it.each<[string | number | undefined, string | null, boolean]>([
    [undefined, null, true],
    [7, null, true],
    [7, "7", true],
    ["7", "7", true],
    [7, "8", false],
    [7, "07", false],
    [undefined, "7", false],
    [undefined, "undefined", false],
    // An empty text names no tenant.
    [undefined, "", true],
    [0, "0", true]
  ])(
    "with the home %j are those of the tenant %j: %s",
    (home, tenant, expected) => expect(isHome(home, tenant)).toBe(expected)
  )
})
