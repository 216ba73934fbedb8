/**
 * What programs of earlier versions call of the queue's functions: names, parameters and answers. While versions are deployed one after the other, a program
 * works on the tables of the next level, so these stay for one level more. `UPDATE_GOLDEN=1` adds the functions of this level; take away what no version in
 * use calls any more.
 */

import { readFileSync, writeFileSync } from "node:fs"
import { expect, it } from "vitest"
import { queueStatements } from "../../adapters/queue/schema.ts"

const golden = new URL("queue-functions.json", import.meta.url)

/** The functions that the statements make, each as far as its answer, on one line. */
const signatures = [...queueStatements().matchAll(/create or replace function jobs\.[^$]*?\s(?=language\b)/g)]
  .map(([text]) => text.replaceAll(/--[^\n]*/g, "").replaceAll(/\s+/g, " ").trim())
  .filter((text) => !text.endsWith("returns trigger"))

it("has every function that a program of the version before calls", () => {
  const kept = JSON.parse(readFileSync(golden, "utf8")) as readonly string[]
  if (process.env["UPDATE_GOLDEN"] !== undefined) {
    writeFileSync(golden, `${JSON.stringify([...new Set([...kept, ...signatures])].toSorted(), null, 2)}\n`)
  }
  expect(signatures.length).toBeGreaterThan(10)
  expect(kept.filter((each) => !signatures.includes(each))).toEqual([])
})
