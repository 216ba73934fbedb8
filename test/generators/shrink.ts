/**
 * Makes the choices of a failing value simpler: parts are emptied, lists lose runs of items, a part gives way to one inside it, numbers go towards 0.
 * What a candidate makes is looked at only when its turn comes. A candidate that is not simpler than what it came from, or that was tried
 * before, is none.
 */

import { type Choices, type Generator, noChoices, Random } from "./random.ts"

type Put = (choices: Choices) => Choices
type Edit = () => Choices
type Steps<A> = globalThis.Generator<A, void, undefined>

const replaced = <A>(items: readonly A[], at: number, item: A): readonly A[] =>
  items.map((each, i) => i === at ? item : each)

/** Numbers between 0 and `number` that are worth a try, the simplest first. */
const lower = (number: number): readonly number[] => {
  const found = new Set<number>()
  for (let less = number; less > 0; less = Math.floor(less / 2)) found.add(number - less)
  return [...found]
}

function* inside(choices: Choices, of: string): Steps<Choices> {
  for (const part of choices.parts) {
    if (part.of === of) yield part
    yield* inside(part, of)
  }
}

/** Edits that take something away, the largest first. */
function* structural(choices: Choices, put: Put): Steps<Edit> {
  const { numbers, of, parts } = choices
  if (numbers.some((number) => number > 0) || parts.length > 0) yield () => put(noChoices(of))
  if (of === "many") {
    for (let size = Math.floor(parts.length / 2); size > 0; size = Math.floor(size / 2)) {
      // From the end: what comes later rarely matters to what comes first.
      for (let end = parts.length; end > 0; end -= size) {
        yield () => put({ of, numbers, parts: parts.filter((_, i) => i < end - size || i >= end) })
      }
    }
  } else if (of !== "item" && of !== "value") {
    for (const part of inside(choices, of)) yield () => put(part)
  }
  for (const [at, part] of parts.entries()) {
    yield* structural(part, (changed) => put({ of, numbers, parts: replaced(parts, at, changed) }))
  }
}

function* numeric({ numbers, of, parts }: Choices, put: Put): Steps<Edit> {
  for (const [at, number] of numbers.entries()) {
    for (const less of lower(number)) yield () => put({ of, numbers: replaced(numbers, at, less), parts })
  }
  for (const [at, part] of parts.entries()) {
    yield* numeric(part, (changed) => put({ of, numbers, parts: replaced(parts, at, changed) }))
  }
}

/** What makes a value large: items of lists, and the lengths of its numbers; then the numbers themselves. */
const weightOf = ({ numbers, of, parts }: Choices): readonly [number, number] => {
  let weight = of === "item" ? 1 : 0
  let sum = 0
  for (const number of numbers) {
    weight += 32 - Math.clz32(number)
    sum += number
  }
  for (const part of parts) {
    const [more, further] = weightOf(part)
    weight += more
    sum += further
  }
  return [weight, sum]
}

const isLess = (one: readonly [number, number], other: readonly [number, number]): boolean =>
  one[0] < other[0] || (one[0] === other[0] && one[1] < other[1])

/** What all that came of one failing value share. */
interface Line {
  readonly tried: Set<string>
  readonly milliseconds: number
  until: number | null
}

/** A value, what it was made of, and how large that is. */
interface Made<A> {
  readonly value: A
  readonly choices: Choices
  readonly weight: readonly [number, number]
}

/** A generated value, with what it was made of. */
export class Drawn<out A> {
  readonly #make: Generator<A>
  readonly #from: () => number | Choices
  readonly #line: Line
  /** What this one was made simpler from, and which of its edits this is. */
  readonly #before: Drawn<A> | null
  readonly #edit: number
  #made: Made<A> | null = null
  #new: boolean | null = null

  constructor(make: Generator<A>, from: () => number | Choices, line: Line, before: Drawn<A> | null = null, edit = 0) {
    this.#make = make
    this.#from = from
    this.#line = line
    this.#before = before
    this.#edit = edit
  }

  /** A value of a generator from a seed. Shrinking it ends after some milliseconds, so that a slow test still says what it found. */
  static of<A>(make: Generator<A>, seed: number, milliseconds: number): Drawn<A> {
    return new Drawn(make, () => seed, { tried: new Set(), milliseconds, until: null })
  }

  #drawn(): Made<A> {
    if (this.#made === null) {
      const random = new Random(this.#from())
      const value = this.#make(random)
      this.#made = { value, choices: random.choices, weight: weightOf(random.choices) }
    }
    return this.#made
  }

  get value(): A {
    return this.#drawn().value
  }

  /** Whether this is simpler than what it came from, and new. Nothing is once the time is over. */
  get isNew(): boolean {
    this.#new ??= this.#judged()
    return this.#new
  }

  #judged(): boolean {
    if (this.#before === null) return true
    const { tried, until } = this.#line
    if (until !== null && Date.now() > until) return false
    const { choices, weight } = this.#drawn()
    if (!isLess(weight, this.#before.#drawn().weight)) return false
    const key = JSON.stringify(choices)
    if (tried.has(key)) return false
    tried.add(key)
    return true
  }

  /** Candidates that may be simpler. They go on where the last one succeeded: what failed before it will mostly fail again. */
  simpler(): readonly Drawn<A>[] {
    const line = this.#line
    line.until ??= Date.now() + line.milliseconds
    const { choices } = this.#drawn()
    const edits = [...structural(choices, (changed) => changed), ...numeric(choices, (changed) => changed)]
    const turn = edits.length === 0 ? 0 : this.#edit % edits.length
    return [...edits.keys()].map((at) => {
      const edit = (turn + at) % edits.length
      return new Drawn(this.#make, edits[edit]!, line, this, edit)
    })
  }
}
