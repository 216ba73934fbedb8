/** The client in Node against a whole service over HTTP: changes as they happen, versions and restoring, functions, the second factor. */

import * as library from "resource-admin/client"
import { createClient } from "resource-admin/client"
import { afterAll, beforeAll, expect, it } from "vitest"
import { openServer } from "../support/server.ts"
import type { TestServer } from "../support/server.ts"
import { codeAt, holdHalfMinute } from "../support/totp.ts"
import { call, enableFactor, follow, signInTwice } from "./calls.ts"
import { config, schema } from "./whole.ts"
import type { Whole } from "./whole.ts"

let service: TestServer
beforeAll(async () => {
  service = await openServer(config, { schema })
  await service.account("admin@example.org", "admin")
})
afterAll(() => service?.close())

const signedIn = async () => {
  const client = createClient<Whole>({ baseUrl: service.url })
  await client.auth.signIn({ email: "admin@example.org", password: service.password })
  return client
}

it("hears changes, reads versions, and writes one back over the version it names", async () => {
  expect(await follow(await signedIn(), library)).toEqual({
    heard: ["create", "update", "update", "delete"],
    sameKey: true,
    versions: [["create", "one"], ["update", "two"]],
    sensitive: false,
    stale: [412, "precondition-failed"],
    restored: "one"
  })
})

it("calls functions", async () => {
  expect(await call(await signedIn(), library)).toEqual({
    input: { name: "Eva" },
    user: true,
    unknown: [404, "not-found"]
  })
})

it("sets up a second factor and signs in with it", async () => {
  using _ = holdHalfMinute()
  await service.account("two@example.org", "admin")
  const client = createClient<Whole>({ baseUrl: service.url })
  const credentials = { email: "two@example.org", password: service.password }
  await client.auth.signIn(credentials)
  const uri = await enableFactor(client, service.password)
  await client.auth.post("/two-factor/verify-totp", { code: codeAt(uri, -1) })
  await client.resource("notes").create({ text: "there" })
  expect(await signInTwice(client, library, credentials, codeAt(uri))).toEqual({
    asked: true,
    early: 401,
    wrong: 401,
    read: 1
  })
})
