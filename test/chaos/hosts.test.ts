// A URL with several servers: the one that takes writes is used, another one as soon as the roles change, and none that only reads for what writes.
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { compileOrThrow } from "../../composition/create-admin.ts"
import { defineConfig, defineResource, defineRoles, f } from "../../composition/index.ts"
import { startServer } from "../../composition/server.ts"
import type { Server } from "../../composition/server.ts"
import { openCluster } from "../support/cluster.ts"
import type { TestCluster } from "../support/cluster.ts"
import { standby } from "../support/outages.ts"
import { migrate, migrationsOf } from "../support/server.ts"

const config = defineConfig({
  resources: [
    defineResource("notes", {
      primaryKey: "id",
      fields: { id: f.integer().readOnly().dbDefault().filterable().sortable(), title: f.text() }
    })
  ],
  roles: defineRoles({ admin: ["*"] } as never),
  authenticate: () => ({ user: { id: "ada", roles: ["admin"] } })
})

let clusters: readonly [TestCluster, TestCluster]
let server: Server | undefined

const env = (url: string, more: { readonly [name: string]: string } = {}) => ({
  DATABASE_URL: url,
  AUTH_SECRET: "a secret of the tests, long enough for everything",
  ...more
})

beforeAll(async () => {
  clusters = [await openCluster(), await openCluster()]
  for (const cluster of clusters) {
    await cluster.execute(
      "create table notes (id integer generated always as identity primary key, title text not null)"
    )
    await migrate(cluster.url, migrationsOf(compileOrThrow(config)))
  }
})
afterAll(async () => {
  await server?.close()
  for (const cluster of clusters ?? []) await cluster[Symbol.asyncDispose]()
})

const ask = async (address: string, path: string, body?: object): Promise<number> => {
  const response = await fetch(`${address}${path}`, {
    headers: { authorization: "Bearer x", "content-type": "application/json" },
    ...(body === undefined ? {} : { method: "POST", body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(60_000)
  })
  await response.text()
  return response.status
}
const list = () => ask(server!.address, "/api/v1/notes")
const create = (title: string) => ask(server!.address, "/api/v1/notes", { title })
const titles = async (cluster: TestCluster) => (await cluster.rows("select title from notes order by id")).flat()
const polling = { timeout: 60_000, interval: 50 }

describe("a URL with several servers", () => {
  it("goes to the one that takes writes, and follows it when the roles change", async () => {
    const [first, second] = clusters
    const roles = { first: standby(first), second: standby(second) }
    await roles.first.begin()
    const url = `postgres://postgres@127.0.0.1:${first.port},127.0.0.1:${second.port}/postgres`
    server = await startServer(config, { port: 0, env: env(url), log: () => {} })
    expect(await create("one")).toBe(201)
    expect(await titles(second)).toEqual(["one"])

    // Nobody takes writes: reads go on, and load balancers hear of it.
    await roles.second.begin()
    await expect.poll(list, polling).toBe(200)
    expect(await create("nobody takes this")).toBe(503)
    await expect.poll(() => ask(server!.address, "/readyz"), polling).toBe(503)

    // Another one does.
    await roles.first.end()
    await expect.poll(() => create("two"), polling).toBe(201)
    await expect.poll(() => ask(server!.address, "/readyz"), polling).toBe(200)
    expect((await titles(first)).at(-1)).toBe("two")

    // It is gone, and the other one is back.
    await roles.second.end()
    await first.stop("kill")
    await expect.poll(() => create("three"), polling).toBe(201)
    expect((await titles(second)).at(-1)).toBe("three")
    await first.start()
    await server.close()
    server = undefined
  })
})

describe("a start on a standby", () => {
  it("is refused with a sentence, and with SERVICE_READS_ONLY it serves reads and is ready for them", async () => {
    const [first] = clusters
    const role = standby(first)
    await role.begin()
    try {
      const start = (more: { readonly [name: string]: string }) =>
        startServer(config, { port: 0, env: env(first.url, more), log: () => {}, patienceMs: 200 })
      await expect(start({})).rejects.toThrow("The database takes no changes: it is a standby, or set to read-only.")
      await expect(start({ DATABASE_URL: `${first.url}?target_session_attrs=read-write` })).rejects.toThrow(
        "The database takes no changes"
      )
      server = await start({ SERVICE_READS_ONLY: "true" })
      expect(await ask(server.address, "/readyz")).toBe(200)
      expect(await list()).toBe(200)
      expect(await create("x")).toBe(503)
      await server.close()
      server = undefined
    } finally {
      await role.end()
    }
  })
})
