// What is asked of the database for a record in hand is what the rule says of it: the tree with the answers in it holds exactly where the tree does.
import * as Effect from "effect/Effect"
import { expect, it } from "vitest"
import { pageOf, relatedIn } from "../../../test/fakes/reader.ts"
import { bindings } from "../../../test/generators/filter.ts"
import { property } from "../../../test/generators/property.ts"
import type { Random } from "../../../test/generators/random.ts"
import { relatedTree, world } from "../../../test/generators/related.ts"
import { makeModel } from "../../../test/support/model.ts"
import { evaluate, evaluateKnown } from "../../domain/filter/evaluate.ts"
import { printFilter } from "../../domain/filter/print.ts"
import { always, type FilterTree, goesThrough } from "../../domain/filter/tree.ts"
import type { Field, Model } from "../../domain/model/model.ts"
import type { Row } from "../../domain/value/kind.ts"
import type { RecordsTransaction } from "../../ports/records.ts"
import { answered } from "./related.ts"

const scene = (random: Random) => {
  const params: string[] = []
  const options = { params, similar: false }
  const made = world(random, 8, options)
  const place = random.pick(made.places)
  const trees = random.many(10, 10, () => relatedTree(random, made, place, options), 1)
  return { made, at: made.places.indexOf(place), trees, given: bindings(random, params) }
}

let held = 0
let asked = 0

property(
  "a rule is answered for a record in hand as for one that is stored",
  { scene },
  {
    cases: 100,
    show: ({ scene: { trees } }) => trees.map(printFilter).join("\n"),
    reaches: (runs) => {
      expect(asked).toBeGreaterThan(runs * 20)
      expect(held).toBeGreaterThan(asked / 10)
      expect(held).toBeLessThan(asked * 0.9)
    }
  },
  ({ scene: { at, given, made: { places }, trees } }) => {
    const rowsOf = (model: Model): readonly Row[] => places.find((place) => place.model === model)?.rows ?? []
    const related = relatedIn(rowsOf)
    const tx = {
      page: (plan: Parameters<RecordsTransaction["page"]>[0]) =>
        Effect.succeed(pageOf(plan, rowsOf(plan.shape.model), related))
    } as unknown as RecordsTransaction
    for (const tree of trees.filter(goesThrough)) {
      for (const row of places[at]!.rows) {
        const cellOf = (field: Field) => row[field.index] ?? null
        const known = Effect.runSync(answered(tx, tree, cellOf, given))
        const expected = evaluate(tree, cellOf, given, related)
        expect(evaluateKnown(known, cellOf, given)).toBe(expected)
        asked++
        if (expected) held++
      }
    }
  }
)

it("what depends on a cell that only the database knows stays unknown", () => {
  const id = { name: "id", kind: "integer" } as const
  const model = makeModel({
    name: "a",
    fields: [id],
    relations: [{ name: "b", target: "a", many: true, from: "id", to: "id" }]
  })
  const relation = model.relations.get("b")!
  const tree: FilterTree = { op: "some", way: { relation, model, to: relation.from, rows: always }, item: always }
  const none = { page: () => Effect.die("The database was asked.") } as unknown as RecordsTransaction
  const given = { caller: { id: "", tenant: null }, now: 0n, params: [] }
  const tell = (cell: string | null | undefined) => {
    const known = Effect.runSync(answered(none, tree, () => cell, given))
    return evaluateKnown(known, () => cell, given)
  }
  expect(tell(undefined)).toBe(null)
  expect(tell(null)).toBe(false)
})
