import { describe, expect, it } from "vitest"
import { pagesAllowed } from "./origin.ts"

const page = "https://evil.example"

describe("pages that may send a request", () => {
  const reading = { changes: false, inSession: false, limited: false }
  it.each([
    // Programs say nothing, and have no visitor whose cookie they could borrow.
    [{ ...reading, changes: true, inSession: true, limited: true }, null, null, "all"],
    [reading, null, null, "all"],
    // What everybody may read.
    [reading, page, "cross-site", "all"],
    [{ ...reading, changes: true }, page, "same-origin", "trusted"],
    [{ ...reading, inSession: true }, page, null, "trusted"],
    [{ ...reading, inSession: true }, "null", "cross-site", "trusted"],
    // An image or a form of another page that names no origin.
    [{ ...reading, limited: true }, null, "cross-site", "none"],
    [{ ...reading, limited: true }, null, "same-site", "none"],
    [{ ...reading, limited: true, changes: true }, null, "cross-site", "none"],
    [{ ...reading, limited: true }, null, "same-origin", "all"],
    [{ ...reading, limited: true }, null, "none", "all"],
    [{ ...reading, limited: true, changes: true }, page, "cross-site", "trusted"],
    [{ ...reading, inSession: true }, null, "cross-site", "all"]
  ])(
    "%j from %j, %j: %s",
    (request, origin, site, expected) => expect(pagesAllowed(request, { origin, site })).toBe(expected)
  )
})
