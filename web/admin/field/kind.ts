/** What kinds of fields mean for showing them: which are numbers, which enums are states, which decimals are amounts. Pure. */

import type { MetaField } from "../../client/index.ts"
import type { Resource } from "../shell/catalogue.ts"

export type Tone = "ok" | "info" | "warn" | "bad" | "violet" | "plain"

/** Words of states by what they mean for whoever looks through a list. */
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

/** The colour of a value. */
export const toneOf = (value: string): Tone => tones.get(value.toLowerCase()) ?? "plain"

/** Whether an enum is a state, drawn as a dot and a word: half of its values are words of states. */
export const isState = ({ values = [] }: MetaField): boolean =>
  values.length > 1 && values.filter((value) => tones.has(value.toLowerCase())).length * 2 >= values.length

/** Whether values are quantities: right-aligned, summed up, drawn as a distribution. */
export const isQuantity = (field: MetaField): boolean =>
  field.relation === undefined && (field.kind === "integer" || field.kind === "decimal" || field.kind === "float")

/** Whether an integer names its record and counts nothing: it is shown without groups of digits. */
export const isIdentifier = (resource: Resource, field: MetaField): boolean =>
  field.kind === "integer" && (resource.model.primaryKey.includes(field.name) || field.relation !== undefined)

/** Whether values stand at the end of their column. */
export const isEndAligned = (field: MetaField): boolean => isQuantity(field)

const amounts = /total|price|amount|cost|sum|value|fee|tax|discount|credit|margin|revenue|balance|paid|due|net|gross/

/** The field with the currency of an amount of the same record, or null. */
export const currencyOf = (resource: Resource, field: MetaField): MetaField | null => {
  if (field.kind !== "decimal" || !amounts.test(field.name)) return null
  const found = resource.model.fields.filter(({ kind }) => kind === "currency")
  return found.length === 1 ? found[0]! : null
}

/** The relation behind a foreign key, by which `expand` brings the related record; undefined where the caller sees none. */
export const relationOf = (resource: Resource, field: MetaField) =>
  field.relation === undefined
    ? undefined
    : resource.model.relations.find((each) => !each.many && each.field === field.name)

/** Usual width of a column in pixels. */
export const widthOf = (resource: Resource, field: MetaField): number => {
  if (field.relation !== undefined) return 178
  switch (field.kind) {
    case "boolean":
      return 92
    case "integer":
      return 116
    case "decimal":
    case "float":
      return 150
    case "date":
      return 122
    case "timestamp":
      return 138
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
      return 220
    default:
      return resource.view.title === field.name ? 260 : (field.max ?? 999) <= 30 ? 140 : 220
  }
}
