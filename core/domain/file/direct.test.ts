import * as Result from "effect/Result"
import { describe, expect, it } from "vitest"
import { readAnnounced } from "./direct.ts"

const gibibyte = 2 ** 30

describe("the announcement of a direct upload", () => {
  it.each([
    [{ name: "a.txt", size: 5 }, { name: "a.txt", type: null, size: 5 }],
    [{ name: "", type: "", size: 0 }, { name: "", type: null, size: 0 }],
    [{ name: "a", type: null, size: 5 * gibibyte }, { name: "a", type: null, size: 5 * gibibyte }],
    [{ name: "a", type: "text/plain", size: 1 }, { name: "a", type: "text/plain", size: 1 }]
  ])("%j is read", (body, announced) => {
    expect(readAnnounced(body)).toEqual(Result.succeed(announced))
  })

  it.each<readonly [unknown, string]>([
    [null, "body"],
    [[], "body"],
    ["a.txt", "body"],
    [{ size: 5 }, "name"],
    [{ name: null, size: 5 }, "name"],
    [{ name: "a", type: 5, size: 5 }, "type"],
    [{ name: "a", type: "x".repeat(256), size: 5 }, "type"],
    [{ name: "a" }, "size"],
    [{ name: "a", size: -1 }, "size"],
    [{ name: "a", size: 1.5 }, "size"],
    [{ name: "a", size: "5" }, "size"],
    [{ name: "a", size: 5 * gibibyte + 1 }, "direct"],
    [{ name: "a", size: 5, path: "t1/a.txt" }, "path"]
  ])("%j is refused by its %s", (body, parameter) => {
    const read = readAnnounced(body as never)
    if (Result.isSuccess(read)) throw new Error("it was read")
    expect([read.failure.slug, read.failure.members.errors?.[0]?.parameter]).toEqual(["invalid-parameter", parameter])
  })
})
