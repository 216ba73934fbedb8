import { expect, it } from "vitest"
import type { Client } from "./client.ts"
import { routedClient } from "./routed.ts"

/** A client that only says who was asked. */
const named = (name: string, asked: string[]): Client => {
  const tell = (what: string) => (resource: string) => void asked.push(`${name} ${what} ${resource}`)
  return {
    batch: () => ({
      create: tell("creates in"),
      update: tell("updates in"),
      size: 0,
      send: () => asked.push(`${name} sends`)
    })
  } as unknown as Client
}

it("a batch goes to the service of its resources, and no batch goes to two", () => {
  const asked: string[] = []
  const client = routedClient(
    named("own", asked),
    (resource) => resource.startsWith("far") ? named("source", asked) : null
  )
  const near = client.batch()
  near.create("orders", {})
  near.update("lines", 1, {}, { etag: "*" })
  expect(() => near.create("far-orders", {})).toThrow("one service")
  const far = client.batch()
  far.create("far-orders", {})
  expect(() => far.update("orders", 1, {}, { etag: "*" })).toThrow("one service")
  void near.send()
  void far.send()
  expect(asked).toEqual([
    "own creates in orders",
    "own updates in lines",
    "source creates in far-orders",
    "own sends",
    "source sends"
  ])
})
