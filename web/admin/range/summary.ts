/**
 * Count, sum and average of the cells of a range. Arithmetic is exact. Amounts of several currencies are never added up: each has a sum of its own. Pure.
 */

import { averageOf, sumOf } from "../field/decimal.ts"
import { currencyOf, isMeasure } from "../field/kind.ts"
import type { Resource } from "../model/catalogue.ts"
import { columnAt, recordAt } from "../model/paths.ts"

/** Sum and average of the amounts of one currency, or of the numbers that have none. */
export interface Added {
  readonly currency: string | null
  readonly sum: string
  readonly average: string
}

export interface Summary {
  /** Cells with a value. */
  readonly filled: number
  /** Those of the most cells first. */
  readonly added: readonly Added[]
}

type Values = { readonly [field: string]: unknown }

const isFilled = (value: unknown): boolean => value !== null && value !== undefined && value !== ""

/** `columns`: fields and paths. */
export const summaryOf = (resource: Resource, columns: readonly string[], records: readonly Values[]): Summary => {
  const groups = new Map<string | null, unknown[]>()
  let filled = 0
  for (const text of columns) {
    const path = columnAt(resource, text)
    if (path === undefined) continue
    const { field, resource: owner, ways } = path
    const names = ways.map(({ name }) => name)
    const currency = currencyOf(owner, field)
    const adds = isMeasure(owner, field)
    for (const record of records) {
      const of = recordAt(record, names)
      const value = of?.[field.name]
      if (!isFilled(value)) continue
      filled += 1
      if (!adds) continue
      const code = currency === null ? null : of?.[currency.name]
      const group = typeof code === "string" ? code : null
      const values = groups.get(group)
      if (values === undefined) groups.set(group, [value])
      else values.push(value)
    }
  }
  const added = [...groups].toSorted(([, a], [, b]) => b.length - a.length).flatMap(([currency, values]) => {
    const sum = sumOf(values)
    return sum === null ? [] : [{ currency, sum, average: averageOf(sum, values.length) }]
  })
  return { filled, added }
}
