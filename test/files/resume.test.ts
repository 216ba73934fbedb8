// Uploads in pieces over real connections that are cut, to a real folder: nothing that arrived is sent again, no byte changes its place, and the memory of
// a long file is that of a short one.
import { afterAll, beforeAll, describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { fork } from "node:child_process"
import { createHash } from "node:crypto"
import { createReadStream, readdirSync, readFileSync } from "node:fs"
import { mkdtemp, rm } from "node:fs/promises"
import { Agent, request } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { listen } from "../../adapters/http/node.ts"
import type { Listener } from "../../adapters/http/node.ts"
import { makeLocalStorage } from "../../adapters/storage-local/storage.ts"
import type { StorageService } from "../../core/ports/storage.ts"
import { begun, offsetOf, piece, pieceType, tus } from "../http/files/pieces.ts"
import { gather, pieces } from "../support/bytes.ts"
import { tokenOf } from "../support/composed.ts"
import type { TestService } from "../support/composed.ts"
import { deep } from "../support/depth.ts"
import { startOn } from "./resume-server.ts"

const admin = { id: "root", roles: ["admin"] }

const block = 64 * 1024

/** The bytes of a file at some place: each block of 64 KiB differs from all others. */
const bytesAt = (at: number, size: number): Buffer => {
  const bytes = Buffer.alloc(size, 0x5a)
  for (let first = Math.ceil(at / block) * block; first + 8 <= at + size; first += block) {
    bytes.writeBigUInt64LE(BigInt(first), first - at)
  }
  return bytes
}

describe("an upload in pieces to a folder", () => {
  let folder: string
  let service: TestService
  let listener: Listener
  const agent = new Agent({ keepAlive: true })
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "resume-"))
    service = await startOn(folder)
    listener = await listen(service.edge, { port: 0 })
  })
  afterAll(async () => {
    agent.destroy()
    await listener.close()
    await service.close()
    await rm(folder, { recursive: true, force: true })
  })

  const files = join("files", "private", "_")

  /** Sends bytes from `at` to `end` as one piece, and cuts the line after `cut` of them. The status; null: it was cut. */
  const send = (
    location: string,
    at: number,
    end: number,
    cut: number | null,
    port = listener.port
  ): Promise<number | null> =>
    new Promise((resolve, reject) => {
      const sent = request({
        agent,
        method: "PATCH",
        path: location,
        host: "127.0.0.1",
        port,
        headers: {
          authorization: `Bearer ${tokenOf(admin)}`,
          ...tus,
          ...pieceType,
          "upload-offset": at,
          "content-length": end - at
        }
      })
      sent.on("response", (answer) => answer.resume().on("end", () => resolve(answer.statusCode ?? 0)))
      sent.on("error", (error) => cut === null ? reject(error) : resolve(null))
      const stop = cut === null ? end : Math.min(end, at + cut)
      let wake = (): void => {}
      sent.on("drain", () => wake()).on("close", () => wake())
      const write = async (): Promise<void> => {
        for (let from = at; from < stop; from += block) {
          const chunk = bytesAt(from, Math.min(block, stop - from))
          await new Promise<void>((next) => {
            wake = next
            if (sent.destroyed || sent.write(chunk)) next()
          })
        }
        if (cut === null) sent.end()
        else sent.destroy()
      }
      void write()
    })

  const hashOf = async (size: number): Promise<string> => {
    const hash = createHash("sha256")
    for (let at = 0; at < size; at += 2 ** 20) hash.update(bytesAt(at, Math.min(2 ** 20, size - at)))
    return hash.digest("hex")
  }
  const stored = async (): Promise<readonly [size: number, hash: string]> => {
    const [name] = readdirSync(join(folder, files))
    const hash = createHash("sha256")
    let size = 0
    for await (const chunk of createReadStream(join(folder, files, name!))) {
      hash.update(chunk as Buffer)
      size += (chunk as Buffer).length
    }
    await rm(join(folder, files, name!))
    return [size, hash.digest("hex")]
  }
  /** Sends a file over a line that is cut so many times. */
  const upload = async (size: number, cuts: number): Promise<void> => {
    const location = await begun({ service }, admin, "docs.file", size)
    let at = 0
    let status: number | null = null
    // The service may still store what came before a cut: then the offset has moved on meanwhile.
    for (let i = 0; status === null || status === 409; i++) {
      status = await send(location, at, size, i < cuts ? Math.floor(size / (cuts + 1)) : null)
      const next = await offsetOf({ service }, admin, location)
      expect(next).toBeGreaterThanOrEqual(at)
      at = next
    }
    expect([status, at]).toEqual([204, size])
    const { json } = await service.get(admin, location)
    expect(json["file"]).toEqual({ name: "file", type: "application/octet-stream", size })
  }

  it("arrives whole over a line that is cut 20 times", async () => {
    const size = 100_000_007
    await upload(size, 20)
    expect(await stored()).toEqual([size, await hashOf(size)])
    expect(readdirSync(join(folder, "files", "private", ".tmp")).filter((name) => !name.startsWith("~"))).toEqual([])
  })

  it("goes on at another instance that has the same folder", async () => {
    const other = await startOn(folder)
    try {
      const size = 300_001
      const location = await begun({ service }, admin, "docs.file", size)
      for (const [i, at] of [0, 100_000, 200_000].entries()) {
        const by = { service: i % 2 === 0 ? other : service }
        const end = Math.min(size, at + (i === 2 ? size : 100_000))
        expect((await piece(by, admin, location, at, new Uint8Array(bytesAt(at, end - at)))).status).toBe(204)
        expect(await offsetOf({ service }, admin, location)).toBe(end)
      }
      const tickets = [await service.get(admin, location), await other.get(admin, location)]
      for (const { json, status } of tickets) expect([status, json["file"]]).toMatchObject([200, { size }])
      const record = await other.call(admin, "POST", "/api/v1/docs", { body: { file: tickets[0]!.json["value"] } })
      expect(record.status).toBe(201)
      expect(await stored()).toEqual([size, await hashOf(size)])
    } finally {
      await other.close()
    }
  })

  it.runIf(deep)("arrives whole with 5 GB", async () => {
    const size = 5_000_000_011
    await upload(size, 20)
    expect(await stored()).toEqual([size, await hashOf(size)])
  })

  it.runIf(deep && process.platform === "linux")("takes for 5 GB no more memory than for 50 MB", async () => {
    const child = fork(fileURLToPath(new URL("resume-server.ts", import.meta.url)), {
      execArgv: ["--conditions=source"],
      env: { ...process.env, RESUME_FOLDER: folder },
      stdio: ["ignore", "ignore", "inherit", "ipc"]
    })
    try {
      const port = await new Promise<number>((resolve, reject) => {
        child.once("message", (message) => resolve((message as { readonly port: number }).port))
        child.once("exit", (code) => reject(new Error(`the service ended with ${code}`)))
      })
      const memory = (): number =>
        Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${child.pid}/status`, "utf8"))![1]) * 1_024
      /** The most memory while a file arrives in 20 pieces. */
      const most = async (size: number): Promise<number> => {
        const answer = await fetch(`http://127.0.0.1:${port}/api/v1/docs:upload?field=file`, {
          method: "POST",
          headers: { authorization: `Bearer ${tokenOf(admin)}`, ...tus, "upload-length": String(size) }
        })
        const location = answer.headers.get("location")!
        let highest = 0
        const watch = setInterval(() => highest = Math.max(highest, memory()), 20)
        for (let at = 0; at < size;) {
          const end = Math.min(size, at + Math.ceil(size / 20))
          expect(await send(location, at, end, null, port)).toBe(204)
          at = end
        }
        clearInterval(watch)
        await stored()
        return highest
      }
      await most(50_000_000)
      const small = await most(50_000_000)
      expect(await most(5_000_000_011) - small).toBeLessThan(48 * 2 ** 20)
    } finally {
      child.kill("SIGKILL")
    }
  })
})

describe("two processes at one upload in a folder", () => {
  let dir: string
  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), "resume-two-"))
  })
  afterAll(() => rm(dir, { recursive: true, force: true }))

  const target = (id: string, length: number) => ({ path: `_/${id}.bin`, type: "application/octet-stream", length })
  /** A body that stops in the middle until it may go on. */
  const held = (first: string, second: string) => {
    const begun = Promise.withResolvers<void>()
    const gate = Promise.withResolvers<void>()
    async function* body() {
      yield Buffer.from(first)
      begun.resolve()
      await gate.promise
      yield Buffer.from(second)
    }
    return { body: body(), begun: begun.promise, goOn: () => gate.resolve() }
  }
  const textOf = async (storage: StorageService, path: string): Promise<string> => {
    const found = await Effect.runPromise(storage.read(path, null))
    return (await gather(found!.bytes)).toString()
  }

  it.live("write the same bytes to the same places", () =>
    Effect.gen(function*() {
      const [one, two] = [makeLocalStorage({ dir, public: false }), makeLocalStorage({ dir, public: false })]
      yield* one.resumable.begin(".tmp/a")
      const slow = held("01234", "56789")
      const late = yield* Effect.forkChild(one.resumable.append(".tmp/a", 0, slow.body, target("a", 12)), {
        startImmediately: true
      })
      yield* Effect.promise(() => slow.begun)
      // The sender took its line for dead, and goes on elsewhere.
      expect(yield* two.resumable.append(".tmp/a", 0, pieces("01234567"), target("a", 12))).toEqual({
        size: 8,
        matched: true
      })
      slow.goOn()
      expect(yield* Fiber.join(late)).toEqual({ size: 10, matched: true })
      expect(yield* two.resumable.size(".tmp/a")).toBe(10)
      yield* two.resumable.append(".tmp/a", 10, pieces("ab"), target("a", 12))
      yield* two.resumable.finish(".tmp/a", target("a", 12))
      expect(yield* Effect.promise(() => textOf(one, "_/a.bin"))).toBe("0123456789ab")
    }))

  it.live("change nothing of a file that is visible", () =>
    Effect.gen(function*() {
      const [one, two] = [makeLocalStorage({ dir, public: false }), makeLocalStorage({ dir, public: false })]
      yield* one.resumable.begin(".tmp/b")
      const slow = held("MZ", "evil")
      const late = yield* Effect.forkChild(one.resumable.append(".tmp/b", 0, slow.body, target("b", 4)), {
        startImmediately: true
      })
      yield* Effect.promise(() => slow.begun)
      yield* two.resumable.append(".tmp/b", 0, pieces("good"), target("b", 4))
      yield* two.resumable.finish(".tmp/b", target("b", 4))
      slow.goOn()
      expect((yield* Effect.flip(Fiber.join(late))).reason).toBe("Unavailable")
      expect(yield* Effect.promise(() => textOf(one, "_/b.bin"))).toBe("good")
    }))
})
