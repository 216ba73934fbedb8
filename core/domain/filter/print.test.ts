import * as Result from "effect/Result"
import { describe, expect, it } from "vitest"
import { leaf, soup, tree as treeOf } from "../../../test/generators/filter.ts"
import { property } from "../../../test/generators/property.ts"
import type { Random } from "../../../test/generators/random.ts"
import { record as recordOf } from "../../../test/generators/value.ts"
import { filterField, filterFields, filterScope, withoutSpans } from "../../../test/support/filter.ts"
import type { Field } from "../model/model.ts"
import type { Cell } from "../value/kind.ts"
import { evaluate } from "./evaluate.ts"
import { printFilter } from "./print.ts"
import { type FilterError, readFilter, readOrder } from "./read.ts"
import type { Bindings } from "./tree.ts"
import { allOf, always, anyOf, type FilterTree, never, not } from "./tree.ts"

const bindings: Bindings = { caller: { id: "u1", tenant: null }, now: 1_767_312_000_000_000n, params: [] }
const scope = filterScope

const options = { fields: filterFields }
const tree = (random: Random): FilterTree => treeOf(random, options)
const record = (random: Random): ReadonlyMap<Field, Cell> => recordOf(random, filterFields)

const read = (text: string): FilterTree =>
  withoutSpans(
    Result.getOrThrowWith(readFilter(text, scope), (errors) => new Error(`${text}: ${JSON.stringify(errors)}`))
  )

describe("printFilter", () => {
  it.each([
    ["", ""],
    ["status = paid", "status = \"paid\""],
    ["NOT status = paid", "status != \"paid\""],
    ["NOT isNull(note)", "note:*"],
    ["note = null", "isNull(note)"],
    ["a b OR c", "search(\"a\") AND search(\"b\") OR search(\"c\")"],
    ["(count = 1 AND total > 2) OR active = true", "(count = 1 AND total > 2.00) OR active = true"],
    ["NOT (count = 1 OR count = 2)", "NOT (count = 1 OR count = 2)"],
    ["created_at > now() - 2w", "created_at > now() - 14d"],
    ["created_at > now() + 90m", "created_at > now() + 90m"],
    ["name = 'a\\*b*'", "name = \"a\\*b*\""],
    ["regex(name, '\\d+\\.\"')", "regex(name, \"\\d+\\.\\\"\")"],
    ["amount = 1", "count = 1"]
  ])("%s", (text, printed) => {
    expect(printFilter(read(text))).toBe(printed)
  })

  it("gives what no text stands for a form that is refused, not another meaning", () => {
    const param: FilterTree = { op: "compare", field: filterField("count"), is: "=", value: { of: "param", index: 0 } }
    for (const tree of [never, param]) expect(Result.isFailure(readFilter(printFilter(tree), scope))).toBe(true)
  })

  property("reads back as the same tree", { tree }, { cases: 10_000 }, ({ tree }) => {
    const text = printFilter(tree)
    expect(read(text), text).toEqual(tree)
  })
})

describe("evaluate over random trees", () => {
  property("is two-valued: a tree and its negation never agree", { tree, record }, { cases: 5_000 }, (
    { record, tree }
  ) => {
    const cellOf = (field: Field): Cell => record.get(field) ?? null
    const held = evaluate(tree, cellOf, bindings)
    expect(evaluate(not(tree), cellOf, bindings)).toBe(!held)
    expect(evaluate(read(printFilter(tree)), cellOf, bindings)).toBe(held)
  })
})

/** Groups of alternatives joined by AND or by white space, without parentheses. */
const groups = (random: Random) =>
  random.many(1, 4, () => ({
    before: random.pick([" AND ", " ", "  "]),
    or: random.pick([" OR ", "\nOR\t"]),
    items: random.many(1, 3, () => ({
      tree: leaf(random, options),
      mark: random.pick(["", "NOT ", "-", "- "])
    }))
  }))

describe("precedence", () => {
  property("is NOT, then OR, then AND, for any conditions in any text", { groups }, { cases: 3_000 }, ({ groups }) => {
    const text = groups.reduce((all, { before, items, or }) => {
      const next = items.map(({ mark, tree }) => mark + printFilter(tree)).join(or)
      // After now() a dash begins an offset.
      const between = /now\(\)[^()"']*$/.test(all) && next.startsWith("-") ? " AND " : before
      return all === "" ? next : all + between + next
    }, "")
    const expected = allOf(
      groups.map(({ items }) => anyOf(items.map(({ mark, tree }) => mark === "" ? tree : not(tree))))
    )
    expect(read(text), text).toEqual(expected)
  })
})

const expectErrors = (text: string, errors: readonly FilterError[]): void => {
  const fine = errors.length > 0 && errors.length <= 20 &&
    errors.every(({ hint, message, span }) =>
      span.start >= 0 && span.start <= span.end && span.end <= text.length &&
      message.isWellFormed() && message.endsWith(".") && hint !== ""
    )
  if (!fine) expect.fail(`${JSON.stringify(text)}: ${JSON.stringify(errors)}`)
}

describe("any text at all", () => {
  let accepted = 0
  property(
    "is answered with a tree or with errors whose spans lie in the text, and never throws",
    { text: soup },
    { cases: 20_000, reaches: (runs) => expect(accepted).toBeGreaterThan(runs / 40) },
    ({ text }) => {
      const tree = readFilter(text, scope)
      const order = readOrder(text, scope)
      if (Result.isFailure(order)) expectErrors(text, order.failure)
      if (Result.isFailure(tree)) expectErrors(text, tree.failure)
      else {
        accepted++
        expect(read(printFilter(tree.success)), text).toEqual(withoutSpans(tree.success))
      }
    }
  )

  it("reads the empty filter as always", () => {
    for (const text of ["", " ", "\n\t "]) expect(read(text)).toBe(always)
  })
})
