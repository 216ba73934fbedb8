/**
 * Relations that a write sets: their targets must belong to the caller's tenant. A foreign key accepts any row. For a caller, rows of other
 * tenants do not exist, so naming one is refused exactly like naming none. This file judges tenants only, no rules.
 */

import * as Effect from "effect/Effect"
import type { Access } from "../../domain/access/access.ts"
import { tenantRows } from "../../domain/access/resolve.ts"
import { allOf } from "../../domain/filter/tree.ts"
import type { Bindings } from "../../domain/filter/tree.ts"
import type { Field, Model } from "../../domain/model/model.ts"
import type { Cell } from "../../domain/value/kind.ts"
import { RecordsError } from "../../ports/records.ts"
import type { RecordsTransaction } from "../../ports/records.ts"
import type { Core } from "../ground/core.ts"

type Assigned = Iterable<readonly [Field, Cell]>

const linking = new WeakMap<Model, boolean>()

/** Whether a model has relations to resources of tenants at all. */
const hasLinks = (core: Core, model: Model): boolean => {
  let known = linking.get(model)
  if (known === undefined) {
    known = model.fields.some(({ relation }) =>
      relation !== null && (core.models.get(relation)?.tenant ?? null) !== null
    )
    linking.set(model, known)
  }
  return known
}

/** The keys that the rows point at, by their tenant-scoped resource. */
const linkedKeys = (core: Core, access: Access, rows: Iterable<Assigned>): ReadonlyMap<Model, Map<string, Field>> => {
  const { caller, model } = access
  const links = new Map<Model, Map<string, Field>>()
  const written = new Set<Cell>()
  for (const row of rows) {
    for (const [field, cell] of row) {
      // A row may refer to itself, or to one that is written with it.
      if (field === model.key[0]) written.add(cell)
      if (field.relation === null || cell === null || (field === model.owner && cell === caller.id)) continue
      const target = core.models.get(field.relation)
      if (target === undefined || target.tenant === null) continue
      const keys = links.get(target)
      if (keys === undefined) links.set(target, new Map([[cell, field]]))
      else if (!keys.has(cell)) keys.set(cell, field)
    }
  }
  const own = links.get(model)
  if (own !== undefined) { for (const cell of written) own.delete(cell ?? "") }
  return links
}

/** The same as the foreign key of the field says. */
const missing = ({ column }: Field): RecordsError =>
  new RecordsError({ reason: { _tag: "ForeignKey" }, columns: [column] })

/** Fails like a broken foreign key when a row refers to one outside the caller's tenant. Null when there is nothing to check. */
export const checkLinks = (
  core: Core,
  tx: RecordsTransaction,
  access: Access,
  rows: Iterable<Assigned>,
  bindings: Bindings
): Effect.Effect<void, RecordsError> | null => {
  if (!hasLinks(core, access.model)) return null
  const linked = linkedKeys(core, access, rows)
  return linked.size === 0
    ? null
    : Effect.forEach(linked, ([target, keys]) => checkKeys(tx, target, keys, bindings), { discard: true })
}

const checkKeys = Effect.fnUntraced(function*(
  tx: RecordsTransaction,
  target: Model,
  keys: ReadonlyMap<string, Field>,
  bindings: Bindings
): Effect.fn.Return<void, RecordsError> {
  const tree = tenantRows(target.tenant!)
  const left = new Map(keys)
  if (left.size > 1) {
    const field = target.key[0]!
    const values = [...left.keys()].map((text) => ({ of: "literal", text }) as const)
    const where = allOf([{ op: "in", field, values }, tree])
    const shape = { model: target, columns: [field], where, order: [], limit: left.size, checks: [] }
    for (const [cell] of yield* tx.page({ shape, bindings })) left.delete(cell ?? "")
  }
  // At last one by one: the column's own equality counts, which may ignore case.
  for (const [key, from] of left) {
    if (!(yield* tx.passes({ model: target, key: [key], tree, bindings }))) return yield* Effect.fail(missing(from))
  }
})
