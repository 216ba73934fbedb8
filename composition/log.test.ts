import { expect, it } from "vitest"
import { openLog } from "./log.ts"

it("lines for people hold no control character of an id from outside", () => {
  let written = ""
  const log = openLog("pretty", (text) => {
    written += text
  })
  const user = "eve\n12:00:00 GET /forged 200\u001b[2J\u009b31m\u007f"
  log.line(
    JSON.stringify({
      time: "2026-01-01T09:30:00Z",
      event: "request",
      method: "GET",
      path: "/x",
      status: 200,
      ms: 1,
      user
    })
  )
  log.event("warn", "sign-in-failed", { user })
  log.flush()
  const shown = "eve\\n12:00:00 GET /forged 200\\u001b[2J\\u009b31m\\u007f"
  const [request, event, ...more] = written.split("\n")
  expect(request).toBe(`09:30:00 GET /x 200 1 ms ${shown}`)
  expect(event).toMatch(/^\d\d:\d\d:\d\d WARN sign-in-failed user=/)
  expect(event?.endsWith(shown)).toBe(true)
  expect(more).toEqual([""])
})
