/**
 * Properties: tests over generated values. `property` is `it.live.prop` of @effect/vitest with generators of this folder. How many cases it runs
 * and from which seed depends on the depth of the run. What fails is made simpler, and is shown as source text to paste into a test.
 */

import { it, type Vitest } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as SchemaGetter from "effect/SchemaGetter"
import type * as Scope from "effect/Scope"
import { cases, seed } from "../support/depth.ts"
import type { Generator } from "./random.ts"
import { Drawn } from "./shrink.ts"
import { declarations } from "./source.ts"

type Generators = { readonly [name: string]: Generator<unknown> }
type Values<G extends Generators> = { readonly [name in keyof G]: G[name] extends Generator<infer A> ? A : never }

export interface PropertyOptions<Values> {
  /** How many cases a deep run has; a quick run has a tenth of them. */
  readonly cases: number
  /** The failing values as source text. Default: a `const` for each. */
  readonly show?: (values: Values) => string
  /** Looks at what was met once all cases held, in a test of its own: that the generators reach what the property is for. */
  readonly reaches?: (runs: number) => void
}

/** Milliseconds for making a failing value simpler. It must end before the test does, or else nobody sees what failed. */
const shrinking = 30_000

/** The one case that a failure named; set it together with the name of the test. */
const replay = process.env["TEST_REPLAY"]

const word = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 2 ** 32 - 1 }))

const seedOf = (words: readonly number[]): number =>
  words.reduce((hash, word) => Math.imul(hash ^ word, 0x9e3779b1) ^ (hash >>> 15), 0x85ebca6b) >>> 0

/** How a failure is written: the values as source, and how to meet them again. */
class Shown<A> {
  readonly drawn: Drawn<A>
  readonly #show: (value: A) => string

  constructor(drawn: Drawn<A>, show: (value: A) => string) {
    this.drawn = drawn
    this.#show = show
  }

  toString(): string {
    return `\n\n${this.#show(this.drawn.value)}\n\n` +
      `TEST_SEED=${seed} repeats all cases, TEST_REPLAY='…' with the text after "Replay" only this one.`
  }
}

/** An `Arbitrary` of what a generator makes. Its values know how they were made, so that any of them can be made simpler. */
export const arbitraryOf = <A>(make: Generator<A>, show: (value: A) => string): Arbitrary.Arbitrary<Shown<A>> => {
  const drawn = Schema.declare((value): value is Drawn<A> => value instanceof Drawn && value.isNew, {
    // Four numbers, because those near the ends of a range come often, and each seed is wanted once.
    toCodecArbitrary: () =>
      Schema.link<Drawn<A>>()(Schema.Tuple([word, word, word, word]), {
        decode: SchemaGetter.transform((words) => Drawn.of(make, seedOf(words), shrinking)),
        encode: SchemaGetter.forbidden(() => "nobody asks what a value was drawn from")
      })
  })
  return Arbitrary.map(
    Arbitrary.schema(drawn, { shrink: (value) => value.simpler() }),
    (value) => new Shown(value, show)
  )
}

/** All values of a property by one source, so that they are made simpler together. */
const together = <G extends Generators>(generators: G): Generator<Values<G>> => (random) =>
  Object.fromEntries(
    Object.entries(generators).map(([name, make]) => [name, random.part(name, () => make(random))])
  ) as Values<G>

/** What a test of a property may do: judge at once, or later. It must not change the values. */
type Test<V, R> = (values: V) => void | Promise<void> | Effect.Effect<unknown, unknown, R>

const asEffect = <R>(run: () => ReturnType<Test<unknown, R>>): Effect.Effect<void, unknown, R> =>
  Effect.suspend((): Effect.Effect<void, unknown, R> => {
    const answer = run()
    if (answer === undefined) return Effect.void
    return Effect.isEffect(answer) ? Effect.asVoid(answer) : Effect.promise(() => answer)
  })

/** What `property` gives to `it.live.prop`. */
export const checkOptions = (all: number): Arbitrary.CheckOptions => ({
  runs: cases(all),
  seed,
  // Time bounds it, not a count.
  maxShrinks: Number.MAX_SAFE_INTEGER,
  ...(replay === undefined ? {} : { replay })
})

/** `property` on the tests of a layer: `propertyOf(it.effect)`. */
export const propertyOf = <R>(tester: Vitest.Tester<R>) =>
<G extends Generators>(
  name: string,
  generators: G,
  { cases: all, reaches, show = declarations }: PropertyOptions<Values<G>>,
  test: Test<Values<G>, R>
): void => {
  let held = 0
  tester.prop(
    name,
    { values: arbitraryOf(together(generators), show) },
    ({ values }) => Effect.tap(asEffect(() => test(values.drawn.value)), () => Effect.sync(() => held++)),
    { arbitrary: checkOptions(all) }
  )
  if (reaches === undefined) return
  it(`${name}: the cases reach what they are for`, ({ skip }) => {
    if (held < cases(all)) skip("the property did not hold, or was not asked")
    reaches(cases(all))
  })
}

/** A test that holds for all values of the generators, which it is given by name. */
export const property = propertyOf<Scope.Scope>(it.live)
