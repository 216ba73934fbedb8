import { existsSync, rmSync } from "node:fs"
import { join } from "node:path"
import { parseEnv } from "node:util"
import { Client } from "pg"
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest"
import { openEmbedded } from "../../composition/embedded/embedded.ts"
import { freePort } from "../support/cluster.ts"
import { openDatabase, type TestDatabase } from "../support/postgres.ts"
import { config, notes, notesProject, table } from "./notes.ts"
import { ask, makeProject } from "./support.ts"

/** A page behind a public tunnel signs in. */
const fromTunnel = (port: number) =>
  ask(port, "/api/auth/sign-in/email", {}, {
    method: "POST",
    headers: { "content-type": "application/json", "origin": "https://demo.trycloudflare.com" },
    body: JSON.stringify({ email: "nobody@example.com", password: "correct horse battery" })
  })

describe("init", () => {
  it("begins empty, and says how to go on in README.md, with or without containers", async () => {
    await using project = makeProject()
    expect((await project.quick("init", ".", "--empty")).code).toBe(0)
    expect(project.read("admin.config.ts")).toContain("resources: []")
    expect(project.read("README.md")).toContain("npm run dev")
    for (const path of ["Dockerfile", "compose.yaml", ".dockerignore"]) expect(project.read(path)).not.toBe("")
    // What Docker copies has no secret and no data.
    expect(project.read(".dockerignore").split("\n")).toEqual(
      expect.arrayContaining([".env", "data/", "node_modules/"])
    )
    const { devDependencies } = JSON.parse(project.read("package.json")) as { devDependencies: object }
    expect(Object.values(devDependencies).every((version) => /^[0-9.]+$/.test(String(version)))).toBe(true)
  })

  it("begins with the tables of a database, or leaves nothing where it cannot be reached", async () => {
    const database = await openDatabase("create table artist (id integer primary key, name text not null)")
    await using project = makeProject()
    try {
      const away = await project.quick("init", "music", "--from", "postgres://nobody:x@127.0.0.1:1/music")
      expect([away.code, away.stderr]).toEqual([1, expect.stringContaining("127.0.0.1:1")])
      expect(existsSync(join(project.folder, "music"))).toBe(false)
      expect((await project.quick("init", "music", "--from", "music")).stderr).toContain("no address of a database")
      expect((await project.quick("init", "music", "--empty", "--from", database.url)).code).toBe(1)
      const made = await project.quick("init", "music", "--from", database.url)
      expect([made.code, made.stderr]).toEqual([0, ""])
      expect(project.read("music/admin.resources.ts")).toContain("defineResource(\"artist\"")
      expect(project.read("music/.env")).toContain(`DATABASE_URL=${database.url}\n`)
      const again = await project.quick("introspect", "--project", "music", "--check")
      expect([again.code, again.stderr]).toEqual([0, ""])
      // Whatever an address has in it, `.env` gives it back: it is read here, as no variable is set.
      const odd = `${database.url}&application_name=Ann's "shop"`
      expect(await project.quick("init", "odd", "--from", odd)).toMatchObject({ code: 0, stderr: "" })
      expect(parseEnv(project.read("odd/.env"))["DATABASE_URL"]).toBe(odd.replace("'", "%27"))
      expect(await project.quick("introspect", "--project", "odd", "--check")).toMatchObject({ code: 0, stderr: "" })
    } finally {
      await database.drop()
    }
  })

  it("makes a project that migrates, serves, and gives way to an introspected one", async () => {
    await using opened = new AsyncDisposableStack()
    const project = opened.use(makeProject())
    const made = await project.quick("init", ".")
    expect(made.code).toBe(0)
    expect(project.read(".env")).toMatch(/^AUTH_SECRET=[A-Za-z0-9+/]{43}=$/m)
    const again = await project.quick("init", ".")
    expect(again.code).toBe(1)
    expect(again.stderr).toContain("Nothing was written")
    expect((await project.quick("init", "Ann's shop")).stdout).toContain("  cd 'Ann'\\''s shop'\n")

    const early = await project.quick("serve", "--port", "0")
    expect(early.code).toBe(1)
    expect(early.stderr).toContain("There is no table notes")
    expect(early.stderr).toContain(
      "DATABASE_URL is not set, and the embedded database has none of the declared tables."
    )
    // From here on the commands share a server that stays, and need not start and stop one each.
    opened.defer((await openEmbedded(join(project.folder, "data/postgres"))).release)
    const none = await project.quick("introspect")
    expect([none.code, none.stderr]).toEqual([1, expect.stringContaining("DATABASE_URL is not set")])
    expect((await project.quick("migration", "--apply")).stdout).toContain("Applied 001_notes.sql")
    const created = JSON.parse(
      (await project.quick("users", "create", "Ann@Example.com", "--generate-password", "--json")).stdout
    )
    expect(created).toMatchObject({ email: "ann@example.com", role: "admin" })

    const introspected = await project.quick("introspect")
    expect(introspected.stdout).toContain("1 resources from public")
    expect(introspected.stdout).toContain("admin.config.ts was the unchanged example of init.")
    expect(project.read("admin.config.ts")).toContain("./admin.resources.ts")
    const running = await project.start("serve")
    const token = (await project.quick("token", "ann@example.com", "--ttl", "60")).stdout.trim()
    const written = await ask(running.port, "/api/v1/notes", {}, {
      method: "POST",
      token,
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ title: "first", owner_id: "me" })
    })
    expect(written).toMatchObject({ status: 201, body: { title: "first", state: "draft" } })
    expect(await fromTunnel(running.port)).toMatchObject({ status: 403, body: { code: "INVALID_ORIGIN" } })
    expect(await running.end()).toBe(0)
  })
})

describe("on a database", () => {
  let database: TestDatabase
  const configured = (env: Record<string, string> = {}) => notesProject({ DATABASE_URL: database.url, ...env })
  beforeAll(async () => {
    database = await openDatabase(table)
    await using project = configured()
    expect((await project.quick("migration", "--apply")).code).toBe(0)
  })
  afterAll(async () => {
    await database.drop()
  })
  it("writes migrations once for each version, and applies a project's own once", async () => {
    await using project = configured()
    expect(JSON.parse((await project.quick("migration", "--json")).stdout)).toEqual({
      written: ["db/migrations/001_service.sql", "db/migrations/002_auth.sql"]
    })
    expect((await project.quick("migration")).stdout).toContain("Nothing to write")
    await database.execute(project.read("db/migrations/001_service.sql"))
    await database.execute(project.read("db/migrations/002_auth.sql"))
    project.write("db/migrations/010_colour.sql", "alter table notes add column colour text;\n")
    project.write("db/migrations/011_index.sql", "-- no transaction\ncreate index concurrently on notes (colour);\n")
    expect(JSON.parse((await project.quick("migration", "--apply", "--json")).stdout)).toEqual({
      applied: ["010_colour.sql", "011_index.sql"],
      changed: []
    })
    project.write("db/migrations/010_colour.sql", "alter table notes add column color text;\n")
    expect((await project.quick("migration", "--apply")).stdout).toContain("has changed since it was applied")
    project.write("db/migrations/012_wrong.sql", "select 1;\nselect nope;\n")
    expect(await project.quick("migration", "--apply")).toMatchObject({
      code: 1,
      stderr: "012_wrong.sql:2: column \"nope\" does not exist\n"
    })
  })

  it("bundles, and serves the bundle with and without the command", async () => {
    await using project = configured()
    expect((await project.quick("build")).stdout).toContain("Wrote dist/server.mjs")
    const bundle = project.read("dist/server.mjs")
    expect(bundle).toContain("defineResource(\"notes\"")
    expect(bundle).toContain("from \"resource-admin\"")
    expect(project.read("dist/server.mjs.map")).toContain("notes.ts")
    project.write("admin.config.ts", "throw new Error('not read any more')")
    for (const start of [() => project.start("serve", "dist/server.mjs"), () => project.startNode("dist/server.mjs")]) {
      const running = await start()
      expect((await ask(running.port, "/api/v1/notes")).status).toBe(401)
      expect(await running.end("SIGINT")).toBe(0)
    }
    expect(await project.quick("serve", "dist/none.mjs")).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("service build")
    })
    expect(await project.quick("build", "--out", "dist")).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/dist is a folder\. Name a file/)
    })
    // Without the packages of the project, and as a Node sees it that does not know `import.meta.main`.
    project.write("dist/bare.mjs", "import \"not-installed\"\nexport default {}\n")
    const bare = await project.quick("serve", "dist/bare.mjs")
    expect(bare).toMatchObject({ code: 1, stderr: expect.stringContaining("npm ci --omit=dev") })
    expect(bare.stderr).toContain("'not-installed'")
    project.write("dist/older.mjs", bundle.replaceAll("import.meta.main", "undefined"))
    await expect(project.startNode("dist/older.mjs")).rejects.toThrow(/\(1\)[^]*Node 24\.2 or newer is needed/)
  })

  /** A request that waits for a lock of ours, under way in the database. */
  const blocked = async (port: number, token: string) => {
    const params = new URL(database.url.replace("postgres@/", "postgres@localhost/"))
    const client = new Client({
      host: params.searchParams.get("host") ?? "",
      port: Number(params.searchParams.get("port")),
      user: "postgres",
      database: database.name
    })
    await client.connect()
    await client.query("begin; lock table notes in access exclusive mode")
    const answer = ask(port, "/api/v1/notes", {}, { token })
    for (;;) {
      // Of this table alone: other tests wait for locks on this server, too.
      const { rows } = await client.query(`
        select 1 from pg_locks l join pg_database d on d.oid = l.database and d.datname = current_database()
          where not granted and relation = 'notes'::regclass`)
      if (rows.length > 0) break
    }
    return {
      answer,
      release: async () => {
        await client.query("commit")
        await client.end()
      }
    }
  }

  it("finishes what is under way at SIGTERM; a second signal ends it at once", async () => {
    await using project = configured()
    await project.quick("users", "create", "dan@example.com", "--generate-password", "--role", "admin")
    const token = (await project.quick("token", "dan@example.com")).stdout.trim()

    const first = await project.start("serve")
    const waiting = await blocked(first.port, token)
    const ended = first.end("SIGTERM")
    await first.shows("\"event\":\"closing\"")
    // The port is closed a moment after that is said.
    await vi.waitFor(() => expect(ask(first.port, "/livez")).rejects.toThrow(), { timeout: 60_000 })
    await waiting.release()
    expect((await waiting.answer).status).toBe(200)
    expect(await ended).toBe(0)

    const second = await project.start("serve")
    const stuck = await blocked(second.port, token)
    stuck.answer.catch(() => {})
    const cut = second.end("SIGTERM")
    await second.shows("\"event\":\"closing\"")
    second.child.kill("SIGTERM")
    expect(await cut).toBe(143)
    await stuck.release()
  })

  it("drains at SIGTERM: it answers on while readiness is gone", async () => {
    await using project = configured({ SERVICE_DRAIN_SECONDS: "3600" })
    const running = await project.start("serve")
    const ended = running.end("SIGTERM")
    await vi.waitFor(async () => expect((await ask(running.port, "/readyz")).status).toBe(503), { timeout: 60_000 })
    expect((await ask(running.port, "/livez")).status).toBe(200)
    running.child.kill("SIGTERM")
    expect(await ended).toBe(143)
  })

  it("starts again when the configuration changes, and keeps serving while it is wrong", async () => {
    await using project = configured()
    const running = await project.start("dev")
    await running.shows(`ready at http://127.0.0.1:${running.port}\nPages sign in at AUTH_URL only`)
    // Past the question where the page is from: nobody has this account.
    expect((await fromTunnel(running.port)).status).toBe(401)
    project.write("notes.ts", notes.replace("body: f.text()", "body: f.txt()"))
    await running.shows("f.txt is not a function")
    expect((await ask(running.port, "/readyz")).status).toBe(200)
    project.write("notes.ts", notes.replace("body:", "title:"))
    await running.shows("has no column \"title\"")
    /** Changes something, and waits until it says a text once more. */
    const says = async (text: string, change: () => void): Promise<void> => {
      const times = () => running.output().split(text).length
      const before = times()
      change()
      await vi.waitFor(() => expect(times()).toBeGreaterThan(before), { timeout: 60_000 })
    }
    // Log lines come another way, so they may stand anywhere in between. Who sees the file half-written starts once more.
    await says("ready at", () => project.write("notes.ts", notes))
    await running.shows("closing")

    // Switching branches takes folders away and brings them back.
    project.write("tables/notes.ts", notes)
    await says(
      "ready at",
      () => project.write("admin.config.ts", config().replace("./notes.ts", "./tables/notes.ts"))
    )
    await says(
      "The server goes on with what it had.",
      () => rmSync(join(project.folder, "tables"), { recursive: true })
    )
    // Each start has a port of its own here, and one that an earlier change began may still be under way.
    await vi.waitFor(async () => {
      const [, port] = [...running.output().matchAll(/ready at http:\/\/127\.0\.0\.1:(\d+)/g)].at(-1) ?? []
      expect((await ask(Number(port), "/readyz")).status).toBe(200)
    }, { timeout: 60_000, interval: 50 })
    await says("ready at", () => project.write("tables/notes.ts", notes))
    expect(await running.end("SIGINT")).toBe(0)
    project.write("admin.config.ts", config())

    // A page at 127.0.0.1 could not sign in.
    const port = await freePort()
    project.write(".env", `AUTH_URL=http://localhost:${port}\n`)
    const usual = await project.start("dev", "--port", String(port))
    await usual.shows(`ready at http://localhost:${port}\n`)
    expect(usual.output()).not.toContain("sign in")
    expect(await usual.end("SIGINT")).toBe(0)
  })
})
