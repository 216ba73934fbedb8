// What images take of memory and time, with processes of their own: images that are made to take more, many at once, and processes that die.
import { describe, expect, it } from "@effect/vitest"
import { execFile } from "node:child_process"
import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { basename, join } from "node:path"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import sharp from "sharp"
import { deep } from "../support/depth.ts"
import { gifBomb } from "./hostile.ts"

const program = (name: string) => fileURLToPath(new URL(`./${name}`, import.meta.url))
const run = (name: string, args: readonly string[]) => promisify(execFile)(process.execPath, [program(name), ...args])

const inFolder = async (work: (folder: string) => Promise<void>): Promise<void> => {
  const folder = await mkdtemp(join(tmpdir(), "hostile-"))
  try {
    await work(folder)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** What became of images: copies that were made, or null. `most`: bytes that all processes took together. */
const render = async (side: number, files: readonly string[]) => {
  const { stdout } = await run("images-program.ts", [String(side), ...files])
  const { made, most } = JSON.parse(stdout) as { readonly made: ReadonlyArray<number | null>; readonly most: number }
  return { made: Object.fromEntries(files.map((file, i) => [basename(file), made[i]])), most }
}

/** What a small container has. */
const container = 768 * 1_048_576

describe("images that are made to take memory", () => {
  it("take no more than a container has, several at once, and leave others as they are", async () =>
    inFolder(async (folder) => {
      const images = {
        "few-bytes.gif": gifBomb(10_000, 10_000),
        "again.gif": gifBomb(10_000, 10_000),
        "frames.gif": gifBomb(9_000, 9_000, 50, 3),
        "photo.png": await sharp({ create: { width: 800, height: 600, channels: 3, background: "#246" } }).png()
          .toBuffer()
      }
      expect(images["few-bytes.gif"]).toHaveLength(35)
      for (const [name, bytes] of Object.entries(images)) await writeFile(join(folder, name), bytes)
      const { made, most } = await render(6_000, Object.keys(images).map((name) => join(folder, name)))
      expect(made["photo.png"]).toBe(3)
      expect(most).toBeLessThan(container)
    }))

  it.runIf(deep)(
    "take no more than a container has, thirty of all formats at once",
    async () =>
      inFolder(async (folder) => {
        await run("hostile.ts", [folder])
        const names = await readdir(folder)
        expect(names).toHaveLength(30)
        const photo = await sharp({ create: { width: 800, height: 600, channels: 3, background: "#246" } }).png()
          .toBuffer()
        await writeFile(join(folder, "photo.png"), photo)
        const { made, most } = await render(4_000, [...names, "photo.png"].map((name) => join(folder, name)))
        expect(made).toMatchObject({ "photo.png": 3, "10k.jpg": 3, "30k.png": null, "65k.gif": null })
        expect(most).toBeLessThan(container)
      }),
    600_000
  )
})
