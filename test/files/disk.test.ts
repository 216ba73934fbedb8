// Files on a real disk through node:http: streams, senders that go or stall, a disk that is full, and a process that is killed.
import { afterAll, beforeAll, describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { spawn } from "node:child_process"
import { createHash, randomBytes } from "node:crypto"
import { chmod, mkdir, mkdtemp, readdir, rm, stat, symlink, writeFile } from "node:fs/promises"
import { request } from "node:http"
import { connect } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { listen } from "../../adapters/http/node.ts"
import type { Listener } from "../../adapters/http/node.ts"
import { makeLocalStorage } from "../../adapters/storage-local/storage.ts"
import { defineConfig } from "../../core/domain/declare/config.ts"
import { f } from "../../core/domain/declare/field.ts"
import { defineResource } from "../../core/domain/declare/resource.ts"
import { startService, tokenOf } from "../support/composed.ts"
import type { Answered, TestService } from "../support/composed.ts"

const config = defineConfig({
  resources: [defineResource("docs", {
    primaryKey: "id",
    fields: { id: f.integer().bits(64).readOnly().dbDefault(), file: f.file().optional().maxSize("200 MB") }
  })]
})
const admin = { id: "root", roles: ["admin"] }

describe("files on disk", () => {
  let folder: string
  let data: string
  let service: TestService
  let listener: Listener
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "files-disk-"))
    data = join(folder, "data")
    service = await startService("fake", { config, schema: "", rows: {} }, {
      parts: { fileSettings: { folder, data, keys: () => null, retention: null }, uploadGraceMs: 500 }
    })
    listener = await listen(service.edge, { port: 0 })
  })
  afterAll(async () => {
    await listener.close()
    await service.close()
    await rm(folder, { recursive: true, force: true })
  })

  const root = () => join(data, "files", "private")
  const left = async (): Promise<readonly string[]> =>
    (await readdir(root(), { recursive: true, withFileTypes: true }).catch(() => []))
      .filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name).slice(root().length + 1))
      .sort()
  const url = () => `http://127.0.0.1:${listener.port}`
  const headers = { authorization: `Bearer ${tokenOf(admin)}` }
  const place = "/api/v1/docs:upload?field=file&name=a.bin"
  const until = async (what: () => Promise<boolean>): Promise<void> => {
    const end = Date.now() + 60_000
    while (!(await what())) {
      if (Date.now() > end) throw new Error(`it did not happen: ${(await left()).join(" ").slice(0, 800)}`)
      await new Promise((done) => setTimeout(done, 10))
    }
  }

  it("streams 60 MB up and down with little memory", async () => {
    const block = randomBytes(1 << 16)
    const blocks = 960
    const whole = createHash("sha256")
    for (let i = 0; i < blocks; i++) whole.update(block)
    const sum = whole.digest("hex")
    const before = process.memoryUsage().rss
    let most = before
    const watch = setInterval(() => most = Math.max(most, process.memoryUsage().rss), 20)
    async function* body() {
      for (let i = 0; i < blocks; i++) yield block
    }
    const answer = await fetch(
      url() + place,
      { method: "POST", headers, body: body() as never, duplex: "half" } as RequestInit
    )
    expect(answer.status).toBe(201)
    const { value } = await answer.json() as { readonly value: string }
    const created = await service.call(admin, "POST", "/api/v1/docs", { body: { file: value } })
    const file = created.json["file"] as Answered
    const hash = createHash("sha256")
    const opened = await fetch(url() + (file["url"] as unknown as string))
    expect(opened.headers.get("content-length")).toBe(String(blocks * block.length))
    for await (const chunk of opened.body!) hash.update(chunk)
    clearInterval(watch)
    expect(hash.digest("hex")).toBe(sum)
    // Client and server are one process here: most of it is the garbage of the client.
    expect(most - before).toBeLessThan(200 * 2 ** 20)
  })

  /** What is there once no upload is under way. */
  let before: readonly string[] = []

  it("keeps nothing of a sender that goes away, and notices readers that do", async () => {
    before = await left()
    for (const size of [10, 100_000, 3_000_000]) {
      await new Promise<void>((resolve) => {
        const sending = request(url() + place, {
          method: "POST",
          headers: { ...headers, "content-length": String(size * 2) }
        })
        sending.on("error", () => {})
        sending.once("close", () => resolve())
        sending.write(Buffer.alloc(size, 65), () => setTimeout(() => sending.destroy(), 30))
      })
    }
    await until(async () => (await left()).join() === before.join())
  })

  it("cuts off a sender that stalls, with an answer, and keeps nothing of it", async () => {
    const answer = await new Promise<string>((resolve, reject) => {
      const socket = connect(listener.port, "127.0.0.1")
      let text = ""
      socket.on("data", (chunk) => {
        text += chunk.toString()
        if (text.includes("\r\n\r\n")) socket.destroy()
      })
      socket.on("error", reject).on("close", () => resolve(text))
      socket.write(
        `POST ${place} HTTP/1.1\r\nHost: x\r\nAuthorization: ${headers.authorization}\r\nContent-Length: 1000000\r\n\r\nsome bytes`
      )
    })
    expect(answer).toMatch(/^HTTP\/1\.1 408 /)
    await until(async () => (await left()).join() === before.join())
  })

  it("takes 200 uploads at once beside other requests", async () => {
    const answers = await Promise.all(Array.from({ length: 200 }, async (_, i) => {
      const answer = await fetch(url() + place, { method: "POST", headers, body: `file ${i} ${"x".repeat(5_000)}` })
      await answer.body?.cancel()
      return answer.status
    }))
    const others = await Promise.all(Array.from({ length: 20 }, () => service.get(admin, "/api/v1/docs?page_size=1")))
    expect(new Set(answers)).toEqual(new Set([201]))
    expect(new Set(others.map(({ status }) => status))).toEqual(new Set([200]))
  })

  async function* body() {
    yield Buffer.from("x")
  }
  const about = { type: "text/plain", size: 1 }

  it.live("makes files that only the service reads, and public ones that others may", () =>
    Effect.gen(function*() {
      const storage = makeLocalStorage({ dir: join(folder, "modes", "private"), public: false })
      const open = makeLocalStorage({ dir: join(folder, "modes", "public"), public: true })
      yield* storage.put("t/a.txt", body(), about)
      yield* open.put("t/a.txt", body(), about)
      const mode = (path: string) =>
        Effect.promise(async () => ((await stat(join(folder, "modes", path))).mode & 0o777).toString(8))
      expect([
        yield* mode("private/t/a.txt"),
        yield* mode("private/t"),
        yield* mode("public/t/a.txt"),
        yield* mode("public/t")
      ])
        .toEqual(["600", "700", "644", "755"])
    }))

  it.live("follows no symbolic link out of its folder", () =>
    Effect.gen(function*() {
      const dir = join(folder, "links")
      yield* Effect.promise(async () => {
        await mkdir(join(dir, "t"), { recursive: true })
        await mkdir(join(folder, "outside"))
        await writeFile(join(folder, "outside", "secret.txt"), "secret")
        await symlink(join(folder, "outside", "secret.txt"), join(dir, "t", "a.txt"))
        await symlink(join(folder, "outside"), join(dir, "out"))
      })
      const storage = makeLocalStorage({ dir, public: false })
      expect(yield* storage.read("t/a.txt", null)).toBeNull()
      expect(yield* storage.head("out/secret.txt")).toBeNull()
      expect(yield* storage.read("out/secret.txt", null)).toBeNull()
      const refused = yield* Effect.flip(storage.put("out/new.txt", body(), about))
      expect(refused.reason).toBe("Denied")
      expect(yield* Effect.promise(() => readdir(join(folder, "outside")))).toEqual(["secret.txt"])
    }))

  it.live("serves no half file after a kill, at whatever moment", () =>
    Effect.gen(function*() {
      const dir = join(folder, "killed")
      const script = join(folder, "writer.ts")
      yield* Effect.promise(() =>
        writeFile(
          script,
          `import * as Effect from "${import.meta.resolve("effect/Effect")}"
import { makeLocalStorage } from "${new URL("../../adapters/storage-local/storage.ts", import.meta.url).href}"
const storage = makeLocalStorage({ dir: ${JSON.stringify(dir)}, public: false })
async function* body() { for (let i = 0; i < 40; i++) yield Buffer.alloc(65536, 65) }
process.stdout.write("ready\\n")
for (let i = 0; ; i++) await Effect.runPromise(storage.put(\`t/\${process.pid}-\${i}.bin\`, body(), { type: "x/y", size: null }))
`
        )
      )
      const storage = makeLocalStorage({ dir, public: false })
      for (let round = 0; round < 20; round++) {
        yield* Effect.promise(() =>
          new Promise<void>((resolve) => {
            const child = spawn(process.execPath, ["--conditions=source", script], {
              stdio: ["ignore", "pipe", "inherit"]
            })
            child.stdout.once("data", () => setTimeout(() => child.kill("SIGKILL"), 3 + round * 7))
            child.once("exit", () => resolve())
          })
        )
        for (const { path, size } of yield* storage.list({ prefix: "t/", after: null, limit: 10_000 })) {
          expect([path, size]).toEqual([path, 40 * 65_536])
        }
      }
      yield* Effect.promise(() => chmod(dir, 0o700))
    }))
})
