/** `{ "$add": … }` in a PATCH: exact, judged by what it makes of the record, and never lost among others. */

import { expect, it } from "vitest"
import { where } from "../../../core/domain/access/where.ts"
import { defineConfig } from "../../../core/domain/declare/config.ts"
import type { Change, OptionsDeclaration } from "../../../core/domain/declare/config.ts"
import { f } from "../../../core/domain/declare/field.ts"
import { defineResource } from "../../../core/domain/declare/resource.ts"
import { defineRoles } from "../../../core/domain/declare/roles.ts"
import { expectProblem } from "../../support/answer.ts"
import type { Fixture, TestCaller, TestService } from "../../support/composed.ts"
import { base, batch, codes, make, onBoth, patch, read } from "./scenes.ts"

const stocks = defineResource("stocks", {
  primaryKey: "id",
  version: "rev",
  fields: {
    id: f.integer(),
    units: f.integer(),
    small: f.integer().bits(16).optional(),
    big: f.integer().bits(64).optional(),
    price: f.decimal({ precision: 8, scale: 2 }),
    loose: f.decimal().optional(),
    ratio: f.float().optional(),
    name: f.text().optional(),
    meta: f.json().optional(),
    zq_cost: f.integer().optional(),
    frozen: f.integer().optional(),
    rev: f.integer()
  },
  validate: [({ units }) => units < 0 ? [{ field: "units", message: "Must not be negative." }] : null],
  access: {
    update: ({ caller }) => caller.roles.includes("admin") || where`price <= 100`,
    fields: {
      zq_cost: { read: ["admin"] },
      frozen: { write: ({ caller, record }) => caller.roles.includes("admin") || record.units === 1 }
    }
  }
})

const fixture = (options: OptionsDeclaration = {}): Fixture => ({
  config: defineConfig({
    resources: [stocks],
    roles: defineRoles({ admin: ["*"], clerk: ["stocks.*"] }),
    options
  }),
  schema: `
    create table stocks (
      id integer primary key, units integer not null, small smallint, big bigint, price numeric(8, 2) not null, loose numeric,
      ratio double precision, name text, meta jsonb, zq_cost integer, frozen integer, rev integer not null default 1
    );
  `,
  rows: {}
})

const admin: TestCaller = { id: "root", roles: ["admin"] }
const clerk: TestCaller = { id: "ann", roles: ["clerk"] }

const changes: Change[] = []
let last = 0

const stock = (service: TestService, more: { readonly [field: string]: unknown } = {}) =>
  make(service, admin, "stocks", { id: ++last, units: 5, price: "10.00", ...more })

const adding = (hooks: boolean) => (use: () => TestService): void => {
  it("adds exactly, and answers the record as it is then", async () => {
    const { etag, path } = await stock(use(), { big: "9007199254740993", small: 1, loose: "16.5" })
    changes.length = 0
    const answer = await patch(use(), clerk, path, {
      units: { $add: "-1" },
      big: { $add: 1 },
      small: { $add: -2 },
      price: { $add: 0.1 },
      loose: { $add: "0.005" },
      name: "set"
    }, etag)
    expect(answer.json).toMatchObject({
      units: 4,
      big: "9007199254740994",
      small: -1,
      price: "10.10",
      loose: "16.505",
      name: "set"
    })
    expect(answer.headers.get("etag")).not.toBe(etag)
    expect(await read(use(), clerk, path)).toMatchObject({ units: 4, etag: answer.headers.get("etag") })
    expect(changes.map(({ after, before, operation }) => [operation, before?.["units"], after?.["units"]]))
      .toEqual(hooks ? [["update", 5, 4]] : [])
  })

  it("needs a version like every PATCH, and writes nothing where nothing is added", async () => {
    const { etag, path } = await stock(use())
    expectProblem(await patch(use(), clerk, path, { units: { $add: 1 } }, null), "precondition-required", path)
    expect((await patch(use(), clerk, path, { units: { $add: 1 } }, "\"old\"")).status).toBe(412)
    const idle = await patch(use(), clerk, path, { units: { $add: "0" }, price: { $add: "-0.00" } }, etag)
    expect([idle.status, idle.headers.get("etag")]).toEqual([200, etag])
  })

  it("loses none of many at once", async () => {
    const { path } = await stock(use())
    const answers = await Promise.all(
      Array.from(
        { length: 12 },
        (_, i) => patch(use(), clerk, path, { units: { $add: i % 3 - 1 }, price: { $add: "0.01" } })
      )
    )
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200))
    expect(await read(use(), clerk, path)).toMatchObject({ units: 5, price: "10.12", rev: 13 })
  })

  it("is judged by what it makes of the record: range, validate rules, access rules, rules of fields", async () => {
    const { path } = await stock(use(), { small: 32_767, frozen: 1 })
    expect(codes(await patch(use(), clerk, path, { units: { $add: -6 }, name: "no" }))).toEqual(["units invalid"])
    const large = await patch(use(), clerk, path, { small: { $add: 1 } })
    const value = await patch(use(), clerk, path, { small: 32_768 })
    expect(large.json["errors"]).toEqual(value.json["errors"])
    expect(codes(await patch(use(), admin, path, { price: { $add: "999990.00" } }))).toEqual(["price invalid"])
    expect(codes(await patch(use(), clerk, path, { frozen: { $add: 1 } }))).toEqual(["frozen read-only"])
    // Within the rule before, and beyond it after.
    expectProblem(await patch(use(), clerk, path, { price: { $add: "90.01" } }), "access-denied", path)
    expect((await patch(use(), clerk, path, { price: { $add: "90.00" } })).json["price"]).toBe("100.00")
    expect(await read(use(), clerk, path)).toMatchObject({ units: 5, name: null, small: 32_767, frozen: 1 })
  })

  it("adds to no null, and rounds nothing", async () => {
    const { path } = await stock(use())
    expect(codes(await patch(use(), clerk, path, { small: { $add: 1 } }))).toEqual(["small invalid"])
    expect(codes(await patch(use(), clerk, path, { price: { $add: "0.005" } }))).toEqual(["price invalid"])
    expect(codes(await patch(use(), clerk, path, { units: { $add: 0.5 } }))).toEqual(["units type"])
    expect(await read(use(), clerk, path)).toMatchObject({ small: null, price: "10.00", units: 5 })
  })

  it("refuses additions to other kinds, other forms, and hidden fields as unknown ones", async () => {
    const { path } = await stock(use(), { name: "a", ratio: 0.5, zq_cost: 1 })
    const refused = await patch(use(), clerk, path, { name: { $add: "b" }, ratio: { $add: 1 }, zq_cost: { $add: 1 } })
    expect(codes(refused)).toEqual(["name type", "ratio type", "zq_cost unknown"])
    expect((refused.json["errors"] as unknown as ReadonlyArray<{ hint?: string }>)[1]!.hint).toBe(
      "Send the value itself."
    )
    for (
      const wrong of [
        { $add: null },
        { $add: [1] },
        { $add: { $add: 1 } },
        { $add: 1, more: 1 },
        { $add: "1e999" },
        {
          $add: ""
        },
        { add: 1 },
        [{ $add: 1 }]
      ]
    ) {
      expect((await patch(use(), clerk, path, { units: wrong })).json["type"], JSON.stringify(wrong)).toBe(
        "urn:service:problem:invalid-record"
      )
    }
    // In a json field it is data.
    const data = { $add: 1 }
    expect((await patch(use(), clerk, path, { meta: data })).json["meta"]).toEqual(data)
    const created = await use().call(admin, "POST", `${base}/stocks`, {
      body: { id: ++last, units: { $add: 1 }, price: "1" }
    })
    expect(codes(created)).toEqual(["units invalid"])
  })

  it("does no work for digits that a short text stands for", async () => {
    const { path } = await stock(use(), { loose: "1" })
    for (const delta of ["1e131000", "1e-16000"]) {
      expect(codes(await patch(use(), clerk, path, { loose: { $add: delta } })), delta).toEqual(["loose invalid"])
    }
  })

  it("is what an operation of a batch, and a bulk change, may say", async () => {
    const { id, path } = await stock(use())
    const add = (delta: number) => ({
      op: "update",
      resource: "stocks",
      key: id,
      etag: "*",
      data: { units: { $add: delta } }
    })
    const answer = await batch(use(), clerk, [add(2), add(-7)])
    expect(answer.json["results"]).toMatchObject([{ record: { units: 7 } }, { record: { units: 0 } }])
    expect((await batch(use(), clerk, [add(3), add(-4)])).json).toMatchObject({
      operation: 1,
      errors: [{ field: "units" }]
    })
    expect((await batch(use(), clerk, [add(9)], {}, "?dry_run=true")).json["results"]).toMatchObject([{
      record: { units: 9 }
    }])
    expect(await read(use(), clerk, path)).toMatchObject({ units: 0 })
  })
}

onBoth("increments", () => fixture({ writeHooks: [(change) => void changes.push(change)] }), adding(true))
// Without hooks they are tried as single statements that commit by themselves.
onBoth("increments without hooks", fixture, adding(false))
