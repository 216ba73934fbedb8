/**
 * Which server a read goes to where there are replicas. A read goes to one that shows what its caller wrote: up to the position that the call brings. Without a
 * position, the reads of a caller who wrote within the last ten seconds go to the primary. Writes tell their position and go to the primary always.
 */

import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type { Caller } from "../../domain/access/caller.ts"
import { BoundedMap } from "../../domain/bounded.ts"
import { invalidParameter, type Problem, problemKinds, withHeaders } from "../../domain/problem.ts"
import { later, type Position, readPosition } from "../../domain/read/replica.ts"
import type { ReplicasService } from "../../ports/replicas.ts"
import type { Call, Reply, StreamedReply } from "./call.ts"
import type { Core } from "./core.ts"
import { makeJudgements } from "./guard.ts"

/** The header of a write's answer, and of later reads. */
const positionHeader = "x-service-position"

/** The same for browsers: a page that is loaded anew, another tab and a link have no header, and may come to another instance. */
const cookieName = "service-position"
const cookieForm = new RegExp(`(?:^|;) *${cookieName}=([^;]*)`)

/** How long a caller who wrote is remembered, in milliseconds, and how many are. */
const stickyMs = 10_000
const mostWriters = 50_000
/** Cores of positions that are kept for each replica, and numbers of rows that each of them remembers. */
const mostPositions = 200
const rowsOfPosition = 100

/** What is remembered of a caller. Times are milliseconds of the monotonic clock. */
interface Known {
  /** When it is forgotten. */
  readonly until: number
  /** Until when reads without a position go to the primary, as the caller wrote. */
  readonly wroteUntil: number
  /** What their reads have to show; null: it could not be asked, so only the primary is known to. */
  readonly position: Position | null
}

const nameOf = ({ id, tenant }: Caller): string => JSON.stringify([tenant, id])

const milliseconds = (clock: Clock.Clock): number => Number(clock.monotonicTimeNanosUnsafe() / 1_000_000n)

/** A use case as the edge asks for it. */
type Use<Rest extends readonly unknown[]> = (call: Call, ...rest: Rest) => Effect.Effect<Reply, Problem>

export interface Routing {
  /** The use case on the server that the call may read from. */
  readonly read: <Rest extends readonly unknown[]>(
    use: (core: Core, call: Call, ...rest: Rest) => Effect.Effect<Reply, Problem>
  ) => Use<Rest>
  /** The use case, which writes: its caller is remembered, and its answer tells the position. */
  readonly wrote: <Rest extends readonly unknown[]>(use: Use<Rest>) => Use<Rest>
  /** The use case, whose answer tells of changes as they happen: who hears of one reads it next, so their reads have to show it. */
  readonly told: <Rest extends readonly unknown[]>(use: Use<Rest>) => Use<Rest>
}

/** The position in the cookie. A text that is none counts for nothing, as no program wrote it. */
const cookieOf = (call: Call): Position | null => readPosition(cookieForm.exec(call.header("cookie") ?? "")?.[1] ?? "")

/** What tells a position. It is no secret and proves nothing, so no script needs to be kept from writing the cookie. */
const headersOf = (call: Call, position: Position): { readonly [name: string]: string } => ({
  [positionHeader]: position,
  ...call.header("sec-fetch-site") === "same-origin" && {
    "set-cookie": `${cookieName}=${position}; Path=/; Max-Age=${stickyMs / 1_000}; HttpOnly; SameSite=Lax`
  }
})

/** Refusals for what the database has: who reads next wants to see that, or would be refused again. */
const shows: ReadonlySet<number> = new Set([404, 409, 412])

const isStreamed = (reply: Reply): reply is StreamedReply => "stream" in reply

/** Whether a part of a stream tells of an event: others keep the connection open. */
const hasEvent = (bytes: Uint8Array): boolean => new TextDecoder().decode(bytes).includes("event: ")

/** How reads and writes of a service find their server. */
export const makeRouting = (core: Core, replicas: ReplicasService): Routing => {
  /** Who wrote last is last. */
  const writers = new Map<string, Known>()
  /** Until when everybody counts as one who wrote, as some were forgotten. */
  let everybodyUntil = 0
  const cores = new Map<string, { readonly any: Core; readonly positions: BoundedMap<Position, Core> }>()

  const remember = (
    { caller }: Pick<Call, "caller">,
    position: Position | null,
    of: "wrote" | "heard" = "wrote"
  ): Effect.Effect<void> =>
    Effect.clockWith((clock) =>
      Effect.sync(() => {
        const now = milliseconds(clock)
        const name = nameOf(caller)
        const before = writers.get(name)
        const until = now + stickyMs
        writers.delete(name)
        writers.set(name, {
          until,
          wroteUntil: of === "wrote" ? until : before?.wroteUntil ?? 0,
          position: position === null ? null : later(before?.position ?? null, position)
        })
        for (const [oldest, { until }] of writers) {
          if (until > now && writers.size <= mostWriters) break
          everybodyUntil = Math.max(everybodyUntil, until)
          writers.delete(oldest)
        }
      })
    )

  /** Asks where the log stands, remembers it for the caller, and gives the headers that tell it. Null: the primary does not say. */
  const telling = (call: Call): Effect.Effect<{ readonly [name: string]: string } | null> =>
    Effect.flatMap(
      replicas.position,
      (position) =>
        position === null ? Effect.succeed(null) : Effect.as(remember(call, position), headersOf(call, position))
    )

  /** The core on a replica. What was counted there before a position was shown does not count for who asks for that. */
  const coreOn = (name: string, records: Core["records"], position: Position | null): Core => {
    let own = cores.get(name)
    if (own === undefined) {
      const any = { ...core, records, judgements: makeJudgements(), estimates: core.estimates.beside() }
      cores.set(name, own = { any, positions: new BoundedMap(mostPositions) })
    }
    if (position === null) return own.any
    const kept = own.positions.get(position) ?? { ...own.any, estimates: core.estimates.beside(rowsOfPosition) }
    own.positions.set(position, kept)
    return { ...kept, records }
  }

  /** The core that a call reads with. */
  const coreFor = (call: Call): Effect.Effect<Core, Problem> =>
    Effect.clockWith((clock) => {
      const text = call.header(positionHeader)
      const sent = text === null ? null : readPosition(text)
      if (text !== null && sent === null) {
        return Effect.fail(
          invalidParameter("X-Service-Position", "This is no position. Send the text that the answer to a write has.")
        )
      }
      const given = later(sent, cookieOf(call))
      const now = milliseconds(clock)
      const last = writers.get(nameOf(call.caller))
      const known = last !== undefined && last.until > now ? last : null
      const toPrimary = given === null ? (known?.wroteUntil ?? 0) > now || everybodyUntil > now : false
      if (toPrimary || (known !== null && known.position === null)) return Effect.succeed(core)
      // Another tab of the same person may have written since.
      const position = later(given, known?.position ?? null)
      return Effect.map(
        replicas.choose(position),
        (chosen) => chosen === null ? core : coreOn(chosen.name, chosen.records, position)
      )
    })

  return {
    read: (use) => (call, ...rest) => Effect.flatMap(coreFor(call), (on) => use(on, call, ...rest)),
    wrote: (use) => (call, ...rest) =>
      Effect.matchEffect(
        // Whatever came of it: it may have been written.
        Effect.onExit(use(call, ...rest), () => remember(call, null)),
        {
          onSuccess: (reply) =>
            Effect.map(
              telling(call),
              (told) => told === null ? reply : { ...reply, headers: { ...reply.headers, ...told } }
            ),
          onFailure: (refused) =>
            shows.has(problemKinds[refused.slug].status)
              ? Effect.flatMap(
                telling(call),
                (told) => Effect.fail(told === null ? refused : withHeaders(refused, told))
              )
              : Effect.fail(refused)
        }
      ),
    told: (use) => (call, ...rest) =>
      Effect.map(use(call, ...rest), (reply) => {
        if (!isStreamed(reply)) return reply
        const { bytes } = reply.stream
        const noting = (parts: AsyncIterator<Uint8Array>): AsyncIterator<Uint8Array> => ({
          next: async () => {
            const part = await parts.next()
            if (part.done !== true && hasEvent(part.value)) {
              await Effect.runPromise(
                Effect.flatMap(replicas.position, (position) => remember(call, position, "heard"))
              )
            }
            return part
          },
          return: async () => await parts.return?.() ?? { done: true, value: undefined }
        })
        return {
          ...reply,
          stream: { ...reply.stream, bytes: { [Symbol.asyncIterator]: () => noting(bytes[Symbol.asyncIterator]()) } }
        }
      })
  }
}
