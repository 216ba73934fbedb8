/**
 * Builds a batch: operations in order, one transaction, with references to records that it creates itself. It only collects and serializes. The
 * service decides what an operation may do.
 */

import { idempotent, keyParts } from "./key.ts"
import { isObject } from "./problem.ts"
import type { CreateOptions, Upserting } from "./records.ts"
import type { Answer, Call } from "./transport.ts"
import type { CreateIn, FieldOf, KeyOf, RecordIn, ResourceName, UpdateIn } from "./typed.ts"

/** A value that a create of the same batch gives. */
export interface Reference {
  readonly $ref: string
  readonly field?: string
}

/** A record that the batch creates, for the operations after it. */
export interface Created<C = unknown, Name extends ResourceName<C> = ResourceName<C>> extends Reference {
  /** Types only. */
  readonly "~result"?: RecordIn<C, Name>
  /** The value of one of its fields, after the operations before. */
  readonly value: (field: FieldOf<C, Name>) => Reference
}

/** An operation of a batch, by which `result` finds its result. */
export interface Operation<Result = unknown> {
  readonly index: number
  /** Types only. */
  readonly "~result"?: Result
}

/** A body in which any value may be a reference. */
export type Referring<Data> = { readonly [Member in keyof Data]: Data[Member] | Reference }

export interface Reordered {
  readonly records: ReadonlyArray<{ readonly key: string; readonly etag: string }>
}

/** What a batch did, one entry an operation in order. */
export interface BatchResults {
  readonly results: readonly unknown[]
  /** The result of one operation: the record, null for a delete, the keys and ETags of a reorder. */
  readonly of: <Result>(operation: Operation<Result>) => Result
}

export interface BatchBuilder<C = unknown> {
  /** Creates a record. What it gives stands for the record's key in later operations. */
  readonly create: <Name extends ResourceName<C>>(
    resource: Name,
    data: Referring<CreateIn<C, Name>>
  ) => Created<C, Name> & Operation<RecordIn<C, Name>>
  /** Changes a record. `etag` is the expected version, `"*"` for any. */
  readonly update: <Name extends ResourceName<C>>(
    resource: Name,
    key: KeyOf<C, Name> | Reference,
    data: Referring<UpdateIn<C, Name>>,
    options: { readonly etag: string } & Upserting
  ) => Operation<RecordIn<C, Name>>
  readonly delete: <Name extends ResourceName<C>>(
    resource: Name,
    key: KeyOf<C, Name> | Reference,
    options?: { readonly etag?: string }
  ) => Operation<null>
  /** Sets an integer field to 1, 2, 3, … in the order of the keys. `etags` by key text; records that the batch created need none. */
  readonly reorder: <Name extends ResourceName<C>>(
    resource: Name,
    field: FieldOf<C, Name>,
    keys: readonly (KeyOf<C, Name> | Reference)[],
    etags: { readonly [key: string]: string }
  ) => Operation<Reordered>
  /** How many operations it has; the service takes 500. */
  readonly size: number
  /** Sends the batch. On failure nothing is written: the problem is that of the failing operation, and `operation` its index. */
  readonly send: (options?: CreateOptions) => Promise<BatchResults>
}

const isReference = (value: unknown): value is Reference => isObject(value) && "$ref" in value

/** A reference without the members that only the client uses. */
const plain = (value: unknown): unknown => {
  if (!isReference(value)) return value
  const { $ref, field } = value
  return { $ref, field }
}

const bodyOf = (data: object): { readonly [field: string]: unknown } =>
  Object.fromEntries(Object.entries(data).map(([name, value]) => [name, plain(value)]))

// A key as one text is read as in URLs, with commas between its parts. In a list it is one part, whatever it contains.
const operationKey = (key: unknown): unknown => isReference(key) ? plain(key) : keyParts(key)

export const makeBatch = (
  send: <T>(call: Call) => Promise<Answer<T>>,
  present: <T>(record: T) => T
): BatchBuilder => {
  const ops: object[] = []
  const add = (op: object): Operation<never> => ({ index: ops.push(op) - 1 })
  return {
    create: (resource, data) => {
      const ref = `r${ops.length}`
      const operation = add({ op: "create", resource, ref, data: bodyOf(data) })
      return { ...operation, $ref: ref, value: (field) => ({ $ref: ref, field }) }
    },
    update: (resource, key, data, { allowMissing, etag, match }) =>
      add({
        op: "update",
        resource,
        key: operationKey(key),
        etag,
        data: bodyOf(data),
        allow_missing: allowMissing,
        match
      }),
    delete: (resource, key, { etag } = {}) => add({ op: "delete", resource, key: operationKey(key), etag }),
    reorder: (resource, field, keys, etags) =>
      add({ op: "reorder", resource, field, keys: keys.map(operationKey), etags }),
    get size() {
      return ops.length
    },
    send: async (options = {}) => {
      const { dryRun, signal } = options
      const { data } = await send<{ readonly results: readonly { readonly record?: unknown }[] }>({
        method: "POST",
        path: ":batchWrite",
        query: { dry_run: dryRun },
        json: { ops },
        ...idempotent(options.idempotencyKey),
        signal
      })
      const results = data.results.map((each) =>
        each.record === undefined ? each : { ...each, record: present(each.record) }
      )
      return {
        results,
        of: <Result>({ index }: Operation<Result>): Result => {
          const result = results[index] as { readonly record?: unknown; readonly records?: unknown } | undefined
          return (result?.record ?? (result?.records === undefined ? null : result)) as Result
        }
      }
    }
  }
}
