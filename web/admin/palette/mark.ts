/** Which entry of the palette Enter runs. It never marks what answers to the typed text may move away. */

import type { Entry } from "./entries.tsx"

/** A choice by the arrow keys or the pointer, and the text that it was made for. */
export interface Held {
  readonly asked: string
  readonly id: string
}

/** What an entry's place depends on. `found`: the entry is a record of an answer to the text. */
export type Candidate = Pick<Entry, "id" | "found">

/**
 * The marked entry, or undefined as long as none is certain: entries without records move down when a record is found, and records of an earlier text go.
 * `searching`: records of the text are still looked for.
 */
export const markedOf = <E extends Candidate>(
  entries: readonly E[],
  asked: string,
  held: Held | null,
  searching: boolean
): E | undefined =>
  entries.find(({ id }) => held?.asked === asked && id === held.id) ??
    entries.find(({ found }) => found === true) ??
    (searching ? undefined : entries[0])
