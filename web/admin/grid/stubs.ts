/**
 * What stands in a row whose record is not loaded yet: a stub in each column, where its value will be. They are layers of one background, because most rows
 * are such rows while the thumb is dragged, and an element for each would cost more than a frame has. Pure.
 */

import { type Column, tickWidth } from "./columns.ts"

/** The room before and after the values of a cell, in pixels, and the part of the room between that a stub takes. */
const padding = 12
const share = 0.6

/**
 * The layers, for `background`. `tracks`: the widths of the tracks as they are drawn; the first one is that of the ticks where `lead` is not 0. `rtl`: columns
 * run from the right.
 */
export const stubsOf = (tracks: readonly number[], columns: readonly Column[], lead: number, rtl: boolean): string => {
  const own = lead > 0 ? tracks.slice(1) : tracks
  let from = lead > 0 ? tracks[0] ?? tickWidth : 0
  return columns.flatMap(({ end }, at) => {
    const width = own[at] ?? 0
    const room = width - 2 * padding
    const length = Math.round(room * share)
    const begin = Math.round(from + padding + (end ? room - length : 0))
    from += width
    return length < 1
      ? []
      : [
        `linear-gradient(var(--mute-soft) 0 0) ${rtl ? "right" : "left"} ${begin}px center / ${length}px 10px no-repeat`
      ]
  }).join(", ")
}

/** The widths in a computed `grid-template-columns`. */
export const tracksOf = (template: string): readonly number[] =>
  template.split(" ").flatMap((text) => {
    const width = Number.parseFloat(text)
    return Number.isNaN(width) ? [] : [width]
  })
