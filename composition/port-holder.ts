/** Which process has a port that cannot be opened, for whoever starts a second one. It ends nothing, and tells no argument of a program. */

import { readdirSync, readFileSync, readlinkSync } from "node:fs"
import { basename } from "node:path"

export interface PortHolder {
  readonly pid: number
  /** Its program. */
  readonly name: string
  /** The folder that it works in; null where this may not be seen. */
  readonly folder: string | null
}

/** What `read` gives, or null for what has gone meanwhile or may not be seen. */
const seen = <A>(read: () => A): A | null => {
  try {
    return read()
  } catch {
    return null
  }
}

const listening = "0A"

/** Names of the sockets that listen on a port, as the links of open files have them. */
const socketsOn = (port: number): ReadonlySet<string> => {
  const wanted = port.toString(16).toUpperCase().padStart(4, "0")
  return new Set(
    ["/proc/net/tcp", "/proc/net/tcp6"].flatMap((table) =>
      (seen(() => readFileSync(table, "utf8")) ?? "").split("\n").flatMap((line) => {
        const [, local, , state, , , , , , inode] = line.trim().split(/\s+/)
        return state === listening && local?.endsWith(`:${wanted}`) === true ? [`socket:[${inode}]`] : []
      })
    )
  )
}

/** Who listens on a port of this machine. Null: nobody, or it may not be seen, as elsewhere than on Linux. */
export const holderOf = (port: number): PortHolder | null => {
  const sockets = socketsOn(port)
  if (sockets.size === 0) return null
  for (const pid of (seen(() => readdirSync("/proc")) ?? []).filter((name) => /^\d+$/.test(name))) {
    const files = seen(() => readdirSync(`/proc/${pid}/fd`)) ?? []
    if (!files.some((file) => sockets.has(seen(() => readlinkSync(`/proc/${pid}/fd/${file}`)) ?? ""))) continue
    const program = seen(() => basename(readlinkSync(`/proc/${pid}/exe`)).replace(/ \(deleted\)$/, ""))
    const name = program ?? seen(() => readFileSync(`/proc/${pid}/comm`, "utf8").trim()) ?? "a program"
    return { pid: Number(pid), name, folder: seen(() => readlinkSync(`/proc/${pid}/cwd`)) }
  }
  return null
}

/** The command of a platform that tells who has a port. */
const finding = (port: number, platform: NodeJS.Platform): string => {
  switch (platform) {
    case "linux":
      return `sudo ss -ltnp 'sport = :${port}'`
    case "win32":
      return `netstat -ano | findstr :${port}`
    default:
      return `lsof -nP -iTCP:${port} -sTCP:LISTEN`
  }
}

/** The message about a port that another program has: the program, and the way to free the port. */
export const takenPort = (
  port: number,
  holder: PortHolder | null,
  platform: NodeJS.Platform
): { readonly by: string; readonly fix: string } =>
  holder === null
    ? {
      by: "something has it that cannot be seen from here",
      fix: `Find it with: ${finding(port, platform)}. End it, or set PORT to another port and AUTH_URL to its address.`
    }
    : {
      by: `${holder.name} has it, process ${holder.pid}${holder.folder === null ? "" : ` in ${holder.folder}`}`,
      fix: `End it with: kill ${holder.pid}. Or set PORT to another port and AUTH_URL to its address.`
    }
