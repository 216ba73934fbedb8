import * as Effect from "effect/Effect"
import { execFile } from "node:child_process"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { describe, expect, it } from "vitest"
import { makeFetch } from "../adapters/http/fetch.ts"
import type { Config, OptionsDeclaration } from "../core/domain/declare/config.ts"
import { f } from "../core/domain/declare/field.ts"
import { defineResource } from "../core/domain/declare/resource.ts"
import { makeFakeRecords } from "../test/fakes/records.ts"
import { compileOrThrow, createAdmin } from "./create-admin.ts"
import type { AdminOptions } from "./deployment.ts"
import { makeService } from "./edge.ts"
import { StartupError } from "./startup-error.ts"

const notes = defineResource("notes", {
  table: "notes",
  primaryKey: "id",
  fields: { id: f.integer().readOnly().dbDefault() }
})

const serve = (options: OptionsDeclaration) =>
  makeFetch(makeService({
    compiled: compileOrThrow({ resources: [notes], options }),
    records: makeFakeRecords().service,
    authenticator: () => ({ user: { id: "u1", roles: ["admin"] } }),
    secret: "a secret of the tests, long enough",
    publicUrl: "http://localhost",
    ready: Effect.succeed(true)
  }))

describe("options of the service", () => {
  const origin = "https://panel.example.org"
  it.each([[{ origins: [origin] }, "600"], [{ origins: [origin], maxAgeSeconds: 7 }, "7"]])(
    "%j: browsers keep the answer to a preflight for %s seconds",
    async (cors, seconds) => {
      const headers = { origin, "access-control-request-method": "GET" }
      const response = await serve({ cors })(
        new Request("http://localhost/api/v1/notes", { method: "OPTIONS", headers })
      )
      expect([response.status, response.headers.get("access-control-max-age")]).toEqual([204, seconds])
    }
  )
})

it("a rule that throws is in the log with its resource, its place and the kind of error, without values, once a minute", async () => {
  const lines: string[] = []
  const ruled = defineResource("papers", {
    table: "papers",
    primaryKey: "id",
    fields: { id: f.integer().readOnly().dbDefault(), text: f.text().optional() },
    access: {
      read: ({ caller }) => {
        throw new TypeError(`no role for ${caller.id}`)
      },
      fields: { text: { write: ({ caller }) => caller.roles[7]!.startsWith("a") } }
    }
  })
  const fetch = makeFetch(makeService({
    compiled: compileOrThrow({ resources: [ruled] }),
    records: makeFakeRecords().service,
    authenticator: () => ({ user: { id: "secret-id", roles: ["admin"] } }),
    secret: "a secret of the tests, long enough",
    publicUrl: "http://localhost",
    ready: Effect.succeed(true),
    log: (line) => void lines.push(line)
  }))
  for (let n = 0; n < 3; n += 1) {
    // Denied, as every rule that throws.
    expect((await fetch(new Request("http://localhost/api/v1/papers"))).status).not.toBe(200)
  }
  const failed = lines.map((line) => JSON.parse(line) as Record<string, unknown>).filter(({ event }) =>
    event === "rule-failed"
  )
  expect(failed.map(({ error, resource, rule }) => ({ error, resource, rule }))).toEqual([
    { error: "TypeError", resource: "papers", rule: "access.read" },
    { error: "TypeError", resource: "papers", rule: "access.fields.text.write" }
  ])
  expect(JSON.stringify(failed)).not.toContain("secret-id")
})

describe("createAdmin", () => {
  // Nobody is there; nothing waits for it either.
  const db = "postgres://app:hidden@127.0.0.1:1/shop"
  const secret = "a secret of the tests, long enough"
  const authenticate = () => ({ user: { id: "u1", roles: ["admin"] } })

  it("needs nothing but a configuration that says it all", async () => {
    const admin = await createAdmin({ resources: [notes], db, authenticate, auth: { secret } })
    const response = await admin.fetch(
      new Request("http://localhost/api/meta", { headers: { authorization: "Bearer x" } })
    )
    expect(response.status).toBe(200)
    expect(await response.json()).toMatchObject({ user: { id: "u1" }, models: [{ name: "notes" }] })
    await admin.close()
  })

  it("takes from its options what the configuration does not say, and rather what they say", async () => {
    const seen: string[] = []
    const admin = await createAdmin({ resources: [notes], authenticate, db: "postgres://other/shop" }, {
      database: { url: db },
      secret,
      publicUrl: "https://admin.example.org",
      authenticator: ({ url }) => {
        seen.push(url)
        return { user: { id: "u2", roles: [] } }
      }
    })
    const response = await admin.fetch(new Request("http://localhost/api/openapi.json"))
    expect(await response.json()).toMatchObject({ servers: [{ url: "https://admin.example.org" }] })
    expect(seen.length).toBe(1)
    await admin.close()
  })

  it("lets running requests finish when it closes, and begins no more", async () => {
    let letIn = (): void => {}
    const asked = new Promise<void>((resolve) => letIn = resolve)
    const admin = await createAdmin({ resources: [notes], db, auth: { secret } }, {
      authenticator: () => asked.then(authenticate)
    })
    const order: string[] = []
    const running = admin.fetch(new Request("http://localhost/api/meta")).then(({ status }) => order.push(`${status}`))
    const closed = Promise.all([admin.close(), admin.close()]).then(() => order.push("closed"))
    const late = await admin.fetch(new Request("http://localhost/api/meta"))
    expect([late.status, late.headers.get("retry-after")]).toEqual([503, "5"])
    expect(await late.json()).toMatchObject({ type: "urn:service:problem:unavailable", instance: "/api/meta" })
    expect(late.headers.get("x-meta-version")).toMatch(/^[\w-]{22}$/)
    expect([late.headers.get("cache-control"), late.headers.get("x-content-type-options")]).toEqual([
      "no-store",
      "nosniff"
    ])
    // Whatever closes without waiting is done in these turns of the event loop.
    for (let turns = 0; turns < 20; turns++) await new Promise((resolve) => setImmediate(resolve))
    letIn()
    await Promise.all([running, closed])
    expect(order).toEqual(["200", "closed"])
  })

  const refused = async (config: unknown, options?: unknown): Promise<readonly string[]> => {
    const error: unknown = await createAdmin(config as Config, options as AdminOptions).then(() => null, (each) => each)
    expect(error).toBeInstanceOf(StartupError)
    return (error as StartupError).refusals.map(({ message }) => message)
  }

  it("refuses together what neither says", async () => {
    expect(await refused({ resources: [notes] })).toEqual([
      "Nothing says where the database is.",
      "Nobody verifies credentials.",
      "There is no secret."
    ])
  })

  it("refuses what plain JavaScript may pass", async () => {
    const options = {
      database: "postgres://db/shop",
      authenticator: "admin",
      secret: "short",
      publicUrl: "localhost",
      auditDays: -1
    }
    expect(await refused({ resources: [notes] }, options)).toEqual([
      "Nothing says where the database is.",
      "authenticator is \"admin\".",
      "The secret is not a text of at least 16 characters.",
      "publicUrl is \"localhost\", not the http(s) URL of an API.",
      "auditDays is -1."
    ])
    const [message] = await refused({ resources: [notes], authenticate, auth: { secret } }, {
      database: { url: "mysql://app:hidden@db/shop" }
    })
    expect(message).toContain("The database's URL")
    expect(message).not.toContain("hidden")
  })

  it("leaves nothing open when it fails, so that the process may end", async () => {
    const program = `
      import { createAdmin } from ${JSON.stringify(fileURLToPath(new URL("./create-admin.ts", import.meta.url)))}
      const authenticator = () => ({ user: { id: "u1", roles: [] } })
      const options = { database: { url: "${db}" }, secret: "${secret}", authenticator, extraRoutes: 3 }
      await createAdmin({ resources: [] }, options).catch((error) => console.log(error.name))
    `
    const args = ["--conditions=source", "--input-type=module", "--eval", program]
    const { stdout } = await promisify(execFile)(process.execPath, args, { timeout: 170_000, killSignal: "SIGKILL" })
    expect(stdout).toBe("TypeError\n")
  })
})
