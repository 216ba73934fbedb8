/**
 * What recently written records looked like before: lets a 412 name the fields that differ from the version the client held. A memory aid of
 * this instance, bounded; without an entry the answer just does not name them.
 */

import { BoundedMap } from "../domain/bounded.ts"
import type { Row } from "../domain/model/model.ts"

const keptRecords = 2_000
const keptVersions = 8

export class RecentVersions {
  readonly #rows = new BoundedMap<string, readonly Row[]>(keptRecords)

  /** Remembers a row as it stood before a committed write; cells of all columns of the model. */
  remember(resource: string, key: readonly string[], before: Row): void {
    const id = `${resource}/${key.join("\u0000")}`
    this.#rows.set(id, [before, ...this.#rows.get(id) ?? []].slice(0, keptVersions))
  }

  recent(resource: string, key: readonly string[]): readonly Row[] {
    return this.#rows.get(`${resource}/${key.join("\u0000")}`) ?? []
  }
}
