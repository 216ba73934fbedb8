/**
 * The contract of the Storage port, one suite for every implementation. Each harness brings an empty storage and says what it can do. Full disks and
 * processes that are killed need a real disk: test/files has those.
 */

import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { createHash } from "node:crypto"
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest"
import { StorageError } from "../../core/ports/storage.ts"
import type { Bytes, StorageService } from "../../core/ports/storage.ts"
import { broken, gather, pattern, pieces } from "../support/bytes.ts"

export interface StorageHarness {
  readonly storage: StorageService
  /** Removes all files. */
  readonly clear: () => Promise<void>
  readonly close: () => Promise<void>
  /** Whether its links can be opened. */
  readonly opensLinks: boolean
  /** Uploads that were begun and are neither finished nor aborted; null: the storage has no such thing. */
  readonly unfinished: (() => Promise<number>) | null
}

const plain = { type: "text/plain", size: null }

/** Runs the suite. `make` is called once. */
export const storageContract = (name: string, make: () => Promise<StorageHarness>): void => {
  describe(`storage: ${name}`, () => {
    let harness: StorageHarness
    beforeAll(async () => {
      harness = await make()
    })
    afterAll(() => harness?.close())
    beforeEach(() => harness.clear())

    const run = <A>(work: (storage: StorageService) => Effect.Effect<A, StorageError>): Promise<A> =>
      Effect.runPromise(Effect.suspend(() => work(harness.storage)))
    const put = (path: string, ...parts: readonly string[]): Promise<number> =>
      run((storage) => storage.put(path, pieces(...parts), plain))
    const text = async (path: string): Promise<string | null> => {
      const found = await run((storage) => storage.read(path, null))
      return found === null ? null : (await gather(found.bytes)).toString()
    }
    const paths = async (prefix = ""): Promise<readonly string[]> =>
      (await run((storage) => storage.list({ prefix, after: null, limit: 1_000 }))).map(({ path }) => path)
    const failure = async (
      work: (storage: StorageService) => Effect.Effect<unknown, StorageError>
    ): Promise<StorageError> => {
      const exit = await Effect.runPromiseExit(Effect.flip(work(harness.storage)))
      if (Exit.isFailure(exit)) throw new Error("it succeeded")
      return exit.value
    }

    it("gives back what was put, with its size and time", async () => {
      const before = Date.now()
      expect(await put("t1/a.txt", "one ", "and ", "two")).toBe(11)
      expect(await text("t1/a.txt")).toBe("one and two")
      const head = await run((storage) => storage.head("t1/a.txt"))
      expect(head?.size).toBe(11)
      expect(Math.abs((head?.modified ?? 0) - before)).toBeLessThan(60_000)
      const body = await run((storage) => storage.read("t1/a.txt", null))
      expect(body).toMatchObject({ size: 11 })
      await gather(body!.bytes)
    })

    it("stores an empty file", async () => {
      expect(await put("t1/empty.txt")).toBe(0)
      expect(await text("t1/empty.txt")).toBe("")
      expect(await run((storage) => storage.head("t1/empty.txt"))).toMatchObject({ size: 0 })
    })

    it("says null for what is not there, and removes it all the same", async () => {
      expect(await run((storage) => storage.head("t1/none.txt"))).toBeNull()
      expect(await run((storage) => storage.read("t1/none.txt", null))).toBeNull()
      expect(await run((storage) => storage.read("none/none.txt", { start: 0, end: 1 }))).toBeNull()
      await run((storage) => storage.remove("t1/none.txt"))
      expect(await run((storage) => storage.list({ prefix: "", after: null, limit: 10 }))).toEqual([])
    })

    it("replaces and removes", async () => {
      await put("t1/a.txt", "old and long")
      await put("t1/a.txt", "new")
      expect(await text("t1/a.txt")).toBe("new")
      await run((storage) => storage.remove("t1/a.txt"))
      expect(await text("t1/a.txt")).toBeNull()
      expect(await paths()).toEqual([])
      await put("t1/a.txt", "again")
      expect(await text("t1/a.txt")).toBe("again")
    })

    it("streams 12 MB unchanged, of an announced length and of none, and any range of it", async () => {
      const size = 12_000_003
      const whole = await gather(pattern(size))
      for (const announced of [size, null]) {
        expect(
          await run((storage) =>
            storage.put("t1/big.bin", pattern(size), { type: "application/octet-stream", size: announced })
          )
        )
          .toBe(size)
        const found = await run((storage) => storage.read("t1/big.bin", null))
        const hash = createHash("sha256")
        for await (const chunk of found!.bytes) hash.update(chunk)
        expect(hash.digest("hex")).toBe(createHash("sha256").update(whole).digest("hex"))
      }
      const ranges = [[0, 0], [0, 99], [5, 5], [65_530, 65_545], [size - 1, size - 1], [1_000_000, 1_999_999], [
        size - 700_000,
        size - 1
      ]]
      for (const [start = 0, end = 0] of ranges) {
        const part = await run((storage) => storage.read("t1/big.bin", { start, end }))
        expect(part?.size).toBe(size)
        expect((await gather(part!.bytes)).equals(whole.subarray(start, end + 1)), `${start}-${end}`).toBe(true)
      }
    })

    it("lets go of a stream that is not read to its end", async () => {
      await run((storage) => storage.put("t1/big.bin", pattern(3_000_000), plain))
      for (let i = 0; i < 20; i++) {
        const found = await run((storage) => storage.read("t1/big.bin", null))
        for await (const chunk of found!.bytes) {
          expect(chunk.length).toBeGreaterThan(0)
          break
        }
      }
      await run((storage) => storage.remove("t1/big.bin"))
      expect(await paths()).toEqual([])
    })

    it.each([
      ["at once", 0, null],
      ["after a while", 200_000, null],
      ["late", 7_000_000, null],
      ["after a while, of a known length", 200_000, 9_000_000],
      ["late, of a known length", 7_000_000, 9_000_000]
    ])(
      "shows nothing of a body that fails %s, and tells its error",
      async (_, after, size) => {
        const cause = new Error("the sender is gone")
        async function* body(): Bytes {
          if (after > 0) yield* pattern(after)
          yield* broken(cause)
        }
        const error = await failure((storage) => storage.put("t1/half.bin", body(), { ...plain, size }))
        expect(error).toBeInstanceOf(StorageError)
        expect([error.reason, error.cause]).toEqual(["Body", cause])
        expect(await run((storage) => storage.read("t1/half.bin", null))).toBeNull()
        expect(await paths()).toEqual([])
        if (harness.unfinished !== null) expect(await harness.unfinished()).toBe(0)
      }
    )

    it("keeps the old file when its replacement fails", async () => {
      await put("t1/a.txt", "old")
      await failure((storage) => storage.put("t1/a.txt", broken(new Error("gone"), "new"), plain))
      expect(await text("t1/a.txt")).toBe("old")
    })

    it("lists in order of the paths, by prefix, in pages", async () => {
      const all = [
        "_/a.txt",
        "_/a.txt.card.webp",
        "t1/a.txt",
        "t1/b.txt",
        "t1/sub/c.txt",
        "t1.x/d.txt",
        "t10/e.txt",
        ".cleanup/1.json",
        ".cleanup/2.json"
      ]
      for (const path of all.toReversed()) await put(path, path)
      const sorted = [...all].sort((a, b) => (a < b ? -1 : 1))
      expect(await paths()).toEqual(sorted)
      expect(await paths("t1/")).toEqual(["t1/a.txt", "t1/b.txt", "t1/sub/c.txt"])
      expect(await paths(".cleanup/")).toEqual([".cleanup/1.json", ".cleanup/2.json"])
      expect(await paths("_/a.txt.")).toEqual(["_/a.txt.card.webp"])
      expect(await paths("nobody/")).toEqual([])
      const walked: string[] = []
      for (;;) {
        const page = await run((storage) => storage.list({ prefix: "", after: walked.at(-1) ?? null, limit: 2 }))
        walked.push(...page.map(({ path }) => path))
        if (page.length < 2) break
      }
      expect(walked).toEqual(sorted)
      const [first] = await run((storage) => storage.list({ prefix: "t10/", after: null, limit: 5 }))
      expect(first).toMatchObject({ path: "t10/e.txt", size: 9 })
      expect(await run((storage) => storage.list({ prefix: "", after: null, limit: 0 }))).toEqual([])
    })

    it("takes names as they are", async () => {
      for (
        const path of [
          "t1/Ünïcode 文件.pdf",
          "t1/50% off + more.txt",
          "t1/a&b=c;d'e.txt",
          "t1/q#1.txt",
          "t1/%2e%2e.txt"
        ]
      ) {
        await put(path, path)
        expect(await text(path)).toBe(path)
      }
      expect((await paths()).length).toBe(5)
    })

    it("stores many files at once", async () => {
      const names = Array.from({ length: 30 }, (_, i) => `t${i % 3}/f${i}.txt`)
      await Promise.all(names.map((name) => put(name, name)))
      expect((await paths()).length).toBe(30)
      await Promise.all(names.map((name) => run((storage) => storage.remove(name))))
      expect(await paths()).toEqual([])
    })

    it("links to what it serves itself, with the type and the name that were asked for", async () => {
      const { link } = harness.storage
      if (link === null || !harness.opensLinks) return expect(harness.opensLinks).toBe(false)
      await put("t1/Ünï code.txt", "linked")
      const disposition = "attachment; filename=\"_n_ code.txt\"; filename*=UTF-8''%C3%9Cn%C3%AF%20code.txt"
      const url = await Effect.runPromise(
        link("t1/Ünï code.txt", { seconds: 600, type: "application/pdf", disposition })
      )
      const answer = await fetch(url)
      expect([answer.status, await answer.text()]).toEqual([200, "linked"])
      expect(answer.headers.get("content-type")).toBe("application/pdf")
      expect(answer.headers.get("content-disposition")).toBe(disposition)
      const range = await fetch(url, { headers: { range: "bytes=1-3" } })
      expect([range.status, await range.text()]).toEqual([206, "ink"])
      const forged = await fetch(url.replace("application%2Fpdf", "text%2Fhtml"))
      expect(forged.status).toBe(403)
      await forged.body?.cancel()
    })
  })
}
