/** What a range changes, and the rows that it stands on. Types only. */

import type { AnyRecord } from "../model/client.ts"
import type { RangeLines } from "./lines.ts"
import type { Table } from "./table.ts"

/** The rows of the list. */
export interface RangeRows extends RangeLines {
  readonly rowAt: (index: number) => AnyRecord | undefined
  /** What the shown rows were read with. */
  readonly parameters: { readonly filter?: string }
  /** Another value for rows that were read anew. */
  readonly source: unknown
  readonly replaceAll: (records: ReadonlyMap<string, AnyRecord>) => void
}

/** What changes cells. */
export type Change = { readonly of: "paste"; readonly table: Table } | { readonly of: "fill" } | {
  readonly of: "clear"
}
