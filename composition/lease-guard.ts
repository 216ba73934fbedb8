/**
 * The guard of leases: a thread that renews those of this process while a job blocks its event loop. The thread is made with the first job that is fetched. It
 * has no connection of its own while the loop is heard of, and does not keep the process alive.
 */

import { existsSync } from "node:fs"
import { extname } from "node:path"
import { fileURLToPath } from "node:url"
import { Worker } from "node:worker_threads"
import { codeOf } from "../adapters/queue/connection.ts"
import type { Guarded, OpenGuard } from "../adapters/queue/lease.ts"

/** What the thread is given. */
export interface ThreadData extends Omit<Guarded, "log"> {
  /** The database's URL. */
  readonly url: string
}

/** Beside this file with the same extension: in the source tree and in the package. */
const threadFile = new URL(`./lease-thread${extname(import.meta.url)}`, import.meta.url)

/** Guards with connections to a database like those of `openPool`. */
export const guardLeases = (url: string): OpenGuard => ({ leaseMs, log, memory, schema }) => {
  const failed = (code: string | null): void => log("warn", "jobs-lease-guard", { code })
  if (!existsSync(fileURLToPath(threadFile))) {
    failed("ENOENT")
    return { tell: () => {}, stop: () => Promise.resolve() }
  }
  const workerData: ThreadData = { url, leaseMs, memory, schema }
  // Without the options of this process: they are for its program, such as `--import` and `--inspect`.
  const resourceLimits = { maxYoungGenerationSizeMb: 4, maxOldGenerationSizeMb: 128 }
  const thread = new Worker(threadFile, { workerData, execArgv: [], name: "leases", resourceLimits })
  let stopping = false
  // Without it leases are renewed all the same, unless the loop is blocked.
  thread.on("error", (error) => failed(codeOf(error)))
  thread.on("message", (code: string | null) => {
    if (!stopping) failed(code)
  })
  // After the listeners: one for messages keeps the process alive again.
  thread.unref()
  return {
    tell: (owners) => thread.postMessage(owners),
    stop: async () => {
      stopping = true
      await thread.terminate()
    }
  }
}
