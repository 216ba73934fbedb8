import { describe, expect, it } from "vitest"
import { StorageError } from "../../core/ports/storage.ts"
import { makeLine } from "./line.ts"

describe("a line", () => {
  /** Work that lasts until it is told to end. */
  const worker = (line: ReturnType<typeof makeLine>, weight: number) => {
    const gate = Promise.withResolvers<number>()
    const state = { works: false, end: () => gate.resolve(weight), done: Promise.resolve(0) }
    state.done = line(weight, () => {
      state.works = true
      return gate.promise
    })
    return state
  }

  it("lets in as much as there is, in the order of those who came", async () => {
    const line = makeLine(10, 60_000)
    const [first, second, large, small] = [6, 4, 8, 1].map((weight) => worker(line, weight))
    expect([first!.works, second!.works, large!.works, small!.works]).toEqual([true, true, false, false])
    second!.end()
    await second!.done
    // The small one would fit, but others would then never get their turn.
    expect([large!.works, small!.works]).toEqual([false, false])
    first!.end()
    await first!.done
    await Promise.resolve()
    expect([large!.works, small!.works]).toEqual([true, true])
    for (const each of [large!, small!]) each.end()
    expect(await Promise.all([large!.done, small!.done])).toEqual([8, 1])
  })

  it("lets in one that is larger than all there is, alone", async () => {
    const line = makeLine(10, 60_000)
    const huge = worker(line, 1_000)
    const next = worker(line, 1)
    expect([huge.works, next.works]).toEqual([true, false])
    huge.end()
    await huge.done
    next.end()
    expect(await next.done).toBe(1)
  })

  it("refuses who has waited too long, and gives back what failed work had", async () => {
    const line = makeLine(10, 20)
    const first = worker(line, 10)
    const late = await line(1, async () => 1).catch((error: unknown) => error)
    expect(late).toBeInstanceOf(StorageError)
    expect(late).toMatchObject({ reason: "Unavailable" })
    first.end()
    await first.done
    await expect(line(10, () => Promise.reject(new Error("failed")))).rejects.toThrow("failed")
    expect(await line(10, async () => 2)).toBe(2)
  })
})
