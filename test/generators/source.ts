/** Values as source text that can be pasted into a test. A compiled field becomes `field("name")`: a test has a function of that kind. */

import type { Field } from "../../core/domain/model/model.ts"

const width = 110

const isField = (value: object): value is Field =>
  "kind" in value && "column" in value && "index" in value && "name" in value

/** A text as a literal; what an editor would not show is escaped. */
const text = (value: string): string =>
  JSON.stringify(value).replace(
    /(?! )[\p{Mark}\p{Other}\p{Separator}]/gu,
    (sign) => sign.split("").map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`).join("")
  )

const list = (open: string, items: readonly string[], close: string, indent: string, space = ""): string => {
  const line = `${open}${space}${items.join(", ")}${space}${close}`
  if (items.length === 0) return open + close
  if (line.length + indent.length <= width && !line.includes("\n")) return line
  return `${open}\n${items.map((item) => `${indent}  ${item}`).join(",\n")}\n${indent}${close}`
}

const member = (name: string): string => /^[A-Za-z_$][\w$]*$/.test(name) ? name : text(name)

/** A value as an expression of TypeScript. It throws for what no expression makes again: functions, and objects of unknown classes. */
export const sourceOf = (value: unknown, indent = ""): string => {
  const next = `${indent}  `
  const all = (values: Iterable<unknown>): readonly string[] => Array.from(values, (each) => sourceOf(each, next))
  switch (typeof value) {
    case "string":
      return text(value)
    case "bigint":
      return `${value}n`
    case "number":
      return Object.is(value, -0) ? "-0" : String(value)
    case "boolean":
    case "undefined":
      return String(value)
    case "object":
      break
    default:
      throw new Error(`no source for a ${typeof value}`)
  }
  if (value === null) return "null"
  if (Array.isArray(value)) return list("[", all(value), "]", indent)
  if (isField(value)) return `field(${text(value.name)})`
  if (value instanceof Map) return list("new Map([", all(value), "])", indent)
  if (value instanceof Set) return list("new Set([", all(value), "])", indent)
  if (value instanceof Date) return `new Date(${text(value.toISOString())})`
  if (value instanceof Uint8Array) return `Uint8Array.of(${value.join(", ")})`
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype !== Object.prototype && prototype !== null) {
    throw new Error(`no source for a ${value.constructor.name}`)
  }
  const members = Object.entries(value).map(([name, each]) => `${member(name)}: ${sourceOf(each, next)}`)
  return list("{", members, "}", indent, " ")
}

/** Values by name as declarations, one a line. */
export const declarations = (values: { readonly [name: string]: unknown }): string =>
  Object.entries(values).map(([name, value]) => `const ${name} = ${sourceOf(value)}`).join("\n")
