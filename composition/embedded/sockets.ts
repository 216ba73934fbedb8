/**
 * The folder for the sockets of one embedded database: where it is, and that nobody else can enter or replace it. Access to the
 * database is guarded by this folder alone, so a folder that is not ours is refused, never repaired.
 */
import { createHash, randomBytes } from "node:crypto"
import { chmodSync, chownSync, existsSync, lstatSync, mkdirSync, readdirSync, rmdirSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { impossible, readRun } from "./control.ts"

/** Longest path of a socket; the systems allow 103 bytes (macOS) and 107 (Linux). */
const PATH_BYTES = 100

const hashOf = (base: string): string => createHash("sha256").update(base).digest("hex").slice(0, 12)

/**
 * The folder, made if needed: short, private, the same every time. It is not in the data folder, whose path may be longer than that of a
 * socket may be. If an earlier supervisor used another folder (another TMPDIR), that one is kept, because living clients know it.
 */
export const prepareSocketRoot = (base: string): string => {
  if (process.platform === "win32") return base // unused: named pipes and TCP
  const before = readRun(base)?.control
  if (before !== undefined && prepared(dirname(before))) return dirname(before)
  const root = usualRoot(base)
  if (!prepared(root)) {
    throw impossible(`${root} is not a private folder of this user: remove it, or set TMPDIR to another folder.`)
  }
  return root
}

const usualRoot = (base: string): string => {
  const name = `rs-${process.getuid?.()}-${hashOf(base)}`
  const fits = Buffer.byteLength(join(tmpdir(), name, "pg", ".s.PGSQL.5432.lock")) <= PATH_BYTES
  return join(fits ? tmpdir() : "/tmp", name)
}

const prepared = (root: string): boolean => {
  try {
    mkdirSync(root, { recursive: true, mode: 0o711 })
    const stat = lstatSync(root)
    if (!stat.isDirectory() || stat.uid !== process.getuid?.() || (stat.mode & 0o022) !== 0) return false
    chmodSync(root, 0o711) // the server, perhaps another user, passes through
    return true
  } catch {
    return false
  }
}

/** The folder of the server's own socket: who may enter it may use the database. */
export const prepareSocketFolder = (base: string, owner: { readonly uid?: number; readonly gid?: number }): string => {
  const root = prepareSocketRoot(base)
  if (process.platform === "win32") return root
  const folder = join(root, "pg")
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  chmodSync(folder, 0o700)
  chownSync(folder, owner.uid ?? process.getuid?.() ?? 0, owner.gid ?? process.getgid?.() ?? 0)
  return folder
}

/** A new address for the control socket of a supervisor. Random: process ids repeat, and between containers they coincide. */
export const controlAddress = (base: string): string => {
  const name = randomBytes(4).toString("hex")
  return process.platform === "win32"
    ? `\\\\.\\pipe\\rs-${hashOf(base)}-${name}`
    : join(prepareSocketRoot(base), `ctl-${name}.sock`)
}

/** After the server has ended, only sockets of killed supervisors are left. */
export const removeOldControls = (control: string): void => {
  if (process.platform === "win32") return
  const root = dirname(control)
  for (const name of readdirSync(root)) {
    if (name.startsWith("ctl-")) rmSync(join(root, name), { force: true })
  }
}

/** Removes the folders when nothing is in them, or the database they belong to is gone altogether. */
export const removeSocketFolders = (base: string): void => {
  if (process.platform === "win32") return
  const root = usualRoot(base)
  if (!existsSync(base)) rmSync(root, { recursive: true, force: true })
  for (const folder of [join(root, "pg"), root]) {
    try {
      rmdirSync(folder)
    } catch {
      // missing, in use again, or holds what a crash left: harmless
    }
  }
}
