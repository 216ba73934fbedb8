// What people ask of PostgREST and Hasura, asked of a database of theirs that `introspect` alone has made a service of: one request each.
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { loadConfig } from "../../composition/config-file.ts"
import { createUser, startServer } from "../../composition/index.ts"
import type { Server } from "../../composition/index.ts"
import { makeProject, type Project } from "../cli/support.ts"
import { freePort } from "../support/cluster.ts"
import type { TestDatabase } from "../support/postgres.ts"
import { hasura, postgrest, type Question } from "./questions.ts"
import { openShape } from "./shapes.ts"
import { tokenOf } from "./visit.ts"

const secret = "0123456789abcdef0123456789abcdef"
const password = "correct horse battery"

let database: TestDatabase
let project: Project
let server: Server
let url: string
let token: string

beforeAll(async () => {
  database = await openShape({ name: "cinema" })
  project = makeProject({ DATABASE_URL: database.url, AUTH_SECRET: secret })
  for (const command of [["introspect", "--views"], ["migration", "--apply"]]) {
    expect(await project.quick(...command)).toMatchObject({ code: 0, stderr: "" })
  }
  const port = await freePort()
  url = `http://localhost:${port}`
  const { config } = await loadConfig(`${project.folder}/admin.config.ts`)
  server = await startServer(config, {
    port,
    env: { DATABASE_URL: database.url, AUTH_URL: url, AUTH_SECRET: secret },
    log: () => {}
  })
  await createUser(server.auth!, { email: "ann@example.org", name: "Ann", role: "admin", password })
  token = await tokenOf(url, "ann@example.org", password)
})
afterAll(async () => {
  await server?.close()
  await project?.dispose()
  await database?.drop()
})

/** The query of a question with its values encoded: `&` and the first `=` of a part belong to the query. */
const encoded = (path: string): string => {
  const at = path.indexOf("?")
  if (at === -1) return path
  const parts = path.slice(at + 1).split("&").map((part) => {
    const equals = part.indexOf("=")
    return `${part.slice(0, equals)}=${encodeURIComponent(part.slice(equals + 1))}`
  })
  return `${path.slice(0, at)}?${parts.join("&")}`
}

const ask = async ({ ask, body, headers }: Question): Promise<{ readonly status: number; readonly body: unknown }> => {
  const [, method = "GET", path] = /^(?:(GET|POST|PATCH|DELETE) )?(.*)$/.exec(ask)!
  const response = await fetch(`${url}/api/v1${path!.startsWith(":") ? "" : "/"}${encoded(path!)}`, {
    method,
    headers: {
      authorization: `Bearer ${token}`,
      ...(body === undefined ? {} : { "content-type": "application/json" }),
      ...headers
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) })
  })
  const text = await response.text()
  return { status: response.status, body: text === "" ? null : JSON.parse(text) }
}

it("are at least sixty", () => expect(postgrest.length + hasura.length).toBeGreaterThanOrEqual(60))

describe.each([["PostgREST", postgrest], ["Hasura", hasura]] as const)("asked as of %s", (_, questions) => {
  it.each(questions)("$there", async (question) => {
    expect(await ask(question)).toMatchObject({ status: question.status ?? 200, body: question.answer })
  })
})
