// Order and page tokens over random rows, without HTTP: a walk visits every row once, in order, from anywhere, both ways, while others write.
import * as Effect from "effect/Effect"
import { describe, expect, it } from "vitest"
import { makeSeal } from "../../adapters/seal/seal.ts"
import { compileOrThrow } from "../../composition/create-admin.ts"
import type { Call } from "../../core/app/call.ts"
import type { Core } from "../../core/app/core.ts"
import { RowEstimates } from "../../core/app/estimate.ts"
import { makeJudgements } from "../../core/app/guard.ts"
import { list, seek } from "../../core/app/read.ts"
import { RecentVersions } from "../../core/app/versions.ts"
import type { Caller } from "../../core/domain/access/caller.ts"
import { makeAccessResolver } from "../../core/domain/access/resolve.ts"
import { defineConfig } from "../../core/domain/declare/config.ts"
import { f } from "../../core/domain/declare/field.ts"
import { defineResource } from "../../core/domain/declare/resource.ts"
import type { Model } from "../../core/domain/model/model.ts"
import type { Row } from "../../core/domain/value/kind.ts"
import { makeFakeRecords } from "../fakes/records.ts"
import type { FakeRecords } from "../fakes/records.ts"
import { Random, randomCell } from "../support/filter.ts"

const things = defineResource("things", {
  primaryKey: ["a", "b"],
  fields: {
    a: f.integer().filterable().sortable(),
    b: f.text().filterable().sortable(),
    count: f.integer().bits(64).optional().filterable().sortable(),
    name: f.text().optional().filterable().sortable(),
    total: f.decimal({ precision: 12, scale: 2 }).optional().filterable().sortable(),
    ratio: f.float().optional().filterable().sortable(),
    flag: f.boolean().optional().filterable().sortable(),
    at: f.timestamp().optional().filterable().sortable(),
    day: f.date().optional().filterable().sortable(),
    kind: f.enum(["x", "y", "z"]).filterable().sortable(),
    ref: f.uuid().optional().filterable().sortable()
  }
})

const compiled = compileOrThrow(defineConfig({ resources: [things] }))
const model: Model = compiled.models.get("things")!
const sortable = model.fields.map((field) => field.name)
const texts = ["a", "b", "ab", "", ",", "é", "\u{1f600}", "\uffff", "Z"]

const randomRow = (random: Random): Row =>
  model.columns.map((field) =>
    field.name === "a"
      ? String(random.below(40))
      : field.name === "b"
      ? random.pick(texts)
      : field.optional && random.chance(3)
      ? null
      : randomCell(random, field)
  )

interface World {
  readonly core: Core
  readonly fake: FakeRecords
}

const seal = makeSeal("a secret of this test, long enough")

const worldOf = (rows: readonly Row[]): World => {
  const fake = makeFakeRecords()
  fake.seed(model, rows)
  return {
    fake,
    core: {
      models: compiled.models,
      records: fake.service,
      seal,
      options: {
        basePath: "/api/v1",
        scanGuard: compiled.options.scanGuard,
        rowPermissions: () => false,
        writeHooks: [],
        maxAnswerBytes: 2 ** 25,
        maxBatchBytes: 2 ** 26,
        statementTimeoutMs: 15_000
      },
      estimates: new RowEstimates(),
      judgements: makeJudgements(),
      versions: new RecentVersions(),
      items: { digest: seal.digest, hash: seal.hash, files: null },
      files: null
    }
  }
}

interface Page {
  readonly keys: readonly string[]
  readonly next: string
  readonly previous: string | undefined
}

type Parameters = { readonly [name: string]: string | number }

const caller: Caller = { id: "u", roles: [], tenant: null }
const resolver = makeAccessResolver(compiled.models, compiled.rules, compiled.defaults)

const ask = async (use: typeof list, { core }: World, parameters: Parameters): Promise<Page> => {
  const call: Call = {
    caller,
    access: (resource) => resolver.resolve(caller, resource),
    path: "/api/v1/things",
    query: Object.entries(parameters).map(([name, value]) => [name, String(value)] as const),
    header: () => null
  }
  const reply = await Effect.runPromise(use(core, call, "things"))
  const body = JSON.parse(reply.body as string) as {
    readonly items: ReadonlyArray<{ readonly a: number; readonly b: string }>
    readonly next_page_token: string
    readonly prev_page_token?: string
  }
  return {
    keys: body.items.map(({ a, b }) => JSON.stringify([String(a), b])),
    next: body.next_page_token,
    previous: body.prev_page_token
  }
}

const randomOrder = (random: Random): string => {
  const names = [...sortable]
  return Array.from({ length: random.below(5) }, () => {
    const [name] = names.splice(random.below(names.length), 1)
    return `${name}${random.pick([" desc", " asc", ""])}`
  }).join(",")
}

const walk = async (
  world: World,
  parameters: Parameters,
  from: Page,
  way: "next" | "previous"
): Promise<readonly string[]> => {
  const keys: string[] = []
  for (let page = from, rounds = 0; (page[way] ?? "") !== "";) {
    page = await ask(list, world, { ...parameters, page_token: page[way]! })
    if (way === "next") keys.push(...page.keys)
    else keys.unshift(...page.keys)
    if (++rounds > 500) throw new Error("the walk has no end")
  }
  return keys
}

describe("page tokens over random rows and orders", () => {
  it("visit every row once in order, from the start and from anywhere, both ways", async () => {
    for (let seed = 0; seed < 250; seed++) {
      const random = new Random(seed)
      const world = worldOf(random.many(0, 60, () => randomRow(random)))
      const stored = world.fake.rows(model).length
      const order = randomOrder(random)
      const filter = random.chance(3)
        ? random.pick(["count >= 0", "NOT name:a", "isNull(at) OR flag = true", "kind != x"])
        : ""
      const whole = await ask(list, world, { order_by: order, filter, page_size: 500 })
      const label = `seed ${seed}: order_by=${order} filter=${filter}`
      expect(new Set(whole.keys).size, label).toBe(whole.keys.length)
      if (filter === "") expect(whole.keys.length, label).toBe(stored)

      const parameters = { order_by: order, filter, page_size: 1 + random.below(9) }
      const first = await ask(list, world, parameters)
      expect([...first.keys, ...await walk(world, parameters, first, "next")], label).toEqual(whole.keys)

      const position = random.below(70)
      const at = await ask(seek, world, { ...parameters, position })
      const begin = position < whole.keys.length ? position : Math.max(0, whole.keys.length - parameters.page_size)
      expect(at.keys, `${label} position=${position}`).toEqual(whole.keys.slice(begin, begin + parameters.page_size))
      expect(await walk(world, parameters, at, "next"), label).toEqual(whole.keys.slice(begin + parameters.page_size))
      expect(await walk(world, parameters, at, "previous"), label).toEqual(whole.keys.slice(0, begin))
    }
  })

  it("visit every row that stays once, in order, while others come and go", async () => {
    for (let seed = 1_000; seed < 1_150; seed++) {
      const random = new Random(seed)
      const world = worldOf(random.many(20, 60, () => randomRow(random)))
      const order = randomOrder(random)
      const parameters = { order_by: order, page_size: 1 + random.below(7) }
      const whole = (await ask(list, world, { order_by: order, page_size: 500 })).keys
      const going = new Set(whole.filter(() => random.chance(3)))
      const seen: string[] = []
      let page = await ask(list, world, parameters)
      for (let rounds = 0;; rounds++) {
        seen.push(...page.keys)
        if (page.next === "" || rounds > 500) break
        const gone = [...going].slice(rounds * 2, rounds * 2 + 2)
        await Effect.runPromise(
          world.core.records.transaction((tx) =>
            Effect.forEach(
              gone,
              (key) =>
                tx.remove({ model, key: JSON.parse(key) as string[], bindings: { caller, now: 0n, params: [] } }),
              { discard: true }
            )
          )
        )
        // New rows anywhere, but none that stands for an old one; few enough that the walk ends.
        if (rounds < 30) {
          world.fake.seed(
            model,
            random.many(0, 2, () => randomRow(random)).map((
              row
            ) => [String(1_000 + random.below(9_000)), ...row.slice(1)])
          )
        }
        page = await ask(list, world, { ...parameters, page_token: page.next })
      }
      const label = `seed ${seed}: order_by=${order}`
      expect(new Set(seen).size, label).toBe(seen.length)
      const staying = new Set(whole.filter((key) => !going.has(key)))
      expect(seen.filter((key) => staying.has(key)), label).toEqual(whole.filter((key) => staying.has(key)))
    }
  })
})
