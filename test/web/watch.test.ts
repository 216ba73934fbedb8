/** Changes as the client hears them: from a running service with captured changes, across a connection that breaks, and until the caller ends it. */

import { createClient, ProblemError } from "resource-admin/client"
import type { WatchEvent } from "resource-admin/client"
import { afterAll, beforeAll, expect, it, vi } from "vitest"
import { defineConfig, defineResource, f } from "../../composition/index.ts"
import { tokenOf } from "../support/composed.ts"
import { openEvents } from "../support/events.ts"
import type { EventService } from "../support/events.ts"

const orders = defineResource("orders", {
  table: "orders",
  primaryKey: "id",
  fields: { id: f.integer().bits(64).filterable(), note: f.text().optional().filterable() },
  events: { updated: true }
})

const config = defineConfig({ resources: [orders] })

let service: EventService
beforeAll(async () => {
  service = await openEvents({
    schema: "create table orders (id bigint primary key, note text)",
    config
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

it("follows a filter in each form that lists take, typed or not", async () => {
  const client = createClient<typeof config>({
    baseUrl: "http://service.test",
    token: tokenOf(ann),
    fetch: (url, init) => service.fetch(ann, url.slice("http://service.test".length), init)
  })
  const ending = new AbortController()
  const { signal } = ending
  const heard: string[][] = []
  const filters = [
    { filter: "note = \"in\"" },
    { filter: client.resource("orders").where((order) => order.note.eq("in")) }
  ]
  const listening = [
    ...filters.map((options) => client.resource("orders").watch({ ...options, signal })),
    ...filters.map((options) => client.watch("orders", { ...options, signal })),
    client.resource("orders").watch({ filter: (order) => order.note.eq("in"), signal }),
    client.watch("orders", { filter: (order) => order.note.eq("in"), signal })
  ].map(async (events) => {
    const own: string[] = []
    heard.push(own)
    for await (const event of events) {
      own.push(event.event === "change" ? `${event.data.kind} ${event.data.key}` : event.event)
    }
  })
  await service.until(() => heard.length === 6 && heard.every((own) => own.includes("open")), "all streams")
  await service.database.execute("insert into orders values (11, 'out'); insert into orders values (12, 'in')")
  await service.database.execute(
    "update orders set note = case note when 'in' then 'out' else 'in' end where id in (11, 12)"
  )
  await service.database.execute("delete from orders where id = 11")
  await service.until(() => heard.every((own) => own.length === 5), "what all of them ask for")
  for (const own of heard) {
    expect(own.slice(0, 2)).toEqual(["open", "entered 12"])
    expect(own.slice(2, 4).toSorted()).toEqual(["entered 11", "left 12"])
    expect(own[4]).toBe("left 11")
  }
  ending.abort()
  await Promise.all(listening)
  // @ts-expect-error There is no such field.
  const wrong = () => client.resource("orders").watch({ filter: (order) => order.nothing.eq("in") })
  expect(wrong).toBeTypeOf("function")
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

it("takes a connection on which nothing comes any more for a broken one", async () => {
  const silences: AbortController[] = []
  const timeouts = vi.spyOn(AbortSignal, "timeout").mockImplementation(() => {
    const silence = new AbortController()
    silences.push(silence)
    return silence.signal
  })
  const marks: (string | null)[] = []
  const ending = new AbortController()
  const client = createClient({
    baseUrl: "http://service.test",
    token: tokenOf(ann),
    fetch: (_, { headers }) => {
      marks.push(new Headers(headers).get("last-event-id"))
      const body = new ReadableStream({
        start: (stream) => stream.enqueue(new TextEncoder().encode(`id: ${marks.length}-1\n:\n\n`))
      })
      return Promise.resolve(new Response(body, { headers: { "content-type": "text/event-stream" } }))
    }
  })
  try {
    const events = client.resource("orders").watch({ signal: ending.signal })[Symbol.asyncIterator]()
    await events.next()
    const again = events.next()
    await service.until(() => silences.length === 2, "the second wait")
    silences[1]!.abort(new DOMException("silent", "TimeoutError"))
    expect((await again).value).toMatchObject({ id: "2-1", event: "open" })
    expect(marks).toEqual([null, "1-1"])
    expect(timeouts).toHaveBeenCalledWith(60_000)
  } finally {
    ending.abort()
    timeouts.mockRestore()
  }
})
