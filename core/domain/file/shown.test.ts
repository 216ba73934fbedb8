import { describe, expect, it } from "vitest"
import type { FileField } from "../model/file.ts"
import { fileWriter } from "./shown.ts"

const hour = 3_600_000

describe("the writer of a file field", () => {
  const clock = { now: 500_000 * hour + 5 }
  let signed = 0
  const make = () =>
    fileWriter(
      {
        root: "/api",
        provider: (name) => name === "private" ? { public: false, publicUrl: null, prefix: "" } : null,
        sign: (text) => `${++signed}.${text.length}`,
        now: () => clock.now
      },
      "docs",
      "file",
      { externalUrls: false } as FileField,
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
})
