#!/usr/bin/env node
/** The program `service`. */

import { runCommand } from "./run.ts"

// The reader may have seen enough (`| head`): that is no failure.
process.stdout.on("error", (error: NodeJS.ErrnoException) => process.exit(error.code === "EPIPE" ? 0 : 1))

process.exitCode = await runCommand(process.argv.slice(2))
