import { describe, expect, it } from "vitest"
import { changesOf, missingOf, problemsOf, withDraft } from "./draft.ts"

const fine = (value: unknown) => ({ value, problem: null })

describe("drafts", () => {
  it("vanish when the value is as it was", () => {
    const record = { note: "a", total: "1.00" }
    const drafts = withDraft({}, record, "note", fine("b"))
    expect(changesOf(drafts, record)).toEqual({ note: "b" })
    expect(withDraft(drafts, record, "note", fine("a"))).toEqual({})
  })

  it("send nothing that cannot be sent", () => {
    const record = { due: "2026-01-01" }
    const drafts = withDraft({}, record, "due", { value: undefined, problem: "Write a date." })
    expect(changesOf(drafts, record)).toEqual({})
    expect(problemsOf(drafts)).toEqual({ due: "Write a date." })
  })

  it("name what a new record lacks", () => {
    const field = (name: string, more: object) => ({
      name,
      optional: false,
      writable: { create: true, update: true },
      ...more
    })
    const fields = [
      field("a", {}),
      field("b", { optional: true }),
      field("c", { default: { db: true } }),
      field("d", { writable: { create: false, update: false } })
    ] as never
    expect(missingOf(fields, {})).toEqual(["a"])
    expect(missingOf(fields, { a: false })).toEqual([])
  })
})
