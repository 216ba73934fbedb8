// Commands that npm started end with npm: whatever it was that ended it, and whether or not the shell between says so.
import { spawn } from "node:child_process"
import { type AddressInfo, createServer } from "node:net"
import { fileURLToPath } from "node:url"
import { expect, it, onTestFinished } from "vitest"
import { authMigrations, serviceMigration } from "../../composition/migrations.ts"
import { freePort } from "../support/cluster.ts"
import { openDatabase } from "../support/postgres.ts"
import { migrate } from "../support/server.ts"
import { smallest, smallestSchema } from "../support/smallest.ts"
import { makeProject, type Project } from "./support.ts"

const main = fileURLToPath(new URL("../../composition/cli/main.ts", import.meta.url))

const config = `import { defineConfig, defineResource, f } from "resource-admin"
export default defineConfig({
  resources: [defineResource("notes", { primaryKey: "id", fields: { id: f.integer().readOnly().dbDefault(), title: f.text() } })]
})
`

/** A process in the place of npm, with a shell below it as npm has one, and below that the command. */
const underNpm = (project: Project, command: string, env: Readonly<Record<string, string>>) => {
  // It tells the number of the shell, passes signals to it as npm does, and ends as it does.
  const npm = `const { spawn } = require("node:child_process")
    const shell = spawn("sh", ["-c", process.argv[1] + "; true"], { stdio: "inherit" })
    process.on("SIGTERM", () => shell.kill("SIGTERM"))
    shell.on("exit", () => process.exit(143))`
  const child = spawn(process.execPath, ["-e", npm, command], {
    cwd: project.folder,
    env: { ...project.env, ...env, npm_lifecycle_event: "npx" },
    stdio: ["ignore", "pipe", "pipe"],
    // A group of its own, so that nothing of it is left after a failure.
    detached: true
  })
  let said = ""
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => said += text)
  }
  const closed = new Promise<void>((resolve) => child.once("close", () => resolve()))
  let ended = false
  void closed.then(() => ended = true)
  onTestFinished(() => {
    if (!ended) process.kill(-child.pid!, "SIGKILL")
  })
  return { said: () => said, kill: (signal: NodeJS.Signals) => void child.kill(signal), closed }
}

const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`

it.skipIf(process.platform === "win32").for(
  [
    ["serve", "SIGTERM"],
    ["dev", "SIGTERM"],
    // Only Linux tells who looks after the shell that is left.
    ...process.platform === "linux" ? [["serve", "SIGKILL"] as const] : []
  ] as const
)("%s ends in order when npm gets %s, and its port is free", async ([command, signal]) => {
  await using project = makeProject()
  const database = await openDatabase(smallestSchema)
  await migrate(database.url, [serviceMigration, ...authMigrations(smallest)])
  project.write("admin.config.ts", config)
  const port = await freePort()
  const run = `${quoted(process.execPath)} --conditions=source ${quoted(main)} ${command}`
  const npm = underNpm(project, run, {
    DATABASE_URL: database.url,
    AUTH_SECRET: "a secret of the tests, long enough",
    AUTH_URL: `http://localhost:${port}`,
    SERVICE_LOG: "json"
  })
  await expect.poll(npm.said, { timeout: 30_000 }).toContain(`"event":"listening"`)
  npm.kill(signal)
  // Whoever has the pipe of its output has ended then: the server, too.
  await npm.closed
  expect(npm.said()).toContain(`"event":"closing"`)
  await expect(fetch(`http://127.0.0.1:${port}/livez`)).rejects.toThrow()
  await database.drop()
})

it("says which program has the port, and how to take another", async () => {
  await using project = makeProject()
  const database = await openDatabase(smallestSchema)
  await migrate(database.url, [serviceMigration, ...authMigrations(smallest)])
  project.write("admin.config.ts", config)
  const holder = createServer()
  await new Promise<void>((done) => holder.listen(0, "127.0.0.1", done))
  const { port } = holder.address() as AddressInfo
  Object.assign(project.env, {
    DATABASE_URL: database.url,
    AUTH_SECRET: "a secret of the tests, long enough",
    PORT: String(port)
  })
  const { code, stderr } = await project.service("serve")
  await new Promise((done) => holder.close(done))
  await database.drop()
  expect(code).toBe(1)
  expect(stderr).toContain(`Port ${port} of 127.0.0.1 cannot be opened (EADDRINUSE)`)
  expect(stderr).toContain(process.platform === "linux" ? `node has it, process ${process.pid}` : "something has it")
  expect(stderr).toContain("set PORT to another port")
})
