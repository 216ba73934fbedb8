/** The currency in which amounts are measured. Amounts of several currencies are never added up: those of the most frequent one are. */

import { currencyOf } from "../field/kind.ts"
import type { Resource } from "../model/catalogue.ts"
import { resourceClient } from "../model/client.ts"
import { plain } from "../model/plain.ts"

/** What is measured, and in which unit. */
export interface Measured {
  /** The filter that lets one currency pass. */
  readonly filter: string
  /** The currency, or null where the field has none, or none that a filter can choose. */
  readonly unit: string | null
  /** Whether there are amounts in other currencies, which are left out. */
  readonly only: boolean
}

/** Stands for the currency where no record has one: no amount is in it (ISO 4217). */
const none = "XXX"

/** `name`: the measured field; null for a count. */
export const measuredIn = async (
  resource: Resource,
  name: string | null,
  asked: { readonly filter: string; readonly show_deleted?: boolean },
  signal: AbortSignal
): Promise<Measured> => {
  const field = name === null ? undefined : resource.fields.get(name)
  const currency = field === undefined ? null : currencyOf(resource, field)
  const { filter } = asked
  if (currency?.filterable !== true) return { filter, unit: null, only: false }
  const { facets } = await resourceClient(resource.name).facets({ ...asked, field: currency.name, limit: 3 }, {
    signal
  })
  const unit = facets.flatMap(({ value }) => value === null ? [] : [plain(value)])[0] ?? null
  const one = `${currency.name} = "${unit ?? none}"`
  return { filter: filter === "" ? one : `(${filter}) AND ${one}`, unit, only: facets.length > 1 }
}
