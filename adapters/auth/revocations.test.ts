import { stat } from "node:fs"
import { expect, it } from "vitest"
import type { Queries } from "./database.ts"
import { makeRevocations } from "./revocations.ts"

/** A database that answers as soon as anybody listens. */
const answering = {
  query: () =>
    new Promise((resolve) => stat(".", () => resolve([{ horizon: "1", userId: null, epoch: null, age: null }])))
} as unknown as Queries

const never = { query: () => new Promise(() => {}) } as unknown as Queries

it("takes no standstill of its own process for silence of the database", async () => {
  const counts = makeRevocations(answering, undefined).counts("u1", 1)
  for (const begin = performance.now(); performance.now() - begin < 1_500;);
  expect(await counts).toBe(true)
})

it("gives up on a database that is silent", async () => {
  await expect(makeRevocations(never, undefined).counts("u1", 1)).rejects.toMatchObject({ name: "KeysUnavailable" })
})
