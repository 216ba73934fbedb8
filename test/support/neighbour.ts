/**
 * The version before this one, from the history of the project: its sources in a folder of their own, run with the installed packages. Nothing is installed
 * and nothing is built.
 */

import { spawnSync } from "node:child_process"
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"

const root = fileURLToPath(new URL("../..", import.meta.url))

/** The last commit whose tables of the service are one step older (service 3, and 4 since then). Move it on with each release, to the release before. */
const neighbour = "85996a113025f85163ebfb6dfde20ee4e724ced4"

const git = (...args: string[]): string | null => {
  const { status, stdout } = spawnSync("git", ["-C", root, ...args], { encoding: "utf8", maxBuffer: 2 ** 28 })
  return status === 0 ? stdout : null
}

const packagesOf = (text: string): Readonly<Record<string, string>> =>
  (JSON.parse(text) as { readonly dependencies: Readonly<Record<string, string>> }).dependencies

/** Why there is no version before to run; null: there is one. */
export const noNeighbour = (): string | null => {
  const text = git("show", `${neighbour}:package.json`)
  if (text === null) return "needs the history of the project"
  const [before, now] = [packagesOf(text), packagesOf(readFileSync(join(root, "package.json"), "utf8"))]
  return Object.entries(before).every(([name, version]) => now[name] === version)
    ? null
    : "needs packages of the version before, which are not those that are installed"
}

/** Puts its sources into a folder; gives its command. */
export const takeNeighbour = (folder: string): string => {
  mkdirSync(join(folder, "node_modules"), { recursive: true })
  const archive = spawnSync("sh", ["-c", `git -C "$1" archive ${neighbour} | tar -x -C "$2"`, "sh", root, folder])
  if (archive.status !== 0) throw new Error(`the sources of the version before: ${archive.stderr.toString()}`)
  const from = join(root, "node_modules")
  for (const name of readdirSync(from)) {
    // Links to single packages: whatever happens in the folder, the installed ones stay.
    if (!name.startsWith(".")) symlinkSync(join(from, name), join(folder, "node_modules", name))
  }
  return join(folder, "composition/cli/main.ts")
}

/** The command of this version. */
export const ownCommand = join(root, "composition/cli/main.ts")

/** A project's folder on the sources of a version: what it imports as `resource-admin` is that version. */
export const projectOn = (folder: string, command: string): void => {
  const packages = join(folder, "node_modules")
  mkdirSync(packages, { recursive: true })
  if (existsSync(join(packages, "resource-admin"))) rmSync(join(packages, "resource-admin"))
  symlinkSync(join(command, "../../.."), join(packages, "resource-admin"))
}
