/**
 * Finds and loads a project's configuration file: TypeScript or JavaScript, with whatever it imports. It decides what a person is told when
 * that fails; whether the configuration makes sense is decided by the compiler.
 */

import { existsSync, readFileSync } from "node:fs"
import { extname, isAbsolute, join, relative, resolve } from "node:path"
import { stripVTControlCharacters } from "node:util"
import type { Config } from "../core/domain/declare/config.ts"
import { loadVite } from "./vite.ts"

/** Names of configuration files, in the order in which they are looked for. */
export const configNames = ["admin.config.ts", "admin.config.mts", "admin.config.js", "admin.config.mjs"] as const

/** A configuration file that cannot be found or loaded. `files` are those to watch for a better version. */
export class ConfigFileError extends Error {
  override readonly name = "ConfigFileError"
  readonly files: readonly string[]
  constructor(message: string, files: readonly string[]) {
    super(message)
    this.files = files
  }
}

export interface LoadedConfig {
  readonly config: Config
  readonly path: string
  /** The configuration file and every file of the project that it imports, absolute. */
  readonly files: readonly string[]
}

/** The configuration file of a project, or the one asked for. Throws `ConfigFileError` when there is none. */
export const findConfig = (folder: string, asked?: string): string => {
  if (asked !== undefined) {
    const path = resolve(folder, asked)
    if (existsSync(path)) return path
    throw new ConfigFileError(`There is no file ${path}.`, [path])
  }
  const file = configNames.map((name) => join(folder, name)).find((path) => existsSync(path))
  if (file !== undefined) return file
  throw new ConfigFileError(
    `There is no ${configNames[0]} in ${folder}.\n`
      + "Make a project with `service init`, or one from an existing database with `service introspect`.",
    [join(folder, configNames[0])]
  )
}

/** Where a loading configuration finds this very program. */
const handover = Symbol.for("resource-admin/own-package")

const virtual = "\0resource-admin"

/** The entry `resource-admin/images` of this very program: loaded by Node, and only where a configuration asks for it. */
const imagesEntry = new URL(`../adapters/images/images${extname(import.meta.url)}`, import.meta.url).href

/**
 * Makes `import … from "resource-admin"` in a configuration mean this very program, which is loaded already. So declarations and program
 * are of one version, whatever is installed beside the project, and nothing of it is transformed again.
 */
const ownPackage = async () => {
  const entry: { readonly [name: string]: unknown } = await import("./index.ts")
  Object.assign(globalThis, { [handover]: entry })
  const names = Object.keys(entry).map((name) => `export const ${name} = own.${name}`)
  return {
    name: "own-package",
    enforce: "pre" as const,
    resolveId: (source: string) =>
      source === "resource-admin"
        ? virtual
        : source === "resource-admin/images"
        ? { id: imagesEntry, external: true }
        : null,
    load: (id: string) =>
      id === virtual ? `const own = globalThis[Symbol.for("${handover.description}")]\n${names.join("\n")}\n` : null
  }
}

/** The resource that is being declared at a place of a file (`/folder/orders.ts:12:5`), if there is one. */
const resourceAt = (frame: string): string | null => {
  const [, path = "", line = ""] = /(\/[^():]+\.[cm]?[jt]s):(\d+)/.exec(frame) ?? []
  try {
    const lines = readFileSync(path, "utf8").split("\n").slice(0, Number(line))
    const declared = /defineResource\(\s*["'`]([^"'`]+)["'`]/g
    return [...lines.join("\n").matchAll(declared)].at(-1)?.[1] ?? null
  } catch {
    return null
  }
}

/** The package that a loading error names: a package that Node did not find, or an optional package that vite replaced by a name of its own. */
const missingPackage = (message: string): string | null =>
  /__vite-optional-peer-dep:([^:']+)/.exec(message)?.[1]
    ?? /^Cannot find (?:package|module) '((?:@[\w.-]+\/)?[\w.-]+)'(?: imported from |\nRequire stack:)/.exec(message)
      ?.[1]
    ?? null

/** The lines of an error that help: what went wrong, in which resource, and where in the project. */
const explainFailure = (error: unknown, folder: string): string => {
  if (!(error instanceof Error)) return `It threw ${String(error)}.`
  const missing = missingPackage(error.message)
  if (missing !== null) return `The package ${missing} is not installed. Run: npm install ${missing}`
  const places = (error.stack ?? "").split("\n")
    .filter((line) => /^\s+at /.test(line) && line.includes(folder) && !line.includes("node_modules"))
    .slice(0, 3)
  const resource = places[0] === undefined ? null : resourceAt(places[0].replace("file://", ""))
  const frames = places
    .map((line) => `    ${line.trim().replaceAll("file://", "").replaceAll(`${folder}/`, "")}`)
  const causes = error.cause instanceof Error ? `\n${error.cause.message}` : ""
  const where = resource === null ? "" : `In the resource "${resource}": `
  const text = `${where}${error.name === "Error" ? "" : `${error.name}: `}${error.message}${causes}${
    frames.length === 0 ? "" : `\n${frames.join("\n")}`
  }`
  return process.stderr.isTTY ? text : stripVTControlCharacters(text)
}

/** Loads a configuration file afresh, past every module cache of the project's own files. */
export const loadConfig = async (path: string): Promise<LoadedConfig> => {
  const [{ runnerImport }, plugin] = await Promise.all([loadVite(), ownPackage()])
  const folder = resolve(path, "..")
  // So that the places in an error are those of the source file, not of the transformed text.
  const mapped = process.sourceMapsEnabled ?? false
  process.setSourceMapsEnabled(true)
  let loaded: Awaited<ReturnType<typeof runnerImport<unknown>>>
  let config: unknown
  try {
    loaded = await runnerImport<unknown>(path, {
      root: folder,
      configFile: false,
      envFile: false,
      logLevel: "silent",
      plugins: [plugin],
      // Vite leaves packages to Node before it asks any plugin, unless they are named.
      environments: { inline: { resolve: { noExternal: ["resource-admin"] } } }
    })
    const { module } = loaded
    // It may be a promise.
    config = typeof module === "object" && module !== null && "default" in module ? await module.default : undefined
  } catch (error) {
    throw new ConfigFileError(`${relativeTo(path)} cannot be loaded.\n${explainFailure(error, folder)}`, [path])
  } finally {
    process.setSourceMapsEnabled(mapped)
  }
  const files = [path, ...loaded.dependencies.filter((file) => isAbsolute(file) && !file.includes("\0"))]
  if (config === undefined) {
    throw new ConfigFileError(
      `${relativeTo(path)} has no default export.\nEnd it with: export default defineConfig({ resources: […] })`,
      files
    )
  }
  // The compiler reports anything else that is wrong with it.
  return { config: config as Config, path, files }
}

const relativeTo = (path: string): string => {
  const short = relative(process.cwd(), path)
  return short.startsWith("..") ? path : short
}
