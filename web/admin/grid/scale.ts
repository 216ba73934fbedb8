/**
 * Where a row stands in a scroller that cannot be as high as its rows: browsers cap heights without an error. Both ends of the scrollbar are 1:1,
 * so that the last rows can be approached; the middle is squeezed. All lengths are pixels.
 */

/** Ends of the scroll positions: `physical` of the element, `virtual` of the rows. Equal where everything fits. */
export interface Scale {
  readonly physical: number
  readonly virtual: number
  /** Length at each end that is 1:1. */
  readonly edge: number
  readonly viewport: number
}

/** Highest element that every browser takes, with half pixels still exact in 32-bit floats. */
export const highest = 8_000_000
const widestEdge = 200_000

/** The scale for so many pixels of rows in a viewport. */
export const scaleFor = (rows: number, viewport: number): Scale => {
  const physical = Math.max(0, Math.min(rows, highest) - viewport)
  return { physical, virtual: Math.max(0, rows - viewport), edge: Math.min(widestEdge, physical / 4), viewport }
}

const isWhole = ({ physical, virtual }: Scale): boolean => physical === virtual

/** The rows' position for a place of the thumb. */
export const toVirtual = (scale: Scale, top: number): number => {
  const { edge, physical, virtual } = scale
  if (isWhole(scale) || top <= edge) return top
  if (top >= physical - edge) return virtual - (physical - top)
  return edge + (top - edge) * (virtual - 2 * edge) / (physical - 2 * edge)
}

/** The place of the thumb for a position of the rows. */
export const toPhysical = (scale: Scale, at: number): number => {
  const { edge, physical, virtual } = scale
  if (isWhole(scale) || at <= edge) return at
  if (at >= virtual - edge) return physical - (virtual - at)
  return edge + (at - edge) * (physical - 2 * edge) / (virtual - 2 * edge)
}

/** Where a scroller stands: the element's position and the rows' one. */
export interface Standing {
  readonly top: number
  readonly virtual: number
}

const clamp = (value: number, most: number): number => Math.min(Math.max(value, 0), most)

/**
 * What a scroll event means. Up to two viewports are 1:1, as wheels, keys and fingers expect; more is a drag of the thumb, and goes by the scale.
 */
export const moved = (scale: Scale, from: Standing, top: number): Standing & { readonly jumped: boolean } => {
  const distance = top - from.top
  const jumped = Math.abs(distance) > 2 * scale.viewport
  const virtual = jumped || isWhole(scale) ? toVirtual(scale, top) : clamp(from.virtual + distance, scale.virtual)
  return { top, virtual, jumped }
}

/** The rows to draw: `first` to `last` (not included), a few more than are seen, and what to subtract from a row's own position to place it. */
export interface Span {
  readonly first: number
  readonly last: number
  readonly shift: number
}

const spare = 6

export const spanAt = (scale: Scale, at: Standing, rowHeight: number, rows: number): Span => ({
  first: Math.max(0, Math.floor(at.virtual / rowHeight) - spare),
  last: Math.min(rows, Math.ceil((at.virtual + scale.viewport) / rowHeight) + spare),
  // Rounded, as noise of floats would move every row in every event.
  shift: Math.round(at.virtual - at.top)
})

/** The position that shows a row whole, moving as little as can be. `cover`: height at the top that something stands over. */
export const positionFor = (scale: Scale, virtual: number, row: number, rowHeight: number, cover: number): number => {
  const top = row * rowHeight
  if (top < virtual) return top
  const bottom = top + rowHeight + cover
  return bottom > virtual + scale.viewport ? clamp(bottom - scale.viewport, scale.virtual) : virtual
}
