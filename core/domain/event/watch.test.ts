import * as Result from "effect/Result"
import { describe, expect, it } from "vitest"
import { tree } from "../../../test/generators/filter.ts"
import { row, table } from "../../../test/generators/model.ts"
import { property } from "../../../test/generators/property.ts"
import type { Random } from "../../../test/generators/random.ts"
import { filterField, filterScope } from "../../../test/support/filter.ts"
import { withPaths } from "../../../test/support/members.ts"
import { makeField, makeModel } from "../../../test/support/model.ts"
import { evaluate } from "../filter/evaluate.ts"
import { readFilter } from "../filter/read.ts"
import { allOf, always, type FilterTree } from "../filter/tree.ts"
import type { Row } from "../value/kind.ts"
import { cellsOf, isLive, recordChange, type StoredRow } from "./change.ts"
import { checkWatched, isRelated, mostWeight, tellingOf, type Told, type WatchScope, weightOf } from "./watch.ts"

const model = makeModel({
  fields: [
    { name: "id", kind: "integer" },
    { name: "owner", kind: "text", optional: true },
    { name: "status", kind: "text" },
    { name: "due", kind: "timestamp", optional: true },
    { name: "note", kind: "text", optional: true },
    { name: "editors", kind: "list", of: { kind: "text", max: null }, optional: true },
    { name: "days", kind: "list", of: { kind: "date" }, optional: true }
  ],
  tenant: "tenant_id",
  softDelete: "deleted_at"
})

const scope = { names: model.byName, searched: [], caller: true }
const read = (text: string): FilterTree =>
  Result.getOrThrowWith(readFilter(text, scope), (errors) => new Error(JSON.stringify(errors)))

const ann = { id: "ann", roles: [], tenant: "1" }
const tenantOwn: FilterTree = { op: "compare", field: model.tenant!, is: "=", value: { of: "caller", value: "tenant" } }
const own = read("owner = caller.id")
const follow = (text = "", more: Partial<WatchScope["access"]> = {}): WatchScope => ({
  access: { caller: ann, rows: allOf([tenantOwn, own]), ...more },
  filter: text === "" ? always : read(text)
})

// 2026-01-31T12:00:00Z
const now = 1_769_860_800_000_000n
const stored = {
  id: "7",
  owner: "ann",
  status: "open",
  due: null,
  note: null,
  tenant_id: "1",
  deleted_at: null
} satisfies StoredRow
const told = (
  before: StoredRow | null,
  after: StoredRow | null,
  following: WatchScope,
  at = now
): readonly Told[] => {
  const change = recordChange(model, {
    sequence: "1",
    transaction: "1",
    at: "2026-01-31T12:00:00Z",
    relation: "orders",
    operation: before === null ? "insert" : after === null ? "delete" : "update",
    before,
    after,
    actor: null
  })
  return change === null ? [] : tellingOf(change, at).told(following)
}
const kinds = (...given: Parameters<typeof told>): readonly string[] => told(...given).map(({ kind }) => kind)

/** What a row can be for ann, who follows what is open. */
const states: { readonly [state: string]: StoredRow | null } = {
  absent: null,
  deleted: { ...stored, deleted_at: "2026-01-01T00:00:00Z" },
  hidden: { ...stored, owner: "bob" },
  foreign: { ...stored, tenant_id: "2" },
  out: { ...stored, status: "paid" },
  in: stored
}

describe("told", () => {
  // From the state on the left to the states of the head: everything else is silent, and so tells nothing of what was never to be seen.
  const names = ["absent", "deleted", "hidden", "foreign", "out", "in"]
  const rows = [
    ["absent", "      -       -       -       -    -   entered"],
    ["deleted", "     -       -       -       -    -   entered"],
    ["hidden", "      -       -       -       -    -   entered"],
    ["foreign", "     -       -       -       -    -   entered"],
    ["out", "         -       -       -       -    -   entered"],
    ["in", "          left    left    left    left left changed"]
  ] as const
  it.each(rows.flatMap(([from, line]) => line.trim().split(/ +/).map((kind, i) => [from, names[i]!, kind] as const)))(
    "%s to %s: %s",
    (from, to, kind) => {
      // Something differs, or else nothing has happened.
      const after = states[to] === null ? null : { ...states[to]!, note: "other" }
      const expected = kind === "-" ? [] : [{ kind, key: "7" }]
      expect(told(states[from]!, after, follow("status = open"))).toEqual(expected)
    }
  )

  it("follows all that the caller sees where there is no filter", () => {
    expect(kinds(null, states["out"]!, follow())).toEqual(["entered"])
    expect(kinds(states["out"]!, stored, follow())).toEqual(["changed"])
    expect(kinds(states["out"]!, states["hidden"]!, follow())).toEqual(["left"])
    expect(kinds(states["hidden"]!, stored, follow())).toEqual(["entered"])
    expect(kinds(states["hidden"]!, null, follow())).toEqual([])
    expect(kinds(states["hidden"]!, { ...states["hidden"]!, note: "x" }, follow())).toEqual([])
  })

  it("tells nothing of a record that becomes the caller's as it is deleted", () => {
    expect(told(states["hidden"]!, { ...states["deleted"]!, owner: "ann" }, follow())).toEqual([])
    expect(told({ ...states["deleted"]!, owner: "ann" }, states["hidden"]!, follow())).toEqual([])
  })

  it("tells of a key that changed as of two records, as far as each was followed", () => {
    const renamed = { ...stored, id: "8" }
    expect(told(stored, renamed, follow("status = open"))).toEqual([
      { kind: "left", key: "7" },
      { kind: "entered", key: "8" }
    ])
    expect(told(stored, { ...renamed, owner: "bob" }, follow())).toEqual([{ kind: "left", key: "7" }])
    expect(told(states["hidden"]!, renamed, follow())).toEqual([{ kind: "entered", key: "8" }])
  })

  it("judges each side by the present time, and lets go of what left as time went by", () => {
    const ahead = { ...stored, due: "2026-02-01T00:00:00.000000Z" }
    const past = { ...stored, due: "2026-01-30T00:00:00.000000Z" }
    const due = follow("due > now()")
    expect(kinds(past, { ...ahead, note: "x" }, due)).toEqual(["entered"])
    expect(kinds(ahead, { ...ahead, note: "x" }, due)).toEqual(["changed"])
    // It may have been in until a moment ago.
    expect(kinds(past, { ...past, note: "x" }, due)).toEqual(["left"])
    expect(kinds({ ...past, status: "paid" }, past, follow("due > now() AND status = paid"))).toEqual(["left"])
    // The other conditions still hold: this one never was in.
    expect(kinds(past, { ...past, note: "x" }, follow("due > now() AND status = paid"))).toEqual([])
    expect(kinds(ahead, { ...ahead, note: "x" }, follow("NOT due > now()"))).toEqual(["left"])
    expect(kinds({ ...past, owner: "bob" }, { ...past, owner: "bob", note: "x" }, due)).toEqual([])
  })

  it("takes a row that the caller will only see later for one that was never seen", () => {
    const embargo = follow("", { rows: read("due < now()") })
    const later = { ...stored, due: "2026-02-01T00:00:00.000000Z" }
    expect(told(later, { ...later, note: "x" }, embargo)).toEqual([])
    expect(told(later, null, embargo)).toEqual([])
  })

  it("asks a list of people for each of them, though their access is the same", () => {
    const change = recordChange(model, {
      sequence: "1",
      transaction: "1",
      at: "2026-01-31T12:00:00Z",
      relation: "orders",
      operation: "insert",
      before: null,
      after: { ...stored, editors: `["ann"]` },
      actor: null
    })!
    for (const rows of [read("editors:caller.id"), read("in(editors, caller.id, caller.tenant)")]) {
      const tell = tellingOf(change, now).told
      const toldTo = (id: string) => tell({ access: { caller: { ...ann, id }, rows }, filter: always }).length
      expect(["ann", "bob", "ann"].map(toldTo)).toEqual([1, 0, 1])
    }
  })

  it("lets go of what left a list's present day as time went by", () => {
    const past = { ...stored, days: `["2026-01-30"]` }
    expect(kinds(past, { ...past, note: "x" }, follow("days:now()"))).toEqual(["left"])
  })

  it("looks with a filter only at rows that the caller sees", () => {
    const looked: string[] = []
    const note = model.byName.get("note")!
    const spied = { ...note }
    Object.defineProperty(spied, "index", {
      get: () => {
        looked.push("note")
        return note.index
      }
    })
    const following = { ...follow(), filter: { op: "regex", field: spied, pattern: "a*b" } as const }
    told(states["hidden"]!, { ...states["foreign"]!, note: "aaaa" }, following)
    expect(looked).toEqual([])
    told(stored, { ...stored, note: "b" }, following)
    expect(looked.length).toBeGreaterThan(0)
  })

  it("asks each filter, and each access, once for all who follow by it", () => {
    let asked = 0
    const counted = (name: string) => {
      const field = { ...model.columns.find((each) => each.name === name)! }
      const { index } = field
      return Object.defineProperty(field, "index", { get: () => (asked++, index) })
    }
    const filter: FilterTree = { op: "null", field: counted("note") }
    const tenants: FilterTree = { ...tenantOwn, field: counted("tenant_id") } as FilterTree
    const change = recordChange(model, {
      sequence: "1",
      transaction: "1",
      at: "2026-01-31T12:00:00Z",
      relation: "orders",
      operation: "update",
      before: stored,
      after: { ...stored, status: "x" },
      actor: null
    })!
    const tell = tellingOf(change, now).told
    for (let i = 0; i < 1_000; i++) {
      const access = { caller: { id: `u${i}`, roles: [], tenant: "1" }, rows: tenants }
      expect(tell({ access, filter })).toHaveLength(1)
    }
    // Two sides, each by one filter and one access.
    expect(asked).toBe(4)
  })
})

describe("lists and ranges", () => {
  const model = makeModel({
    fields: [
      { name: "id", kind: "integer" },
      { name: "editors", kind: "list" },
      { name: "days", kind: "list", of: { kind: "date" } },
      { name: "during", kind: "range", type: "date" }
    ]
  })
  const read = (text: string): FilterTree =>
    Result.getOrThrow(readFilter(text, { names: model.byName, searched: [], caller: true }))
  const row = (editors: string, day: string): Row => [
    "7",
    JSON.stringify([editors]),
    JSON.stringify([day]),
    `[${day},${day === "2026-01-31" ? "2026-02-01" : "2026-01-31"})`
  ]

  it("of those who see a record tell each caller apart, whoever is asked about first", () => {
    const rows = read("editors:caller.id")
    const { told } = tellingOf({ model, before: null, after: row("bob", "2026-01-31") }, now)
    const kindsFor = (id: string) => told({ access: { caller: { ...ann, id }, rows }, filter: always }).length
    expect(["bob", "ann", "bob", "eve"].map(kindsFor)).toEqual([1, 0, 1, 0])
    const tenants = read("editors:caller.tenant")
    const kindsOf = (tenant: string) =>
      told({ access: { caller: { ...ann, tenant }, rows: tenants }, filter: always }).length
    expect(["1", "bob", "1"].map(kindsOf)).toEqual([0, 1, 0])
  })

  it.each(["days:now()", "during:now()"])("let go of what left %s as time went by", (filter) => {
    const following = { access: { caller: ann, rows: always }, filter: read(filter) }
    const kinds = (before: Row, after: Row) =>
      tellingOf({ model, before, after }, now).told(following).map(({ kind }) => kind)
    expect(kinds(row("a", "2026-01-30"), row("b", "2026-01-30"))).toEqual(["left"])
    expect(kinds(row("a", "2026-01-31"), row("b", "2026-01-31"))).toEqual(["changed"])
  })
})

describe("through relations", () => {
  const target = makeModel({ name: "customers", fields: [{ name: "id", kind: "integer" }, { name: "country" }] })
  const model = makeModel({
    fields: [
      { name: "id", kind: "integer" },
      { name: "owner" },
      { name: "status" },
      { name: "customer_id", kind: "integer" }
    ],
    relations: [{ name: "customer", target: "customers", many: false, from: "customer_id", to: "id" }]
  })
  const to = target.byName.get("id")!
  const step = {
    way: { relation: model.relations.get("customer")!, model: target, to, rows: always },
    scope: { names: target.byName, searched: [], caller: false }
  }
  const names = {
    names: model.byName,
    searched: [],
    caller: true,
    relations: { names: () => ["customer"], step: (name: string) => name === "customer" ? step : null }
  }
  const read = (text: string): FilterTree => Result.getOrThrow(readFilter(text, names))
  const rows = read("owner = caller.id")
  const order = { in: ["7", "ann", "open", "1"], out: ["7", "ann", "paid", "1"], hidden: ["7", "bob", "open", "1"] }
  type State = keyof typeof order | "absent"
  const rowOf = (state: State): Row | null => state === "absent" ? null : order[state]
  const kindsOf = (from: State, to: State, passes: boolean, text = "customer.country = DE"): readonly string[] =>
    tellingOf({ model, before: rowOf(from), after: rowOf(to) }, now)
      .told({ access: { caller: ann, rows }, filter: read(text) }, new Set(passes ? ["7"] : [])).map(({ kind }) => kind)

  // The states are those of the record itself; the database says whether it passes now. Where it was before depends on the related record.
  it.each<[State, State, boolean, string]>([
    ["absent", "in", true, "entered"],
    ["absent", "in", false, ""],
    ["in", "in", true, "entered"],
    ["in", "in", false, "left"],
    ["in", "absent", false, "left"],
    ["in", "hidden", false, "left"],
    ["hidden", "in", true, "entered"],
    ["hidden", "in", false, ""],
    ["hidden", "hidden", false, ""],
    ["hidden", "absent", false, ""],
    // What the database says is of a later moment: somebody else's it was when this change was made.
    ["hidden", "hidden", true, ""],
    ["in", "hidden", true, "left"]
  ])("%s to %s, passing %s: %s", (from, to, passes, kinds) => {
    expect(kindsOf(from, to, passes).join()).toBe(kinds)
  })

  it("are asked no more than must be: the record's own conditions say where it was, as far as they can", () => {
    const both = "status = open AND customer.country = DE"
    expect(kindsOf("out", "out", false, both)).toEqual([])
    expect(kindsOf("out", "in", true, both)).toEqual(["entered"])
    expect(kindsOf("in", "out", false, both)).toEqual(["left"])
    const either = "status = open OR customer.country = DE"
    expect(kindsOf("in", "in", true, either)).toEqual(["changed"])
    expect(kindsOf("in", "out", false, either)).toEqual(["left"])
    expect(isRelated(read(either))).toBe(true)
    expect(isRelated(read("status = open"))).toBe(false)
  })

  it("asks of no record that its caller does not see after the change", () => {
    const asks = (from: State, to: State) =>
      tellingOf({ model, before: rowOf(from), after: rowOf(to) }, now).asks({
        access: { caller: ann, rows },
        filter: read("customer.country = DE")
      })
    expect(asks("absent", "in")).toEqual(["7"])
    expect([asks("in", "hidden"), asks("in", "absent"), asks("hidden", "hidden")]).toEqual([null, null, null])
  })

  it("weigh much", () => {
    expect(weightOf(read("customer.country = DE AND status = open"))).toBe(41)
    expect(weightOf(read("has(customer)"))).toBe(40)
  })
})

describe("checkWatched", () => {
  const refusalOf = (filter: FilterTree) => {
    const checked = checkWatched(filter)
    return Result.isFailure(checked) ? checked.failure : null
  }
  const parsed = (text: string, names = filterScope): FilterTree => Result.getOrThrow(readFilter(text, names))

  it.each([
    ["regex(name, 'a{2,3}')"],
    ["regex(name, '(a)\\\\1')"]
  ])("refuses the pattern of %s, which only the database knows or which costs much to read", (text) => {
    expect(refusalOf(parsed(text))?.members).toMatchObject({
      errors: [{ code: "invalid-pattern", span: { start: 0 } }]
    })
  })

  it("refuses similar(), which takes long on long texts, and says where it stands", () => {
    expect(refusalOf(parsed("count = 1 OR similar(name, abc)"))?.members).toMatchObject({
      errors: [{ code: "not-watchable", span: { start: 13 } }]
    })
  })

  it("refuses search vectors, whose words only the database knows", () => {
    const vector = model.byName.get("note")!
    expect(refusalOf({ op: "words", field: vector, text: "lamp" })?.members).toMatchObject({
      errors: [{ code: "not-watchable" }]
    })
  })

  it("lets through what a list may ask for otherwise", () => {
    for (
      const text of [
        "status = paid",
        "name:a",
        "search(x)",
        "regex(name, '^a+$')",
        "due < now()",
        "in(count, 1, 2, 3)",
        "isNull(name)",
        "name = a*"
      ]
    ) expect(refusalOf(parsed(text)), text).toBeNull()
  })

  it.each<[string, number]>([
    ["", 0],
    ["count = 1 AND (id > 2 OR NOT isNull(name))", 3],
    ["in(count, 1, 2, 3)", 1],
    [`in(count, ${Array.from({ length: 25 }, (_, i) => i).join(", ")})`, 3],
    ["name:a", 10],
    ["name = a*", 10],
    ["search(x)", 20],
    ["regex(name, 'a')", 10],
    ["tags:a", 10],
    ["length(tags) > 2", 10],
    [`in(tags, ${Array.from({ length: 25 }, (_, i) => `a${i}`).join(", ")})`, 12]
  ])("weighs %s: %i", (text, weight) => {
    expect(weightOf(text === "" ? always : parsed(text))).toBe(weight)
  })

  it("weighs a path into JSON as a look into its text", () => {
    const extra = filterField("extra")
    const path = makeField({ name: "extra.a", kind: "decimal", member: { of: extra, path: ["a"], storage: "json" } })
    const value = { of: "literal", text: "1" } as const
    expect([
      weightOf({ op: "compare", field: path, is: "=", value }),
      weightOf({ op: "in", field: path, values: Array(25).fill(value) }),
      weightOf({ op: "null", field: path }),
      weightOf({ op: "pair", field: filterField("total"), is: "=", other: path })
    ]).toEqual([10, 12, 10, 10])
  })

  it("weighs what reads all of a list or a document", () => {
    const inside = withPaths(
      makeModel({
        fields: [
          { name: "id", kind: "integer" },
          { name: "meta", kind: "json" },
          { name: "tags", kind: "list", of: { kind: "text", max: null } }
        ]
      }),
      [{ whole: "meta", name: "n", kind: "decimal" }]
    )
    const names = new Map([...inside.byName, ...inside.members!.map((member) => [member.name, member] as const)])
    const weigh = (text: string) => weightOf(parsed(text, { names, searched: [], caller: false }))
    expect(["meta.n = 1", "meta.n:*", "id < field(meta.n)", "in(meta.n, 1, 2)"].map(weigh)).toEqual([10, 10, 10, 10])
    expect(["tags:a", "length(tags) > 1", `in(tags, ${Array.from({ length: 25 }, (_, i) => i).join(", ")})`].map(weigh))
      .toEqual([10, 10, 12])
  })

  it("refuses what weighs too much", () => {
    const many = (count: number) => Array.from({ length: count }, (_, i) => `count > ${i}`).join(" AND ")
    expect(refusalOf(parsed(many(mostWeight)))).toBeNull()
    expect(refusalOf(parsed(many(mostWeight + 1)))?.members).toMatchObject({ errors: [{ code: "limit" }] })
    const scans = Array.from({ length: 21 }, (_, i) => `name:a${i}`).join(" ")
    expect(refusalOf(parsed(scans))?.members).toMatchObject({ errors: [{ code: "limit" }] })
    const values = Array.from({ length: 2_001 }, (_, i) => i).join(", ")
    expect(refusalOf(parsed(`in(count, ${values})`))?.members).toMatchObject({ errors: [{ code: "limit" }] })
  })
})

/** Rows of a table as they come and go, a filter, and what two people see. */
const story = (random: Random) => {
  const made = table(random, "t", 4)
  const told = makeModel({
    fields: [...made.parts, { name: "owner", kind: "text" }, { name: "gone_at", kind: "timestamp", optional: true }],
    softDelete: "gone_at"
  })
  const owner = told.byName.get("owner")!
  const one = (key: number): Row =>
    row(random, told, {
      id: () => String(key),
      owner: () => random.pick(["ann", "bob"]),
      gone_at: () => random.chance(4) ? "2026-01-01T00:00:00.000000Z" : null
    })
  return {
    model: told,
    filter: tree(random, { fields: made.model.fields, rows: made.rows }, 3),
    rows: random.chance(3)
      ? always
      : { op: "compare", field: owner, is: "=", value: { of: "caller", value: "id" } } as const,
    steps: random.many(1, 30, () => {
      const key = random.below(4)
      return { key, row: random.chance(5) ? null : one(key), later: random.below(3) * 3_600 }
    })
  }
}

let heard = 0
property(
  "who applies what they are told has what a fresh look would give",
  { story },
  { cases: 5_000, reaches: (runs) => expect(heard).toBeGreaterThan(runs / 2) },
  ({ story: { filter, model, rows, steps } }) => {
    let at = now
    const current = new Map<number, Row>()
    const clients = ["ann", "bob"].map((id) => ({
      following: { access: { caller: { id, roles: [], tenant: null }, rows }, filter },
      keys: new Set<string>()
    }))
    const change = (key: number, after: Row | null): void => {
      const before = current.get(key) ?? null
      if (after === null) current.delete(key)
      else current.set(key, after)
      const tell = tellingOf({ model, before, after }, at).told
      for (const { following, keys } of clients) {
        for (const { key: of, kind } of tell(following)) {
          heard++
          if (kind === "left") keys.delete(of)
          else keys.add(of)
        }
      }
    }
    for (const { key, later, row } of steps) {
      at += BigInt(later) * 1_000_000n
      change(key, row)
    }
    // Time is told of with the next change of a record.
    for (const [key, row] of current) change(key, row)
    for (const { following: { access, filter }, keys } of clients) {
      const bindings = { caller: access.caller, now: at, params: [] }
      const fresh = [...current].filter(([, row]) =>
        isLive(model, row) && evaluate(access.rows, cellsOf(row), bindings) && evaluate(filter, cellsOf(row), bindings)
      )
      expect([...keys].toSorted()).toEqual(fresh.map(([key]) => String(key)).toSorted())
    }
  }
)
