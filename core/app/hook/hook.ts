/**
 * Hooks as a use case: what other systems send is verified, and becomes a job. A request has no credential but its signature, so until that holds nothing
 * of its body is parsed, stored or logged. The answer comes after the commit, and the same message is answered alike and runs once.
 */

import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import { BoundedMap } from "../../domain/bounded.ts"
import {
  type Hook,
  type Hooks,
  largestBody,
  type SignatureScheme,
  type Verifier
} from "../../domain/hook/declaration.ts"
import { encodeMessage, keptHeaders, mostHeaders } from "../../domain/hook/message.ts"
import { isMessageId, type NoClaim, readClaim, schemeHeaders, stripeId } from "../../domain/hook/signature.ts"
import { planEnqueue } from "../../domain/job/enqueue.ts"
import { outageOf, outageProblem } from "../../domain/outage.ts"
import { isProblem, notFound, Problem, problem } from "../../domain/problem.ts"
import { classOf } from "../../domain/thrown.ts"
import type { QueueService } from "../../ports/queue.ts"
import type { SubmissionsService } from "../../ports/submissions.ts"
import type { Reply } from "../ground/call.ts"
import type { Core } from "../ground/core.ts"
import { queueProblem, recordsProblem } from "../ground/refusal.ts"
import { inTransaction } from "../write/transaction.ts"

/** A request to a hook, before its body is read. */
export interface HookRequest {
  /** Requests with the same text share limits. */
  readonly client: string
  readonly header: (name: string) => string | null
  readonly headers: Iterable<readonly [name: string, value: string]>
  /** The tenant of the host or path that was asked; null or absent: these do not decide the tenant. */
  readonly tenant?: string | null
  /** Bytes of the body that are announced; null: nobody knows. */
  readonly length: number | null
  /** Reads the body. Fails past `largestBody`. */
  readonly body: Effect.Effect<Uint8Array, Problem>
}

/** Why a request was denied: for the log. */
export type Denial = NoClaim | "signature" | "function"

/** The dependencies of hooks besides the core. */
export interface HookParts {
  readonly hooks: Hooks
  readonly queue: Pick<QueueService, "enqueue">
  /** Counts what was denied, for all instances together. */
  readonly submissions: Pick<SubmissionsService, "admit">
  /** Whether one of the signatures is the HMAC-SHA-256 of the text and the bytes under one of the keys. It takes the same time for every wrong one. */
  readonly isSigned: (
    keys: readonly Uint8Array[],
    prefix: string,
    body: Uint8Array,
    signatures: readonly Uint8Array[]
  ) => boolean
  /** Told why a request was denied, at most once a minute for each hook and reason. `thrown`: the class of what `verify` threw. */
  readonly denied?: (hook: string, reason: Denial, thrown: string | null) => void
  readonly limits?: Partial<HookLimits>
}

/** What strangers may cost. */
export interface HookLimits {
  /** Denied requests of one client to one hook in any minute. */
  readonly deniedPerMinute: number
  /** Bytes of bodies that are held at once, and by one client of them. */
  readonly heldBytes: number
  readonly heldBytesEach: number
  /** How long a `verify` of the application may take, in milliseconds. */
  readonly verifyMs: number
}

const usualLimits: HookLimits = {
  deniedPerMinute: 30,
  heldBytes: 32 * largestBody,
  heldBytesEach: 8 * largestBody,
  verifyMs: 5_000
}

export interface HookApp {
  /** Whether there is such a hook: decides 404 before anything else. */
  readonly has: (name: string) => boolean
  readonly receive: (name: string, request: HookRequest) => Effect.Effect<Reply, Problem>
}

/** Names of headers as people write them, for the refusal. */
const written: { readonly [header: string]: string } = {
  "stripe-signature": "Stripe-Signature",
  "x-hub-signature-256": "X-Hub-Signature-256",
  "x-github-delivery": "X-GitHub-Delivery"
}

const listed = (scheme: SignatureScheme): string =>
  schemeHeaders[scheme].map((header) => written[header] ?? header).join(", ")

/** The refusal of every request without a valid signature. It does not say which check failed, so nobody can find out by trying. */
const notSigned = (verifier: Verifier): Problem =>
  verifier.of === "function"
    ? problem("unauthenticated", "The request is not signed as this hook expects.", {}, {
      "www-authenticate": "Signature"
    })
    : problem(
      "unauthenticated",
      `The request is not signed as this hook expects, by the headers ${listed(verifier.scheme)}.`,
      {},
      { "www-authenticate": `Signature headers="${schemeHeaders[verifier.scheme].join(" ")}"` }
    )

const tooOften = (seconds: number): Problem =>
  problem("too-many-requests", "Too many requests from here were not signed as this hook expects.", {}, {
    "retry-after": String(seconds)
  })

const noRoom = (): Problem =>
  problem("unavailable", "Too many messages are being received.", {}, { "retry-after": "1" })

const away = (): Problem =>
  problem("unavailable", "The service cannot answer right now. Try again soon.", {}, { "retry-after": "2" })

/** Bytes that are held for requests, of all and of each client. */
const makeRoom = (most: number, mostEach: number) => {
  let held = 0
  const byClient = new Map<string, number>()
  return {
    take: (client: string, bytes: number): boolean => {
      const own = (byClient.get(client) ?? 0) + bytes
      if (held + bytes > most || own > mostEach) return false
      held += bytes
      byClient.set(client, own)
      return true
    },
    leave: (client: string, bytes: number): void => {
      held -= bytes
      const own = (byClient.get(client) ?? 0) - bytes
      if (own > 0) byClient.set(client, own)
      else byClient.delete(client)
    }
  }
}

/** Fewest bytes that a request counts. A short request also takes one of the places for requests under way. */
const leastHeld = 65_536

/** Clients that are known to have been denied too often; the last of them, in this process. */
const mostBlocked = 10_000

type Denied = { readonly of: "denied"; readonly reason: Denial; readonly thrown: string | null }
type Verified = { readonly of: "verified"; readonly id: string | null }

const denied = (reason: Denial, thrown: string | null = null): Denied => ({ of: "denied", reason, thrown })

/** The use cases of hooks over one core. */
export const makeHooks = (core: Core, parts: HookParts): HookApp => {
  const { hooks, isSigned, queue, submissions } = parts
  const limits: HookLimits = { ...usualLimits, ...parts.limits }
  const room = makeRoom(limits.heldBytes, limits.heldBytesEach)
  const blocked = new BoundedMap<string, number>(mostBlocked)
  const told = new Map<string, number>()

  const tell = (hook: string, { reason, thrown }: Denied, now: number): void => {
    const name = `${hook} ${reason}`
    if (now - (told.get(name) ?? -Infinity) < 60_000) return
    told.set(name, now)
    parts.denied?.(hook, reason, thrown)
  }

  /** What counts together: the requests of a client to a hook, at each tenant's host apart, so that nobody at one has those of another refused. */
  const senderOf = ({ name }: Hook, { client, tenant = null }: HookRequest): string =>
    core.seal.digest(JSON.stringify(["hook", name, client, ...(tenant === null ? [] : [tenant])]))

  /** Counts a denied request. From the one on that is too many, its client is refused before its body is read. */
  const deny = Effect.fnUntraced(function*(
    hook: Hook,
    request: HookRequest,
    why: Denied
  ): Effect.fn.Return<never, Problem> {
    const now = yield* Clock.currentTimeMillis
    tell(hook.name, why, now)
    const sender = senderOf(hook, request)
    const wait = yield* Effect.catch(
      submissions.admit(sender, limits.deniedPerMinute),
      ({ cause }) => {
        const outage = outageOf(cause)
        return Effect.fail(outage === null ? away() : outageProblem(outage, cause))
      }
    )
    if (wait === 0) return yield* Effect.fail(notSigned(hook.verifier))
    blocked.set(sender, now + wait * 1_000)
    return yield* Effect.fail(tooOften(wait))
  })

  const unlessBlocked = Effect.fnUntraced(function*(
    hook: Hook,
    request: HookRequest
  ): Effect.fn.Return<void, Problem> {
    const now = yield* Clock.currentTimeMillis
    const until = blocked.get(senderOf(hook, request)) ?? 0
    if (until > now) return yield* Effect.fail(tooOften(Math.ceil((until - now) / 1_000)))
  })

  /** What a function of the application says. */
  const asked = (
    verify: Extract<Verifier, { readonly of: "function" }>["verify"],
    body: Uint8Array,
    { header, tenant = null }: HookRequest
  ): Effect.Effect<Verified | Denied> => {
    const answer = Effect.tryPromise({
      try: async (signal) => verify({ body, headers: { get: (name) => header(name.toLowerCase()) }, signal, tenant }),
      catch: (error) => denied("function", classOf(error))
    })
    const judged = Effect.map(answer, (verdict: unknown): Verified | Denied => {
      if (verdict === true) return { of: "verified", id: null }
      if (typeof verdict !== "object" || verdict === null || Array.isArray(verdict)) return denied("function")
      const id: unknown = "id" in verdict ? verdict.id : undefined
      if (id === undefined) return { of: "verified", id: null }
      return isMessageId(id) ? { of: "verified", id } : denied("function", "id")
    })
    return Effect.catch(
      Effect.timeoutOrElse(judged, {
        duration: limits.verifyMs,
        orElse: () => Effect.succeed(denied("function", "timeout"))
      }),
      Effect.succeed
    )
  }

  /** Verifies a request. What the head alone denies costs no body. */
  const verified = Effect.fnUntraced(function*(
    { verifier }: Hook,
    request: HookRequest
  ): Effect.fn.Return<(Verified & { readonly body: Uint8Array }) | Denied, Problem> {
    const { body: read, header } = request
    if (verifier.of === "function") {
      const body = yield* read
      const verdict = yield* asked(verifier.verify, body, request)
      return verdict.of === "denied" ? verdict : { ...verdict, body }
    }
    const { keys, scheme, toleranceSeconds } = verifier
    const now = (yield* Clock.currentTimeMillis) / 1_000
    const claim = readClaim(scheme, header, now, toleranceSeconds)
    if (Result.isFailure(claim)) return denied(claim.failure)
    const { id, prefix, signatures } = claim.success
    const body = yield* read
    if (!isSigned(keys, prefix, body, signatures)) return denied("signature")
    if (scheme !== "stripe") return { of: "verified", id, body }
    // Without an id of its own, the message is what was signed.
    return { of: "verified", id: stripeId(body) ?? `${prefix}${core.seal.hash(new TextDecoder().decode(body))}`, body }
  })

  /** Stores the message as a job, unless it was before. Both the job and what is remembered of it are committed, or neither. */
  const store = Effect.fnUntraced(function*(
    { job, name }: Hook,
    id: string | null,
    payload: string,
    tenant: string | null
  ): Effect.fn.Return<void, Problem> {
    const now = BigInt(yield* Clock.currentTimeMillis) * 1_000n
    const plan = Result.getOrThrow(planEnqueue(job, payload, undefined))
    // Three parts: the keys of callers have two.
    const own = tenant === null ? [] : [tenant]
    const claim = { scope: JSON.stringify(["hook", name, "message", ...own]), key: id ?? "", now }
    const work = inTransaction(core, (tx) => {
      const enqueued = Effect.mapError(queue.enqueue([plan], tx.handle), queueProblem)
      if (id === null) return Effect.asVoid(enqueued)
      return Effect.gen(function*() {
        // A twin waits until the first has ended. So it gets the same answer, and not a refusal.
        yield* tx.hold(["hook", name, ...own, id].join(" "), "alone")
        const claimed = yield* tx.claimKey(claim)
        if (claimed.of === "stored") return
        if (claimed.of === "busy") return yield* Effect.fail(noRoom())
        const [made] = yield* enqueued
        yield* tx.storeKey({ ...claim, request: "", answer: made ?? "" })
      })
    })
    return yield* Effect.catch(
      work,
      (error): Effect.Effect<never, Problem> => isProblem(error) ? Effect.fail(error) : recordsProblem(error)
    )
  })

  const taken = Effect.fnUntraced(function*(
    hook: Hook,
    request: HookRequest,
    headers: { readonly [name: string]: string }
  ): Effect.fn.Return<Reply, Problem> {
    const { tenant = null } = request
    const message = yield* verified(hook, request)
    if (message.of === "denied") return yield* deny(hook, request, message)
    const receivedAt = new Date(yield* Clock.currentTimeMillis).toISOString()
    const payload = encodeMessage({
      id: message.id,
      receivedAt,
      headers,
      body: message.body,
      ...(tenant === null ? {} : { tenant })
    })
    if (Result.isFailure(payload)) return yield* Effect.die(new Error(payload.failure))
    yield* store(hook, message.id, payload.success, tenant)
    // Accepted, not done: the work is a job (RFC 9110, 15.3.3). Senders take any 2xx.
    return { status: 202, headers: {}, body: null }
  })

  return {
    has: (name) => hooks.has(name),
    receive: Effect.fnUntraced(function*(name, request): Effect.fn.Return<Reply, Problem> {
      const hook = hooks.get(name)
      if (hook === undefined) return yield* Effect.fail(notFound())
      const { client, length } = request
      yield* unlessBlocked(hook, request)
      const headers = keptHeaders(request.headers)
      if (headers === null) {
        return yield* Effect.fail(
          problem("header-too-large", `The headers of a message have at most ${mostHeaders} characters.`)
        )
      }
      const bytes = Math.max(leastHeld, length ?? largestBody)
      if (!room.take(client, bytes)) return yield* Effect.fail(noRoom())
      return yield* Effect.ensuring(taken(hook, request, headers), Effect.sync(() => room.leave(client, bytes)))
    })
  }
}
