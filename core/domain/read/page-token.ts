/**
 * Page tokens: a position in an order, sealed, so that nobody can read it or use it elsewhere. A token is bound to resource, filter, order,
 * `show_deleted`, tenant and user.
 */

import type { Caller } from "../access/caller.ts"
import type { OrderKey } from "../filter/tree.ts"
import type { ArgumentCells } from "../model/database-function.ts"
import { ownJson } from "../own-json.ts"
import type { Cell } from "../value/kind.ts"
import { argumentsName } from "./arguments.ts"

/** What a token remembers. `cells` pair with the order's keys. */
export interface PagePosition {
  /** Rows after this position, or before it. */
  readonly direction: "after" | "before"
  /** Whether answers carry a `prev_page_token` (they do once a walk began with `:seek`). */
  readonly bothWays: boolean
  /** Empty where no row is left to stand at: after the beginning, before the end. */
  readonly cells: readonly Cell[]
  /**
   * The estimate of the first page. Later pages repeat it instead of counting again, but only for callers with the same roles: one user may
   * come with other roles another time.
   */
  readonly estimate: { readonly size: number; readonly roles: string } | null
}

/**
 * The context that a token is sealed to. `order` is what the order's text means now, so a token from before a change of the declaration no
 * longer opens.
 */
export const pageContext = (
  caller: Caller,
  resource: string,
  request: { readonly filter: string; readonly orderBy: string; readonly showDeleted: boolean },
  order: readonly OrderKey[],
  args?: ArgumentCells
): string =>
  JSON.stringify([
    "page",
    resource,
    request.filter,
    request.orderBy,
    request.showDeleted,
    caller.tenant,
    caller.id,
    order.map(({ field, ways = [] }) => [
      field.kind,
      field.column,
      ...field.member?.path ?? [],
      ...ways.flatMap(({ relation }) => [relation.name, relation.target])
    ]),
    ...argumentsName(args)
  ])

export const writePosition = (position: PagePosition): string =>
  JSON.stringify([
    (position.direction === "after" ? 1 : 0) + (position.bothWays ? 2 : 0),
    position.estimate,
    ...position.cells
  ])

/** Numbers of tokens that this version writes. A later one that writes something else begins with a higher number. */
const highestWays = 3

/** Reads a token's text back; null when it does not fit an order of `keys` keys, `newer` when a later version has written it. */
export const readPosition = (text: string, keys: number): PagePosition | "newer" | null => {
  const [ways, estimate, ...cells] = ownJson<readonly [number, PagePosition["estimate"], ...Cell[]]>(text)
  if (ways > highestWays) return "newer"
  if (cells.length !== keys && cells.length > 0) return null
  return {
    direction: (ways & 1) === 1 ? "after" : "before",
    bothWays: (ways & 2) === 2,
    cells,
    estimate
  }
}
