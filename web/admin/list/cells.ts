/** Which value stands in a cell of a list, which cell opens the record, and how high rows are: the same for the grid and for the rows before it. Pure. */

import type { Shown } from "../field/cell.ts"
import { currencyOf } from "../field/kind.ts"
import type { Column } from "../grid/columns.ts"
import { addressOf, keyOf, type Resource } from "../model/catalogue.ts"
import { columnAt, recordAt } from "../model/paths.ts"
import { isVisible, plain } from "../model/plain.ts"
import { titleColumn } from "./state.ts"

export interface ListCell {
  /** Null where a path leads to no record. */
  readonly shown: Shown | null
  /**
   * The address of the row's record, where the cell opens it. `linked`: the value is the link. A link that nobody sees leads nowhere: then the mark opens the
   * record, and Enter does.
   */
  readonly opens: { readonly to: string; readonly linked: boolean } | null
}

type Values = { readonly [field: string]: unknown }

/** Gives the cells of the records of a list with these columns. */
export const cellsOf = (resource: Resource, columns: readonly Column[]) => {
  const title = titleColumn(resource, columns)
  const marked = title ?? columns[0]?.id
  return (record: Values, column: Column): ListCell => {
    const { field, resource: owner, ways } = columnAt(resource, column.id)!
    const names = ways.map(({ name }) => name)
    const of = recordAt(record, names)
    const currency = currencyOf(owner, field)
    const coded = currency === null || !columns.some(({ id }) => id === [...names, currency.name].join("."))
    const key = column.id === marked ? keyOf(resource, record) : null
    return {
      shown: of === null ? null : {
        resource: owner,
        field,
        value: of[field.name],
        record: of,
        coded,
        linked: key === null || column.id !== title
      },
      opens: key === null
        ? null
        : { to: addressOf(resource, key), linked: column.id === title && isVisible(plain(of?.[field.name])) }
    }
  }
}

const rowHeights: Readonly<Record<string, number>> = { normal: 34, comfortable: 40, compact: 28 }

/** The height of rows in pixels, as the document says how dense it is. */
export const rowHeightNow = (): number => rowHeights[document.documentElement.dataset["density"] ?? "normal"] ?? 34
