/** The reference of writes is true: its requests are sent as they stand, in order, to the example shop, and answered as it says. */

import { afterAll, beforeAll, expect, it } from "vitest"
import type { TestService } from "../support/composed.ts"
import { admin, readPage, startShop } from "./shop.ts"

const page = readPage("writes")

interface Message {
  readonly first: string
  readonly headers: { readonly [name: string]: string }
  readonly body: string
}

const messageOf = (text: string): Message => {
  const [head = "", ...rest] = text.trim().split("\n\n")
  const [first = "", ...lines] = head.split("\n")
  return {
    first,
    headers: Object.fromEntries(lines.map((line) => {
      const colon = line.indexOf(":")
      return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()]
    })),
    body: rest.join("\n\n")
  }
}

const examples = [...page.matchAll(/^```http\n([\s\S]*?)^```$/gm)].map(([, text = ""]) => {
  const [request = "", response = ""] = text.split(/^(?=HTTP\/1\.1 )/m)
  return { request: messageOf(request), response: messageOf(response) }
})

let service: TestService
beforeAll(async () => {
  service = await startShop(`
    insert into shop.products (tenant_id, sku, name, category, price) values (1, 'S-1', 'Stool', 'seating', 10);
  `)
}, 60_000)
afterAll(() => service.close())

it("every request is answered as the page says", async () => {
  expect(examples.length).toBeGreaterThan(12)
  /** What `"v1"` and the like stand for. */
  const tags = new Map<string, string>()
  const given = (text: string): string =>
    text.replace(/(\\?")([vwi]\d)\1/g, (all, quote: string, name: string) => {
      const tag = tags.get(name)
      return tag === undefined ? all : `${quote}${tag}${quote}`
    })
  /** Learns the tags that an answer shows for the first time. */
  const learn = (shown: unknown, actual: unknown): void => {
    if (typeof shown === "string" && typeof actual === "string") {
      const name = /^"([vwi]\d)"$/.exec(shown)?.[1]
      if (name !== undefined && !tags.has(name)) {
        expect([...tags.values()]).not.toContain(actual.slice(1, -1))
        tags.set(name, actual.slice(1, -1))
      }
    } else if (typeof shown === "object" && shown !== null && typeof actual === "object" && actual !== null) {
      for (const [name, value] of Object.entries(shown)) {
        learn(value, (actual as { readonly [name: string]: unknown })[name])
      }
    }
  }
  for (const { request, response } of examples) {
    const [method = "", path = ""] = request.first.split(" ")
    const answer = await service.call(admin, method, path, {
      headers: Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, given(value)])),
      ...(request.body === "" ? {} : { body: given(request.body) })
    })
    const label = `${request.first}: ${answer.text}`
    expect(`HTTP/1.1 ${answer.status}`, label).toBe(/^HTTP\/1\.1 \d+/.exec(response.first)?.[0])
    for (const [name, value] of Object.entries(response.headers)) {
      learn(value, answer.headers.get(name))
      expect(answer.headers.get(name), label).toBe(given(value))
    }
    if (response.body === "") continue
    learn(JSON.parse(response.body), answer.json)
    expect(answer.json, label).toMatchObject(JSON.parse(given(response.body)) as object)
  }
}, 60_000)
