// Runs the long form of the chaos tests: every fault many times and for longer, bounded to half an hour. All processes are its own, on loopback.
import { spawnSync } from "node:child_process"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const ended = spawnSync(
  process.execPath,
  [
    join(root, "node_modules", "vitest", "vitest.mjs"),
    "run",
    "test/chaos",
    "--testTimeout=600000",
    ...process.argv.slice(2)
  ],
  { cwd: root, stdio: "inherit", env: { ...process.env, CHAOS: "long" }, timeout: 1_800_000 }
)
if (ended.error) throw ended.error
process.exitCode = ended.status ?? 1
