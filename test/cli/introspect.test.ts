import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { examplesOf } from "../docs/blocks.ts"
import { openDatabase, type TestDatabase } from "../support/postgres.ts"
import { musicSchema } from "./music.ts"
import { ask, makeProject, type Project, type Running } from "./support.ts"

const secret = "0123456789abcdef0123456789abcdef"

/** A well-known sample database, where somebody put it beside the project; it makes its own database first, which is left out. */
const samplePath = fileURLToPath(new URL("../../../shared/data/chinook.sql", import.meta.url))
const sample = existsSync(samplePath)
  ? [{
    title: "a sample database",
    whole: false,
    sql: readFileSync(samplePath, "utf8").replaceAll(/^(?:drop database|create database|\\c\b).*$/gim, "")
  }]
  : []

describe.each([{ title: "a small shop for music", whole: true, sql: musicSchema }, ...sample])(
  "introspect, then serve: $title",
  ({ sql, whole }) => {
    let database: TestDatabase
    let project: Project
    let running: Running
    let token: string

    beforeAll(async () => {
      database = await openDatabase()
      await database.execute(sql)
      project = makeProject({ DATABASE_URL: database.url, AUTH_SECRET: secret })
    })
    afterAll(async () => {
      await running?.end()
      await project.dispose()
      await database.drop()
    })

    it("writes a project that nobody has to touch", async () => {
      const first = await project.quick("introspect")
      expect(first.stderr).toBe("")
      expect(first.code).toBe(0)
      expect(first.stdout).toContain("Next:\n  write DATABASE_URL into .env\n  npm install\n")
      const resources = project.read("admin.resources.ts")
      expect(resources).toContain("primaryKey: [\"playlist_id\", \"track_id\"]")
      expect(resources).toContain("artist_id: relation(artist).filterable().sortable()")
      expect(resources).toContain("reports_to: relation(\"employee\").optional()")
      expect(resources).toContain("name: f.text().max(120).optional().filterable().sortable().searched()")
      expect(resources).toContain("unit_price: f.decimal({ precision: 10, scale: 2 }).filterable().sortable()")
      expect(resources).toContain("track_id: f.integer().readOnly().dbDefault()")

      const config = project.read("admin.config.ts")
      const second = await project.quick("introspect")
      expect(second.stdout).toContain("is up to date")
      expect(second.stdout).not.toContain("Next:")
      expect(project.read("admin.resources.ts")).toBe(resources)
      expect(project.read("admin.config.ts")).toBe(config)
      expect((await project.quick("introspect", "--check")).code).toBe(0)
    })

    it("refuses to serve before the tables of accounts are there, and says how to make them", async () => {
      const refused = await project.quick("serve", "--port", "0")
      expect(refused.code).toBe(1)
      expect(refused.stderr).toContain("service migration --apply")
      expect((await project.quick("migration", "--apply")).stdout).toContain("Applied auth")
      expect((await project.quick("migration", "--apply")).stdout).toContain("Nothing to apply")
    })

    it("serves lists, filters, search, aggregates and composite keys", async () => {
      expect((await project.quick("users", "create", "ann@example.com", "--generate-password")).code).toBe(0)
      token = (await project.quick("token", "ann@example.com")).stdout.trim()
      running = await project.start("serve")
      const get = (path: string, query: Record<string, string> = {}) =>
        ask(running.port, `/api/v1/${path}`, query, { token })

      const artists = await get("artist", { filter: "name:\"AC/\"", fields: "name" })
      expect(artists.body["items"]).toMatchObject([{ name: "AC/DC" }])
      const cheap = await get("track", {
        filter: "unit_price > 0.50 AND composer:\"angus\"",
        count: "exact",
        page_size: "3"
      })
      expect(cheap.status).toBe(200)
      expect(Number(cheap.body["total_size"])).toBeGreaterThan(3)
      const searched = await get("track", { filter: "Jobim", page_size: "2", expand: "album" })
      expect(searched.status).toBe(200)
      expect(JSON.stringify(searched.body)).toContain("Jobim")
      const months = await get("invoice:series", {
        field: "invoice_date",
        range: "all",
        granularity: "month",
        measure: "sum:total"
      })
      expect((months.body["points"] as readonly unknown[]).length).toBeGreaterThan(10)
      const genres = await get("track:facets", { field: "genre_id", limit: "2" })
      expect((genres.body["facets"] as readonly unknown[]).length).toBe(2)
      const pair = await get("playlist_track/1,5")
      expect(pair.body).toMatchObject({ playlist_id: 1, track_id: 5 })
      expect((await get("playlist_track/1,5", { fields: "nope" })).status).toBe(400)
      expect((await ask(running.port, "/api/v1/artist")).status).toBe(401)
      expect((await ask(running.port, "/readyz")).status).toBe(200)
    })

    // What follows is the same whatever the tables are.
    if (!whole) return

    it("is extended beside the generated file, not in it", async () => {
      const examples = examplesOf("docs/guides/existing-database.md", "ts")
      project.write("admin.config.ts", examples.find(({ text }) => text.includes("extendResource"))?.text ?? "")
      const mine = project.read("admin.config.ts")
      expect((await project.quick("introspect")).stdout).toContain("is up to date")
      expect(project.read("admin.config.ts")).toBe(mine)
      const document = JSON.parse((await project.quick("openapi")).stdout) as { paths: Record<string, object> }
      expect(Object.keys(document.paths["/api/v1/track/{key}"] ?? {})).not.toContain("delete")
      expect(JSON.stringify(document)).toContain("milliseconds")
      expect(JSON.stringify(document)).not.toContain("\"bytes\":")
      expect((await project.quick("openapi", "--roles", "support")).stdout).not.toContain("/api/v1/track")
    })

    it("does not replace what somebody edited, unless asked to", async () => {
      const generated = project.read("admin.resources.ts")
      project.write("admin.resources.ts", generated.replace("artist_id: relation(artist)", "artist_id: f.integer()"))
      const refused = await project.quick("introspect")
      expect(refused.code).toBe(1)
      expect(refused.stderr).toContain("edited by hand")
      expect((await project.quick("introspect", "--check")).code).toBe(1)
      expect((await project.quick("introspect", "--force")).code).toBe(0)
      expect(project.read("admin.resources.ts")).toBe(generated)
      project.write("other.ts", "export const mine = 1\n")
      expect((await project.quick("introspect", "--out", "other.ts")).stderr).toContain(
        "was not written by this command"
      )
    })
  }
)

describe("what introspection makes of unusual tables", () => {
  let database: TestDatabase
  let project: Project
  let text: string

  beforeAll(async () => {
    database = await openDatabase()
    await database.execute(`
      create type mood as enum ('sad', 'ok', 'it''s fine');
      create domain email as citext check (value ~ '@');
      create domain work_email as email;
      create domain rank as int not null default 3;
      create domain today as mood;
      create schema shop;
      create table "Order Items" (
        "Id" uuid primary key default gen_random_uuid(),
        "class" text not null,
        state text not null default 'new' check (state in ('new', 'in ''transit''', 'done')),
        grade varchar(2) check (grade = any (array['a'::varchar, 'b'::varchar])),
        checked int check (checked in (1, 2)),
        mood mood,
        address email,
        raw bytea,
        tags text[],
        moods mood[] not null default '{}' unique,
        sizes numeric(5, -2)[],
        docs jsonb[],
        password_hash text,
        "accessToken" text,
        "userPassword" text,
        remember_token text,
        token_count int,
        hundreds numeric(5, -2),
        thousandths numeric(2, 3),
        doubled int generated always as (checked * 2) stored,
        permissions text,
        created_at timestamptz not null default now(),
        updated_at timestamptz not null default now(),
        deleted_at timestamptz,
        user_id uuid,
        tenant_id int not null
      );
      comment on column "Order Items".mood is 'How it feels';
      comment on column "Order Items".address is 'Where it goes, as the post writes it.';
      comment on table "Order Items" is 'Lines */ of
 orders';
      create table shop.orders (id bigint generated always as identity primary key, made_by int, changed_by int, payload today not null);
      create table orders (id int primary key);
      create table people (id int primary key, friend int references people);
      alter table shop.orders add foreign key (made_by) references people, add foreign key (changed_by) references people;
      create table nokey (a int);
      create view wide as select 1 as a;
      create table parted (id int primary key, at date) partition by range (id);
      create table parted_1 partition of parted for values from (0) to (10);
      create table parted_2 partition of parted for values from (10) to (20) partition by range (id);
      create table parted_2_1 partition of parted_2 for values from (10) to (20);
      create table "Class" (id int primary key);
      create table class ("ID" int, id int primary key, mail work_email, rank rank, feels today, short name);
      create table class_ (id int primary key, code varchar(3) not null unique);
      create table seats (id int primary key, order_id int references shop.orders, class_id int references class, class_code text references class_ (code));
      create table coins (id numeric primary key);
      create table names (name text primary key);
      create table purses (id int primary key, coin int references coins, name varchar(3) references names);
      create table maybe (a int unique);
      create table posts (id bigserial primary key, title varchar not null, slug text not null, created_at timestamp(6) not null, updated_at timestamp(6) not null);
      create function set_slug() returns trigger language plpgsql as $$ begin new.slug := lower(new.title); return new; end $$;
      create trigger set_slug before insert on posts for each row execute function set_slug();
      create table "Member" (id text primary key, "firstName" text not null, "createdAt" timestamp(3) not null default current_timestamp, "updatedAt" timestamp(3) not null);
      create table schema_migrations (version varchar not null primary key);
      create table older (id int primary key);
      create table younger (primary key (id)) inherits (older);
      create foreign data wrapper nothing;
      create server nowhere foreign data wrapper nothing;
      create foreign table far (a int) server nowhere;
    `)
    project = makeProject({ DATABASE_URL: database.url })
    const ran = await project.quick("introspect", "--schema", "public,shop")
    expect(ran.stderr).toBe("")
    text = project.read("admin.resources.ts")
  })
  afterAll(async () => {
    await project.dispose()
    await database.drop()
  })

  it("names what cannot be named as it is", () => {
    expect(text).toContain(
      "defineResource(\"order_items\", {\n  description: \"Lines */ of\\norders\",\n  table: \"\\\"Order Items\\\"\""
    )
    expect(text).toContain("id: f.uuid().column(\"Id\").readOnly().dbDefault()")
    expect(text).toContain("permissions_value: f.text().column(\"permissions\")")
    expect(text).toContain("defineResource(\"shop_orders\", {\n  table: \"shop.orders\"")
    expect(text).toContain(
      "mood: f.enum([\"sad\", \"ok\", \"it's fine\"]).optional().ordered(\"type\").filterable().sortable().label(\"How it feels\")"
    )
    expect(text).toContain(".help(\"Where it goes, as the post writes it.\")")
  })

  it("leaves names alone that may stay, and gives each resource a constant of its own", () => {
    expect(text).toContain(
      "    id_2: f.integer().column(\"ID\").optional().filterable().sortable(),\n    id: f.integer()"
    )
    expect(text).toContain("const class_2 = defineResource(\"class_2\", {\n  table: \"Class\"")
    expect(text).toContain("const class_ = defineResource(\"class\", {\n  primaryKey")
    expect(text).toContain("const class__ = defineResource(\"class_\", {\n  primaryKey")
  })

  it("says of a table that others inherit from that their rows are its rows", () => {
    expect(text).toContain(
      "// rows of younger are among its own, by inheritance, and may have the same keys: ask the doctor\nexport const older ="
    )
    expect(text).not.toMatch(/inheritance.*\nexport const (?!older)/)
  })

  it("says where it looked for a table, as that of another schema is not read unasked", async () => {
    const ran = await project.quick("introspect", "--tables", "shop.orders", "--out", "other.ts")
    expect([ran.code, ran.stderr]).toEqual([
      1,
      "There is no table shop.orders in schema public; --schema names other schemas to look in.\n"
    ])
  })

  it("reads domains of domains, and their defaults", () => {
    expect(text).toContain("mail: f.text().optional()")
    expect(text).toContain("rank: f.integer().dbDefault()")
  })

  it("makes no relation of columns of another type than the key", () => {
    expect(text).toContain("// order_id is no relation: it is integer, and orders.id is bigint\n")
    expect(text).toContain("order_id: f.integer().optional()")
    expect(text).toContain("// coin is no relation: it is integer, and coins.id is numeric\n")
    expect(text).toContain("name: relation(names).optional()")
    expect(text).toContain("class_id: relation(class_).optional()")
    expect(text).toContain("class_code: f.text().optional()")
  })

  it("reads enums from types and checks, and nothing else from checks", () => {
    expect(text).toContain("state: f.enum([\"new\", \"in 'transit'\", \"done\"]).dbDefault()")
    expect(text).toContain("grade: f.enum([\"a\", \"b\"]).optional()")
    expect(text).toContain("mood: f.enum([\"sad\", \"ok\", \"it's fine\"]).optional()")
    expect(text).toContain("checked: f.integer().optional()")
    expect(text).toContain("address: f.text().optional()")
  })

  it("reads arrays", () => {
    expect(text).toContain("tags: f.array(f.text()).optional().filterable(),\n")
    expect(text).toContain(
      "moods: f.array(f.enum([\"sad\", \"ok\", \"it's fine\"])).dbDefault().filterable(),\n"
    )
    expect(text).toContain("sizes: f.array(f.native(\"numeric\")).optional().readOnly().filterable(),\n")
    expect(text).toContain("docs: f.array(f.native(\"jsonb\")).optional().readOnly().filterable(),\n")
  })

  it("leaves out what has no kind or looks like a secret, and says so", () => {
    expect(text).toContain("raw: f.bytes().optional().filterable()")
    for (const name of ["password_hash", "accessToken", "userPassword", "remember_token"]) {
      expect(text).toContain(`// ${name} is left out: it looks like a secret`)
    }
    expect(text).toContain("// feels is left out: no kind of field fits today")
    expect(text).toContain("short: f.native(\"name\").optional().readOnly()")
    expect(text).toContain("token_count: f.integer().optional()")
    expect(text).toContain("hundreds: f.native(\"numeric\").optional().readOnly()")
    expect(text).toContain("thousandths: f.native(\"numeric\").optional().readOnly()")
    expect(text).toContain(
      "// payload is left out: no kind of field fits today; it is required, so records cannot be created here"
    )
    expect(text).toMatch(/defineResource\("shop_orders"[^]*?access: \{ create: false \}/)
    expect(text).toContain("//   nokey: it has no primary key")
    expect(text).toContain("//   wide: a view has no key")
    expect(text).toContain("//   maybe: it has no primary key, and no unique key whose columns are never null")
    expect(text).toContain("//   far: a foreign table has no key")
    expect(text).not.toContain("parted_")
  })

  it("guesses only what is safe", () => {
    expect(text).toContain("softDelete: \"deleted_at\",\n  version: \"updated_at\"")
    expect(text).toContain("doubled: f.integer().optional().readOnly().dbDefault()")
    expect(text).toContain("created_at: f.timestamp().readOnly().dbDefault()")
    expect(text).toContain("// owner: \"user_id\" would allow")
    expect(text).toContain("// tenant: \"tenant_id\" would limit")
    expect(text).not.toMatch(/^ {2}(?:owner|tenant):/m)
  })

  it("lets the service fill what frameworks fill, and a trigger what it does", () => {
    expect(text).toMatch(/defineResource\("posts", \{\n {2}primaryKey: "id",\n {2}version: "updated_at"/)
    expect(text).toContain("slug: f.text().dbDefault()")
    expect(text).toContain("created_at: f.timestamp().stamped()")
    expect(text).toContain("updated_at: f.timestamp().column(\"updatedAt\").stamped()")
    expect(text).toContain("// Left out, as frameworks keep them for themselves: schema_migrations (Rails).")
    expect(text).toContain("  member: { title: \"first_name\"")
  })

  it("gives every way between records a name of its own", () => {
    expect(text).toContain("friend: relation(\"people\").optional()")
    expect(text).toContain("made_by: relation(people).optional().filterable()")
    expect(text).toContain("changed_by: relation(people).inverse(\"shop_orders_by_changed_by\").optional()")
  })

  it("is made again of the same schemas and tables, unless others are named", async () => {
    expect((await project.quick("introspect")).stdout).toContain("is up to date")
    expect((await project.quick("introspect", "--check")).code).toBe(0)
    expect(project.read("admin.resources.ts")).toBe(text)

    const some = ["--out", "some.ts"]
    await project.quick("introspect", ...some, "--schema", "public,shop", "--tables", "people,shop.orders")
    const two = project.read("some.ts")
    expect(two.match(/defineResource\("\w+"/g)).toEqual(["defineResource(\"people\"", "defineResource(\"orders\""])
    expect((await project.quick("introspect", ...some)).stdout).toContain("is up to date")
    // An edited file is replaced by what it was made of.
    project.write("some.ts", two.replace("defineResource(\"people\"", "defineResource(\"persons\""))
    await project.quick("introspect", ...some, "--force")
    expect(project.read("some.ts")).toBe(two)

    // What is left out is left out again, also where somebody asks for other views only.
    await project.quick("introspect", ...some, "--schema", "public,shop", "--exclude", "p*,Order Items,shop.*")
    const fewer = project.read("some.ts")
    expect(fewer).toContain("// Without tables: p*, Order Items, shop.*\n")
    expect(fewer.match(/defineResource\("(?:people|parted|purses|order_items|shop_orders|class)"/g)).toEqual([
      "defineResource(\"class\""
    ])
    expect((await project.quick("introspect", ...some)).stdout).toContain("is up to date")
    const misspelt = await project.quick("introspect", ...some, "--exclude", "poeple")
    expect([misspelt.code, misspelt.stderr]).toEqual([1, expect.stringContaining("There is no table poeple in")])

    const other = await project.quick("introspect", ...some, "--schema", "shop,nowhere")
    expect(other.stdout).toContain("nothing found in schema nowhere")
    expect(project.read("some.ts")).not.toContain("defineResource(\"people\"")
  })

  it("is not made in a folder that does not exist", async () => {
    const missing = await project.quick("introspect", "--project", "no/such/folder")
    expect([missing.code, missing.stderr]).toEqual([1, expect.stringContaining("There is no folder")])
    expect(existsSync(join(project.folder, "no"))).toBe(false)
  })

  it("fits the database it was made from", async () => {
    await project.quick("migration", "--apply")
    const { findings } = JSON.parse((await project.quick("doctor", "--json")).stdout) as {
      findings: ReadonlyArray<{ readonly level: string; readonly check: string }>
    }
    expect(findings.filter(({ level }) => level === "error")).toEqual([])
    // Nothing is asked of a generated declaration that no declaration can be.
    expect(findings.filter(({ check }) => check === "bounds")).toEqual([])
  })
})

describe("introspect of domains, triggers and views", () => {
  let database: TestDatabase
  let project: Project
  let text: string

  beforeAll(async () => {
    database = await openDatabase()
    await database.execute(`
      create domain year as integer check (value >= 1901 and value <= 2155);
      create domain recent_year as year check (value > 1999);
      create domain short as text check (char_length(value) <= 20);
      create domain size as text check (value in ('s', 'm'));
      create domain code as text check (value ~ '^[A-Z]{2}$');
      create domain share as numeric check (value between -1.5 and 1);
      create table films (
        id bigint generated by default as identity primary key,
        made year not null,
        restored recent_year,
        title short not null,
        cut size,
        country code,
        part share,
        length integer check (length > 0),
        price numeric(8, 2) check (price > 0),
        ratio numeric check (ratio > 0),
        touched timestamptz not null default now(),
        seen timestamptz not null default now()
      );
      create function touch() returns trigger language plpgsql as $$
      begin
        -- new.seen = now();
        NEW.touched := CURRENT_TIMESTAMP;
        return new;
      end $$;
      create trigger touch before update on films for each row execute function touch();
      create table counted (id int primary key, n integer not null default 1, at timestamptz not null default now());
      create function count_up() returns trigger language plpgsql as 'begin new.n = old.n + 1; return new; end';
      create function stamp() returns trigger language plpgsql as 'begin new.at = now(); return new; end';
      create trigger count_up before update on counted for each row execute function count_up();
      create trigger stamp before update of n on counted for each row execute function stamp();
      create table casts (film_id bigint references films, actor text, primary key (film_id, actor));
      insert into films (made, title, part) values (1999, 'one', 0.5), (2001, 'two', null);
      insert into casts values (1, 'ann'), (1, 'bob');
      create view film_list as select id, title from films;
      create view film_casts as select film_id as film, actor from casts;
      create view film_actors as select film, count(*) as actors from film_casts group by film;
      create view casting as select f.id, c.actor from films f join casts c on c.film_id = f.id;
      create view nameless as select title as t from films;
      create function films_of(year_made int, since timestamp default null) returns setof films language sql stable
        as $$ select * from films where made = year_made $$;
      create function made_up("Odd ""name""" text) returns table (id int, text text) language sql stable as $$ select 1, 'a' $$;
      create function risky(id int) returns setof films language sql as $$ select * from films $$;
      create function nameless_arguments(int) returns setof films language sql stable as $$ select * from films $$;
      create function twice(a int) returns setof films language sql stable as $$ select * from films $$;
      create function twice(b text) returns setof films language sql stable as $$ select * from films $$;
      create materialized view yearly as select made, count(*) as n from films group by made;
      create unique index on yearly (made);
    `)
    project = makeProject({ DATABASE_URL: database.url })
    const ran = await project.quick("introspect", "--views")
    expect(ran.stderr).toBe("")
    text = project.read("admin.resources.ts")
  })
  afterAll(async () => {
    await project.dispose()
    await database.drop()
  })

  it("takes bounds of domains and checks", () => {
    expect(text).toContain("title: f.text().max(20)")
    expect(text).toContain("cut: f.enum([\"s\", \"m\"]).optional()")
    expect(text).toContain(
      "(record) => record.made < 1901 || record.made > 2155 ? [{ field: \"made\", message: \"Must be at least 1901 and at most 2155.\" }] : []"
    )
    expect(text).toContain("record.restored !== null && (record.restored <= 1999 || record.restored > 2155)")
    expect(text).toContain("record.part !== null && (Number(record.part) < -1.5 || Number(record.part) > 1)")
    expect(text).toContain("record.length !== null && record.length <= 0")
    // Zero is where rounding changes nothing, however many digits a price has; a numeric without a scale may have hundreds.
    expect(text).toContain("record.price !== null && Number(record.price) <= 0")
    expect(text).toContain("record.ratio !== null && Number(record.ratio) < 0")
    expect(text).toContain("// country (domain code): the database takes only values that pass CHECK")
  })

  it("takes as version what a trigger renews with every update", () => {
    expect(text).toMatch(/defineResource\("films", \{\n {2}primaryKey: "id",\n {2}version: "touched"/)
    expect(text).toMatch(/defineResource\("counted", \{\n {2}primaryKey: "id",\n {2}version: "n"/)
  })

  it("proposes views whose rows have a key now, closed to writes", () => {
    expect(text).toMatch(
      /\/\/ a view: check that id always tells.*\nexport const film_list = defineResource\("film_list", \{\n {2}readOnly: true,\n {2}primaryKey: "id"/
    )
    expect(text).toMatch(/defineResource\("yearly", \{\n {2}readOnly: true,\n {2}primaryKey: "made"/)
    expect(text).toMatch(/defineResource\("film_actors"[^]*?primaryKey: "film",[^]*?film: relation\(films\)/)
    // The film's key comes twice in one view, and the other view shows no key.
    expect(text).not.toMatch(/^export const casting/m)
    expect(text).toContain(
      "// export const casting = defineResource(\"casting\", {\n//   readOnly: true,\n//   primaryKey: \"…\""
    )
    expect(text).toContain("//   casting: nothing tells the rows of this view apart")
    expect(text).toContain("//   nameless: nothing tells the rows of this view apart")
  })

  it("proposes functions that change nothing, and writes the others as comments", () => {
    expect(text).toContain(
      "export const films_of = defineResource(\"films_of\", {\n  from: fn(\"films_of\", { year_made: f.integer(), since: f.timestamp().dbDefault() }, { types: { since: \"pg_catalog.timestamp\" } }),\n  primaryKey: \"id\""
    )
    expect(text).toContain(
      "// Nothing says which columns tell the rows of this function apart. For admin.config.ts, with columns that tell its rows apart as primaryKey:\n// export const made_up = defineResource(\"made_up\", {\n//   from: fn(\"made_up\", { odd_name: f.text().column(\"Odd \\\"name\\\"\") })"
    )
    expect(text).toContain(
      "alter function public.risky(id integer) stable. For admin.config.ts:\n// export const risky"
    )
    expect(text).toContain("//   nameless_arguments(integer): its parameters have no names")
    expect(text).toContain("//   twice(b text): several functions have this name; declare it yourself")
    expect(text).toContain("import { defineResource, f, fn, relation } from")
  })

  it("reads the views again unasked, and fits the database", async () => {
    expect((await project.quick("introspect")).stdout).toContain("is up to date")
    await project.quick("migration", "--apply")
    const { findings } = JSON.parse((await project.quick("doctor", "--json")).stdout) as {
      findings: ReadonlyArray<{ readonly level: string }>
    }
    expect(findings.filter(({ level }) => level === "error")).toEqual([])
  })
})
