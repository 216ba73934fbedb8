// Which columns a list reads for rules that ask for the record: those that rules asked for before, and every one when a rule asks for another.
import * as Effect from "effect/Effect"
import { describe, expect, it } from "vitest"
import { makeFetch } from "../../adapters/http/fetch.ts"
import { compileOrThrow } from "../../composition/create-admin.ts"
import { makeService } from "../../composition/edge.ts"
import type { RuleFunction } from "../../core/domain/access/rules.ts"
import { where } from "../../core/domain/access/where.ts"
import { defineConfig } from "../../core/domain/declare/config.ts"
import { f } from "../../core/domain/declare/field.ts"
import { defineResource } from "../../core/domain/declare/resource.ts"
import type { PagePlan } from "../../core/domain/read/plan.ts"
import { makeFakeRecords } from "../fakes/records.ts"
import { testAuthenticator, testSecret, tokenOf } from "../support/composed.ts"

const caller = { id: "anna", roles: ["sales"] }

interface Rules {
  readonly update?: RuleFunction
  readonly delete?: RuleFunction
  readonly fields?: { readonly [name: string]: { readonly write: RuleFunction } }
}

/** Rows of id, state, owner, locked, secret. */
const stage = (access: Rules, rows: ReadonlyArray<readonly (string | null)[]>) => {
  const compiled = compileOrThrow(defineConfig({
    resources: [defineResource("things", {
      primaryKey: "id",
      version: "version",
      fields: {
        id: f.integer().filterable().sortable(),
        state: f.text().filterable(),
        owner: f.text(),
        locked: f.boolean(),
        secret: f.text().optional(),
        version: f.integer()
      },
      access: access as never
    })]
  }))
  const model = compiled.models.get("things")!
  const fake = makeFakeRecords()
  fake.seed(model, rows.map((row) => [...row, "1"]))
  const plans: PagePlan[] = []
  const failures: string[] = []
  const fetch = makeFetch(makeService({
    compiled,
    records: {
      ...fake.service,
      page: (plan) =>
        Effect.suspend(() => {
          plans.push(plan)
          return fake.service.page(plan)
        })
    },
    authenticator: testAuthenticator,
    secret: testSecret,
    publicUrl: "http://service.test",
    log: (line) => void failures.push(line)
  }))
  /** What a get of the path answers, and the columns of each page that was read for it. */
  const ask = async (path: string) => {
    plans.length = 0
    const answer = await fetch(
      new Request(`http://service.test/api/v1/things${path}`, {
        headers: { authorization: `Bearer ${tokenOf(caller)}` }
      })
    )
    expect(answer.status).toBe(200)
    return {
      json: await answer.json() as never,
      columns: plans.map(({ shape }) => shape.columns.map(({ name }) => name).sort().join(" "))
    }
  }
  const list = async (filter: string) => {
    const { columns, json } = await ask(`?fields=id&filter=${encodeURIComponent(filter)}`)
    const { items } = json as {
      items: ReadonlyArray<{ id: number; permissions: { update: boolean; delete: boolean } }>
    }
    return {
      columns,
      update: items.map((item) => item.permissions.update),
      remove: items.map((item) => item.permissions.delete)
    }
  }
  return { ask, list, failures }
}

const all = "id locked owner secret state version"
const rows = [
  ["1", "draft", "anna", "false", null],
  ["2", "draft", "bert", "false", null],
  ["3", "paid", "anna", "true", "x"]
]

describe("columns that rules ask for", () => {
  it("are read, and no others once they are known", async () => {
    const { list } = stage({ update: ({ record }) => record["state"] === "draft" }, rows)
    expect((await list("")).columns).toEqual([all])
    expect(await list("")).toMatchObject({ columns: ["id state version"], update: [true, true, false] })
  })

  it("are read in the same request when a branch asks for a further one", async () => {
    const { list } = stage({ update: ({ record }) => record["state"] === "draft" || record["locked"] !== true }, rows)
    expect(await list("id = 1")).toMatchObject({ columns: [all], update: [true] })
    expect(await list("id = 2")).toMatchObject({ columns: ["id state version"], update: [true] })
    // The third row takes the other branch: the page is read again, and the answer is right.
    expect(await list("")).toMatchObject({ columns: ["id state version", all], update: [true, true, false] })
    expect(await list("")).toMatchObject({ columns: ["id locked state version"], update: [true, true, false] })
  })

  it("deny nothing and allow nothing wrongly where a rule catches what it meets", async () => {
    const careless: RuleFunction = ({ record }) => {
      if (record["state"] === "draft") return false
      try {
        return record["locked"] === false
      } catch {
        return true
      }
    }
    const { list } = stage({ update: careless }, rows)
    await list("id = 1")
    expect(await list("id = 3")).toMatchObject({ columns: ["id state version", all], update: [false] })
  })

  it("are no failure of the rule, unlike one that throws", async () => {
    const rule: RuleFunction = ({ record }) => {
      if (record["state"] === "draft") return true
      if (record["secret"] === "x") throw new Error("x")
      return record["locked"] === false
    }
    const { failures, list } = stage({ update: rule }, [...rows, ["4", "paid", "bert", "false", null]])
    const told = () => failures.filter((line) => line.includes("access.update"))
    await list("id = 1")
    expect(await list("id = 4")).toMatchObject({ columns: ["id state version", all], update: [true] })
    expect(told()).toEqual([])
    expect(await list("id = 3")).toMatchObject({ update: [false] })
    expect(told()).toHaveLength(1)
  })

  it.each<[string, RuleFunction]>([
    ["spreads", ({ record }) => ({ ...record }).locked === false],
    ["takes keys", ({ record }) => Object.keys(record).length === 6 && record["locked"] === false],
    ["prints", ({ record }) => JSON.stringify(record).includes("\"locked\":false")],
    [
      "takes entries",
      ({ record }) => Object.entries(record).some(([name, value]) => name === "locked" && value === false)
    ],
    ["asks for names", ({ record }) => "locked" in record && !("unlocked" in record) && record["locked"] === false],
    ["writes", ({ record }) => {
      const own = record as { locked: boolean }
      own.locked = !own.locked
      return own.locked && record["locked"] === true
    }]
  ])("are complete for a rule that %s", async (_, rest) => {
    const { list } = stage(
      { update: (context) => context.record["state"] === "draft" ? rest(context) : rest(context) },
      rows
    )
    for (let i = 0; i < 3; i++) expect((await list("")).update).toEqual([true, true, false])
  })

  it("count where the answered filter asks for them", async () => {
    const { list } = stage({
      update: ({ record }) => record["state"] === "draft" ? true : where`secret = "x"`,
      delete: ({ record }) => record["state"] === "draft" && where`owner = caller.id`
    }, rows)
    expect(await list("id = 1")).toMatchObject({ columns: [all], remove: [true] })
    expect(await list("")).toMatchObject({ update: [true, true, true], remove: [true, false, false] })
    expect(await list("")).toMatchObject({ columns: ["id owner secret state version"], update: [true, true, true] })
  })

  it("of fields' rules are read for a get, and not for a list", async () => {
    const { ask, list } = stage({
      update: ({ record }) => record["state"] === "draft",
      fields: { owner: { write: ({ record }) => record["locked"] === false } }
    }, rows)
    const get = async () =>
      (await ask("/1?fields=id")) as { columns: readonly string[]; json: { permissions: unknown } }
    expect((await get()).columns).toEqual([all])
    const { columns, json } = await get()
    expect(columns).toEqual(["id locked state version"])
    expect(json.permissions).toMatchObject({ update: true, fields: { owner: "edit" } })
    await list("")
    expect((await list("")).columns).toEqual(["id state version"])
  })

  it.each([["a list", "?fields=id"], ["a seek", ":seek?position=0&fields=id"]])(
    "are read in the same request of %s",
    async (_, path) => {
      const { ask } = stage({ update: ({ record }) => record["state"] === "draft" || record["locked"] !== true }, rows)
      await ask("?fields=id&filter=id%20%3D%201")
      const { columns, json } = await ask(path)
      expect(columns).toEqual(["id state version", all])
      const { items } = json as { items: ReadonlyArray<{ permissions: { update: boolean } }> }
      expect(items.map(({ permissions }) => permissions.update)).toEqual([true, true, false])
    }
  )

  it("come to an end for a rule that asks for one column after the other", async () => {
    const { list } = stage({
      update: ({ record }) => ["state", "owner", "locked", "secret"].every((name) => record[name] !== undefined)
    }, rows)
    await list("id = 1")
    expect((await list("")).columns).toHaveLength(1)
  })
})
