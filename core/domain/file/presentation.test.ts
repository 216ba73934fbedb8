import { describe, expect, it } from "vitest"
import type { FileField } from "../model/file.ts"
import { filesWriter, fileWriter } from "./presentation.ts"
import type { LinkedProvider } from "./presentation.ts"

const hour = 3_600_000

describe("the writer of a file field", () => {
  const clock = { now: 500_000 * hour + 5 }
  let signed = 0
  const providers: { readonly [name: string]: LinkedProvider } = {
    private: { public: false, publicUrl: null, prefix: "", linkLifetime: 7_200 },
    strict: { public: false, publicUrl: null, prefix: "", linkLifetime: 600 },
    public: { public: true, publicUrl: null, prefix: "", linkLifetime: 7_200 }
  }
  const make = (linkLifetime: number | null = null, writer = fileWriter) =>
    writer(
      {
        root: "/api",
        provider: (name) => providers[name] ?? null,
        sign: (text) => `${++signed}.${text.length}`,
        now: () => clock.now
      },
      "docs",
      "file",
      { externalUrls: false, linkLifetime } as FileField,
      { key: (row) => encodeURIComponent(row[0]!), mark: (row) => row[0]!, placeholder: 1 }
    )
  const read = (text: string) => {
    const { placeholder, uri, url } = JSON.parse(text) as Record<string, string>
    const query = new URL(url!, "http://localhost").searchParams
    return [uri, placeholder, query.get("k"), Number(query.get("exp"))]
  }

  it("makes a link once an hour, and a new one for another row, file, placeholder or hour, forwards and back", () => {
    const write = make()
    const [a, b] = ["private:_/a.png?name=a.png&size=1", "private:_/b.png?name=b.png&size=1"]
    const end = 500_002 * 3_600
    const first = write(a, ["1", "x"])
    expect(read(first)).toEqual([a, "x", "1", end])
    clock.now = 500_001 * hour - 1
    expect(write(a, ["1", "x"])).toBe(first)
    expect(signed).toBe(1)
    expect(read(write(a, ["2", "x"]))).toEqual([a, "x", "2", end])
    expect(read(write(a, ["1", null]))).toEqual([a, null, "1", end])
    expect(read(write(b, ["1", "x"]))).toEqual([b, "x", "1", end])
    expect(read(write(a, ["1", "x"]))).toEqual([a, "x", "1", end])
    clock.now = 500_001 * hour
    expect(read(write(a, ["1", "x"]))).toEqual([a, "x", "1", end + 3_600])
    clock.now = 500_000 * hour
    expect(read(write(a, ["1", "x"]))).toEqual([a, "x", "1", end])
    expect(signed).toBe(7)
  })

  it("keeps each file of a list for the period of its own links", () => {
    const write = make(null, filesWriter)
    const [long, short] = ["private:_/a.png?name=a.png&size=1", "strict:_/b.png?name=b.png&size=1"]
    const cell = JSON.stringify([long, null, short])
    const start = 500_000 * 3_600
    const at = (second: number) => {
      clock.now = (start + second) * 1_000
      const before = signed
      const shown = JSON.parse(write(cell, ["1", null])) as ReadonlyArray<{ readonly url?: string }>
      const ends = shown.map(({ url }) =>
        url === undefined ? null : Number(new URL(url, "http://localhost").searchParams.get("exp")) - start
      )
      return [ends, signed - before]
    }
    expect([0, 299, 300, 3_599, 3_600].map(at)).toEqual([
      [[7_200, null, 600], 2],
      [[7_200, null, 600], 0],
      [[7_200, null, 900], 1],
      [[7_200, null, 3_900], 1],
      [[10_800, null, 4_200], 2]
    ])
  })

  it("gives a link the lifetime of its provider, or that of its field, and keeps it for half of that", () => {
    const uri = "strict:_/a.png?name=a.png&size=1"
    const start = 500_000 * 3_600
    const ends = (write: ReturnType<typeof make>, value = uri) => {
      const { url } = JSON.parse(write(value, ["1", "x"])) as { readonly url: string }
      return Number(new URL(url, "http://localhost").searchParams.get("exp")) - start
    }
    const [own, narrowed, widened] = [make(), make(300), make(7_200)]
    const seen = []
    for (const second of [0, 149, 150, 299, 300, 301]) {
      clock.now = (start + second) * 1_000
      seen.push([second, ends(own), ends(narrowed), ends(widened), ends(own, "private:_/b.png")])
    }
    expect(seen).toEqual([
      [0, 600, 300, 7_200, 7_200],
      [149, 600, 300, 7_200, 7_200],
      [150, 600, 450, 7_200, 7_200],
      [299, 600, 450, 7_200, 7_200],
      [300, 900, 600, 7_200, 7_200],
      [301, 900, 600, 7_200, 7_200]
    ])
    expect(JSON.parse(own("public:_/a.png", ["1", "x"]))).toMatchObject({ url: "/api/files/public/_/a.png" })
  })
})
