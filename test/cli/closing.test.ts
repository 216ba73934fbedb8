// How a process ends that does not close: within its limit, and with a sentence.
import { spawn } from "node:child_process"
import { once } from "node:events"
import { fileURLToPath } from "node:url"
import { expect, it } from "vitest"
import { plainEnvironment } from "./support.ts"

const server = fileURLToPath(new URL("../../composition/server.ts", import.meta.url))

it("ends at its limit where the close hangs, as with a database that answers nothing", async () => {
  const program = `import { closeOnSignal } from ${JSON.stringify(server)}
    closeOnSignal({ drain: async () => console.log("drained"), close: () => new Promise(() => {}) }, 50)
    setInterval(() => {}, 60_000)
    console.log("ready")`
  const child = spawn(process.execPath, ["--conditions=source", "--input-type=module", "-e", program], {
    env: plainEnvironment(),
    stdio: ["ignore", "pipe", "pipe"]
  })
  let said = ""
  let complained = ""
  child.stderr.setEncoding("utf8").on("data", (text: string) => complained += text)
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    said += text
    if (text.includes("ready")) child.kill("SIGTERM")
  })
  const [code] = await once(child, "close")
  expect(code).toBe(1)
  expect(said).toContain("drained")
  expect(complained).toContain("The service did not close within 0.05 seconds, so its process ends now.")
})
