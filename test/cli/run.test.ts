// scripts/run.mjs, which every script of package.json goes through: what npm started ends with npm.
import { spawn } from "node:child_process"
import { fileURLToPath } from "node:url"
import { expect, it } from "vitest"

const root = fileURLToPath(new URL("../..", import.meta.url))

it.skipIf(process.platform === "win32")("ends its child when the shell of npm ends without telling it", async () => {
  const child =
    "process.on('SIGTERM', () => process.exit(console.log('bye'))); setTimeout(() => {}, 20_000); console.log('up')"
  // The second command keeps the shell from becoming the first.
  const shell = spawn("sh", ["-c", `"$0" scripts/run.mjs -e "$1"; true`, process.execPath, child], {
    cwd: root,
    env: { ...process.env, npm_lifecycle_event: "start" },
    stdio: ["ignore", "pipe", "inherit"]
  })
  let said = ""
  shell.stdout.setEncoding("utf8").on("data", (text: string) => said += text)
  await expect.poll(() => said).toBe("up\n")
  shell.kill("SIGKILL")
  await expect.poll(() => said).toBe("up\nbye\n")
})
