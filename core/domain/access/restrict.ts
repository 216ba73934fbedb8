/**
 * Restricted models: the part of a model that is left when hidden fields are taken away. Equal decisions give the same object, so whatever
 * is made from it can be cached by identity or by `id`. It never decides who may see what.
 */

import { BoundedMap } from "../bounded.ts"
import type { Field, Model } from "../model/model.ts"
import type { RestrictedModel } from "./access.ts"

/** Bits of one field's mark. */
export const readableBit = 1
export const creatableBit = 2
export const updatableBit = 4

const cacheLimit = 1_000
const cache = new WeakMap<Model, BoundedMap<string, RestrictedModel>>()

const build = (model: Model, id: string, marks: readonly number[], searchable: boolean): RestrictedModel => {
  const fields: Field[] = []
  const byName = new Map<string, Field>()
  const names = new Map<string, Field>()
  const creatable = new Set<string>()
  const updatable = new Set<string>()
  for (const field of model.fields) {
    const mark = marks[field.index] ?? 0
    if ((mark & readableBit) === 0 || field.system) continue
    fields.push(field)
    byName.set(field.name, field)
    if (searchable) {
      names.set(field.name, field)
      if (field.alias !== null) names.set(field.alias, field)
    }
    if ((mark & creatableBit) !== 0) creatable.add(field.name)
    if ((mark & updatableBit) !== 0) updatable.add(field.name)
  }
  if (searchable) {
    for (const member of model.members ?? []) {
      if (byName.get(member.member!.of.name) === member.member!.of) names.set(member.name, member)
    }
  }
  const vectors = (model.vectors ?? []).filter((_, i) => ((marks[model.fields.length + i] ?? 0) & readableBit) !== 0)
  return {
    model,
    id,
    vectors: new Map(searchable ? vectors.map((vector) => [vector.name, vector]) : []),
    fields,
    byName,
    names,
    searched: searchable ? fields.filter((field) => field.searched) : [],
    creatable,
    updatable
  }
}

/**
 * The restricted model for `marks`. A mark is the sum of `readableBit`, `creatableBit` and `updatableBit` of one declared field, by its
 * index. A field without `readableBit` does not exist in the result. `searchable` false means that read is denied: nothing can be filtered,
 * ordered or searched.
 */
export const restrictModel = (model: Model, marks: readonly number[], searchable: boolean): RestrictedModel => {
  const id = `${model.name}${searchable ? "?" : "!"}${marks.join("")}`
  let variants = cache.get(model)
  if (variants === undefined) cache.set(model, variants = new BoundedMap(cacheLimit))
  const hit = variants.get(id)
  if (hit !== undefined) return hit
  const restricted = build(model, id, marks, searchable)
  variants.set(id, restricted)
  return restricted
}
