// What the failure of a write that commits by itself leaves open, and what it does not.
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { ConnectionError, SqlError, UnknownError } from "effect/sql/SqlError"
import { isUnknownSetting, refuse, refuseAlone, refusedByRule } from "../../adapters/postgres/errors.ts"

const meaningOf = (error: SqlError) =>
  Effect.map(Effect.flip(Effect.catch(refuse(error), refuseAlone)), ({ reason }) => reason._tag)

const meaning = (code: string, message = "no") => {
  const cause = Object.assign(new Error(message), { code })
  return meaningOf(new SqlError({ reason: new UnknownError({ cause, message, operation: "query" }) }))
}

describe("a write that commits by itself", () => {
  it.effect.each<readonly [code: string, reason: string]>([
    ["08006", "OutcomeUnknown"], // connection_failure
    ["40003", "OutcomeUnknown"], // statement_completion_unknown
    ["57P01", "OutcomeUnknown"], // admin_shutdown
    ["57P02", "OutcomeUnknown"], // crash_shutdown
    ["58030", "OutcomeUnknown"], // io_error
    ["53100", "DiskFull"], // disk_full
    ["53200", "Unavailable"], // out_of_memory
    ["53300", "NoConnections"], // too_many_connections
    ["23000", "Check"], // integrity_constraint_violation, as triggers raise it
    ["23505", "Unique"],
    ["45000", "Check"], // as triggers raise it in other databases
    ["OR001", "Check"], // a code that a trigger made up
    ["9Z999", "Check"],
    ["57014", "Timeout"],
    ["22P02", "BadValue"]
  ])("that fails with %s means %s", ([code, reason]) =>
    Effect.gen(function*() {
      expect(yield* meaning(code)).toBe(reason)
    }))

  it.effect.each(["42P01", "55000", "58P01", "72000", "F0001", "HV000", "P0002", "XX000"])(
    "that fails with %s of the server's own is a defect",
    (code) =>
      Effect.gen(function*() {
        expect(Exit.hasDies(yield* Effect.exit(meaning(code)))).toBe(true)
      })
  )

  it.effect.each(["EPIPE", "ECONNRESET"])(
    "whose socket fails with %s may have been done",
    (code) =>
      Effect.gen(function*() {
        const cause = Object.assign(new Error("no"), { code })
        const error = new SqlError({ reason: new ConnectionError({ cause, message: "no", operation: "query" }) })
        expect(yield* meaningOf(error)).toBe("OutcomeUnknown")
      })
  )

  it.effect("that an access rule refuses has to be looked at again", () =>
    Effect.gen(function*() {
      const message = `invalid input syntax for type integer: "${refusedByRule}"`
      expect(yield* meaning("22P02", message)).toBe("Contended")
    }))
})

describe("a startup parameter that the other side does not know", () => {
  it.each<readonly [code: string, message: string, unknown: boolean]>([
    ["08P01", "unsupported startup parameter: statement_timeout", true],
    ["08P01", "server login has been failing, try again later (server_login_retry)", false],
    ["42704", "unrecognized configuration parameter", true],
    ["22023", "invalid value for parameter", true],
    ["57P03", "the database system is starting up", false]
  ])("%s with %j: %s", (code, message, unknown) => {
    const cause = Object.assign(new Error(message), { code })
    const error = new SqlError({ reason: new ConnectionError({ cause, message, operation: "connect" }) })
    expect(isUnknownSetting(error)).toBe(unknown)
  })
})
