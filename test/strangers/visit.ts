/**
 * What an admin can do with a service, done once: each list, each record of it, and a record of every resource made, changed and deleted, with values made from
 * the meta document. It gives back what was no success, a line each.
 */

import { isDeepStrictEqual } from "node:util"
import type { MetaDocument, MetaField, MetaModel } from "../../core/domain/meta/meta.ts"
import { type ShortMeta, shortMeta, wholeMeta } from "../../core/domain/meta/short.ts"
import { fillTitle, suggestTitle } from "../../core/domain/model/title.ts"
import type { Json } from "../../core/domain/value/kind.ts"
import type { Shape } from "./shapes.ts"

export type Entity = { readonly [name: string]: Json }

interface Answer {
  readonly status: number
  readonly body: { readonly [name: string]: Json }
}

export interface Seen {
  /** `METHOD resource status`, each once. */
  readonly failures: readonly string[]
  /** The same with what was sent and answered: for people. */
  readonly details: readonly string[]
  /** `resource record`: records that are called by their keys although a text would name them. */
  readonly nameless: readonly string[]
  /** Resources in which a record was made, changed and deleted. */
  readonly written: readonly string[]
  /** Those of them that keep deleted records. */
  readonly kept: readonly string[]
}

const isEntity = (value: unknown): value is Entity =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const itemsOf = ({ body }: Answer): readonly Entity[] =>
  Array.isArray(body["items"]) ? body["items"].filter(isEntity) : []

/** A value as people read it. */
const plain = (value: Json | undefined): string => typeof value === "string" ? value : JSON.stringify(value ?? null)

export const keyOf = (model: MetaModel, record: Entity): string =>
  model.primaryKey.map((name) => encodeURIComponent(plain(record[name]))).join(",")

const rangeOf = ({ of }: Pick<MetaField, "of">, turn: number): string =>
  of === "date"
    ? `[2022-01-${10 + turn},2022-02-01)`
    : of === "timestamp"
    ? `[2022-01-${10 + turn}T10:00:00Z,)`
    : `[${turn},100)`

/** Two values each, as the database prints them. */
const nativeTexts: { readonly [type: string]: readonly [string, string] } = {
  bit: ["1", "0"],
  box: ["(1,1),(0,0)", "(2,2),(0,0)"],
  circle: ["<(0,0),1>", "<(0,0),2>"],
  datemultirange: ["{[2022-01-01,2022-01-05)}", "{}"],
  int4multirange: ["{[1,3),[5,7)}", "{}"],
  int8multirange: ["{[1,3)}", "{}"],
  line: ["{1,-1,0}", "{2,-1,0}"],
  lseg: ["[(0,0),(1,1)]", "[(0,0),(2,2)]"],
  macaddr8: ["08:00:2b:01:02:03:04:05", "08:00:2b:01:02:03:04:06"],
  nummultirange: ["{[1.5,3)}", "{}"],
  oid: ["26", "23"],
  path: ["((0,0),(1,1))", "[(0,0),(2,2)]"],
  pg_lsn: ["16/B374D848", "0/0"],
  point: ["(1,2)", "(3,4)"],
  polygon: ["((0,0),(1,1),(1,0))", "((0,0),(2,2),(2,0))"],
  timetz: ["10:00:00+00", "11:00:00+05:30"],
  tsmultirange: ["{[\"2022-01-01 00:00:00\",\"2022-01-02 00:00:00\")}", "{}"],
  tstzmultirange: ["{[\"2022-01-01 00:00:00+00\",\"2022-01-02 00:00:00+00\")}", "{}"],
  varbit: ["101", "0"],
  xid8: ["42", "7"],
  xml: ["<a/>", "<b>x</b>"]
}

/** A value that fits a field; `turn` tells values of one field apart. */
const valueOf = (
  field: Pick<
    MetaField,
    "bits" | "items" | "kind" | "max" | "name" | "of" | "precision" | "scale" | "type" | "values"
  >,
  turn: number
): Json => {
  switch (field.kind) {
    case "array":
      return [turn, turn + 1].map((each) => valueOf({ ...field.items!, name: field.name }, each))
    case "integer":
      return field.bits === 64 ? String(9000 + turn) : 9000 + turn
    case "float":
      return turn + 0.5
    case "decimal":
      return (field.precision ?? 20) - (field.scale ?? 0) > 0 ? String(turn) : "0"
    case "boolean":
      return turn % 2 === 0
    case "timestamp":
      return `2022-01-${10 + turn}T10:00:00Z`
    case "date":
      return `2022-01-${10 + turn}`
    case "uuid":
      return `99999999-9999-4999-8999-9999999999${10 + turn}`
    case "json":
      return { turn, text: "ä" }
    case "time":
      return `10:00:${10 + turn}`
    case "interval":
      return `P${turn + 1}D`
    case "inet":
      return `192.0.2.${turn + 1}`
    case "cidr":
      return `10.${turn}.0.0/16`
    case "macaddr":
      return `08:00:2b:01:02:${10 + turn}`
    case "bytes":
      return Buffer.from(`turn ${turn}`).toString("base64")
    case "money":
      return turn.toFixed(field.scale)
    case "range":
      return rangeOf(field, turn)
    case "native":
      return nativeTexts[field.type!]?.[turn % 2] ?? `unknown ${field.type}`
    case "enum":
      return field.values![turn % field.values!.length]!
    default:
      // The end differs, so that it stays when only few characters fit.
      return `Prüfung ${field.name} ${turn}`.slice(-(field.max ?? 200))
  }
}

/** Whether a record that is called by its key has a text that would name it better. */
const hasName = (model: MetaModel, record: Entity, title: string | null): boolean => {
  const filled = model.fields.filter(({ name }) => plain(record[name]) !== "" && (record[name] ?? null) !== null)
  const key = new Set(model.primaryKey)
  if (title === null) {
    // A key that is a text is a name, if no good one.
    return !filled.some(({ kind, name }) => key.has(name) && kind === "text") &&
      filled.some(({ kind, name, relation, sensitive }) =>
        kind === "text" && !sensitive && relation === undefined && !key.has(name)
      )
  }
  const fields = filled.map((field) => ({ ...field, relation: field.relation ?? null, file: field.file ?? null }))
  return suggestTitle(model.name, fields, key) !== null
}

/** Resources in an order in which each comes after those that it points at; a circle is cut somewhere. */
const inOrder = (models: readonly MetaModel[]): readonly MetaModel[] => {
  const byName = new Map(models.map((model) => [model.name, model]))
  const placed = new Set<MetaModel>()
  const place = (model: MetaModel, above: readonly MetaModel[]): void => {
    if (placed.has(model) || above.includes(model)) return
    for (const { relation } of model.fields) {
      const target = relation === undefined ? undefined : byName.get(relation)
      if (target !== undefined) place(target, [...above, model])
    }
    placed.add(model)
  }
  for (const model of models) place(model, [])
  return [...placed]
}

/** Whoever asks a service, with what was no success. */
interface Asker {
  readonly url: string
  readonly token: string
  readonly failures: string[]
  readonly details: string[]
  readonly send: (method: string, resource: string, rest: string, body?: Entity, etag?: Json) => Promise<Answer>
}

const askerOf = (url: string, token: string): Asker => {
  const failures: string[] = []
  const details: string[] = []
  return {
    url,
    token,
    failures,
    details,
    send: async (method, resource, rest, body, etag) => {
      const response = await fetch(`${url}/api/v1/${resource}${rest}`, {
        method,
        headers: {
          authorization: `Bearer ${token}`,
          ...(body === undefined ? {} : { "content-type": "application/json" }),
          ...(typeof etag === "string" ? { "if-match": etag } : {})
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) })
      })
      const text = await response.text()
      if (!response.ok) {
        const line = `${method} ${resource} ${response.status}`
        if (!failures.includes(line)) failures.push(line)
        details.push(`${line} ${rest} ${JSON.stringify(body)} → ${text}`)
      }
      return { status: response.status, body: text === "" ? {} : JSON.parse(text) as Entity }
    }
  }
}

/** A token of somebody with an account. */
export const tokenOf = async (url: string, email: string, password: string): Promise<string> => {
  const signedIn = await fetch(`${url}/api/auth/sign-in/email`, {
    method: "POST",
    headers: { "content-type": "application/json", origin: url },
    body: JSON.stringify({ email, password })
  })
  const cookie = signedIn.headers.getSetCookie().map((each) => each.split(";", 1)[0]!).join("; ")
  const answer = await fetch(`${url}/api/auth/token`, { headers: { cookie } })
  return (await answer.json() as { readonly token: string }).token
}

export interface Content extends Pick<MetaDocument, "models" | "permissions" | "views"> {
  /** The first records of each resource. */
  readonly lists: ReadonlyMap<string, readonly Entity[]>
  /** What people call a record; empty: its key. */
  readonly titleOf: (model: MetaModel, record: Entity) => string
}

const contentOf = async ({ send, token, url }: Asker): Promise<Content> => {
  const meta = await fetch(`${url}/api/meta`, { headers: { authorization: `Bearer ${token}` } })
  if (!meta.ok) throw new Error(`No meta document: ${meta.status} ${await meta.text()}`)
  const whole = await meta.json() as MetaDocument
  const again = wholeMeta(JSON.parse(JSON.stringify(shortMeta(whole))) as ShortMeta)
  if (!isDeepStrictEqual(again, whole)) throw new Error("The short form of the meta document says something else.")
  const { models, permissions, views } = whole
  const lists = new Map<string, readonly Entity[]>()
  for (const model of models) {
    lists.set(model.name, itemsOf(await send("GET", model.name, "?page_size=50&count=exact")))
  }
  const titleOf = (model: MetaModel, record: Entity): string => {
    const title = views[model.name]?.title ?? null
    return title === null ? "" : fillTitle(title, (name) => {
      const value = record[name]
      if (value === null || value === undefined) return ""
      const relation = model.fields.find((field) => field.name === name)?.relation
      const target = models.find((each) => each.name === relation)
      if (target === undefined) return plain(value)
      const related = lists.get(target.name)?.find((each) => plain(each[target.primaryKey[0]!]) === plain(value))
      return related === undefined ? "" : titleOf(target, related) || plain(value)
    })
  }
  return { models, permissions, views, lists, titleOf }
}

/** What a caller sees of a service. */
export const look = (url: string, token: string): Promise<Content> => contentOf(askerOf(url, token))

export const visit = async (url: string, token: string, shape: Shape): Promise<Seen> => {
  const nameless: string[] = []
  const written: string[] = []
  const asker = askerOf(url, token)
  const { details, failures, send } = asker
  const { lists, models, permissions, titleOf, views } = await contentOf(asker)
  for (const model of models) {
    const texts = model.fields.filter(({ kind, sortable }) => kind === "text" && sortable)
    if (texts.length > 0) await send("GET", model.name, `?order_by=${texts.map(({ name }) => name).join()}`)
    for (const record of lists.get(model.name) ?? []) {
      await send("GET", model.name, `/${keyOf(model, record)}`)
      if (titleOf(model, record) === "" && hasName(model, record, views[model.name]?.title ?? null)) {
        nameless.push(model.name)
      }
    }
  }

  const made = new Map<string, Entity>()
  const bodyOf = (model: MetaModel, turn: number, may: "create" | "update"): Entity => {
    const body: { [name: string]: Json } = {}
    for (const field of model.fields) {
      if (!field.writable[may]) continue
      const wanted = shape.values?.[model.name]?.[field.name]
      if (wanted !== undefined) body[field.name] = wanted
      else if (field.relation === undefined) body[field.name] = valueOf(field, turn)
      else if (may === "create") {
        const target = models.find((each) => each.name === field.relation)!
        const record = made.get(target.name) ?? lists.get(target.name)?.[0]
        if (record !== undefined) body[field.name] = record[target.primaryKey[0]!]!
      }
    }
    return body
  }
  const ordered = inOrder(models)
  for (const model of ordered) {
    if (!permissions[model.name]!.create) continue
    const { body, status } = await send("POST", model.name, "", bodyOf(model, 1, "create"))
    if (status === 201) made.set(model.name, body)
  }
  for (const model of ordered) {
    const record = made.get(model.name)
    if (record === undefined || !permissions[model.name]!.update) continue
    const change = bodyOf(model, 2, "update")
    if (Object.keys(change).length === 0) continue
    const { body } = await send("PATCH", model.name, `/${keyOf(model, record)}`, change, record["etag"])
    if (isEntity(body) && body["etag"] !== undefined) made.set(model.name, body)
  }
  for (const model of ordered.toReversed()) {
    const record = made.get(model.name)
    if (record === undefined || !permissions[model.name]!.delete) continue
    const { status } = await send("DELETE", model.name, `/${keyOf(model, record)}`, undefined, record["etag"])
    if (status < 300) written.push(model.name)
  }
  return {
    failures: failures.toSorted(),
    details,
    nameless: [...new Set(nameless)].toSorted(),
    written: written.toSorted(),
    kept: models.flatMap(({ name, softDelete }) => softDelete ? [name] : [])
  }
}
