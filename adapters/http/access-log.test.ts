import { expect, it } from "vitest"
import { errorLine, loggedPath } from "./access-log.ts"

it.each([
  ["/api/auth/sign-in/email", "/api/auth/sign-in/email"],
  ["/api/auth/reset-password/Zk3vQ8eFqW1", "/api/auth/reset-password/*"],
  ["/api/auth/callback/keycloak", "/api/auth/callback/keycloak"],
  ["/api/auth/verify/eyJhbGciOi.J9", "/api/auth/verify/*"],
  [`/api/auth/${"a".repeat(25)}`, "/api/auth/*"],
  ["/t/acme-2/api/auth/reset-password/Zk3vQ8eFqW1", "/t/acme-2/api/auth/reset-password/*"],
  ["/api/v1/orders/A7", "/api/v1/orders/A7"]
])("of %s the log has %s", (path, logged) => expect(loggedPath(path, "/api/auth")).toBe(logged))

it("the log has the first 512 characters of a path", () => {
  expect(loggedPath(`/${"x".repeat(600)}`, "/api/auth")).toBe(`/${"x".repeat(511)}…`)
})

it("of an error the log has its class, its code and its frames, and no word of its message", () => {
  const error = Object.assign(new TypeError("a secret\n    at a secret place"), { code: "23505" })
  const line = errorLine("unhandled error", "r1", error)
  expect(JSON.parse(line)).toMatchObject({ event: "unhandled error", id: "r1", error: "TypeError", code: "23505" })
  expect(line).not.toContain("secret")
  expect((JSON.parse(line) as { readonly frames: readonly string[] }).frames.length).toBeGreaterThan(0)
})
