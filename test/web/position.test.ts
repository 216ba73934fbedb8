// The position of writes: the client sends the latest one with what it asks later, so that a replica shows what was written.
import { createClient } from "resource-admin/client"
import { expect, it } from "vitest"

const place = (n: number) => String(n).padStart(24, "0")

it("goes with all later calls, and an earlier one does not replace it", async () => {
  const sent: Array<string | undefined> = []
  const told = [place(7), place(5), null, place(12)]
  const client = createClient({
    baseUrl: "http://service.test",
    token: "t",
    fetch: (_, { headers }) => {
      sent.push(headers["x-service-position"])
      const position = told.shift() ?? null
      return Promise.resolve(
        Response.json({}, { headers: position === null ? {} : { "x-service-position": position } })
      )
    }
  })
  for (let i = 0; i < 5; i++) await client.request({ method: "GET", path: "/orders" })
  expect(sent).toEqual([undefined, place(7), place(7), place(7), place(12)])
})
