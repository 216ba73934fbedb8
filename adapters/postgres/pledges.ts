/**
 * What the database promises of the relations of an order: it saves walks that would find nothing. Asked of the catalogue and kept for a minute. It
 * changes no row that a page has, only the way there.
 */

import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { pathOf } from "../../core/domain/filter/tree.ts"
import type { Relation } from "../../core/domain/model/model.ts"
import type { PageShape } from "../../core/domain/read/plan.ts"
import type { RecordsError } from "../../core/ports/records.ts"
import type { Pledge } from "./compile-walks.ts"
import { quoted, tableOf } from "./sql.ts"

interface Entry {
  readonly pledge: Pledge
  readonly until: number
}

/** What is known, by relation. */
export type Pledges = WeakMap<Relation, Entry>

/** How long it counts: somebody may drop a constraint. */
const keptMs = 60_000

const none: Effect.Effect<readonly Pledge[]> = Effect.succeed([])

/**
 * `held`: a foreign key of just these columns, checked for every row, whose targets the role sees without a policy. Tables that inherit from the near one
 * have keys of their own. `filled`: the near column is not null.
 */
const questionOf = (near: string, from: string, far: string, to: string): string =>
  `select exists (select from pg_constraint f join pg_class c on c.oid = f.confrelid where f.contype = 'f' and f.convalidated` +
  ` and coalesce((to_jsonb(f)->>'conenforced')::boolean, true) and not c.relrowsecurity` +
  ` and f.conrelid = n.oid and f.conkey = array[a.attnum] and f.confrelid = to_regclass(${quoted(far)})` +
  ` and f.confkey = (select array[b.attnum] from pg_attribute b where b.attrelid = f.confrelid and b.attname = ${
    quoted(to)
  })` +
  ` and not exists (select from pg_inherits i join pg_class h on h.oid = i.inhrelid where i.inhparent = n.oid and not h.relispartition))::text,` +
  ` (a.attnotnull and not exists (select from pg_constraint u where u.conrelid = n.oid and u.contype = 'n'` +
  ` and u.conkey = array[a.attnum] and not u.convalidated))::text` +
  ` from pg_class n join pg_attribute a on a.attrelid = n.oid where n.oid = to_regclass(${
    quoted(near)
  }) and a.attname = ${quoted(from)}`

/** The promises of the relations of an order's path; none where it has no path. `read` runs a statement. */
export const pledgesOf = (
  shape: PageShape,
  memory: Pledges,
  read: (sql: string) => Effect.Effect<ReadonlyArray<ReadonlyArray<string | null>>, RecordsError>
): Effect.Effect<readonly Pledge[], RecordsError> => {
  const path = pathOf(shape.order)
  if (path === null) return none
  return Effect.flatMap(
    Clock.currentTimeMillis,
    (now) =>
      Effect.forEach(path.ways, ({ model, relation, to }, i): Effect.Effect<Pledge, RecordsError> => {
        const entry = memory.get(relation)
        if (entry !== undefined && now < entry.until && entry.until - now <= keptMs) return Effect.succeed(entry.pledge)
        const near = i === 0 ? shape.model : path.ways[i - 1]!.model
        // A table may have the name of a function. What it promises says nothing of the rows that the function returns.
        if (near.function !== undefined) return Effect.succeed({ held: false, filled: false })
        return Effect.map(read(questionOf(tableOf(near), relation.from.column, tableOf(model), to.column)), ([row]) => {
          const pledge: Pledge = { held: row?.[0] === "true", filled: row?.[1] === "true" }
          memory.set(relation, { pledge, until: now + keptMs })
          return pledge
        })
      })
  )
}
