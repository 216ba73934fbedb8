import * as Result from "effect/Result"
import { describe, expect, it } from "vitest"
import {
  filterField,
  filterScope,
  Random,
  randomLeaf,
  randomRecord,
  randomSoup,
  randomTree,
  withoutSpans
} from "../../../test/support/filter.ts"
import type { Field } from "../model/model.ts"
import type { Cell } from "../value/kind.ts"
import { evaluate } from "./evaluate.ts"
import { printFilter } from "./print.ts"
import { type FilterError, readFilter, readOrder } from "./read.ts"
import type { Bindings } from "./tree.ts"
import { allOf, always, anyOf, type FilterTree, never, not } from "./tree.ts"

const bindings: Bindings = { caller: { id: "u1", tenant: null }, now: 1_767_312_000_000_000n, params: [] }
const scope = filterScope

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

  it("reads back as the same tree (10,000 random trees)", () => {
    for (let seed = 0; seed < 10_000; seed++) {
      const tree = randomTree(new Random(seed))
      const text = printFilter(tree)
      expect(read(text), `seed ${seed}: ${text}`).toEqual(tree)
    }
  })
})

describe("evaluate over random trees", () => {
  it("is two-valued: a tree and its negation never agree", () => {
    for (let seed = 0; seed < 5_000; seed++) {
      const random = new Random(seed)
      const tree = randomTree(random)
      const record = randomRecord(random)
      const cellOf = (field: Field): Cell => record.get(field) ?? null
      const held = evaluate(tree, cellOf, bindings)
      expect(evaluate(not(tree), cellOf, bindings), `seed ${seed}`).toBe(!held)
      expect(evaluate(read(printFilter(tree)), cellOf, bindings), `seed ${seed}`).toBe(held)
    }
  })
})

describe("precedence", () => {
  it("is NOT, then OR, then AND, for any conditions in any text", () => {
    for (let seed = 0; seed < 3_000; seed++) {
      const random = new Random(seed)
      // Groups of alternatives joined by AND or by white space, without parentheses.
      const groups = random.many(1, 4, () =>
        random.many(1, 3, () => ({
          tree: randomLeaf(random),
          mark: random.pick(["", "NOT ", "-", "- "])
        })))
      const text = groups
        .map((group) => group.map(({ mark, tree }) => mark + printFilter(tree)).join(random.pick([" OR ", "\nOR\t"])))
        // After now() a dash begins an offset.
        .reduce((all, next) => {
          const between = random.pick([" AND ", " ", "  "])
          return all + (/now\(\)[^()"']*$/.test(all) && next.startsWith("-") ? " AND " : between) + next
        })
      const expected = allOf(
        groups.map((group) => anyOf(group.map(({ mark, tree }) => mark === "" ? tree : not(tree))))
      )
      expect(read(text), `seed ${seed}: ${text}`).toEqual(expected)
    }
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
  it("is answered with a tree or with errors whose spans lie in the text, and never throws", () => {
    let accepted = 0
    for (let seed = 0; seed < 20_000; seed++) {
      const text = randomSoup(new Random(seed))
      const tree = readFilter(text, scope)
      const order = readOrder(text, scope)
      if (Result.isFailure(order)) expectErrors(text, order.failure)
      if (Result.isFailure(tree)) expectErrors(text, tree.failure)
      else {
        accepted++
        expect(read(printFilter(tree.success)), `seed ${seed}: ${text}`).toEqual(withoutSpans(tree.success))
      }
    }
    expect(accepted).toBeGreaterThan(500)
  })

  it("reads the empty filter as always", () => {
    for (const text of ["", " ", "\n\t "]) expect(read(text)).toBe(always)
  })
})
