import { describe, expect, it } from "vitest"
import { errorStack, errorText, isReadOnly, leftToOthers } from "./failure.ts"

describe("a job that is left to others", () => {
  const now = 1_000_000_000
  it.each([
    // A twentieth of its wait, within five seconds and five minutes.
    [0, 5_000],
    [100_000, 5_000],
    [200_000, 10_000],
    [6_000_000, 300_000],
    [60_000_000, 300_000],
    // A clock that went back since.
    [-10_000, 5_000]
  ])("for %i ms is there again after %i ms", (waited, wait) => {
    expect(leftToOthers(now, now - waited, "away").time.getTime() - now).toBe(wait)
  })
})

describe("the error of a job", () => {
  it("is what the database can hold", () => {
    expect(errorText(new Error("a\0b\ud800c"))).toBe("ab\ufffdc")
    expect(errorText(new Error("x".repeat(3_000)))).toHaveLength(2_000)
    // The second half of the last character is past the end.
    expect(errorText(new Error(`${"x".repeat(1_999)}😀`))).toBe(`${"x".repeat(1_999)}\ufffd`)
    expect(errorText(new TypeError(""))).toBe("TypeError")
    expect(errorText("\0")).toBe("The job failed without a message.")
  })

  it("is that of a database without writes, however deep it is", () => {
    const refused = Object.assign(new Error("cannot execute"), { code: "25006" })
    expect(isReadOnly(refused)).toBe(true)
    expect(isReadOnly(new Error("outer", { cause: { reason: refused } }))).toBe(true)
    expect(isReadOnly(new Error("outer", { cause: new Error("25006") }))).toBe(false)
    const circle: { cause?: unknown } = {}
    circle.cause = circle
    expect(isReadOnly(circle)).toBe(false)
  })
})

describe("the stack of a job's error", () => {
  const secret = "sk_live_1"
  const text = `GET /?key=${secret} failed\nbody: {card: ${secret}}\n    at ${secret} (file:///a.ts:1:1)`
  class DeclinedError extends TypeError {}
  const changed = (name: string, value: unknown): Error =>
    Object.defineProperty(new DeclinedError(text), name, { value, configurable: true })
  const unnamed = Object.defineProperty(class extends Error {}, "name", { value: text })
  const wrong = (stack: unknown): Error => Object.defineProperty(new DeclinedError(text), "stack", { value: stack })

  it.each<[string, unknown, string | null]>([
    ["a message of several lines", new DeclinedError(text), "DeclinedError"],
    ["another name", changed("name", text), "DeclinedError"],
    ["a class whose name is no identifier", new unnamed(text), "Error"],
    [
      "a class without a name",
      changed(
        "constructor",
        class {
          static name = 5
        }
      ),
      "Error"
    ],
    ["no class", changed("constructor", secret), "Error"],
    ["another message since", changed("message", "another"), "DeclinedError"],
    ["its message as its stack", wrong(text), "DeclinedError"],
    [
      "a message and lines that are no frames as its stack",
      wrong(`${text}\n    at ${secret}\n${secret}`),
      "DeclinedError"
    ],
    ["no text as its stack", wrong({ text }), "DeclinedError"],
    ["a text instead of an error", text, null],
    ["an object instead of an error", { message: text, stack: text }, null]
  ])("tells nothing of a cause but its class and frames: %s", (_, cause, name) => {
    const stack = errorStack(new Error("Payment failed", { cause }))!
    expect(stack).toMatch(/^at .*failure\.test\.ts/)
    expect(stack).not.toContain(secret)
    expect(stack).not.toContain("Payment failed")
    for (const line of stack.split("\n")) expect(line).toMatch(/^(?:at |Caused by [A-Za-z]+$)/)
    expect(/^Caused by (.*)$/m.exec(stack)?.[1] ?? null).toBe(name)
  })

  it("follows each cause once, five at most", () => {
    const inner = new RangeError(text)
    const outer = new Error(text, { cause: inner })
    inner.cause = outer
    expect(errorStack(outer)!.match(/^Caused by .*$/gm)).toEqual(["Caused by RangeError"])
    const deep = Array.from({ length: 9 }).reduce<Error>((cause) => new Error(text, { cause }), inner)
    expect(errorStack(deep)!.match(/^Caused by .*$/gm)).toHaveLength(4)
    expect(errorStack(secret)).toBeNull()
  })
})
