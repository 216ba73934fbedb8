/** What the end of sessions lists for the instances: little, and nothing where no token can live. */

import { afterAll, beforeAll, beforeEach, expect, it } from "vitest"
import { authMigrationSql } from "../../adapters/auth/migration.ts"
import { makeRevocations } from "../../adapters/auth/revocations.ts"
import { createUser } from "../../adapters/auth/users.ts"
import { openStore, password, type Store } from "./store.ts"

let store: Store
let user: string

beforeAll(async () => {
  store = await openStore()
  user = (await createUser(store.instance(), { email: "ann@example.org", password })).id
})

afterAll(() => store[Symbol.asyncDispose]())

beforeEach(() => store.database.execute(`delete from auth.session; delete from auth.revocation`))

/** Sessions that are called after `name`, and expire after `expires` from now. */
const begin = (name: string, count: number, expires: string) =>
  store.database.execute(
    `insert into auth.session ("id", "token", "expiresAt", "updatedAt", "userId")`
      + ` select '${name}' || n, '${name}' || n, now() + interval '${expires}', now(), '${user}' from generate_series(1, ${count}) n`
  )

const listed = () => store.database.rows(`select "userId" from auth.revocation order by 1`)

it("lists sessions that may have tokens, and none that expired long ago", async () => {
  await begin("live", 2, "1 day")
  await begin("just", 1, "-14 minutes")
  await begin("old", 1_000, "-2 hours")
  await store.database.execute(`delete from auth.session`)
  expect(await listed()).toEqual([["session:just1"], ["session:live1"], ["session:live2"]])
})

it("lists many sessions by one statement, which forgets at least as many old entries", async () => {
  await begin("before", 1_000, "1 day")
  await store.database.execute(`delete from auth.session; update auth.revocation set at = now() - interval '26 hours'`)
  await begin("now", 1_000, "1 day")
  await store.database.execute(`delete from auth.session`)
  expect((await listed()).filter(([id]) => id?.startsWith("session:before"))).toEqual([])
  const [[moments] = []] = await store.database.rows(`select count(distinct cmin::text) from auth.revocation`)
  expect(moments).toBe("1")
})

it("takes the place of the trigger of rows that was there before", async () => {
  await store.database.execute(
    `create or replace trigger "end_session" after delete on auth.session for each row execute function auth.end_session()`
  )
  await store.database.execute(authMigrationSql({ schema: "auth" }))
  await begin("live", 2, "1 day")
  await store.database.execute(`delete from auth.session`)
  expect(await listed()).toEqual([["session:live1"], ["session:live2"]])
})

it("lists the sessions of a deleted account", async () => {
  const { id } = await createUser(store.instance(), { email: "bob@example.org", password, role: "user" })
  await begin("bob", 1, "1 day")
  await store.database.execute(
    `update auth.session set "userId" = '${id}'; delete from auth."user" where "id" = '${id}'`
  )
  expect(new Set((await listed()).flat())).toEqual(new Set([id, "session:bob1"]))
})

it.each([["session:s", 50 * 60, false], ["session:s", 70 * 60, true], ["u", 70 * 60, false]])(
  "remembers the end of %j after %i seconds only while a token may live",
  async (userId, age, counts) => {
    const query = () => Promise.resolve([{ horizon: "1", userId, epoch: "9", age: String(age) }])
    const store = { query: query as <Row>() => Promise<readonly Row[]> }
    expect(await makeRevocations(store, undefined).counts("u", 1, "s")).toBe(counts)
  }
)
