/**
 * The OpenAPI document against the official JSON Schema of OpenAPI 3.1, and real answers of the presenters against the document. The validator
 * package carries the schemas; nothing is downloaded.
 */

import { Validator } from "@seriousme/openapi-schema-validator"
import * as Result from "effect/Result"
import { describe, expect, it } from "vitest"
import { compileOrThrow } from "../../composition/create-admin.ts"
import type { Access } from "../../core/domain/access/access.ts"
import { defineConfig } from "../../core/domain/declare/config.ts"
import { f } from "../../core/domain/declare/field.ts"
import { history } from "../../core/domain/declare/history.ts"
import { defineResource } from "../../core/domain/declare/resource.ts"
import { metaDocument } from "../../core/domain/meta/meta.ts"
import { openapiDocument, openapiName } from "../../core/domain/meta/openapi.ts"
import type { Field } from "../../core/domain/model/model.ts"
import { elementField, facetField } from "../../core/domain/model/model.ts"
import { problem, problemDocument } from "../../core/domain/problem.ts"
import { facetsJson, histogramJson, seriesJson } from "../../core/domain/read/aggregate.ts"
import { itemWriter, layoutOf } from "../../core/domain/read/item.ts"
import { cellFromJson, wireFromCell } from "../../core/domain/value/cell.ts"
import type { Cell, Json } from "../../core/domain/value/kind.ts"
import { makeModel } from "../support/model.ts"
import { callerOf, documentOf, everyKind, open, requestOf, rolesOf, shop, shopRoles } from "../support/openapi.ts"
import { checker } from "../support/schema.ts"

const documents = [
  ...[...shopRoles.roles!.keys()].map((role) => [role, documentOf(requestOf(callerOf(role)))] as const),
  [
    "admin, with everything to sign in with",
    documentOf(
      requestOf(callerOf("admin"), shopRoles, shop, { signIn: { twoFactor: true, passkeys: true, mails: null } })
    )
  ] as const
]

describe("the document", () => {
  it.each([...documents, ["nobody", documentOf(requestOf(callerOf()))] as const])(
    "of %s is OpenAPI 3.1",
    async (_, doc) => {
      const validator = new Validator()
      expect(await validator.validate(JSON.parse(JSON.stringify(doc)) as Record<string, unknown>)).toEqual({
        valid: true
      })
      expect(validator.version).toBe("3.1")
    }
  )

  it("has a name that is another one wherever the document is", () => {
    const declared: ReadonlyArray<readonly [string, readonly string[]]> = [
      ["admin", ["*"]],
      ["everything", ["*"]],
      ["reader", ["orders.read"]],
      ["lister", ["orders.read", "lines.read"]],
      ["few", ["orders.read(id,status)"]],
      ["own", ["orders.read.own"]],
      ["maker", ["orders.read", "orders.create"]],
      ["ownMaker", ["orders.read", "orders.create.own"]],
      ["blindMaker", ["orders.create"]],
      ["partMaker", ["orders.read", "orders.create(owner_id,customer_id,total)"]],
      ["ownPartMaker", ["orders.read", "orders.create.own(owner_id,customer_id,total)"]],
      ["editor", ["orders.read", "orders.update"]],
      ["ownEditor", ["orders.read", "orders.update.own"]],
      ["noteEditor", ["orders.read", "orders.update(note)"]],
      ["remover", ["orders.read", "orders.delete"]],
      ["nobody", []]
    ]
    const defaults = rolesOf(Object.fromEntries(declared))
    const requests = declared.map(([role]) => requestOf(callerOf(role), defaults))
    // Which rows a create is limited to is decided by rules as well, for the same fields and permissions.
    const maker = requestOf(callerOf("partMaker"), defaults)
    const resolve = (name: string): Access | null => {
      const access = maker.resolve(name)
      return access === null ? null : { ...access, createOwn: true }
    }
    const found = [...requests, { ...maker, resolve }].map((request) =>
      [JSON.stringify(openapiDocument(request)), openapiName(request)] as const
    )
    expect(new Set(found.map(([text]) => text)).size).toBeGreaterThanOrEqual(declared.length - 3)
    for (const [text, name] of found) {
      for (const [other, itsName] of found) if (text !== other) expect(itsName).not.toBe(name)
    }
    const [someone, else_] = ["u1", "u2"].map((id) =>
      openapiName(requestOf({ id, roles: ["editor"], tenant: "3" }, defaults))
    )
    expect(else_).toBe(someone)
  })

  it("is refused by the validator when it is wrong", async () => {
    const broken = { ...documentOf(requestOf(callerOf("admin"))), info: {} }
    expect((await new Validator().validate(broken as unknown as Record<string, unknown>)).valid).toBe(false)
  })

  it.each(documents)("of %s has components for all references and no others", (_, doc) => {
    const text = JSON.stringify(doc)
    const wanted = new Set([...text.matchAll(/"\$ref":"#\/components\/([^"]+)"/g)].map((match) => match[1]!))
    const { securitySchemes: _schemes, ...components } = doc.components
    const had = Object.entries(components).flatMap(([kind, items]) =>
      Object.keys(items).map((name) => `${kind}/${name}`)
    )
    expect([...wanted].sort()).toEqual(had.sort())
  })

  it.each(documents)("of %s has examples that its schemas accept", (_, doc) => {
    const { check } = checker(doc, false)
    for (const [name, { examples }] of Object.entries(doc.components.schemas)) {
      for (const example of examples ?? []) check(`/components/schemas/${name}`, example)
    }
    for (const [name, { schema }] of Object.entries(doc.components.parameters)) {
      for (const example of schema.examples ?? []) check(`/components/parameters/${name}/schema`, example)
    }
  })
})

const cells: { readonly [kind in Field["kind"]]: string } = {
  integer: "32767",
  text: "ab",
  boolean: "false",
  timestamp: "2026-01-31T09:30:00.123456Z",
  date: "2026-01-31",
  decimal: "0.5",
  float: "-1e-7",
  enum: "paid",
  uuid: "123e4567-e89b-42d3-a456-426614174000",
  json: "[1,{\"a\":null}]",
  currency: "NOK",
  country: "DE",
  time: "09:30:00.5",
  interval: "P1Y2M-3DT4H",
  inet: "2001:db8::1/64",
  cidr: "10.0.0.0/8",
  macaddr: "08:00:2b:01:02:03",
  bytes: "aGVsbG8=",
  money: "-12.50",
  range: "[1,10)",
  native: "(1,2)",
  list: "[\"a\"]"
}

const cellFor = (field: Field): Cell =>
  field.kind === "list" && !field.optional
    ? JSON.stringify([wireFromCell(field.of, cellFor(elementField(field)))])
    : field.optional
    ? null
    : field.name === "pieces"
    ? "9"
    : field.name === "rounded"
    ? "1200"
    : cells[field.kind]

const bindings = { caller: callerOf("admin"), now: 0n, params: [] }

const written = (
  access: Access,
  permissions: "none" | "row" | "full",
  cellOf: (field: Field) => Cell = cellFor
): Json => {
  const shown = { fields: access.restricted.fields, permissions }
  const layout = layoutOf(access, shown, [])
  const write = itemWriter(access, shown, layout, { digest: () => "0123456789abcdef", hash: () => "", files: null })
  return JSON.parse(
    `${write([...layout.columns.map((field) => field.system ? null : cellOf(field)), "true", "true"], bindings).open}}`
  ) as Json
}

describe("answers", () => {
  const request = requestOf(callerOf("admin"))
  const doc = documentOf(request)
  const { check, refuse } = checker(doc)
  const page = (more: object) => ({ next_page_token: "", ...more })

  it.each(["orders", "customers", "lines", "kinds"])("with records of %s are as described", (name) => {
    const access = request.resolve(name)!
    const listed = written(access, "row")
    check(
      `/components/schemas/${name}.List`,
      page({ items: [listed], total_size_estimate: 1, total_size_accuracy: "exact" })
    )
    check(
      `/components/schemas/${name}.List`,
      page({ items: [], total_size_estimate: 0, total_size_accuracy: "counting", total_size: 0, prev_page_token: "x" })
    )
    check(`/components/schemas/${name}.Page`, page({ items: [written(access, "none")], prev_page_token: "" }))
    check(`/components/schemas/${name}`, written(access, "full"))
    check(`/components/schemas/${name}`, { etag: "\"x\"" })
    check(`/components/schemas/${name}.Written`, written(access, "none"))
    refuse(`/components/schemas/${name}.Written`, { etag: "\"x\"" })
    refuse(`/components/schemas/${name}`, { ...listed as object, surprise: 1 })
  })

  it("carry every value that a kind can have", () => {
    const access = request.resolve("kinds")!
    const field = (name: string) => access.model.byName.get(name)!
    const extremes: ReadonlyArray<readonly [string, string]> = [
      ["small", "-32768"],
      ["medium", "2147483647"],
      ["large", "-9223372036854775808"],
      ["ratio", "NaN"],
      ["ratio", "-Infinity"],
      ["price", "-9999999999.99"],
      ["share", "0.001"],
      ["exact", "123456789012345678901234567890.5"],
      ["exact", "-Infinity"],
      ["price", "NaN"],
      ["share", "-0.001"],
      ["extra", "null"],
      ["words", "\u0007 \"quoted\" 𝄞"],
      ["short", "𝄞𝄞"],
      ["tags", "[]"],
      ["marks", "[\"1.50\",null]"],
      ["sizes", "[\"-9223372036854775808\"]"]
    ]
    for (const [name, cell] of extremes) {
      check("/components/schemas/kinds", written(access, "none", (each) => each === field(name) ? cell : cellFor(each)))
    }
  })

  it("with expanded records are as described", () => {
    const order = written(request.resolve("orders")!, "row") as { readonly [member: string]: Json }
    const customer = written(request.resolve("customers")!, "none")
    const line = written(request.resolve("lines")!, "none") as { readonly [member: string]: Json }
    check("/components/schemas/orders", {
      ...order,
      expand: { customer, lines: [{ ...line, expand: { order: null } }] }
    })
    check("/components/schemas/orders", { ...order, expand: { customer: null } })
    check("/components/schemas/orders", { ...order, expand: { lines: { items: [line], more: true } } })
    check("/components/schemas/orders", { ...order, expand: { lines: { count: 3 } } })
    refuse("/components/schemas/orders", { ...order, expand: { lines: { items: [line] } } })
    refuse("/components/schemas/orders", { ...order, expand: { margin: 1 } })
  })

  it("of aggregates are as described", () => {
    const at = (name: string) => `/components/responses/${name}/content/application~1json/schema`
    const model = makeModel({ fields: everyKind })
    for (const field of model.fields) {
      check(at("Facets"), JSON.parse(facetsJson(field, [[cellFor(facetField(field)), "3"], [null, "1"]])))
      const sums = [[cellFor(facetField(field)), "3", "1.5"], [null, "1", null]]
      check(at("Facets"), JSON.parse(facetsJson(field, sums, { of: "sum", field: model.byName.get("small")! })))
    }
    for (const name of ["small", "large", "price", "ratio"]) {
      const field = model.byName.get(name)!
      check(at("Histogram"), JSON.parse(histogramJson(field, ["1", "9", "2", "3"], 2)))
      check(at("Histogram"), JSON.parse(histogramJson(field, undefined, 2)))
    }
    const field = model.byName.get("made_at")!
    const price = model.byName.get("price")!
    check(at("Series"), JSON.parse(seriesJson(field, "day", "UTC", { of: "count" }, [["2026-01-01T00:00:00Z", "4"]])))
    check(
      at("Series"),
      JSON.parse(seriesJson(field, "week", "Europe/Oslo", { of: "sum", field: price }, [
        ["2026-01-01T00:00:00Z", "12345678901234567890.12"],
        ["2026-01-08T00:00:00Z", null]
      ]))
    )
  })

  it("of batches, meta and refusals are as described", () => {
    const record = written(request.resolve("orders")!, "none")
    check("/components/schemas/BatchWrite.Results", {
      results: [{ record, etag: "\"1\"" }, { deleted: true }, { etag: "\"2\"" }, {}, {
        records: [{ key: "1", etag: "\"1\"" }]
      }]
    })
    const meta = metaDocument({
      caller: request.caller,
      models: shop,
      views: [],
      userMenu: [],
      pages: [],
      sources: [],
      resolve: request.resolve
    })
    const described = "/paths/~1api~1meta/get/responses/200/content/application~1json/schema"
    check(described, meta)
    const [model] = meta.models
    refuse(described, { ...meta, models: [{ ...model, surprise: 1 }] })
    refuse(described, { ...meta, models: [{ ...model, fields: [{ ...model!.fields[0], kind: "number" }] }] })
    const refusal = problem("precondition-failed", "Stale.", {
      etag: "\"2\"",
      changed: ["note"],
      operation: 1,
      op: "update",
      resource: "orders",
      parameter: "filter",
      suggestion: "create index",
      outcome: "unknown",
      code: "LAST_ADMIN",
      errors: [{
        code: "syntax",
        message: "No.",
        hint: "Yes.",
        span: { start: 0, end: 1 },
        parameter: "filter",
        field: "note"
      }]
    })
    check("/components/schemas/ProblemDetails", problemDocument(refusal, "/api/v1/orders/1"))
    check("/components/schemas/ProblemDetails", problemDocument(problem("not-found", "No."), "/x"))
  })

  it("with versions are as described, whatever was allowed when they were kept", () => {
    const tracked = defineResource("papers", {
      primaryKey: "id",
      fields: {
        id: f.integer(),
        title: f.text().max(5),
        state: f.enum(["final"]),
        price: f.decimal({ precision: 3, scale: 1 })
      }
    })
    const { models, rules } = compileOrThrow(
      defineConfig({ resources: [tracked], extends: [history({ resources: ["papers"] })] })
    )
    const ruled = new Map([...models].map(([name, model]) => [name, { ...model, rules: rules.get(name)! }]))
    const versions = documentOf(requestOf(callerOf("admin"), open, ruled))
    const then = checker(versions)
    const kept = { title: "longer than today", state: "draft", price: "1234.56", etag: "\"x\"" }
    then.check("/components/schemas/papers_history", { ...kept, history_operation: "update" })
    then.refuse("/components/schemas/papers_history", { ...kept, history_operation: "merge" })
    expect(versions.components.schemas["papers_history.Relation"]).toEqual({ type: "string", enum: ["history_by"] })
    expect(versions.components.schemas["papers.Relation"]).toBeUndefined()
    for (const history_by of [{ name: "Mira" }, null]) {
      then.check("/components/schemas/papers_history", { ...kept, expand: { history_by } })
    }
    then.refuse("/components/schemas/papers_history", { ...kept, expand: { history_by: "Mira" } })
    for (const [name, value] of Object.entries(kept).slice(0, 3)) {
      then.refuse("/components/schemas/papers", { [name]: value, etag: "\"x\"" })
    }
  })

  it("bodies of all forms that the service takes are as described", () => {
    for (const data of [{ id: "1", title: "x" }, { id: 1, title: "x" }]) {
      check("/components/schemas/customers.Create", data)
    }
    for (const total of ["12.5", 12.5, "-1"]) {
      check("/components/schemas/orders.Create", { customer_id: 1, owner_id: "u", total, margin: null })
    }
    check("/components/schemas/orders.Update", {})
    check("/components/schemas/BatchWrite", {
      ops: [
        { op: "create", resource: "orders", data: {}, ref: "a" },
        {
          op: "update",
          resource: "orders",
          key: { $ref: "a" },
          etag: "*",
          data: { note: { $ref: "a", field: "total" } }
        },
        { op: "delete", resource: "lines", key: [{ $ref: "a" }, 1] },
        { op: "delete", resource: "lines", key: "1,2", etag: "\"x\"" },
        { op: "reorder", resource: "orders", field: "position", keys: [1, "2"], etags: { "1": "\"x\"" } }
      ]
    })
    for (const [name, bad] of [["share", "1.5"], ["price", "NaN"], ["pieces", "12"]] as const) {
      refuse("/components/schemas/kinds.Update", { [name]: bad })
    }
    for (const bad of [{ op: "merge", resource: "orders" }, { op: "create", resource: "nothing", data: {} }]) {
      refuse("/components/schemas/BatchWrite", { ops: [bad] })
    }
    refuse("/components/schemas/orders.Create", { id: "1", customer_id: 1, owner_id: "u", total: "1" })
    refuse("/components/schemas/orders.Create", { owner_id: "u", total: "1" })
  })

  it("of bodies take of each kind what the service takes, and nothing else", () => {
    const nines = (digits: number) => "9".repeat(digits)
    const values: readonly Json[] = ([
      [null, true, {}, [null], 0, 1, -1, 0.5, 9.5, 1e3, 32_767, 32_768, -32_769, 2 ** 31, -(2 ** 31) - 1],
      [2 ** 53 - 1, 2 ** 53, -(2 ** 53), 1e10, 9_999_999_999.99, 1e300, 1e9, 10, -10, 0.999],
      ["", "0", "-1", "007", "+1", "1.", ".5", "1e3", " 1", "NaN", "Infinity", "0.5", "0.50000", "1.000", "-0.125"],
      ["0000000000000000000000000001", "-00001.50", nines(6), nines(11), nines(20), nines(40), `${nines(10)}.99`],
      ["text", "a", "😀😀", "😀😀😀", "draft", "paid", "Paid", "EUR", "eur", "NO", "no"],
      ["2026-01-31", "2026-02-30", "2026-01-31T09:30:00Z", "2026-01-31T09:30:00.123456+01:00"],
      ["2026-01-31T09:30:00", "2026-01-31 09:30", "123E4567-E89B-42D3-A456-426614174000", "123e4567"]
    ] satisfies readonly (readonly Json[])[]).flat()
    const fields = request.resolve("kinds")!.restricted.fields.filter(({ name }) => name !== "id")
    for (const field of fields) {
      for (const value of values) {
        const body = { [field.name]: value }
        // How many digits a number has after the point is not told, as binary fractions divide badly.
        const decimal = field.kind === "decimal" || field.kind === "money"
        if (decimal && typeof value === "number" && !Number.isInteger(value)) continue
        // Nor how large the number of a text with an exponent is.
        const large = decimal && typeof value === "string" && /^\d+e\d+$/.test(value)
        if (large && Result.isFailure(cellFromJson(field, value))) continue
        // Of digits in a text the schema tells the count, not the largest.
        const near = field.kind === "integer" && typeof value === "string" && /^-?[0-9]+$/.test(value) &&
          value.replace(/^-?0*/, "").length <= { 16: 5, 32: 10, 64: 19 }[field.bits]
        if (near || (field.name.startsWith("rounded") && Number(value) !== 0)) continue
        const accepts = Result.isSuccess(cellFromJson(field, value))
        ;(accepts ? check : refuse)("/components/schemas/kinds.Update", body)
      }
    }
    const keyed = documentOf(
      requestOf(callerOf("admin"), open, new Map([["names", makeModel({ name: "names", fields: [{ name: "id" }] })]]))
    )
    checker(keyed).refuse("/components/schemas/names.Create", { id: "" })
  })

  it("tell the bounds of parameters and the headers of refusals", () => {
    for (const name of ["orders", "customers"]) {
      const { schema } = doc.components.parameters[`${name}.expand`]!
      expect([name, (schema as { readonly maxItems?: number }).maxItems]).toEqual([name, 10])
    }
    for (const path of ["customer", "customer.account", "lines(count)", "lines.order.customer.account"]) {
      check("/components/parameters/orders.expand/schema", [path])
    }
    refuse("/components/parameters/orders.expand/schema", ["nope"])
    check("/components/parameters/orders.fields/schema", ["id", "customer.name"])
    refuse("/components/parameters/orders.fields/schema", ["nope"])
    check("/components/parameters/position/schema", Number.MAX_SAFE_INTEGER)
    for (const status of ["415", "default"]) {
      const { headers } = doc.components.responses[status] as { readonly headers?: object }
      expect(Object.keys(headers ?? {})).toContain("Accept-Encoding")
    }
  })

  it("is the same text for the same request", () => {
    expect(JSON.stringify(openapiDocument(request))).toBe(JSON.stringify(openapiDocument(requestOf(callerOf("admin")))))
  })
})
