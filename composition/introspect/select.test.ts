import { expect, it } from "vitest"
import { columnFacts as column, tableFacts } from "../../test/support/catalogue.ts"
import { select } from "./select.ts"

const columns = (...names: readonly string[]) => names.map((name) => column(name, "text"))
const table = (name: string, schema = "public", names: readonly string[] = ["id"]) =>
  tableFacts(name, columns(...names), { schema })
const found = [
  table("orders"),
  table("order_lines"),
  table("orders", "shop"),
  table("directus_users"),
  table("a.b"),
  table("schema_migrations", "public", ["version"])
]
const nothing = { schemas: [], tables: [], exclude: [], views: false }
const names = (more: Partial<typeof nothing> | { tables?: readonly string[]; exclude?: readonly string[] }) => {
  const { missing, tables } = select(found, { ...nothing, ...more })
  return { tables: tables.map(({ name, schema }) => `${schema}.${name}`), missing }
}

it.each([
  [{ exclude: ["directus_*", "a.b"] }, ["public.orders", "public.order_lines", "shop.orders"]],
  [{ tables: ["orders"] }, ["public.orders", "shop.orders"]],
  [{ tables: ["shop.*"] }, ["shop.orders"]],
  [{ tables: ["order*"], exclude: ["shop.*"] }, ["public.orders", "public.order_lines"]],
  [{ tables: ["*.orders"], exclude: ["public.orders"] }, ["shop.orders"]],
  [{ tables: ["a.*"] }, ["public.a.b"]],
  // A pattern is no regular expression, and one without a dot never looks at the schema.
  [{ exclude: ["*", "o.ders"] }, []],
  [{ tables: ["pub*", "a.b"] }, ["public.a.b"]]
])("reads of %o only %o", (asked, tables) => {
  expect(names(asked).tables).toEqual(tables)
})

it("says what is not there, but not of a pattern of what to leave out", () => {
  expect(names({ tables: ["orders", "ordres", "x_*"], exclude: ["secrets", "tmp_*"] }).missing).toEqual([
    "ordres",
    "x_*",
    "secrets"
  ])
})

it("leaves tables of frameworks out, unless they are named", () => {
  const all = select(found, nothing)
  expect(all.tables.map(({ name }) => name)).not.toContain("schema_migrations")
  expect(all.frameworks).toEqual([{ table: "schema_migrations", of: "Rails" }])
  expect(names({ tables: ["*"] }).tables).not.toContain("public.schema_migrations")
  expect(names({ tables: ["*", "schema_migrations"] }).tables).toContain("public.schema_migrations")
})

it.each([
  ["migrations", ["id", "migration", "batch"], "Laravel"],
  ["migrations", ["id", "from_country", "to_country"], null],
  ["sessions", ["id", "user_id", "ip_address", "user_agent", "payload", "last_activity"], "Laravel"],
  ["sessions", ["id", "session_id", "data", "created_at", "updated_at"], "Rails"],
  ["cache", ["key", "value", "expiration"], "Laravel"],
  ["cache", ["key", "value", "expiration", "found_by"], null],
  ["cache_locks", ["key", "owner", "expiration"], "Laravel"],
  ["jobs", ["id", "queue", "payload", "attempts", "reserved_at", "available_at", "created_at"], "Laravel"],
  ["jobs", ["id", "title", "salary"], null],
  ["job_batches", ["id", "name", "total_jobs", "pending_jobs", "failed_jobs", "failed_job_ids", "options"], "Laravel"],
  ["failed_jobs", ["id", "uuid", "connection", "queue", "payload", "exception", "failed_at"], "Laravel"],
  ["password_resets", ["email", "token", "created_at"], "Laravel"],
  ["personal_access_tokens", ["id", "tokenable_type", "tokenable_id", "name", "token", "abilities"], "Laravel"],
  ["migrations", ["id", "timestamp", "name"], "TypeORM"],
  ["migrations", ["id", "timestamp", "name", "species"], null],
  ["typeorm_metadata", ["type", "database", "schema", "table", "name", "value"], "TypeORM"],
  ["AspNetUserTokens", ["UserId", "LoginProvider", "Name", "Value"], "ASP.NET Identity"],
  ["schema_version", ["installed_rank", "version", "script", "checksum"], "Flyway"],
  ["schema_version", ["id", "version"], null],
  ["directus_fields", ["id", "collection", "field"], "Directus"],
  ["directus_migrations", ["version", "name", "timestamp"], "Directus"],
  ["directus_users", ["id", "email"], null],
  ["sessions", ["id", "course_id", "starts_at"], null],
  ["session", ["id", "expiresAt", "token", "createdAt", "userId"], "better-auth"],
  ["account", ["id", "accountId", "providerId", "userId", "accessToken", "password"], "better-auth"],
  ["account", ["id", "name", "balance"], null],
  ["verification", ["id", "identifier", "value", "expiresAt"], "better-auth"],
  ["Session", ["id", "sessionToken", "userId", "expires"], "Auth.js"],
  ["SequelizeMeta", ["name"], "Sequelize"],
  ["__EFMigrationsHistory", ["MigrationId", "ProductVersion"], "Entity Framework"],
  ["django_session", ["session_key", "session_data", "expire_date"], "Django"]
])("takes %s (%o) for one of %s", (name, columns, of) => {
  const framework = select([table(name, "public", columns)], nothing).frameworks
  expect(framework.map((each) => each.of)).toEqual(of === null ? [] : [of])
})
