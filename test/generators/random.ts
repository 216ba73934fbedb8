/**
 * Where generators take their choices from. A generator is a function of a `Random`. It asks for whole numbers and builds a value of them. The numbers
 * are fresh at first, and they are written down; shrinking changes what was written and has the generator read it. So one mechanism shrinks
 * every kind of value, and what comes out is always something that the generator could have made.
 *
 * The number 0 is the simplest choice everywhere. Where nothing is written any more, the choice is 0.
 */

/** The choices of one part of a value, in order: its own numbers, and the parts inside it. */
export interface Choices {
  /** What the part is; one may stand where another of the same name stood. A list is "many". */
  readonly of: string
  readonly numbers: readonly number[]
  readonly parts: readonly Choices[]
}

/** A generator of values. It may ask the source for anything and must ask the same when it is given the same. */
export type Generator<out A> = (random: Random) => A

/** Numbers from 0 to 2^32 - 1 from a seed (mulberry32). */
const fresh = (seed: number): () => number => {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let t = state
    t = Math.imul(t ^ (t >>> 15), t | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return (t ^ (t >>> 14)) >>> 0
  }
}

export const noChoices = (of: string): Choices => ({ of, numbers: [], parts: [] })

/** What is read and what is written of the part that is made at the moment. */
interface Place {
  readonly from: Choices
  readonly numbers: number[]
  readonly parts: Choices[]
}

const placeOf = (from: Choices): Place => ({ from, numbers: [], parts: [] })

export class Random {
  readonly #next: (() => number) | null
  #place: Place

  /** Fresh choices from a seed, or the choices that were written down. */
  constructor(from: number | Choices) {
    this.#next = typeof from === "number" ? fresh(from) : null
    this.#place = placeOf(typeof from === "number" ? noChoices("value") : from)
  }

  /** The choices that were made so far, as they were used. */
  get choices(): Choices {
    const { from, numbers, parts } = this.#place
    return { of: from.of, numbers: [...numbers], parts: [...parts] }
  }

  /** A whole number from 0 to `below` - 1. */
  below(below: number): number {
    const { from, numbers } = this.#place
    const number = (this.#next === null ? from.numbers[numbers.length] ?? 0 : this.#next()) % below
    numbers.push(number)
    return number
  }

  /** True once in `oneIn`; false is the simpler. */
  chance(oneIn: number): boolean {
    return this.below(oneIn) === oneIn - 1
  }

  /** One of the choices; the first is the simplest. */
  pick<A>(choices: readonly A[]): A {
    return choices[this.below(choices.length)]!
  }

  /** What one of the functions makes; the first is the simplest. */
  one<A>(...choices: ReadonlyArray<() => A>): A {
    return this.pick(choices)()
  }

  /** The choices that are true, each of them once in `oneIn`. */
  some<A>(choices: readonly A[], oneIn = 2): A[] {
    return choices.filter(() => this.chance(oneIn))
  }

  /**
   * A part of a value. Shrinking may put a part of the same name that is inside it in its place: a tree becomes one of its branches. So a part
   * asks the same wherever it stands: at the deepest level for `below(1)` where others ask for `below(3)`.
   */
  part<A>(of: string, make: () => A): A {
    const outer = this.#place
    const from = outer.from.parts[outer.parts.length]
    return this.#within(from === undefined || from.of !== of ? noChoices(of) : from, make)
  }

  /** A list of `least` to `most` items, each a part. Shrinking takes items away, down to `fewest`. */
  many<A>(least: number, most: number, make: (index: number) => A, fewest = least): A[] {
    return this.part("many", () => {
      const written = this.#place.from.parts.length
      const count = this.#next === null
        ? Math.min(most, Math.max(fewest, written))
        : least + this.#next() % (most - least + 1)
      return Array.from({ length: count }, (_, index) => this.part("item", () => make(index)))
    })
  }

  /** The items in another order; as they are is the simplest. */
  shuffled<A>(items: readonly A[]): A[] {
    const rest = [...items]
    return Array.from(items, () => rest.splice(this.below(rest.length), 1)[0]!)
  }

  #within<A>(from: Choices, make: () => A): A {
    const outer = this.#place
    const place = placeOf(from)
    this.#place = place
    try {
      return make()
    } finally {
      this.#place = outer
      outer.parts.push({ of: from.of, numbers: place.numbers, parts: place.parts })
    }
  }
}
