/** A line for what takes memory: so much at once, and who comes then waits for a limited time. */

import { StorageError } from "../../core/ports/storage.ts"

/** Runs work that takes `weight` of what there is. Nobody passes those who came before. More than there is counts as all of it. */
export type Line = <A>(weight: number, work: () => Promise<A>) => Promise<A>

/** Lets so much work at once. The others wait in line, for a limited time. */
export const makeLine = (most: number, waitMs: number): Line => {
  let taken = 0
  const waiting = new Set<{ readonly weight: number; readonly turn: () => void }>()
  const callNext = (): void => {
    for (const next of waiting) {
      if (taken + next.weight > most) return
      waiting.delete(next)
      taken += next.weight
      next.turn()
    }
  }
  return async (wanted, work) => {
    const weight = Math.min(wanted, most)
    if (waiting.size === 0 && taken + weight <= most) taken += weight
    else {
      await new Promise<void>((resolve, reject) => {
        const timer = setTimeout(() => {
          waiting.delete(place)
          callNext()
          reject(new StorageError({ reason: "Unavailable", cause: new Error("too many bodies are sent in parts") }))
        }, waitMs)
        const place = {
          weight,
          turn: () => {
            clearTimeout(timer)
            resolve()
          }
        }
        waiting.add(place)
      })
    }
    try {
      return await work()
    } finally {
      taken -= weight
      callNext()
    }
  }
}
