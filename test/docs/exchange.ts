/**
 * Sends the requests that stand in a page of the documentation, in order, and compares the answers with those that the page shows. A name such
 * as `"v1"` stands for an ETag: the first answer that shows it says which. Members that the page leaves out are not compared, nor are those that it shows as
 * "…"; at the end of a list that stands for the rest.
 */

import { expect } from "vitest"
import { related } from "../support/answer.ts"
import type { TestService } from "../support/composed.ts"
import type { Block } from "./blocks.ts"
import { admin } from "./shop.ts"

interface Message {
  readonly first: string
  readonly headers: { readonly [name: string]: string }
  readonly body: string
}

const isObject = (value: unknown): value is { readonly [name: string]: unknown } =>
  typeof value === "object" && value !== null && !Array.isArray(value)

export interface Exchange {
  readonly request: Message
  readonly response: Message
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

/** The requests of blocks with their answers. */
export const exchangesOf = (blocks: readonly Block[]): readonly Exchange[] =>
  blocks.map(({ text }) => {
    const [request = "", response = ""] = text.split(/^(?=HTTP\/1\.1 )/m)
    return { request: messageOf(request), response: messageOf(response) }
  })

/** What the page shows, with the values of the answer where it shows "…". */
const completed = (shown: unknown, actual: unknown): unknown => {
  if (shown === "…" && actual !== undefined) return actual
  if (Array.isArray(shown) && Array.isArray(actual)) {
    const rest = shown.at(-1) === "…" ? actual.slice(shown.length - 1) : []
    return [...shown.slice(0, rest.length === 0 ? undefined : -1).map((each, i) => completed(each, actual[i])), ...rest]
  }
  if (!isObject(shown) || !isObject(actual)) return shown
  return Object.fromEntries(Object.entries(shown).map(([name, value]) => [name, completed(value, actual[name])]))
}

/** Sends them as somebody with the role `admin`; fails at the first answer that is not as the page says. */
export const runExchanges = async (service: TestService, exchanges: readonly Exchange[]): Promise<void> => {
  const tags = new Map<string, string>()
  const given = (text: string): string =>
    text.replace(/(\\?")([vwi]\d)\1/g, (all, quote: string, name: string) => {
      const tag = tags.get(name)
      return tag === undefined ? all : `${quote}${tag}${quote}`
    })
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
  for (const { request, response } of exchanges) {
    const [method = "", path = ""] = request.first.split(" ")
    const answer = await related(() =>
      service.call(admin, method, path, {
        headers: Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, given(value)])),
        ...(request.body === "" ? {} : { body: given(request.body) })
      })
    )
    const label = `${request.first}: ${answer.text}`
    expect(`HTTP/1.1 ${answer.status}`, label).toBe(/^HTTP\/1\.1 \d+/.exec(response.first)?.[0])
    for (const [name, value] of Object.entries(response.headers)) {
      learn(value, answer.headers.get(name))
      expect(answer.headers.get(name), label).toBe(given(value))
    }
    if (response.body === "") continue
    learn(JSON.parse(response.body), answer.json)
    expect(answer.json, label).toMatchObject(completed(JSON.parse(given(response.body)), answer.json) as object)
  }
}
