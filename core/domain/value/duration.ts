/** Durations as people write them in a configuration: milliseconds, or a number with a unit. */

const units: { readonly [unit: string]: number } = {
  ms: 1,
  millisecond: 1,
  s: 1_000,
  second: 1_000,
  m: 60_000,
  min: 60_000,
  minute: 60_000,
  h: 3_600_000,
  hour: 3_600_000,
  d: 86_400_000,
  day: 86_400_000,
  w: 604_800_000,
  week: 604_800_000
}

/** A duration: milliseconds, or text such as `30 seconds`, `5m`, `1.5 hours`, `2 days`. */
export type Duration = number | string

/** Longest duration, in milliseconds: ten years. */
const longestDuration = 315_360_000_000

/** Milliseconds of a duration, rounded to whole ones; null when it is none, is negative or is longer than ten years. */
export const durationMs = (value: unknown): number | null => {
  if (typeof value === "number") {
    return Number.isFinite(value) && value >= 0 && value <= longestDuration ? Math.round(value) : null
  }
  if (typeof value !== "string") return null
  const parts = /^\s*(\d{1,12}(?:\.\d{1,6})?)\s*([a-z]+)\s*$/i.exec(value)
  if (parts === null) return /^\s*0\s*$/.test(value) ? 0 : null
  const name = parts[2]!.toLowerCase()
  const unit = units[name] ?? (name.length > 2 && name.endsWith("s") ? units[name.slice(0, -1)] : undefined)
  return unit === undefined ? null : durationMs(Number(parts[1]) * unit)
}
