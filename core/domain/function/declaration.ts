/**
 * API functions: application code that callers run with `POST /api/functions/{name}`. These are the declared form and the compiled form. Other
 * modules decide access and run functions.
 */

import type { Caller } from "../access/caller.ts"
import type { WireRecord } from "../model/model.ts"
import type { ProblemSlug } from "../problem.ts"
import type { Json } from "../value/kind.ts"
import type { StandardSchema } from "../value/standard-schema.ts"

/** A page of records as a function gets it. */
export interface FunctionPage<Record_> {
  readonly items: ReadonlyArray<Record_ & { readonly etag: string }>
  readonly nextPageToken: string | null
}

/** What a function asks of a list; the names are those of the list's parameters. */
export interface FunctionQuery {
  readonly filter?: string
  readonly orderBy?: string
  readonly pageSize?: number
  readonly pageToken?: string
  readonly fields?: readonly string[]
  readonly showDeleted?: boolean
}

/**
 * One resource under the caller's access: the same rules, fields and rows as over HTTP. A refusal rejects with `FunctionRefusal`. If the function
 * does not catch it, it becomes the answer. Each write is a transaction of its own.
 */
export interface FunctionRecords<Record_ = WireRecord, Key = Json> {
  readonly list: (query?: FunctionQuery) => Promise<FunctionPage<Record_>>
  /** Null where there is none that the caller can see. */
  readonly get: (key: Key) => Promise<(Record_ & { readonly etag: string }) | null>
  readonly create: (record: { readonly [field: string]: unknown }) => Promise<Record_ & { readonly etag: string }>
  /** `etag`: the version that was read; `"*"` for any. */
  readonly update: (
    key: Key,
    changes: { readonly [field: string]: unknown },
    etag: string
  ) => Promise<Record_ & { readonly etag: string }>
  readonly remove: (key: Key, etag?: string) => Promise<void>
  readonly undelete: (key: Key) => Promise<Record_ & { readonly etag: string }>
}

/** A resource as `defineResource` gives it, for typed records. A name also works. */
interface TypedResource<Fields, Key> {
  readonly name: string
  readonly "~fields": Fields
  readonly "~key": Key
}

type RecordOfFields<Fields> = {
  readonly [Name in keyof Fields & string]: Fields[Name] extends
    { readonly "~field": { readonly value: infer Value; readonly optional: infer Optional } }
    ? Optional extends true ? Value | null : Value
    : Json
}

/** A job as `defineJob` gives it. */
interface EnqueuedJob<Payload, Options> {
  readonly enqueue: (db: FunctionDatabase, payload: Payload, options?: Options) => Promise<string>
}

/** Statements in the function's own transaction. It begins with the first statement and commits when the function resolves. */
export interface FunctionDatabase {
  readonly query: (
    sql: string,
    params?: readonly unknown[]
  ) => Promise<ReadonlyArray<{ readonly [column: string]: unknown }>>
}

/** The request as it came. */
export interface FunctionRequest {
  readonly headers: { readonly get: (name: string) => string | null }
  /** The body's text, unchanged: signatures are computed over it. */
  readonly body: string
}

/** What `run` gets besides its input. */
export interface FunctionContext {
  readonly caller: () => Caller
  readonly records: {
    <Fields, Key>(resource: TypedResource<Fields, Key>): FunctionRecords<RecordOfFields<Fields>, Key>
    (resource: string): FunctionRecords
  }
  readonly db: FunctionDatabase
  /** Enqueues a job in the function's transaction: the job exists only if the function succeeds. Gives its id. */
  readonly enqueue: <Payload, Options>(
    job: EnqueuedJob<Payload, Options>,
    payload: Payload,
    options?: Options
  ) => Promise<string>
  readonly request: FunctionRequest
  /** Aborts when the caller disconnects or the function's time is over. */
  readonly signal: AbortSignal
}

/** What `defineFunction` takes. */
export interface FunctionDeclaration<Input, Output> {
  /** A Standard Schema that checks the body; without it, `run` gets the JSON as it came, `undefined` for an empty body. */
  readonly input?: StandardSchema<Input, Output>
  /** Who may call it: everybody with a credential (`true`), callers with one of the roles, or callers whom a rule allows. */
  readonly roles: true | readonly string[] | ((context: { readonly caller: Caller }) => boolean)
  /** Its result becomes the body of a 200. Without a result, the answer is a 204. */
  readonly run: (input: Output, context: FunctionContext) => unknown
  /** One sentence for the reference. */
  readonly description?: string
}

/** A function as declared, for `functions` of the configuration. */
export interface DeclaredFunction {
  readonly _tag: "Function"
  readonly declaration: unknown
}

/**
 * Declares an API function. Its name is its place in `functions` of the configuration.
 *
 * @example
 * functions: { ship: defineFunction({ input: z.object({ order: z.string() }), roles: ["sales"], run: ({ order }, { records }) => … }) }
 */
export const defineFunction = <Input = unknown, Output = Input>(
  declaration: FunctionDeclaration<Input, Output>
): DeclaredFunction => ({ _tag: "Function", declaration })

/** A checked function. */
export interface ApiFunction {
  readonly name: string
  readonly input: StandardSchema | null
  readonly roles: true | readonly string[] | ((context: { readonly caller: Caller }) => boolean)
  readonly run: (input: unknown, context: FunctionContext) => unknown
  readonly description: string | null
}

export type Functions = ReadonlyMap<string, ApiFunction>

/** What a function may refuse with. */
export type FunctionRefusalSlug = Extract<
  ProblemSlug,
  | "invalid-record"
  | "invalid-parameter"
  | "access-denied"
  | "not-found"
  | "conflict"
  | "precondition-failed"
  | "unavailable"
>

/** A refusal for the caller: `run` throws it, and its slug and message become the answer. */
export class FunctionRefusal extends Error {
  override readonly name = "FunctionRefusal"
  readonly slug: ProblemSlug
  /** The refusal of `records` that it passes on, if any. */
  readonly problem: unknown

  constructor(slug: ProblemSlug, message: string, problem?: unknown) {
    super(message)
    this.slug = slug
    this.problem = problem
  }
}

/** Refuses a call: `throw refuse("conflict", "The order was shipped already.")`. The message goes to the caller. */
export const refuse = (slug: FunctionRefusalSlug, message: string): FunctionRefusal =>
  new FunctionRefusal(slug, message)

/** Whether a caller may call a function. A rule that throws, or answers anything but true, denies. */
export const mayCall = ({ roles }: Pick<ApiFunction, "roles">, caller: Caller): boolean => {
  if (roles === true) return true
  if (typeof roles !== "function") return caller.roles.some((role) => roles.includes(role))
  try {
    return roles({ caller }) === true
  } catch {
    return false
  }
}
