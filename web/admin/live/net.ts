/** What several changes of a record come to for a list that follows a filter, between two looks at it. */

import type { WatchEvent } from "../../client/index.ts"

type Change = Extract<WatchEvent, { event: "change" }>["data"]

/** A record to look at. `kind` null: whether it passes the list's filter is not known. */
export interface Pending {
  readonly kind: Change["kind"] | null
  readonly operation: Change["operation"]
}

/**
 * One more change after those before. What entered and left counts as left: a record that was told as entered may be on the screen already, where a related
 * record decides.
 */
export const netOf = (before: Pending | undefined, now: Pending): Pending => {
  const { kind, operation } = now
  if (before === undefined || kind === null || before.kind === null || kind === "left") return now
  return { kind: before.kind === "entered" ? "entered" : "changed", operation }
}
