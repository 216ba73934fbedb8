/** The extension `history` over HTTP: every write leaves a version, readers see of versions what they see of records, and `:restore` writes one back. */

import { expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { makePostgres } from "../../../adapters/postgres/connection.ts"
import { compileOrThrow } from "../../../composition/create-admin.ts"
import { historyMigrations } from "../../../composition/migrations.ts"
import { checkDatabase } from "../../../composition/startup.ts"
import { where } from "../../../core/domain/access/where.ts"
import { defineConfig } from "../../../core/domain/declare/config.ts"
import type { Config } from "../../../core/domain/declare/config.ts"
import { f } from "../../../core/domain/declare/field.ts"
import { history } from "../../../core/domain/declare/history.ts"
import { defineResource } from "../../../core/domain/declare/resource.ts"
import { defineRoles } from "../../../core/domain/declare/roles.ts"
import { RecordsError } from "../../../core/ports/records.ts"
import { expectProblem } from "../../support/answer.ts"
import type { Answered, Fixture, TestCaller, TestService } from "../../support/composed.ts"
import { admin, ann, bob, foreign, ledger, ledgerSchema, viewer } from "../../support/ledger.ts"
import { refusalsOf } from "../../support/refusals.ts"
import { base, batch, make, makeAccount, on, onBoth, patch, read, takeUnhandled } from "./scenes.ts"

const tracked = ["accounts", "notes", "labels", "papers", "steps"]
const configured = (): Config => ({ ...ledger().config, extends: [history({ resources: tracked })] })

const fixture = (): Fixture => {
  const config = configured()
  const sql = historyMigrations(compileOrThrow(config)).map(({ statements }) => statements).join("\n")
  return { ...ledger(), config, schema: `${ledgerSchema}\n${sql}\n${sql}` }
}

type Version = { readonly [field: string]: Answered }

/** Versions oldest first, as the caller sees them. */
const versions = async (
  service: TestService,
  caller: TestCaller,
  resource: string,
  filter: string
): Promise<readonly Version[]> => {
  const answer = await service.get(
    caller,
    `${base}/${resource}_history?order_by=history_id&filter=${encodeURIComponent(filter)}`
  )
  expect(answer.status, answer.text).toBe(200)
  return answer.json["items"] as unknown as readonly Version[]
}

onBoth("history", fixture, (use) => {
  const ofAccount = (caller: TestCaller, id: string) => versions(use(), caller, "accounts", `id = ${id}`)
  const restore = (caller: TestCaller, path: string, version: unknown, ifMatch: string | null = "*") =>
    use().call(caller, "POST", `${path}:restore`, {
      body: { version },
      headers: ifMatch === null ? {} : { "if-match": ifMatch }
    })

  it("keeps who did what when, and the record as it then stood", async () => {
    const { id, path } = await makeAccount(use(), { meta: { a: [1] }, balance: "7.25" })
    await patch(use(), admin, path, { balance: "9.50", zq_note: "zq-kept" })
    await patch(use(), ann, path, { name: "made" })
    await use().call(ann, "DELETE", path)
    await use().call(ann, "POST", `${path}:undelete`)
    const kept = await ofAccount(admin, id)
    expect(
      kept.map((
        each
      ) => [
        each["history_operation"],
        each["history_by"],
        each["balance"],
        each["zq_note"],
        each["deleted_at"] === null
      ])
    ).toEqual([
      ["create", "ann", "7.25", null, true],
      ["update", "root", "9.50", "zq-kept", true],
      ["delete", "ann", "9.50", "zq-kept", false],
      ["undelete", "ann", "9.50", "zq-kept", true]
    ])
    expect(kept[0]).toMatchObject({ id, owner_id: "ann", opened_on: "2026-01-01", meta: { a: [1] } })
    for (const each of kept) expect(each["history_at"]).toMatch(/^20\d\d-.*Z$/)
  })

  it("counts versions again after each write", async () => {
    const { id, path } = await makeAccount(use())
    const counted = async (): Promise<unknown> => {
      const query = `page_size=1&filter=${encodeURIComponent(`id = ${id}`)}`
      return (await use().get(ann, `${base}/accounts_history?${query}`)).json["total_size_estimate"]
    }
    await patch(use(), ann, path, { name: "second" })
    expect(await counted()).toBe(2)
    await patch(use(), ann, path, { name: "third" })
    expect(await counted()).toBe(3)
  })

  it("keeps what batches, reorders and hard deletes did, and nothing of what was rolled back", async () => {
    const note = await make(use(), ann, "notes", { title: "versioned" })
    await batch(use(), ann, [
      { op: "update", resource: "notes", key: note.id, etag: "*", data: { body: "in batch" } },
      { op: "delete", resource: "notes", key: note.id }
    ])
    expect(
      (await versions(use(), ann, "notes", `id = ${note.id}`)).map((each) => [each["history_operation"], each["body"]])
    )
      .toEqual([["create", null], ["update", "in batch"], ["delete", "in batch"]])
    const { id, path } = await makeAccount(use())
    await patch(use(), ann, path, { name: "x" }, "\"old\"")
    await patch(use(), ann, path, { owner_id: "bob" })
    await use().call(ann, "PATCH", `${path}?dry_run=true`, { body: { name: "dry" }, headers: { "if-match": "*" } })
    await batch(use(), ann, [{ op: "update", resource: "accounts", key: id, etag: "*", data: { name: "lost" } }, {
      op: "delete",
      resource: "notes",
      key: 99999
    }])
    expect(await ofAccount(ann, id)).toHaveLength(1)
    const swapped = await batch(use(), ann, [{
      op: "reorder",
      resource: "steps",
      field: "place",
      keys: [2, 1],
      etags: { 1: "*", 2: "*" }
    }])
    expect(swapped.status, swapped.text).toBe(200)
    const moved = await versions(use(), ann, "steps", "id = 1 OR id = 2")
    expect(new Map(moved.map((each) => [each["id"], each["place"]]))).toEqual(new Map([[1, 2], [2, 1]]))
  })

  it("shows of versions what the caller sees of records: rows, fields, tenants, nothing to write", async () => {
    const { id, path } = await makeAccount(use())
    await patch(use(), admin, path, { zq_note: "zq-hidden", name: "renamed" })
    const [, second] = await ofAccount(ann, id)
    expect(Object.keys(second!)).not.toContain("zq_note")
    expect(Object.keys(second!)).not.toContain("deleted_at")
    // ETags are random: one in some hundreds has these letters in it.
    const shown = (await ofAccount(viewer, id)).map((each) => ({ ...each, etag: null }))
    expect(JSON.stringify(shown)).not.toContain("zq")
    expect(await ofAccount(bob, id)).toEqual([])
    expect(await ofAccount(foreign, id)).toEqual([])
    const one = `${base}/accounts_history/${second!["history_id"] as unknown as string}`
    for (const [caller, status] of [[ann, 200], [bob, 404], [foreign, 404], [viewer, 200]] as const) {
      expect((await use().get(caller, one)).status).toBe(status)
    }
    const hidden = await use().get(ann, `${base}/accounts_history?filter=${encodeURIComponent("zq_note = \"x\"")}`)
    const unknown = await use().get(ann, `${base}/accounts_history?filter=${encodeURIComponent("zq_nope = \"x\"")}`)
    expect(hidden.text.replaceAll("zq_note", "zq_nope")).toBe(unknown.text)
    // Rules that answer filters hold, too: Ann reads live papers up to level 5.
    await make(use(), admin, "papers", { id: 300, level: 3 })
    await patch(use(), admin, `${base}/papers/300`, { level: 2 })
    await make(use(), admin, "papers", { id: 301, level: 6 })
    expect((await versions(use(), ann, "papers", "id = 300 OR id = 301")).map((each) => each["level"])).toEqual([3, 2])
    for (const caller of [ann, admin]) {
      expect((await patch(use(), caller, one, { name: "x" })).status).toBe(403)
      expect((await use().call(caller, "DELETE", one)).status).toBe(403)
      expect((await use().call(caller, "POST", `${base}/accounts_history`, { body: {} })).status).toBe(403)
    }
  })

  it("leaves out the versions in which nothing changed that the caller can read", async () => {
    const { id, path } = await makeAccount(use())
    const before = Number((await ofAccount(admin, id))[0]!["history_id"])
    await patch(use(), admin, path, { zq_note: "zq-one" })
    await patch(use(), admin, path, { zq_note: "zq-two", balance: "3.00" })
    await patch(use(), admin, path, { zq_note: null })
    await use().call(admin, "DELETE", path)
    await use().call(admin, "POST", `${path}:undelete`)
    const all = await ofAccount(admin, id)
    expect(all.map((each) => each["zq_note"])).toEqual([null, "zq-one", "zq-two", null, null, null])
    const seen = await ofAccount(ann, id)
    expect(seen.map((each) => [each["history_operation"], each["balance"]])).toEqual([
      ["create", "0.00"],
      ["update", "3.00"],
      ["delete", "3.00"],
      ["undelete", "3.00"]
    ])
    // Neither pages, counts, facets, series nor keys tell of the others.
    const asked = async (caller: TestCaller, query: string) =>
      (await use().get(caller, `${base}/accounts_history${query}filter=${encodeURIComponent(`id = ${id}`)}`)).json
    expect((await asked(ann, "?page_size=1&count=exact&"))["total_size"]).toBe(4)
    expect((await asked(ann, ":seek?position=1&page_size=1&"))["items"]![0]!["balance"]).toBe("3.00")
    for (const [caller, updates] of [[ann, 1], [admin, 3]] as const) {
      const values =
        (await asked(caller, ":facets?field=history_operation&"))["facets"] as unknown as readonly Answered[]
      expect(values.find(({ value }) => value as unknown === "update")!["count"]).toBe(updates)
      expect((await asked(caller, ":series?field=history_at&granularity=year&"))["points"]![0]!["count"]).toBe(
        updates + 3
      )
    }
    for (const { history_id } of all) {
      const one = `${base}/accounts_history/${history_id as unknown as string}`
      const readable = seen.some((each) => each["history_id"] === history_id)
      expect((await use().get(ann, one)).status).toBe(readable ? 200 : 404)
      if (!readable) expect((await restore(ann, path, history_id)).status).toBe(404)
    }
    expect(before).toBe(Number(all[0]!["history_id"]))
  })

  it("restores a version as an ordinary update", async () => {
    const { id, path, record } = await makeAccount(use(), { meta: { v: 1 } })
    await patch(use(), admin, path, { name: "second", meta: null, balance: "5", zq_note: "zq-later" })
    const [first] = await ofAccount(ann, id)
    const tag = (await use().get(ann, path)).headers.get("etag")!
    const version = first!["history_id"]
    expectProblem(await restore(ann, path, version, null), "precondition-required", `${path}:restore`)
    expectProblem(await restore(ann, path, version, "\"old\""), "precondition-failed", `${path}:restore`, { etag: tag })
    const answer = await restore(ann, path, version, tag)
    expect([answer.status, answer.json], answer.text).toEqual([200, {
      ...record as object,
      etag: answer.headers.get("etag")
    }])
    // What Ann cannot read, she does not restore.
    expect((await use().get(admin, path)).json["zq_note"]).toBe("zq-later")
    expect((await ofAccount(ann, id)).at(-1)).toMatchObject({
      history_operation: "update",
      history_by: "ann",
      name: "made"
    })
    const again = await restore(ann, path, version, answer.headers.get("etag"))
    expect([again.status, again.headers.get("etag")]).toEqual([200, answer.headers.get("etag")])
    expect((await restore(admin, path, version, "*")).json["zq_note"]).toBeNull()
  })

  it("leaves fields that a rule keeps from being written, and obeys every other rule", async () => {
    const { id, path } = await makeAccount(use(), { rating: 1 })
    await patch(use(), ann, path, { rating: 2, name: "rated" })
    await patch(use(), ann, path, { status: "closed" })
    const [first] = await ofAccount(ann, id)
    // Ann may rate open accounts only.
    const answer = await restore(ann, path, first!["history_id"])
    expect(answer.json, answer.text).toMatchObject({ name: "made", status: "open", rating: 2 })
    await patch(use(), admin, path, { status: "frozen" })
    expectProblem(await restore(ann, path, first!["history_id"]), "access-denied", `${path}:restore`)
    await patch(use(), admin, path, { owner_id: "bob", status: "open" })
    expectProblem(await restore(ann, path, first!["history_id"]), "not-found", `${path}:restore`)
    await use().call(admin, "DELETE", path)
    expectProblem(await restore(admin, path, first!["history_id"]), "not-found", `${path}:restore`)
  })

  it("refuses values that the fields no longer take, as a PATCH would", async () => {
    /** Makes the versions of an account look as they did when its fields took more. */
    const age = async (id: string, cells: { readonly [column: string]: string }): Promise<void> => {
      const { database, fake } = use()
      const model = use().compiled.models.get("accounts_history")!
      if (database !== null) {
        const set = Object.entries(cells).map(([column, cell]) => `${column} = '${cell}'`).join(", ")
        await database.execute(`update history.ledger_accounts set ${set} where id = ${id}`)
        return
      }
      const at = model.byName.get("id")!.index
      fake!.seed(
        model,
        fake!.rows(model).filter((row) => row[at] === id).map((row) =>
          model.columns.map((field) => cells[field.column] ?? row[field.index] ?? null)
        )
      )
    }
    const long = "n".repeat(21)
    const { id, path } = await makeAccount(use(), { rating: 1 })
    await patch(use(), ann, path, { name: "second", balance: "3.00", rating: 2 })
    const etag = (await use().get(ann, path)).headers.get("etag")!
    await age(id, { name: long, status: "dormant" })
    const [first] = await ofAccount(ann, id)
    expect(first).toMatchObject({ name: long, status: "dormant" })
    const answer = await restore(ann, path, first!["history_id"], etag)
    expectProblem(answer, "invalid-record", `${path}:restore`, {
      errors: [
        { field: "name", code: "max", message: "Expected at most 20 characters." },
        { field: "status", code: "enum", message: expect.any(String) }
      ]
    }, "2 fields are not valid.")
    expect(await read(use(), ann, path)).toMatchObject({ name: "second", balance: "3.00", status: "open", etag })
    // What stays as it is may stay as it is.
    await age(id, { name: "second", status: "open" })
    expect((await restore(ann, path, first!["history_id"], etag)).json).toMatchObject({ balance: "0.00", rating: 1 })
  })

  it("refuses versions that are none of this record, or not there for the caller", async () => {
    const [one, two] = [await makeAccount(use()), await makeAccount(use())]
    const [other] = await ofAccount(ann, two.id)
    const verb = `${one.path}:restore`
    for (const version of [other!["history_id"], "999999"]) {
      expectProblem(await restore(ann, one.path, version), "not-found", verb)
    }
    for (const body of [{}, { version: "x" }, { version: null }, { version: {} }, { version: "1", more: 1 }, []]) {
      const answer = await use().call(ann, "POST", verb, { body, headers: { "if-match": "*" } })
      expect([answer.status, answer.json["errors"]![0]!["parameter"]]).toEqual([400, "version"])
    }
    expectProblem(await restore(viewer, one.path, other!["history_id"]), "not-found", verb)
    expectProblem(await restore(ann, `${base}/counters/1`, "1"), "invalid-parameter", `${base}/counters/1:restore`, {
      errors: [{ parameter: "restore", message: "No history is kept of this resource." }]
    })
    expect((await use().get(ann, verb)).status).toBe(405)
  })

  it("takes composite keys", async () => {
    const note = await make(use(), ann, "notes", { title: "with labels" })
    const { path } = await make(use(), ann, "labels", { note_id: Number(note.id), label: "a,b" })
    await patch(use(), ann, path, { weight: 9 })
    const [first] = await versions(use(), ann, "labels", `note_id = ${note.id}`)
    expect((await restore(ann, path, first!["history_id"])).json["weight"]).toBe(1)
  })
})

on("postgres", "history tables", fixture, (use) => {
  it.live("are what startup expects of a database", () =>
    Effect.gen(function*() {
      const postgres = yield* makePostgres({ url: use().database!.url })
      const refusals = yield* checkDatabase(use().compiled, postgres)
      expect(refusals.filter(({ resource }) => resource?.endsWith("_history"))).toEqual([])
    }))

  it("follow the tracked table: new columns and wider types, any number of times", async () => {
    const { id } = await makeAccount(use())
    await use().database!.execute(
      "alter table ledger.accounts alter column rating type bigint; alter table history.ledger_accounts drop column meta"
    )
    const [migration] = historyMigrations(use().compiled)
    for (let i = 0; i < 2; i++) await use().database!.execute(migration!.statements)
    const types =
      "select attname, format_type(atttypid, atttypmod) from pg_attribute where attrelid = 'history.ledger_accounts'::regclass and attname in ('rating', 'meta', 'balance', 'tenant_id', 'code') and not attisdropped order by 1"
    expect(await use().database!.rows(types)).toEqual([
      ["balance", "numeric(12,2)"],
      ["code", "text"],
      ["meta", "jsonb"],
      ["rating", "bigint"],
      ["tenant_id", "integer"]
    ])
    expect(await use().database!.rows(`select tenant_id, history_by from history.ledger_accounts where id = ${id}`))
      .toEqual([[
        "1",
        "ann"
      ]])
  })

  it("is in the API document of those who may update", async () => {
    const paths = async (caller: TestCaller) =>
      Object.keys((await use().get(caller, "/api/openapi.json")).json["paths"] as unknown as object)
    expect(await paths(ann)).toContain("/api/v1/accounts/{key}:restore")
    expect(await paths(ann)).not.toContain("/api/v1/counters/{key}:restore")
    expect(await paths(viewer)).not.toContain("/api/v1/notes/{key}:restore")
    expect(await paths(viewer)).toContain("/api/v1/accounts_history/{key}")
  })

  it("whose columns are narrower than the tracked table's: the operator's to know, not the caller's fault", async () => {
    await use().database!.execute("alter table history.ledger_notes alter column body type varchar(5)")
    const create = (title: string) => ({ op: "create", resource: "notes", data: { title, body: "longer than five" } })
    const answers = [
      await use().call(ann, "POST", `${base}/notes`, { body: create("narrow").data }),
      await batch(use(), ann, [create("narrow 1"), create("narrow 2")])
    ]
    expect(answers.map(({ status }) => status)).toEqual([500, 500])
    expect(takeUnhandled(use())).toHaveLength(2)
    await use().database!.execute("alter table history.ledger_notes alter column body type text")
    expect((await batch(use(), ann, [create("narrow 1"), create("narrow 2")])).status).toBe(200)
  })

  it("without its table a write fails as a whole", async () => {
    await use().database!.execute("alter table history.ledger_papers rename to away")
    expect((await use().call(admin, "POST", `${base}/papers`, { body: { id: 900, level: 1 } })).status).toBe(500)
    expect((await use().get(admin, `${base}/papers/900`)).status).toBe(404)
    const before = await read(use(), admin, `${base}/papers/1`)
    expect((await patch(use(), admin, `${base}/papers/1`, { level: 2 })).status).toBe(500)
    expect(await read(use(), admin, `${base}/papers/1`)).toEqual(before)
    expect(takeUnhandled(use())).toHaveLength(2)
  })
})

const lots = defineResource("lots", {
  primaryKey: "code",
  tenant: "house",
  softDelete: "gone_at",
  version: "moved_at",
  fields: { code: f.text(), house: f.integer().column("house_id").sensitive(), name: f.text().filterable() },
  access: {
    read: ({ caller }) => caller.roles.includes("clerk") ? where`isNull(gone_at)` : where`NOT isNull(moved_at)`
  }
})
const lotsConfig = defineConfig({ resources: [lots], extends: [history({ resources: ["lots"] })] })
const lotsFixture = (): Fixture => ({
  config: lotsConfig,
  schema: `create table lots (
    code citext, house_id integer not null, name text not null, gone_at timestamptz, moved_at timestamptz not null default now(),
    primary key (house_id, code)
  );
  ${historyMigrations(compileOrThrow(lotsConfig)).map(({ statements }) => statements).join("\n")}`,
  rows: {}
})
const keeper: TestCaller = { id: "keeper", roles: [], tenant: "1" }
const clerk: TestCaller = { id: "clerk", roles: ["clerk"], tenant: "1" }
const other: TestCaller = { id: "other", roles: [], tenant: "2" }

onBoth("versions of columns that no field shows", lotsFixture, (use) => {
  it("are read by the rules over those columns, and show none of them", async () => {
    const { path } = await make(use(), keeper, "lots", { code: "A1", name: "first" })
    await make(use(), other, "lots", { code: "A1", name: "foreign" })
    await use().call(keeper, "DELETE", path)
    const names = async (caller: TestCaller) =>
      (await versions(use(), caller, "lots", "code = \"A1\"")).map((each) => [each["history_operation"], each["name"]])
    expect(await names(keeper)).toEqual([["create", "first"], ["delete", "first"]])
    // The clerk reads what is not deleted: the record as it then stood was not.
    expect(await names(clerk)).toEqual([["create", "first"]])
    expect(await names(other)).toEqual([["create", "foreign"]])
    const [one] = await versions(use(), keeper, "lots", "code = \"A1\"")
    expect(Object.keys(one!).filter((name) => !name.startsWith("history_"))).toEqual([
      "code",
      "name",
      "etag",
      "permissions"
    ])
    for (const name of ["gone_at", "moved_at", "house", "house_id"]) {
      expect((await use().get(keeper, `${base}/lots_history?filter=isNull(${name})`)).status).toBe(400)
    }
  })
})

on("postgres", "versions of a key that is spelled in two ways", lotsFixture, (use) => {
  it("are restored by either", async () => {
    await make(use(), keeper, "lots", { code: "Oak", name: "first" })
    await make(use(), other, "lots", { code: "Oak", name: "foreign" })
    await make(use(), keeper, "lots", { code: "Elm", name: "elm" })
    await patch(use(), keeper, `${base}/lots/oak`, { name: "second" })
    const [first] = await versions(use(), keeper, "lots", "name = first")
    const restore = (caller: TestCaller, code: string) =>
      use().call(caller, "POST", `${base}/lots/${code}:restore`, {
        body: { version: first!["history_id"] },
        headers: { "if-match": "*" }
      })
    expect((await restore(keeper, "oak")).json).toMatchObject({ code: "Oak", name: "first" })
    expect((await restore(keeper, "elm")).status).toBe(404)
    expect((await restore(other, "oak")).status).toBe(404)
  })
})

const safes = defineResource("safes", {
  primaryKey: "id",
  fields: {
    id: f.integer().filterable(),
    name: f.text(),
    code: f.text().sensitive().optional(),
    pin: f.text().sensitive().optional()
  },
  access: { fields: { pin: { read: ["admin"] } } }
})
const safesConfig = defineConfig({ resources: [safes], extends: [history({ resources: ["safes"] })] })
const safesFixture = (): Fixture => ({
  config: safesConfig,
  schema: `create table safes (id integer primary key, name text not null, code text, pin text);
  ${historyMigrations(compileOrThrow(safesConfig)).map(({ statements }) => statements).join("\n")}`,
  rows: {}
})

onBoth("versions of sensitive fields", safesFixture, (use) => {
  it("are seen by those who can read the fields, without the values", async () => {
    const guard: TestCaller = { id: "guard", roles: ["guard"] }
    const chief: TestCaller = { id: "chief", roles: ["admin"] }
    const { path } = await make(use(), chief, "safes", { id: 1, name: "one" })
    await patch(use(), chief, path, { pin: "1234" })
    await patch(use(), chief, path, { code: "5678" })
    const seen = async (caller: TestCaller) => (await versions(use(), caller, "safes", "id = 1")).length
    expect([await seen(chief), await seen(guard)]).toEqual([3, 2])
    expect(JSON.stringify(await versions(use(), chief, "safes", "id = 1"))).not.toMatch(/1234|5678/)
  })
})

it("is refused where it cannot be", () => {
  const config = ledger().config
  const refused = (extensions: unknown): readonly string[] =>
    refusalsOf({ ...config, extends: extensions }).map(({ message }) => message)
  expect(refused([history({ resources: ["acounts"] })])).toEqual(["history() names \"acounts\", which is no resource."])
  expect(refused([history({ resources: [] })])).toEqual(["history() got {\"resources\":[]}."])
  expect(refused(history({ resources: ["accounts"] }))).toEqual([expect.stringContaining("not a list of extensions")])
  expect(refused([history({ resources: ["accounts", "accounts"] })])).toEqual([])

  const over = (name: string, table: string) =>
    defineResource(name, { table, primaryKey: "id", fields: { id: f.integer() } })
  const together = (...resources: ReadonlyArray<ReturnType<typeof over>>): readonly string[] =>
    refusalsOf({ resources, extends: [history({ resources: resources.map(({ name }) => name) })] })
      .map(({ message }) => message)
  // Tables of one name in two schemas have tables of versions of their own, and two resources over one table share theirs.
  expect(together(over("a", "shop.orders"), over("b", "billing.orders"), over("c", "orders"))).toEqual([])
  expect(together(over("a", "shop.orders"), over("b", "shop.orders"))).toEqual([])
  expect(together(over("a", "shop.orders"), over("b", "shop_orders"))).toEqual([
    "Its versions would be kept in history.\"shop_orders\", as those of \"a\" are, which has another table."
  ])
})

const people: { readonly [id: string]: string } = { ann: "Ann Lee", root: "\"Root\"", zq: "zq-nobody" }
const asked: (readonly string[])[] = []
let answering = true

on("fake", "names in a history", fixture, (use) => {
  const named = async (caller: TestCaller, path: string): Promise<Answered> => {
    const answer = await use().get(caller, `${base}/${path}`)
    expect(answer.status, answer.text).toBe(200)
    return answer.json
  }

  it("are of those who made the versions that the caller sees, and nothing else of an account", async () => {
    const { id, path } = await makeAccount(use())
    await patch(use(), admin, path, { zq_note: "zq-hidden" })
    await patch(use(), admin, path, { name: "renamed" })
    asked.length = 0
    const versions = `accounts_history?order_by=history_id&filter=${encodeURIComponent(`id = ${id}`)}`
    const { items } = await named(viewer, `${versions}&fields=history_id,history_by&expand=history_by`)
    expect(items).toMatchObject([
      { history_by: "ann", expand: { history_by: { name: "Ann Lee" } } },
      { history_by: "root", expand: { history_by: { name: "\"Root\"" } } }
    ])
    expect(asked).toEqual([["ann", "root"]])
    const first = items![0]!["history_id"] as unknown as string
    const one = await named(viewer, `accounts_history/${first}?expand=history_by`)
    expect(one["expand"]).toEqual({ history_by: { name: "Ann Lee" } })
    // Nobody asks for names of what nobody asked for.
    asked.length = 0
    expect(await named(viewer, versions)).not.toHaveProperty(["items", 0, "expand"])
    expect(await named(viewer, `accounts_history?filter=${encodeURIComponent("id = 0")}&expand=history_by`))
      .toMatchObject({ items: [] })
    expect(asked).toEqual([])
  })

  it("are null for an account that is gone", async () => {
    const note = await make(use(), bob, "notes", { title: "of somebody" })
    const { items } = await named(
      admin,
      `notes_history?filter=${encodeURIComponent(`id = ${note.id}`)}&expand=history_by`
    )
    expect(items).toMatchObject([{ history_by: "bob", expand: { history_by: null } }])
  })

  it("are offered beside versions only, and of nothing but their makers", async () => {
    for (const [path, hint] of [["accounts", /^(?!.*history_by)/], ["accounts_history", /history_by/]] as const) {
      for (
        const expand of path === "accounts" ? ["history_by"] : [
          "history_by.name",
          "history_by(fields: \"name\")",
          "history_by(count)",
          "owner_id",
          "history_id"
        ]
      ) {
        const answer = await use().get(admin, `${base}/${path}?expand=${encodeURIComponent(expand)}`)
        expect([answer.status, answer.json["errors"]?.[0]?.["hint"]]).toEqual([400, expect.stringMatching(hint)])
      }
    }
  })

  it("cannot be read where the accounts cannot", async () => {
    answering = false
    const answer = await use().get(ann, `${base}/accounts_history?expand=history_by`)
    answering = true
    expectProblem(answer, "unavailable", `/api/v1/accounts_history`)
  })
}, {
  parts: {
    namesOf: (ids) => {
      asked.push([...ids].toSorted())
      return answering
        ? Effect.succeed(new Map(ids.flatMap((id) => people[id] === undefined ? [] : [[id, people[id]] as const])))
        : Effect.fail(new RecordsError({ reason: { _tag: "Unavailable" }, cause: new Error("no accounts") }))
    }
  }
})

it("takes any resource: declared tenant and soft delete, quoted tables, options.roles, explicit read rules", () => {
  const things = defineResource("things", {
    table: "shop.\"my things\"",
    primaryKey: ["shop_id", "code"],
    tenant: "shop_id",
    owner: "owner",
    softDelete: "gone",
    version: "rev",
    fields: {
      shop_id: f.integer(),
      code: f.text(),
      owner: f.text(),
      secret: f.text().sensitive(),
      parent: f.text().optional().searched().sortable().alias("mother"),
      gone: f.timestamp().optional(),
      rev: f.integer()
    },
    validate: [() => null],
    access: { fields: { parent: { read: ["admin"], write: ({ record }) => record.code === "x" } } },
    events: { created: true }
  })
  const config = defineConfig({
    resources: [things],
    options: {
      roles: defineRoles({
        admin: ["*"],
        some: ["things.read.own(code,owner)", "things.update"],
        wide: ["*.read.own(code,secret)", "*.update"],
        none: ["*.read(secret)"]
      })
    },
    extends: [history({ resources: ["things"] })]
  })
  const { models, roles } = compileOrThrow(config)
  const versions = models.get("things_history")!
  expect([
    versions.schema,
    versions.table,
    versions.tenant?.name,
    versions.owner?.name,
    versions.softDelete,
    versions.version
  ])
    .toEqual(["history", "shop_my things", "shop_id", "owner", null, null])
  expect([...versions.byName.keys()]).not.toContain("secret")
  expect(roles?.get("some")?.filter(({ resource }) => resource === "things_history")).toEqual([{
    resource: "things_history",
    operation: "read",
    own: true,
    fields: ["code", "owner", "history_id", "history_operation", "history_at", "history_by"]
  }])
  // A list of fields for all resources reaches versions where it has a field of theirs, and then says of which change they are.
  const added = (role: string) =>
    roles?.get(role)?.filter(({ resource }) => resource === "things_history").map(({ fields, own }) => [own, fields])
  expect(added("wide")).toEqual([[true, ["code", "history_id", "history_operation", "history_at", "history_by"]]])
  expect(added("none")).toEqual([])
  expect(historyMigrations({ models })[0]!.statements).toContain(
    "create table if not exists \"history\".\"shop_my things\""
  )
})
