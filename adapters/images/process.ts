/**
 * The program of an image process: takes images from its input, one after the other, and answers what was made of them. It knows nothing of the service,
 * has none of its secrets, and watches its own memory: libraries decide what an image takes while they decode it, and a file can be made to take any amount.
 */

import { writeFileSync } from "node:fs"
import { frame, makeReader } from "./frame.ts"
import type { ImageAnswer, Request } from "./frame.ts"
import { render } from "./render.ts"

/** How often memory is looked at. Libraries take about a megabyte a millisecond, as they have to fill it. */
const watchMs = 5

/** The part of the memory that copies may take while they wait for the service to store them. */
const outputPart = 8

const die = (): void => void process.kill(process.pid, "SIGKILL")

const parent = process.ppid

/** Ends the process when it takes more memory, or when nobody waits any more. A library that works is stopped by nothing else. */
const watched = async <A>(memory: number, work: () => Promise<A>): Promise<A> => {
  const timer = setInterval(() => {
    if (process.memoryUsage.rss() > memory || process.ppid !== parent) die()
  }, watchMs)
  try {
    return await work()
  } finally {
    clearInterval(timer)
  }
}

const answerTo = async (input: Buffer, { last, maxPixels, memory, plan }: Request): Promise<readonly Uint8Array[]> => {
  const answer = (value: ImageAnswer, copies: readonly Uint8Array[] = []) => [frame(value), ...copies]
  try {
    const made = await watched(memory, () =>
      render(input, plan, {
        last,
        maxPixels,
        memory: memory - process.memoryUsage.rss(),
        output: memory / outputPart
      }))
    if (made === null) return answer({ of: "none" })
    if (made === "more") return answer({ of: "more" })
    const { copies, height, placeholder, width } = made
    return answer({
      of: "made",
      width,
      height,
      placeholder,
      copies: copies.map(({ bytes, ...size }) => ({ ...size, size: bytes.length })),
      bytesHeld: process.memoryUsage.rss()
    }, copies.map(({ bytes }) => bytes))
  } catch {
    // An image that is broken or has too many pixels.
    return answer({ of: "none" })
  }
}

const main = async (): Promise<void> => {
  try {
    // Where memory ends before our bounds do (a small container), this process ends, not the service.
    writeFileSync("/proc/self/oom_score_adj", "1000")
  } catch {
    // Only Linux has it.
  }
  process.stdout.on("error", die)
  process.stdout.write(frame({ of: "ready" }))
  const reader = makeReader(process.stdin)
  for (;;) {
    const request = await reader.json<Request>()
    const input = request === null ? null : await reader.bytes(request.size)
    if (request === null || input === null) return
    for (const part of await answerTo(input, request)) process.stdout.write(part)
  }
}

await main()
