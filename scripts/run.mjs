// Runs Node with the given arguments: on the Node of the project, after the packages are installed. Every script of
// package.json goes through it, so none depends on what npm linked or on the Node that is installed on the machine. It
// must run on any Node since 16. It decides nothing but which Node runs.
import { spawn } from "node:child_process"
import { readFileSync } from "node:fs"
import { constants } from "node:os"
import { delimiter, dirname } from "node:path"
import { ensureNode } from "./ensure.mjs"

// Who started a process, and its name; null where the system does not tell.
const processOf = (pid) => {
  try {
    const [, name, parent] = /^\d+ \((.*)\) \S (\d+) /s.exec(readFileSync(`/proc/${pid}/stat`, "utf8"))
    return { name, parent }
  } catch {
    return null
  }
}

// npm hands a signal to its shell, and most shells end without telling us; an npm that is killed leaves its shell. What npm started ends with npm.
// composition/parent.ts does the same for those who have the package only.
const parent = process.ppid
const above = processOf(parent)
const shell = above !== null && /^(?:sh|dash|bash|ash|busybox|zsh)$/.test(above.name) ? above : null
const isGone = () => process.ppid !== parent || (shell !== null && processOf(parent)?.parent !== shell.parent)

const main = async () => {
  const node = await ensureNode()
  if (node === null) {
    process.exitCode = 1
    return
  }
  // A child that asks for `node` by name gets the same one.
  const key = Object.keys(process.env).find((name) => name.toUpperCase() === "PATH") ?? "PATH"
  const env = { ...process.env, [key]: [dirname(node), process.env[key]].join(delimiter) }
  const child = spawn(node, process.argv.slice(2), { stdio: "inherit", env })

  // A terminal sends Ctrl-C to every process in it. Sent a second time, it would end the child without its goodbye.
  let told = false
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
    process.on(signal, () => {
      told = true
      if (signal !== "SIGINT" || process.stdin.isTTY !== true) child.kill(signal)
    })
  }
  if (process.env.npm_lifecycle_event !== undefined && process.platform !== "win32") {
    const timer = setInterval(() => {
      if (!isGone()) return
      clearInterval(timer)
      if (!told) child.kill("SIGTERM")
    }, 500)
    timer.unref()
  }
  child.on("error", (error) => {
    process.stderr.write(`${node} cannot be started: ${error.message}\n`)
    process.exitCode = 1
  })
  child.on("close", (code, signal) => {
    // Ended by a signal, 128 and its number are what a shell reports.
    process.exitCode = code ?? 128 + (constants.signals[signal] ?? 0)
  })
}

void main()
