import * as Result from "effect/Result"
import { describe, expect, it } from "vitest"
import { readPasskeys } from "./passkey.ts"

const url = "https://admin.example.org/service"

const refusal = (raw: unknown, at: string | null = url): string | undefined => {
  const read = readPasskeys(raw, at)
  return Result.isFailure(read) ? read.failure.message : undefined
}

describe("settings of passkeys", () => {
  it("are off unless asked for, and follow AUTH_URL", () => {
    expect(Result.getOrThrow(readPasskeys(undefined, url))).toBeNull()
    expect(Result.getOrThrow(readPasskeys(false, url))).toBeNull()
    expect(Result.getOrThrow(readPasskeys(true, url))).toEqual({
      rpName: undefined,
      rpId: "admin.example.org",
      origins: ["https://admin.example.org"]
    })
    expect(Result.getOrThrow(readPasskeys(true, "http://localhost:5173"))).toMatchObject({
      rpId: "localhost",
      origins: ["http://localhost:5173"]
    })
  })

  it("may name a domain above, and several pages below it", () => {
    const origins = ["https://admin.example.org", "https://panel.example.org:8443"]
    expect(Result.getOrThrow(readPasskeys({ rpName: " Shop ", rpId: "example.org", origins }, url))).toEqual({
      rpName: "Shop",
      rpId: "example.org",
      origins
    })
  })

  it("are judged as far as they go while AUTH_URL is not known", () => {
    expect(refusal(true, null)).toBeUndefined()
    expect(refusal({ rpId: "example.org" }, null)).toBeUndefined()
    expect(refusal({ rpId: "example.org", origins: ["https://example.com"] }, null)).toMatch(/not below/)
  })

  it.each<[string, unknown, RegExp, string?]>([
    ["a text", "yes", /true, false/],
    ["null", null, /true, false/],
    ["a list", [], /true, false/],
    ["an unknown setting", { rpID: "example.org" }, /rpID/],
    ["an empty name", { rpName: " " }, /rpName/],
    ["a URL for a domain", { rpId: "https://example.org" }, /rpId/],
    ["an address for a domain", { rpId: "127.0.0.1" }, /rpId/],
    ["an address in AUTH_URL", true, /browsers want a domain/, "https://192.0.2.1"],
    ["plain http", true, /https/, "http://admin.example.org"],
    ["this machine by its number", true, /https/, "http://127.0.0.1:5173"],
    ["no pages", { origins: [] }, /list/],
    ["a path", { origins: ["https://admin.example.org/"] }, /no origin/],
    ["a pattern", { rpId: "example.org", origins: ["https://*.example.org"] }, /no origin/],
    ["a number", { origins: [1] }, /no origin/],
    ["another domain", { rpId: "example.com" }, /not below/],
    ["a look-alike", { rpId: "ample.org" }, /not below/],
    ["a page elsewhere", { origins: ["https://admin.example.com"] }, /not below/]
  ])("are refused with %s", (_, raw, message, at) => {
    expect(refusal(raw, at)).toMatch(message)
  })
})
