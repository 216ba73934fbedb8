/** The port to saved views on PostgreSQL: one small table in a schema of the service. A view belongs to its owner in the tenant where it was saved. */

import * as Effect from "effect/Effect"
import { defaultSchemas } from "../../core/domain/declare/schemas.ts"
import { ownJson } from "../../core/domain/own-json.ts"
import type { RecordsError } from "../../core/ports/records.ts"
import {
  mostSavedViews,
  type SavedView,
  type SavedViewsService,
  type SavedViewValues,
  type Viewer
} from "../../core/ports/saved-views.ts"
import type { Postgres, Session } from "./connection.ts"
import { refuse } from "./errors.ts"
import { lockSeed, ownSchema } from "./sql.ts"

/** What the port needs, in the schema of that name; safe to run again. */
export const savedViewsSchema = (schema: string = defaultSchemas.service): readonly string[] => {
  const s = ownSchema(schema)
  return [
    `create schema if not exists ${s}`,
    `create table if not exists ${s}.saved_view (
  id uuid primary key default gen_random_uuid(),
  owner text not null,
  tenant text not null,
  resource text not null,
  name text not null,
  filter text not null,
  order_by text not null,
  columns text[] not null,
  chart jsonb,
  shared_with text[],
  version integer not null default 1,
  saved_at timestamptz not null default now()
)`,
    `alter table ${s}.saved_view add column if not exists layout jsonb`,
    `create unique index if not exists saved_view_name on ${s}.saved_view (owner, tenant, resource, name)`,
    `create index if not exists saved_view_shared on ${s}.saved_view using gin (shared_with)`
  ]
}

const columns =
  "id::text, owner, resource, name, filter, order_by, to_json(columns)::text, chart::text, layout::text, to_json(shared_with)::text, version::text"

// Tenants are texts that are never empty, so the empty text is nobody's.
const visible = "tenant = $1 and (owner = $2 or shared_with && $3::text[])"

/** The statements of the port in a schema. */
const viewStatements = (schema: string) => {
  const s = ownSchema(schema)
  const listSql = `select ${columns} from ${s}.saved_view where ${visible} and ($4::text is null or resource = $4)` +
    ` order by owner <> $2, lower(name), id limit 500`
  const getSql = `select ${columns} from ${s}.saved_view where ${visible} and id = $4`
  const lockSql = `${getSql} for update`
  const fullSql = `select (count(*) >= $2::int)::text from ${s}.saved_view where owner = $1`
  const takenSql = `select exists(select from ${s}.saved_view` +
    ` where tenant = $1 and owner = $2 and resource = $3 and name = $4 and id is distinct from $5::uuid)::text`
  const insertSql = `insert into ${s}.saved_view` +
    ` (tenant, owner, resource, name, filter, order_by, columns, chart, layout, shared_with)` +
    ` values ($1, $2, $3, $4, $5, $6, $7::text[], $8::jsonb, $9::jsonb, $10::text[]) returning ${columns}`
  const updateSql = `update ${s}.saved_view set name = $2, filter = $3, order_by = $4, columns = $5::text[],` +
    ` chart = $6::jsonb, layout = $7::jsonb, shared_with = $8::text[], version = version + 1, saved_at = now() where id = $1 returning ${columns}`
  const deleteSql = `delete from ${s}.saved_view where id = $1`

  /** Those who save for one person wait for each other, so that names and counts are exact. */
  const ownerLockSql = `select pg_advisory_xact_lock(hashtextextended('saved_view' || chr(1) || $1, ${
    lockSeed(8173, schema)
  }))::text`
  return { deleteSql, fullSql, getSql, insertSql, listSql, lockSql, ownerLockSql, takenSql, updateSql }
}

type Row = Array<string | null>

const viewOf = (row: Row): SavedView => ({
  id: row[0]!,
  owner: row[1]!,
  resource: row[2]!,
  name: row[3]!,
  filter: row[4]!,
  orderBy: row[5]!,
  columns: ownJson(row[6]!),
  chart: row[7] == null ? null : ownJson(row[7]),
  layout: row[8] == null ? null : ownJson(row[8]),
  sharedWith: row[9] == null ? null : ownJson(row[9]),
  version: Number(row[10])
})

const place = ({ id, tenant }: Viewer): readonly [string, string] => [tenant ?? "", id]
const sight = (viewer: Viewer): readonly unknown[] => [...place(viewer), viewer.roles]

/** The parameters of what a person sets, in the order of `insertSql` and `updateSql`. */
const parametersOf = (
  { chart, columns, filter, layout, name, orderBy, sharedWith }: SavedViewValues
): readonly unknown[] => [
  name,
  filter,
  orderBy,
  columns,
  chart === null ? null : JSON.stringify(chart),
  layout === null ? null : JSON.stringify(layout),
  sharedWith
]

const isId = (id: string): boolean => /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(id)

/** The port on given connections. It makes its table on first use where nobody has, or only an older program. */
export const makeSavedViews = (postgres: Postgres): SavedViewsService => {
  const { service } = postgres.schemas
  const s = ownSchema(service)
  const { deleteSql, fullSql, getSql, insertSql, listSql, lockSql, ownerLockSql, takenSql, updateSql } = viewStatements(
    service
  )
  // The column that came last stands for the table.
  const standsSql = `select exists(select from pg_attribute where attrelid = to_regclass('${s}.saved_view')` +
    ` and attname = 'layout' and not attisdropped)::text`
  let prepared = false
  const statement = (session: Session, sql: string, params: readonly unknown[], prepare = true) =>
    Effect.catch(session.run(sql, params, prepare), refuse)

  const prepare: Effect.Effect<void, RecordsError> = Effect.suspend(() =>
    prepared ? Effect.void : Effect.map(
      postgres.transaction(Effect.fnUntraced(function*(session: Session) {
        const [answer] = yield* statement(session, standsSql, [], false)
        if (answer?.[0] === "true") return
        // Two processes at once wait for each other.
        yield* statement(session, `select pg_advisory_xact_lock(${lockSeed(8173, service)}, 1)::text`, [], false)
        for (const sql of savedViewsSchema(service)) yield* statement(session, sql, [], false)
      })),
      () => {
        prepared = true
      }
    )
  )
  const run = <A>(
    body: (session: Session) => Effect.Effect<A, RecordsError>,
    alone = false
  ): Effect.Effect<A, RecordsError> => Effect.andThen(prepare, postgres.transaction(body, alone))

  /** One statement, which needs no transaction. */
  const read = (sql: string, params: readonly unknown[]): Effect.Effect<readonly SavedView[], RecordsError> =>
    run((session) => Effect.map(statement(session, sql, params), (rows) => rows.map(viewOf)), true)

  /** The view, locked, if the viewer sees it and it is of that version. */
  const locked = Effect.fnUntraced(function*(session: Session, viewer: Viewer, id: string, version: number | null) {
    const [row] = yield* statement(session, lockSql, [...sight(viewer), id])
    if (row === undefined) return { of: "absent" } as const
    const view = viewOf(row)
    return version !== null && version !== view.version ? { of: "stale", view } as const : { of: "done", view } as const
  })

  const taken = (session: Session, owner: string, viewer: Viewer, values: SavedViewValues, id: string | null) =>
    Effect.map(
      statement(session, takenSql, [viewer.tenant ?? "", owner, values.resource, values.name, id]),
      ([row]) => row?.[0] === "true"
    )

  return {
    list: (viewer, resource) => read(listSql, [...sight(viewer), resource]),
    get: (viewer, id) =>
      isId(id) ? Effect.map(read(getSql, [...sight(viewer), id]), ([view]) => view ?? null) : Effect.succeed(null),
    create: (viewer, values) =>
      run(Effect.fnUntraced(function*(session) {
        yield* statement(session, ownerLockSql, [viewer.id])
        if (yield* taken(session, viewer.id, viewer, values, null)) return { of: "taken" } as const
        const [full] = yield* statement(session, fullSql, [viewer.id, mostSavedViews])
        if (full?.[0] === "true") return { of: "full" } as const
        const [row] = yield* statement(session, insertSql, [
          ...place(viewer),
          values.resource,
          ...parametersOf(values)
        ])
        return { of: "done", view: viewOf(row!) } as const
      })),
    replace: (viewer, id, version, values) =>
      isId(id)
        ? run(Effect.fnUntraced(function*(session) {
          const rows = yield* statement(session, getSql, [...sight(viewer), id])
          if (rows[0] === undefined) return { of: "absent" } as const
          const { owner } = viewOf(rows[0])
          yield* statement(session, ownerLockSql, [owner])
          const held = yield* locked(session, viewer, id, version)
          if (held.of !== "done") return held
          if (yield* taken(session, owner, viewer, values, id)) return { of: "taken" } as const
          const [row] = yield* statement(session, updateSql, [id, ...parametersOf(values)])
          return { of: "done", view: viewOf(row!) } as const
        }))
        : Effect.succeed({ of: "absent" }),
    remove: (viewer, id, version) =>
      isId(id)
        ? run(Effect.fnUntraced(function*(session) {
          const held = yield* locked(session, viewer, id, version)
          if (held.of === "done") yield* statement(session, deleteSql, [id])
          return held
        }))
        : Effect.succeed({ of: "absent" })
  }
}
