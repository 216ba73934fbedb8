#!/usr/bin/env node
/**
 * The program `service`: runs the command that its arguments name and ends with 0 (done), 1 (refused or failed) or 2 (used wrongly).
 */

import * as NodeServices from "@effect/platform-node/NodeServices"
import * as CliConfig from "effect/cli/CliConfig"
import * as CliError from "effect/cli/CliError"
import * as Command from "effect/cli/Command"
import * as GlobalFlag from "effect/cli/GlobalFlag"
import * as Effect from "effect/Effect"
import { createRequire } from "node:module"
import { Failed, service } from "./commands.ts"

// The reader may have seen enough (`| head`): that is no failure.
process.stdout.on("error", (error: NodeJS.ErrnoException) => process.exit(error.code === "EPIPE" ? 0 : 1))

const version = (createRequire(import.meta.url)("resource-admin/package.json") as { readonly version: string }).version

const program = Command.runWith(service, { version })(process.argv.slice(2)).pipe(
  Effect.provide(CliConfig.layer({ builtIns: [GlobalFlag.Help, GlobalFlag.Version, GlobalFlag.Completions] })),
  Effect.provide(NodeServices.layer),
  Effect.as(0),
  Effect.catch((error) => {
    if (error instanceof Failed) {
      process.stderr.write(`${error.message}\n`)
      return Effect.succeed(1)
    }
    // Help that was asked for is no error; help that is shown because something is wrong is.
    const asked = CliError.isCliError(error) && error._tag === "ShowHelp" && error.errors.length === 0
    return Effect.succeed(asked ? 0 : 2)
  })
)

process.exitCode = await Effect.runPromise(program).then((code) => process.exitCode ?? code)
