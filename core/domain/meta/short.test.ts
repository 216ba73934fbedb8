import { describe, expect, it } from "vitest"
import { property } from "../../../test/generators/property.ts"
import type { Random } from "../../../test/generators/random.ts"
import type { MetaDocument, MetaField, MetaModel, MetaRelation } from "./meta.ts"
import { metaText, type ShortMeta, shortMeta, wholeMeta } from "./short.ts"
import type { MetaView } from "./view.ts"

/** As it comes from the wire. */
const sent = <T>(document: T): T => JSON.parse(JSON.stringify(document)) as T

const names = ["order", "customers", "lines", "a_b", "constructor_s", "notes"]
const operations = ["read", "create", "update", "delete"] as const

const someField = (random: Random, name: string, others: readonly string[]): MetaField => {
  const flag = () => random.chance(2)
  const writable = { create: flag(), update: flag() }
  return {
    name,
    kind: random.pick(["text", "json", "integer", "enum"] as const),
    ...(flag() ? { label: random.pick(["Label", ""]) } : {}),
    ...(flag()
      ? { default: random.pick([{ db: true }, { value: null }, { value: { like: 0, long: "x".repeat(500) } }]) }
      : {}),
    ...(flag() ? { relation: random.pick(others) } : {}),
    ...(flag() ? { max: random.below(3) } : {}),
    ...(random.chance(9) ? { values: ["a", "b"] } : {}),
    optional: flag(),
    readOnly: !writable.create && !writable.update,
    writable,
    filterable: flag(),
    sortable: flag(),
    searched: flag(),
    sensitive: flag()
  }
}

/** Relations as foreign keys give them. */
const usualRelations = (
  models: readonly MetaModel[],
  { name, primaryKey: [own] }: MetaModel
): readonly MetaRelation[] => {
  return models.flatMap((model): readonly MetaRelation[] =>
    model.fields.flatMap(({ name: field, relation: resource }): readonly MetaRelation[] => {
      const to = models.find((each) => each.name === resource)?.primaryKey[0]
      const way = { name: field.replace(/_id$/, ""), resource: `${resource}`, many: false, field, targetField: `${to}` }
      const back = { name: model.name, resource: model.name, many: true, field: `${own}`, targetField: field }
      return to === undefined
        ? []
        : [...(model.name === name ? [way] : []), ...(resource === name ? [back] : [])]
    })
  )
}

const someView = (random: Random, { fields, name }: MetaModel): MetaView => {
  const all = fields.map((field) => field.name)
  const some = () => random.chance(2) ? all : all.filter(() => random.chance(2))
  return {
    name: random.pick([name, "other"]),
    label: { singular: "One", plural: name },
    columns: some(),
    sort: random.pick(["", "id desc"]),
    filters: random.pick([[], [{ name: "Open", filter: "a = 1" }]]),
    search: some(),
    layout: random.pick([[{ label: null, fields: some() }], []]),
    chart: null,
    title: random.pick([null, "id"]),
    nav: random.pick([null, { group: "G", order: 1, icon: null, bottom: false, recent: null }]),
    links: [],
    actions: [],
    cells: random.pick([{}, { id: "stars" }]),
    ...(random.chance(3) ? { inputs: { id: "slider" } } : {})
  }
}

const document = (random: Random): MetaDocument => {
  const chosen = names.filter(() => random.chance(2))
  const bare = chosen.map((name): MetaModel => {
    const fields = ["id", "customer_id", "note"].map((field) => someField(random, field, [...names, "hidden"]))
    return {
      name,
      ...(random.chance(3) ? { description: "What it is." } : {}),
      primaryKey: random.pick([["id"], [], ["id", "note"]]),
      fields,
      relations: [],
      softDelete: random.chance(2),
      tenantScoped: random.chance(2),
      owner: random.pick([null, "note"]),
      version: null,
      ...(random.chance(3) ? { events: ["created"] } : {})
    }
  })
  const models = bare.map((model) => {
    const relations = usualRelations(bare, model)
    const named = (each: MetaRelation) => random.chance(2) ? { ...each, name: `${each.name}_way` } : each
    return { ...model, relations: random.chance(3) ? relations.map(named) : relations }
  })
  const some = <T>(make: (model: MetaModel) => T, always = true): { [name: string]: T } =>
    Object.fromEntries(models.filter(() => always || random.chance(2)).map((model) => [model.name, make(model)]))
  return {
    user: { id: "ann", roles: [], tenant: null },
    models,
    views: some((model) => someView(random, model), false),
    permissions: some(() => ({
      read: random.chance(2),
      create: random.chance(2),
      update: random.chance(2),
      delete: random.chance(2),
      conditional: operations.filter(() => random.chance(2))
    })),
    transfers: some(() => ({ export: random.chance(2), bulk: [], import: random.pick([[], ["create"] as const]) })),
    userMenu: [],
    pages: [{
      name: "p",
      label: "P",
      href: "/p",
      resource: null,
      blocks: [{ of: "component", component: "x", label: null, props: { like: 1 } }]
    }],
    sources: [],
    functions: []
  }
}

describe("the short form", () => {
  property("leaves out what follows from the fields", { of: document }, { cases: 200 }, ({ of }) => {
    const plain = {
      ...of,
      models: of.models.map((model) => ({ ...model, relations: usualRelations(of.models, model) }))
    }
    expect(shortMeta(plain).models.filter((model) => "relations" in model)).toEqual([])
  })

  property("is read as the whole document again", { of: document }, { cases: 2_000 }, ({ of }) => {
    expect(wholeMeta(sent(shortMeta(of)))).toEqual(sent(of))
  })

  property("gives the same text to whoever makes it, and another for any other document", {
    of: document,
    other: document
  }, {
    cases: 500
  }, ({ of, other }) => {
    const text = (each: MetaDocument) => JSON.stringify(shortMeta(each))
    expect(text(of)).toBe(text(sent(of)))
    expect(text(of) === text(other)).toBe(JSON.stringify(of) === JSON.stringify(other))
  })

  const part = {
    user: { id: "ann", roles: [], tenant: null },
    userMenu: [],
    pages: [],
    sources: [],
    functions: []
  }
  const model = (more: object) => ({
    name: "notes",
    primaryKey: ["id"],
    fields: [{ name: "id", like: 0 }],
    view: {},
    ...more
  })
  const read = (shapes: readonly object[], more: object): MetaDocument =>
    wholeMeta({ ...part, shapes, models: [model(more)] } as ShortMeta)

  it.each([
    ["there is no such shape", [], { like: 3 }],
    ["the shape is longer than any of ours", [{ permissions: { read: true }, x: "x".repeat(400) }], { like: 0 }],
    ["it names no shape", [{ permissions: { read: true } }], {}],
    ["the name is one of every list", [{ permissions: { read: true } }], { like: "constructor" }]
  ])("allows nothing where %s", (_, shapes, more) => {
    const { models: [found], permissions } = read(shapes, more)
    expect(permissions["notes"]).toBeUndefined()
    expect(found?.fields[0]?.writable).toBeUndefined()
  })

  it("shows every field where a view says nothing", () => {
    const all = { name: "notes", columns: ["id"], layout: [{ label: null, fields: ["id"] }] }
    expect(read([], {}).views["notes"]).toEqual(all)
    expect(read([{ sort: "id" }], { view: { columns: [], like: 0 } }).views["notes"]).toEqual({
      ...all,
      columns: [],
      sort: "id"
    })
    expect(read([], { view: undefined }).views).toEqual({})
  })

  it("is not looked for in a whole document", () => {
    const whole = { ...part, models: [], views: {}, permissions: {}, transfers: {} }
    expect(wholeMeta(whole)).toBe(whole)
    expect(metaText(whole)).toBe(JSON.stringify(whole))
  })

  it("gives no name to the prototype of objects", () => {
    const { permissions } = read([{ permissions: { read: true } }], { name: "__proto__", like: 0 })
    expect(({} as { read?: boolean }).read).toBeUndefined()
    expect(Object.keys(permissions)).toEqual([])
  })
})
