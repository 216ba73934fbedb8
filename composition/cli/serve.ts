/**
 * The `serve` command: a server for production, from a bundle that `build` made or from the configuration file. It watches nothing.
 */

import { existsSync } from "node:fs"
import { resolve } from "node:path"
import { pathToFileURL } from "node:url"
import type { Config } from "../../core/domain/declare/config.ts"
import { findConfig, loadConfig } from "../config-file.ts"
import { loadEnvFile } from "../environment.ts"
import { runServer } from "../server.ts"
import { CliFailure } from "./output.ts"
import type { ProjectFlags } from "./project.ts"

/** The configuration in a bundle: its default export. */
const configOf = async (path: string): Promise<Config> => {
  if (!existsSync(path)) throw new CliFailure(`There is no file ${path}. Make it with: service build`)
  const module: unknown = await import(pathToFileURL(path).href).catch((error: unknown) => {
    if (!(error instanceof Error && "code" in error && error.code === "ERR_MODULE_NOT_FOUND")) throw error
    throw new CliFailure(
      `${path} cannot be loaded: ${error.message}.\nA bundle needs the packages of its project beside it: npm ci --omit=dev`
    )
  })
  if (typeof module !== "object" || module === null || !("default" in module)) {
    throw new CliFailure(`${path} is no bundle of a service: it has no default export.`)
  }
  return module.default as Config
}

/** A server, or with `worker` a process that only runs the jobs. */
export const serve = async (
  flags: ProjectFlags & { readonly bundle: string | undefined; readonly port: number | undefined },
  worker = false
): Promise<void> => {
  // A configuration may read variables while it is loaded.
  loadEnvFile(flags.project)
  const config = flags.bundle === undefined
    ? (await loadConfig(findConfig(flags.project, flags.config))).config
    : await configOf(resolve(flags.project, flags.bundle))
  await runServer(config, { folder: flags.project, worker, ...(flags.port === undefined ? {} : { port: flags.port }) })
}
