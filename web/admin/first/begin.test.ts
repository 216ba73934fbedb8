/** What is begun before the app is there, and what becomes of it: modules with a page and a service that are no more than their answers. */

import { afterEach, beforeEach, expect, it, vi } from "vitest"
import type { Resource } from "../model/catalogue.ts"

const page = { items: [], next_page_token: "", total_size_estimate: 0 }
const meta = { user: { id: "u1" }, resources: [], pages: [], sources: [], extensions: [] }

/** How often the service was asked for an address that ends so. */
let asked: readonly string[] = []
const askedFor = (end: string): number => asked.filter((url) => url.endsWith(end)).length

const kept = new Map<string, string>()

beforeEach(() => {
  vi.resetModules()
  vi.useFakeTimers()
  asked = []
  kept.clear()
  vi.stubGlobal("document", { documentElement: { dataset: {} }, readyState: "complete", querySelector: () => null })
  vi.stubGlobal("location", { pathname: "/orders", search: "", href: "http://shop.example/orders" })
  vi.stubGlobal("history", { state: { at: 0, memory: {} }, pushState: () => {}, replaceState: () => {} })
  vi.stubGlobal("addEventListener", () => {})
  vi.stubGlobal("BroadcastChannel", undefined)
  vi.stubGlobal("localStorage", {
    getItem: (key: string) => kept.get(key) ?? null,
    setItem: (key: string, value: string) => void kept.set(key, value),
    removeItem: (key: string) => void kept.delete(key)
  })
  vi.stubGlobal("fetch", async (url: string) => {
    asked = [...asked, url]
    if (url.endsWith("/auth/token")) return Response.json({ access_token: "t", token_type: "Bearer", expires_in: 600 })
    return Response.json(url.endsWith(":search") ? page : meta)
  })
})

afterEach(() => {
  vi.useRealTimers()
  vi.unstubAllGlobals()
  vi.resetModules()
})

const orders = { name: "orders" } as Resource
const parameters = { filter: "" } as never

it("takes begun rows over once, where the page began and soon", async () => {
  const { beginRows, takeRows } = await import("../list/first-rows.ts")
  await beginRows(orders, parameters)
  expect(takeRows(orders, parameters)?.page).toEqual(page)
  expect(takeRows(orders, parameters)).toBeNull()
  // A list has asked already.
  expect(beginRows(orders, parameters)).toBeNull()
  expect(askedFor(":search")).toBe(1)
})

it("shows no begun rows after the user has gone elsewhere and back", async () => {
  const { beginRows, takeRows } = await import("../list/first-rows.ts")
  const { go } = await import("../ground/location.ts")
  await beginRows(orders, parameters)
  go("/-/account")
  go("/orders")
  expect(takeRows(orders, parameters)).toBeNull()
})

it("shows no begun rows that have waited for long", async () => {
  const { beginRows, longestMs, takeRows } = await import("../list/first-rows.ts")
  await beginRows(orders, parameters)
  vi.advanceTimersByTime(longestMs)
  expect(takeRows(orders, parameters)).toBeNull()
})

it("begins with no meta document once the app has asked for its own", async () => {
  const { beginMeta, readMeta } = await import("../model/client.ts")
  await readMeta()
  expect(beginMeta()).toBeNull()
  expect(askedFor("/meta")).toBe(1)
})

it("forgets that somebody was in when the session has ended, in whichever tab", async () => {
  const { enter, noticeFailure } = await import("../ground/session.ts")
  const { ProblemError } = await import("../../client/problem.ts")
  await enter()
  expect([...kept.keys()]).toContain("admin:in")
  const refusal = Object.assign(Object.create(ProblemError.prototype), { status: 401, url: "/api/v1/orders" })
  expect(noticeFailure(refusal)).toBe(true)
  expect([...kept.keys()]).not.toContain("admin:in")
})

it("takes the plain rows away if the app cannot be loaded", async () => {
  const failure = new Error("No file.")
  const told = Promise.withResolvers<unknown>()
  vi.doMock("../main.tsx", () => {
    throw failure
  })
  vi.stubGlobal("reportError", told.resolve)
  const { showPlain } = await import("../ground/plain-rows.ts")
  const remove = vi.fn<() => void>()
  const plain = { remove, querySelector: () => null }
  Object.assign(document, { body: { prepend: () => {} } })
  showPlain(plain as unknown as HTMLElement)
  await import("./entry.ts")
  await told.promise
  expect(remove).toHaveBeenCalledOnce()
  vi.doUnmock("../main.tsx")
})
