/**
 * Versions of tracked resources (`extends: [history(…)]`). Each write keeps the record as it then stands, in the same transaction.
 * `:restore` writes a version back through the pipeline of an ordinary update. The access to the resource of versions decides what a caller
 * may read of them.
 */

import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import type { Access } from "../../domain/access/access.ts"
import { makerOf } from "../../domain/access/caller.ts"
import { quotedColumn } from "../../domain/access/versions.ts"
import { allOf } from "../../domain/filter/tree.ts"
import type { FilterTree } from "../../domain/filter/tree.ts"
import { changedColumn } from "../../domain/model/model.ts"
import type { Field, Model } from "../../domain/model/model.ts"
import { invalidParameter, notFound } from "../../domain/problem.ts"
import type { Problem } from "../../domain/problem.ts"
import { keyCondition } from "../../domain/read/key.ts"
import { cellFromJson } from "../../domain/value/cell.ts"
import { isJsonObject } from "../../domain/value/json-kind.ts"
import type { Cell, Json, Row } from "../../domain/value/kind.ts"
import type { FieldValues } from "../../domain/write/body.ts"
import { isFileOwned } from "../../domain/write/file-values.ts"
import type { RecordsError, RecordsTransaction } from "../../ports/records.ts"
import type { Call } from "../ground/call.ts"
import { bindingsAt } from "../ground/core.ts"
import type { Core } from "../ground/core.ts"
import { recordsProblem } from "../ground/refusal.ts"
import { fromClock } from "../ground/timing.ts"

/** How a tracked row becomes a version: for each column that both tables have, its place in the tracked row. */
interface Track {
  readonly model: Model
  readonly fields: readonly Field[]
  readonly from: readonly number[]
}

const tracks = new WeakMap<Model, Track>()

const trackOf = (core: Core, tracked: Model): Track | null => {
  if (tracked.history === null) return null
  let track = tracks.get(tracked)
  if (track === undefined) {
    const model = core.models.get(tracked.history)!
    const columns = new Map(tracked.columns.map((column) => [column.column, column.index]))
    const shared = model.columns.filter(({ column }) => columns.has(column))
    const own = ["history_operation", "history_by", changedColumn].map((name) =>
      model.columns.find(({ column }) => column === name)!
    )
    track = { model, fields: [...own, ...shared], from: shared.map(({ column }) => columns.get(column)!) }
    tracks.set(tracked, track)
  }
  return track
}

/** Keeps the row that a write left (`after`), or for a removal the row that was removed. */
export const keepVersion = (
  core: Core,
  tx: RecordsTransaction,
  { caller, model: tracked }: Access,
  operation: string,
  before: Row | null,
  after: Row | null
): Effect.Effect<void, RecordsError> => {
  const track = trackOf(core, tracked)
  if (track === null) return Effect.void
  const row = (after ?? before)!
  const changed = operation !== "update" || before === null
    ? null
    : tracked.columns.filter(({ index }) => before[index] !== row[index]).map(quotedColumn).join(",")
  const cells: readonly Cell[] = [operation, makerOf(caller), changed, ...track.from.map((index) => row[index] ?? null)]
  const { fields, model } = track
  const bindings = { caller, now: 0n, params: [] }
  return Effect.asVoid(tx.insert({ model, fields, rows: [cells], columns: [], checks: [], bindings }))
}

/** The number of a version from the body of `:restore`: `{ "version": "42" }`. */
export const readVersion = (core: Core, tracked: Model, body: Json): Result.Result<string, Problem> => {
  const track = trackOf(core, tracked)
  if (track === null) return Result.fail(invalidParameter("restore", "No history is kept of this resource."))
  const refused = Result.fail(
    invalidParameter("version", "The body must be an object with the history_id of a version.")
  )
  if (!isJsonObject(body)) return refused
  const { version, ...more } = body
  if (version === undefined || Object.keys(more).length > 0) return refused
  return Result.match(cellFromJson(track.model.key[0]!, version), {
    onFailure: () => refused,
    onSuccess: (cell) => cell === null ? refused : Result.succeed(cell)
  })
}

/**
 * The condition for one version of one record. The version's number and the parts of the key are params. The columns' own equality counts,
 * which may ignore case.
 */
const ofRecord = (tracked: Model, versions: Model): FilterTree =>
  allOf(tracked.key.map(({ column }, index) => ({
    op: "compare",
    field: versions.columns.find((each) => each.column === column)!,
    is: "=",
    value: { of: "param", index: index + 1 }
  })))

/**
 * The values of a version that the caller may read, and may write in the record. A version of another record, or one that the caller cannot
 * see, is a 404. A required field that the version does not have keeps its value.
 */
export const versionValues = Effect.fnUntraced(function*(
  core: Core,
  call: Call,
  access: Access,
  key: readonly string[],
  version: string
): Effect.fn.Return<FieldValues, Problem> {
  const { model: tracked, restricted } = access
  const history = call.access(tracked.history!)
  if (history === null) return yield* Effect.fail(notFound())
  const { model } = history
  const bindings = yield* fromClock((clock) => bindingsAt(clock, call.caller, [version, ...key]))
  const where = allOf([history.rows, keyCondition(model), ofRecord(tracked, model)])
  const shape = { model, columns: model.columns, where, order: [], limit: 1, checks: [] }
  const [row] = yield* Effect.catch(core.records.page({ shape, bindings }), recordsProblem)
  const cellOf = (field: Field): Cell | undefined =>
    row?.[model.columns.find(({ column }) => column === field.column)?.index ?? -1]
  if (row === undefined) return yield* Effect.fail(notFound())
  const values = new Map<Field, Cell>()
  for (const field of restricted.fields) {
    if (!restricted.updatable.has(field.name) || !history.restricted.byName.has(field.name)) continue
    // Files of older versions may be gone.
    if (isFileOwned(tracked, field)) continue
    const cell = cellOf(field) ?? null
    if (cell !== null || field.optional) values.set(field, cell)
  }
  return values
})
