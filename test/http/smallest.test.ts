// The smallest project over HTTP: everything that answers a GET does so without a table that the project does not need.
import { afterAll, beforeAll, expect, it } from "vitest"
import { makeRoutes } from "../../adapters/auth/routes.ts"
import { mountAt, readablePaths } from "../../adapters/http/router.ts"
import { openServer, type TestServer } from "../support/server.ts"
import { smallest, smallestSchema } from "../support/smallest.ts"

interface Parameter {
  readonly in?: string
  readonly required?: boolean
  readonly $ref?: string
}

interface Document {
  readonly paths: { readonly [path: string]: { readonly get?: { readonly parameters?: readonly Parameter[] } } }
  readonly components: { readonly parameters: { readonly [name: string]: Parameter } }
}

let service: TestServer
let cookie: string
let token: string

const ask = async (path: string, as: "admin" | "nobody" = "admin") => {
  const answer = await fetch(`${service.url}${path}`, {
    headers: as === "nobody" ? {} : { authorization: `Bearer ${token}`, cookie },
    redirect: "manual"
  })
  // A stream of changes would never end.
  const stream = answer.headers.get("content-type")?.startsWith("text/event-stream") === true
  if (stream) await answer.body?.cancel()
  return { status: answer.status, text: stream ? "" : await answer.text() }
}

beforeAll(async () => {
  service = await openServer(smallest, { schema: smallestSchema })
  await service.account("ada@notes.example", "admin")
  const signedIn = await fetch(`${service.url}/api/auth/sign-in/email`, {
    method: "POST",
    headers: { "content-type": "application/json", origin: service.url },
    body: JSON.stringify({ email: "ada@notes.example", password: service.password })
  })
  cookie = signedIn.headers.getSetCookie().map((each) => each.split(";", 1)[0]!).join("; ")
  token = (await (await fetch(`${service.url}/api/auth/token`, { headers: { cookie } })).json() as {
    readonly token: string
  }).token
})
afterAll(() => service?.close())

/** A path with names in it, of something that is there and of something that is not. */
const filled = (path: string): readonly string[] => {
  const named = path.replaceAll("{resource}", "notes")
  return named.includes("{")
    ? ["1", "999", "1c5ee6f5-4f0c-4f37-8f6a-2f1f7f1f3a55"].map((value) => named.replaceAll(/\{[^}]+\}/g, value))
    : [named]
}

/** Each documented path that takes a GET, and whether it needs nothing else. */
const documented = async (): Promise<ReadonlyMap<string, boolean>> => {
  const { components, paths } = JSON.parse((await ask("/api/openapi.json")).text) as Document
  const needed = (parameter: Parameter): boolean => {
    const { $ref } = parameter
    const { in: at, required } = $ref === undefined ? parameter : components.parameters[$ref.split("/").at(-1)!]!
    return at === "query" && required === true
  }
  return new Map(
    Object.entries(paths).flatMap(([path, { get }]) =>
      get === undefined ? [] : [[path, !path.includes("{") && !(get.parameters ?? []).some(needed)] as const]
    )
  )
}

it("has no table of jobs, and says that there are none", async () => {
  expect(await service.database.rows("select to_regnamespace('jobs')")).toEqual([[null]])
  expect(await ask("/api/jobs")).toEqual({ status: 200, text: "{\"jobs\":[]}" })
  expect(await ask("/api/jobs/failed")).toEqual({ status: 200, text: "{\"jobs\":[],\"next_page_token\":null}" })
  expect((await ask("/api/jobs?x=1")).status).toBe(400)
  expect((await ask("/api/jobs", "nobody")).status).toBe(401)
  const send = (method: string, path: string) =>
    fetch(`${service.url}${path}`, { method, headers: { authorization: `Bearer ${token}` } })
  expect((await send("POST", "/api/jobs/failed/1:retry")).status).toBe(404)
  expect(await (await send("DELETE", "/api/jobs/failed?name=mail")).json()).toEqual({ count: 0 })
  expect(JSON.parse((await ask("/api/meta")).text)).not.toHaveProperty("jobs")
  expect([...(await documented()).keys()]).not.toContain("/api/jobs")
})

it("has no tasks, and says so", async () => {
  expect(await ask("/api/tasks")).toEqual({ status: 200, text: "{\"tasks\":[]}" })
  expect((await ask("/api/tasks?x=1")).status).toBe(400)
  expect((await ask("/api/tasks", "nobody")).status).toBe(401)
  expect((await ask("/api/tasks/1")).status).toBe(404)
  expect([...(await documented()).keys()]).not.toContain("/api/tasks")
})

it("answers every documented GET as documented", async () => {
  const paths = await documented()
  expect([...paths.keys()]).toEqual(expect.arrayContaining(["/api/meta", "/api/v1/notes"]))
  const wrong: string[] = []
  for (const [path, whole] of paths) {
    for (const each of filled(path)) {
      const { status } = await ask(each)
      // What needs more is refused without it, and never fails.
      if (status >= (whole ? 400 : 500)) wrong.push(`${each}: ${status}`)
    }
  }
  expect(wrong).toEqual([])
})

it("answers everything that the tables of routes have without an error of its own", async () => {
  const { edge } = service.server.admin
  const auth = [...makeRoutes({ twoFactor: true, passkeys: true }, [])].flatMap(([path, { method }]) =>
    method === "GET" ? [`/api/auth${path}`] : []
  )
  const paths = [
    "/",
    "/livez",
    "/readyz",
    "/api/auth/status",
    ...readablePaths(mountAt("/api/v1")),
    ...edge.prefixes.flatMap((prefix) => [prefix, `${prefix}/1`]),
    ...auth
  ]
  expect(paths).toEqual(
    expect.arrayContaining(["/api/tasks", "/api/v1/{resource}:seek", "/api/jobs", "/api/auth/jwks"])
  )
  const wrong: string[] = []
  for (const path of paths.flatMap(filled)) {
    for (const as of ["admin", "nobody"] as const) {
      const { status } = await ask(path, as)
      if (status >= 500) wrong.push(`${as} ${path}: ${status}`)
    }
  }
  expect(wrong).toEqual([])
})
