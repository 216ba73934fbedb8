/** What one process gives out is good in another whose secrets stand in another order: page tokens, ETags, idempotency keys. */

import { beforeAll, expect, it } from "vitest"
import { makeFetch } from "../../adapters/http/fetch.ts"
import { compileOrThrow } from "../../composition/create-admin.ts"
import { makeService } from "../../composition/edge.ts"
import { defineConfig } from "../../core/domain/declare/config.ts"
import { f } from "../../core/domain/declare/field.ts"
import { defineResource } from "../../core/domain/declare/resource.ts"
import type { Secrets } from "../../core/domain/secret.ts"
import { makeFakeRecords } from "../fakes/records.ts"

const notes = defineResource("notes", {
  table: "notes",
  primaryKey: "id",
  fields: { id: f.integer().sortable(), text: f.text() }
})
const compiled = compileOrThrow(defineConfig({ resources: [notes], roles: { admin: ["*"] } }))
const { service: records } = makeFakeRecords()
const [old, next] = ["the old secret, long enough", "the next secret, long enough"]

type Ask = (method: string, path: string, body?: unknown, headers?: Record<string, string>) => Promise<Response>

const instance = (secret: Secrets): Ask => {
  const edge = makeService({
    webFolder: "no-admin-app",
    compiled,
    records,
    authenticator: () => ({ user: { id: "ann", roles: ["admin"] } }),
    secret,
    publicUrl: "http://localhost"
  })
  const fetch = makeFetch(edge)
  return (method, path, body, headers = {}) =>
    fetch(
      new Request(`http://localhost/api/v1/notes${path}`, {
        method,
        headers: { authorization: "Bearer x", "content-type": "application/json", ...headers },
        ...(body === undefined ? {} : { body: JSON.stringify(body) })
      }),
      { address: "192.0.2.1" }
    )
}

const [before, knowing, switched, after] = [old, [old, next], [next, old], next].map((secret) =>
  instance(secret as Secrets)
) as [Ask, Ask, Ask, Ask]

beforeAll(async () => {
  for (const id of [1, 2, 3]) expect((await before("POST", "", { id, text: "x" })).status).toBe(201)
})

it("pages go on", async () => {
  const tokenAt = async (ask: Ask): Promise<string> =>
    (await (await ask("GET", "?page_size=1")).json() as { next_page_token: string }).next_page_token
  const [early, late] = [await tokenAt(before), await tokenAt(switched)]
  const next = async (ask: Ask, token: string) => (await ask("GET", `?page_size=1&page_token=${token}`)).status
  expect(await Promise.all([knowing, switched, after].map((ask) => next(ask, early)))).toEqual([200, 200, 400])
  expect(await Promise.all([knowing, switched, after].map((ask) => next(ask, late)))).toEqual([200, 200, 200])
})

it("an ETag is that of its version, also as one of a list", async () => {
  const tag = (await before("GET", "/1")).headers.get("etag") ?? ""
  const patch = async (ask: Ask, ifMatch: string) => ask("PATCH", "/1", { text: "y" }, { "if-match": ifMatch })
  expect((await patch(after, tag)).status).toBe(412)
  const changed = await patch(switched, `"other", ${tag}`)
  expect(changed.status).toBe(200)
  // The version of before is no longer that of the record, under any secret. What changed is told, too.
  const stale = await patch(knowing, tag)
  expect(stale.status).toBe(412)
  expect((await patch(knowing, changed.headers.get("etag") ?? "")).status).toBe(200)
})

it("a request with an idempotency key is known again", async () => {
  const keyed = { "idempotency-key": "k1" }
  const first = await before("POST", "", { id: 7, text: "x" }, keyed)
  expect(first.status).toBe(201)
  for (const ask of [knowing, switched]) {
    const again = await ask("POST", "", { id: 7, text: "x" }, keyed)
    expect([again.status, again.headers.get("idempotency-replayed")]).toEqual([201, "true"])
    expect((await ask("POST", "", { id: 8, text: "x" }, keyed)).status).toBe(422)
  }
})
