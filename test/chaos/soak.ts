/**
 * A soak: mixed traffic for a long time (`npm run test:soak`, 15 minutes; or so many seconds as its argument says), with a look now and then at
 * what the service and its database connections hold. It ends with exit code 1 when anything grows, or when an answer is not one of those expected.
 */

import { randomUUID } from "node:crypto"
import { readFileSync } from "node:fs"
import { openCluster } from "../support/cluster.ts"
import { KeepAlive, startLoad } from "../support/load.ts"
import type { Outcome, Sent } from "../support/load.ts"
import { startProcess } from "../support/process.ts"
import { clientOf, pause, prepare, untilTrue } from "./fixture.ts"

const seconds = Number(process.argv[2] ?? 900)
if (!Number.isFinite(seconds) || seconds < 20) throw new Error("Give at least 20 seconds.")

const limits = { read: 8, write: 6, auth: 3 }

await using cluster = await openCluster()
await using ready = await prepare(cluster)
await using server = await startProcess(ready.env({
  SERVICE_READ_CONNECTIONS: String(limits.read),
  SERVICE_WRITE_CONNECTIONS: String(limits.write),
  SERVICE_AUTH_CONNECTIONS: String(limits.auth),
  // Its table outgrows the scan guard, which would refuse charts of all rows from then on: they are part of the traffic.
  CHAOS_SCAN_ROWS: "1000000"
}))

const { get, send } = clientOf(ready.bearer)
const random = (most: number): number => Math.floor(Math.random() * most)
const pick = <A>(all: readonly A[]): A => all[random(all.length)]!

/** Rows that were made and not yet removed, as `id` and tag. */
const own: Array<{ readonly id: string; readonly etag: string }> = []
const tokens: string[] = []

const filters = [
  () => `amount > ${random(1_000_000)}`,
  () => `amount >= ${random(200)} AND amount < ${200 + random(200)}`,
  () => `name = "${randomUUID()}"`,
  () => `name = "seed ${random(20)}*"`,
  () => Array.from({ length: 1 + random(20) }, () => `id = ${random(500)}`).join(" OR "),
  () => `NOT amount = ${random(500)} OR id = ${random(500)}`,
  () => `regex(name, "^seed ${random(100)}.$")`
]

/** What each kind of request may be answered with. */
const kinds: ReadonlyArray<
  { readonly weight: number; readonly statuses: readonly number[]; readonly make: () => Sent }
> = [
  { weight: 20, statuses: [200, 404], make: () => get(`/entries/${random(220)}`) },
  {
    weight: 30,
    statuses: [200],
    make: () =>
      get(
        `/entries?page_size=${1 + random(50)}&order_by=${
          pick(["id", "amount", "amount%20desc", "name,%20id%20desc"])
        }&filter=${encodeURIComponent(pick(filters)())}`
      )
  },
  {
    weight: 5,
    statuses: [200, 400],
    make: () => get(`/entries?page_size=7&order_by=amount&page_token=${tokens.length === 0 ? "none" : pick(tokens)}`)
  },
  {
    weight: 5,
    statuses: [200],
    make: () => send("POST", "/entries:search", { filter: pick(filters)(), page_size: 5 })
  },
  { weight: 3, statuses: [200], make: () => get(`/entries:histogram?field=amount&buckets=${2 + random(20)}`) },
  {
    weight: 8,
    statuses: [201],
    make: () => send("POST", "/entries", { name: `soak ${randomUUID()}`, amount: random(1_000) })
  },
  {
    weight: 3,
    statuses: [201],
    make: () =>
      send("POST", "/entries", { name: `soak ${randomUUID()}`, amount: 1 }, { "idempotency-key": randomUUID() })
  },
  {
    weight: 5,
    statuses: [200, 404, 412],
    make: () => {
      const row = own.length === 0 ? { id: "1", etag: "\"none\"" } : pick(own)
      return send("PATCH", `/entries/${row.id}`, { amount: random(1_000) }, { "if-match": row.etag })
    }
  },
  {
    weight: 14,
    statuses: [204, 404, 412],
    make: () => {
      const row = own.shift() ?? { id: "0", etag: "\"none\"" }
      return send("DELETE", `/entries/${row.id}`, undefined, { "if-match": row.etag })
    }
  },
  {
    weight: 3,
    statuses: [200],
    make: () =>
      send("POST", ":batchWrite", {
        operations: [1, 2, 3].map(() => ({
          op: "create",
          resource: "entries",
          data: { name: `soak ${randomUUID()}`, amount: 3 }
        }))
      })
  },
  { weight: 3, statuses: [400], make: () => get(`/entries?filter=${encodeURIComponent(`nothing${random(1e9)} = 1`)}`) },
  { weight: 2, statuses: [404], make: () => get(`/nothing-${random(1e9)}`) },
  { weight: 2, statuses: [401], make: () => clientOf(`Bearer ${randomUUID()}.${randomUUID()}.x`).get("/entries") },
  { weight: 1, statuses: [200], make: () => ({ ...get(""), path: "/api/meta" }) },
  { weight: 1, statuses: [200], make: () => ({ ...get(""), path: "/api/openapi.json" }) },
  { weight: 1, statuses: [200], make: () => ({ method: "GET", path: "/readyz" }) },
  { weight: 1, statuses: [200], make: () => ({ method: "GET", path: "/api/auth/status" }) }
]
const lots = kinds.flatMap((kind) => Array.from({ length: kind.weight }, () => kind))
const expected = new WeakMap<Sent, readonly number[]>()
const unexpected: string[] = []
let answered = 0

const heard = ({ received, sent }: Outcome): void => {
  answered++
  if (received === null || expected.get(sent)?.includes(received.status) !== true) {
    if (unexpected.length < 20) {
      unexpected.push(`${sent.method} ${sent.path}: ${received?.status} ${received?.body.slice(0, 200)}`)
    }
    return
  }
  if (received.status === 201 || (received.status === 200 && sent.method === "PATCH")) {
    const { id } = JSON.parse(received.body) as { readonly id: string }
    own.push({ id, etag: received.headers["etag"] ?? "" })
  }
  if (received.status === 200 && sent.path.includes("order_by=amount&")) {
    const { next_page_token: token } = JSON.parse(received.body) as { readonly next_page_token?: string }
    if (token !== undefined && token !== "") tokens[random(50)] = token
  }
}

// Batches are cleared away here, as their rows are nobody's.
const tidy = setInterval(() => {
  void cluster.execute(
    "delete from entries where name like 'soak %' and amount = 3; delete from service.idempotency_key"
  ).catch(() => {})
}, 5_000)

const load = startLoad(server.port, {
  connections: 24,
  keep: false,
  pauseMs: 2,
  next: () => {
    const kind = pick(lots)
    const sent = kind.make()
    expected.set(sent, kind.statuses)
    return sent
  },
  heard
})

/** Clients that go away in the middle of their request. */
let leaving = true
const left = (async () => {
  while (leaving) {
    const connection = new KeepAlive(server.port)
    const answer = connection.send(get("/entries?page_size=50&order_by=amount"))
    await pause(random(8))
    connection.close()
    await answer
    // No more of them than the server keeps up with: on a slow machine they would stand in line for a connection when all others have gone.
    const before = answered
    await untilTrue(async () => answered >= before + 10 || !leaving)
  }
})()

interface Look {
  readonly at: number
  readonly heap: number
  readonly rss: number
  readonly resources: number
  readonly connections: number
  /** Memory of the biggest database process of the service: prepared statements and caches are in it. */
  readonly backend: number
}

const anonymous = (pid: number): number => {
  try {
    return Number(/RssAnon:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? 0) / 1_024
  } catch {
    return 0 // it ended meanwhile
  }
}

const look = async (at: number): Promise<Look> => {
  const { heapUsed, resources, rss } = await server.measure()
  const backends = await cluster.rows(
    "select pid::text from pg_stat_activity where application_name = 'service' and backend_type = 'client backend'"
  )
  return {
    at,
    heap: heapUsed / 1_048_576,
    rss: rss / 1_048_576,
    resources,
    connections: backends.length,
    backend: Math.max(0, ...backends.map(([pid]) => anonymous(Number(pid))))
  }
}

const looks: Look[] = []
const started = performance.now()
const step = Math.max(2_000, seconds * 1_000 / 30)
process.stdout.write("seconds  requests  heap MiB  rss MiB  resources  connections  backend MiB\n")
while (performance.now() - started < seconds * 1_000) {
  await pause(step)
  const seen = await look((performance.now() - started) / 1_000)
  looks.push(seen)
  const cells = [
    seen.at.toFixed(0),
    answered,
    seen.heap.toFixed(1),
    seen.rss.toFixed(0),
    seen.resources,
    seen.connections,
    seen.backend.toFixed(1)
  ]
  process.stdout.write(`${cells.map((cell, i) => String(cell).padStart([7, 9, 9, 8, 10, 12, 12][i]!)).join(" ")}\n`)
}
leaving = false
await left
await load.stop()
clearInterval(tidy)
const most = limits.read + limits.write + limits.auth + 1
// A socket and a timer for each connection, and the listener, are all that is left once the server has seen that its clients are gone.
const atRest = 2 * most + 8
await untilTrue(async () => (await look(0)).resources <= atRest)
const rest = await look((performance.now() - started) / 1_000)

// ---------------------------------------------------------------------------------------------------------- judgement

const median = (values: readonly number[]): number =>
  [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0
// Caches fill in the first third; from then on nothing may grow.
const early = looks.slice(Math.floor(looks.length / 3), Math.floor(looks.length * 2 / 3))
const late = looks.slice(Math.floor(looks.length * 2 / 3))
const complaints = [...unexpected]
const judge = (what: "heap" | "rss" | "resources" | "backend", slack: number): void => {
  const [before, after] = [median(early.map((each) => each[what])), median(late.map((each) => each[what]))]
  process.stdout.write(`${what}: ${before.toFixed(1)} -> ${after.toFixed(1)}\n`)
  if (after > before * 1.1 + slack) complaints.push(`${what} grew from ${before.toFixed(1)} to ${after.toFixed(1)}`)
}
judge("heap", 6)
judge("rss", 60)
judge("resources", 5)
judge("backend", 2)
if (Math.max(...looks.map(({ connections }) => connections)) > most) complaints.push(`more than ${most} connections`)
if (rest.resources > atRest) complaints.push(`${rest.resources} resources are left without a client`)
if (server.stderr() !== "") complaints.push(`stderr: ${server.stderr().slice(0, 500)}`)
if (server.log.length > 10) {
  complaints.push(`${server.log.length} log lines besides those of requests: ${server.log.slice(1, 4).join(" | ")}`)
}
process.stdout.write(`${answered} requests, ${unexpected.length} unexpected answers\n`)
for (const complaint of complaints) process.stderr.write(`${complaint}\n`)
process.exitCode = complaints.length === 0 ? 0 : 1
