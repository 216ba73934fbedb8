/**
 * A program that has copies made of images, all at once, and prints what became of them and the most memory that it and its processes took together:
 * `node images-program.ts <most pixels of a side> <files…>`.
 */

import * as Effect from "effect/Effect"
import { createReadStream, readdirSync, readFileSync, statSync } from "node:fs"
import { sharpImages } from "../../adapters/images/images.ts"

/** Bytes in memory of a process and of all that it started. */
const memoryOf = (pid: number): number => {
  try {
    const own = Number(readFileSync(`/proc/${pid}/statm`, "utf8").split(" ")[1]) * 4_096
    const started = readdirSync(`/proc/${pid}/task`).flatMap((task) =>
      readFileSync(`/proc/${pid}/task/${task}/children`, "utf8").split(" ").filter((each) => each !== "")
    )
    return started.reduce((sum, each) => sum + memoryOf(Number(each)), own)
  } catch {
    // It has ended.
    return 0
  }
}

let most = 0
const timer = setInterval(() => {
  most = Math.max(most, memoryOf(process.pid))
}, 2)

const [, , side, ...files] = process.argv
const images = sharpImages({ waitMs: 600_000 })
const copies = [
  { width: 400, height: 300, fit: "cover", format: "webp", quality: null },
  { width: Number(side), height: null, fit: "inside", format: "webp", quality: null },
  { width: Number(side), height: null, fit: "inside", format: "jpeg", quality: null }
] as const

const made = await Effect.runPromise(
  Effect.forEach(files, (file) => {
    const rendered = images.render(() => createReadStream(file), statSync(file).size, { copies, placeholder: true })
    return Effect.map(rendered, (image) => image === null ? null : image.copies.length)
  }, { concurrency: "unbounded" })
)
clearInterval(timer)
console.log(JSON.stringify({ made, most }))
