/**
 * Who may work on an image now. All images of this process share one line, whatever processor they are for: so many at once, and together so much
 * memory. The first in line goes first, so that a large image does not wait for ever behind small ones.
 */

import { ImagesError } from "../../core/ports/images.ts"

/** What an image asks for. */
export interface Wish {
  /** Bytes that it may take. */
  readonly memory: number
  /** Bytes that all together may take. */
  readonly most: number
  readonly atOnce: number
  /** Longest wait, in milliseconds. */
  readonly waitMs: number
}

let working = 0
let taken = 0
const waiting: Array<{ readonly wish: Wish; readonly start: () => void }> = []

const fits = ({ atOnce, memory, most }: Wish): boolean => working === 0 || (working < atOnce && taken + memory <= most)

const begin = ({ memory }: Wish): void => {
  working++
  taken += memory
}

const advance = (): void => {
  for (let first = waiting[0]; first !== undefined && fits(first.wish); first = waiting[0]) {
    waiting.shift()
    begin(first.wish)
    first.start()
  }
}

const leave = ({ memory }: Wish): void => {
  working--
  taken -= memory
  advance()
}

/** Runs work when its turn has come. Fails with `Busy` for who has waited too long. */
export const inLine = async <A>(wish: Wish, work: () => Promise<A>): Promise<A> => {
  if (waiting.length === 0 && fits(wish)) begin(wish)
  else {
    await new Promise<void>((resolve, reject) => {
      const entry = {
        wish,
        start: () => {
          clearTimeout(timer)
          resolve()
        }
      }
      const timer = setTimeout(() => {
        waiting.splice(waiting.indexOf(entry), 1)
        reject(new ImagesError({ reason: "Busy" }))
        advance()
      }, wish.waitMs)
      waiting.push(entry)
    })
  }
  try {
    return await work()
  } finally {
    leave(wish)
  }
}
