/** Records as text: all that a list matches as a file, or the selected ones into the clipboard. Exact values, and no cell that a spreadsheet runs. */

import { plain } from "../field/plain.ts"
import type { Formats } from "../messages/formats.ts"
import type { Messages } from "../messages/locale.tsx"
import { keyOf, type Resource } from "../shell/catalogue.ts"
import { type AnyRecord, resourceClient } from "../shell/client.ts"
import { sayProblem } from "../shell/problem.tsx"
import { noticeFailure } from "../shell/session.ts"
import { say } from "../shell/toasts.tsx"

/** A cell of CSV (RFC 4180). A text that a spreadsheet would take for a formula gets an apostrophe; numbers stay as they are. */
export const csvCell = (value: unknown): string => {
  const text = plain(value)
  const safe = /^[=+@\t\r]/.test(text) || /^-(?![\d.]+$)/.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll("\"", "\"\"")}"` : safe
}

export const toCsv = (fields: readonly string[], records: readonly AnyRecord[]): string =>
  [fields, ...records.map((record) => fields.map((field) => record[field]))]
    .map((line) => line.map(csvCell).join(",")).join("\r\n") + "\r\n"

export const toJson = (fields: readonly string[], records: readonly AnyRecord[]): string =>
  JSON.stringify(
    records.map((record) => Object.fromEntries(fields.map((field) => [field, record[field] ?? null]))),
    null,
    2
  )

const markdownCell = (value: unknown): string => plain(value).replaceAll("|", "\\|").replaceAll(/\s*\n\s*/g, " ")

export const toMarkdown = (fields: readonly string[], records: readonly AnyRecord[]): string =>
  [fields, fields.map(() => "---"), ...records.map((record) => fields.map((field) => markdownCell(record[field])))]
    .map((line) => `| ${line.join(" | ")} |`).join("\n") + "\n"

const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`

/** A call of curl that gets the records. The token stays a variable of the shell. */
export const toCurl = (resource: Resource, records: readonly AnyRecord[], base: string): string =>
  records.map((record) => keyOf(resource, record)).filter((key) => key !== null)
    .map((key) => `curl -sS -H "Authorization: Bearer $TOKEN" ${quoted(`${base}/${resource.name}/${key}`)}`).join(
      "\n"
    ) +
  "\n"

interface ExportOptions {
  readonly resource: Resource
  readonly as: "csv" | "json"
  readonly filter: string
  readonly order: string
  readonly deleted: boolean
  readonly fields: readonly string[]
  readonly t: Messages
  readonly format: Formats
}

/** Reads all that matches, page by page, and saves it. What was read is told as it goes; leaving the page ends it. */
export const exportRows = (options: ExportOptions): void => {
  const { as, deleted, fields, filter, format, order, resource, t } = options
  const read = async (): Promise<void> => {
    const parts: string[] = []
    let count = 0
    let token = ""
    let told = performance.now()
    do {
      const page = await resourceClient(resource.name).list({
        filter,
        order_by: order,
        fields,
        page_size: 500,
        ...(deleted ? { show_deleted: true } : {}),
        ...(token === "" ? {} : { page_token: token })
      })
      const text = as === "csv" ? toCsv(fields, page.items) : toJson(fields, page.items)
      // One heading and one pair of brackets for all pages.
      parts.push(
        as === "csv" ? (count === 0 ? text : text.slice(text.indexOf("\r\n") + 2)) : text.slice(1, -2).trimEnd()
      )
      count += page.items.length
      token = page.next_page_token
      if (performance.now() - told > 2_000) {
        told = performance.now()
        say(t.list.exporting(format.count(count)))
      }
    } while (token !== "")
    const body = as === "csv" ? parts.join("") : `[${parts.filter((part) => part !== "").join(",")}\n]\n`
    const url = URL.createObjectURL(new Blob([body], { type: as === "csv" ? "text/csv" : "application/json" }))
    const link = document.createElement("a")
    link.href = url
    link.download = `${resource.name}.${as}`
    link.click()
    URL.revokeObjectURL(url)
    say(t.list.exporting(format.count(count)))
  }
  read().catch((error: unknown) => {
    noticeFailure(error)
    sayProblem(error, t)
  })
}
