// How the services under measurement are served: with the keys, the database and the port that the bench gives them. They say "up" once they answer.
import { createAdmin, jwtAuthenticator, listen } from "resource-admin"

export const serve = async (config) => {
  const port = Number(process.env.PORT)
  const admin = await createAdmin(config, {
    database: { url: process.env.DATABASE_URL },
    secret: "a secret that measurements need not keep",
    publicUrl: `http://127.0.0.1:${port}`,
    authenticator: jwtAuthenticator({
      keys: JSON.parse(process.env.KEY_SET),
      issuer: "bench",
      audience: "bench",
      rolesClaim: "role",
      tenantClaim: "tenant"
    })
  })
  const listener = await listen(admin.edge, { port })
  const stop = async () => {
    await listener.close()
    await admin.close()
  }
  process.once("SIGTERM", () => void stop())
  console.log("up")
}
