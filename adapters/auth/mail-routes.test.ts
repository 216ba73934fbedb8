import { expect, it } from "vitest"
import { makeMailRoutes } from "./mail-routes.ts"

it("sends no link for an admin whose session has ended", async () => {
  const sent: string[] = []
  const unasked = () => {
    throw new Error("nobody asks for this here")
  }
  const mails = { passwordReset: true, invitations: true, signInAlerts: false }
  const routes = makeMailRoutes({
    engine: unasked,
    hashOf: unasked,
    links: { await: unasked, awaited: unasked, isGood: unasked, make: unasked, use: unasked } as never,
    log: () => void sent.push("log"),
    mailer: { mails, checkRoom: async () => {}, invite: async (id: string) => void sent.push(id) } as never
  })
  const send = routes.get("/admin/send-password-link")
  const request = {
    body: { userId: "bob" },
    client: "c",
    session: () => Promise.reject(new Error("the session has ended")),
    account: async () => ({ id: "bob" })
  }
  await expect(send?.(request)).rejects.toThrow("the session has ended")
  expect(sent).toEqual([])
})
