/**
 * The envelope of an event: what a receiver gets (docs/reference/events.md#a-try). Its records are what a get returns to the receiver: exact texts as JSON,
 * without fields that the receiver may not read, and without sensitive fields.
 */

import type { ChangeOperation } from "../model/event.ts"
import type { Field, Model, WireRecord } from "../model/model.ts"
import { writeKey } from "../read/key.ts"
import { jsonWriter } from "../value/cell.ts"
import type { Json, Row } from "../value/kind.ts"
import type { Actor } from "./change.ts"

/** An event as `run` and `body` get it, and as JSON the body of a request. */
export interface EventEnvelope {
  /** The same for every copy, with the prefix `evt_`; the header `webhook-id`. */
  readonly id: string
  /** `<resource>.<event>` */
  readonly type: string
  /** When the change was made (RFC 3339). */
  readonly timestamp: string
  readonly data: {
    readonly resource: string
    readonly operation: ChangeOperation
    /** As in URLs. */
    readonly key: string
    /** Decimal text that grows with every change of a record. */
    readonly sequence: string
    /** Left out in a thin event. Null when the row was removed. */
    readonly after?: WireRecord | null
    /** Left out in a thin event. Null for a create, and where the row before could not be read. */
    readonly before?: WireRecord | null
    /** Names of the fields that changed. For a create: the fields that have a value. */
    readonly changed: readonly string[]
    /** The record's tenant as its field has it, or null. */
    readonly tenant: Json
    /** Who wrote through the API, or null. */
    readonly actor: Actor | null
    readonly source: "api" | "database"
    readonly transaction: string
  }
  /** True for test events. */
  readonly test: boolean
}

/** What an envelope is made of. */
export interface EnvelopeParts {
  readonly id: string
  readonly event: string
  readonly at: string
  readonly model: Model
  readonly operation: ChangeOperation
  readonly before: Row | null
  readonly after: Row | null
  /** The row that gives the key and the tenant. */
  readonly row: Row
  /** Fields that records show, in order. */
  readonly fields: readonly Field[]
  readonly changed: readonly string[]
  readonly actor: Actor | null
  readonly sequence: string
  readonly transaction: string
  readonly thin: boolean
  readonly test: boolean
}

const recordJson = (fields: readonly Field[], row: Row | null): string =>
  row === null ? "null" : `{${
    fields.map((field) => {
      const cell = row[field.index] ?? null
      return `${JSON.stringify(field.name)}:${cell === null ? "null" : jsonWriter(field)(cell)}`
    }).join(",")
  }}`

/** The JSON of an envelope. Parsed, it is an `EventEnvelope`. */
export const envelopeJson = (parts: EnvelopeParts): string => {
  const { actor, after, before, fields, model, row } = parts
  const { tenant } = model
  const tenantCell = tenant === null ? null : row[tenant.index] ?? null
  const texts = [
    ["resource", JSON.stringify(model.name)],
    ["operation", JSON.stringify(parts.operation)],
    ["key", JSON.stringify(writeKey(model.key.map(({ index }) => row[index] ?? null)))],
    ["sequence", JSON.stringify(parts.sequence)],
    ...(parts.thin ? [] : [["after", recordJson(fields, after)], ["before", recordJson(fields, before)]]),
    ["changed", JSON.stringify(parts.changed)],
    ["tenant", tenantCell === null ? "null" : jsonWriter(tenant!)(tenantCell)],
    ["actor", JSON.stringify(actor)],
    ["source", actor === null ? "\"database\"" : "\"api\""],
    ["transaction", JSON.stringify(parts.transaction)]
  ]
  return `{"id":${JSON.stringify(parts.id)},"type":${JSON.stringify(`${model.name}.${parts.event}`)},"timestamp":${
    JSON.stringify(parts.at)
  },"data":{${texts.map(([name, text]) => `"${name}":${text}`).join(",")}},"test":${parts.test}}`
}
