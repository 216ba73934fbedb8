/** Sums of a field over records. Amounts of several currencies are never added up: each currency has a sum of its own. Pure. */

import type { MetaField } from "../../client/index.ts"
import type { Formats } from "../messages/formats.ts"
import type { Resource } from "../model/catalogue.ts"
import { sumOf } from "./decimal.ts"
import { currencyOf, isMeasure } from "./kind.ts"

/** Names of numbers that mean something together. Of prices, rates and positions a sum means nothing. */
const addable =
  /(?:^|_)(?:totals?|subtotal|amounts?|sum|net|gross|tax|vat|cost|quantity|qty|count|pieces|hours|minutes|days|weight|volume)(?:_|$)/

/** Whether a column of the field has a sum that means something, so that it is shown unasked. Lists add up every measure, because somebody asks them to. */
export const isAddable = (resource: Resource, field: MetaField): boolean =>
  isMeasure(resource, field) && addable.test(field.name)

type Values = { readonly [field: string]: unknown }

/** The sums as texts, one a currency, with those of the most records first. Empty where a value is no number, or there is none. */
export const sumsOf = (
  resource: Resource,
  field: MetaField,
  records: readonly Values[],
  format: Pick<Formats, "number">
): readonly string[] => {
  const currency = currencyOf(resource, field)
  const groups = Map.groupBy(records, (record) => currency === null ? null : record[currency.name] ?? null)
  return [...groups].toSorted(([, a], [, b]) => b.length - a.length).flatMap(([code, group]) => {
    const sum = sumOf(group.map((record) => record[field.name]))
    return sum === null ? [] : [`${format.number(sum)}${typeof code === "string" ? ` ${code}` : ""}`]
  })
}
