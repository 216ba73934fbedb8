import { describe, expect, it } from "vitest"
import { queueStatements } from "../adapters/queue/schema.ts"
import { type Blocks, contracts, readStatement, splitStatements, wholeTime, type Work } from "./migration-plan.ts"
import { authMigrations, serviceMigration } from "./migrations.ts"

describe("a script", () => {
  it("is split at semicolons that are in no text, name, comment or body", () => {
    const body = "do $x$ begin perform 1; perform $$;$$; end $x$"
    expect(splitStatements(`-- first; not yet
      select ';'';'; /* ; */ create table "a;b" (id int); ${body};

      -- the end;
    `)).toEqual(["select ';'';'", "create table \"a;b\" (id int)", body])
    expect(splitStatements(" ; ;-- nothing\n")).toEqual([])
  })
})

describe("a statement", () => {
  it.each<readonly [string, string | null, Blocks, Work, boolean | null]>([
    ["create table if not exists a.b (id int references c)", null, "nothing", "none", false],
    ["create index on orders (total)", "orders", "writes", "index", false],
    ["create index if not exists i on only shop.orders using gin (tags)", "shop.orders", "writes", "index", false],
    ["create unique index concurrently i on \"Orders\" (a)", "\"Orders\"", "schema changes", "index", true],
    ["alter table orders add column note text", "orders", "reads and writes", "none", false],
    ["alter table orders add column note text not null default ''", "orders", "reads and writes", "none", false],
    ["alter table orders add column note text not null", "orders", "reads and writes", "none", true],
    [
      "alter table orders add column id2 uuid default gen_random_uuid()",
      "orders",
      "reads and writes",
      "rewrite",
      false
    ],
    ["ALTER TABLE orders ALTER COLUMN total TYPE numeric(20, 4)", "orders", "reads and writes", "rewrite", true],
    ["alter table orders alter total set not null", "orders", "reads and writes", "scan", true],
    ["alter table orders drop column note", "orders", "reads and writes", "none", true],
    ["alter table orders rename to sales", "orders", "reads and writes", "none", true],
    ["alter table orders add constraint c check (a > 0)", "orders", "reads and writes", "scan", true],
    ["alter table orders add constraint c check (a > 0) not valid", "orders", "reads and writes", "none", true],
    ["alter table orders validate constraint c", "orders", "schema changes", "scan", false],
    ["alter table orders add primary key (id)", "orders", "reads and writes", "index", true],
    ["alter table orders attach partition p for values in (1)", "orders", "reads and writes", "unknown", null],
    [
      "create or replace trigger t before insert on \"auth\".\"user\" for each row execute function f()",
      "\"auth\".\"user\"",
      "writes",
      "none",
      false
    ],
    ["create or replace view v as select 1", "v", "reads and writes", "none", false],
    ["drop table orders", "orders", "reads and writes", "none", true],
    ["drop function f(int)", null, "nothing", "none", true],
    ["delete from orders where total = 0", "orders", "schema changes", "scan", false],
    ["update orders set total = 0", "orders", "schema changes", "scan", false],
    ["create or replace function f() returns int language sql as 'select 1'", null, "nothing", "none", false],
    ["grant select on orders to app", null, "nothing", "none", false],
    ["do $$ begin perform pg_advisory_xact_lock(1); end $$", null, "nothing", "none", false],
    ["do $$ begin execute 'drop table x'; end $$", null, "reads and writes", "unknown", null],
    ["vacuum full orders", null, "reads and writes", "unknown", null]
  ])("is read: %s", (sql, table, blocks, work, takes) => {
    expect(readStatement(sql)).toMatchObject({ table, blocks, work, contracts: takes })
  })

  it("of the service's own migrations is known, but for the steps of the queue's library", () => {
    const unknown = [serviceMigration, ...authMigrations({ auth: { twoFactor: true, passkeys: true } })]
      .flatMap(({ statements }) => splitStatements(statements)).concat(splitStatements(queueStatements()))
      .filter((each) => readStatement(each).work === "unknown")
    expect(unknown.map((each) => each.slice(0, 10))).toEqual(["do $steps$"])
  })
})

it("a script contracts where one statement does, and may where one is not known", () => {
  expect(contracts("create table a (id int); create index on a (id)")).toBe(false)
  expect(contracts("vacuum full a; create table b (id int)")).toBeNull()
  expect(contracts("vacuum full a; drop table b")).toBe(true)
  const step = { statement: "", table: null, bytes: null, blocks: "nothing", work: "scan" } as const
  expect(wholeTime([{ ...step, milliseconds: 5 }, { ...step, milliseconds: 7 }])).toBe(12)
  expect(wholeTime([{ ...step, milliseconds: 5 }, { ...step, milliseconds: null }])).toBeNull()
})
