// What the failure of a write that commits by itself leaves open, and what it does not.
import * as Effect from "effect/Effect"
import { ConnectionError, SqlError, UnknownError } from "effect/sql/SqlError"
import { describe, expect, it } from "vitest"
import { refuse, refuseAlone, refusedByRule } from "../../adapters/postgres/errors.ts"

const meaning = (code: string, message = "no"): string => {
  const cause = Object.assign(new Error(message), { code })
  const error = new SqlError({ reason: new UnknownError({ cause, message, operation: "query" }) })
  return Effect.runSync(Effect.flip(Effect.catch(refuse(error), refuseAlone))).reason._tag
}

describe("a write that commits by itself", () => {
  it.each([
    ["08006", "OutcomeUnknown"], // connection_failure
    ["40003", "OutcomeUnknown"], // statement_completion_unknown
    ["57P01", "OutcomeUnknown"], // admin_shutdown
    ["57P02", "OutcomeUnknown"], // crash_shutdown
    ["58030", "OutcomeUnknown"], // io_error
    ["53100", "DiskFull"], // disk_full
    ["53200", "Unavailable"], // out_of_memory
    ["53300", "Unavailable"], // too_many_connections
    ["23000", "Check"], // integrity_constraint_violation, as triggers raise it
    ["23505", "Unique"],
    ["45000", "Check"], // as triggers raise it in other databases
    ["OR001", "Check"], // a code that a trigger made up
    ["9Z999", "Check"],
    ["57014", "Timeout"],
    ["22P02", "BadValue"]
  ])("that fails with %s means %s", (code, reason) => expect(meaning(code)).toBe(reason))

  it.each(["42P01", "55000", "58P01", "72000", "F0001", "HV000", "P0002", "XX000"])(
    "that fails with %s of the server's own is a defect",
    (code) => expect(() => meaning(code)).toThrow()
  )

  it.each(["EPIPE", "ECONNRESET"])("whose socket fails with %s may have been done", (code) => {
    const cause = Object.assign(new Error("no"), { code })
    const error = new SqlError({ reason: new ConnectionError({ cause, message: "no", operation: "query" }) })
    const failed = Effect.runSync(Effect.flip(Effect.catch(refuse(error), refuseAlone)))
    expect(failed.reason._tag).toBe("OutcomeUnknown")
  })

  it("that an access rule refuses has to be looked at again", () => {
    expect(meaning("22P02", `invalid input syntax for type integer: "${refusedByRule}"`)).toBe("Contended")
  })
})
