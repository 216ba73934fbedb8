// Clocks that are set: versions only ever move on, whatever the database's clock says; tokens keep their tolerance, whatever ours says; and what
// is remembered for a while is not remembered longer because the time went back.
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest"
import { issueToken } from "../../adapters/auth/users.ts"
import { startServer } from "../../composition/server.ts"
import type { Server } from "../../composition/server.ts"
import { openCluster } from "../support/cluster.ts"
import type { TestCluster } from "../support/cluster.ts"
import type { Received } from "../support/load.ts"
import { ask, clientOf, config, email, prepare, untilServing } from "./fixture.ts"
import type { Ready } from "./fixture.ts"

let cluster: TestCluster
let ready: Ready
let server: Server

beforeAll(async () => {
  cluster = await openCluster()
  ready = await prepare(cluster)
  server = await startServer(config, { env: ready.env(), port: 0, log: () => {} })
  await untilServing(server.port, ready.bearer)
})
afterAll(async () => {
  await server?.close()
  await ready?.[Symbol.asyncDispose]()
  await cluster?.[Symbol.asyncDispose]()
})
afterEach(() => {
  vi.useRealTimers()
})

const hour = 3_600_000

/** Sets this process's clock; timers go on as they are. */
const setClock = (milliseconds: number): void => {
  vi.useFakeTimers({ toFake: ["Date"], now: milliseconds })
}

const bodyOf = (received: Received | null) =>
  JSON.parse(received?.body ?? "{}") as { readonly [member: string]: unknown }

/** With all six digits, so that texts compare as instants do. */
const versionOf = (received: Received | null): string => {
  const [whole = "", fraction = ""] = String(bodyOf(received)["changed_at"]).replace("Z", "").split(".")
  return `${whole}.${fraction.padEnd(6, "0")}`
}

describe("the database's clock goes back", () => {
  it("and a version still moves on with every write", async () => {
    const { get, send } = clientOf(ready.bearer)
    // What a write leaves behind when the clock is set back by an hour after it.
    await cluster.execute("update entries set changed_at = clock_timestamp() + interval '1 hour' where id = 5")
    let held = await ask(server.port, get("/entries/5"))
    for (let amount = 1; amount <= 3; amount++) {
      const written = await ask(
        server.port,
        send("PATCH", "/entries/5", { amount }, { "if-match": held?.headers["etag"] ?? "" })
      )
      expect(written?.status).toBe(200)
      expect(versionOf(written) > versionOf(held)).toBe(true)
      expect(written?.headers["etag"]).not.toBe(held?.headers["etag"])
      const late = await ask(
        server.port,
        send("PATCH", "/entries/5", { amount: 99 }, { "if-match": held?.headers["etag"] ?? "" })
      )
      expect(late?.status).toBe(412)
      held = written
    }
  })
})

describe("the service's clock is set", () => {
  const statusAt = async (bearer: string, milliseconds: number): Promise<number | undefined> => {
    setClock(milliseconds)
    return (await ask(server.port, clientOf(bearer).get("/entries/1")))?.status
  }

  it("and a token is good for thirty seconds past its end, no longer, seen before or not", async () => {
    const { expiresAt, token } = await issueToken(ready.auth, { email, ttlSeconds: 60 })
    const unseen = await issueToken(ready.auth, { email, ttlSeconds: 60 })
    const end = expiresAt.getTime()
    expect(await statusAt(`Bearer ${token}`, end - 1_000)).toBe(200)
    expect(await statusAt(`Bearer ${token}`, end + 29_000)).toBe(200)
    expect(await statusAt(`Bearer ${token}`, end + 31_000)).toBe(401)
    const endUnseen = unseen.expiresAt.getTime()
    expect(await statusAt(`Bearer ${unseen.token}`, endUnseen + 31_000)).toBe(401)
    expect(await statusAt(`Bearer ${unseen.token}`, endUnseen + 29_000)).toBe(200)
  })

  it("back by an hour, and tokens, writes and repeated requests stay right", async () => {
    const { get, send } = clientOf(ready.bearer)
    const request = send("POST", "/entries", { name: "clock", amount: 1 }, {
      "idempotency-key": "clock-that-goes-back"
    })
    const first = await ask(server.port, request)
    expect(first?.status).toBe(201)
    setClock(Date.now() - hour)
    expect((await ask(server.port, get("/entries/1")))?.status).toBe(200)
    const again = await ask(server.port, request)
    expect(again?.status).toBe(201)
    expect(again?.body).toBe(first?.body)
    expect(await cluster.rows("select count(*)::text from entries where name = 'clock'")).toEqual([["1"]])
  })

  it("back by an hour, and a count is not older than its five seconds for that", async () => {
    const { get } = clientOf(ready.bearer)
    const path = `/entries?page_size=1&filter=${encodeURIComponent("name = \"counted *\"")}`
    const size = async (): Promise<unknown> => bodyOf(await ask(server.port, get(path)))["total_size_estimate"]
    await cluster.execute("insert into entries (name, amount) values ('counted 1', 1), ('counted 2', 1)")
    expect(await size()).toBe(2)
    setClock(Date.now() - hour)
    await cluster.execute("insert into entries (name, amount) values ('counted 3', 1)")
    // The clock that never goes back, five seconds on: nothing but it and the time of day could tell how old the count is.
    const monotonic = process.hrtime.bigint.bind(process.hrtime)
    const later = vi.spyOn(process.hrtime, "bigint").mockImplementation(() => monotonic() + 5_200_000_000n)
    try {
      expect(await size()).toBe(3)
    } finally {
      later.mockRestore()
    }
  })
})
