/**
 * Reads on a replica: a primary and a server that follows it, with a service that reads from both. What the replica shows is in the test's hands: while it is paused,
 * rows that came since tell which of the two has answered.
 */

import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { type Admin, createAdmin } from "../../composition/create-admin.ts"
import { defineResource, f } from "../../composition/index.ts"
import { property } from "../generators/property.ts"
import type { Random } from "../generators/random.ts"
import { testAuthenticator, type TestCaller, testSecret, tokenOf } from "../support/composed.ts"
import { deep } from "../support/depth.ts"
import { openReplica } from "../support/replica.ts"
import { waitUntil } from "../support/until.ts"

const schema = `
  create table notes (id bigint generated always as identity primary key, text text not null, kind text not null default 'a' check (kind in ('a', 'b')));
  insert into notes (text) values ('first');
`

const notes = defineResource("notes", {
  primaryKey: "id",
  fields: {
    id: f.integer().readOnly().dbDefault().sortable(),
    text: f.text().filterable(),
    kind: f.enum(["a", "b"]).dbDefault().filterable()
  }
})

let servers: Awaited<ReturnType<typeof openReplica>>
let admin: Admin
const log: Array<{ readonly event?: string; readonly [name: string]: unknown }> = []

const caller = (id: string): TestCaller => ({ id, roles: ["admin"] })
const ann = caller("ann")

const ask = async (who: TestCaller, method: string, path: string, body?: unknown, position?: string | null) => {
  const response = await admin.fetch(
    new Request(`http://localhost/api/v1${path}`, {
      method,
      headers: {
        authorization: `Bearer ${tokenOf(who)}`,
        ...(body === undefined ? {} : { "content-type": "application/json", "if-match": "*" }),
        ...(position == null ? {} : { "x-service-position": position })
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) })
    })
  )
  return { status: response.status, text: await response.text(), position: response.headers.get("x-service-position") }
}

const open = (mostLagMs = 60_000): Promise<Admin> =>
  createAdmin({ resources: [notes], authenticate: () => ({ user: ann }) }, {
    database: { url: servers.primary.url, replicas: { urls: [servers.replica.url], mostLagMs } },
    authenticator: testAuthenticator,
    secret: testSecret,
    log: (line) => void log.push(JSON.parse(line))
  })

const stateIs = (absence: string | null, of = admin) =>
  waitUntil(() => of.replicas?.states()[0]?.absence === absence, `a replica that is ${absence ?? "read from"}`)

beforeAll(async () => {
  servers = await openReplica(schema)
  admin = await open()
  await stateIs(null)
})

afterAll(async () => {
  await admin.close()
  await servers[Symbol.asyncDispose]()
})

/** Every read that a replica answers, and how many rows it has found by its answer. */
const reads: ReadonlyArray<readonly [name: string, path: string, found: (text: string) => number]> = [
  ["list", "/notes", (text) => JSON.parse(text).items.length],
  ["count", "/notes?count=exact", (text) => JSON.parse(text).total_size],
  ["seek", "/notes:seek?position=0", (text) => JSON.parse(text).items.length],
  ["facets", "/notes:facets?field=kind", (text) => JSON.parse(text).facets[0].count],
  ["aggregate", "/notes:aggregate?measures=count", (text) => Number(/"count":"?(\d+)/.exec(text)?.[1])],
  ["export", "/notes:export?format=ndjson", (text) => text.trim().split("\n").length]
]

describe("while a replica shows less than the primary", () => {
  const rows = { shown: 0, all: 0 }
  let written: string | null = null
  /** Another instance of the service. */
  let other: Admin

  beforeAll(async () => {
    await servers.caughtUp()
    other = await open()
    await stateIs(null, other)
    rows.shown = Number((await servers.primary.rows("select count(*) from notes"))[0]?.[0])
    await servers.pause()
    const answer = await ask(caller("writer"), "POST", "/notes", { text: "later" })
    expect(answer.status).toBe(201)
    written = answer.position
    rows.all = rows.shown + 1
  })
  afterAll(async () => {
    await other.close()
    await servers.resume()
  })

  it("a write tells its position", () => expect(written).toMatch(/^[0-9a-f]{24}$/))

  it.each(reads)("%s goes there, and to the primary for who brings the position", async (_, path, found) => {
    expect(found((await ask(ann, "GET", path)).text)).toBe(rows.shown)
    expect(found((await ask(ann, "GET", path, undefined, written)).text)).toBe(rows.all)
    // What was counted on one of them does not count on the other.
    expect(found((await ask(ann, "GET", path)).text)).toBe(rows.shown)
  })

  it("a single record is read there, too", async () => {
    const { text } = await ask(ann, "GET", "/notes?filter=text%3D%22later%22", undefined, written)
    const { id } = JSON.parse(text).items[0]
    expect((await ask(ann, "GET", `/notes/${id}`)).status).toBe(404)
    expect((await ask(ann, "GET", `/notes/${id}`, undefined, written)).status).toBe(200)
    // A write judges what the primary has.
    expect((await ask(caller("other"), "PATCH", `/notes/${id}`, { text: "later still" })).status).toBe(200)
  })

  it("who wrote reads the primary without a position, and so do who comes with one of another history or of the future", async () => {
    const found = async (who: TestCaller, position?: string) =>
      JSON.parse((await ask(who, "GET", "/notes", undefined, position)).text).items.length
    expect(await found(caller("writer"))).toBe(rows.all)
    expect(await found(ann, `00000009${"0".repeat(16)}`)).toBe(rows.all)
    expect(await found(ann, `00000001${"f".repeat(16)}`)).toBe(rows.all)
    expect(await found(ann)).toBe(rows.shown)
  })

  it("a page token of one is good on the other", async () => {
    const first = JSON.parse((await ask(ann, "GET", "/notes?page_size=1")).text)
    const next = await ask(ann, "GET", `/notes?page_size=1&page_token=${first.next_page_token}`, undefined, written)
    expect(JSON.parse(next.text).items).toHaveLength(1)
  })

  it("a page that is loaded anew at another instance reads what its browser wrote, and who was refused there is not refused again", async () => {
    const send = (
      to: Admin,
      method: string,
      path: string,
      headers: { readonly [name: string]: string },
      body?: unknown
    ) =>
      to.fetch(
        new Request(`http://localhost/api/v1${path}`, {
          method,
          headers: {
            authorization: `Bearer ${tokenOf(caller("browser"))}`,
            "content-type": "application/json",
            ...headers
          },
          ...(body === undefined ? {} : { body: JSON.stringify(body) })
        })
      )
    const browser = { "sec-fetch-site": "same-origin" }
    const stale = await send(admin, "GET", "/notes/1", {})
    expect((await send(admin, "PATCH", "/notes/1", { "if-match": "*", ...browser }, { text: "by browser" })).status)
      .toBe(200)
    const old = { "if-match": stale.headers.get("etag") ?? "" }
    const refused = await send(admin, "PATCH", "/notes/1", { ...old, ...browser }, { text: "again" })
    expect(refused.status).toBe(412)
    const [cookie = ""] = refused.headers.getSetCookie().map((text) => text.split(";", 1)[0])
    expect((await send(other, "GET", "/notes/1", {})).headers.get("etag")).toBe(old["if-match"])
    for (const headers of [{ cookie }, { "x-service-position": refused.headers.get("x-service-position") ?? "" }]) {
      expect(await (await send(other, "GET", "/notes/1", headers)).text()).toContain("by browser")
    }
  })

  it("a text that is no position is refused by its name", async () => {
    const { status, text } = await ask(ann, "GET", "/notes", undefined, "0/1")
    expect(status).toBe(400)
    expect(text).toContain("X-Service-Position")
  })
})

/** What three people do, while what the replica shows stops and goes on. */
const walk = (random: Random) =>
  random.many(5, 40, () => ({
    of: random.pick(["write", "write", "read", "read", "read", "pause", "resume"] as const),
    who: random.below(3),
    /** Without a position the process remembers who wrote; with it anybody may come. */
    bare: random.chance(2),
    single: random.chance(2)
  }))

property(
  "a caller always reads what they wrote, whatever the replica shows",
  { walk },
  { cases: 40 },
  async ({ walk }) => {
    const people = [0, 1, 2].map((n) => ({
      as: caller(`person ${n}`),
      rows: [] as string[],
      position: null as string | null
    }))
    for (const { bare, of, single, who } of walk) {
      const person = people[who]!
      if (of === "pause" || of === "resume") await servers[of]()
      else if (of === "write") {
        const { position, status, text } = await ask(person.as, "POST", "/notes", { text: `of ${who}` })
        expect(status).toBe(201)
        person.rows.push(String(JSON.parse(text).id))
        person.position = position
      } else if (person.rows.length > 0) {
        const path = single ? `/notes/${person.rows.at(-1)}` : "/notes?page_size=500&order_by=id%20desc"
        const { status, text } = await ask(
          bare ? person.as : caller("guest"),
          "GET",
          path,
          undefined,
          bare ? null : person.position
        )
        expect(status).toBe(200)
        for (const id of single ? person.rows.slice(-1) : person.rows) {
          expect(text).toMatch(
            new RegExp(`"id":"?${id}\\b`)
          )
        }
      }
    }
    await servers.resume()
  }
)

describe("a replica is left out", () => {
  const linesSince = (at: number) => log.slice(at).filter(({ event }) => event?.startsWith("replica-"))

  it("while it is further behind than allowed, and comes back", async () => {
    const strict = await open(1_000)
    try {
      await stateIs(null, strict)
      const at = log.length
      await servers.pause()
      await servers.primary.execute("insert into notes (text) values ('unseen')")
      await stateIs("lag", strict)
      expect(strict.replicas?.states()[0]?.lagMs).toBeGreaterThan(1_000)
      await servers.resume()
      await stateIs(null, strict)
      const name = `127.0.0.1:${servers.replica.port}`
      expect(linesSince(at)).toMatchObject([
        { level: "warn", event: "replica-left", replica: name, cause: "lag" },
        { level: "info", event: "replica-back", replica: name }
      ])
    } finally {
      await strict.close()
    }
  })

  it("when it is killed: reads go on without a failure, and it comes back", async () => {
    const at = log.length
    await servers.replica.stop("kill")
    expect((await ask(ann, "GET", "/notes")).status).toBe(200)
    await stateIs("unreachable")
    await servers.replica.start()
    await stateIs(null)
    expect(linesSince(at).map(({ event }) => event)).toEqual(["replica-left", "replica-back"])
  })

  it.runIf(deep)("when it hangs: who waits there is answered by the primary", async () => {
    servers.replica.freeze()
    const waiting = ask(ann, "GET", "/notes")
    try {
      expect((await waiting).status).toBe(200)
      await stateIs("unreachable")
    } finally {
      servers.replica.thaw()
    }
    await stateIs(null)
  })

  it("never while the primary is away: reads are served, writes are refused", async () => {
    await servers.primary.stop("immediate")
    expect((await ask(ann, "GET", "/notes")).status).toBe(200)
    expect((await ask(caller("late"), "POST", "/notes", { text: "x" })).status).toBe(503)
    await servers.primary.start()
    await waitUntil(async () => (await ask(caller("late"), "POST", "/notes", { text: "x" })).status === 201)
    await servers.caughtUp()
    await stateIs(null)
  })

  // The last one: nothing follows the primary afterwards.
  it("when it was promoted, unless it is the primary", async () => {
    await servers.replica.execute("select pg_promote()")
    await stateIs("promoted")
    expect((await ask(ann, "GET", "/notes")).status).toBe(200)
    const moved = await createAdmin({ resources: [notes], authenticate: () => ({ user: ann }) }, {
      database: { url: servers.replica.url, replicas: { urls: [servers.replica.url] } },
      secret: testSecret
    })
    await stateIs(null, moved)
    await moved.close()
  })
})
