// Several processes on one database behind a round-robin: whatever one instance did, the others know, with and without a pooler in between.
import { randomUUID } from "node:crypto"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { createUser, issueToken, setUserBanned } from "../../adapters/auth/users.ts"
import { openCluster } from "../support/cluster.ts"
import type { TestCluster } from "../support/cluster.ts"
import { deep } from "../support/depth.ts"
import { KeepAlive, startLoad, statuses } from "../support/load.ts"
import type { Received, Sent } from "../support/load.ts"
import { startProcess } from "../support/process.ts"
import type { ServerProcess } from "../support/process.ts"
import { clientOf, hasPooler, lives, openPooler, prepare, signOf, untilServing, untilTrueOf } from "./fixture.ts"
import type { Pooler, Ready } from "./fixture.ts"

const instances = deep ? 3 : 2

let cluster: TestCluster
let ready: Ready

beforeAll(async () => {
  cluster = await openCluster()
  ready = await prepare(cluster)
})
afterAll(async () => {
  await ready?.[Symbol.asyncDispose]()
  await cluster?.[Symbol.asyncDispose]()
})

describe.each([["direct", true], ["behind PgBouncer in transaction mode", hasPooler]] as const)(
  "%s",
  (name, possible) => {
    if (!possible) {
      it.skip("needs pgbouncer, which this machine has not")
      return
    }
    let pooler: Pooler | null = null
    let servers: readonly ServerProcess[] = []
    let connections: readonly KeepAlive[] = []
    let turn = 0

    beforeAll(async () => {
      // Fewer connections than the instances open: transactions take turns on them.
      if (name !== "direct") pooler = await openPooler(cluster, 6)
      const env = ready.env({ SERVICE_WAIT_MS: "60000", ...(pooler === null ? {} : { url: pooler.url }) })
      servers = await Promise.all(Array.from({ length: instances }, () => startProcess(env)))
      await Promise.all(servers.map(({ port }) => untilServing(port, ready.bearer)))
      connections = servers.map(({ port }) => new KeepAlive(port))
    })
    afterAll(async () => {
      for (const connection of connections) connection.close()
      await Promise.all(servers.map((server) => server[Symbol.asyncDispose]()))
      await pooler?.[Symbol.asyncDispose]()
    })

    /** To the next instance, whoever that is. */
    const next = async (sent: Sent): Promise<Received> => {
      const received = await connections[turn++ % connections.length]!.send(sent)
      if (received === null) throw new Error(`${sent.method} ${sent.path} was not answered`)
      return received
    }
    const call = () => clientOf(ready.bearer)
    const bodyOf = (received: Received) => JSON.parse(received.body) as { readonly [member: string]: unknown }

    it("reads what another wrote, and refuses a version that another replaced", async () => {
      const { get, send } = call()
      const created = await next(send("POST", "/entries", { name: `first ${name}`, amount: 1 }))
      expect(created.status).toBe(201)
      const { id } = bodyOf(created)
      const old = created.headers["etag"]!
      const changed = await next(send("PATCH", `/entries/${String(id)}`, { amount: 2 }, { "if-match": old }))
      expect(changed.status).toBe(200)
      const read = await next(get(`/entries/${String(id)}`))
      expect(bodyOf(read)["amount"]).toBe(2)
      expect(read.headers["etag"]).toBe(changed.headers["etag"])
      const late = await next(send("PATCH", `/entries/${String(id)}`, { amount: 3 }, { "if-match": old }))
      expect(late.status).toBe(412)
      const deleted = await next(
        send("DELETE", `/entries/${String(id)}`, undefined, { "if-match": read.headers["etag"]! })
      )
      expect(deleted.status).toBe(204)
      expect((await next(get(`/entries/${String(id)}`))).status).toBe(404)
    })

    it("walks pages whose tokens come from another instance", async () => {
      const ids = new Set<unknown>()
      let token = ""
      let pages = 0
      do {
        const page = await next(
          call().get(
            `/entries?filter=${encodeURIComponent("id <= 200")}&order_by=amount&page_size=17${
              token === "" ? "" : `&page_token=${token}`
            }`
          )
        )
        expect(page.status).toBe(200)
        const { items, next_page_token } = bodyOf(page) as unknown as {
          readonly items: ReadonlyArray<{ readonly id: unknown }>
          readonly next_page_token: string
        }
        for (const item of items) ids.add(item.id)
        token = next_page_token
        pages++
      } while (token !== "")
      expect(pages).toBe(Math.ceil(200 / 17))
      expect(ids.size).toBe(200)
    })

    it("performs a request with an idempotency key once, also when it comes to all of them at once", async () => {
      const key = randomUUID()
      const { send } = call()
      const request = send("POST", "/entries", { name: `once ${name}`, amount: 7 }, { "idempotency-key": key })
      const twins = await Promise.all(connections.map((connection) => connection.send(request)))
      expect(twins.filter((twin) => twin?.status === 201).length).toBeGreaterThanOrEqual(1)
      for (const twin of twins) expect([201, 409]).toContain(twin?.status)
      const repeated = await Promise.all(connections.map(() => next(request)))
      const bodies = new Set([...twins, ...repeated].flatMap((answer) => answer?.status === 201 ? [answer.body] : []))
      expect(repeated.map(({ status }) => status)).toEqual(connections.map(() => 201))
      expect(bodies.size).toBe(1)
      expect(await cluster.rows(`select count(*)::text from entries where name = 'once ${name}'`)).toEqual([["1"]])
      const other = await next(send("POST", "/entries", { name: "other", amount: 8 }, { "idempotency-key": key }))
      expect(other.status).toBe(422)
    })

    it("loses no update when all instances raise one number", async () => {
      const { get, send } = call()
      const created = bodyOf(await next(send("POST", "/entries", { name: `counter ${name}`, amount: 0 })))
      const path = `/entries/${String(created["id"])}`
      const raise = async (connection: KeepAlive): Promise<void> => {
        for (let done = 0; done < 10;) {
          const read = await connection.send(get(path))
          const { amount } = JSON.parse(read?.body ?? "{}") as { readonly amount: number }
          const written = await connection.send(
            send("PATCH", path, { amount: amount + 1 }, { "if-match": read?.headers["etag"] ?? "" })
          )
          if (written?.status === 200) done++
          else expect([409, 412]).toContain(written?.status)
        }
      }
      await Promise.all(connections.map(raise))
      expect(bodyOf(await next(get(path)))["amount"]).toBe(10 * connections.length)
    })

    it("answers mixed traffic of many clients without a failure", async () => {
      const { get, send } = call()
      const load = startLoad(servers.map(({ port }) => port), {
        connections: 24,
        next: (client, count) =>
          count === 25
            ? undefined
            : count % 5 === 4
            ? send("POST", ":batchWrite", {
              operations: [{
                op: "create",
                resource: "entries",
                data: { name: `mixed ${name} ${client} ${count}`, amount: count }
              }]
            })
            : count % 2 === 0
            ? get("/entries?page_size=10&order_by=id")
            : get(`/entries/${1 + (client * 7 + count) % 200}`)
      })
      const counts = statuses(await load.ended())
      expect(Object.keys(counts)).toEqual(["200"])
    })

    it("revokes a token everywhere within two seconds", async () => {
      const address = `bob${name.length}@example.org`
      await createUser(ready.auth, { email: address, password: "correct horse battery", role: "user" })
      const { token } = await issueToken(ready.auth, { email: address, ttlSeconds: 3_600 })
      const { get } = clientOf(`Bearer ${token}`)
      for (const connection of connections) expect((await connection.send(get("/entries/1")))?.status).toBe(200)
      await setUserBanned(ready.auth, { email: address, banned: true })
      const took = await untilTrueOf(
        [signOf(cluster), ...(pooler === null ? [] : [pooler.sign]), ...servers.map(({ port }) => lives(port))],
        async () => {
          const answers = await Promise.all(connections.map((connection) => connection.send(get("/entries/1"))))
          return answers.every((answer) => answer?.status === 401)
        }
      )
      expect(took).toBeLessThan(2_000)
    })
  }
)
