// `createAdmin` over an auth server of its own process, as `createAuth` makes it: the example of the deployment guide, run.
import { Pool } from "pg"
import {
  type Admin,
  type Auth,
  authMigrationSql,
  createAdmin,
  createAuth,
  createUser,
  defineResource,
  defineRoles,
  f,
  StartupError
} from "resource-admin"
import { afterAll, beforeAll, expect, it } from "vitest"
import { openDatabase, type TestDatabase } from "../support/postgres.ts"

const url = "https://admin.example.org"
const secret = "a secret of the tests, long enough"
const password = "correct horse battery"

const notes = defineResource("notes", {
  table: "notes",
  primaryKey: "id",
  fields: { id: f.integer().readOnly().dbDefault(), body: f.text() }
})

let database: TestDatabase
let pool: Pool
let auth: Auth
let admin: Admin

beforeAll(async () => {
  database = await openDatabase(
    "create table notes (id integer generated always as identity primary key, body text not null)"
  )
  pool = new Pool({ connectionString: database.url, max: 4 })
  auth = createAuth({ database: pool, secret, url, roles: ["reader"] })
  await pool.query(authMigrationSql(auth))
  await createUser(auth, { email: "ann@example.org", password })
  await createUser(auth, { email: "bob@example.org", password })
  admin = await createAdmin(
    { resources: [notes], roles: defineRoles({ admin: ["*"], reader: ["notes.read"] }), db: database.url, auth },
    { secret }
  )
})
afterAll(async () => {
  await admin.close()
  await pool.end()
  await database.drop()
})

interface Sent {
  readonly method?: string
  readonly body?: string
  readonly headers?: { readonly [name: string]: string }
}

const ask = (path: string, { headers, ...sent }: Sent = {}): Promise<Response> =>
  admin.fetch(new Request(`${url}${path}`, { ...sent, headers: { "content-type": "application/json", ...headers } }))

const tokenOf = async (email: string): Promise<string> => {
  const body = JSON.stringify({ email, password })
  const signedIn = await ask("/api/auth/sign-in/email", { method: "POST", body })
  expect(signedIn.status).toBe(200)
  const cookie = signedIn.headers.getSetCookie().map((each) => each.split(";", 1)[0]).join("; ")
  return (await (await ask("/api/auth/token", { headers: { cookie } })).json() as { readonly token: string }).token
}

it("mounts sign-in, takes its tokens, and knows its roles", async () => {
  expect(await (await ask("/api/auth/status")).json()).toEqual({ needsAdmin: false })
  const bearer = async (email: string) => ({ authorization: `Bearer ${await tokenOf(email)}` })
  const create = { method: "POST", body: JSON.stringify({ body: "x" }) }
  expect((await ask("/api/v1/notes", { ...create, headers: await bearer("ann@example.org") })).status).toBe(201)
  expect((await ask("/api/v1/notes", { headers: await bearer("bob@example.org") })).status).toBe(200)
  expect((await ask("/api/v1/notes", { ...create, headers: await bearer("bob@example.org") })).status).toBe(403)
  expect((await ask("/api/v1/notes")).status).toBe(401)
})

it("refuses an auth server that answers elsewhere", async () => {
  const other = createAuth({ database: pool, secret, url, basePath: "/login" })
  await expect(createAdmin({ resources: [notes], db: database.url, auth: other }, { secret })).rejects.toThrow(
    StartupError
  )
})
