// Mails about accounts by a whole service: its queue, its worker and a real mail server; and services that cannot send them.
import { SMTPServer } from "smtp-server"
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest"
import { compileOrThrow } from "../../composition/create-admin.ts"
import { openPool } from "../../composition/database.ts"
import {
  createAdmin,
  createAuth,
  createUser,
  defineConfig,
  defineResource,
  f,
  startServer
} from "../../composition/index.ts"
import { applyMigrations, jobsMigrations } from "../../composition/migrations.ts"
import { openDatabase, type TestDatabase } from "../support/postgres.ts"
import { migrationsOf } from "../support/server.ts"

const url = "https://admin.shop.example"
const config = defineConfig({
  resources: [defineResource("notes", { table: "notes", primaryKey: "id", fields: { id: f.integer() } })],
  auth: { mail: true, appName: "The shop", signInPerMinute: 100 },
  options: { admin: { path: "/panel" } }
})
const plain = defineConfig({ resources: config.resources })

let database: TestDatabase
const mails: string[] = []
const server = new SMTPServer({
  authOptional: true,
  disabledCommands: ["STARTTLS"],
  logger: false,
  onData: (stream, _, done) => {
    const chunks: Buffer[] = []
    stream.on("data", (chunk: Buffer) => chunks.push(chunk))
    stream.on("end", () => {
      mails.push(Buffer.concat(chunks).toString())
      done()
    })
  }
})
let smtp: string

const settings = (more: Record<string, string> = {}): Record<string, string> => ({
  DATABASE_URL: database.url,
  AUTH_URL: url,
  AUTH_SECRET: "a secret of these tests, which is long enough",
  ...more
})
const withMail = (): Record<string, string> =>
  settings({ SERVICE_SMTP_URL: smtp, SERVICE_MAIL_FROM: "shop@shop.example" })

beforeAll(async () => {
  database = await openDatabase("create table notes (id integer primary key)")
  const pool = openPool(database.url, 1)
  // The queue is asked for by the mails alone: the configuration has no jobs.
  await applyMigrations(pool, migrationsOf(compileOrThrow(config)))
  await pool.end()
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const address = server.server.address()
  smtp = `smtp://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}`
})
afterAll(async () => {
  await new Promise<void>((resolve) => server.close(() => resolve()))
  await database?.drop()
})

describe("a service that sends mails about accounts", () => {
  it("needs the queue for them", () => {
    expect(jobsMigrations(compileOrThrow(config))).toHaveLength(1)
    expect(jobsMigrations(compileOrThrow(plain))).toEqual([])
  })

  it("mails a link to its own address and path, which sets the password", async () => {
    const running = await startServer(config, { port: 0, env: withMail(), log: () => {} })
    try {
      await createUser(running.auth!, { email: "ada@shop.example", password: "correct horse battery" })
      const post = (path: string, body: object) =>
        fetch(`${running.address}/api/auth${path}`, {
          method: "POST",
          headers: { "content-type": "application/json", "host": "evil.example" },
          body: JSON.stringify(body)
        })
      const begun = performance.now()
      expect((await post("/request-password-reset", { email: "ada@shop.example" })).status).toBe(200)
      expect((await post("/request-password-reset", { email: "nobody@shop.example" })).status).toBe(200)
      await vi.waitFor(() => expect(mails).toHaveLength(1), { timeout: 60_000 })
      expect(performance.now() - begun).toBeLessThan(10_000)
      const [raw = ""] = mails
      const text = raw.replaceAll("=\r\n", "").replaceAll("=3D", "=")
      expect(text).toContain("Subject: Set a new password for The shop")
      expect(text).toContain("To: ada@shop.example")
      const [, token] = /https:\/\/admin\.shop\.example\/panel\/-\/reset#token=([A-Za-z0-9_-]{43})/.exec(text) ?? []
      expect((await post("/reset-password", { token, newPassword: "another horse battery" })).status).toBe(200)
      expect((await post("/sign-in/email", { email: "ada@shop.example", password: "another horse battery" })).status)
        .toBe(
          200
        )
      // Told of the sign-in, by the same worker.
      await vi.waitFor(() => expect(mails).toHaveLength(2), { timeout: 60_000 })
      expect(mails[1]).toContain("Subject: New sign-in to The shop")
      expect(await database.rows("select count(*)::text from jobs._private_jobs")).toEqual([["0"]])
      expect(await database.rows("select count(*)::text from jobs.failed")).toEqual([["0"]])
    } finally {
      await running.close()
    }
  })

  it("does not start where it runs jobs without a mail server; where it only enqueues them it does", async () => {
    await expect(startServer(config, { port: 0, env: settings(), log: () => {} })).rejects.toThrow(
      "there is no mail server"
    )
    const running = await startServer(config, { port: 0, env: settings({ SERVICE_JOBS: "false" }), log: () => {} })
    await running.close()
  })

  it("works in a host of its own", async () => {
    const pool = openPool(database.url, 2)
    const auth = createAuth({
      database: pool as never,
      url,
      secret: "a secret of these tests, which is long enough",
      mail: true
    })
    const sent: string[] = []
    const admin = await createAdmin(
      { resources: config.resources, db: database.url, auth, options: { admin: false } } as never,
      { secret: "a secret of these tests", mail: { send: async ({ subject }) => void sent.push(subject) } }
    )
    try {
      await createUser(auth, { email: "bo@shop.example", password: "correct horse battery" })
      await admin.startJobs()
      const answer = await admin.fetch(
        new Request(`${url}/api/auth/request-password-reset`, {
          method: "POST",
          headers: { "content-type": "application/json" },
          body: JSON.stringify({ email: "bo@shop.example" })
        })
      )
      expect(answer.status).toBe(200)
      await vi.waitFor(() => expect(sent).toEqual(["Set a new password for Resource Admin Service"]), {
        timeout: 60_000
      })
    } finally {
      await admin.close()
      await pool.end()
    }
  })
})
