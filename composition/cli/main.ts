#!/usr/bin/env node
/** The program `service`. */
import { endWithParent } from "../parent.ts"

// As early as this: npm may end while the rest is loaded.
endWithParent()

// The reader may have closed the pipe early (`| head`). That is no failure.
process.stdout.on("error", (error: NodeJS.ErrnoException) => process.exit(error.code === "EPIPE" ? 0 : 1))

try {
  await import("../runtime.ts")
} catch (error) {
  // A Node that is too old cannot load the rest.
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
  process.exit(1)
}
const { runCommand } = await import("./run.ts")
process.exitCode = await runCommand(process.argv.slice(2))
