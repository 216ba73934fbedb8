/** What can be done with the values of a kind: compare them, sort them, name records by them. */

import type { Kind } from "./kind.ts"

const unsorted: ReadonlySet<string> = new Set<Kind | "array" | "searchVector">([
  "json",
  "bytes",
  "native",
  "list",
  "array",
  "searchVector"
])
const uncompared: ReadonlySet<string> = new Set<Kind>(["json", "native"])
const keyless: ReadonlySet<string> = new Set<Kind>([
  "json",
  "float",
  "bytes",
  "interval",
  "money",
  "native",
  "range",
  "list"
])

const findless: ReadonlySet<string> = new Set<Kind>(["json", "bytes", "interval", "native", "range", "list"])

/** Whether records are found by the text of a value: values are compared, and equal ones have one text. */
export const canFind = (kind: string): boolean => !findless.has(kind)

/** Whether values of the kind have an order. */
export const hasOrder = (kind: string): boolean => !unsorted.has(kind)

/** Whether values of the kind are compared at all. */
export const hasEquality = (kind: string): boolean => !uncompared.has(kind)

/** Whether the text of a value names a record: equal values have one text, and it is short. */
export const canBeKey = (kind: string): boolean => !keyless.has(kind)
