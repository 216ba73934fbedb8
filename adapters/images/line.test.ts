// Images wait in one line for memory and for a process.
import { expect, it } from "vitest"
import { ImagesError } from "../../core/ports/images.ts"
import { inLine, type Wish } from "./line.ts"

const wish = (memory: number, more: Partial<Wish> = {}): Wish => ({
  memory,
  most: 100,
  atOnce: 3,
  waitMs: 60_000,
  ...more
})

/** Work that ends when it is told to. */
const work = (name: string, begun: string[]) => {
  const { promise, resolve } = Promise.withResolvers<string>()
  return { end: () => resolve(name), run: () => (begun.push(name), promise) }
}

it("those work at once who share the memory and the processes, in the order in which they came", async () => {
  const begun: string[] = []
  const [a, b, c, d, e] = ["a", "b", "c", "d", "e"].map((name) => work(name, begun)) as [
    ReturnType<typeof work>,
    ReturnType<typeof work>,
    ReturnType<typeof work>,
    ReturnType<typeof work>,
    ReturnType<typeof work>
  ]
  const turn = () => new Promise((resolve) => setImmediate(resolve))
  const all = [inLine(wish(60), a.run), inLine(wish(60), b.run), inLine(wish(10), c.run), inLine(wish(10), d.run)]
  await turn()
  // There is memory for c, and b came first.
  expect(begun).toEqual(["a"])
  a.end()
  await turn()
  expect(begun).toEqual(["a", "b", "c", "d"])
  const last = inLine(wish(1), e.run)
  await turn()
  expect(begun).not.toContain("e")
  for (const each of [b, c, d]) each.end()
  await turn()
  expect(begun).toContain("e")
  e.end()
  expect(await Promise.all([...all, last])).toEqual(["a", "b", "c", "d", "e"])
})

it("an image that needs more than there is works alone, and one that waits too long is refused", async () => {
  const begun: string[] = []
  const [large, small] = [work("large", begun), work("small", begun)]
  const first = inLine(wish(200), large.run)
  const refusal = await inLine(wish(10, { waitMs: 1 }), small.run).catch((error: unknown) => error)
  expect(refusal).toMatchObject(new ImagesError({ reason: "Busy" }))
  large.end()
  expect([await first, begun]).toEqual(["large", ["large"]])
  // Whoever was refused holds up nobody.
  small.end()
  expect(await inLine(wish(10), small.run)).toBe("small")
})
