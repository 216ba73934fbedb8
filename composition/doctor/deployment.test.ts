import type { Client } from "pg"
import { expect, it } from "vitest"
import { readSettings } from "../environment.ts"
import { checkConnections, checkSettings } from "./deployment.ts"

/** A server that allows so many connections. */
const allowing = (free: number) => ({ query: async () => ({ rows: [{ free: String(free) }] }) }) as unknown as Client

it.each([
  ["one database", {}, 47],
  ["a bound of one process", { SERVICE_CONNECTIONS: "20" }, 18],
  ["accounts in another one", { ADMIN_DATABASE_URL: "postgres://localhost/accounts" }, 48]
])("counts every connection that an instance may open: %s", async (_, env, most) => {
  const { settings } = readSettings(env, ".")
  expect(await checkConnections(allowing(most), settings)).toEqual([])
  expect(await checkConnections(allowing(most - 1), settings)).toMatchObject([{ level: "error" }])
})

it.each([
  ["x".repeat(32), ["secret"]],
  ["changeme".repeat(4), ["secret"]],
  ["0123456789abcdef0123456789abcdef", []]
])("warns of a secret that was typed instead of made: %s", (secret, checks) => {
  const { settings } = readSettings({}, ".")
  expect(checkSettings(settings, { secret, url: "http://localhost:5173" }).map(({ check }) => check)).toEqual(checks)
})
