/** Where a row stands among the records of its list or of its group. Pure. */

import type { ListRows } from "./rows.ts"

/** The number of records that a row stands among, those of its group where it has one, and its place in them. */
export const placeAmong = ({ groups, total }: Pick<ListRows, "groups" | "total">, row: number) => {
  const place = groups?.placeAt(row)
  return place != null ? place : { index: row, count: total?.count ?? 0, about: total?.accuracy !== "exact" }
}

/** Where a row stands, for the page of its record. Nothing where the list has not read it, or where its rows are not the whole list in order. */
export const positionOf = (rows: Pick<ListRows, "groups" | "total">, row: number, partial = false) => {
  const place = rows.groups?.placeAt(row)
  if (partial || row < 0 || place === null) return {}
  const { about, count, index } = placeAmong(rows, row)
  return {
    position: index,
    total: count,
    about,
    // The neighbours of a record are those of its group.
    ...(place === undefined ? {} : { within: place.condition, lines: row - index })
  }
}
