// With the usual names of schemas every migration is, byte for byte, what it was before they could have others.
import { createHash } from "node:crypto"
import { expect, it } from "vitest"
import { compileOrThrow } from "../../composition/create-admin.ts"
import {
  authMigrations,
  followingMigrations,
  jobsMigrations,
  type Migration,
  migrationScript,
  serviceMigration
} from "../../composition/migrations.ts"
import shop from "../../examples/shop/admin.config.ts"

const digest = (text: string): string => createHash("sha256").update(text).digest("hex").slice(0, 16)

it("leaves the statements, questions and scripts of all migrations as they were", () => {
  const compiled = compileOrThrow(shop)
  const all: readonly Migration[] = [
    serviceMigration,
    ...jobsMigrations(compiled),
    ...authMigrations({ auth: { twoFactor: true, passkeys: true } }),
    ...followingMigrations(compiled)
  ]
  const found = all.map((each) => [each.name, each.digest, digest(each.question ?? ""), digest(migrationScript(each))])
  expect(found).toEqual([
    ["service", "e18a6b3c90d5afd3", "e3b0c44298fc1c14", "dc0a71b0f20ed448"],
    ["jobs", "0f554b6d2fa65747", "c913f8e66681f42c", "3c3a3baad4a3cb0f"],
    ["auth", "2734aa517de8f896", "e3b0c44298fc1c14", "19032308966887f4"],
    ["second_factor", "e13d83ded88cf6bc", "e3b0c44298fc1c14", "8e2ce0a6eeeadc8b"],
    ["passkey", "bb4374adeddfb383", "e3b0c44298fc1c14", "2d15012692eaab8d"],
    ["tasks", "d283265000d81a3b", "e3b0c44298fc1c14", "a461ee9c68858c47"],
    ["refreshes", "0d5ef29334ae1370", "e3b0c44298fc1c14", "bf425683d8019d26"],
    ["webhooks", "cd1eac4274a54290", "e3b0c44298fc1c14", "f1fd73b2c4160b49"],
    ["webhook_roles", "db619355340201ab", "e3b0c44298fc1c14", "eb2c42d023309c39"],
    ["webhook_limits", "dd892e6f1b67d4d2", "e3b0c44298fc1c14", "afc5cddeffe00ae0"],
    ["rates", "b0da62d1a7405f4f", "e3b0c44298fc1c14", "a061958f8e0f5fb0"],
    ["forms", "1fc885d5a2db03fb", "e3b0c44298fc1c14", "ebca92e320853f34"],
    ["history_shop_orders", "40d7b3d611cca627", "1a8cf95f727375f1", "a3520a608b9882ce"],
    ["history_shop_customers", "c9f1fd9e724f1f6f", "25bdad616557a3ef", "b9544074508b68cc"],
    ["history_shop_products", "1823b568afa72034", "2f56e0232fff22b9", "0aefc6767b1b4d95"],
    ["events", "819041b2b2873362", "e3b0c44298fc1c14", "9e875441cea84446"],
    ["events_shop_orders", "20206704e50a5e53", "9616132a31e100fa", "f69109b74b7293df"]
  ])
})
