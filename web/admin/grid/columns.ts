/** Widths of columns and positions of pinned ones, as values of CSS variables. So a change of a width renders no row again. Pure. */

export interface Column {
  readonly id: string
  readonly label: string
  /** Width in pixels. A flexible column grows if there is space. */
  readonly width: number
  readonly flexible: boolean
  readonly end: boolean
  readonly pinned: boolean
}

export const tickWidth = 40
export const narrowest = 56
export const widest = 900

/** The grid template of a row. `lead`: the width of the checkbox column, or 0. */
export const templateOf = (columns: readonly Column[], lead: number): string => {
  const tracks = columns.map(({ flexible, pinned, width }) =>
    flexible && !pinned ? `minmax(${width}px, ${width}fr)` : `${width}px`
  )
  // Without a flexible column, an empty track takes the remaining space.
  const rest = columns.some(({ flexible, pinned }) => flexible && !pinned) ? [] : ["minmax(0, 1fr)"]
  return [...(lead > 0 ? [`${lead}px`] : []), ...tracks, ...rest].join(" ")
}

/** Least width of a row in pixels. */
export const totalOf = (columns: readonly Column[], lead: number): number =>
  columns.reduce((sum, { width }) => sum + width, lead)

/** Pinned columns first, in their order. */
export const inOrder = (columns: readonly Column[]): readonly Column[] => [
  ...columns.filter(({ pinned }) => pinned),
  ...columns.filter(({ pinned }) => !pinned)
]

/** The offset of each pinned column from the start of the row, by id. */
export const offsetsOf = (columns: readonly Column[], lead: number): ReadonlyMap<string, number> => {
  const offsets = new Map<string, number>()
  let at = lead
  for (const { id, pinned, width } of columns) {
    if (!pinned) break
    offsets.set(id, at)
    at += width
  }
  return offsets
}
