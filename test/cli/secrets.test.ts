/** `service secrets`: what the databases keep sealed, while another secret takes the place of the first. */

import { expect, it, onTestFinished } from "vitest"
import { makeSeal } from "../../adapters/seal/seal.ts"
import { openDatabase } from "../support/postgres.ts"
import { notesProject, secret, table } from "./notes.ts"

it("seals with the first secret what the accepted ones have sealed, and says what is left", async () => {
  const database = await openDatabase(table)
  onTestFinished(() => database.drop())
  const next = "the next secret, of thirty-two letters"
  const env = { DATABASE_URL: database.url }
  const settings = `auth: { twoFactor: true }, extends: [webhooks()]`
  await using project = notesProject(env, settings)
  project.write(
    "admin.config.ts",
    project.read("admin.config.ts").replace("{ defineConfig }", "{ defineConfig, webhooks }")
  )
  const migrated = await project.quick("migration", "--apply")
  expect(migrated.code, migrated.stderr).toBe(0)
  const context = "webhook secret 1"
  const [own, other] = [makeSeal(secret).seal(context, "whsec_1"), makeSeal(`${secret}!`).seal(context, "whsec_0")]
  await database.execute(
    `insert into webhooks.subscriptions (name, events, url, secret, previous_secret)
     values ('s', 'notes.created', 'https://example.org', '${own}', '${other}')`
  )

  const plain = await project.quick("secrets", "list", "--json")
  expect(plain.code, plain.stderr).toBe(0)
  expect(JSON.parse(plain.stdout)).toMatchObject({
    accepted: 0,
    waiting: 0,
    lost: 1,
    kept: { "secrets of webhooks": { first: 1, accepted: 0, none: 1 } }
  })

  Object.assign(project.env, { AUTH_SECRET: next, AUTH_SECRET_ACCEPTED: secret })
  expect((await project.quick("secrets", "list")).stdout).toContain("service secrets rotate")
  const rotated = await project.quick("secrets", "rotate")
  expect(rotated.stdout).toMatch(/secrets of webhooks +1 +0 +1\n/)
  expect(rotated.stdout).toContain("Remove them 7 days after")
  expect(rotated.stderr).toContain("No known secret opens")
  const [[sealed, previous] = []] = await database.rows(`select secret, previous_secret from webhooks.subscriptions`)
  expect(makeSeal(next).open(context, String(sealed))).toBe("whsec_1")
  expect(previous).toBe(other)
})
