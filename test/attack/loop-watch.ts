/**
 * Asks `/livez` of a port every 20 ms by the clock, as a process of its own, so that the work of a test does not delay it. It does so from the message
 * `watch` to the message `stop`, and then sends how many milliseconds each answer took, or null where there was none. Argument: the port.
 */

import { KeepAlive } from "../support/load.ts"

const everyMs = 20
/** More connections than answers that are awaited at once: a late answer delays no later question. */
const connections = Array.from({ length: 64 }, () => new KeepAlive(Number(process.argv[2])))

const ask = async (connection: KeepAlive): Promise<number | null> => {
  const asked = performance.now()
  const received = await connection.send({ method: "GET", path: "/livez" })
  return received?.status === 200 ? performance.now() - asked : null
}

let timer: ReturnType<typeof setInterval> | undefined
let asked: Array<Promise<number | null>> = []

process.on("disconnect", () => process.exit(0))
const heard = async (message: unknown): Promise<void> => {
  clearInterval(timer)
  if (message === "watch") {
    // Connecting is no part of an answer.
    await Promise.all(connections.map(ask))
    asked = []
    timer = setInterval(() => asked.push(ask(connections[asked.length % connections.length]!)), everyMs)
  }
  process.send!(await Promise.all(asked))
}
process.on("message", (message) => void heard(message))
