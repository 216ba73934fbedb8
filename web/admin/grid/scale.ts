/**
 * Maps positions of rows to a scroller that cannot be as high as its rows, because browsers silently limit heights. Both ends of the scrollbar are 1:1, so
 * that the last rows can be reached exactly. The middle is compressed. All lengths are pixels.
 */

/** The largest scroll positions: `physical` of the element, `virtual` of the rows. They are equal if all rows fit. */
export interface Scale {
  readonly physical: number
  readonly virtual: number
  /** Length at each end that is 1:1. */
  readonly edge: number
  readonly viewport: number
}

/** The largest height that every browser supports, with half pixels still exact in 32-bit floats. */
export const highest = 8_000_000
const widestEdge = 200_000

/** The scale for a height of rows and a viewport. */
export const scaleFor = (rows: number, viewport: number): Scale => {
  const physical = Math.max(0, Math.min(rows, highest) - viewport)
  return { physical, virtual: Math.max(0, rows - viewport), edge: Math.min(widestEdge, physical / 4), viewport }
}

const isWhole = ({ physical, virtual }: Scale): boolean => physical === virtual

/** The rows' position for a position of the thumb. */
export const toVirtual = (scale: Scale, top: number): number => {
  const { edge, physical, virtual } = scale
  if (isWhole(scale) || top <= edge) return top
  if (top >= physical - edge) return virtual - (physical - top)
  return edge + (top - edge) * (virtual - 2 * edge) / (physical - 2 * edge)
}

/** The position of the thumb for a position of the rows. */
export const toPhysical = (scale: Scale, at: number): number => {
  const { edge, physical, virtual } = scale
  if (isWhole(scale) || at <= edge) return at
  if (at >= virtual - edge) return physical - (virtual - at)
  return edge + (at - edge) * (physical - 2 * edge) / (virtual - 2 * edge)
}

/** The position of a scroller: of the element and of the rows. */
export interface Standing {
  readonly top: number
  readonly virtual: number
}

const clamp = (value: number, most: number): number => Math.min(Math.max(value, 0), most)

/**
 * The new position after a scroll event. A movement of up to two viewports is 1:1, as wheels, keys and touch need it. A larger one is a drag of the thumb,
 * and uses the scale.
 */
export const moved = (scale: Scale, from: Standing, top: number): Standing & { readonly jumped: boolean } => {
  const distance = top - from.top
  const jumped = Math.abs(distance) > 2 * scale.viewport
  const virtual = jumped || isWhole(scale) ? toVirtual(scale, top) : clamp(from.virtual + distance, scale.virtual)
  return { top, virtual, jumped }
}

/** The rows to draw: `first` to `last` (exclusive), with a few invisible ones, and the offset to subtract from a row's position. */
export interface Span {
  readonly first: number
  readonly last: number
  readonly shift: number
}

const spareRows = 6
/** So many rows come and go together, because most frames of a scroll then draw nothing. */
const step = 4

/** `jumping`: the next movement leads elsewhere, so that only visible rows are worth drawing. */
export const spanAt = (scale: Scale, at: Standing, rowHeight: number, rows: number, jumping = false): Span => {
  const first = Math.floor(at.virtual / rowHeight)
  const last = Math.ceil((at.virtual + scale.viewport) / rowHeight)
  return {
    first: Math.max(0, jumping ? first : Math.floor((first - spareRows) / step) * step),
    last: Math.min(rows, jumping ? last : Math.ceil((last + spareRows) / step) * step),
    // Rounded, because float errors would move every row in every event.
    shift: Math.round(at.virtual - at.top)
  }
}

/** The nearest position that shows a row completely. `cover`: the covered height at the top. */
export const positionFor = (scale: Scale, virtual: number, row: number, rowHeight: number, cover: number): number => {
  const top = row * rowHeight
  if (top < virtual) return top
  const bottom = top + rowHeight + cover
  return bottom > virtual + scale.viewport ? clamp(bottom - scale.viewport, scale.virtual) : virtual
}
