/**
 * How commands speak: text and tables for people, JSON for programs, refusals on standard error with an exit code. It decides the form and
 * never the content.
 */

import { fileProblem } from "../startup-error.ts"

/** A failure that a person can act on: its message is all that is printed. Exit code 1. */
export class CliFailure extends Error {
  override readonly name = "CliFailure"
}

export const print = (text: string): void => {
  process.stdout.write(`${text}\n`)
}

/** Progress and advice that must not mix with printed data. */
export const note = (text: string): void => {
  process.stderr.write(`${text}\n`)
}

export const printJson = (value: unknown): void => print(JSON.stringify(value, null, 2))

/** Columns with a heading, aligned; without rows the text for none. */
export const printTable = (headings: readonly string[], rows: ReadonlyArray<readonly string[]>, none: string): void => {
  if (rows.length === 0) return print(none)
  const widths = headings.map((heading, i) => Math.max(heading.length, ...rows.map((row) => row[i]?.length ?? 0)))
  for (const row of [headings, ...rows]) {
    print(row.map((cell, i) => i === row.length - 1 ? cell : cell.padEnd(widths[i] ?? 0)).join("  ").trimEnd())
  }
}

/** Errors whose message says it all. */
const plain = new Set([
  "CliFailure",
  "ConfigFileError",
  "ViteMissing",
  "StartupError",
  "EmbeddedDatabaseError",
  "AccountError",
  "MigrationFileError"
])

/** What went wrong, for people: a message alone where that is enough, else with its stack. */
export const describe = (error: unknown): string => {
  if (!(error instanceof Error)) return String(error)
  const file = fileProblem(error)
  if (file !== null) return file
  return plain.has(error.name) || "_tag" in error && plain.has(String(error._tag))
    ? error.message.trimEnd()
    : `Something went wrong that should not: ${error.stack ?? error.message}`
}
