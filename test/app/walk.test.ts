// Order and page tokens over random rows, without HTTP: a walk visits every row once, in order, from anywhere, both ways, while others write.
import * as Effect from "effect/Effect"
import { describe, expect } from "vitest"
import { makeSeal } from "../../adapters/seal/seal.ts"
import { compileOrThrow } from "../../composition/create-admin.ts"
import type { Call } from "../../core/app/ground/call.ts"
import type { Core } from "../../core/app/ground/core.ts"
import { RowEstimates } from "../../core/app/ground/estimate.ts"
import { makeJudgements } from "../../core/app/ground/guard.ts"
import { RecentVersions } from "../../core/app/ground/versions.ts"
import { list, seek } from "../../core/app/read/list.ts"
import type { Caller } from "../../core/domain/access/caller.ts"
import { makeAccessResolver } from "../../core/domain/access/resolve.ts"
import { defineConfig } from "../../core/domain/declare/config.ts"
import { f } from "../../core/domain/declare/field.ts"
import { defineResource } from "../../core/domain/declare/resource.ts"
import type { Model } from "../../core/domain/model/model.ts"
import type { Row } from "../../core/domain/value/kind.ts"
import { makeFakeRecords } from "../fakes/records.ts"
import type { FakeRecords } from "../fakes/records.ts"
import { row as anyRow } from "../generators/model.ts"
import { property } from "../generators/property.ts"
import type { Random } from "../generators/random.ts"

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

const row = (random: Random): Row =>
  anyRow(random, model, { a: () => String(random.below(40)), b: () => random.pick(texts) })

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
        queueSchema: "jobs",
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

const ask = Effect.fnUntraced(function*(use: typeof list, { core }: World, parameters: Parameters) {
  const call: Call = {
    caller,
    access: (resource) => resolver.resolve(caller, resource),
    path: "/api/v1/things",
    query: Object.entries(parameters).map(([name, value]) => [name, String(value)] as const),
    header: () => null
  }
  const reply = yield* use(core, call, "things")
  const body = JSON.parse(reply.body as string) as {
    readonly items: ReadonlyArray<{ readonly a: number; readonly b: string }>
    readonly next_page_token: string
    readonly prev_page_token?: string
  }
  const page: Page = {
    keys: body.items.map(({ a, b }) => JSON.stringify([String(a), b])),
    next: body.next_page_token,
    previous: body.prev_page_token
  }
  return page
})

const order = (random: Random): string =>
  random.shuffled(sortable).slice(0, random.below(5)).map((name) => name + random.pick(["", " desc", " asc"])).join(",")

const walk = Effect.fnUntraced(function*(
  world: World,
  parameters: Parameters,
  from: Page,
  way: "next" | "previous"
) {
  const keys: string[] = []
  for (let page = from, rounds = 0; (page[way] ?? "") !== "";) {
    page = yield* ask(list, world, { ...parameters, page_token: page[way]! })
    if (way === "next") keys.push(...page.keys)
    else keys.unshift(...page.keys)
    if (++rounds > 500) throw new Error("the walk has no end")
  }
  return keys
})

/** A walk, and where it begins in the middle. */
const question = (random: Random) => ({
  order: order(random),
  filter: random.chance(3)
    ? random.pick(["count >= 0", "NOT name:a", "isNull(at) OR flag = true", "kind != x"])
    : "",
  size: 1 + random.below(9),
  position: random.below(70)
})

/** What others do after each page of a walk: which of the first rows go, in a share of all, and which come. */
const traffic = (random: Random) => ({
  order: order(random),
  size: 1 + random.below(7),
  going: random.many(60, 60, () => random.chance(3), 0),
  // None stands for an old one, and they are few enough that the walk ends.
  coming: random.many(
    30,
    30,
    () => random.many(0, 2, () => [String(1_000 + random.below(9_000)), ...row(random).slice(1)] as Row),
    0
  )
})

describe("page tokens over random rows and orders", () => {
  property(
    "visit every row once in order, from the start and from anywhere, both ways",
    { rows: (random) => random.many(0, 60, () => row(random)), question },
    { cases: 250 },
    ({ question: { filter, order, position, size }, rows }) =>
      Effect.gen(function*() {
        const world = worldOf(rows)
        const stored = world.fake.rows(model).length
        const whole = yield* ask(list, world, { order_by: order, filter, page_size: 500 })
        expect(new Set(whole.keys).size).toBe(whole.keys.length)
        if (filter === "") expect(whole.keys.length).toBe(stored)

        const parameters = { order_by: order, filter, page_size: size }
        const first = yield* ask(list, world, parameters)
        expect([...first.keys, ...yield* walk(world, parameters, first, "next")]).toEqual(whole.keys)

        const at = yield* ask(seek, world, { ...parameters, position })
        const begin = position < whole.keys.length ? position : Math.max(0, whole.keys.length - parameters.page_size)
        expect(at.keys).toEqual(whole.keys.slice(begin, begin + parameters.page_size))
        expect(yield* walk(world, parameters, at, "next")).toEqual(whole.keys.slice(begin + parameters.page_size))
        expect(yield* walk(world, parameters, at, "previous")).toEqual(whole.keys.slice(0, begin))
      })
  )

  property(
    "visit every row that stays once, in order, while others come and go",
    { rows: (random) => random.many(20, 60, () => row(random), 0), traffic },
    { cases: 150 },
    ({ rows, traffic: { coming, going: goes, order, size } }) =>
      Effect.gen(function*() {
        const world = worldOf(rows)
        const parameters = { order_by: order, page_size: size }
        const whole = (yield* ask(list, world, { order_by: order, page_size: 500 })).keys
        const going = new Set(whole.filter((_, at) => goes[at] === true))
        const seen: string[] = []
        let page = yield* ask(list, world, parameters)
        for (let rounds = 0;; rounds++) {
          seen.push(...page.keys)
          if (page.next === "" || rounds > 500) break
          const gone = [...going].slice(rounds * 2, rounds * 2 + 2)
          yield* world.core.records.transaction((tx) =>
            Effect.forEach(
              gone,
              (key) =>
                tx.remove({ model, key: JSON.parse(key) as string[], bindings: { caller, now: 0n, params: [] } }),
              { discard: true }
            )
          )
          world.fake.seed(model, coming[rounds] ?? [])
          page = yield* ask(list, world, { ...parameters, page_token: page.next })
        }
        expect(new Set(seen).size).toBe(seen.length)
        const staying = new Set(whole.filter((key) => !going.has(key)))
        expect(seen.filter((key) => staying.has(key))).toEqual(whole.filter((key) => staying.has(key)))
      })
  )
})
