/**
 * Which records are selected: some by their keys, or all that match the filter but a few. Keys and not row numbers, which mean other records as soon as
 * somebody adds one. It survives a change of filter. Pure.
 */

export type Selection =
  | { readonly of: "some"; readonly keys: ReadonlySet<string> }
  /** Everything that `filter` matched when it was chosen. */
  | { readonly of: "all"; readonly filter: string; readonly except: ReadonlySet<string> }

export const nothing: Selection = { of: "some", keys: new Set() }

export const isSelected = (selection: Selection, key: string): boolean =>
  selection.of === "some" ? selection.keys.has(key) : !selection.except.has(key)

/** How many records are selected; `total` is how many match. */
export const selectedCount = (selection: Selection, total: number): number =>
  selection.of === "some" ? selection.keys.size : Math.max(0, total - selection.except.size)

const toggled = (set: ReadonlySet<string>, keys: readonly string[], into: boolean): ReadonlySet<string> => {
  const next = new Set(set)
  for (const key of keys) {
    if (into) next.add(key)
    else next.delete(key)
  }
  return next
}

/** The selection with records put in or taken out. */
export const withKeys = (selection: Selection, keys: readonly string[], selected: boolean): Selection =>
  selection.of === "some"
    ? { of: "some", keys: toggled(selection.keys, keys, selected) }
    : { ...selection, except: toggled(selection.except, keys, !selected) }

/** The exact sum of decimal texts, with the places of the longest fraction; null where one is none. */
export const sumOf = (values: readonly unknown[]): string | null => {
  let places = 0
  const parts: Array<readonly [digits: bigint, places: number]> = []
  for (const value of values) {
    if (value === null || value === undefined) continue
    const [, sign, whole, fraction = ""] = /^(-?)(\d+)(?:\.(\d+))?$/.exec(String(value as string)) ?? []
    if (whole === undefined) return null
    parts.push([BigInt(`${sign}${whole}${fraction}`), fraction.length])
    places = Math.max(places, fraction.length)
  }
  if (parts.length === 0) return null
  const sum = parts.reduce((total, [digits, own]) => total + digits * 10n ** BigInt(places - own), 0n)
  const digits = (sum < 0n ? -sum : sum).toString().padStart(places + 1, "0")
  const text = places === 0 ? digits : `${digits.slice(0, -places)}.${digits.slice(-places)}`
  return sum < 0n ? `-${text}` : text
}
