import { spawnSync } from "node:child_process"
import { existsSync, mkdirSync, readFileSync, rmdirSync, rmSync, utimesSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { Client } from "pg"
import { describe, expect, it } from "vitest"
import {
  bystander,
  dataBase,
  isRoot,
  isRunning,
  kill,
  madeBase,
  open,
  quick,
  running,
  serversOf,
  settled,
  sql,
  startClient,
  temporary,
  until
} from "./support.ts"

/** Enough for a client, or a supervisor that passes it on, that stands still for a while. */
const patient = { ...quick, linger: 20_000 }

/** The last release would wait for what is left of the linger time. A supervisor that is to end waits for its clients only. */
const hurry = (base: string): void => kill(running(base).supervisor, "SIGTERM")

describe("when the supervisor is killed", () => {
  it("the server and its connections live on, and the client gets a new supervisor", async () => {
    const base = await madeBase()
    const lines: string[] = []
    const database = await open(base, { ...quick, log: (line) => lines.push(line) })
    const connection = new Client(database.url)
    await connection.connect()
    await connection.query("create temp table session_only as select 1 as one")
    const before = running(base)

    kill(before.supervisor)
    await until(() => database.reattached === 1, "the client to attach again")
    const after = running(base)
    expect(after.postmaster).toBe(before.postmaster)
    expect(after.supervisor).not.toBe(before.supervisor)
    expect((await connection.query("select one from session_only")).rows).toEqual([{ one: 1 }])
    expect(lines.map((line) => line.replace(base, "…"))).toEqual([
      "The supervisor of the embedded database in … is gone; starting another.",
      "The embedded database in … is reached again."
    ])

    await connection.end()
    await database.release()
    expect(isRunning(after.postmaster)).toBe(false)
  })

  it("several clients end up with one supervisor, which serves until the last of them leaves", async () => {
    const base = await madeBase()
    const clients = await Promise.all([1, 2, 3].map(() => startClient(base, { options: patient })))
    const before = running(base)
    kill(before.supervisor)
    for (const client of clients) {
      await until(async () => await client.ask("reattached") !== "0", "a client to attach again")
    }
    await settled(base, clients)
    expect(running(base).postmaster).toBe(before.postmaster)
    const url = clients[0]?.answer.url ?? ""
    for (const [index, client] of clients.entries()) {
      if (index === clients.length - 1) hurry(base)
      expect(await sql(url, "select 1 as one")).toEqual([{ one: 1 }])
      expect(await client.ask("release")).toBe("released")
      // A client that was passed from one new supervisor to another may leave with its linger time.
      if (index < clients.length - 1) expect(isRunning(before.postmaster)).toBe(true)
    }
    // A supervisor that was about to start a server when its client left may do so, and ends it after the linger time.
    await until(() => !isRunning(before.postmaster) && serversOf(base) === 0, "the end of every server")
  })

  it("the first client that is back does not end the server under one that is still on its way", async () => {
    const base = await madeBase()
    const early = await startClient(base, { options: patient })
    const late = await startClient(base, { options: patient })
    const before = running(base)
    kill(late.process.pid, "SIGSTOP")
    kill(before.supervisor)
    await until(async () => await early.ask("reattached") !== "0", "the first client to attach again")
    const left = early.ask("release")
    kill(late.process.pid, "SIGCONT")
    await until(async () => await late.ask("reattached") !== "0", "the second client to attach again")
    expect(await left).toBe("released")
    expect(running(base).postmaster).toBe(before.postmaster)
    hurry(base)
    expect(await late.ask("release")).toBe("released")
    expect(isRunning(before.postmaster)).toBe(false)
  })

  it("a client that leaves at that moment still ends the server", async () => {
    const base = await madeBase()
    const database = await open(base)
    const before = running(base)
    kill(before.supervisor)
    await database.release()
    expect(isRunning(before.postmaster)).toBe(false)
    expect(serversOf(base)).toBe(0)
  })

  it("a client that leaves while it looks for another ends the server", async () => {
    const base = await madeBase()
    const lines: string[] = []
    const database = await open(base, { ...quick, log: (line) => lines.push(line) })
    const before = running(base)
    kill(before.supervisor)
    await until(() => lines.length > 0, "the client to notice")
    expect(database.reattached).toBe(0)
    await database.release()
    expect(isRunning(before.postmaster)).toBe(false)
    expect(serversOf(base)).toBe(0)
  })

  it("a server left without any process is taken over by the next client", async () => {
    const base = await madeBase()
    // So long that the supervisor is killed before it stops the server.
    const client = await startClient(base, { options: { ...quick, linger: 60_000 } })
    await sql(client.answer.url, "create table kept as select 7 as seven")
    const before = running(base)
    kill(client.process.pid)
    kill(before.supervisor)
    await until(() => !isRunning(before.supervisor), "the end of the supervisor")
    const next = await open(base)
    expect(running(base).postmaster).toBe(before.postmaster)
    expect(await sql(next.url, "select * from kept")).toEqual([{ seven: 7 }])
  })

  it("politely, it waits for its clients first", async () => {
    const base = await madeBase()
    const database = await open(base)
    const { supervisor, postmaster } = running(base)
    kill(supervisor, "SIGTERM")
    kill(supervisor, "SIGINT")
    expect(await sql(database.url, "select pg_sleep(0.3)::text as slept")).toEqual([{ slept: "" }])
    expect(isRunning(postmaster)).toBe(true)
    await database.release()
    await until(() => !isRunning(supervisor), "the end of the supervisor")
    expect(isRunning(postmaster)).toBe(false)
  })
})

describe("when the server is killed", () => {
  it("a living client gets it back with every committed row", async () => {
    const base = await madeBase()
    const database = await open(base, { linger: 300 })
    await sql(database.url, "create table kept (n int)", "insert into kept select generate_series(1, 1000)")
    kill(running(base).postmaster)
    await until(() => database.reattached === 1, "the client to attach again")
    expect(await sql(database.url, "select count(*)::int as n from kept")).toEqual([{ n: 1000 }])
    expect(readFileSync(join(base, "server.log"), "utf8")).toContain("automatic recovery in progress")
  })

  it("its address stays, though the client that starts it again has another temporary folder", async () => {
    const base = await madeBase()
    const first = await startClient(base, { env: { TMPDIR: temporary() } })
    const database = await open(base)
    expect(database.url).toBe(first.answer.url)
    kill(first.process.pid)
    kill(running(base).postmaster)
    await until(() => database.reattached === 1, "the client to attach again")
    expect(await sql(database.url, "select 1 as one")).toEqual([{ one: 1 }])
  })

  it("together with everything else, the next start recovers", async () => {
    const base = await madeBase()
    const client = await startClient(base, { options: { linger: 60_000 } })
    await sql(client.answer.url, "create table kept as select 7 as seven")
    const { supervisor, postmaster } = running(base)
    // In this order none of them has something to do about the end of another.
    for (const pid of [client.process.pid, supervisor, postmaster]) kill(pid)
    const database = await open(base, { linger: 300 })
    expect(running(base).postmaster).not.toBe(postmaster)
    expect(await sql(database.url, "select * from kept")).toEqual([{ seven: 7 }])
  })
})

describe("lock files of an earlier life", () => {
  it("whose process number another program has now are not taken for a running server", async () => {
    const base = await madeBase()
    const first = await open(base)
    await sql(first.url, "create table kept as select 7 as seven")
    const { supervisor, postmaster } = running(base)
    const pidFile = join(base, "data", "postmaster.pid")
    const socketLock = join(first.host, ".s.PGSQL.5432.lock")
    const left = [pidFile, socketLock, join(base, "run.json")].map((path) => ({
      path,
      text: readFileSync(path, "utf8")
    }))
    await first.release()
    await until(() => !isRunning(supervisor), "the end of the supervisor")

    const other = bystander(join(base, "data"))
    mkdirSync(first.host, { recursive: true })
    for (const { path, text } of left) {
      writeFileSync(path, text.replace(String(postmaster), String(other)).replace(String(supervisor), String(other)))
    }
    const database = await open(base)
    expect(await sql(database.url, "select * from kept")).toEqual([{ seven: 7 }])
    expect(running(base).postmaster).not.toBe(other)
    expect(isRunning(other)).toBe(true)
  })
})

describe("a crash while the cluster is made", () => {
  it("leaves nothing that counts, and is cleaned up later", async () => {
    const base = dataBase()
    const half = join(base, "init-4194305") // above the largest process id
    mkdirSync(half, { recursive: true })
    writeFileSync(join(half, "PG_VERSION"), "18\n")
    const old = new Date(Date.now() - 3_600_000)
    utimesSync(half, old, old)
    const database = await open(base)
    expect(await sql(database.url, "select 1 as one")).toEqual([{ one: 1 }])
    expect(existsSync(half)).toBe(false)
  })
})

describe("when the run file is removed under the supervisor", () => {
  it("it is written again, once that is possible", async () => {
    const base = await madeBase()
    const database = await open(base)
    const before = running(base)
    const path = join(base, "run.json")
    const next = `${path}.${before.supervisor}` // where it begins
    mkdirSync(next)
    rmSync(path)
    await new Promise((resolve) => setTimeout(resolve, 700)) // it looks four times a second
    rmdirSync(next)
    await until(() => existsSync(path), "the run file")
    expect(running(base)).toEqual(before)
    expect(database.reattached).toBe(0)
  })
})

describe("when the data folder is removed under the server", () => {
  it("server and supervisor end", async () => {
    const base = await madeBase()
    const client = await startClient(base)
    const { supervisor, postmaster } = running(base)
    // Whoever removes it while the supervisor writes its name there once more has to try again.
    rmSync(base, { recursive: true, maxRetries: 20, retryDelay: 50 })
    kill(client.process.pid)
    await until(() => !isRunning(postmaster) && !isRunning(supervisor), "the end of server and supervisor")
    expect(existsSync(join(base, "data"))).toBe(false)
  })
})

const isolated = ["unshare", "--pid", "--fork", "--ipc", "--mount-proc", "--kill-child"]
const canIsolate = isRoot && spawnSync("unshare", [...isolated.slice(1), "true"]).status === 0

// Needs root and Linux: it makes what a container has, processes, memory segments and a /tmp of its own.
describe.runIf(canIsolate)("another container on the same folder", () => {
  it("is refused if it cannot reach the sockets, and leaves the running server alone", async () => {
    const base = await madeBase()
    const database = await open(base)
    const { postmaster } = running(base)
    const pidFile = join(base, "data", "postmaster.pid")
    const before = readFileSync(pidFile, "utf8")
    const client = (script: string) =>
      startClient(base, { prefix: [...isolated, "sh", "-c", `${script} exec "$@"`, dirname(database.host)] })

    const stranger = await client(`mount -t tmpfs -o mode=0755 none "$0" &&`) // a /tmp of its own: our sockets are not there
    expect(stranger.answer).toMatchObject({
      final: true,
      error: expect.stringContaining("cannot be reached from here")
    })
    const friend = await client("")
    expect(friend.answer.error).toBe(undefined)

    expect(readFileSync(pidFile, "utf8")).toBe(before)
    expect(isRunning(postmaster)).toBe(true)
    expect(await sql(database.url, "select 1 as one")).toEqual([{ one: 1 }])
  })
})
