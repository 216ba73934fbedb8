/**
 * Which of some changed records pass a filter through relations: the database says so, under the caller's access, because nobody else knows the related
 * ones. A statement names few records and has little time, whatever the filter.
 */

import * as Effect from "effect/Effect"
import type { Access } from "../../domain/access/access.ts"
import type { WatchScope } from "../../domain/event/watch.ts"
import { both } from "../../domain/filter/tree.ts"
import { keyed, writeKey } from "../../domain/read/key.ts"
import { visibleRows } from "../../domain/read/list.ts"
import type { Row } from "../../domain/value/kind.ts"
import type { RecordsError, RecordsReader } from "../../ports/records.ts"

/** Most records of one statement, and the most milliseconds that it takes. */
export const mostAsked = 100
const withinMs = 200

/** The keys, as they stand in URLs, of those records that the caller sees and that pass the filter at an instant in microseconds. */
export const askPassing = Effect.fnUntraced(function*(
  records: Pick<RecordsReader, "page">,
  { access, filter }: WatchScope & { readonly access: Access },
  keys: readonly Row[],
  now: bigint
): Effect.fn.Return<ReadonlySet<string>, RecordsError> {
  const { caller, model } = access
  const passing = new Set<string>()
  for (let i = 0; i < keys.length; i += mostAsked) {
    const some = keys.slice(i, i + mostAsked)
    const rows = yield* records.page({
      shape: {
        model,
        columns: model.key,
        where: both(keyed(model, some), visibleRows(access, filter, false)),
        order: [],
        limit: some.length,
        checks: []
      },
      bindings: { caller, now, params: [] },
      within: withinMs
    })
    for (const row of rows) passing.add(writeKey(row.slice(0, model.key.length)))
  }
  return passing
})
