/**
 * The visible rows of a list. They change with every row during scrolling, so only the component that shows them listens, and it hears of them ten times a
 * second at most: nobody reads more, and each change would be laid out and painted.
 */

/** Milliseconds from a change until it is told, with all that follow it. */
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
