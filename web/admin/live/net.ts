/** What several changes of a record come to for a list that follows a filter, between two looks at it. */

import type { WatchEvent } from "../../client/index.ts"

type Change = Extract<WatchEvent, { event: "change" }>["data"]

/** A record to look at. `kind` null: whether it passes the list's filter is not known. */
export interface Pending {
  readonly kind: Change["kind"] | null
  readonly operation: Change["operation"]
}

/** One more change after those before. Null: it is as if nothing had happened. */
export const netOf = (before: Pending | undefined, now: Pending): Pending | null => {
  const { kind, operation } = now
  if (before === undefined || kind === null || before.kind === null) return now
  if (before.kind === "entered") return kind === "left" ? null : { kind: "entered", operation }
  return kind === "left" ? now : { kind: "changed", operation }
}
