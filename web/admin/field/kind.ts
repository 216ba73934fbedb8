/** How fields are shown by their kind: which are quantities, which enums are states, which decimals are amounts. Pure. */

import { currencyOf as currencyIn } from "../../../core/domain/model/amount.ts"
import { fieldsOfTitle } from "../../../core/domain/model/title.ts"
import type { MetaField } from "../../client/index.ts"
import { type Resource, toOneOf } from "../model/catalogue.ts"

/** Whether a text takes several lines: an address of mail (254) or a name is one. */
export const isLong = (field: MetaField): boolean =>
  field.kind === "json" || field.kind === "bytes" ||
  (field.kind === "text" && field.relation === undefined && (field.multiline ?? (field.max ?? 9_999) > 320))

/** Whether a field holds a file, or several. */
export const holdsFiles = ({ kind }: MetaField): boolean => kind === "file" || kind === "files"

export type Tone = "ok" | "info" | "warn" | "bad" | "violet" | "plain"

/** Common names of states, by the tone of their colour. */
const toneWords: Readonly<Record<Exclude<Tone, "plain">, readonly string[]>> = {
  ok: [
    "paid",
    "active",
    "done",
    "complete",
    "completed",
    "approved",
    "published",
    "delivered",
    "resolved",
    "won",
    "confirmed",
    "succeeded",
    "success",
    "enabled",
    "verified"
  ],
  info: [
    "shipped",
    "sent",
    "processing",
    "running",
    "in_progress",
    "open",
    "new",
    "scheduled",
    "review",
    "started",
    "live"
  ],
  warn: [
    "pending",
    "waiting",
    "retrying",
    "unpaid",
    "partial",
    "on_hold",
    "paused",
    "warning",
    "due",
    "invited",
    "requested"
  ],
  bad: [
    "cancelled",
    "canceled",
    "failed",
    "rejected",
    "overdue",
    "banned",
    "error",
    "expired",
    "lost",
    "blocked",
    "declined",
    "disabled",
    "critical"
  ],
  violet: ["refunded", "returned", "archived", "merged", "replaced"]
}

const tones: ReadonlyMap<string, Tone> = new Map(
  Object.entries(toneWords).flatMap(([tone, words]) => words.map((word) => [word, tone as Tone] as const))
)

/** The tone of an enum's value, which decides its colour. */
export const toneOf = (value: string): Tone => tones.get(value.toLowerCase()) ?? "plain"

/** Whether an enum is a state and is shown with a coloured dot: at least half of its values are common names of states. */
export const isState = ({ values = [] }: MetaField): boolean =>
  values.length > 1 && values.filter((value) => tones.has(value.toLowerCase())).length * 2 >= values.length

/** Whether values are quantities: right-aligned, summed up, drawn as a distribution. */
export const isQuantity = (field: MetaField): boolean =>
  field.relation === undefined &&
  (field.kind === "integer" || field.kind === "decimal" || field.kind === "float" || field.kind === "money")

/** Whether values are texts of one exact form, which are shown letter by letter. */
export const isExact = ({ kind }: MetaField): boolean =>
  ["uuid", "json", "interval", "inet", "cidr", "macaddr", "bytes", "range", "native"].includes(kind)

/** Whether an integer identifies a record (a key or foreign key). Such a number is shown without digit grouping. */
export const isIdentifier = (resource: Resource, field: MetaField): boolean =>
  field.kind === "integer" && (resource.model.primaryKey.includes(field.name) || field.relation !== undefined)

/** Whether a field is a number that counts or measures something, so that a sum of it can be asked for. */
export const isMeasure = (resource: Resource, field: MetaField): boolean =>
  isQuantity(field) && !isIdentifier(resource, field)

/** Whether values are aligned at the end of their column. */
export const isEndAligned = (field: MetaField): boolean => isQuantity(field)

/** The field with the currency of an amount of the same record, or null. */
export const currencyOf = (resource: Resource, field: MetaField): MetaField | null =>
  currencyIn(field, resource.model.fields)

/** The relation of a foreign key, which `expand` follows. Undefined if the caller does not see it. */
export const relationOf = (resource: Resource, field: MetaField) =>
  field.relation === undefined ? undefined : toOneOf(resource.model, field.name)

/** Default width of a column in pixels. */
export const widthOf = (resource: Resource, field: MetaField): number => {
  if (field.relation !== undefined) return 178
  switch (field.kind) {
    case "boolean":
      return 92
    case "integer":
      return 116
    case "time":
      return 112
    case "interval":
    case "inet":
    case "cidr":
    case "macaddr":
      return 160
    case "decimal":
    case "float":
    case "money":
      return 150
    case "date":
      return 122
    case "timestamp":
      return 176
    case "enum":
      return isState(field) ? 132 : 108
    case "currency":
      return 96
    case "country":
      return 140
    case "uuid":
      return 300
    case "json":
    case "file":
    case "files":
    case "array":
      return 220
    default:
      return fieldsOfTitle(resource.view.title ?? "").includes(field.name) ? 260 : (field.max ?? 999) <= 30 ? 140 : 220
  }
}
