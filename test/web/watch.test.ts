/** Changes as the client hears them: from a running service with captured changes, across a connection that breaks, and until the caller ends it. */

import { createClient, ProblemError } from "resource-admin/client"
import type { WatchEvent } from "resource-admin/client"
import { afterAll, beforeAll, expect, it } from "vitest"
import { defineConfig, defineResource, f } from "../../composition/index.ts"
import { tokenOf } from "../support/composed.ts"
import { openEvents } from "../support/events.ts"
import type { EventService } from "../support/events.ts"

const orders = defineResource("orders", {
  table: "orders",
  primaryKey: "id",
  fields: { id: f.integer().bits(64), note: f.text().optional() },
  events: { updated: true }
})

let service: EventService
beforeAll(async () => {
  service = await openEvents({
    schema: "create table orders (id bigint primary key, note text)",
    config: defineConfig({ resources: [orders] })
  })
})
afterAll(() => service?.close())

const ann = { id: "ann", roles: ["all"] }

it("hears changes, goes on where a broken connection left off, and ends with its signal", async () => {
  const connections: { readonly last: string | null; readonly cut: AbortController }[] = []
  const client = createClient({
    baseUrl: "http://service.test",
    token: tokenOf(ann),
    fetch: async (url, init) => {
      const cut = new AbortController()
      const headers = init.headers as { readonly [name: string]: string }
      connections.push({ last: headers["last-event-id"] ?? null, cut })
      const response = await service.fetch(ann, url.slice("http://service.test".length), init)
      const body = response.body?.pipeThrough(new TransformStream<Uint8Array, Uint8Array>(), { signal: cut.signal })
      return new Response(body, response)
    }
  })
  const ending = new AbortController()
  const heard: WatchEvent[] = []
  const listening = (async () => {
    for await (const event of client.resource("orders").watch({ signal: ending.signal })) heard.push(event)
  })()
  const write = async (id: number, sql = `insert into orders values (${id}, 'x')`): Promise<void> => {
    await service.database.execute(sql)
  }
  await service.until(() => heard.some(({ event }) => event === "open"), "a stream")
  await write(1)
  const keys = (): readonly string[] =>
    heard.flatMap((each) => each.event === "change" ? [`${each.data.operation} ${each.data.key}`] : [])
  await service.until(() => keys().includes("create 1"), "the first change")
  connections[0]!.cut.abort()
  await write(2)
  await service.until(() => keys().includes("create 2"), "what happened while nobody listened")
  expect(connections.length).toBeGreaterThan(1)
  expect(connections.at(-1)!.last).toMatch(/^\d+-\d+$/)
  await write(2, "update orders set note = 'y' where id = 2")
  await service.until(() => keys().includes("update 2"), "a change on the second stream")
  expect(keys()).toEqual(["create 1", "create 2", "update 2"])
  ending.abort()
  await listening
  await service.until(() => service.events.watching.count() === 0, "the end")
})

it("fails with what the service refuses", async () => {
  const client = createClient({
    baseUrl: "http://service.test",
    token: tokenOf(ann),
    fetch: (url, init) => service.fetch(ann, url.slice("http://service.test".length), init)
  })
  const first = client.resource("nothing").watch()[Symbol.asyncIterator]().next()
  await expect(first).rejects.toBeInstanceOf(ProblemError)
})
