// Files that scripts store: at providers of the configuration, within their limits, and never over another file.
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { storeFile } from "../../composition/store-file.ts"
import { localFiles } from "../../core/domain/file/provider.ts"
import { pieces } from "../support/bytes.ts"

const text = (length: number) => new TextEncoder().encode("x".repeat(length))

describe("a file of a script", () => {
  let folder: string
  beforeAll(async () => void (folder = await mkdtemp(join(tmpdir(), "store-file-"))))
  afterAll(() => rm(folder, { recursive: true, force: true }))
  const config = () => ({
    files: { providers: { archive: localFiles({ dir: join(folder, "archive"), maxBytes: 1_000, maxFiles: 3 }) } }
  })
  const store = (path: string, body: Uint8Array | AsyncIterable<Uint8Array>, env = {}) =>
    storeFile({ provider: "archive", path, body, config: config(), env })

  it("goes to a provider of the configuration, or to that of the environment", async () => {
    expect(await store("_/a.txt", text(100))).toBe("archive:_/a.txt")
    expect(await readdir(join(folder, "archive", "_"))).toEqual(["a.txt"])
    const env = { SERVICE_FILES_ARCHIVE: `file://${join(folder, "elsewhere")}` }
    expect(await store("_/a.txt", text(5_000), env)).toBe("archive:_/a.txt")
    expect(await readdir(join(folder, "elsewhere", "_"))).toEqual(["a.txt"])
    await expect(storeFile({ provider: "nobody", path: "_/a.txt", body: text(1), config: config(), env: {} })).rejects
      .toThrow(
        "The provider \"nobody\" is not configured: pass the configuration as config, or set SERVICE_FILES_NOBODY."
      )
  })

  it("replaces no other", async () => {
    await expect(store("_/a.txt", text(1))).rejects.toThrow("There is a file at \"archive:_/a.txt\" already.")
    expect((await readFile(join(folder, "archive", "_", "a.txt"))).length).toBe(100)
  })

  it("keeps to the limits of its provider", async () => {
    await expect(store("_/b.txt", text(901))).rejects.toThrow(
      "There is no room for the file: the provider \"archive\" holds at most 1 kB and 3 files."
    )
    await expect(store("_/b.txt", pieces(text(500), text(401)))).rejects.toThrow()
    expect(await readdir(join(folder, "archive", "_"))).toEqual(["a.txt"])
    await store("_/b.txt", text(100))
    await store("_/c.txt", pieces(text(100)))
    await expect(store("_/d.txt", text(1))).rejects.toThrow("There is no room for the file")
    expect((await readdir(join(folder, "archive", "_"))).sort()).toEqual(["a.txt", "b.txt", "c.txt"])
  })
})
