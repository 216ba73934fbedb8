// The service of tasks.test.ts as a process of its own, to be killed: as TASK_ROLE says it serves on a free port or runs the jobs, and tells the port on
// a line. A line on standard input asks what it holds in memory.
import { createInterface } from "node:readline"
import { listen } from "../../adapters/http/node.ts"
import { createAdmin } from "../../composition/create-admin.ts"
import { defineConfig, defineResource, f } from "../../composition/index.ts"
import { testAuthenticator, testSecret } from "../support/composed.ts"

const things = defineResource("things", {
  table: "things",
  primaryKey: "id",
  version: "version",
  fields: {
    id: f.integer().bits(64).filterable().sortable(),
    name: f.text().filterable(),
    note: f.text().optional(),
    version: f.integer().readOnly()
  },
  validate: [({ note }) => note === "locked" ? [{ field: "note", message: "Locked." }] : null]
})

const config = defineConfig({
  resources: [things],
  authenticate: () => {
    throw new Error("the option stands in for it")
  },
  options: {
    statementTimeoutMs: 60_000,
    scanGuard: { mode: "off" },
    tasks: { ownerRoles: async () => ["boss"] }
  }
})

const admin = await createAdmin(config, {
  database: { url: process.env["DATABASE_URL"]! },
  authenticator: testAuthenticator,
  secret: testSecret,
  publicUrl: "http://service.test"
})
const serves = process.env["TASK_ROLE"] === "serve"
if (!serves) await admin.startJobs()
console.log(`port ${serves ? (await listen(admin.edge, { port: 0 })).port : 0}`)
let peak = 0
setInterval(() => {
  peak = Math.max(peak, process.memoryUsage().rss)
}, 20)
createInterface({ input: process.stdin }).on("line", () => {
  console.log(
    `peak ${Math.max(peak, process.memoryUsage().rss)} ${process.cpuUsage().user + process.cpuUsage().system}`
  )
  peak = 0
})
