/** Sizes and durations as people write them: `512 KiB`, `1.5 GB`, `1d`, `12 hours`. It gives whole bytes and milliseconds, or null. */

/** Bytes of a unit: decimal prefixes are powers of 1000, binary ones of 1024 (IEC 80000-13). */
const units: { readonly [unit: string]: number } = {
  "": 1,
  b: 1,
  byte: 1,
  bytes: 1,
  kb: 1e3,
  mb: 1e6,
  gb: 1e9,
  tb: 1e12,
  kib: 2 ** 10,
  mib: 2 ** 20,
  gib: 2 ** 30,
  tib: 2 ** 40
}

const milliseconds: { readonly [unit: string]: number } = {
  ms: 1,
  s: 1e3,
  m: 6e4,
  h: 36e5,
  d: 864e5,
  w: 6048e5
}

const durationNames: { readonly [name: string]: keyof typeof milliseconds } = {
  ms: "ms",
  s: "s",
  sec: "s",
  second: "s",
  seconds: "s",
  m: "m",
  min: "m",
  minute: "m",
  minutes: "m",
  h: "h",
  hour: "h",
  hours: "h",
  d: "d",
  day: "d",
  days: "d",
  w: "w",
  week: "w",
  weeks: "w"
}

const amount = /^\s*([0-9]{1,15}(?:\.[0-9]{1,6})?)\s*([A-Za-z]*)\s*$/

/** Whole bytes of a number or a text such as `512 KiB` or `1.5 GB`; null for anything else. */
export const readBytes = (raw: unknown): number | null => {
  if (typeof raw === "number") return Number.isSafeInteger(raw) && raw >= 0 ? raw : null
  const [, number, unit] = typeof raw === "string" ? amount.exec(raw) ?? [] : []
  const factor = unit === undefined
    ? undefined
    : Object.hasOwn(units, unit.toLowerCase())
    ? units[unit.toLowerCase()]
    : undefined
  if (number === undefined || factor === undefined) return null
  const bytes = Math.round(Number(number) * factor)
  return Number.isSafeInteger(bytes) ? bytes : null
}

/** Milliseconds of a text such as `1d`, `12 hours` or `0`; null for anything else, and for more than ten years. */
export const readDuration = (raw: unknown): number | null => {
  if (raw === 0) return 0
  const [, number, name] = typeof raw === "string" ? amount.exec(raw) ?? [] : []
  if (number === undefined || name === undefined) return null
  if (name === "") return Number(number) === 0 ? 0 : null
  const unit = Object.hasOwn(durationNames, name.toLowerCase()) ? durationNames[name.toLowerCase()] : undefined
  if (unit === undefined) return null
  const duration = Math.round(Number(number) * milliseconds[unit]!)
  return duration <= 3_653 * 864e5 ? duration : null
}

/** A size for people: `12 B`, `1.5 MB`. */
export const printBytes = (bytes: number): string => {
  const [unit, factor] = bytes < 1e3 ? ["B", 1] : bytes < 1e6 ? ["kB", 1e3] : bytes < 1e9 ? ["MB", 1e6] : ["GB", 1e9]
  return `${Math.round(bytes / factor * 10) / 10} ${unit}`
}
