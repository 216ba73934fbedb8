/**
 * Ends a process with the npm that started it, and keeps what a process was asked to do about its end. npm passes a signal to the shell between, and most
 * shells end without telling us; an npm that is killed leaves both. It never ends a process that somebody else started.
 */

import { readFileSync } from "node:fs"

/** Numbers of signals, for the exit code of a second one: 128 + n. */
const signalNumbers = { SIGINT: 2, SIGTERM: 15 } as const

let asked = false

/** Runs `end` at the first SIGTERM or SIGINT. A second one ends the process at once. */
export const onSignal = (end: () => void): void => {
  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    process.on(signal, () => {
      if (asked) process.exit(128 + signalNumbers[signal])
      asked = true
      end()
    })
  }
}

/** A process as Linux shows it: its name, and who started it or looks after it now. */
const processOf = (pid: number): { readonly name: string; readonly parent: number } | null => {
  try {
    // The name stands in parentheses and may have some itself.
    const [, name = "", parent] = /^\d+ \((.*)\) \S (\d+) /s.exec(readFileSync(`/proc/${pid}/stat`, "utf8")) ?? []
    return { name, parent: Number(parent) }
  } catch {
    // It has ended, or this is no Linux.
    return null
  }
}

const shells: ReadonlySet<string> = new Set(["sh", "dash", "bash", "ash", "busybox", "zsh"])

/** Tells whether the process above this one is gone, or, on Linux, the one above the shell that is there. */
const watchAbove = (): () => boolean => {
  const parent = process.ppid
  const above = processOf(parent)
  const shell = above !== null && shells.has(above.name) ? above : null
  return () => process.ppid !== parent || (shell !== null && processOf(parent)?.parent !== shell.parent)
}

/** Milliseconds between two looks. */
const every = 500

let watching = false

/** From now on this process gets SIGTERM when the npm that started it ends. Without npm, and on Windows, nothing happens. */
export const endWithParent = (): void => {
  if (watching || process.platform === "win32" || process.env["npm_lifecycle_event"] === undefined) return
  watching = true
  const isGone = watchAbove()
  const timer = setInterval(() => {
    if (!isGone()) return
    clearInterval(timer)
    // Whoever ends npm often tells all its processes. A second signal would end ours before it has closed.
    if (!asked) process.kill(process.pid, "SIGTERM")
  }, every)
  timer.unref()
}
