/** Marks of rows that others changed. A mark of a change goes after a moment; one of a row that was deleted or left the filter stays, as the row does. */

/** The change of a visible row. `left`: it is there, but passes the list's filter no more. */
export type LiveMark = "changed" | "left" | "gone"
export type LiveMarks = ReadonlyMap<string, LiveMark>
/** Makes new marks from the present ones. */
export type OnMarks = (make: (before: LiveMarks) => LiveMarks) => void

/** How long a mark stays. */
export const markMs = 4_000

/** Gives the function that marks rows by their keys. It adds its timers to `timers`; the caller clears them. */
export const markerOf =
  (timers: Set<ReturnType<typeof setTimeout>>, onMarks: OnMarks) => (keys: readonly string[], as: LiveMark): void => {
    if (keys.length === 0) return
    onMarks((before) => new Map([...before, ...keys.map((key) => [key, as] as const)]))
    if (as !== "changed") return
    const timer = setTimeout(() => {
      timers.delete(timer)
      onMarks((before) => new Map([...before].filter(([key, of]) => of !== "changed" || !keys.includes(key))))
    }, markMs)
    timers.add(timer)
  }
