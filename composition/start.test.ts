// A start that fails before its database has answered.
import { execFile } from "node:child_process"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { expect, it } from "vitest"

it("leaves nothing open, so that its process ends at once, however long it would have waited for the database", async () => {
  const folder = mkdtempSync(join(tmpdir(), "resource-admin-start-"))
  try {
    const config = { resources: [], auth: { roles: ["admin"], mail: { passwordReset: true } } }
    const options = {
      folder,
      env: {
        DATABASE_URL: "postgres://nobody@127.0.0.1:1/none?sslmode=disable",
        AUTH_SECRET: "0123456789abcdef0123456789abcdef"
      },
      patienceMs: 3_600_000
    }
    const program = `
      import { startServer } from ${JSON.stringify(fileURLToPath(new URL("./server.ts", import.meta.url)))}
      const options = { ...${JSON.stringify(options)}, log: () => {} }
      await startServer(${JSON.stringify(config)}, options).catch((error) => console.log(error.message))
    `
    const args = ["--conditions=source", "--input-type=module", "--eval", program]
    const { stdout } = await promisify(execFile)(process.execPath, args, { timeout: 170_000, killSignal: "SIGKILL" })
    expect(stdout).toContain("there is no mail server")
  } finally {
    rmSync(folder, { recursive: true })
  }
})
