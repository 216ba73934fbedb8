import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs"
import { connect } from "node:net"
import { dirname, join } from "node:path"
import { Client } from "pg"
import { describe, expect, it, vi } from "vitest"
import { readRun } from "../../composition/embedded/control.ts"
import { EmbeddedDatabaseError, openEmbedded } from "../../composition/embedded/embedded.ts"
import { freePort } from "../support/cluster.ts"
import {
  dataBase,
  isRunning,
  kill,
  madeBase,
  open,
  processesOf,
  quick,
  running,
  serversOf,
  settled,
  sql,
  startClient,
  temporary,
  until
} from "./support.ts"

describe("an embedded database", () => {
  it("comes up while the machine's clock is set, as it is soon after a start", async () => {
    const base = await madeBase()
    const now = Date.now()
    let looks = 0
    const clock = vi.spyOn(Date, "now").mockImplementation(() => now + 3_600_000 * looks++)
    try {
      expect(await sql((await open(base, quick)).url, "select 1 as one")).toEqual([{ one: 1 }])
    } finally {
      clock.mockRestore()
    }
  })

  it("is created durable, private and with plain settings, and keeps its rows over a restart", async () => {
    const base = dataBase()
    const first = await open(base, { linger: 300 })
    const rows = await sql(
      first.url,
      "create table kept (word text)",
      "insert into kept values ('Äpfel')",
      `select name, setting from pg_settings where name in ('fsync', 'synchronous_commit', 'full_page_writes', 'jit',
         'listen_addresses', 'max_connections', 'TimeZone', 'server_encoding', 'data_checksums', 'unix_socket_permissions')`
    ) as ReadonlyArray<{ name: string; setting: string }>
    expect(Object.fromEntries(rows.map(({ name, setting }) => [name, setting]))).toEqual({
      fsync: "on",
      synchronous_commit: "on",
      full_page_writes: "on",
      jit: "off",
      listen_addresses: "",
      max_connections: "200",
      TimeZone: "UTC",
      server_encoding: "UTF8",
      data_checksums: "on",
      unix_socket_permissions: "0700"
    })
    expect(statSync(first.host).mode & 0o777).toBe(0o700)
    expect(statSync(dirname(first.host)).mode & 0o777).toBe(0o711)
    expect(first.url).not.toContain("password")

    const { supervisor, postmaster } = running(base)
    await first.release()
    await first.release()
    expect(isRunning(postmaster)).toBe(false)
    await until(() => !isRunning(supervisor), "the end of the supervisor")
    expect(existsSync(join(base, "run.json"))).toBe(false)
    expect(existsSync(dirname(first.host))).toBe(false)

    const second = await open(base, { linger: 300 })
    expect(second.host).toBe(first.host)
    expect(await sql(second.url, "select lower(word) word from kept")).toEqual([{ word: "äpfel" }])
    // No "was interrupted": the release had waited for a clean shutdown.
    expect(readFileSync(join(base, "server.log"), "utf8")).not.toContain("interrupted")
  })

  it("sorts for people with ICU and has the extensions", async () => {
    const { url } = await open(await madeBase())
    const rows = await sql(
      url,
      "create extension pg_trgm",
      "create extension unaccent",
      "create extension citext",
      `create collation numeric_order (provider = icu, locale = 'und-u-kn-true')`,
      `select word from (values ('a10'), ('a9'), ('ä2'), ('b')) t (word) order by word collate numeric_order`
    )
    expect(rows).toEqual(["ä2", "a9", "a10", "b"].map((word) => ({ word })))
  })

  it("holds nobody who comes in while it stops", async () => {
    const base = await madeBase()
    const first = await open(base)
    const { postmaster } = running(base)
    const heard: string[] = []
    const late = connect(readRun(base)!.control)
    await new Promise((resolve) => late.once("data", resolve))
    late.on("data", (chunk) => heard.push(String(chunk)))
    const closed = new Promise((resolve) => late.once("close", resolve))
    // It does not end before we say so.
    kill(postmaster, "SIGSTOP")
    const released = first.release()
    await until(() => readRun(base)?.stopping === true, "the server to be stopped")
    late.write("hello\n")
    await closed
    expect(isRunning(postmaster)).toBe(true)
    kill(postmaster, "SIGCONT")
    await released
    expect(heard).toEqual([])
    // Whoever was turned away comes again, and finds a server.
    const second = await open(base)
    expect(await sql(second.url, "select 1 one")).toEqual([{ one: 1 }])
  })

  it("is one server for five processes that start at once on an empty folder", async () => {
    const base = dataBase()
    const clients = await Promise.all([1, 2, 3, 4, 5].map(() => startClient(base)))
    for (const { answer } of clients) expect(answer.error).toBe(undefined)
    const url = clients[0]?.answer.url ?? ""
    expect(new Set(clients.map(({ answer }) => answer.url))).toEqual(new Set([url]))
    await settled(base, clients)
    expect(serversOf(base)).toBe(1)
    await until(() => !readdirSync(base).some((name) => name.startsWith("init-")), "the losers to clean up")

    // All but the last leave the server alone.
    const { postmaster } = running(base)
    for (const [index, client] of clients.entries()) {
      expect(await sql(url, "select 1 as one")).toEqual([{ one: 1 }])
      expect(await client.ask("release")).toBe("released")
      // A client that was passed from one new supervisor to another may leave with its linger time.
      if (index < clients.length - 1) expect(isRunning(postmaster)).toBe(true)
    }
    await until(() => !isRunning(postmaster), "the end of the server")
  })

  it("stops cleanly after the linger time when its only clients are killed", async () => {
    const base = await madeBase()
    const clients = await Promise.all([startClient(base), startClient(base)])
    await settled(base, clients)
    const { supervisor, postmaster } = running(base)
    for (const client of clients) kill(client.process.pid)
    await until(() => !isRunning(postmaster) && !isRunning(supervisor), "the end of server and supervisor")
    expect(serversOf(base)).toBe(0)
    expect(readFileSync(join(base, "server.log"), "utf8")).toContain("database system is shut down")
    expect(processesOf(base)).toEqual({})
  })

  it("does not keep a program alive that forgets to release it", async () => {
    const base = await madeBase()
    const client = await startClient(base, { options: { ...quick, forget: true } })
    await until(() => client.process.exitCode !== null, "the end of the program")
    expect(client.process.exitCode).toBe(0)
    await until(() => processesOf(base).supervisor === undefined, "the end of the supervisor")
  })

  it("works with spaces and quotes in its path and a temporary folder too long for a socket", async () => {
    const parent = temporary()
    const long = join(parent, "t".repeat(90))
    mkdirSync(long)
    const base = dataBase(join(parent, "my \"own\" project, 'v2'"))
    const { answer } = await startClient(base, { env: { TMPDIR: long } })
    expect(answer.error).toBe(undefined)
    expect(answer.host).toMatch(/^\/tmp\/rs-/)
    expect(await sql(answer.url, "show data_directory")).toEqual([{ data_directory: join(base, "data") }])
  })

  it("works in a temporary folder with spaces, commas and quotes", async () => {
    const odd = join(temporary(), "a, \"b\" c")
    mkdirSync(odd)
    const { answer } = await startClient(await madeBase(), { env: { TMPDIR: odd } })
    expect(answer.host).toContain(odd)
    expect(await sql(answer.url, "select 1 as one")).toEqual([{ one: 1 }])
  })

  it("is not changed by the PG variables and the Node options of the caller", async () => {
    const base = await madeBase()
    const env = {
      PGHOST: "nowhere",
      PGPORT: "1",
      PGDATA: "/nowhere",
      PGTZ: "Asia/Tokyo",
      PGSSLMODE: "require",
      LC_ALL: "xx",
      TZ: "Asia/Tokyo"
    }
    const { answer } = await startClient(base, { env: { ...env, NODE_OPTIONS: "--title=caller" } })
    expect(await sql(answer.url, "show timezone")).toEqual([{ TimeZone: "UTC" }])
    const environment = readFileSync(`/proc/${running(base).postmaster}/environ`, "utf8").split("\0")
    expect(environment.filter((entry) => /^(PG(?!_|SYSCONFDIR|LOCALEDIR)|NODE)/.test(entry))).toEqual([])

    process.env.PGSSLMODE = "require"
    try {
      expect(await sql(answer.url, "select 1 as one")).toEqual([{ one: 1 }])
    } finally {
      delete process.env.PGSSLMODE
    }
  })

  it("that a test runs without durability is refused to everybody else", async () => {
    const base = await madeBase()
    const unsafe = await open(base, { ...quick, durable: false })
    expect(await sql(unsafe.url, "show fsync")).toEqual([{ fsync: "off" }])
    const refusal = openEmbedded(base, { linger: 300 })
    await expect(refusal).rejects.toThrow(EmbeddedDatabaseError)
    await expect(refusal).rejects.toThrow(/without durability/)
    await unsafe.release()
    expect(await sql((await open(base, { linger: 300 })).url, "show fsync")).toEqual([{ fsync: "on" }])
  })

  it("runs on TCP with a password that is needed, and keeps its port", async () => {
    const base = dataBase()
    const first = await open(base, { ...quick, tcp: true })
    expect(first.host).toBe("127.0.0.1")
    expect(await sql(first.url, "show listen_addresses")).toEqual([{ listen_addresses: "127.0.0.1" }])
    const { host, port, user, database } = first
    const stranger = new Client({ host, port, user, database, password: "guess" })
    await expect(stranger.connect()).rejects.toThrow(/password authentication failed/)
    expect(statSync(join(base, "tcp.json")).mode & 0o777).toBe(0o600)
    await first.release()
    expect(serversOf(base)).toBe(0)
    const kept = JSON.parse(readFileSync(join(base, "tcp.json"), "utf8")) as { readonly port: number }
    expect(kept.port).toBe(port)
    // Another one, which nobody gets by chance meanwhile.
    const own = await freePort()
    writeFileSync(join(base, "tcp.json"), JSON.stringify({ ...kept, port: own }))
    const second = await open(base, { ...quick, tcp: true })
    expect(second.url).toBe(first.url.replace(`:${port}/`, `:${own}/`))
    expect(await sql(second.url, "select 1 as one")).toEqual([{ one: 1 }])
  })
})
