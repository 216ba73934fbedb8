import { describe, expect, it } from "vitest"
import { type AccountChange, type CredentialKind, endings, ends, raisedBy } from "./ending.ts"

const changes = Object.keys(endings) as readonly AccountChange[]

describe("a change of an account", () => {
  it.each<[AccountChange, readonly CredentialKind[]]>([
    ["address", ["links"]],
    ["ban", ["sessions", "tokens", "waiting", "devices", "links"]],
    ["unban", ["tokens", "waiting", "devices", "links"]],
    ["role", ["tokens", "waiting", "devices"]],
    ["password", ["sessions", "tokens", "waiting", "devices", "links"]],
    ["factor-off", ["devices"]],
    ["factor-taken", ["sessions", "tokens", "waiting", "devices", "links"]],
    ["passkeys-taken", ["sessions", "tokens", "waiting", "devices", "links"]],
    ["revocation", ["sessions", "tokens", "waiting", "devices", "links"]],
    ["deletion", ["sessions", "tokens", "waiting", "devices", "links"]]
  ])("%s ends %j", (change, held) => expect(endings[change]).toEqual(held))

  it("that ends sessions ends all that could make one again", () => {
    for (const change of changes.filter((each) => ends(each, "sessions"))) {
      for (const held of ["tokens", "waiting", "devices", "links"] as const) {
        expect(ends(change, held), `${change}: ${held}`).toBe(true)
      }
    }
  })

  it("that ends tokens ends the sign-ins that are under way", () => {
    for (const change of changes) expect(ends(change, "waiting"), change).toBe(ends(change, "tokens"))
  })

  it("raises the epoch where it ends tokens, and no request does that changes nothing", () => {
    expect(changes.filter((change) => raisedBy(change) === 0n)).toEqual(["address", "factor-off"])
    expect(changes.every((change) => raisedBy(change) <= 1n)).toBe(true)
    expect(raisedBy(null)).toBe(0n)
  })
})
