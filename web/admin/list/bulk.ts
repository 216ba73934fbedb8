/**
 * One change of many records. It is first tried as a dry run, and then written in batches of at most 500 records, each in one transaction. Every write
 * names the version that was read, and passes the same rules as a single write.
 */

import { ProblemError } from "../../client/index.ts"
import { keyOf, keyPartsOf, type Resource } from "../model/catalogue.ts"
import { anyBatch, type AnyRecord, resourceClient } from "../model/client.ts"

export type Bulk = { readonly op: "update"; readonly data: { readonly [field: string]: unknown } } | {
  readonly op: "delete"
} | {
  readonly op: "undelete"
}

export interface BulkRefusal {
  readonly record: AnyRecord
  readonly error: ProblemError
}

/** The result of a dry run: the records that would be refused. `more`: it stopped early, so there may be more. */
export interface Preview {
  readonly refused: readonly BulkRefusal[]
  readonly more: boolean
}

/** A write that the service refused because of one record. Records before it, in whole batches, are written. */
export class RefusedWrite extends Error {
  readonly refusal: BulkRefusal
  /** How many are written. */
  readonly written: number
  constructor(refusal: BulkRefusal, written: number) {
    super(refusal.error.message)
    this.refusal = refusal
    this.written = written
  }
}

const batchSize = 500
const mostRefused = 20

const send = async (
  resource: Resource,
  change: Bulk,
  records: readonly AnyRecord[],
  dryRun: boolean,
  signal?: AbortSignal
): Promise<readonly AnyRecord[]> => {
  const batch = anyBatch()
  const name = resource.name
  const operations = records.map((record) => {
    const key = keyPartsOf(keyOf(resource, record)!)
    return change.op === "update"
      ? batch.update(name, key, change.data, { etag: record.etag })
      : batch.delete(name, key, { etag: record.etag })
  })
  const results = await batch.send({
    dryRun,
    ...(dryRun ? {} : { idempotencyKey: true }),
    ...(signal === undefined ? {} : { signal })
  })
  return operations.map((operation) => results.of(operation) as AnyRecord)
}

const inParts = <T>(items: readonly T[]): readonly (readonly T[])[] =>
  Array.from(
    { length: Math.ceil(items.length / batchSize) },
    (_, at) => items.slice(at * batchSize, (at + 1) * batchSize)
  )

/** Tries a change as a dry run. A batch names only the first refused record, so it is tried again without that record, to find more. */
export const preview = async (
  resource: Resource,
  change: Bulk,
  records: readonly AnyRecord[],
  signal: AbortSignal
): Promise<Preview> => {
  const refused: BulkRefusal[] = []
  if (change.op === "undelete") return { refused, more: false }
  for (const part of inParts(records)) {
    let left = part
    while (left.length > 0) {
      try {
        await send(resource, change, left, true, signal)
        break
      } catch (error) {
        if (!(error instanceof ProblemError) || error.operation === null) throw error
        refused.push({ record: left[error.operation]!, error })
        left = left.toSpliced(error.operation, 1)
        if (refused.length >= mostRefused) return { refused, more: true }
      }
    }
  }
  return { refused, more: false }
}

/** Writes the change and returns the records as written. Fails with `RefusedWrite` where it knows the record. `progress` gets the number of written records. The signal stops it before the next batch. */
export const apply = async (
  resource: Resource,
  change: Bulk,
  records: readonly AnyRecord[],
  progress: (done: number) => void,
  signal: AbortSignal
): Promise<readonly AnyRecord[]> => {
  const written: AnyRecord[] = []
  for (const part of inParts(records)) {
    signal.throwIfAborted()
    if (change.op === "undelete") {
      for (const record of part) {
        written.push(await resourceClient(resource.name).undelete(keyPartsOf(keyOf(resource, record)!)))
        progress(written.length)
      }
    } else {
      try {
        written.push(...await send(resource, change, part, false))
      } catch (error) {
        const record = error instanceof ProblemError && error.operation !== null ? part[error.operation] : undefined
        throw error instanceof ProblemError && record !== undefined
          ? new RefusedWrite({ record, error }, written.length)
          : error
      }
    }
    progress(written.length)
  }
  return written
}

/** All records that match a filter, with keys and versions, without the exceptions. */
export const readMatching = async (
  resource: Resource,
  filter: string,
  except: ReadonlySet<string>,
  deleted: boolean,
  fields: readonly string[],
  progress: (read: number) => void,
  signal: AbortSignal
): Promise<readonly AnyRecord[]> => {
  const records: AnyRecord[] = []
  let token = ""
  do {
    const page = await resourceClient(resource.name).list({
      filter,
      fields: [...new Set([...resource.model.primaryKey, ...fields])],
      page_size: 500,
      ...(deleted ? { show_deleted: true } : {}),
      ...(token === "" ? {} : { page_token: token })
    }, { signal })
    for (const record of page.items) if (!except.has(keyOf(resource, record) ?? "")) records.push(record)
    progress(records.length)
    token = page.next_page_token
  } while (token !== "")
  return records
}
