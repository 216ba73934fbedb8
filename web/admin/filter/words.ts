/** A condition in words: the field's label, the operator, and the formatted values. Pure. */

import type { MetaField } from "../../client/index.ts"
import { elementOf } from "../field/array.ts"
import { type TextContext, textOf } from "../field/text.ts"
import type { Messages } from "../messages/locale.tsx"
import { fieldLabel, type Resource } from "../model/catalogue.ts"
import type { Condition, Operator, Simple } from "../model/conditions.ts"
import { type Path, pathLabels, relationLabel, waysOf } from "../model/paths.ts"
import { subjectAt } from "../model/subjects.ts"

/** The word for an operator, by the field's kind: `after` for times, `over` for numbers. */
export const operatorWord = (is: Operator, field: MetaField | undefined, t: Messages): string => {
  const time = field?.kind === "timestamp" || field?.kind === "date"
  const list = field?.kind === "array"
  const words: Readonly<Record<Operator, string>> = {
    oneOf: list ? t.filter.hasAny : t.filter.oneOf,
    noneOf: list ? t.filter.hasNone : t.filter.noneOf,
    is: t.filter.is,
    isNot: t.filter.isNot,
    contains: list ? t.filter.has : t.filter.contains,
    atLeast: time ? t.filter.since : t.filter.atLeast,
    atMost: time ? t.filter.until : t.filter.atMost,
    over: time ? t.filter.after : t.filter.over,
    under: time ? t.filter.before : t.filter.under,
    inLast: t.filter.inLast,
    empty: t.filter.empty,
    notEmpty: t.filter.notEmpty,
    search: t.filter.search
  }
  return words[is]
}

/** A duration such as `30d` in words. */
export const spanText = (span: string, t: Messages): string => {
  const unit = span.slice(-1) as keyof Messages["filter"]["units"]
  return t.filter.units[unit](Number(span.slice(0, -1)))
}

const booleans: Readonly<Record<string, boolean>> = { true: true, false: false }

/** The formatted value of a condition. */
const valueText = (
  resource: Resource,
  of: MetaField,
  is: Operator,
  value: string,
  reader: TextContext,
  titles?: ReadonlyMap<string, string>
): string => {
  const field = elementOf(of)
  return is === "inLast"
    ? spanText(value, reader.t)
    : field.relation !== undefined
    ? titles?.get(value) ?? `#${value}`
    : field.kind === "timestamp"
    ? reader.format.dateTime(value)
    : textOf(resource, field, field.kind === "boolean" ? booleans[value] : value, reader)
}

/** What people call the subject of a condition: `Customer → Country`, and of a number the records that are counted. */
export const subjectLabel = (resource: Resource, { field, text, ...path }: Path, t: Messages): string => {
  const counted = waysOf(resource).find(({ relation }) => text === `count(${relation.name})`)
  return counted === undefined
    ? pathLabels(resource, { field, text, ...path }).reduce((before, label) => t.paths.through(before, label))
    : relationLabel(resource, counted.relation)
}

export interface ConditionWords {
  readonly label: string
  readonly operator: string
  readonly value: string
}

const simpleWords = (
  simple: Simple,
  resource: Resource,
  reader: TextContext,
  titles?: ReadonlyMap<string, string>
): ConditionWords => {
  const { t } = reader
  if (simple.is === "search") return { label: t.filter.search, operator: "", value: `“${simple.values[0] ?? ""}”` }
  const subject = subjectAt(resource, simple.field)
  return {
    label: subject === undefined ? fieldLabel(resource, simple.field) : subjectLabel(resource, subject, t),
    operator: operatorWord(simple.is, subject?.field, t),
    value: subject === undefined
      ? simple.values.join(", ")
      : simple.values
        .map((value) => valueText(subject.resource, subject.field, simple.is, value, reader, titles)).join(", ")
  }
}

/**
 * The text of a chip. A condition that is not simple is shown as filter text. `titles`: those of related records, by the values of the condition; a
 * record that has none there is shown by its key.
 */
export const wordsOf = (
  condition: Condition,
  resource: Resource,
  reader: TextContext,
  titles?: ReadonlyMap<string, string>
): ConditionWords =>
  condition.simple === null
    ? { label: "", operator: "", value: condition.text }
    : simpleWords(condition.simple, resource, reader, titles)
