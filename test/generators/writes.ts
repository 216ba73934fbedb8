/**
 * Writes to the resources of test/support/ledger.ts: single ones, most of them wrong in some way, and sequences by several callers. They name
 * records and versions by what these are (the third record, its current version), so that they mean the same on every service.
 */

import {
  type Body,
  type Entry,
  type Match,
  type Name,
  type Operation,
  run,
  type State
} from "../http/writes/reference.ts"
import type { Random } from "./random.ts"

type Values = ReadonlyArray<readonly [field: string, values: readonly unknown[], oneIn: number]>

/** A body: each field once in so many, with one of its values. */
const bodyOf = (random: Random, values: Values): { readonly [field: string]: unknown } =>
  Object.fromEntries(
    values.flatMap(([field, choices, oneIn]) => random.chance(oneIn) ? [[field, random.pick(choices)]] : [])
  )

// ---------------------------------------------------------------------------------------------------------------- one write

/** A write of one record. `etag` is the header, where "current" stands for the ETag that the record has. */
export interface Single {
  readonly op: "create" | "update" | "delete"
  readonly resource: string
  readonly key?: string
  readonly etag?: string
  readonly data?: { readonly [field: string]: unknown }
}

const papers: Values = [["id", [9, 1, "x"], 5], ["level", [1, 3, 4, 6, 8, null], 5], ["state", ["final", "lost"], 5]]
const accounts: Values = [
  ["name", ["a", "b".repeat(21), null, 5, "account 1"], 5],
  ["owner_id", ["ann", "bob"], 5],
  ["balance", ["1.00", "-1", 0, "0.001"], 5],
  ["status", ["open", "closed", "frozen", "lost"], 5],
  ["rating", [1, null, "x"], 5],
  ["zq_note", ["zq-refused", "fine"], 5],
  ["etag", ["\"x\""], 5],
  ["id", ["8"], 5]
]

/** A write of any kind. Most fields of its body are right, so that many writes are. */
export const write = (random: Random): Single => {
  const resource = random.pick(["accounts", "accounts", "papers", "zqvault", "nothing"])
  const key = random.pick(["1", "1", "2", "3", "3", "6", "6", "4", "5", "99", "x"])
  const etag = random.pick(["current", "current", "current", "*", "\"old\"", undefined])
  const data = {
    ...bodyOf(random, resource === "papers" ? papers : accounts),
    ...random.chance(3) ? {} : resource === "papers" ? { level: 3 } : { name: "good" }
  }
  const op = random.pick(["create", "update", "update", "delete"] as const)
  return op === "create"
    ? { op, resource, data }
    : { op, resource, key, ...(etag === undefined ? {} : { etag }), ...(op === "update" ? { data } : {}) }
}

// ---------------------------------------------------------------------------------------------------------------- sequences

/** A step of a sequence: one write, or several in one batch. Targets count the records of the sequence. */
export interface Step {
  readonly name: Name
  readonly operations: readonly Operation[]
  readonly batch: boolean
}

const fields = (kind: Entry["kind"], creating: boolean): Values =>
  kind === "notes"
    ? [["body", ["x", "y", null], 4], ["zq_mark", ["zq-a", null], 8], ["owner_id", ["ann", "bob"], creating ? 2 : 4]]
    : [
      ["balance", [0, 1, 2.5, -1], 4],
      ["status", ["open", "open", "frozen", "closed"], 4],
      ["rating", [1, null], 4],
      ["owner_id", ["ann", "bob"], creating ? 2 : 4],
      ["zq_note", ["zq-a", "zq-b", "zq-refused", null], 8]
    ]

const operation = (random: Random, state: State): Operation => {
  if (random.below(4) === 0 || state.length === 0) {
    const kind = random.pick(["accounts", "accounts", "notes"] as const)
    return { op: "create", kind, body: bodyOf(random, fields(kind, true)) as Body }
  }
  const target = random.below(state.length)
  const match = random.pick<Match>(["current", "current", "current", "any", "stale", "none"])
  return random.chance(3)
    ? { op: random.pick(["undelete", "undelete", "delete"] as const), target, match }
    : { op: "update", target, match, body: bodyOf(random, fields(state[target]!.kind, false)) as Body }
}

/** A sequence of nine steps. The reference runs along, so that every target exists. */
export const steps = (random: Random): readonly Step[] => {
  let state: State = []
  const all = random.many(9, 9, (): Step => {
    const name = random.pick<Name>(["ann", "ann", "ann", "bob", "admin", "admin", "foreign", "viewer"])
    const batch = random.chance(4)
    let inside = state
    let refused = false
    const operations = random.many(1, batch ? 3 : 1, () => {
      const next = operation(random, inside)
      // What comes after a refused one is not run, and a batch undeletes nothing.
      if (refused || (batch && next.op === "undelete")) return []
      const outcome = run(inside, name, next)
      refused = outcome.status >= 400
      inside = outcome.state
      return [next]
    }).flat()
    if (!refused) state = inside
    return { name, operations, batch }
  }, 0)
  return all.filter(({ operations }) => operations.length > 0)
}
