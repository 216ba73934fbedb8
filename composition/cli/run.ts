/** Runs the command that arguments name. Its outcome is an exit code: 0 done, 1 refused or failed, 2 used wrongly. */

import * as NodeServices from "@effect/platform-node/NodeServices"
import * as CliConfig from "effect/cli/CliConfig"
import * as CliError from "effect/cli/CliError"
import * as Command from "effect/cli/Command"
import * as GlobalFlag from "effect/cli/GlobalFlag"
import * as Effect from "effect/Effect"
import { createRequire } from "node:module"
import { Failed, service } from "./commands.ts"

const { version }: { readonly version: string } = createRequire(import.meta.url)("resource-admin/package.json")

/** Runs a command to its end. What it prints goes to the process's own streams. A command may have set `process.exitCode`: that wins. */
export const runCommand = async (args: readonly string[]): Promise<number | string> => {
  const program = Command.runWith(service, { version })(args).pipe(
    Effect.provide(CliConfig.layer({ builtIns: [GlobalFlag.Help, GlobalFlag.Version, GlobalFlag.Completions] })),
    Effect.provide(NodeServices.layer),
    Effect.as(0),
    Effect.catch((error) => {
      if (error instanceof Failed) {
        process.stderr.write(`${error.message}\n`)
        return Effect.succeed(1)
      }
      // Help that was asked for is no error. Help that is shown because something is wrong is one.
      const asked = CliError.isCliError(error) && error._tag === "ShowHelp" && error.errors.length === 0
      return Effect.succeed(asked ? 0 : 2)
    })
  )
  const code = await Effect.runPromise(program)
  return process.exitCode ?? code
}
