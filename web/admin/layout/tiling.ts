/** The sizes of a gallery's tiles, and where keys lead in it. Lengths are pixels. Pure. */

/** The room between tiles and at the sides, the narrowest tile, and the room of the title, of a field, and around them. */
const gap = 12
const narrowest = 190
const narrowestOfFew = 132
const titleHeight = 24
const fieldHeight = 20
const around = 18

export interface TileSizes {
  /** Tiles in a line. */
  readonly across: number
  readonly width: number
  readonly picture: number
  /** From one line to the next. */
  readonly line: number
  readonly gap: number
}

/** The sizes in a window of a width, with so many fields below each picture. Two tiles stand beside each other also where the window is narrow. */
export const sizesFor = (room: number, fields: number): TileSizes => {
  const least = room < 2 * narrowest + 3 * gap ? narrowestOfFew : narrowest
  const across = Math.max(1, Math.floor((room - gap) / (least + gap)))
  const width = Math.floor((room - gap * (across + 1)) / across)
  const picture = Math.round(width * 0.75)
  return { across, width, picture, gap, line: picture + titleHeight + fields * fieldHeight + around + gap }
}

/** The tile that a key leads to; null for other keys. `page`: lines that are seen at once. `forward`: 1, or -1 where lines run from the right. */
export const tileBy = (
  { key, wide }: { readonly key: string; readonly wide: boolean },
  index: number,
  of: { readonly across: number; readonly count: number; readonly page: number; readonly forward: 1 | -1 }
): number | null => {
  const { across, count, forward, page } = of
  const first = index - index % across
  const within = (to: number): number => Math.min(Math.max(0, to), Math.max(0, count - 1))
  /** Straight up and down: where no tile stands, the last one of a shorter line. */
  const lines = (by: number): number => {
    const to = index + by * across
    return to < 0 ? (by === -1 ? index : index % across) : within(to)
  }
  switch (key) {
    case "ArrowRight":
      return within(index + forward)
    case "ArrowLeft":
      return within(index - forward)
    case "ArrowDown":
      return first + across >= count ? index : lines(1)
    case "ArrowUp":
      return lines(-1)
    case "PageDown":
      return lines(page)
    case "PageUp":
      return lines(-page)
    case "Home":
      return wide ? 0 : first
    case "End":
      return within(wide ? count - 1 : first + across - 1)
    case "j":
      return wide ? null : within(index + 1)
    case "k":
      return wide ? null : within(index - 1)
    default:
      return null
  }
}
