/** Whom an entry about an account names: the account that a request was about, and whoever sent it. Nothing else of a request may choose either. */

import { expect, it } from "vitest"
import type { AccountChanged, AuthEvent } from "../../adapters/auth/auth-log.ts"
import { createUser } from "../../adapters/auth/users.ts"
import { ask, openStore, password, sessionOf } from "./store.ts"

it("names the account that better-auth changed, whatever else the body names", async () => {
  await using store = await openStore()
  const told: Array<AuthEvent & AccountChanged> = []
  const broken: unknown[] = []
  const auth = store.instance({
    roles: ["clerk"],
    onError: (cause) => void broken.push(cause),
    log: () => {
      throw new Error("the disk is full")
    }
  })
  auth.watch((entry, changed) => void told.push({ ...entry, ...changed }))
  const make = (name: string, role: string) => createUser(auth, { email: `${name}@example.org`, name, password, role })
  const [me, ann, bob] = [await make("Me", "admin"), await make("Ann", "clerk"), await make("Bob", "clerk")]
  const cookie = await sessionOf(auth, "me@example.org")
  const bobs = await sessionOf(auth, "bob@example.org")
  const tokenOf = (text: string) => decodeURIComponent(text.split("=", 2)[1] ?? "").split(".", 1)[0]
  const post = async (path: string, body: object, session = cookie) => {
    const before = told.length
    expect([path, (await ask(auth, "POST", path, { body, cookie: session })).status]).toEqual([path, 200])
    return told.slice(before).map(({ by, event, name, own, user }) => ({ event, user, name, by, own }))
  }

  const made = { email: "new@example.org", name: "New", password, role: "clerk", userId: ann.id }
  expect(await post("/admin/create-user", made)).toEqual([
    { event: "account-created", user: expect.not.stringContaining(ann.id), name: "New", by: me.id, own: false }
  ])
  expect(await post("/admin/set-role", { userId: ann.id, role: "clerk", sessionToken: tokenOf(cookie) })).toEqual([
    { event: "role-changed", user: ann.id, name: "Ann", by: me.id, own: false }
  ])
  expect(await post("/admin/revoke-user-session", { sessionToken: tokenOf(bobs), userId: ann.id })).toEqual([
    { event: "sessions-ended", user: bob.id, name: "Bob", by: me.id, own: false }
  ])
  // It ends the session that it came with.
  expect(await post("/revoke-sessions", {})).toEqual([
    { event: "sessions-ended", user: me.id, name: undefined, by: undefined, own: true }
  ])
  const again = await sessionOf(auth, "me@example.org")
  const [changed] = await post("/change-password", { currentPassword: password, newPassword: `${password}!` }, again)
  expect(changed).toMatchObject({ event: "password-changed", user: me.id, own: true })
  // A log that throws keeps nobody else from being told.
  expect(broken.length).toBe(told.length)
})
