/**
 * The `build` command: bundles a project's configuration into one file that plain Node runs, with a source map. Packages stay outside; they
 * are installed where the bundle runs. It loads and checks nothing of the configuration.
 */

import { existsSync, mkdirSync, statSync } from "node:fs"
import { basename, dirname, relative, resolve } from "node:path"
import { findConfig } from "../config-file.ts"
import { loadVite } from "../vite.ts"
import { CliFailure, print } from "./output.ts"
import type { ProjectFlags } from "./project.ts"

const entryName = "virtual:server"

/**
 * What the bundle adds to the configuration: the configuration is its default export, and run as a program it serves. Without this, running
 * it would end at once and look as if all were well.
 */
const entryText = (config: string): string =>
  `import config from ${JSON.stringify(config)}
import { runServer } from "resource-admin"
export default config
if (import.meta.main === undefined) throw new Error("Node 24.2 or newer is needed; this is " + process.version + ".")
if (import.meta.main) await runServer(config)
`

export const build = async (flags: ProjectFlags & { readonly out: string | undefined }): Promise<void> => {
  const config = findConfig(flags.project, flags.config)
  const out = resolve(flags.project, flags.out ?? "dist/server.mjs")
  if (existsSync(out) && statSync(out).isDirectory()) {
    throw new CliFailure(`${out} is a folder. Name a file with --out, such as dist/server.mjs.`)
  }
  const { build: bundle } = await loadVite()
  mkdirSync(dirname(out), { recursive: true })
  try {
    await bundle({
      root: flags.project,
      configFile: false,
      envFile: false,
      logLevel: "silent",
      publicDir: false,
      plugins: [{
        name: "server-entry",
        resolveId: (source) => source === entryName ? entryName : null,
        load: (id) => id === entryName ? entryText(config) : null
      }],
      // Only the project's own files go in: everything that is imported by a package's name stays an import.
      ssr: { external: true, target: "node" },
      build: {
        ssr: true,
        target: "node24",
        outDir: dirname(out),
        emptyOutDir: false,
        sourcemap: true,
        minify: false,
        rollupOptions: {
          input: entryName,
          external: (id) =>
            id !== entryName && !id.startsWith(".") && !id.startsWith("/") && !/^[A-Za-z]:[\\/]/.test(id),
          output: { entryFileNames: basename(out), format: "es", codeSplitting: false }
        }
      }
    })
  } catch (error) {
    throw new CliFailure(`The bundle cannot be made.\n${error instanceof Error ? error.message : String(error)}`)
  }
  const size = Math.ceil(statSync(out).size / 1024)
  print(
    `Wrote ${relative(flags.project, out)} (${size} KiB). Run it with: service serve ${relative(flags.project, out)}`
  )
}
