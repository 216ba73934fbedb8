/**
 * Every TypeScript example of the documentation passes the compiler against the types of the package, and runs: its declarations are made, its
 * configuration compiles, its calls are answered. Each page is a folder, and a module has the lines of its page, so that a fault is reported where it is.
 */

import { spawn } from "node:child_process"
import { once } from "node:events"
import { mkdirSync, mkdtempSync, realpathSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { text } from "node:stream/consumers"
import { pathToFileURL } from "node:url"
import { newWebhookSecret } from "resource-admin"
import { Webhook } from "standardwebhooks"
import { afterAll, beforeAll, expect, it } from "vitest"
import { compileOrThrow, createAdmin } from "../../composition/create-admin.ts"
import { openPool } from "../../composition/database.ts"
import {
  applyMigrations,
  authMigrations,
  findMissing,
  followingMigrations,
  jobsMigrations,
  serviceMigration
} from "../../composition/migrations.ts"
import type { Config } from "../../core/domain/declare/config.ts"
import config from "../../examples/shop/admin.config.ts"
import { prepareShop } from "../../examples/shop/database.ts"
import { musicSchema } from "../cli/music.ts"
import { run } from "../examples/checkout.ts"
import { freePort } from "../support/cluster.ts"
import { compileCache } from "../support/compiled.ts"
import { openDatabase, type TestDatabase } from "../support/postgres.ts"
import { type Block, blocksOf, examplesOf, pages, root } from "./blocks.ts"
import * as given from "./given.ts"
import { runLines } from "./shell.ts"

/** The page whose blocks are one program, each with what those before it have made: client.test.ts runs it. */
const program = "docs/guides/client.md"

/** It serves until somebody ends it. */
const receiverPath = "docs/guides/webhooks.md/receiver.ts"

/** What examples import, and which file of the project it is. A page that shows such a file itself has its own. */
const beside = {
  "resources/messages.ts": "examples/shop",
  "mails.ts": "examples/shop",
  "admin.config.ts": "examples/shop"
}

const packages = ["@types", "@tanstack/react-query", "react", "react-dom", "standardwebhooks", "vite", "zod"]

const isModule = ({ language, left }: Block): boolean => /^tsx?$/.test(language) && left !== "not run"

let folder = ""
let database: TestDatabase
/** The modules to run, by their paths. */
const runnable: string[] = []

const write = (path: string, text: string): void => {
  mkdirSync(dirname(join(folder, path)), { recursive: true })
  writeFileSync(join(folder, path), text)
}

const writeModule = (path: string, blocks: readonly Block[]): void => {
  const lines: string[] = []
  for (const { line, text } of blocks) {
    while (lines.length < line - 1) lines.push("")
    lines.push(...text.trimEnd().split("\n"))
  }
  write(path, `${lines.join("\n")}\nexport {}\n`)
  if (path === `${program}/page.ts` || path === receiverPath) return
  if (blocks.every(({ language, left }) => language === "ts" && left === null)) runnable.push(join(folder, path))
}

beforeAll(async () => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), "examples-")))
  for (const name of [...packages, "resource-admin"]) {
    const link = join(folder, "node_modules", name)
    mkdirSync(dirname(link), { recursive: true })
    symlinkSync(name === "resource-admin" ? root : join(root, "node_modules", name), link)
  }
  for (const page of pages) {
    const modules = blocksOf(page).filter(isModule)
    if (modules.length === 0) continue
    const orders = join(root, "test/docs/given.ts")
    write(`${page}/resources/orders.ts`, `export { orders } from ${JSON.stringify(orders)}\n`)
    for (const [path, from] of Object.entries(beside)) {
      const names = path === "admin.config.ts" ? "{ default }" : "*"
      write(`${page}/${path}`, `export ${names} from ${JSON.stringify(join(root, from, path))}\n`)
    }
    const parts = Map.groupBy(modules, (block) =>
      /^\/\/ ([\w./-]+\.tsx?)\n/.exec(block.text)?.[1]
        ?? (page === program && block.language === "ts" ? "page.ts" : `line-${block.line}.${block.language}`))
    for (const [name, blocks] of parts) writeModule(`${page}/${name}`, blocks)
  }
  write(
    "docs/guides/events.md/envelope.ts",
    `import type { EventEnvelope } from "resource-admin"
export const envelope: EventEnvelope = ${examplesOf("docs/guides/events.md", "json")[0]!.text}`
  )
  write(
    "docs/guides/sources.md/meta.ts",
    `import type { MetaDocument } from "resource-admin/client"
export const meta: Pick<MetaDocument, "sources"> = ${examplesOf("docs/guides/sources.md", "json")[0]!.text}`
  )
  const declared = Object.keys(given).map((name) =>
    `declare const ${name}: typeof import(${JSON.stringify(join(root, "test/docs/given.ts"))}).${name}`
  )
  write("given.d.ts", declared.join("\n"))
  write("package.json", JSON.stringify({ type: "module" }))
  write(
    "tsconfig.json",
    JSON.stringify({
      extends: join(root, "tsconfig.json"),
      compilerOptions: {
        lib: ["es2024", "esnext.disposable", "dom", "dom.iterable"],
        jsx: "react-jsx",
        noUnusedLocals: false,
        rewriteRelativeImportExtensions: false
      },
      include: ["given.d.ts", "docs", "README.md"],
      exclude: []
    })
  )
  database = await openDatabase()
  await prepareShop(database.url, 100)
  const pool = openPool(database.url, 1)
  const compiled = compileOrThrow(config)
  const migrations = [
    serviceMigration,
    ...authMigrations(config),
    ...jobsMigrations(compiled),
    ...followingMigrations(compiled)
  ]
  await applyMigrations(pool, await findMissing(pool, migrations))
  await pool.end()

  // What the guide to existing databases begins with.
  const music = await openDatabase(musicSchema)
  const made = await run(
    process.execPath,
    ["--conditions=source", join(root, "composition/cli/main.ts"), "introspect"],
    {
      cwd: folder,
      env: { ...process.env, ...compileCache, DATABASE_URL: music.url }
    }
  )
  await music.drop()
  expect(made.stderr).toBe("")
  renameSync(join(folder, "admin.resources.ts"), join(folder, "docs/guides/existing-database.md/admin.resources.ts"))
})
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true })
  await database?.drop()
})

it("every example passes the compiler", async () => {
  const { stdout } = await run(
    process.execPath,
    [join(root, "node_modules/typescript/bin/tsc"), "--noEmit", "-p", "."],
    { cwd: folder }
  )
  expect(stdout).toBe("")
})

it("every example runs", async () => {
  expect(runnable.length).toBeGreaterThan(40)
  const env = {
    ...process.env,
    ...compileCache,
    DATABASE_URL: database.url,
    AUTH_SECRET: given.secret,
    STRIPE_WEBHOOK_SECRET: newWebhookSecret(),
    SERVICE_LOG: "off"
  }
  const { stderr, stdout } = await run(process.execPath, [
    "--conditions=source",
    join(root, "test/docs/run.ts"),
    ...runnable
  ], { cwd: folder, env })
  expect(stdout + stderr).toBe("")
})

it.each([
  ["deployment", examplesOf("docs/guides/deployment.md", "sql")],
  ["history", examplesOf("docs/reference/history.md", "sql")],
  ["jobs", examplesOf("docs/guides/jobs.md", "sql")]
])("every statement of %s is taken by PostgreSQL", async (_, blocks) => {
  // Roles are of the whole server: this one never comes to be.
  const role = `app_${database.name}`.slice(0, 60)
  const statements = blocks.map(({ text }) => text.replaceAll(/\bapp\b/g, role)).join("\n")
  await database.execute(`begin; create role ${role}; ${statements} rollback`)
})

it("the function of the guide does what it is called for", async () => {
  const [line] = examplesOf("docs/guides/functions.md", "ts").map(({ line }) => line)
  const made = await import(pathToFileURL(join(folder, `docs/guides/functions.md/line-${line}.ts`)).href) as {
    readonly default: Config
  }
  const admin = await createAdmin(made.default, {
    database: { url: database.url },
    secret: given.secret,
    authenticator: () => ({ user: { id: "ann", roles: ["sales"] } })
  })
  const server = createServer((request, response) => {
    void text(request).then(async (body) => {
      const headers = Object.entries(request.headers).map(([name, value]) => [name, String(value)] as [string, string])
      const answer = await admin.fetch(new Request(`http://localhost${request.url}`, { method: "POST", headers, body }))
      response.writeHead(answer.status).end(await answer.text())
    })
  })
  await once(server.listen(0, "127.0.0.1"), "listening")
  try {
    await database.execute("update shop.orders set status = 'paid' where id = 17")
    const [said = ""] = await runLines(examplesOf("docs/guides/functions.md", "sh"), {
      folder,
      env: { TOKEN: given.token },
      given: { "https://admin.example.com": `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
    })
    expect(JSON.parse(said)).toMatchObject({ id: "17", status: "shipped" })
  } finally {
    server.close()
    await admin.close()
  }
})

it("the receiver takes what is signed, and nothing else", async () => {
  const port = await freePort()
  const env = { ...process.env, PORT: String(port), WEBHOOK_SECRET: newWebhookSecret() }
  const receiver = spawn(process.execPath, [join(folder, receiverPath)], {
    env,
    stdio: ["ignore", "inherit", "inherit"]
  })
  try {
    const body = JSON.stringify({ type: "orders.created" })
    const now = new Date()
    const send = (signature: string) =>
      fetch(`http://127.0.0.1:${port}`, {
        method: "POST",
        headers: {
          "webhook-id": "msg_1",
          "webhook-timestamp": String(Math.floor(now.getTime() / 1000)),
          "webhook-signature": signature
        },
        body
      }).then(({ status }) => status, () => null)
    await expect.poll(() => send("v1,bm8=")).toBe(401)
    expect(await send(new Webhook(env.WEBHOOK_SECRET).sign("msg_1", now, body))).toBe(204)
  } finally {
    receiver.kill()
  }
})
