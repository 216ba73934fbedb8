// Runs the contract of the Storage port on the fake and on a folder; test/files/bucket.test.ts runs it on a real S3 server.
import { mkdtemp, readdir, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { makeLocalStorage } from "../../adapters/storage-local/storage.ts"
import { makeFakeStorage } from "../fakes/storage.ts"
import { storageContract } from "./storage.ts"

storageContract("in memory", async () => {
  const fake = makeFakeStorage()
  return {
    storage: fake.service,
    clear: async () => fake.files.clear(),
    close: async () => {},
    opensLinks: false,
    send: null,
    unfinished: null
  }
})

storageContract("folder", async () => {
  const folder = await mkdtemp(join(tmpdir(), "files-contract-"))
  const dir = join(folder, "private")
  return {
    storage: makeLocalStorage({ dir, public: false }),
    clear: async () => {
      for (const name of await readdir(dir).catch(() => [])) await rm(join(dir, name), { recursive: true })
    },
    close: () => rm(folder, { recursive: true }),
    opensLinks: false,
    send: null,
    unfinished: () => readdir(join(dir, ".tmp")).then((names) => names.length, () => 0)
  }
})
