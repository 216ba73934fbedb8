/** Rounds of reading the groups of a list, then their sums. Several may be under way: what an older one says takes no place of what a newer one has said. */

import type { Sum } from "./adding.ts"
import { type Head, keeping, withSums } from "./group-heads.ts"
import type { GroupsFound } from "./group-read.ts"
import type { Total } from "./total.ts"

interface RoundsOptions {
  readonly groups: () => Promise<GroupsFound>
  /** Null: nothing is added up. A promise of null: the sums would not be whole. */
  readonly sums: (heads: readonly Head[], more: boolean) => Promise<ReadonlyMap<string, readonly Sum[]> | null> | null
  /** The heads that are shown. */
  readonly before: () => readonly Head[]
  /** Whether rows of a group are shown. */
  readonly holds: (head: Head) => boolean
  readonly put: (found: GroupsFound) => void
  /** Called after the groups of a round are put. */
  readonly counted: (total: Total) => void
  /** `isShown`: nothing is there without the answer. */
  readonly failed: (error: unknown, isShown: boolean) => void
}

const sumsOf = (heads: readonly Head[]): ReadonlyMap<string, readonly Sum[]> =>
  new Map(heads.flatMap((head) => [[head.id, head.sums] as const, ...sumsOf(head.inner)]))

/** Makes what begins a round. It ends when the groups are put, before their sums. `first`: a failure is shown. */
export const makeRounds = (
  { before, counted, failed, groups, holds, put, sums }: RoundsOptions
): (first: boolean) => Promise<void> => {
  let begun = 0
  /** The round whose groups are shown. */
  let shown = 0
  return async (first) => {
    const round = ++begun
    try {
      const now = await groups()
      if (round < shown) return
      shown = round
      const heads = keeping(before(), now.heads, holds)
      // The sums of before are nearer to the truth than none.
      put({ ...now, heads: withSums(heads, sumsOf(before())) })
      counted(now.total)
      // What may not be counted may not be added up.
      if (heads.length === 0 || heads.some(({ about }) => about)) return
      sums(heads, now.more)?.then(
        (found) => {
          if (round === shown) {
            put(found === null ? { ...now, heads, unsummed: true } : { ...now, heads: withSums(heads, found) })
          }
        },
        (error: unknown) => {
          failed(error, false)
          // The groups stand without: whoever asks for more than the service adds up can narrow the list.
          if (round === shown) put({ ...now, heads, unsummed: true })
        }
      )
    } catch (error) {
      failed(error, first && shown === 0)
    }
  }
}
