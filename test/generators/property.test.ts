// Properties that do not hold are shrunk to the values expected, and the message has them as source.
import * as Arbitrary from "effect/Arbitrary"
import * as Effect from "effect/Effect"
import { describe, expect, it } from "vitest"
import { arbitraryOf } from "./property.ts"
import { type Generator, Random } from "./random.ts"
import { sourceOf } from "./source.ts"

/** The message of a property that does not hold. */
const failureOf = <A>(make: Generator<A>, holds: (value: A) => boolean, seed = 1): string => {
  const checked = Arbitrary.checkEffect(arbitraryOf(make, sourceOf), ({ drawn }) => holds(drawn.value), {
    runs: 1_000,
    seed,
    maxShrinks: Number.MAX_SAFE_INTEGER
  })
  return Arbitrary.formatCheckFailure(Effect.runSync(checked)) ?? "it holds"
}

const shownIn = (message: string): string => /\n\n([^]*?)\n\nTEST_SEED/.exec(message)?.[1] ?? message

const shrunk = <A>(make: Generator<A>, holds: (value: A) => boolean): readonly string[] =>
  [1, 2, 3, 4, 5].map((seed) => shownIn(failureOf(make, holds, seed)))

const five = <A>(value: A): readonly A[] => Array.from({ length: 5 }, () => value)

const numbers: Generator<readonly number[]> = (random) => random.many(0, 40, () => random.below(1_000_000))

interface Tree {
  readonly leaf?: string
  readonly and?: readonly Tree[]
}
const tree = (random: Random, levels = 5): Tree =>
  random.part("tree", () =>
    random.below(levels === 0 ? 1 : 3) === 0
      ? { leaf: random.pick(["a", "b", "c", "d"]) }
      : { and: random.many(1, 3, () => tree(random, levels - 1)) })
const leaves = ({ and = [], leaf }: Tree): readonly string[] => leaf === undefined ? and.flatMap(leaves) : [leaf]

describe("what fails is shrunk", () => {
  it("to the smallest number", () => {
    expect(shrunk((random) => random.below(1e9), (n) => n < 12_345)).toEqual(five("12345"))
  })

  it("to the shortest list, whatever stood around", () => {
    expect(shrunk(numbers, (list) => list.every((n) => n < 777))).toEqual(five("[777]"))
    expect(shrunk(numbers, (list) => list.length < 7)).toEqual(five("[0, 0, 0, 0, 0, 0, 0]"))
    const twice = shrunk(numbers, (list) => list.filter((n) => n > 99).length < 2)
    expect(twice).toEqual(five("[100, 100]"))
  })

  it("to a branch of a tree", () => {
    expect(shrunk(tree, (each) => !leaves(each).includes("c"))).toEqual(five("{ leaf: \"c\" }"))
    expect(shrunk(tree, (each) => !(each.and?.length === 2))).toEqual(
      five("{ and: [{ leaf: \"a\" }, { leaf: \"a\" }] }")
    )
  })

  it("not below what the generator can make, but below what it usually makes", () => {
    expect(shrunk((random) => random.many(3, 9, () => random.below(10)), () => false)).toEqual(five("[0, 0, 0]"))
    expect(shrunk((random) => random.many(9, 9, () => random.below(10), 0), (list) => !list.includes(3)))
      .toEqual(five("[3]"))
  })

  it("by the text that replays it, to the same value at once", () => {
    const check = (replay?: string) =>
      Effect.runSync(
        Arbitrary.checkEffect(arbitraryOf(numbers, sourceOf), ({ drawn }) => drawn.value.every((n) => n < 777), {
          seed: 1,
          maxShrinks: Number.MAX_SAFE_INTEGER,
          ...(replay === undefined ? {} : { replay })
        })
      )
    const first = check()
    expect(first).toMatchObject({ _tag: "Falsified" })
    const again = check((first as { readonly replay: string }).replay)
    expect(again).toMatchObject({ _tag: "Falsified", runs: 1 })
    expect((again as { readonly shrunkInput: { readonly drawn: { readonly value: unknown } } }).shrunkInput.drawn.value)
      .toEqual([777])
  })
})

describe("generators", () => {
  it("give the same value for the same seed, and make it again from its choices", () => {
    for (let seed = 0; seed < 200; seed++) {
      const random = new Random(seed)
      const made = [numbers(random), tree(random)]
      const again = new Random(seed)
      expect([numbers(again), tree(again)]).toEqual(made)
      const read = new Random(random.choices)
      expect([numbers(read), tree(read)]).toEqual(made)
    }
  })

  it("make other values in each case", () => {
    const seen = new Set<string>()
    const run = Arbitrary.checkEffect(arbitraryOf(numbers, sourceOf), ({ drawn }) => {
      seen.add(sourceOf(drawn.value))
      return true
    }, { runs: 1_000, seed: 1 })
    expect(Effect.runSync(run)).toMatchObject({ _tag: "Passed", runs: 1_000 })
    // The empty list comes more than once.
    expect(seen.size).toBeGreaterThan(950)
  })

  it("choose evenly", () => {
    const random = new Random(1)
    const counts = Array.from({ length: 8 }, () => 0)
    const lengths = Array.from({ length: 4 }, () => 0)
    for (let i = 0; i < 8_000; i++) {
      counts[random.below(8)]!++
      lengths[random.many(0, 3, () => 0).length]!++
    }
    for (const count of counts) expect(Math.abs(count - 1_000)).toBeLessThan(150)
    for (const length of lengths) expect(Math.abs(length - 2_000)).toBeLessThan(200)
    expect(new Set(random.shuffled([1, 2, 3, 4]))).toEqual(new Set([1, 2, 3, 4]))
    expect(new Random({ of: "value", numbers: [], parts: [] }).shuffled([1, 2, 3])).toEqual([1, 2, 3])
  })
})

describe("source text", () => {
  it("is an expression that makes the value again", () => {
    const values: readonly unknown[] = [
      "a\"b\\\n\u2028\ufeff\ud800é\u0301",
      [-0, 1.5, Number.NaN, -Infinity, 12n, null, undefined, true],
      { a: 1, "b-c": [{ d: "e".repeat(60) }, { d: "f".repeat(60) }], constructor: 1 },
      new Map([["a", new Set([1])]]),
      new Date("2026-01-02T03:04:05.678Z"),
      Uint8Array.of(1, 2, 255)
    ]
    for (const value of values) {
      const source = sourceOf(value)
      expect(source).toMatch(/^[\n\u0020-\u007e\u00a1-\u02ff]*$/)
      // oxlint-disable-next-line no-eval -- the text is what this test is about, and nobody else's
      expect((0, eval)(`(${source})`)).toEqual(value)
    }
  })

  it("names compiled fields, and refuses what it cannot write", () => {
    expect(sourceOf({ op: "null", field: { name: "total", column: "total", index: 3, kind: "decimal" } }))
      .toBe("{ op: \"null\", field: field(\"total\") }")
    expect(() => sourceOf(() => 1)).toThrow("function")
    expect(() => sourceOf({ at: /a/ })).toThrow("RegExp")
  })
})
