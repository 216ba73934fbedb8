/**
 * What processes cost, read from /proc (Linux): processor time of whole process trees to the nanosecond, and memory. Elsewhere there is nothing to read,
 * and the measurements have latencies and throughput only.
 */

import { execFileSync } from "node:child_process"
import { readdirSync, readFileSync } from "node:fs"

const read = (path: string): string => {
  try {
    return readFileSync(path, "latin1")
  } catch {
    // The process or thread has ended since its folder was listed.
    return ""
  }
}

const numbers = (path: string): readonly string[] => {
  try {
    return readdirSync(path).filter((name) => /^\d+$/.test(name))
  } catch {
    return []
  }
}

/** A process and all its descendants. */
const tree = (root: number): readonly number[] => {
  const children = new Map<number, number[]>()
  for (const pid of numbers("/proc")) {
    const stat = read(`/proc/${pid}/stat`)
    const parent = Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1])
    children.set(parent, [...children.get(parent) ?? [], Number(pid)])
  }
  const found = [root]
  for (const pid of found) found.push(...children.get(pid) ?? [])
  return found
}

/** Processor time in milliseconds by thread. */
export type CpuTime = ReadonlyMap<string, number>

export const cpuTime = (root: number): CpuTime => {
  const times = new Map<string, number>()
  for (const pid of tree(root)) {
    for (const thread of numbers(`/proc/${pid}/task`)) {
      const spent = read(`/proc/${pid}/task/${thread}/schedstat`).split(" ")[0]
      if (spent !== undefined && spent !== "") times.set(thread, Number(spent) / 1e6)
    }
  }
  return times
}

/** What was spent between two readings by the threads that live at the second; one that has ended takes nothing back. */
export const spent = (before: CpuTime, after: CpuTime): number => {
  let sum = 0
  for (const [thread, time] of after) sum += time - (before.get(thread) ?? 0)
  return sum
}

/** Resident memory of a process tree in megabytes. */
export const memory = (root: number): number => {
  let kilobytes = 0
  for (const pid of tree(root)) kilobytes += Number(/VmRSS:\s+(\d+)/.exec(read(`/proc/${pid}/status`))?.[1] ?? 0)
  return kilobytes / 1024
}

/** Whether processes can be bound to processors here. */
export const canPin = (processors: number): boolean => {
  if (process.platform !== "linux" || processors < 2) return false
  try {
    execFileSync("taskset", ["--version"], { stdio: "ignore" })
    return true
  } catch {
    return false
  }
}

/** Binds a process and its threads and, for what they start, its descendants to one processor. */
export const pin = (root: number, processor: number): void => {
  for (const pid of tree(root)) execFileSync("taskset", ["-apc", String(processor), String(pid)], { stdio: "ignore" })
}
