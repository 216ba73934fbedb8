// Faults under files: a server that is killed in uploads and writes, and a disk that is full. No half file is served, nothing that a row holds is
// lost, and whatever is left over is known to a later cleanup.
import { spawnSync } from "node:child_process"
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { startService } from "../support/composed.ts"
import type { TestService } from "../support/composed.ts"
import { deep } from "../support/depth.ts"
import { openDatabase } from "../support/postgres.ts"
import type { TestDatabase } from "../support/postgres.ts"
import { filesConfig, filesSchema } from "./files-server.ts"
import { admin, authorization, call as callOnce, filesIn, killFiles, startFiles, textOf } from "./files-stage.ts"

interface Shown {
  readonly url: string
}

describe("a server that is killed", () => {
  let folder: string
  let database: TestDatabase
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "chaos-files-"))
    database = await openDatabase(filesSchema)
  })
  afterAll(async () => {
    await database?.drop()
    rmSync(folder, { recursive: true, force: true })
  })

  type Field = "file" | "more"

  /** Answers until the next kill, and what waits for them. */
  let awaited = { answers: 0, come: () => {} }
  const call: typeof callOnce = async (...request) => {
    const answer = await callOnce(...request)
    if (--awaited.answers === 0) awaited.come()
    return answer
  }
  const upload = async (url: string, field: Field, text: string): Promise<string> =>
    (await call(url, "POST", `docs:upload?field=${field}&name=a.txt`, text))["value"] as string

  const tus = { authorization, "tus-resumable": "1.0.0" }
  const pieceOf = (text: string, at: number, end: number) => ({
    method: "PATCH",
    headers: { ...tus, "content-type": "application/offset+octet-stream", "upload-offset": String(at) },
    body: text.slice(at, end)
  })
  /** Begins an upload in pieces; the path of its address. */
  const begin = async (url: string, text: string): Promise<string> => {
    const answer = await fetch(`${url}/api/v1/docs:upload?field=file&name=a.txt`, {
      method: "POST",
      headers: { ...tus, "upload-length": String(text.length) }
    })
    expect(answer.status).toBe(201)
    return answer.headers.get("location")!
  }
  /** Sends what is missing of an upload in pieces. Its ticket. */
  const goOn = async (url: string, location: string, text: string): Promise<string> => {
    const seen = await fetch(url + location, { method: "HEAD", headers: tus })
    expect(seen.status).toBe(200)
    const end = text.length
    for (let at = Number(seen.headers.get("upload-offset")); at < end;) {
      const answer = await fetch(url + location, pieceOf(text, at, at + Math.ceil(end / 4)))
      expect(answer.status).toBe(204)
      at = Number(answer.headers.get("upload-offset"))
    }
    const answer = await fetch(url + location, { headers: { authorization } })
    expect(answer.status).toBe(200)
    return (await answer.json() as { readonly value: string }).value
  }

  it("serves no half file, loses nothing that a row holds, and forgets no file", async () => {
    /** Last texts of records whose last write was answered; null: the write that followed was not answered, either may hold. */
    const known = new Map<string, string | null>()
    /** Uploads in pieces of which nobody has the ticket yet. */
    const pending = new Map<string, string>()
    let resumed = 0
    let chance = 20_261_123
    const next = (most: number): number => (chance = (chance * 48_271) % 2_147_483_647) % most

    const work = async (url: string, mark: string): Promise<void> => {
      const text = textOf(100_000 + next(2_000_000), mark)
      const field: Field = next(2) === 0 ? "file" : "more"
      const inPieces = async (): Promise<string> => {
        const location = await begin(url, text)
        pending.set(location, text)
        const ticket = await goOn(url, location, text)
        pending.delete(location)
        return ticket
      }
      const first = field === "more" || next(2) === 0 ? await upload(url, field, text) : await inPieces()
      const record = await call(url, "POST", "docs", { [field]: field === "file" ? first : [first] })
      const id = record["id"] as string
      known.set(id, text)
      const other = textOf(50_000 + next(500_000), `${mark} again`)
      const ticket = await upload(url, field, other)
      known.set(id, null)
      if (field === "file") await call(url, "PATCH", `docs/${id}`, { file: ticket })
      else {
        // Grows, and then loses its first file.
        const grown = await call(url, "PATCH", `docs/${id}`, { more: [first, ticket] })
        await call(url, "PATCH", `docs/${id}`, {
          more: [(grown["more"] as ReadonlyArray<Shown & { uri: string }>)[1]!.uri]
        })
      }
      known.set(id, other)
      if (next(3) > 0) return
      known.set(id, null)
      await call(url, "DELETE", `docs/${id}`)
      known.delete(id)
    }
    /** Files that are visible are whole; records hold what they were answered to hold. */
    const check = async (url: string): Promise<void> => {
      for (const path of filesIn(folder).filter((each) => !each.startsWith("."))) {
        const text = readFileSync(join(folder, path), "utf8")
        expect([path, text.length]).toEqual([path, Number.parseInt(text, 10)])
      }
      for (const [id, text] of known) {
        const answer = await fetch(`${url}/api/v1/docs/${id}`, { headers: { authorization } })
        if (text === null && answer.status === 404) continue
        const record = await answer.json() as { readonly file: Shown | null; readonly more: readonly Shown[] }
        const shown = record.file === null ? record.more : [record.file]
        expect([id, shown.length]).not.toEqual([id, 0])
        for (const [i, each] of shown.entries()) {
          const file = await fetch(url + each.url)
          expect([id, file.status]).toEqual([id, 200])
          const stored = await file.text()
          if (text === null || i < shown.length - 1) expect(stored.length).toBe(Number.parseInt(stored, 10))
          else expect(stored === text, id).toBe(true)
        }
      }
    }

    /** What had begun before the server was killed goes on. */
    const resume = async (url: string): Promise<void> => {
      for (const [location, text] of pending) {
        const record = await call(url, "POST", "docs", { file: await goOn(url, location, text) })
        known.set(record["id"] as string, text)
        pending.delete(location)
        resumed++
      }
    }

    for (let round = 0; round < (deep ? 25 : 2); round++) {
      const server = await startFiles(database.url, folder)
      const { url } = server
      await check(url)
      await resume(url)
      const half = textOf(300_000, `${round} half`)
      const location = await begin(url, half)
      pending.set(location, half)
      expect((await fetch(url + location, pieceOf(half, 0, 150_000))).status).toBe(204)
      const working = Promise.allSettled(Array.from({ length: 10 }, (_, i) => work(url, `${round}-${i}`)))
      // Ten records take thirty answers or more. The kill comes after one of them, whatever the machine's speed is.
      await Promise.race([working, new Promise<void>((come) => awaited = { answers: 1 + next(30), come })])
      await killFiles(server)
      await working
    }
    const server = await startFiles(database.url, folder)
    const { url } = server
    await resume(url)
    await check(url)
    // Of each round there is one at least.
    expect(resumed).toBeGreaterThan(0)

    // Every file that is stored is held by a row, or somebody is told to delete it.
    const rows =
      (await database.rows("select file from docs where file is not null union all select unnest(more) from docs")).map(
        ([file]) => file!
      )
    const held = new Set(rows.map((file) => /^private:([^?]+)/.exec(file)![1]!))
    const all = filesIn(folder)
    const entries = all.filter((path) => path.startsWith(".cleanup/")).map((path) =>
      JSON.parse(readFileSync(join(folder, path), "utf8")) as { readonly path: string }
    )
    const told = new Set(entries.map(({ path }) => path))
    expect(all.filter((path) => !path.startsWith(".") && !held.has(path) && !told.has(path))).toEqual([])
    await killFiles(server)

    // A cleanup 26 hours later leaves what rows hold, and nothing else.
    const later = await startService("postgres", { config: filesConfig(folder), schema: filesSchema, rows: {} }, {
      through: async () => ({ url: database.url, close: async () => {} }),
      files: { now: () => Date.now() + 26 * 3_600_000 }
    })
    try {
      expect((await later.call(admin, "POST", "/api/files:cleanup")).status).toBe(200)
    } finally {
      await later.close()
    }
    expect(filesIn(folder)).toEqual([...held].sort())
  })
})

/** Whether a small disk of our own can be had: root, and a system that lets it mount. */
const mounted = (folder: string): boolean =>
  process.getuid?.() === 0 &&
  spawnSync("mount", ["-t", "tmpfs", "-o", "size=6m,mode=0700", "tmpfs", folder]).status === 0

describe("a disk that is full", () => {
  const folder = mkdtempSync(join(tmpdir(), "chaos-full-"))
  const possible = mounted(folder)
  if (possible) spawnSync("umount", [folder])
  else {
    rmSync(folder, { recursive: true })
    it.skip("needs root and the right to mount a small disk")
    return
  }
  const files = join(folder, "files")
  let service: TestService
  beforeAll(async () => {
    mounted(folder)
    mkdirSync(files)
    service = await startService("fake", { config: filesConfig(files), schema: "", rows: {} })
  })
  afterAll(async () => {
    await service?.close()
    spawnSync("umount", ["-l", folder])
    rmSync(folder, { recursive: true, force: true })
  })

  const upload = (bytes: number) =>
    service.call(admin, "POST", "/api/v1/docs:upload?field=file&name=a.txt", {
      raw: new Uint8Array(bytes).fill(65),
      headers: { "content-type": "text/plain" }
    })

  it("answers 507, leaves nothing, and takes what still fits", async () => {
    const small = await upload(1_000_000)
    expect(small.status, small.text).toBe(201)
    const before = filesIn(files)
    for (let i = 0; i < 3; i++) {
      const full = await upload(12_000_000)
      expect([full.status, full.json["type"]]).toEqual([507, "urn:service:problem:insufficient-storage"])
      expect(filesIn(files)).toEqual(before)
    }
    expect((await upload(1_000_000)).status).toBe(201)
    const created = await service.call(admin, "POST", "/api/v1/docs", { body: { file: small.json["value"] } })
    expect(created.status).toBe(201)
  })

  it("refuses a write that lets a file go while its delete cannot be written down, and changes nothing", async () => {
    const ticket = (await upload(10_000)).json["value"]
    const record = (await service.call(admin, "POST", "/api/v1/docs", { body: { file: ticket } })).json
    const path = `/api/v1/docs/${record["id"] as unknown as string}`
    const ballast = join(folder, "ballast")
    for (let size = 6_000_000; size >= 1_000; size = Math.floor(size / 2)) {
      for (let more = true; more;) {
        try {
          writeFileSync(ballast, Buffer.alloc(size), { flag: "a" })
        } catch {
          more = false
        }
      }
    }
    // The last pages of the disk.
    for (let i = 0; i < 10_000; i++) {
      try {
        writeFileSync(join(folder, `page-${i}`), "x")
      } catch {
        break
      }
    }
    const cleared = await service.call(admin, "PATCH", path, { body: { file: null }, headers: { "if-match": "*" } })
    expect(cleared.status, cleared.text).toBe(507)
    expect((await service.get(admin, path)).json["file"]).not.toBeNull()
    for (const name of readdirSync(folder)) if (name !== "files") rmSync(join(folder, name))
    expect((await service.call(admin, "PATCH", path, { body: { file: null }, headers: { "if-match": "*" } })).status)
      .toBe(200)
  })
})
