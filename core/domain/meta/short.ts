/**
 * The short form of a large meta document, and its one reader, which server, client and app share. What many parts have stands once, in
 * `shapes`, and a part names its shape in `like`. Relations and views are left out where they follow from the fields. A part whose shape is
 * missing allows nothing.
 */

import { keysOf } from "../value/table.ts"
import type { MetaDocument, MetaField, MetaModel, MetaRelation } from "./meta.ts"
import type { MetaView } from "./view.ts"

/** A document of more characters is sent in the short form. Those of fewer resources stay what a client reads without help. */
const longestWhole = 128 * 1024

/** Longest shape as JSON: else a source could make a document that no browser has room for out of a short text. */
const longestShape = 400

/** Its own members, and those of `shapes[like]`. */
export type Short<T> = Partial<T> & { readonly like?: number }

/** Filled while a document is read. */
type ByResource<T> = { [resource: string]: T }

/** What is said of a resource, in the short form in one place. */
interface Part extends Omit<MetaModel, "fields" | "relations"> {
  readonly permissions: MetaDocument["permissions"][string]
  readonly transfers: MetaDocument["transfers"][string]
  /** Absent where the resource has no view. What it leaves out shows every field. */
  readonly view?: Short<MetaView>
}

/** A resource in the short form. Without `relations` it has those of the foreign keys. */
export interface ShortModel extends Partial<Part> {
  readonly like?: number
  readonly name: string
  readonly fields: ReadonlyArray<Short<MetaField>>
  readonly relations?: readonly MetaRelation[]
}

/** A document in the short form: it has `shapes`. */
export interface ShortMeta extends Omit<MetaDocument, "models" | "views" | "permissions" | "transfers"> {
  readonly shapes: readonly object[]
  readonly models: readonly ShortModel[]
}

/** The whole document, in whichever form it was sent. Throws for what no service sends. */
export const wholeMeta = (sent: MetaDocument | ShortMeta): MetaDocument => {
  if (!("shapes" in sent)) return sent
  const { models: parts, shapes, ...rest } = sent
  const bases = shapes.map((shape) => JSON.stringify(shape).length > longestShape ? {} : shape)
  const whole = <T extends object>({ like = -1, ...own }: Short<T>): T => {
    const members: object = { ...bases[like], ...own }
    return members as T
  }
  const models: MetaModel[] = []
  const views: ByResource<MetaView> = {}
  const permissions: ByResource<Part["permissions"]> = {}
  const transfers: ByResource<Part["transfers"]> = {}
  const links = new Map<string, { readonly key: string | undefined; readonly relations: MetaRelation[] }>()
  for (const part of parts) {
    const fields = part.fields.map(whole<MetaField>)
    const columns = fields.map((field) => field.name)
    const relations: MetaRelation[] = []
    const { permissions: may, transfers: moves, view, ...model } = { relations, ...whole<Part>(part), fields }
    const { name } = model
    links.set(name, { key: model.primaryKey[0], relations })
    models.push(model)
    permissions[name] = may
    transfers[name] = moves
    if (view) {
      views[name] = {
        name,
        columns,
        layout: [{ label: null, fields: columns }],
        ...whole<Omit<MetaView, "name" | "columns" | "layout">>(view)
      }
    }
  }
  for (const { fields, name } of models) {
    for (const { name: field, relation: resource = "" } of fields) {
      const target = links.get(resource)
      const key = target?.key
      if (!key) continue
      links.get(name)!.relations.push({
        name: field.replace(/_id$/, ""),
        resource,
        many: false,
        field,
        targetField: key
      })
      target.relations.push({ name, resource: name, many: true, field: key, targetField: field })
    }
  }
  return { ...rest, models, views, permissions, transfers }
}

/** Members that tell one part from another. All others belong to its shape. */
const ownMembers =
  /^(?:name|label|help|description|alias|values|file|relation|fields|relations|view|columns|layout|search|title)$/

const isEqual = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b)

/** The members of an object that are to be in its part. */
const partOf = <T extends object>(of: T, has: (name: string, value: unknown) => boolean): Partial<T> => {
  const part: Partial<T> = {}
  for (const name of keysOf(of)) if (has(name, of[name])) part[name] = of[name]
  return part
}

/** The short form of a whole document, from which `wholeMeta` makes the same document again. */
export const shortMeta = ({ models, permissions, transfers, views, ...rest }: MetaDocument): ShortMeta => {
  const shapes = new Map<string, { readonly like: number; readonly shape: object }>()
  const short = <T extends object>(part: T): Short<T> => {
    const members = Object.entries(part)
    const shape = Object.fromEntries(members.filter(([name]) => !ownMembers.test(name)))
    const text = JSON.stringify(shape)
    if (text.length > longestShape) return part
    const { like } = shapes.get(text) ?? { like: shapes.size }
    shapes.set(text, { like, shape })
    return { ...partOf(part, (name) => ownMembers.test(name)), like }
  }
  // What the reader makes of nothing is what can be left out.
  const bare = models.map(({ fields, name, primaryKey }) => ({ fields, name, primaryKey, view: {} }))
  const usual = wholeMeta({ ...rest, shapes: [], models: bare })
  const newsOf = <T extends object>(part: T, base: { readonly [member: string]: unknown }): Partial<T> =>
    partOf(part, (name, value) => !isEqual(value, base[name]))
  return {
    ...rest,
    models: models.map(({ relations, ...model }, at): ShortModel => {
      const { name } = model
      const view = views[name]
      return {
        name,
        ...short({ ...model, permissions: permissions[name], transfers: transfers[name] }),
        fields: model.fields.map(short),
        ...newsOf({ relations }, { ...usual.models[at] }),
        ...(view === undefined ? {} : { view: short(newsOf(view, { ...usual.views[name] })) })
      }
    }),
    shapes: [...shapes.values()].map(({ shape }) => shape)
  }
}

/** The document as it is sent. */
export const metaText = (document: MetaDocument): string => {
  const text = JSON.stringify(document)
  return text.length > longestWhole ? JSON.stringify(shortMeta(document)) : text
}
