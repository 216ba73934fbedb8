/** The visible rows of a list. They change with every row during scrolling, so only the component that shows them listens. */

export interface Sight {
  readonly put: (first: number, last: number) => void
  readonly now: () => readonly [first: number, last: number]
  readonly subscribe: (listener: () => void) => () => void
}

export const makeSight = (): Sight => {
  let seen: readonly [number, number] = [0, 0]
  const listeners = new Set<() => void>()
  return {
    put: (first, last) => {
      if (seen[0] === first && seen[1] === last) return
      seen = [first, last]
      for (const listener of listeners) listener()
    },
    now: () => seen,
    subscribe: (listener) => {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    }
  }
}
