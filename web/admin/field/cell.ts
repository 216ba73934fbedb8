/**
 * What a cell of a list shows of a value, as data: by its kind a state with its dot, an amount with its currency, a foreign key as the name and link of the
 * related record. React draws it, and the rows that stand before React does. Nothing of a value ever becomes markup. Pure.
 */

import type { MetaField } from "../../client/index.ts"
import { addressOf, expandedOf, keyOf, type Resource, titleOf } from "../model/catalogue.ts"
import { plain, short } from "../model/plain.ts"
import chips from "./array.module.css"
import { elementOf, elementsOf } from "./array.ts"
import { currencyOf, isExact, isIdentifier, isState, relationOf, toneOf } from "./kind.ts"
import { enumText, type TextContext, textOf } from "./text.ts"

/** An element with its texts and elements. */
export interface Piece {
  readonly tag: "a" | "bdi" | "span" | "time"
  readonly name?: string | undefined
  readonly dir?: "auto" | "ltr"
  /** The colour of a state. */
  readonly tone?: string
  /** The instant or day of a `time`. */
  readonly at?: string
  /** What a pointer that rests is told. A function: rows that stand for a moment do without, and each is a format of its own. */
  readonly title?: () => string
  /** The address in the app that an `a` leads to. */
  readonly to?: string
  /** A picture before the texts. */
  readonly icon?: "check" | "minus"
  readonly of: readonly (Piece | string)[]
}

export interface Shown {
  readonly resource: Resource
  readonly field: MetaField
  readonly value: unknown
  /** The record of the value, for its currency and its related records (`expand`). */
  readonly record?: { readonly [field: string]: unknown }
  /** False: the name of a related record is not a link, because a button or an option contains it. */
  readonly linked?: boolean
  /** False: an amount comes without its currency, which stands beside it. */
  readonly coded?: boolean
}

const piece = (tag: Piece["tag"], name: string, ...of: readonly (Piece | string)[]): Piece => ({ tag, name, of })

const text = (value: string): Piece => ({ tag: "bdi", name: "cut", dir: "auto", of: [value] })

/** The record that a foreign key leads to. `resources`: those of the catalogue, by name. */
export const relatedPiece = (
  { field, linked = true, record, resource, value }: Shown,
  resources: ReadonlyMap<string, Resource>
): Piece => {
  const target = field.relation === undefined ? undefined : resources.get(field.relation)
  const relation = relationOf(resource, field)
  const related = relation === undefined ? null : expandedOf(record, relation.name)
  const name = target === undefined || related === null
    ? `#${short(plain(value), 200)}`
    : titleOf(target, related, true)
  const key = target === undefined
    ? null
    : related === null
    // Without the related record, its key is known only if the foreign key points at the primary key.
    ? (target.model.primaryKey.length === 1 && relation?.targetField === target.model.primaryKey[0]
      ? encodeURIComponent(plain(value).toWellFormed())
      : null)
    : keyOf(target, related)
  return target === undefined || key === null || !linked
    ? text(name)
    : { tag: "a", name: "related cut", dir: "auto", to: addressOf(target, key), of: [name] }
}

/** A state as a dot and a word. */
export const statePiece = (value: string): Piece => ({
  tag: "span",
  name: "badge",
  tone: toneOf(value),
  of: [text(short(enumText(value), 200))]
})

/** Most chips of a cell. */
const mostChips = 8

/** The text of an element of a list, and of one that is null. */
export const elementText = (resource: Resource, field: MetaField, value: unknown, reader: TextContext): string =>
  value === null
    ? reader.t.field.empty
    : short(Array.isArray(value) ? plain(value) : textOf(resource, elementOf(field), value, reader), 200)

/** The elements of a list as chips. */
const arrayPiece = ({ field, resource, value }: Shown, reader: TextContext): Piece => {
  const elements = elementsOf(value)
  const visible = elements.slice(0, mostChips)
  return {
    tag: "span",
    name: chips["tags"],
    of: [
      ...visible.map((each): Piece => ({
        tag: "span",
        name: chips["tag"],
        of: [{ ...text(elementText(resource, field, each, reader)), name: each === null ? "dim cut" : "cut" }]
      })),
      ...(elements.length > visible.length
        ? [
          {
            tag: "span",
            name: chips["more"],
            of: [`+${reader.format.count(elements.length - visible.length)}`]
          } as const
        ]
        : [])
    ]
  }
}

/** The value of a field that leads to no record and holds no file. Null for an empty one. */
export const valuePiece = (shown: Shown, reader: TextContext): Piece | null => {
  const { coded = true, field, record, resource, value } = shown
  if (value === null || value === undefined) return null
  // A version may come with the name of who made it.
  const maker = field.name === "history_by" ? plain(expandedOf(record, field.name)?.["name"]) : ""
  // A value may be long: a cell shows no more than fits.
  const words = short(maker || textOf(resource, field, value, reader), 500)
  switch (field.kind) {
    case "boolean":
      return value === true
        ? { ...piece("span", "yes", piece("span", "hush", words)), icon: "check" }
        : { ...piece("span", "dim", piece("span", "hush", words)), icon: "minus" }
    case "enum":
      return isState(field) ? statePiece(plain(value)) : piece("bdi", "cut", words)
    case "timestamp":
      return {
        ...piece("time", "dim cut", words),
        at: plain(value),
        title: () => reader.format.exactTime(plain(value))
      }
    case "date":
      return { ...piece("time", "cut", words), at: plain(value) }
    case "decimal": {
      const currency = currencyOf(resource, field)
      const code = currency === null || !coded ? undefined : record?.[currency.name]
      return typeof code === "string"
        ? piece("span", "cut", words, piece("span", "dim", ` ${code}`))
        : piece("span", "cut", words)
    }
    case "integer":
      return piece("span", isIdentifier(resource, field) ? "dim cut" : "cut", words)
    case "array":
      return arrayPiece(shown, reader)
    default:
      return isExact(field) ? { ...piece("span", "mono cut", words), dir: "ltr" } : text(words)
  }
}
