import { describe, expect, it } from "vitest"
import { property } from "../../../test/generators/property.ts"
import type { Random } from "../../../test/generators/random.ts"
import { accessOf, resolverOf } from "../../../test/support/access.ts"
import { makeModel, type ModelParts, type RuledModel } from "../../../test/support/model.ts"
import { parseCapability } from "../declare/roles.ts"
import { type FilterTree, never, type Operand } from "../filter/tree.ts"
import type { Field, Model, WireRecord } from "../model/model.ts"
import type { Access, Decision } from "./access.ts"
import { type Caller, rolesKey } from "./caller.ts"
import { makeAccessResolver, refusedFields } from "./resolve.ts"
import {
  type AccessDefaults,
  type Capability,
  type CompiledRule,
  type Operation,
  operations,
  type RuleAnswer,
  type RuleContext,
  type RuleFunction,
  type Where
} from "./rules.ts"
import { where } from "./where.ts"

const caller = (parts: Partial<Caller> = {}): Caller => ({ id: "u1", roles: ["sales"], tenant: "t1", ...parts })

const capability = (text: string): Capability => {
  const parts = parseCapability(text)
  if (parts === null) throw new Error(`not a capability: ${text}`)
  return { ...parts, operation: parts.operation as Capability["operation"] }
}

const open: AccessDefaults = { roles: null, defaultAccess: null }
const roles = (declared: { readonly [role: string]: readonly string[] }): AccessDefaults => ({
  roles: new Map(Object.entries(declared).map(([role, texts]) => [role, texts.map(capability)])),
  defaultAccess: null
})

const fields = [{ name: "id", readOnly: true }, { name: "owner_id" }, { name: "status" }, { name: "total" }, {
  name: "note"
}]
const model = (parts: Partial<ModelParts> = {}): RuledModel => makeModel({ fields, owner: "owner_id", ...parts })

const owned = (of: Model): FilterTree => ({
  op: "compare",
  field: of.owner!,
  is: "=",
  value: { of: "caller", value: "id" }
})
const names = (access: Access): readonly string[] => access.restricted.fields.map((field) => field.name)

const deny: CompiledRule = { of: "constant", allow: false }
const aTree: FilterTree = { op: "null", field: model().fields[4]! }
const record: WireRecord = { id: "1", owner_id: "u1", status: "draft", total: "1.00", note: null }

const ruled = (
  operation: Operation,
  rule: CompiledRule | null,
  check: (text: string) => FilterTree | null = () => null
) => model({ rules: { [operation]: rule, check } })

/** What a rule must give: for reads, and for writes before and (where it is record-level) with the record. */
interface RuleRow {
  readonly name: string
  readonly rule: unknown
  readonly read: Decision["of"]
  readonly write: Decision["of"]
  readonly decided?: Decision["of"]
}

const run = (of: (context: { caller: Caller; record: WireRecord }) => unknown): CompiledRule => ({
  of: "function",
  run: of as RuleFunction
})
const both = (of: Decision["of"]) => ({ read: of, write: of })
const recordLevel = (decided: Decision["of"]) => ({ read: "deny", write: "record", decided }) as const

const ruleRows: readonly RuleRow[] = [
  { name: "constant true", rule: { of: "constant", allow: true }, ...both("allow") },
  { name: "constant false", rule: { of: "constant", allow: false }, ...both("deny") },
  { name: "constant not a boolean", rule: { of: "constant", allow: "true" }, ...both("deny") },
  { name: "role held", rule: { of: "roles", roles: ["x", "sales"] }, ...both("allow") },
  { name: "role not held", rule: { of: "roles", roles: ["x"] }, ...both("deny") },
  { name: "part of a role name", rule: { of: "roles", roles: ["sale"] }, ...both("deny") },
  { name: "no roles", rule: { of: "roles", roles: [] }, ...both("deny") },
  { name: "roles not a list", rule: { of: "roles", roles: "sales" }, ...both("deny") },
  { name: "filter", rule: { of: "filter", tree: aTree }, ...both("filter") },
  { name: "filter always", rule: { of: "filter", tree: { op: "true" } }, ...both("allow") },
  { name: "filter never", rule: { of: "filter", tree: { op: "false" } }, ...both("deny") },
  { name: "unknown form", rule: { of: "maybe", allow: true }, ...both("deny") },
  { name: "undefined", rule: undefined, ...both("deny") },
  { name: "function true", rule: run(() => true), ...both("allow") },
  { name: "function of the caller", rule: run((ctx) => ctx.caller.id === "u1"), ...both("allow") },
  ...[
    false,
    undefined,
    null,
    Number.NaN,
    1,
    "true",
    "",
    [],
    ["sales"],
    {},
    { allow: true },
    Symbol("yes"),
    1n,
    () => true
  ]
    .map((answer, i): RuleRow => ({
      name: `function answering #${i} ${typeof answer}`,
      rule: run(() => answer),
      ...both("deny")
    })),
  { name: "function resolving", rule: run(() => Promise.resolve(true)), ...both("deny") },
  { name: "function rejecting", rule: run(() => Promise.reject(new Error("late"))), ...both("deny") },
  { name: "async function", rule: run(async () => true), ...both("deny") },
  {
    name: "function throwing",
    rule: run(() => {
      throw new Error("no")
    }),
    ...both("deny")
  },
  { name: "function answering a good filter", rule: run(() => where`status = "draft"`), ...both("filter") },
  { name: "function answering a filter for all", rule: run(() => where`all`), ...both("allow") },
  { name: "function answering a filter for none", rule: run(() => where`none`), ...both("deny") },
  {
    name: "function answering what looks like a filter",
    rule: run(() => ({ _tag: "Where", text: "all" })),
    ...both("deny")
  },
  { name: "function answering a bad filter", rule: run(() => where`nonsense`), ...both("deny") },
  { name: "function answering a filter that breaks the checker", rule: run(() => where`boom`), ...both("deny") },
  { name: "function answering a filter without text", rule: run(() => ({ _tag: "Where" })), ...both("deny") },
  {
    name: "function answering a filter of another tag",
    rule: run(() => ({ _tag: "where", text: "all" })),
    ...both("deny")
  },
  {
    name: "function answering a trap",
    rule: run(() =>
      new Proxy({}, {
        has: () => {
          throw new Error("trap")
        }
      })
    ),
    ...both("deny")
  },
  { name: "record true", rule: run(({ record }) => record["status"] === "draft"), ...recordLevel("allow") },
  { name: "record false", rule: run(({ record }) => record["status"] === "paid"), ...recordLevel("deny") },
  { name: "record text", rule: run(({ record }) => record["status"]), ...recordLevel("deny") },
  {
    name: "record filter",
    rule: run(({ record }) => where`status = ${JSON.stringify(record["status"])}`),
    ...recordLevel("filter")
  },
  {
    name: "record bad filter",
    rule: run(({ record }) => where`nonsense ${JSON.stringify(record["id"])}`),
    ...recordLevel("deny")
  },
  { name: "record async", rule: run(async ({ record }) => record["status"] === "draft"), ...recordLevel("deny") },
  {
    name: "record throwing later",
    rule: run(({ record }) => {
      void record["id"]
      throw new Error("no")
    }),
    ...recordLevel("deny")
  },
  {
    name: "record read in a try that would allow",
    rule: run((ctx) => {
      try {
        return ctx.record["status"] === "paid"
      } catch {
        return true
      }
    }),
    ...recordLevel("deny")
  },
  { name: "record only named", rule: run(({ record: _record }) => true), ...recordLevel("allow") },
  {
    name: "record handed on with the rest",
    rule: run((ctx) => (({ record: of }: Partial<RuleContext>) => of?.["status"] !== "draft")({ ...ctx })),
    read: "allow",
    write: "record",
    decided: "deny"
  }
]

const checkTexts = (text: string): FilterTree | null => {
  if (text === "boom") throw new Error("boom")
  if (text === "all") return { op: "true" }
  if (text === "none") return never
  return text.startsWith("status") ? aTree : null
}

describe("explicit rules", () => {
  for (const operation of operations) {
    describe(operation, () => {
      it.each(ruleRows)("$name", (row) => {
        const of = ruled(operation, row.rule as CompiledRule, checkTexts)
        // A rule decides alone: what roles and defaults would say does not matter.
        for (
          const defaults of [open, roles({ sales: ["*"] }), roles({}), { roles: null, defaultAccess: "deny" } as const]
        ) {
          const access = accessOf(of, caller(), defaults)
          const decision = access.decisions[operation]
          expect(decision.of).toBe(operation === "read" ? row.read : row.write)
          if (decision.of === "record") expect(decision.decide(record).of).toBe(row.decided)
          if (operation === "read") {
            expect(access.rows.op).toBe({ allow: "true", deny: "false", filter: "null", record: "never" }[row.read])
            expect(names(access).length === 0).toBe(row.read === "deny" && access.decisions.create.of === "deny")
          }
        }
      })
    })
  }

  it("runs record-level rules once for each record", () => {
    const access = accessOf(ruled("update", run((ctx) => ctx.record["total"] === "1.00")), caller(), open)
    const { update } = access.decisions
    if (update.of !== "record") throw new Error("not record-level")
    expect(update.decide(record).of).toBe("allow")
    expect(update.decide({ ...record, total: "2.00" }).of).toBe("deny")
  })

  it("lets those know of a resource whom a create rule asks for the record", () => {
    const visible = (create: CompiledRule, held: readonly string[]) =>
      accessOf(model({ rules: { read: deny, create } }), caller({ roles: held }), open).visible
    const first = run((rule) => rule.caller.roles.includes("lead") && rule.record["total"] === "1.00")
    const always = run(({ caller: { roles: held }, record: of }) => held.includes("lead") && of["total"] === "1.00")
    expect([["lead"], []].map((held) => visible(first, held))).toEqual([true, false])
    expect([["lead"], []].map((held) => visible(always, held))).toEqual([true, true])
  })

  it("gives the same tree for the same text", () => {
    const of = ruled("read", run(() => where`status = 1`), () => ({ op: "null", field: model().fields[0]! }))
    expect(accessOf(of, caller(), open).rows).toBe(accessOf(of, caller({ id: "u2" }), open).rows)
  })

  it("counts a role only when the caller holds it, and nobody without roles", () => {
    const of = ruled("read", { of: "roles", roles: ["sales"] })
    expect(accessOf(of, caller({ roles: [] }), open).decisions.read.of).toBe("deny")
    expect(accessOf(of, caller({ roles: ["admin"] }), open).decisions.read.of).toBe("deny")
    expect(accessOf(of, caller({ roles: ["a", "sales"] }), open).decisions.read.of).toBe("allow")
  })
})

describe("roles and defaults", () => {
  it.each<[string, AccessDefaults, Decision["of"]]>([
    ["nothing declared", open, "allow"],
    ["allow", { roles: null, defaultAccess: "allow" }, "allow"],
    ["deny", { roles: null, defaultAccess: "deny" }, "deny"],
    ["no role declared", roles({}), "deny"],
    ["role without capability", roles({ sales: [] }), "deny"],
    ["another role's capability", roles({ finance: ["*"] }), "deny"],
    ["everything", roles({ sales: ["*"] }), "allow"],
    ["everything of another resource", roles({ sales: ["customers.*"] }), "deny"],
    ["everything of the resource", roles({ sales: ["orders.*"] }), "allow"],
    ["own", roles({ sales: ["*.own"] }), "filter"],
    ["roles and deny", { ...roles({ sales: ["*"] }), defaultAccess: "deny" }, "allow"],
    ["roles without capability and deny", { ...roles({ sales: [] }), defaultAccess: "deny" }, "deny"],
    ["roles and allow", { ...roles({ sales: ["orders.read.own(id)"] }), defaultAccess: "allow" }, "allow"]
  ])("%s", (_, defaults, of) => {
    const access = accessOf(model(), caller(), defaults)
    for (const operation of operations) expect(access.decisions[operation].of).toBe(of)
    expect(access.visible).toBe(of !== "deny")
    if (of === "allow") expect(names(access)).toEqual(fields.map((field) => field.name))
  })

  it.each(operations)("%s: its own capability and no other", (operation) => {
    for (const text of [`orders.${operation}`, `*.${operation}`]) {
      const access = accessOf(model(), caller(), roles({ sales: [text] }))
      for (const other of operations) expect(access.decisions[other].of).toBe(other === operation ? "allow" : "deny")
      expect(access.visible).toBe(operation === "read" || operation === "create")
    }
  })

  it("limits .own to the owner, and grants nothing where there is none", () => {
    const of = model()
    const access = accessOf(of, caller(), roles({ sales: ["*.own"] }))
    expect(access.decisions.update).toEqual({ of: "filter", tree: owned(of) })
    expect(access.rows).toEqual(owned(of))
    expect(access.createOwn).toBe(true)
    expect(accessOf(makeModel({ fields }), caller(), roles({ sales: ["*.own"] })).visible).toBe(false)
  })

  it("unites own and all to all", () => {
    const access = accessOf(model(), caller({ roles: ["a", "b"] }), roles({ a: ["*.own"], b: ["orders.*"] }))
    for (const operation of operations) expect(access.decisions[operation].of).toBe("allow")
    expect(access.createOwn).toBe(false)
  })

  it.each<[string, readonly string[], "own" | "all", readonly string[]]>([
    ["lists unite", ["orders.read(id)", "orders.read(status,id)"], "all", ["id", "status"]],
    ["a list and none is none", ["orders.read(id)", "orders.read"], "all", fields.map((field) => field.name)],
    ["own lists unite", ["orders.read.own(id)", "orders.read.own(note)"], "own", ["id", "note"]],
    ["all fields of own rows never show for all rows", ["orders.read.own", "orders.read(id,status)"], "all", [
      "id",
      "status"
    ]],
    ["in whatever order", ["orders.read(id,status)", "orders.read.own"], "all", ["id", "status"]],
    ["nor listed ones", ["orders.read.own(total)", "orders.read(id)", "orders.read.own(note)"], "all", ["id"]],
    ["through wildcards alike", ["*.own", "*.read(id)"], "all", ["id"]],
    ["unknown names mean nothing", ["*.read(id,elsewhere)"], "all", ["id"]]
  ])("%s", (_, texts, rows, readable) => {
    const of = model()
    const access = accessOf(of, caller(), roles({ sales: texts }))
    expect(names(access)).toEqual(readable)
    expect(access.rows).toEqual(rows === "all" ? { op: "true" } : owned(of))
    for (const field of access.restricted.creatable) expect(readable).toContain(field)
  })

  it("limits the fields of create and update apart from those read", () => {
    const access = accessOf(
      model(),
      caller(),
      roles({ sales: ["orders.read(id,status,total)", "orders.create(status,note)", "orders.update(total)"] })
    )
    expect(names(access)).toEqual(["id", "status", "total"])
    expect([...access.restricted.creatable]).toEqual(["status"])
    expect([...access.restricted.updatable]).toEqual(["total"])
  })

  it("never gives delete with a list of fields", () => {
    const access = accessOf(model(), caller(), roles({ sales: ["*(id,status)", "orders.*(id)"] }))
    expect(operations.map((operation) => access.decisions[operation].of)).toEqual(["allow", "allow", "allow", "deny"])
  })

  it.each<[string, readonly string[], readonly Decision["of"][]]>([
    ["of another resource's fields", ["*(elsewhere)"], ["deny", "deny", "deny", "deny"]],
    ["of fields that nobody writes", ["*(id)"], ["allow", "deny", "deny", "deny"]],
    ["beside one that gives own rows", ["*.read(elsewhere)", "orders.*.own"], ["filter", "filter", "filter", "filter"]]
  ])("gives nothing by a list %s", (_, texts, of) => {
    const access = accessOf(model(), caller(), roles({ sales: texts }))
    expect(operations.map((operation) => access.decisions[operation].of)).toEqual(of)
    expect(access.visible).toBe(of[0] !== "deny")
    expect(names(access)).toEqual(of[0] === "deny" ? [] : of[0] === "allow" ? ["id"] : fields.map(({ name }) => name))
  })

  it("recognises a create limited to own rows by rule", () => {
    const of = model()
    const create = (tree: FilterTree) =>
      accessOf(makeModel({ fields, owner: "owner_id", rules: { create: { of: "filter", tree } } }), caller(), open)
        .createOwn
    expect(create(owned(of))).toBe(true)
    expect(create({ op: "and", items: [aTree, owned(of)] })).toBe(true)
    expect(create({ op: "or", items: [aTree, owned(of)] })).toBe(false)
    expect(create({ op: "not", item: owned(of) })).toBe(false)
    expect(create(aTree)).toBe(false)
    // Another field that holds the caller, the owner field with another value, and the caller's tenant are not own rows.
    const compare = (field: Field, value: Operand): FilterTree => ({ op: "compare", field, is: "=", value })
    expect(create(compare(of.byName.get("status")!, { of: "caller", value: "id" }))).toBe(false)
    expect(create(compare(of.owner!, { of: "literal", text: "u1" }))).toBe(false)
    expect(create(compare(of.owner!, { of: "caller", value: "tenant" }))).toBe(false)
  })
})

describe("fields", () => {
  const withFields = (rules: NonNullable<ModelParts["rules"]>["fields"], parts: Partial<ModelParts> = {}) =>
    model({ ...parts, rules: { fields: rules ?? {}, check: checkTexts } })

  it.each(ruleRows)("read: $name", (row) => {
    const access = accessOf(withFields({ total: { read: row.rule as CompiledRule } }), caller(), open)
    // A filter is no answer for a field, and there is no record to ask.
    expect(access.restricted.byName.has("total")).toBe(row.read === "allow" && !row.name.includes("filter"))
    if (!access.restricted.byName.has("total")) {
      expect(access.restricted.names.has("total")).toBe(false)
      expect(access.restricted.creatable.has("total")).toBe(false)
      expect(access.restricted.updatable.has("total")).toBe(false)
    }
  })

  it.each(ruleRows)("write: $name", (row) => {
    const access = accessOf(withFields({ total: { write: row.rule as CompiledRule } }), caller(), open)
    const constant = row.write === "allow" && !row.name.includes("filter")
    const perRecord = row.write === "record"
    expect(access.restricted.updatable.has("total")).toBe(constant || perRecord)
    expect(access.restricted.creatable.has("total")).toBe(constant || perRecord)
    expect(access.fieldWritable.has("total")).toBe(perRecord)
    if (perRecord) expect(access.fieldWritable.get("total")!(record)).toBe(row.decided === "allow")
    expect(access.restricted.byName.has("total")).toBe(true)
  })

  it("names the fields of a record that its rules keep from being written", () => {
    const of = withFields({ total: { write: run((ctx) => ctx.record["status"] === "draft") } })
    const access = accessOf(of, caller(), open)
    expect(refusedFields(access, ["total", "note"], record)).toEqual([])
    expect(refusedFields(access, ["total", "note"], { ...record, status: "paid" })).toEqual(["total"])
    expect(refusedFields(access, ["note"], { ...record, status: "paid" })).toEqual([])
    expect(refusedFields(accessOf(model(), caller(), open), ["total"], record)).toEqual([])
  })

  it("needs the capability's list and the field's rule both", () => {
    const of = withFields({
      total: { read: { of: "roles", roles: ["sales"] } },
      note: { read: { of: "constant", allow: true } }
    })
    expect(names(accessOf(of, caller(), roles({ sales: ["orders.read(id,total)"] })))).toEqual(["id", "total"])
    expect(names(accessOf(of, caller({ roles: ["x"] }), roles({ x: ["orders.read(id,total)"] })))).toEqual(["id"])
  })

  it("never lets anybody write what the service or the database writes", () => {
    const of = makeModel({
      fields: [
        { name: "code" },
        { name: "id", readOnly: true },
        { name: "tenant_id" },
        { name: "removed", column: "deleted_at" },
        { name: "stamp", column: "updated_at" },
        { name: "again", column: "tenant_id" },
        { name: "code2", column: "code" },
        { name: "note" },
        { name: "hiddenSystem", system: true }
      ],
      key: ["code"],
      tenant: "tenant_id",
      softDelete: "deleted_at",
      version: "updated_at"
    })
    const access = accessOf(of, caller(), open)
    expect([...access.restricted.creatable]).toEqual(["code", "code2", "note"])
    expect([...access.restricted.updatable]).toEqual(["note"])
    expect(access.restricted.byName.has("hiddenSystem")).toBe(false)
  })

  it("offers names and aliases of readable fields", () => {
    const of = makeModel({
      fields: [
        { name: "id", filterable: false, sortable: false },
        { name: "a", alias: "aa", filterable: true, sortable: false, searched: true },
        { name: "b", filterable: false, sortable: true },
        { name: "c", alias: "cc", searched: true }
      ],
      rules: { fields: { c: { read: { of: "constant", allow: false } } } }
    })
    const { restricted } = accessOf(of, caller(), open)
    expect([...restricted.names.keys()]).toEqual(["id", "a", "aa", "b"])
    expect(restricted.searched.map((field) => field.name)).toEqual(["a"])
  })
})

describe("without read", () => {
  it("shows a creator exactly what a create accepts, and nothing to search", () => {
    const of = model({
      fields: [...fields, { name: "extra", searched: true }],
      rules: {
        fields: { note: { read: { of: "constant", allow: false } }, total: { write: { of: "constant", allow: false } } }
      }
    })
    const access = accessOf(of, caller(), roles({ sales: ["orders.create", "orders.update", "orders.delete"] }))
    expect(names(access)).toEqual(["owner_id", "status", "extra"])
    expect([...access.restricted.creatable]).toEqual(["owner_id", "status", "extra"])
    expect(access.restricted.updatable.size).toBe(0)
    expect(access.restricted.names.size).toBe(0)
    expect(access.restricted.searched).toEqual([])
    expect(access.rows).toBe(never)
    expect(access.visible).toBe(true)
    const listed = accessOf(of, caller(), roles({ sales: ["orders.create(status,id)"] }))
    expect(names(listed)).toEqual(["status"])
  })

  it("shows nothing to one who can neither read nor create", () => {
    const access = accessOf(model(), caller(), roles({ sales: ["orders.update", "orders.delete"] }))
    expect(names(access)).toEqual([])
    expect(access).toMatchObject({ visible: false, rows: never })
    expect(accessOf(model(), caller(), roles({ sales: ["customers.*"] })).visible).toBe(false)
  })
})

describe("tenants", () => {
  const of = model({ tenant: "tenant_id" })
  const tenantTree = { op: "compare", field: of.tenant, is: "=", value: { of: "caller", value: "tenant" } }

  it("limits rows to the caller's tenant beside every other limit", () => {
    expect(accessOf(of, caller(), open).rows).toEqual(tenantTree)
    expect(accessOf(of, caller(), roles({ sales: ["*.own"] })).rows).toEqual({
      op: "and",
      items: [tenantTree, owned(of)]
    })
    expect(accessOf(of, caller(), roles({ sales: ["*.create"] })).rows).toBe(never)
    expect(accessOf(of, caller(), open).restricted.byName.has("tenant_id")).toBe(false)
  })

  it("is one object for one shape", () => {
    const access = () => accessOf(of, caller(), roles({ sales: ["*.own"] }))
    expect(access().rows).toBe(access().rows)
    expect(access().decisions.update).toEqual(access().decisions.update)
    expect(access().restricted).toBe(access().restricted)
  })

  it("needs a tenant only where the resource has one", () => {
    const without = caller({ tenant: null })
    expect(accessOf(of, without, open)).toMatchObject({ tenantMissing: true, rows: never, visible: true })
    expect(accessOf(model(), without, open)).toMatchObject({ tenantMissing: false, rows: { op: "true" } })
  })
})

describe("properties of random role sets", () => {
  const of = model()
  const allNames = fields.map((field) => field.name)
  const texts = (random: Random): readonly string[] =>
    random.many(0, 4, () => {
      const what = random.pick([
        ...operations.map((operation) => `orders.${operation}`),
        "customers.read",
        "*.read",
        "orders.*",
        "*"
      ])
      const list = random.some(allNames)
      const named = random.chance(2) && list.length > 0 ? `(${list.join(",")})` : ""
      return `${what}${random.pick(["", "", ".own"])}${named}`
    })
  const grants = (texts: readonly string[], operation: Operation) =>
    texts.map(capability).filter((each) =>
      (each.resource === "*" || each.resource === "orders") &&
      (each.operation === "*" || each.operation === operation) &&
      (each.fields === null || operation === "read" ||
        (operation !== "delete" && each.fields.some((field) => field !== "id")))
    )

  property("shows for each row only fields that some single capability gives for that row", { texts }, { cases: 400 }, (
    { texts }
  ) => {
    const access = accessOf(of, caller(), roles({ sales: texts }))
    for (const operation of operations) {
      const given = grants(texts, operation)
      const decision = access.decisions[operation].of
      expect(decision, operation).toBe(
        given.length === 0 ? "deny" : given.every((each) => each.own) ? "filter" : "allow"
      )
      if (operation === "delete") continue
      const set = operation === "read"
        ? new Set(access.decisions.read.of === "deny" ? [] : names(access))
        : operation === "create"
        ? access.restricted.creatable
        : access.restricted.updatable
      for (const field of set) {
        for (const ownRow of decision === "filter" ? [true] : [true, false]) {
          expect(
            given.some((each) => (ownRow || !each.own) && (each.fields === null || each.fields.includes(field))),
            `${operation} ${field}`
          ).toBe(true)
        }
      }
    }
  })

  property(
    "never loses rows or operations by a further capability, nor gains a denied one by another operation's",
    { texts, more: texts },
    { cases: 400 },
    ({ more, texts }) => {
      const width = { deny: 0, filter: 1, record: 1, allow: 2 }
      const before = accessOf(of, caller(), roles({ sales: texts }))
      const after = accessOf(of, caller({ roles: ["sales", "more"] }), roles({ sales: texts, more }))
      for (const operation of operations) {
        expect(width[after.decisions[operation].of], operation).toBeGreaterThanOrEqual(
          width[before.decisions[operation].of]
        )
        if (grants([...texts, ...more], operation).length === 0) {
          expect(after.decisions[operation].of, operation).toBe("deny")
        }
      }
      expect(after.visible || !before.visible).toBe(true)
    }
  )

  property("does not depend on the order of roles or capabilities", { texts, more: texts }, { cases: 500 }, (
    { more, texts }
  ) => {
    const one = accessOf(of, caller({ roles: ["a", "b"] }), roles({ a: texts, b: more }))
    const two = accessOf(
      of,
      caller({ roles: ["b", "a", "a"] }),
      roles({ b: [...more].reverse(), a: [...texts].reverse() })
    )
    expect(two.restricted).toBe(one.restricted)
    expect(two.decisions).toEqual(one.decisions)
  })
})

describe("makeAccessResolver", () => {
  const plain = model({ name: "orders", tenant: "tenant_id" })
  const dynamic = model({ name: "notes", rules: { read: run((ctx) => ctx.caller.id === "u1") } })
  const resolver = resolverOf(
    new Map([["orders", plain], ["notes", dynamic]]),
    roles({ sales: ["orders.*.own"], "a": ["*"], "b": [], "a,b": [] })
  )

  it("knows no absent and no invisible resource", () => {
    expect(resolver.resolve(caller(), "nothing")).toBeNull()
    expect(resolver.resolve(caller({ roles: [] }), "orders")).toBeNull()
    expect(resolver.resolve(caller({ roles: [] }), "orders")).toBeNull()
  })

  it("equals resolveAccess and shares everything but the caller", () => {
    const first = resolver.resolve(caller(), "orders")!
    const second = resolver.resolve(caller({ id: "u2", tenant: "t2", roles: ["sales", "sales"] }), "orders")!
    expect(second).toEqual({ ...first, caller: second.caller })
    expect(second.caller.id).toBe("u2")
    expect(second.restricted).toBe(first.restricted)
    expect(second.rows).toBe(first.rows)
    expect(first).toEqual(accessOf(plain, caller(), roles({ sales: ["orders.*.own"] })))
  })

  it("keeps callers without a tenant apart", () => {
    expect(resolver.resolve(caller(), "orders")!.tenantMissing).toBe(false)
    expect(resolver.resolve(caller({ tenant: null }), "orders")).toMatchObject({ tenantMissing: true, rows: never })
    expect(resolver.resolve(caller(), "orders")!.tenantMissing).toBe(false)
  })

  it("knows no resource without rules of its own", () => {
    const of = makeAccessResolver(new Map([["orders", plain]]), new Map(), open)
    expect(of.resolve(caller(), "orders")).toBeNull()
  })

  it("asks functions every time", () => {
    expect(resolver.resolve(caller(), "notes")).not.toBeNull()
    expect(resolver.resolve(caller({ id: "u2" }), "notes")).toBeNull()
    expect(resolver.resolve(caller(), "notes")).not.toBeNull()
  })

  it("gives equal decisions as the same objects, so that shapes made from them can be kept", () => {
    const rules = {
      read: run(() => where`status = "draft"`),
      update: run(({ record: stored }) => stored["id"] === "1"),
      delete: { of: "filter", tree: aTree } as const,
      fields: { note: { write: run(({ record: stored }) => stored["id"] === "1") } },
      check: checkTexts
    }
    const of = model({ tenant: "tenant_id", rules })
    const functions = resolverOf(new Map([["orders", of]]), roles({ sales: ["*.own"] }))
    const who = caller()
    const [first, second] = [functions.resolve(who, "orders")!, functions.resolve(who, "orders")!]
    for (const operation of operations) expect(second.decisions[operation]).toBe(first.decisions[operation])
    expect(second.rows).toBe(first.rows)
    expect(second.restricted).toBe(first.restricted)
    expect(second.fieldWritable).toBe(first.fieldWritable)
    // Another caller shares all but what asks for the record, which is bound to the caller.
    const other = functions.resolve(caller({ id: "u2" }), "orders")!
    expect(other.rows).toBe(first.rows)
    expect(other.decisions.create).toBe(first.decisions.create)
    expect(other.decisions.update).not.toBe(first.decisions.update)
    expect(other.fieldWritable).not.toBe(first.fieldWritable)
  })

  it("asks rule functions every time, and goes by what they say now", () => {
    const says: { read: boolean; total: boolean; update: RuleAnswer } = { read: true, total: true, update: true }
    const of = model({
      rules: {
        read: run(() => says.read),
        update: run(() => says.update),
        fields: { total: { read: run(() => says.total) } },
        check: checkTexts
      }
    })
    const asking = resolverOf(new Map([["orders", of]]), open)
    const who = caller()
    const resolve = () => asking.resolve(who, "orders")
    const first = resolve()!
    expect(resolve()).toBe(first)
    says.total = false
    expect(resolve()!.restricted.byName.has("total")).toBe(false)
    says.total = true
    expect(resolve()!.restricted).toBe(first.restricted)
    says.update = where`status = "paid"`
    expect(resolve()!.decisions.update.of).toBe("filter")
    says.update = false
    expect(resolve()!.decisions.update.of).toBe("deny")
    says.read = false
    expect(resolve()!.decisions.read.of).toBe("deny")
    expect(resolve()!.restricted.names.size).toBe(0)
    says.read = true
    says.update = true
    expect(resolve()).toEqual(first)
  })

  it("goes by what each of several field rules says now", () => {
    const says = { total: true, note: true }
    const total = { read: run(() => says.total), write: null }
    const note = { read: run(() => says.note), write: null }
    const asking = resolverOf(new Map([["orders", model({ rules: { fields: { total, note } } })]]), open)
    const who = caller()
    const shown = () => names(asking.resolve(who, "orders")!).slice(3)
    expect(shown()).toEqual(["total", "note"])
    says.note = false
    expect(shown()).toEqual(["total"])
    says.note = true
    expect(shown()).toEqual(["total", "note"])
    says.total = false
    expect(shown()).toEqual(["note"])
  })

  it("takes no role name for two roles", () => {
    expect(resolver.resolve(caller({ roles: ["a", "b"] }), "orders")).not.toBeNull()
    expect(resolver.resolve(caller({ roles: ["a,b"] }), "orders")).toBeNull()
    const odd = ["a,b", "a\",\"b", "a", ""]
    const keys = new Set<string>()
    for (const x of [...odd.map((role) => [role]), ["a", "b"], [], ["a", ""]]) keys.add(rolesKey(caller({ roles: x })))
    expect(keys.size).toBe(7)
  })

  it("stays bounded, whatever roles come", () => {
    for (let i = 0; i < 3_000; i++) expect(resolver.resolve(caller({ roles: [`r${i}`] }), "orders")).toBeNull()
    expect(resolver.resolve(caller(), "orders")).not.toBeNull()
  })
})

describe("rule answers", () => {
  it("leaves no rejected promise behind", async () => {
    const rejections: unknown[] = []
    const listen = (reason: unknown): void => void rejections.push(reason)
    process.on("unhandledRejection", listen)
    const rule = run(async ({ record: stored }) => stored["id"] === "1")
    const access = accessOf(ruled("update", rule), caller(), open)
    const { update } = access.decisions
    if (update.of === "record") update.decide(record)
    accessOf(ruled("read", run(() => Promise.reject(new Error("late")))), caller(), open)
    await new Promise((resolve) => setImmediate(resolve))
    await new Promise((resolve) => setImmediate(resolve))
    process.off("unhandledRejection", listen)
    expect(rejections).toEqual([])
  })

  it("is typed", () => {
    const rule: RuleFunction = ({ caller: who }): boolean | Where => who.roles.includes("x") || where`status = "draft"`
    expect(accessOf(ruled("read", { of: "function", run: rule }, checkTexts), caller(), open).decisions.read.of)
      .toBe("filter")
  })
})
