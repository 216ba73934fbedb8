/** Exact arithmetic with decimal texts, for sums over records and numbers over several buckets. Pure. */

interface Scaled {
  readonly digits: bigint
  readonly scale: number
}

const form = /^(-?)(\d+)(?:\.(\d+))?$/

const read = (text: string): Scaled => {
  const [, sign = "", whole = "0", fraction = ""] = form.exec(text) ?? []
  return { digits: BigInt(`${sign}${whole}${fraction}`), scale: fraction.length }
}

const print = (digits: bigint, scale: number): string => {
  const text = (digits < 0n ? -digits : digits).toString().padStart(scale + 1, "0")
  const cut = text.length - scale
  return `${digits < 0n ? "-" : ""}${text.slice(0, cut)}${scale === 0 ? "" : `.${text.slice(cut)}`}`
}

const aligned = (texts: readonly string[]): { readonly all: readonly bigint[]; readonly scale: number } => {
  const parts = texts.map(read)
  const scale = Math.max(0, ...parts.map((part) => part.scale))
  return { all: parts.map((part) => part.digits * 10n ** BigInt(scale - part.scale)), scale }
}

/** The exact sum of decimal texts, with as many fraction digits as the longest. Null if a value is not a decimal, and for an empty list. */
export const sumOf = (values: readonly unknown[]): string | null => {
  const texts = values.flatMap((value) => value === null || value === undefined ? [] : [String(value as string)])
  if (texts.length === 0 || !texts.every((text) => form.test(text))) return null
  const { all, scale } = aligned(texts)
  return print(all.reduce((total, each) => total + each, 0n), scale)
}

/** The smallest or largest decimal text. Null for an empty list. */
export const extremeOf = (texts: readonly string[], which: "min" | "max"): string | null => {
  const { all } = aligned(texts)
  let best = -1
  for (const [at, each] of all.entries()) {
    if (best < 0 || (which === "min" ? each < all[best]! : each > all[best]!)) best = at
  }
  return best < 0 ? null : texts[best]!
}

/** A decimal text divided by a count, rounded to the text's fraction digits, at least two. */
export const averageOf = (total: string, count: number): string => {
  const { digits, scale } = read(total)
  const places = Math.max(2, scale)
  const scaled = digits * 10n ** BigInt(places - scale)
  const half = BigInt(count) / 2n
  return print((scaled < 0n ? scaled - half : scaled + half) / BigInt(count), places)
}
