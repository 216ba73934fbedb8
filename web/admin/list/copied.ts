/** Selected records as texts for the clipboard. Values are exact, no cell is a formula, and no key is a command. Pure. */

import { keyOf, type Resource } from "../model/catalogue.ts"
import type { AnyRecord } from "../model/client.ts"
import { valueAt } from "../model/paths.ts"
import { plain } from "../model/plain.ts"

/** A cell of CSV (RFC 4180). A text that a spreadsheet would take for a formula gets an apostrophe. Numbers do not change. */
export const csvCell = (value: unknown): string => {
  const text = plain(value)
  const safe = /^[=+@\t\r]/.test(text) || /^-(?![\d.]+$)/.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll("\"", "\"\"")}"` : safe
}

export const toCsv = (fields: readonly string[], records: readonly AnyRecord[]): string =>
  [fields, ...records.map((record) => fields.map((field) => valueAt(record, field)))]
    .map((line) => line.map(csvCell).join(",")).join("\r\n") + "\r\n"

export const toJson = (fields: readonly string[], records: readonly AnyRecord[]): string =>
  JSON.stringify(
    records.map((record) => Object.fromEntries(fields.map((field) => [field, valueAt(record, field) ?? null]))),
    null,
    2
  )

const markdownCell = (value: unknown): string => plain(value).replaceAll("|", "\\|").replaceAll(/\s*\n\s*/g, " ")

export const toMarkdown = (fields: readonly string[], records: readonly AnyRecord[]): string =>
  [
    fields,
    fields.map(() => "---"),
    ...records.map((record) => fields.map((field) => markdownCell(valueAt(record, field))))
  ]
    .map((line) => `| ${line.join(" | ")} |`).join("\n") + "\n"

const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`

/** A curl command that reads the records. The token is a shell variable in it. */
export const toCurl = (resource: Resource, records: readonly AnyRecord[], base: string): string =>
  records.map((record) => keyOf(resource, record)).filter((key) => key !== null)
    .map((key) => `curl -sS -H "Authorization: Bearer $TOKEN" ${quoted(`${base}/${resource.name}/${key}`)}`).join(
      "\n"
    ) +
  "\n"
