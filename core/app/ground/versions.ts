/**
 * Recently written records as they were before, so that a 412 can name the fields that changed since the client's version. It is a memory
 * of this instance, bounded in records and characters. Without an entry the answer names no fields.
 */

import type { Caller } from "../../domain/access/caller.ts"
import { BoundedMap } from "../../domain/bounded.ts"
import type { Model } from "../../domain/model/model.ts"
import type { Row } from "../../domain/value/kind.ts"

const keptRecords = 1_000
const keptVersions = 4
/** Most characters of a row that is remembered; with the limits above, 16 million in all. */
const longestRow = 4_000

/** Whether a row is short enough to be remembered. */
export const isKept = (row: Row): boolean => row.reduce((sum, cell) => sum + (cell?.length ?? 0), 0) <= longestRow

/** Names the records of a model and a tenant, as each tenant may use the same keys. */
interface Subject {
  readonly caller: Pick<Caller, "tenant">
  readonly model: Pick<Model, "name" | "tenant">
}

const idOf = ({ caller, model }: Subject, key: readonly string[]): string =>
  [model.name, model.tenant === null ? "" : caller.tenant, ...key].join("\u0000")

export class RecentVersions {
  readonly #rows = new BoundedMap<string, readonly Row[]>(keptRecords)

  /** Remembers a row as it stood before a committed write; cells of all columns of the model. */
  remember(subject: Subject, key: readonly string[], before: Row): void {
    if (!isKept(before)) return
    const id = idOf(subject, key)
    this.#rows.set(id, [before, ...this.#rows.get(id) ?? []].slice(0, keptVersions))
  }

  recent(subject: Subject, key: readonly string[]): readonly Row[] {
    return this.#rows.get(idOf(subject, key)) ?? []
  }
}
