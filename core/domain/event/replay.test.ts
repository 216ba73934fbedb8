import * as Result from "effect/Result"
import { describe, expect, it } from "vitest"
import { microsFromCell } from "../value/instant.ts"
import type { Json } from "../value/kind.ts"
import { readReplay } from "./replay.ts"

const now = microsFromCell("2026-11-27T12:00:00Z")
const read = (body: Json) => readReplay(body, now)

describe("the range of a replay", () => {
  it.each<readonly [Json, string, string, boolean]>([
    [{ since: "2026-11-27T10:00:00Z" }, "2026-11-27T10:00:00Z", "2026-11-27T12:00:00Z", false],
    [
      { since: "2026-11-27T10:00:00+02:00", until: "2026-11-27T09:30:00Z" },
      "2026-11-27T08:00:00Z",
      "2026-11-27T09:30:00Z",
      false
    ],
    // What happens from now on is told as it happens.
    [
      { since: "2026-11-27T10:00:00Z", until: "2026-12-31T00:00:00Z" },
      "2026-11-27T10:00:00Z",
      "2026-11-27T12:00:00Z",
      false
    ],
    [
      { since: "2026-11-27T10:00:00.000001Z", failedOnly: true },
      "2026-11-27T10:00:00.000001Z",
      "2026-11-27T12:00:00Z",
      true
    ]
  ])("of %j is from %s until %s", (body, since, until, failedOnly) => {
    expect(Result.getOrThrow(read(body))).toEqual({ since, until, failedOnly })
  })

  it.each<[Json]>([
    [null],
    [[]],
    [{}],
    [{ since: "2026-11-27" }],
    [{ since: "2026-11-27T10:00:00" }],
    [{ since: "2026-11-27T12:00:00Z" }],
    [{ since: "2026-11-28T10:00:00Z", until: "2026-11-29T10:00:00Z" }],
    [{ since: "2026-11-27T10:00:00Z", until: "2026-11-27T10:00:00Z" }],
    [{ since: "2026-11-27T10:00:00Z", failedOnly: "yes" }],
    [{ since: "2026-11-27T10:00:00Z", more: 1 }]
  ])("is none of %j", (body) => expect(Result.isFailure(read(body))).toBe(true))
})
