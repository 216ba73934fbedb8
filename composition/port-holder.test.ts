import { spawn } from "node:child_process"
import { once } from "node:events"
import { expect, it } from "vitest"
import { freePort } from "../test/support/cluster.ts"
import { holderOf, takenPort } from "./port-holder.ts"

it.skipIf(process.platform !== "linux").each([["127.0.0.1"], ["::1"]])("finds who listens at %s", async (host) => {
  const program = `const server = require("node:net").createServer()
    server.listen(0, process.argv[1], () => console.log(server.address().port))`
  const child = spawn(process.execPath, ["-e", program, host], { cwd: "/", stdio: ["ignore", "pipe", "inherit"] })
  const [port] = await once(child.stdout, "data") as [Buffer]
  const found = holderOf(Number(port.toString()))
  child.kill("SIGKILL")
  await once(child, "close")
  expect(found).toEqual({ pid: child.pid, name: "node", folder: "/" })
  expect(holderOf(Number(port.toString()))).toBeNull()
})

it("knows nobody on a free port", async () => {
  expect(holderOf(await freePort())).toBeNull()
})

it("says what has it, or how to find out on each platform", () => {
  expect(takenPort(5173, { pid: 47, name: "node", folder: "/shop" }, "linux")).toEqual({
    by: "node has it, process 47 in /shop",
    fix: "End it with: kill 47. Or set PORT to another port and AUTH_URL to its address."
  })
  expect(takenPort(5173, { pid: 47, name: "nginx", folder: null }, "linux").by).toBe("nginx has it, process 47")
  for (
    const [platform, command] of [["linux", "ss -ltnp"], ["darwin", "lsof -nP"], ["win32", "netstat -ano"]] as const
  ) {
    const { by, fix } = takenPort(5173, null, platform)
    expect(by).toBe("something has it that cannot be seen from here")
    expect(fix).toContain(command)
    expect(fix).toContain("5173")
    expect(fix).toContain("set PORT to another port")
  }
})
