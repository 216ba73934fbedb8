// A start that cannot succeed says why in a sentence, without a password, leaves nothing open and does not go on half; one whose database is
// only late waits for it.
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { startServer } from "../../composition/server.ts"
import { StartupError } from "../../composition/startup-error.ts"
import { freePort, openCluster } from "../support/cluster.ts"
import type { TestCluster } from "../support/cluster.ts"
import { NotStarted, startProcess } from "../support/process.ts"
import { ask, clientOf, config, pause, prepare, untilServing, untilTrue } from "./fixture.ts"
import type { Ready } from "./fixture.ts"

let cluster: TestCluster
let ready: Ready

beforeAll(async () => {
  cluster = await openCluster()
  ready = await prepare(cluster)
  await cluster.execute("create role locked login password 'right-one'")
  const hba = join(cluster.data, "pg_hba.conf")
  writeFileSync(hba, `host all locked 127.0.0.1/32 scram-sha-256\n${readFileSync(hba, "utf8")}`)
  await cluster.execute("select pg_reload_conf()")
})
afterAll(async () => {
  await ready?.[Symbol.asyncDispose]()
  await cluster?.[Symbol.asyncDispose]()
})

const refusal = async (url: string, patienceMs = 300): Promise<string> => {
  const log: string[] = []
  try {
    const server = await startServer(config, {
      env: ready.env({ url }),
      port: 0,
      patienceMs,
      log: (line) => void log.push(line)
    })
    await server.close()
    return "it started"
  } catch (error) {
    expect(error).toBeInstanceOf(StartupError)
    expect(log.join("\n")).not.toContain("s3cret")
    return error instanceof Error ? error.message : ""
  }
}

describe("a start is refused", () => {
  it("when the password is wrong: at once, with exit code 1, and without the password", async () => {
    const failure = await startProcess(ready.env({ url: cluster.urlOf({ user: "locked", password: "s3cret-wrong" }) }))
      .then(() => null, (error: unknown) => error)
    expect(failure).toBeInstanceOf(NotStarted)
    const { code, log, stderr } = failure as NotStarted
    expect(code).toBe(1)
    expect(stderr).toContain(`The database server at 127.0.0.1:${cluster.port} refuses the user "locked".`)
    expect(stderr).toContain("Check user and password in DATABASE_URL")
    expect(stderr).not.toContain("s3cret")
    expect(stderr).not.toMatch(/\n\s+at /)
    // It was not tried again.
    expect(log.filter((line) => line.includes("database-unreachable"))).toEqual([])
  })

  it("when the database is missing", async () => {
    const message = await refusal(cluster.urlOf({ database: "nowhere", password: "s3cret" }))
    expect(message).toContain(`The database server at 127.0.0.1:${cluster.port} has no database "nowhere".`)
    expect(message).not.toContain("s3cret")
  })

  it("when nobody listens there", async () => {
    const port = await freePort()
    const message = await refusal(`postgres://app:s3cret@127.0.0.1:${port}/postgres`)
    expect(message).toContain(`The database at 127.0.0.1:${port} cannot be reached.`)
    expect(message).not.toContain("s3cret")
  })

  it("when its host has no address", async () => {
    const message = await refusal("postgres://app:s3cret@no-such-host.invalid/postgres")
    expect(message).toContain("The host of the database, no-such-host.invalid:5432, is not known.")
    expect(message).not.toContain("s3cret")
  })

  it("when the database has no connection left", async () => {
    await cluster.execute("alter role app connection limit 0")
    try {
      expect(await refusal(cluster.urlOf({ user: "app" }))).toContain("has no connection left.")
    } finally {
      await cluster.execute("alter role app connection limit -1")
    }
  })

  it("and leaves no connection behind", async () => {
    // The server may take a moment to end what was closed.
    const left = () => cluster.rows("select pid::text from pg_stat_activity where application_name = 'service'")
    await untilTrue(async () => (await left()).length === 0)
    expect(await left()).toEqual([])
  })
})

describe("a start goes well", () => {
  it("when the database comes up late", async () => {
    await cluster.stop("fast")
    const log: string[] = []
    const starting = startServer(config, {
      env: ready.env(),
      port: 0,
      patienceMs: 120_000,
      log: (line) => void log.push(line)
    })
    await untilTrue(async () => log.some((line) => line.includes("database-unreachable")))
    await cluster.start()
    const server = await starting
    await untilServing(server.port, ready.bearer)
    await server.close()
    expect(log.some((line) => line.includes("database-unreachable"))).toBe(true)
  })
})

describe("a log that nobody reads any more", () => {
  it("does not end the server", async () => {
    await using server = await startProcess(ready.env())
    await untilServing(server.port, ready.bearer)
    server.closeLog()
    for (let i = 0; i < 5; i++) {
      expect((await ask(server.port, clientOf(ready.bearer).get("/entries/1")))?.status).toBe(200)
      await pause(20)
    }
    expect(server.running()).toBe(true)
  })
})
