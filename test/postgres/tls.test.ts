// Encrypted connections against a server that speaks TLS: what both drivers accept, what they refuse, and that nothing passes in plain text where
// TLS was asked for. The certificates are made here.
import { afterAll, beforeAll, describe, expect, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { chownSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { type AddressInfo, createServer, type Server, type Socket } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { makePostgres } from "../../adapters/postgres/connection.ts"
import { openPool } from "../../composition/database.ts"
import { startServer } from "../../composition/server.ts"
import { StartupError } from "../../composition/startup-error.ts"
import { ask, clientOf, config, prepare, type Ready } from "../chaos/fixture.ts"
import { makeAuthority } from "../support/certificate.ts"
import { openCluster, type TestCluster } from "../support/cluster.ts"
import { NotStarted, startProcess } from "../support/process.ts"

const folder = mkdtempSync(join(tmpdir(), "tls-"))
const file = (name: string, text: string): string => {
  const path = join(folder, name)
  writeFileSync(path, text)
  return path
}

const authority = makeAuthority("The authority")
const client = authority.forClient("known")
const stranger = makeAuthority("Somebody else")
const root = file("root.pem", authority.certificate)
const otherRoot = file("other.pem", stranger.certificate)
const own = `sslcert=${file("known.pem", client.certificate)}&sslkey=${file("known.key", client.key)}`

let cluster: TestCluster
let ready: Ready

/** Gives the server's process a file in its data folder that nobody else reads. */
const giveServer = (name: string, text: string): void => {
  const { gid, uid } = statSync(cluster.data)
  const path = join(cluster.data, name)
  writeFileSync(path, text, { mode: 0o600 })
  chownSync(path, uid, gid)
}

/** `app` and `known` may come encrypted only, `known` with a certificate of its own. */
const rules = `
hostssl all known 127.0.0.1/32 cert
hostssl all app 127.0.0.1/32 trust
hostnossl all app,known 127.0.0.1/32 reject
`

const settings = { ssl: "on", ssl_ca_file: "root.crt" }

beforeAll(async () => {
  cluster = await openCluster()
  ready = await prepare(cluster)
  await cluster.execute("create role known login")
  const server = authority.forServer(["localhost"])
  giveServer("server.crt", server.certificate)
  giveServer("server.key", server.key)
  giveServer("root.crt", authority.certificate)
  giveServer("pg_hba.conf", `${rules}${readFileSync(join(cluster.data, "pg_hba.conf"), "utf8")}`)
  await cluster.stop("fast")
  await cluster.start(settings)
})
afterAll(async () => {
  await ready?.[Symbol.asyncDispose]()
  await cluster?.[Symbol.asyncDispose]()
  rmSync(folder, { recursive: true, force: true })
})

/** Under a host name that the certificate has. */
const at = (query: string, user = "app", host = "localhost"): string =>
  `${cluster.urlOf({ user }).replace("127.0.0.1", host)}?${query}`

const trusted = `sslmode=require&sslrootcert=${root}`

/** How long the server may be silent where that is not what is tested. */
const patience = 60_000

const connect = (url: string, silenceMs = patience) => makePostgres({ url, statementTimeoutMs: patience, silenceMs })

/** The code of a failure, or of the innermost of its causes. */
const codeOf = (error: unknown): unknown => {
  if (typeof error !== "object" || error === null) return undefined
  if ("cause" in error && error.cause !== undefined) return codeOf(error.cause)
  return "code" in error ? error.code : "reason" in error ? codeOf(error.reason) : undefined
}

/** What an effect gives, or else the code of its failure. */
const orCode = <A>(effect: Effect.Effect<A, unknown>): Effect.Effect<unknown> =>
  Effect.catchCause(effect, (cause) => Effect.succeed(codeOf(Cause.squash(cause))))

type Ask = (
  url: string,
  sql: string,
  params?: readonly string[],
  silenceMs?: number
) => Effect.Effect<string | null, unknown>

/** Gives the first value of the first row. */
const throughEffect: Ask = (url, sql, params = [], silenceMs = patience) =>
  Effect.scoped(Effect.gen(function*() {
    const postgres = yield* connect(url, silenceMs)
    const rows = yield* postgres.read(sql, params, { prepare: true })
    return rows[0]?.[0] ?? null
  }))

const orRejected = <A>(work: () => Promise<A>): Effect.Effect<A, unknown> =>
  Effect.tryPromise({ try: work, catch: (error) => error })

const throughPg: Ask = (url, sql, params = [], silenceMs = patience) =>
  Effect.scoped(Effect.gen(function*() {
    const pool = yield* Effect.acquireRelease(
      Effect.sync(() => openPool(url, 1, silenceMs)),
      (opened) => Effect.promise(() => opened.end())
    )
    const connection = yield* Effect.acquireRelease(
      orRejected(() => pool.connect()),
      (connected) => Effect.sync(() => connected.release(true))
    )
    const { rows } = yield* orRejected(() =>
      connection.query<{ value: string | null }>({ text: sql, values: [...params] })
    )
    return rows[0]?.value ?? null
  }))

const version = "select (select version from pg_stat_ssl where pid = pg_backend_pid()) as value"

describe.each([["the driver of records", throughEffect], ["the driver of accounts", throughPg]] as const)(
  "%s",
  (_, query) => {
    it.live.each<readonly [title: string, parameters: string]>([
      ["sslmode=require", trusted],
      ["sslmode=verify-full", `sslmode=verify-full&sslrootcert=${root}`],
      ["sslmode=verify-ca", `sslmode=verify-ca&sslrootcert=${root}`],
      ["sslmode=no-verify", "sslmode=no-verify"]
    ])("encrypts with %s", ([, parameters]) =>
      Effect.gen(function*() {
        expect(yield* query(at(parameters), version)).toBe("TLSv1.3")
      }))

    it.live.each(["sslmode=disable", ""])("does not unless it is asked to: %s", (parameters) =>
      Effect.gen(function*() {
        expect(yield* query(at(parameters, "postgres"), version)).toBeNull()
        // The server has the last word.
        expect(yield* orCode(query(at(parameters), version))).toBe("28000")
      }))

    it.live.each<readonly [when: string, parameters: string, host: string, code: string]>([
      ["nobody vouches for it", "sslmode=require", "localhost", "SELF_SIGNED_CERT_IN_CHAIN"],
      [
        "somebody else vouches",
        `sslmode=verify-full&sslrootcert=${otherRoot}`,
        "localhost",
        "SELF_SIGNED_CERT_IN_CHAIN"
      ],
      [
        "somebody else vouches, any host",
        `sslmode=verify-ca&sslrootcert=${otherRoot}`,
        "localhost",
        "SELF_SIGNED_CERT_IN_CHAIN"
      ],
      ["it is for another host", trusted, "127.0.0.1", "ERR_TLS_CERT_ALTNAME_INVALID"],
      ["it is for another host", `sslmode=verify-full&sslrootcert=${root}`, "127.0.0.1", "ERR_TLS_CERT_ALTNAME_INVALID"]
    ])("refuses a certificate when %s: %s at %s", ([, parameters, host, code]) =>
      Effect.gen(function*() {
        expect(yield* orCode(query(at(parameters, "app", host), version))).toBe(code)
      }))

    it.live("takes another host where only the authority counts", () =>
      Effect.gen(function*() {
        expect(yield* query(at(`sslmode=verify-ca&sslrootcert=${root}`, "app", "127.0.0.1"), version)).toBe("TLSv1.3")
      }))

    it.live("shows a certificate of its own", () =>
      Effect.gen(function*() {
        const whose = "select (select client_dn from pg_stat_ssl where pid = pg_backend_pid()) as value"
        expect(yield* query(at(`${trusted}&${own}`, "known"), whose)).toBe("/CN=known")
        expect(yield* orCode(query(at(trusted, "known"), whose))).toBe("28000")
      }))

    it.live("carries what is long, both ways", () =>
      Effect.gen(function*() {
        const text = "0123456789abcdef".repeat(100_000)
        expect(yield* query(at(trusted), "select $1::text || $1::text as value", [text])).toBe(text + text)
      }))

    it.live("gives up on a server that falls silent, and only on that", () =>
      Effect.gen(function*() {
        expect(yield* query(at(trusted), "select pg_sleep(0.2)::text || 'done' as value")).toBe("done")
        const asked = query(at(trusted), "select pg_sleep(60)::text as value", [], 300)
        expect(yield* orCode(asked)).toBe("ETIMEDOUT")
      }))
  }
)

describe("an encrypted connection", () => {
  it.live("serves on after it was idle for long", () =>
    Effect.gen(function*() {
      const postgres = yield* connect(at(trusted), 300)
      let longest = 0
      const pid = Effect.gen(function*() {
        const asked = performance.now()
        const exit = yield* Effect.exit(postgres.read("select pg_backend_pid()::text", [], { prepare: true }))
        longest = Math.max(longest, performance.now() - asked)
        return exit
      })
      for (;;) {
        longest = 0
        const first = yield* pid
        yield* Effect.sleep(1_000)
        const second = yield* pid
        // An answer that took so long is silence, and says nothing of being idle: the machine stood still.
        if (longest >= 300) continue
        expect(first).toMatchObject({ _tag: "Success" })
        expect(second).toEqual(first)
        break
      }
    }))

  it.live("cancels a statement where it runs", () =>
    Effect.gen(function*() {
      const postgres = yield* connect(at(trusted))
      const running = () =>
        cluster.rows("select 1 from pg_stat_activity where state = 'active' and query like 'select pg_sleep(3600)%'")
      const polled = (many: number) =>
        Effect.promise(() => expect.poll(async () => (await running()).length).toBe(many))
      // It would not end by itself before the test does.
      const fiber = yield* Effect.forkChild(postgres.read("select pg_sleep(3600)::text", [], { prepare: false }))
      yield* polled(1)
      yield* Fiber.interrupt(fiber)
      yield* polled(0)
    }))
})

describe("somebody in between", () => {
  let server: Server
  let heard: Buffer
  let answer: (socket: Socket) => void
  beforeAll(async () => {
    server = createServer((socket) => {
      socket.on("error", () => {})
      heard = Buffer.alloc(0)
      socket.once("data", () => answer(socket)).on("data", (bytes) => {
        heard = Buffer.concat([heard, bytes])
      })
    })
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  })
  afterAll(() => new Promise<void>((resolve) => server.close(() => resolve())))

  it.live.each<readonly [manner: string, does: (socket: Socket) => void, code: string]>([
    ["offers no TLS", (socket: Socket) => void socket.write("N"), "ERR_TLS_REFUSED"],
    ["speaks before it is known", (socket: Socket) => void socket.write("SR\0\0\0\x08\0\0\0\0"), "ECONNRESET"],
    ["answers with an error", (socket: Socket) => void socket.write("E\0\0\0\x05\0"), "ECONNRESET"],
    ["hangs up", (socket: Socket) => void socket.end(), "ECONNRESET"],
    ["hangs up at the handshake", (socket: Socket) => void socket.end("S"), "ECONNRESET"]
  ])("hears nothing but the wish for TLS when it %s", ([, does, code]) =>
    Effect.gen(function*() {
      answer = does
      const { port } = server.address() as AddressInfo
      const url = `postgres://app:s3cret@127.0.0.1:${port}/shop?sslmode=no-verify`
      for (const query of [throughEffect, throughPg]) {
        expect(yield* orCode(query(url, version))).toBe(code)
        expect(heard.subarray(0, 8).toString("hex")).toBe("0000000804d2162f")
        // Nothing, or the beginning of a handshake.
        expect(heard.subarray(8, 9).toString("hex")).toMatch(/^(?:16)?$/)
        expect(heard.includes("app")).toBe(false)
      }
    }))
})

describe("a service", () => {
  const start = (url: string, more: { readonly [name: string]: string } = {}) =>
    startServer(config, { env: { ...ready.env({ url }), ...more }, port: 0, patienceMs: 300, log: () => {} })
  const refusal = async (url: string, more: { readonly [name: string]: string } = {}): Promise<string> => {
    try {
      await (await start(url, more)).close()
      return "it started"
    } catch (error) {
      if (!(error instanceof StartupError)) throw error
      return error.message
    }
  }

  it("keeps all its connections encrypted, those of accounts, too", async () => {
    const server = await start(at(`sslmode=verify-full&sslrootcert=${root}`))
    try {
      expect(server.auth && await server.auth.needsAdmin()).toBe(false)
      expect((await ask(server.port, clientOf(ready.bearer).get("/entries/1")))?.status).toBe(200)
      const { status } = await ask(
        server.port,
        clientOf(ready.bearer).send("POST", "/entries", { name: "encrypted", amount: 1 })
      ) ?? {}
      expect(status).toBe(201)
      expect(
        await cluster.rows(
          "select distinct s.ssl::text from pg_stat_activity a join pg_stat_ssl s using (pid) where a.usename = 'app'"
        )
      ).toEqual([["true"]])
    } finally {
      await server.close()
    }
  })

  it("trusts what NODE_EXTRA_CA_CERTS names", async () => {
    const url = at("sslmode=require")
    await using server = await startProcess({ ...ready.env({ url }), NODE_EXTRA_CA_CERTS: root })
    expect((await ask(server.port, clientOf(ready.bearer).get("/entries/1")))?.status).toBe(200)
    // No variable turns the check off.
    const failure = await startProcess({ ...ready.env({ url }), NODE_TLS_REJECT_UNAUTHORIZED: "0" })
      .then(() => null, (error: unknown) => error)
    expect(failure).toBeInstanceOf(NotStarted)
    expect((failure as NotStarted).stderr).toContain("signed by nobody who is trusted here")
  })

  it("says why it does not start", async () => {
    const place = `localhost:${cluster.port}`
    expect(await refusal(at(`sslmode=require&sslrootcert=${otherRoot}`)))
      .toContain(`The certificate of the database server at ${place} is signed by nobody who is trusted here.`)
    expect(await refusal(at(trusted, "app", "127.0.0.1"))).toContain("is for another host name.")
    expect(await refusal(at(""))).toContain("where it takes encrypted connections only, add sslmode=require")
    expect(await refusal(at(trusted, "known"))).toContain(`The database server at ${place} refuses the user "known".`)
    expect(await refusal(at("sslmode=require&sslrootcert=/no/such.pem")))
      .toContain("DATABASE_URL has sslrootcert=/no/such.pem, which cannot be read (ENOENT).")
  })

  it("refuses what it does not understand in either URL, before it connects", async () => {
    const said = await refusal(at("sslmode=prefer"), { ADMIN_DATABASE_URL: at("ssl=true"), PORT: "none" })
    expect(said).toContain("DATABASE_URL has sslmode=prefer, which leaves it to the network whether")
    expect(said).toContain("Write sslmode=verify-full or require")
    expect(said).toContain("ADMIN_DATABASE_URL has the parameter ssl, which is not understood.")
    expect(said).toContain("PORT is \"none\"")
  })

  it("refuses a server without TLS where TLS is demanded", async () => {
    await cluster.stop("fast")
    await cluster.start({ ssl: "off" })
    try {
      for (const mode of ["require", "no-verify"]) {
        expect(await refusal(at(`sslmode=${mode}`))).toContain(
          `The database server at localhost:${cluster.port} offers no TLS.`
        )
      }
    } finally {
      await cluster.stop("fast")
      await cluster.start(settings)
    }
  })
})
