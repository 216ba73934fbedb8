/**
 * The contract of the Storage port, one suite for every implementation. Each harness brings an empty storage and says what it can do. Full disks and
 * processes that are killed need a real disk: test/files has those.
 */

import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { createHash } from "node:crypto"
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest"
import { StorageError } from "../../core/ports/storage.ts"
import type { Bytes, DirectStorage, SignedPut, StorageService } from "../../core/ports/storage.ts"
import { broken, gather, pattern, pieces } from "../support/bytes.ts"

export interface StorageHarness {
  readonly storage: StorageService
  /** Removes all files. */
  readonly clear: () => Promise<void>
  readonly close: () => Promise<void>
  /** Whether its links can be opened. */
  readonly opensLinks: boolean
  /** Sends a signed request with a body; null: its requests lead nowhere, or it has none. */
  readonly send: ((signed: SignedPut, body: Uint8Array) => Promise<number>) | null
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

    const name = ".tmp/AAAAAAAAAAAAAAAAAAAAAA.1700000000000.100.abcdefghijklmnopqrstuvwxyz"
    const target = (length: number) => ({ path: "t1/abcdefghijklmnopqrstuvwxyz.bin", type: "image/png", length })
    const append = (offset: number, length: number | null, body: Bytes) =>
      run(({ resumable }) => resumable.append(name, offset, body, length === null ? null : target(length)))
    const sizeOf = () => run(({ resumable }) => resumable.size(name))
    const left = async (): Promise<readonly string[]> => (await paths()).filter((path) => !path.startsWith("t1/"))

    it("takes a file in pieces, and shows it when it is finished", async () => {
      expect(await sizeOf()).toBeNull()
      await run(({ resumable }) => resumable.begin(name))
      expect(await sizeOf()).toBe(0)
      expect(await run(({ resumable }) => resumable.start(name, 100))).toHaveLength(0)
      expect(await append(0, null, pieces("one ", "and"))).toEqual({ size: 7, matched: true })
      expect(await append(7, null, pieces())).toEqual({ size: 7, matched: true })
      expect(Buffer.from((await run(({ resumable }) => resumable.start(name, 3)))!).toString()).toBe("one")
      expect(Buffer.from((await run(({ resumable }) => resumable.start(name, 99)))!).toString()).toBe("one and")
      expect((await run((storage) => storage.list({ prefix: name, after: null, limit: 9 })))[0]?.path).toBe(name)
      expect(await append(7, 11, pieces(" two"))).toEqual({ size: 11, matched: true })
      expect(await text(target(11).path)).toBeNull()
      expect(await run(({ resumable }) => resumable.finish(name, target(11)))).toBe(11)
      expect(await text(target(11).path)).toBe("one and two")
      expect([await sizeOf(), await left()]).toEqual([null, []])
      expect(await run(({ resumable }) => resumable.finish(name, target(11)))).toBeNull()
      expect(await append(11, 11, pieces("x"))).toBeNull()
      expect(await run(({ resumable }) => resumable.start(name, 9))).toBeNull()
    })

    it("shows no part of a file, and ends what an earlier finish left", async () => {
      await run(({ resumable }) => resumable.begin(name))
      expect(await append(0, 7, pieces("one"))).toEqual({ size: 3, matched: true })
      expect((await failure(({ resumable }) => resumable.finish(name, target(7)))).reason).toBe("Unavailable")
      expect([await text(target(7).path), await sizeOf()]).toEqual([null, 3])
      await run((storage) => storage.put(target(7).path, pieces("one two"), { type: "image/png", size: 7 }))
      expect(await run(({ resumable }) => resumable.finish(name, target(7)))).toBe(7)
      expect(await text(target(7).path)).toBe("one two")
      expect([await sizeOf(), await left()]).toEqual([null, []])
    })

    it("takes a file without bytes", async () => {
      await run(({ resumable }) => resumable.begin(name))
      expect(await run(({ resumable }) => resumable.finish(name, target(0)))).toBe(0)
      expect(await text(target(0).path)).toBe("")
      expect(await left()).toEqual([])
    })

    it("refuses another offset, takes nothing of the body, and lets go of it", async () => {
      await run(({ resumable }) => resumable.begin(name))
      await append(0, null, pieces("abc"))
      for (const offset of [0, 2, 4]) {
        let taken = 0
        let ended = false
        const body: Bytes = {
          [Symbol.asyncIterator]: () => ({
            next: async () => ({ done: false as const, value: new Uint8Array(++taken) }),
            return: async () => {
              ended = true
              return { done: true as const, value: undefined }
            }
          })
        }
        expect(await append(offset, 9, body)).toEqual({ size: 3, matched: false })
        expect([taken, ended]).toEqual([0, true])
      }
      expect(await append(3, 9, pieces("def"))).toEqual({ size: 6, matched: true })
    })

    it("keeps what came before a body broke off, 20 times over 33 MB, and no byte changes its place", async () => {
      const whole = await gather(pattern(33_000_001))
      await run(({ resumable }) => resumable.begin(name))
      let at = 0
      const cuts = [1, 60_000, 5_000, 900_000, 1_600_000, 5_242_880, 5_242_880, 1, 1, 4_000_000, 11_000_000]
      for (let i = 0; at < whole.length; i++) {
        const bytes = whole.subarray(at, at + cuts[i % cuts.length]!)
        const cause = new Error("the line is cut")
        const error = await failure(({ resumable }) =>
          resumable.append(name, at, broken(cause, bytes), at + bytes.length < 65_536 ? null : target(whole.length))
        )
        expect([error.reason, error.cause]).toEqual(["Body", cause])
        at += bytes.length
        expect(await sizeOf()).toBe(at)
      }
      expect(await run(({ resumable }) => resumable.finish(name, target(whole.length)))).toBe(whole.length)
      const found = await run((storage) => storage.read(target(0).path, null))
      expect((await gather(found!.bytes)).equals(whole)).toBe(true)
      expect(await left()).toEqual([])
      if (harness.unfinished !== null) expect(await harness.unfinished()).toBe(0)
    })

    it("takes more small pieces than it keeps apart as one file", async () => {
      const whole = await gather(pattern(70_000))
      await run(({ resumable }) => resumable.begin(name))
      for (let at = 0; at < whole.length; at += 1_000) {
        await append(at, at < 40_000 ? null : whole.length, pieces(whole.subarray(at, at + 1_000)))
      }
      expect((await paths()).length).toBeLessThan(60)
      expect(await run(({ resumable }) => resumable.finish(name, target(whole.length)))).toBe(whole.length)
      expect((await gather((await run((storage) => storage.read(target(0).path, null)))!.bytes)).equals(whole)).toBe(
        true
      )
      expect(await left()).toEqual([])
    })

    it.each([0, 10, 12_000_000])("aborts an upload of which %s bytes have come, once or twice", async (size) => {
      await run(({ resumable }) => resumable.begin(name))
      if (size > 0) await append(0, size < 65_536 ? null : size + 1, pattern(size))
      for (let i = 0; i < 2; i++) await run(({ resumable }) => resumable.abort(name))
      expect([await sizeOf(), await paths()]).toEqual([null, []])
      if (harness.unfinished !== null) expect(await harness.unfinished()).toBe(0)
    })

    const direct = <A>(work: (direct: DirectStorage) => Effect.Effect<A, StorageError>): Promise<A> =>
      run((storage) => work(storage.direct!))

    it("copies a file as it is, in place of another", async () => {
      if (harness.storage.direct === null) return
      await put(name, "one ", "and two")
      await put("t1/copy.txt", "old and long enough")
      const copy = (from: string) => direct((each) => each.copy(from, "t1/copy.txt", "text/plain"))
      expect(await copy(".tmp/nothing")).toBe(false)
      expect(await text("t1/copy.txt")).toBe("old and long enough")
      expect(await copy(name)).toBe(true)
      expect([await text("t1/copy.txt"), await text(name)]).toEqual(["one and two", "one and two"])
      await put(name, "changed")
      expect(await text("t1/copy.txt")).toBe("one and two")
      const strange = ".tmp/50% off + ü&=?#;'.txt"
      await put(strange, "strange")
      expect([await copy(strange), await text("t1/copy.txt")]).toEqual([true, "strange"])
      await put(strange)
      expect([await copy(strange), await text("t1/copy.txt")]).toEqual([true, ""])
    })

    it("takes a body of just the announced size by a signed request, in place of what is there", async () => {
      const { send } = harness
      if (harness.storage.direct === null || send === null) return
      await run(({ resumable }) => resumable.begin(name))
      const signed = await direct((each) => each.presignPut(name, { size: 7, seconds: 900 }))
      expect(signed.headers).toMatchObject({ "content-length": "7" })
      for (const body of ["one two", "another"]) {
        expect(await send(signed, Buffer.from(body))).toBe(200)
        expect(await text(name)).toBe(body)
      }
      for (const wrong of ["", "shorts", "longer!!"]) {
        const headers = { ...signed.headers, "content-length": String(wrong.length) }
        expect(await send({ ...signed, headers }, Buffer.from(wrong)), wrong).not.toBe(200)
        expect(await text(name)).toBe("another")
      }
      const empty = await direct((each) => each.presignPut(`${name}0`, { size: 0, seconds: 900 }))
      expect([await send(empty, Buffer.alloc(0)), await text(`${name}0`)]).toEqual([200, ""])
    })

    it("takes nothing by a signed request that was changed", async () => {
      const { send } = harness
      if (harness.storage.direct === null || send === null) return
      const signed = await direct((each) => each.presignPut(name, { size: 7, seconds: 900 }))
      const body = Buffer.from("one two")
      const { "content-type": type, ...without } = signed.headers as { readonly [name: string]: string }
      expect(type).toBe("application/octet-stream")
      const changed: ReadonlyArray<readonly [string, SignedPut]> = [
        ["another path", { ...signed, url: signed.url.replace(name, "t1/a.bin") }],
        ["another type", { ...signed, headers: { ...without, "content-type": "text/html" } }],
        ["no type", { ...signed, headers: without }],
        ["more time", { ...signed, url: signed.url.replace("Expires=900", "Expires=90000") }],
        ["no signature", { ...signed, url: signed.url.split("?")[0]! }]
      ]
      for (const [what, each] of changed) expect(await send(each, body), what).toBe(403)
      expect(await paths()).toEqual([])
    })

    it("takes nothing by a signed request whose time is over", async () => {
      const { send } = harness
      if (harness.storage.direct === null || send === null) return
      const signed = await direct((each) => each.presignPut(name, { size: 3, seconds: 1 }))
      await expect.poll(() => send(signed, Buffer.from("abc")), { timeout: 30_000, interval: 300 }).toBe(403)
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
