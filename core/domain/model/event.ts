/**
 * Compiled events: what can happen to a record, and which changes an event stands for. Who is told of an event is decided elsewhere.
 */

import type { WireRecord } from "./model.ts"

/** What can happen to a record. A soft delete is a delete. A reorder is a new place in an order that the API wrote; it is no update. */
export type ChangeOperation = "create" | "update" | "delete" | "undelete" | "reorder"

export const changeOperations: readonly ChangeOperation[] = ["create", "update", "delete", "undelete", "reorder"]

/** Events that need no more than `true`, and the operation each stands for. */
export const builtInEvents = {
  created: "create",
  updated: "update",
  deleted: "delete",
  undeleted: "undelete",
  reordered: "reorder"
} as const satisfies { readonly [name: string]: ChangeOperation }

/** A declared event, compiled. `match` null: every change of these operations. A `match` that throws is the event's failure. */
export interface CompiledEvent {
  readonly name: string
  readonly on: ReadonlySet<ChangeOperation>
  readonly match:
    | ((change: {
      readonly operation: ChangeOperation
      readonly before: WireRecord | null
      readonly after: WireRecord | null
    }) => boolean)
    | null
}
