/**
 * The first and the last visible row of a list. They change with every row during scrolling. So they are no state of the page: only the footer listens,
 * and it is told at most ten times a second, because each change costs a layout and a paint.
 */

/** Milliseconds from a change until the listeners are told. Further changes in this time are told together. */
const pace = 100

export interface Sight {
  readonly put: (first: number, last: number) => void
  readonly now: () => readonly [first: number, last: number]
  readonly subscribe: (listener: () => void) => () => void
}

export const makeSight = (): Sight => {
  let seen: readonly [number, number] = [0, 0]
  let timer: ReturnType<typeof setTimeout> | undefined
  const listeners = new Set<() => void>()
  const tell = (): void => {
    timer = undefined
    for (const listener of listeners) listener()
  }
  return {
    put: (first, last) => {
      if (seen[0] === first && seen[1] === last) return
      seen = [first, last]
      timer ??= setTimeout(tell, pace)
    },
    now: () => seen,
    subscribe: (listener) => {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    }
  }
}
