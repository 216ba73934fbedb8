/**
 * Typed texts of kinds that are one exact text: times of day, intervals, addresses, bytes, ranges. The service's own codec reads them, so people see what it
 * would refuse before they save. Pure.
 */

import * as Result from "effect/Result"
import { cellFromJson } from "../../../core/domain/value/cell.ts"
import { isRangeElement, rangeExample } from "../../../core/domain/value/exact.ts"
import type { MetaField } from "../../client/index.ts"
import type { Messages } from "../messages/locale.tsx"
import { shapeOf } from "../model/conditions.ts"
import { type Draft, parseText } from "./parse.ts"

const examples: { readonly [kind in MetaField["kind"]]?: string } = {
  time: "09:30:00",
  interval: "P1Y2M3DT4H5M6S",
  inet: "192.0.2.1",
  cidr: "192.0.2.0/24",
  macaddr: "08:00:2b:01:02:03",
  bytes: "aGVsbG8="
}

/** How a value of the field is written, such as `09:30:00`; undefined where the kind needs no such hint. */
export const exampleOf = (field: MetaField): string | undefined =>
  field.kind === "range"
    ? rangeExample(isRangeElement(field.of) ? field.of : "integer")
    : Object.hasOwn(examples, field.kind)
    ? examples[field.kind]
    : undefined

/** Parses the typed text of a field of any kind. */
export const parseField = (field: MetaField, text: string, t: Pick<Messages, "field">): Draft => {
  const example = exampleOf(field)
  const typed = text.trim()
  if (example === undefined || typed === "") return parseText(field, text, t)
  const read = cellFromJson({ ...shapeOf(field), optional: false }, typed)
  if (Result.isSuccess(read)) return { value: read.success, problem: null, text }
  const problem = read.failure.code === "max" ? t.field.tooManyBytes(String(field.max)) : t.field.notLike(example)
  return { value: undefined, problem, text }
}
