/**
 * Image processes: starts them, keeps those that are idle for a while, and ends those that take too long or keep too much memory. Whose turn it is, is
 * decided in `line.ts`.
 */

import { spawn } from "node:child_process"
import { Socket } from "node:net"
import { extname } from "node:path"
import { fileURLToPath } from "node:url"
import { ImagesError } from "../../core/ports/images.ts"
import type { RenderedImage } from "../../core/ports/images.ts"
import type { Bytes } from "../../core/ports/storage.ts"
import { frame, makeReader } from "./frame.ts"
import type { ImageAnswer, Request } from "./frame.ts"

/** Beside this file with the same extension: in the source tree, and in the package. */
const program = fileURLToPath(new URL(`./process${extname(import.meta.url)}`, import.meta.url))

/** How long a process without an image stays. */
const idleMs = 10_000

/** Bytes that a process may keep after an image. */
const mostKept = 128 * 1_048_576

/** Characters of its messages that are kept, for the case that it does not start. */
const mostWords = 2_000

interface ImageProcess {
  /** Sends a request with its image and waits for the answer. Fails with `Source` where the image cannot be read. */
  readonly ask: (request: Request, source: Bytes, seconds: number) => Promise<Answered | "died" | "late">
  /** Whether it keeps the service running. */
  readonly hold: (held: boolean) => void
  readonly end: () => void
  readonly kill: () => void
  readonly isGone: () => boolean
}

interface Answered {
  readonly answer: ImageAnswer
  readonly copies: readonly Buffer[]
}

const start = (): ImageProcess => {
  const child = spawn(process.execPath, ["--max-old-space-size=64", program], {
    cwd: "/",
    // No secret of the service. With few arenas, freed memory goes back to the system.
    env: { MALLOC_ARENA_MAX: "2", ...(process.env["PATH"] === undefined ? {} : { PATH: process.env["PATH"] }) },
    stdio: ["pipe", "pipe", "pipe"],
    windowsHide: true
  })
  const { stderr, stdin, stdout } = child
  const pipes = [stdin, stdout, stderr].filter((part) => part instanceof Socket)
  let gone = false
  let ready = false
  let words = ""
  let failure: unknown = null
  const ended = new Promise<void>((resolve) => {
    const end = (): void => {
      gone = true
      resolve()
    }
    child.on("close", end)
    child.on("error", (error) => {
      failure = error
      end()
    })
  })
  // A broken stream means that the process ended, and `close` handles that.
  for (const stream of [stdin, stdout, stderr]) stream.on("error", () => {})
  stderr.on("data", (chunk: Buffer) => words = (words + chunk.toString()).slice(-mostWords))
  const reader = makeReader(stdout)
  const kill = (): void => void child.kill("SIGKILL")

  const send = async (source: Bytes, size: number): Promise<void> => {
    let sent = 0
    try {
      for await (const chunk of source) {
        sent += chunk.length
        if (sent > size) throw new Error("The image is larger than it was.")
        if (gone) return
        if (!stdin.write(chunk)) {
          await Promise.race([new Promise<void>((resolve) => void stdin.once("drain", resolve)), ended])
        }
      }
      if (sent < size) throw new Error("The image is smaller than it was.")
    } catch (cause) {
      kill()
      throw new ImagesError({ reason: "Source", cause })
    }
  }

  const receive = async (): Promise<Answered | "died"> => {
    if (!ready) {
      if (await reader.json() === null) {
        await ended
        throw new ImagesError({ reason: "Process", cause: failure ?? new Error(words) })
      }
      ready = true
    }
    const answer = await reader.json<ImageAnswer>()
    if (answer === null) return "died"
    const copies: Buffer[] = []
    for (const { size } of answer.of === "made" ? answer.copies : []) {
      const bytes = await reader.bytes(size)
      if (bytes === null) return "died"
      copies.push(bytes)
    }
    return { answer, copies }
  }

  return {
    ask: async (request, source, seconds) => {
      stdin.write(frame(request))
      await send(source, request.size)
      let late = false
      const timer = setTimeout(() => {
        late = true
        kill()
      }, seconds * 1_000)
      try {
        const answered = await receive()
        return answered === "died" && late ? "late" : answered
      } finally {
        clearTimeout(timer)
      }
    },
    hold: (held) => {
      for (const part of [child, ...pipes]) {
        if (held) part.ref()
        else part.unref()
      }
    },
    end: () => void stdin.end(),
    kill,
    isGone: () => gone
  }
}

const idle: Array<{ readonly worker: ImageProcess; readonly timer: NodeJS.Timeout }> = []

const take = (): ImageProcess => {
  for (let last = idle.pop(); last !== undefined; last = idle.pop()) {
    clearTimeout(last.timer)
    if (!last.worker.isGone()) return last.worker
  }
  return start()
}

const giveBack = (worker: ImageProcess): void => {
  worker.hold(false)
  const timer = setTimeout(() => {
    idle.splice(idle.findIndex((each) => each.worker === worker), 1)
    worker.end()
  }, idleMs)
  timer.unref()
  idle.push({ worker, timer })
}

/**
 * Makes what a request asks for in a process of its own. `more`: that took more memory than it may take, or would. Null: it cannot be read, or took too
 * long.
 */
export const makeImage = async (
  source: Bytes,
  request: Request,
  seconds: number
): Promise<RenderedImage | "more" | null> => {
  const worker = take()
  // An image that takes all memory leaves none for others that wait for work.
  if (request.last) {
    for (const other of idle.splice(0)) {
      clearTimeout(other.timer)
      other.worker.kill()
    }
  }
  worker.hold(true)
  const answered = await worker.ask(request, source, seconds)
  if (answered === "late") return null
  if (answered === "died") return "more"
  const { answer, copies } = answered
  if (answer.of === "made" && answer.bytesHeld > mostKept) worker.end()
  else giveBack(worker)
  if (answer.of !== "made") return answer.of === "more" ? "more" : null
  return {
    width: answer.width,
    height: answer.height,
    placeholder: answer.placeholder,
    copies: answer.copies.map(({ height, width }, i) => ({ width, height, bytes: copies[i]! }))
  }
}
