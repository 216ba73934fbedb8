/**
 * `reorder` of a batch (docs/reference/writes.md#reorder): sets a field to 1, 2, 3, … in the order of the keys, and writes only what changes. A
 * unique index that is checked at once would refuse this. So changing records first move out of the range in use, without a change of their
 * ETags.
 */

import * as Effect from "effect/Effect"
import type * as Result from "effect/Result"
import type { Access } from "../../domain/access/access.ts"
import { tenantRows } from "../../domain/access/resolve.ts"
import type { Bindings, FilterTree } from "../../domain/filter/tree.ts"
import { always, both, not } from "../../domain/filter/tree.ts"
import type { Field, FieldOf } from "../../domain/model/model.ts"
import { invalidParameter } from "../../domain/problem.ts"
import type { Problem } from "../../domain/problem.ts"
import { writeKey } from "../../domain/read/key.ts"
import { unknownField } from "../../domain/read/list.ts"
import type { Json, Row } from "../../domain/value/kind.ts"
import { ofRecord } from "../../domain/write/batch.ts"
import { invalidRecord, readOnlyError } from "../../domain/write/body.ts"
import { RecordsError } from "../../ports/records.ts"
import type { RecordsTransaction } from "../../ports/records.ts"
import type { Core } from "../ground/core.ts"
import { apply, runHooks } from "./execute.ts"
import type { WriteResult } from "./execute.ts"
import { ownKey } from "./intent.ts"
import { checkPatch, judge, lockRow } from "./judge.ts"
import type { Steps, WriteStep } from "./judge.ts"
import { failedFor } from "./transaction.ts"

/** What a reorder asks for. */
export interface Reorder {
  readonly field: string
  /** Keys in their final order. */
  readonly keys: ReadonlyArray<readonly string[]>
  /** ETag by key text, as `writeKey` writes it. */
  readonly etags: ReadonlyMap<string, Json>
  /** See `Write`. */
  readonly midway: boolean
  /** Counts a row that was read or written. */
  readonly spend: (row: Row) => Result.Result<void, Problem>
}

/** A record whose value changes, judged and locked. */
interface Changing {
  readonly key: readonly string[]
  readonly before: Row
  /** Gives it its final value. */
  readonly run: WriteStep<Row>
}

const fieldOf = (access: Access, name: string): WriteStep<FieldOf<"integer">> => {
  const field = access.restricted.byName.get(name)
  if (field === undefined) {
    return Effect.fail(
      invalidRecord([{ field: name.slice(0, 100), code: "unknown", message: unknownField(name) }])
    )
  }
  if (!access.restricted.updatable.has(name)) return Effect.fail(invalidRecord([readOnlyError(name)]))
  return field.kind === "integer" && field.relation === null
    ? Effect.succeed(field)
    : Effect.fail(invalidRecord([{ field: name, code: "type", message: `The field "${name}" is not an integer.` }]))
}

const keyTwice = () => invalidParameter("keys", "A key is given twice.")

/** Runs one reorder inside a transaction; answers all named records in their final order. */
export const reorder = Effect.fnUntraced(function*(
  core: Core,
  tx: RecordsTransaction,
  access: Access,
  request: Reorder,
  bindings: Bindings
): Steps<readonly WriteResult[]> {
  const field = yield* fieldOf(access, request.field)
  const texts = request.keys.map(writeKey)
  if (new Set(texts).size < texts.length) return yield* Effect.fail(keyTwice())
  // Locks are taken in the order of the keys, so that two reorders wait for each other instead of deadlocking.
  const byText = [...request.keys.keys()].sort((a, b) => texts[a]! < texts[b]! ? -1 : 1)
  const rows: Row[] = Array.from({ length: request.keys.length })
  const own = new Set<string>()
  const changing: Changing[] = []
  for (const i of byText) {
    const key = request.keys[i]!
    const value = String(i + 1)
    const values = new Map([[field, value]])
    const target = { op: "update", files: [], access, key, values, precondition: null, midway: request.midway } as const
    const row = yield* Effect.mapError(lockRow(tx, target, bindings), ofRecord(key))
    yield* Effect.mapError(Effect.fromResult(request.spend(row)), ofRecord(key))
    rows[i] = row
    const text = writeKey(ownKey(access.model, row))
    own.add(text)
    if (row[field.index] === value) continue
    // A column may accept several texts for one key. Answers show the record's own.
    const etag = request.etags.get(texts[i]!) ?? request.etags.get(text)
    const write = { ...target, precondition: typeof etag === "string" ? etag : null }
    const judged = judge(core, tx, write, row, () => checkPatch(access, row, values, values), bindings)
    const verdict = yield* Effect.mapError(judged, ofRecord(key))
    const note = { of: "reorder", began: [[field, row[field.index] ?? null]] } as const
    const run = Effect.mapError(apply(core, tx, write, row, values, verdict, bindings, note), ofRecord(key))
    changing.push({ key, before: row, run })
  }
  if (own.size < texts.length) return yield* Effect.fail(keyTwice())
  const stuck = changing.length > 1 ? yield* moveAway(tx, access, field, changing, bindings) : null
  const after = new Map<Row, Row>()
  for (const item of changing) {
    // When records cannot be moved out of the way, that refusal explains why the unique index does not accept the order.
    const row = yield* Effect.mapError(
      item.run,
      (error) => stuck !== null && failedFor(error, "Unique") ? stuck : error
    )
    yield* Effect.mapError(Effect.fromResult(request.spend(row)), ofRecord(item.key))
    yield* Effect.mapError(runHooks(core, tx, access, "update", item.before, row), ofRecord(item.key))
    after.set(item.before, row)
  }
  return rows.map((before): WriteResult => {
    const row = after.get(before)
    const key = ownKey(access.model, before)
    return { op: "update", access, row: row ?? before, before, key, changed: row !== undefined, visible: true }
  })
})

/** The highest or lowest value of the column in some rows of the table. */
const extreme = (
  tx: RecordsTransaction,
  access: Access,
  field: Field,
  among: FilterTree,
  highest: boolean,
  bindings: Bindings
): Effect.Effect<bigint, RecordsError> => {
  const where = both(among, filled(field))
  const order = [{ field, descending: highest }]
  const shape = { model: access.model, columns: [field], where, order, limit: 1, checks: [] }
  return Effect.map(tx.page({ shape, bindings }), (rows) => BigInt(rows[0]?.[0] ?? 0))
}

const conditions = new WeakMap<Field, FilterTree>()

/** The condition that the field has a value. */
const filled = (field: Field): FilterTree => {
  let tree = conditions.get(field)
  if (tree === undefined) conditions.set(field, tree = not({ op: "null", field }))
  return tree
}

/** The places were free when they were looked up. If one is taken now, somebody else took it meanwhile, and the transaction runs again. */
const takenMeanwhile = (error: RecordsError): RecordsError =>
  failedFor(error, "Unique") ? new RecordsError({ reason: { _tag: "Conflict" }, cause: error.cause }) : error

/**
 * Moves the changing records above the highest value. When the database or the column's range refuses that, it moves them below the lowest.
 * When that is refused, too, they stay where they are, and the refusal is the answer: no unique index may be in the way.
 *
 * The tenant's rows are looked at first. A unique index may not know tenants: where a place is taken by others, all rows are.
 */
const moveAway = Effect.fnUntraced(function*(
  tx: RecordsTransaction,
  access: Access,
  field: FieldOf<"integer">,
  changing: readonly Changing[],
  bindings: Bindings
): Effect.fn.Return<RecordsError | null, RecordsError> {
  const { tenant } = access.model
  const move = (among: FilterTree) => moveAmong(tx, access, field, changing, among, bindings)
  const moved = tenant === null ? move(always) : Effect.catch(
    move(tenantRows(tenant)),
    (error) => failedFor(error, "Unique") ? move(always) : Effect.fail(error)
  )
  return yield* Effect.mapError(moved, takenMeanwhile)
})

/** The same by the highest and the lowest value of some rows. */
const moveAmong = Effect.fnUntraced(function*(
  tx: RecordsTransaction,
  access: Access,
  field: FieldOf<"integer">,
  changing: readonly Changing[],
  among: FilterTree,
  bindings: Bindings
): Effect.fn.Return<RecordsError | null, RecordsError> {
  const count = BigInt(changing.length)
  const limit = 2n ** BigInt(field.bits - 1)
  const highest = yield* extreme(tx, access, field, among, true, bindings)
  const lowest = yield* extreme(tx, access, field, among, false, bindings)
  const moveTo = (start: bigint): Effect.Effect<RecordsError | null, RecordsError> => {
    const moved = Effect.forEach(changing, (item, i) =>
      tx.update({
        model: access.model,
        key: item.key,
        set: [[field, String(start + BigInt(i))]],
        touch: false,
        columns: [],
        checks: [],
        note: { of: "nothing" },
        bindings
      }), { discard: true })
    return Effect.matchEffect(tx.savepoint(moved), {
      onSuccess: () => Effect.succeed(null),
      onFailure: (error) => failedFor(error, "Check") ? Effect.succeed(error) : Effect.fail(error)
    })
  }
  // Final values count as in use: a record must not move onto the final place of another.
  const above = (highest > count ? highest : count) + 1n
  const below = (lowest < 1n ? lowest : 1n) - count
  if (above + count <= limit && (yield* moveTo(above)) === null) return null
  return yield* moveTo(below)
})
