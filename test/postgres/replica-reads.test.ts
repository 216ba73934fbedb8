// What a read on a replica becomes when the replica fails: servers and records that answer as the test says, no database.
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import { expect, it } from "vitest"
import type { Postgres } from "../../adapters/postgres/connection.ts"
import { makeReplicas, type ReplicaChange } from "../../adapters/postgres/replicas.ts"
import { positionOf } from "../../core/domain/read/replica.ts"
import { RecordsError, type RecordsReason, type RecordsService } from "../../core/ports/records.ts"
import { waitUntil } from "../support/until.ts"

const failure = (_tag: RecordsReason["_tag"]) => Effect.fail(new RecordsError({ reason: { _tag } }))

/** A primary and a replica that shows all that it has. `count` of records says who has answered. */
const pair = async () => {
  const state = {
    opened: 0,
    dropped: 0,
    answers: true,
    shown: "0/20",
    primary: Effect.succeed("primary") as ReturnType<RecordsService["count"]>,
    count: Effect.succeed("replica") as ReturnType<RecordsService["count"]>
  }
  const changes: ReplicaChange[] = []
  const scope = Scope.makeUnsafe()
  const identity = ["1", "7", "shop"]
  const primary = {
    ask: () => Effect.succeed([["0/20", "00000001", ...identity]])
  } as unknown as Postgres
  const postgres = {
    ask: (sql: string) =>
      Effect.suspend(() =>
        state.answers
          ? Effect.succeed([sql.includes("recovery") ? [state.shown, "true", "2", "7", "shop"] : [state.shown]])
          : failure("Unavailable")
      ),
    opened: () => state.opened,
    drop: () => void state.dropped++
  } as unknown as Postgres
  const replicas = await Effect.runPromise(Effect.provideService(
    makeReplicas({
      primary,
      records: { count: () => Effect.suspend(() => state.primary) } as unknown as RecordsService,
      servers: [{
        name: "r:1",
        weight: 1,
        postgres,
        records: { count: () => Effect.suspend(() => state.count) } as unknown as RecordsService
      }],
      mostLagMs: 10_000,
      onChange: (change) => void changes.push(change)
    }),
    Scope.Scope,
    scope
  ))
  await waitUntil(() => replicas.states()[0]?.absence === null)
  const position = positionOf("00000001", "0000000000000010")
  const count = (records: RecordsService | undefined) => Effect.runPromiseExit(records!.count({} as never))
  return {
    state,
    changes,
    replicas,
    position,
    read: async (at: string | null = null) => count((await Effect.runPromise(replicas.choose(at)))?.records),
    close: () => Effect.runPromise(Scope.close(scope, Exit.void))
  }
}

it.each<RecordsReason["_tag"]>(["Unavailable", "NoConnections", "Preempted", "Unsupported", "Conflict"])(
  "%s of a replica has the primary asked",
  async (tag) => {
    const { changes, close, read, replicas, state } = await pair()
    state.count = failure(tag)
    expect(await read()).toEqual(Exit.succeed("primary"))
    // A replica that breaks reads off is left out for a while, the others as long as they do not answer.
    expect(replicas.states()[0]?.absence).toBe(tag === "Preempted" ? "conflict" : null)
    expect(changes).toEqual(tag === "Preempted" ? [{ of: "left", name: "r:1", why: "conflict" }] : [])
    await close()
  }
)

it("a defect of a replica has the primary asked, too: it may lack a table that was just made", async () => {
  const { close, read, state } = await pair()
  state.count = Effect.die(new Error("no such table"))
  expect(await read()).toEqual(Exit.succeed("primary"))
  await close()
})

it.each<RecordsReason["_tag"]>(["Timeout", "Overloaded", "TooLarge", "BadPattern"])("%s is an answer", async (tag) => {
  const { close, read, state } = await pair()
  state.count = failure(tag)
  expect(Exit.isFailure(await read())).toBe(true)
  await close()
})

it("what a connection may have read that was made after the replica was asked does not count for who wants a position", async () => {
  const { close, position, read, state } = await pair()
  expect(await read(position)).toEqual(Exit.succeed("replica"))
  // It begins anew, and shows less for a moment.
  state.count = Effect.sync(() => {
    state.opened++
    return "replica"
  })
  expect(await read(position)).toEqual(Exit.succeed("primary"))
  expect(await read()).toEqual(Exit.succeed("replica"))
  // The next one asks first what it shows now.
  state.shown = "0/8"
  state.count = Effect.succeed("replica")
  expect(await read(position).catch(() => null)).toBeNull()
  await close()
})

it("while the primary is away, a read that failed on a connection is made once more, where the replica still shows the position", async () => {
  const { close, position, read, state } = await pair()
  state.primary = failure("Unavailable")
  let calls = 0
  const onceBroken = (then: () => void) => {
    calls = 0
    state.count = Effect.suspend(() => {
      if (++calls > 1) return Effect.succeed("replica")
      then()
      return failure("Conflict")
    })
  }
  onceBroken(() => {})
  expect(await read(position)).toEqual(Exit.succeed("replica"))
  onceBroken(() => {})
  expect(await read()).toEqual(Exit.succeed("replica"))
  // It began anew, and shows less.
  onceBroken(() => {
    state.opened++
    state.shown = "0/8"
  })
  expect(Exit.isFailure(await read(position))).toBe(true)
  expect(calls).toBe(1)
  await close()
})

it("at most two hundred reads wait for a place at once, others go to the primary", async () => {
  const { close, position, replicas, state } = await pair()
  state.opened++
  state.shown = "0/8"
  const ended: number[] = []
  const choose = async (n: number) => {
    const chosen = await Effect.runPromise(replicas.choose(position))
    ended.push(n)
    return chosen
  }
  const all = await Promise.all(Array.from({ length: 201 }, (_, n) => choose(n)))
  expect(all.every((each) => each === null)).toBe(true)
  expect(ended[0]).toBe(200)
  // They wait no more.
  state.shown = "0/20"
  expect(await Effect.runPromise(replicas.choose(position))).not.toBeNull()
  await close()
})

it("a replica that does not answer is left out, and its connections are closed, so that nobody waits on them", async () => {
  const { changes, close, read, replicas, state } = await pair()
  state.answers = false
  state.count = failure("Unavailable")
  expect(await read()).toEqual(Exit.succeed("primary"))
  // The failure has it looked at, before the next second.
  await waitUntil(() => replicas.states()[0]?.absence === "unreachable")
  expect(state.dropped).toBe(1)
  state.answers = true
  await waitUntil(() => replicas.states()[0]?.absence === null)
  expect(changes.map(({ of }) => of)).toEqual(["left", "back"])
  await close()
})
