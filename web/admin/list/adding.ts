/** Sums of a list's numbers: which are asked for together, and their words. Pure. */

import { currencyOf } from "../field/kind.ts"
import type { Formats } from "../messages/formats.ts"
import type { Resource } from "../model/catalogue.ts"

/** A sum of a field: its exact text, and its currency if it has one. */
export interface Sum {
  readonly field: string
  readonly value: string
  readonly currency: string | null
}

/** The fields by the field of their currency. Those of several currencies are one request each. */
export const byCurrency = (
  resource: Resource,
  fields: readonly string[]
): ReadonlyMap<string | null, readonly string[]> => {
  const found = new Map<string | null, readonly string[]>()
  for (const name of fields) {
    const field = resource.fields.get(name)
    const currency = field === undefined ? null : currencyOf(resource, field)?.name ?? null
    found.set(currency, [...found.get(currency) ?? [], name])
  }
  return found
}

/** The sums as one text: "Total 1,200.00 EUR, 80.00 NOK; Stock 17". */
export const sumsText = (
  sums: readonly Sum[],
  labelOf: (field: string) => string,
  format: Pick<Formats, "number">
): string =>
  [...Map.groupBy(sums, ({ field }) => field)].map(([field, each]) =>
    `${labelOf(field)} ${
      each.map(({ currency, value }) => format.number(value) + (currency === null ? "" : ` ${currency}`)).join(", ")
    }`
  ).join("; ")
