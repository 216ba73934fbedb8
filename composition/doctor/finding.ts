/** What the doctor finds: one thing that is wrong, slow or worth knowing, with what mends it. It judges nothing itself. */

export interface Finding {
  /** `error`: something does not work or is not safe. `warning`: it will hurt. `note`: worth knowing. */
  readonly level: "error" | "warning" | "note"
  /** What was looked at: `index`, `rights`, `clock`, … */
  readonly check: string
  readonly resource: string | null
  readonly field: string | null
  readonly message: string
  /** What to do, as a sentence; null where the SQL says it. */
  readonly fix: string | null
  /** Statements that mend it, in order. */
  readonly sql: readonly string[]
}

const levels = ["error", "warning", "note"] as const

/** Worst first, otherwise in the order found. */
export const sortFindings = (findings: readonly Finding[]): readonly Finding[] =>
  levels.flatMap((level) => findings.filter((finding) => finding.level === level))

/** Findings as text for people: by resource, each with its remedy. */
export const printFindings = (findings: readonly Finding[]): string => {
  const lines: string[] = []
  for (const { field, fix, level, message, resource, sql } of sortFindings(findings)) {
    const place = resource === null ? "" : `${resource}${field === null ? "" : `.${field}`}: `
    lines.push(`${level.padEnd(8)}${place}${message}`)
    if (fix !== null) lines.push(`        → ${fix}`)
    for (const statement of sql) lines.push(`        ${statement}`)
  }
  return lines.join("\n")
}
