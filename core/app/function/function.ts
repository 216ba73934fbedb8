/**
 * API functions as a use case: access check, input check, a run whose transaction begins with its first use, and the answer. Records inside are
 * read and written by the same use cases as over HTTP, as the same caller.
 */

import * as Cause from "effect/Cause"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Result from "effect/Result"
import type { Caller } from "../../domain/access/caller.ts"
import type { Transaction } from "../../domain/declare/config.ts"
import {
  type ApiFunction,
  type FunctionContext,
  type FunctionDatabase,
  type FunctionQuery,
  type FunctionRecords,
  FunctionRefusal,
  type FunctionRequest,
  type Functions,
  mayCall
} from "../../domain/function/declaration.ts"
import { hearsEnqueued, type JobDatabase, queueSchema } from "../../domain/job/definition.ts"
import { ownJson } from "../../domain/own-json.ts"
import { accessDenied, notFound, Problem, problem } from "../../domain/problem.ts"
import type { Json } from "../../domain/value/kind.ts"
import type { SchemaIssue } from "../../domain/value/standard-schema.ts"
import type { RecordsError } from "../../ports/records.ts"
import type { App } from "../app.ts"
import { json, readJson } from "../ground/call.ts"
import type { Accesses, Call, Reply } from "../ground/call.ts"
import type { Core } from "../ground/core.ts"
import { recordsProblem } from "../ground/refusal.ts"

/** Longest time of a call, in milliseconds. */
const longestRun = 30_000

/** The use cases that records inside a function go through. */
type RecordUses = Pick<App, "list" | "search" | "get" | "create" | "update" | "remove" | "undelete">

export interface FunctionsCore {
  readonly core: Core
  readonly functions: Functions
  readonly app: RecordUses
  readonly accesses: (caller: Caller) => Accesses
}

const encoder = new TextEncoder()
const decoder = new TextDecoder()

/** A transaction that begins when it is first used. When the function has ended, it is committed or rolled back once. */
class LazyTransaction {
  readonly #core: Core
  readonly #caller: Caller
  readonly #opened = Deferred.makeUnsafe<Transaction, RecordsError>()
  readonly #end = Deferred.makeUnsafe<void, Abandoned>()
  #fiber: Fiber.Fiber<void, RecordsError | Abandoned> | null = null
  #handle: JobDatabase | null = null
  #over = false

  constructor(core: Core, caller: Caller) {
    this.#core = core
    this.#caller = caller
    this.database = {
      [queueSchema]: core.options.queueSchema,
      [hearsEnqueued]: (names) => this.#handle?.[hearsEnqueued]?.(names),
      query: async (sql, params) => {
        if (this.#over) throw new Error("The function and its transaction have ended.")
        return (await this.#open()).query(sql, params)
      }
    }
  }

  /** Jobs that are enqueued in it wake their workers once it has committed, like those of a write hook. */
  readonly database: FunctionDatabase & JobDatabase

  #open(): Promise<Transaction> {
    if (this.#fiber === null) {
      const work = this.#core.records.transaction((tx) => {
        const { handle } = tx
        this.#handle = handle
        // These writes count as writes through the API: captured changes name the caller.
        const told = Effect.promise(() =>
          handle.query("select set_config('service.actor', $1, true)", [
            JSON.stringify({ id: this.#caller.id, roles: this.#caller.roles })
          ])
        )
        return Effect.andThen(
          told,
          Effect.andThen(Deferred.succeed(this.#opened, handle), Deferred.await(this.#end))
        )
      })
      this.#fiber = Effect.runFork(
        Effect.tapCause(work, (cause) => Deferred.failCause(this.#opened, cause as Cause.Cause<RecordsError>))
      )
    }
    return Effect.runPromise(Deferred.await(this.#opened))
  }

  /** Commits or rolls back, and waits for that. */
  finish(commits: boolean): Effect.Effect<void, RecordsError> {
    this.#over = true
    const fiber = this.#fiber
    if (fiber === null) return Effect.void
    return Effect.andThen(
      commits ? Deferred.succeed(this.#end, undefined) : Deferred.fail(this.#end, new Abandoned()),
      Effect.catch(Fiber.join(fiber), (error) => error instanceof Abandoned ? Effect.void : Effect.fail(error))
    )
  }
}

/** Rolls a transaction back. */
class Abandoned {
  readonly _tag = "Abandoned"
}

/** A refusal in the form that the function's code gets. */
const refusalOf = (refused: Problem): FunctionRefusal => new FunctionRefusal(refused.slug, refused.detail, refused)

/** One resource as a function reads and writes it. */
const recordsOf = (
  app: RecordUses,
  core: Core,
  caller: Caller,
  access: Accesses,
  resource: string,
  signal: AbortSignal,
  refused: (refusal: Problem) => void
): FunctionRecords => {
  const path = `${core.options.basePath}/${resource}`
  const call = (headers: { readonly [name: string]: string } = {}, below = ""): Call => ({
    caller,
    access,
    path: path + below,
    query: [],
    header: (name) => headers[name] ?? null
  })
  const run = async <A>(use: Effect.Effect<Reply, Problem>, read: (reply: Reply) => A): Promise<A> => {
    const outcome = await Effect.runPromise(Effect.result(use), { signal })
    if (Result.isFailure(outcome)) {
      refused(outcome.failure)
      throw refusalOf(outcome.failure)
    }
    return read(outcome.success)
  }
  const textOf = ({ body }: Reply): string => typeof body === "string" ? body : decoder.decode(body ?? undefined)
  /** What a record is of is known to whoever asks for it. */
  const recordOf = (reply: Reply): never => ownJson(textOf(reply))
  const segment = (key: Json): string =>
    (Array.isArray(key) ? key : [key]).map((part) => encodeURIComponent(String(part))).join(",")
  const bytes = (value: unknown): Uint8Array => encoder.encode(JSON.stringify(value))
  /** A resource that the caller cannot see does not exist, as over HTTP. */
  const seen = (use: () => Effect.Effect<Reply, Problem>): Promise<never> =>
    run(access(resource) === null ? Effect.fail(notFound()) : use(), recordOf)
  const queryOf = (query: FunctionQuery): { readonly [name: string]: unknown } => ({
    ...(query.filter === undefined ? {} : { filter: query.filter }),
    ...(query.orderBy === undefined ? {} : { order_by: query.orderBy }),
    ...(query.pageSize === undefined ? {} : { page_size: query.pageSize }),
    ...(query.pageToken === undefined ? {} : { page_token: query.pageToken }),
    ...(query.fields === undefined ? {} : { fields: query.fields }),
    ...(query.showDeleted === undefined ? {} : { show_deleted: query.showDeleted })
  })
  return {
    list: async (query = {}) => {
      const page: { readonly items: never; readonly next_page_token: string } = await seen(() =>
        app.search(call(), resource, bytes(queryOf(query)))
      )
      return { items: page.items, nextPageToken: page.next_page_token === "" ? null : page.next_page_token }
    },
    get: async (key) => {
      try {
        return await seen(() => app.get(call(), resource, segment(key)))
      } catch (error) {
        if (error instanceof FunctionRefusal && error.slug === "not-found") return null
        throw error
      }
    },
    create: (record) => seen(() => app.create(call(), resource, bytes(record))),
    update: (key, changes, etag) =>
      seen(() => app.update(call({ "if-match": etag }), resource, segment(key), bytes(changes))),
    remove: async (key, etag) => {
      const headers = { prefer: "return=representation", ...(etag === undefined ? {} : { "if-match": etag }) }
      await seen(() => app.remove(call(headers), resource, segment(key)))
    },
    undelete: (key) => seen(() => app.undelete(call(), resource, segment(key)))
  }
}

const invalidInput = (issues: ReadonlyArray<SchemaIssue>): Problem =>
  problem("invalid-record", "The input is not valid.", {
    errors: issues.slice(0, 100).map(({ message, path }) => {
      const field = (path ?? []).map((part) => String(typeof part === "object" ? part.key : part)).join(".")
      return { ...(field === "" ? {} : { field }), code: "invalid", message }
    })
  })

const checkedInput = (of: ApiFunction, input: unknown): Effect.Effect<unknown, Problem> =>
  of.input === null ? Effect.succeed(input) : Effect.flatMap(
    // A schema that throws is a defect of the application.
    Effect.promise(async () => of.input!["~standard"].validate(input)),
    (checked): Effect.Effect<unknown, Problem> =>
      checked.issues === undefined ? Effect.succeed(checked.value) : Effect.fail(invalidInput(checked.issues))
  )

/** What `run` threw, as the caller sees it; anything unexpected stays a defect. */
const thrown = (error: unknown): Effect.Effect<never, Problem> => {
  if (error instanceof FunctionRefusal) {
    return Effect.fail(error.problem instanceof Problem ? error.problem : problem(error.slug, error.message))
  }
  if (error instanceof Problem) return Effect.fail(error)
  // From verifyStandardWebhook: no holder of the secret signed the request.
  if (error instanceof Error && error.name === "WebhookSignatureError") return Effect.fail(accessDenied())
  return Effect.die(error)
}

/** Runs a function for a caller. Gives its result as JSON text, or null without a result. */
export const runFunction = (
  { accesses, app, core }: FunctionsCore,
  of: ApiFunction,
  caller: Caller,
  request: FunctionRequest,
  input: unknown
): Effect.Effect<string | null, Problem> =>
  Effect.flatMap(checkedInput(of, input), (checked) => {
    const transaction = new LazyTransaction(core, caller)
    /** That records could not be had: what a function throws then is no fault of its own. */
    let away: Problem | null = null
    const work = Effect.tryPromise({
      try: async (signal) => {
        const access = accesses(caller)
        const context: FunctionContext = {
          caller: () => caller,
          records: (resource: string | { readonly name: string }) =>
            recordsOf(
              app,
              core,
              caller,
              access,
              typeof resource === "string" ? resource : resource.name,
              signal,
              (refusal) => {
                if (refusal.slug === "unavailable") away ??= refusal
              }
            ) as never,
          db: transaction.database,
          enqueue: (job, payload, options) => job.enqueue(transaction.database, payload, options),
          request,
          signal
        }
        const answer: unknown = await of.run(checked, context)
        const text: string | undefined = answer === undefined ? undefined : JSON.stringify(answer)
        return text ?? null
      },
      catch: (error) => error
    })
    const limited = Effect.timeoutOrElse(work, {
      duration: longestRun,
      orElse: () =>
        Effect.fail<unknown>(problem("unavailable", "The function took too long.", {}, { "retry-after": "5" }))
    })
    // What the transaction met explains what was thrown, however the function wrapped it.
    const judged = Effect.catchCause(Effect.catch(limited, thrown), (cause): Effect.Effect<never, Problem> =>
      Effect.matchEffect(transaction.finish(false), {
        onSuccess: () =>
          away === null || !Cause.hasDies(cause) ? Effect.failCause(cause) : Effect.fail(away),
        onFailure: (met) => Cause.hasDies(cause) ? recordsProblem(met) : Effect.failCause(cause)
      }))
    const ended = Effect.onExit(judged, (exit) =>
      Exit.isSuccess(exit) ? Effect.void : Effect.ignore(transaction.finish(false)))
    return Effect.flatMap(ended, (answer) =>
      Effect.as(Effect.catch(transaction.finish(true), recordsProblem), answer))
  })

/** `POST /api/functions/{name}`. A function that the caller may not call does not exist for them. */
export const callFunction = (
  use: FunctionsCore,
  call: Call,
  name: string,
  body: Uint8Array
): Effect.Effect<Reply, Problem> => {
  const of = use.functions.get(name)
  if (of === undefined || !mayCall(of, call.caller)) return Effect.fail(notFound())
  const input = body.length === 0 ? Result.succeed(undefined) : readJson(body)
  if (Result.isFailure(input)) return Effect.fail(input.failure)
  const request: FunctionRequest = {
    headers: { get: (header) => call.header(header.toLowerCase()) },
    body: decoder.decode(body)
  }
  return Effect.map(
    runFunction(use, of, call.caller, request, input.success),
    (text) => text === null ? { status: 204, headers: {}, body: null } : json(200, text)
  )
}
