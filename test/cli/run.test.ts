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

it.skipIf(process.platform !== "linux")(
  "ends it once, in order, when npm is killed and its shell is left",
  async () => {
    // It needs longer to close than two looks of ours take, and a second signal would end it at once.
    const child = `let asked = false
    process.on("SIGTERM", () => {
      if (asked) process.exit(console.log("cut"))
      asked = true
      setTimeout(() => process.exit(console.log("bye")), 1_300)
    })
    setTimeout(() => {}, 20_000)
    console.log("up")`
    const npm =
      `require("node:child_process").spawn("sh", ["-c", process.argv[1] + "; true"], { stdio: "inherit", env: {
    ...process.env, CHILD: process.argv[2], npm_lifecycle_event: "start" } })`
    const command = `'${process.execPath}' scripts/run.mjs -e "$CHILD"`
    const started = spawn(process.execPath, ["-e", npm, command, child], {
      cwd: root,
      stdio: ["ignore", "pipe", "inherit"]
    })
    let said = ""
    started.stdout.setEncoding("utf8").on("data", (text: string) => said += text)
    await expect.poll(() => said).toBe("up\n")
    started.kill("SIGKILL")
    await expect.poll(() => said, { timeout: 15_000 }).not.toBe("up\n")
    expect(said).toBe("up\nbye\n")
  }
)
