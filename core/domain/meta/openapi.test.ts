import * as Result from "effect/Result"
import { describe, expect, it } from "vitest"
import { resolverOf } from "../../../test/support/access.ts"
import { makeModel, type RuledModel } from "../../../test/support/model.ts"
import {
  callerOf,
  documentOf,
  everyKind,
  open,
  operationsOf,
  parametersOf,
  requestOf,
  rolesOf,
  shop
} from "../../../test/support/openapi.ts"
import type { Access } from "../access/access.ts"
import { readFilter, readOrder } from "../filter/read.ts"
import { type Problem, problemKinds } from "../problem.ts"
import { measurable, readGroups } from "../read/group.ts"
import {
  exportRequest,
  facetsRequest,
  getRequest,
  groupsBodyRequest,
  groupsRequest,
  histogramRequest,
  listRequest,
  searchRequest,
  seekRequest,
  seriesRequest
} from "../read/request.ts"
import { cellFromJson, wireFromCell } from "../value/cell.ts"
import { granularities } from "../value/instant.ts"
import type { Json } from "../value/kind.ts"
import { readBatch } from "../write/batch.ts"
import { readCreate, readPatch } from "../write/body.ts"
import { exampleOf } from "./openapi-schema.ts"
import { openapiDocument } from "./openapi.ts"

const admin = documentOf(requestOf(callerOf("admin")))
const ats = (doc: ReturnType<typeof documentOf>, text: string): readonly string[] =>
  operationsOf(doc).map(([at]) => at).filter((at) => at.includes(text)).sort()

describe("openapiDocument", () => {
  it("has every route for one who may do everything", () => {
    expect(ats(admin, "/orders")).toEqual([
      "DELETE /api/v1/orders",
      "DELETE /api/v1/orders/{key}",
      "GET /api/v1/orders",
      "GET /api/v1/orders/{key}",
      "GET /api/v1/orders:aggregate",
      "GET /api/v1/orders:export",
      "GET /api/v1/orders:facets",
      "GET /api/v1/orders:histogram",
      "GET /api/v1/orders:seek",
      "GET /api/v1/orders:series",
      "PATCH /api/v1/orders",
      "PATCH /api/v1/orders/{key}",
      "POST /api/v1/orders",
      "POST /api/v1/orders/{key}:undelete",
      "POST /api/v1/orders:aggregate",
      "POST /api/v1/orders:search"
    ])
    expect(operationsOf(admin).map(([at]) => at).filter((at) => !at.includes("/api/v1/")).sort()).toEqual([
      "DELETE /api/saved-views/{id}",
      "GET /api/audit",
      "GET /api/auth/admin/roles",
      "GET /api/auth/api-keys/list",
      "GET /api/auth/jwks",
      "GET /api/auth/status",
      "GET /api/auth/token",
      "GET /api/meta",
      "GET /api/openapi.json",
      "GET /api/saved-views",
      "GET /api/sizes",
      "PATCH /api/saved-views/{id}",
      "POST /api/auth/admin/create-user",
      "POST /api/auth/admin/invited",
      "POST /api/auth/api-keys/create",
      "POST /api/auth/api-keys/revoke",
      "POST /api/auth/sign-in/email",
      "POST /api/auth/sign-out",
      "POST /api/saved-views",
      "POST /api/v1:batchWrite"
    ])
    expect(ats(admin, "/customers").some((at) => at.endsWith(":undelete"))).toBe(false)
    const ids = operationsOf(admin).map(([, operation]) => operation.operationId)
    expect(new Set(ids).size).toBe(ids.length)
    expect(admin).toMatchObject({
      openapi: "3.1.0",
      info: { title: "Shop", version: "1.2.3" },
      servers: [{ url: "http://localhost:5173" }],
      security: [{ bearer: [] }],
      components: { securitySchemes: { bearer: { type: "http", scheme: "bearer" } } }
    })
  })

  it("leaves out what the decisions deny", () => {
    const clerk = documentOf(requestOf(callerOf("clerk")))
    // A delete is decided by the record, whatever the roles are.
    expect(ats(clerk, "/orders").filter((at) => !at.startsWith("GET"))).toEqual([
      "DELETE /api/v1/orders",
      "DELETE /api/v1/orders/{key}",
      "PATCH /api/v1/orders",
      "PATCH /api/v1/orders/{key}",
      "POST /api/v1/orders/{key}:undelete",
      "POST /api/v1/orders:aggregate",
      "POST /api/v1/orders:search"
    ])
    expect(Object.keys(clerk.components.schemas["orders"]!.properties!)).toEqual([
      "id",
      "status",
      "note",
      "etag",
      "permissions"
    ])
    expect(Object.keys(clerk.components.schemas["orders.Update"]!.properties!)).toEqual(["note"])
    expect(Object.keys(clerk.components.schemas).filter((name) => name.startsWith("BatchWrite."))).toEqual([
      "BatchWrite.update",
      "BatchWrite.delete",
      "BatchWrite.Reference",
      "BatchWrite.Key",
      "BatchWrite.Results"
    ])
    // Neither a time nor a number is left, and customers are named by no readable field.
    expect(ats(clerk, ":series").concat(ats(clerk, ":histogram"))).not.toContain("GET /api/v1/orders:series")
    expect(clerk.components.parameters["orders.expand"]).toBeUndefined()
    expect(ats(clerk, "create-user")).toEqual([])

    const maker = documentOf(requestOf(callerOf("maker")))
    expect(ats(maker, "/api/v1")).toEqual(["POST /api/v1/orders", "POST /api/v1:batchWrite"])
    expect(maker.components.schemas["orders"]).toBeUndefined()
    expect(maker.components.responses["orders.Created"]).not.toHaveProperty("content")

    const nobody = documentOf(requestOf(callerOf()))
    expect(ats(nobody, "/api/v1")).toEqual([])
    expect(nobody.tags.map((tag) => tag.name)).toEqual(["system", "sign-in"])
  })

  it("has nothing of a tenant-scoped resource without a tenant, and nothing of sign-in that is not served", () => {
    expect(ats(admin, "/tenanted")).toEqual([])
    expect(ats(documentOf(requestOf({ ...callerOf("admin"), tenant: "1" })), "/tenanted")).not.toEqual([])
    const apart = documentOf(requestOf(callerOf("admin"), open, shop, { authPath: null }))
    expect(ats(apart, "/auth")).toEqual([])
    expect(Object.keys(apart.components.securitySchemes)).toEqual(["bearer"])
    const secure = documentOf(requestOf(callerOf("admin"), open, shop, { serverUrl: "https://a.example" }))
    expect(secure.components.securitySchemes["session"]!["name"]).toBe("__Secure-service.session_token")
  })

  it("keeps tags, operations and schemas apart whatever resources are called, also where generators change the case", () => {
    const names = [
      "batch",
      "system",
      "sign_in",
      "user",
      "users",
      "meta",
      "openapi",
      "token",
      "keys",
      "status",
      "passkeys",
      "problem",
      "permissions",
      "count",
      "etag"
    ]
    const models = new Map(names.map((name) => [name, makeModel({ name, fields: [{ name: "id" }] })]))
    const doc = documentOf(
      requestOf(callerOf("admin"), open, models, { signIn: { twoFactor: true, passkeys: true, mails: null } })
    )
    const tags = doc.tags.map((tag) => tag.name)
    expect(new Set(tags).size).toBe(tags.length)
    const ids = operationsOf(doc).map(([, { operationId }]) => operationId.replaceAll("_", "").toLowerCase())
    expect(ids.filter((id, index) => ids.indexOf(id) !== index)).toEqual([])
    const schemas = Object.keys(doc.components.schemas).map((id) => id.replaceAll(/[._]/g, "").toLowerCase())
    expect(schemas.filter((id, index) => schemas.indexOf(id) !== index)).toEqual([])
    // No name of a resource can make one of its operations look like another's.
    const verbs = new Set(operationsOf(doc).flatMap(([, { operationId }]) => /^([a-z]+)_/.exec(operationId)?.[1] ?? []))
    const others = operationsOf(doc).map(([, { operationId }]) => operationId).filter((id) => !id.includes("_"))
    expect(others.filter((id) => [...verbs].some((verb) => id.startsWith(verb)))).toEqual([])
    expect([verbs.size > 7, others.length > 15]).toEqual([true, true])
  })

  it("says which operations are limited to some records", () => {
    const seller = documentOf(requestOf(callerOf("seller")))
    expect(seller.paths["/api/v1/orders"]!["get"]!.description).toBe("Only some records are visible.")
    expect(seller.paths["/api/v1/lines"]!["get"]!.description).toBeUndefined()
    expect(admin.paths["/api/v1/orders/{key}"]!["delete"]!.description).toBe("Only some records may be deleted.")
    // Under an own-rows rule the caller becomes the owner, so that nobody has to say so.
    expect(seller.components.schemas["orders.Create"]!.required).toEqual(["customer_id", "total"])
    expect(admin.components.schemas["orders.Create"]!.required).toEqual(["customer_id", "owner_id", "total"])
  })

  it("puts the basePath's parent under the system routes", () => {
    const moved = documentOf(
      requestOf(callerOf("admin"), open, shop, { basePath: "/shop/rest/v1", authPath: "/shop/rest/auth" })
    )
    for (const [at] of operationsOf(moved)) {
      expect(at).toMatch(/ \/shop\/rest\/(?:v1|audit|meta|openapi\.json|saved-views|sizes|auth)/)
    }
  })

  it("says what open objects and lists hold, as generators take silence for no member at all", () => {
    const bare: string[] = []
    const visit = (part: unknown, at: string): void => {
      if (part === null || typeof part !== "object") return
      const schema = part as { readonly [member: string]: unknown }
      const types = [schema["type"]].flat()
      if (
        types.includes("object") && schema["properties"] === undefined && schema["additionalProperties"] === undefined
      ) {
        bare.push(at)
      }
      if (types.includes("array") && schema["items"] === undefined) bare.push(at)
      for (const [member, value] of Object.entries(schema)) {
        if (member !== "examples") visit(value, `${at}/${member}`)
      }
    }
    visit(
      documentOf(
        requestOf(callerOf("admin"), open, shop, { signIn: { twoFactor: true, passkeys: true, mails: null } })
      ),
      ""
    )
    expect(bare).toEqual([])
  })

  it("names schemas in its description that it has", () => {
    const [, schema] = /the schema `(.+?)`/.exec(JSON.stringify(admin))!
    expect(Object.keys(admin.components.schemas)).toContain(schema)
  })

  it("lists every problem", () => {
    const { description } = admin.components.schemas["ProblemDetails"]!
    for (const [slug, { status, title }] of Object.entries(problemKinds)) {
      expect(description).toContain(`| ${status} | \`${slug}\` | ${title} |`)
    }
  })

  it("writes composite keys as lists with commas", () => {
    const [key] = parametersOf(admin, "/api/v1/lines/{key}", "get")
    expect(key).toEqual({
      name: "key",
      in: "path",
      required: true,
      description: "The record's key (`order_id`, `line`).",
      schema: { type: "array", items: { type: "string" }, minItems: 2, maxItems: 2 }
    })
  })
})

/** A value for every parameter that a schema allows; several where it lists them. */
const valuesFor = (
  doc: ReturnType<typeof documentOf>,
  parameter: ReturnType<typeof parametersOf>[number]
): readonly string[] => {
  const { schema } = parameter
  if (schema.type === "array") {
    const listed = (schema as { items: { $ref?: string; anyOf?: readonly { $ref: string }[] } }).items
    const items = doc.components.schemas[(listed.$ref ?? listed.anyOf![0]!.$ref).split("/").at(-1)!]!
    return [(items.enum ?? items.examples as readonly string[]).join(",")]
  }
  if (schema.enum !== undefined) return schema.enum
  if (schema.type === "boolean") return ["true", "false"]
  if (schema.type === "integer") return ["7"]
  return parameter.name === "time_zone" ? ["Europe/Berlin"] : ["2026-01-01"]
}

/** What the reading routes take between them. */
const everyParameter = [
  "filter",
  "order_by",
  "page_size",
  "page_token",
  "fields",
  "count",
  "show_deleted",
  "expand",
  "position",
  "format",
  "delimiter",
  "formulas",
  "field",
  "limit",
  "range",
  "from",
  "to",
  "granularity",
  "time_zone",
  "measure",
  "buckets",
  "group_by",
  "measures",
  "having"
]

describe("parameters", () => {
  const readers = {
    "GET /api/v1/orders": listRequest,
    "GET /api/v1/orders:export": exportRequest,
    "GET /api/v1/orders:seek": seekRequest,
    "GET /api/v1/orders/{key}": getRequest,
    "GET /api/v1/orders:facets": facetsRequest,
    "GET /api/v1/orders:series": seriesRequest,
    "GET /api/v1/orders:histogram": histogramRequest,
    "GET /api/v1/orders:aggregate": groupsRequest
  }

  it.each(Object.entries(readers))("of %s are exactly those that the service reads", (at, read) => {
    const [method = "", path = ""] = at.split(" ")
    const queries = parametersOf(admin, path, method.toLowerCase()).filter((parameter) => parameter.in === "query")
    const required = queries.filter((parameter) => parameter.required === true)
      .map((parameter): readonly [string, string] => [parameter.name, valuesFor(admin, parameter)[0]!])
    for (const parameter of queries) {
      for (const value of valuesFor(admin, parameter)) {
        const pairs: Array<readonly [string, string]> = [...required.filter(([name]) => name !== parameter.name), [
          parameter.name,
          value
        ]]
        if (parameter.name === "from") pairs.push(["to", "2026-02-01"])
        if (parameter.name === "to") pairs.push(["from", "2025-01-01"])
        expect([pairs, Result.isSuccess(read(pairs) as Result.Result<unknown, unknown>)]).toEqual([pairs, true])
      }
      if (parameter.required === true) expect(Result.isFailure(read([]) as Result.Result<unknown, unknown>)).toBe(true)
    }
    const described = new Set(queries.map((parameter) => parameter.name))
    for (const name of everyParameter) {
      const answer = read([...required.filter(([other]) => other !== name), [name, "7"]]) as Result.Result<
        unknown,
        Problem
      >
      const unknown = Result.isFailure(answer) && answer.failure.detail.startsWith("There is no parameter")
      expect([name, unknown]).toEqual([name, !described.has(name)])
    }
  })

  it("of a search body are those of the list", () => {
    const listed = parametersOf(admin, "/api/v1/orders", "get").map((parameter) => parameter.name).sort()
    expect(Object.keys(admin.components.schemas["orders.Search"]!.properties!).sort()).toEqual(listed)
    for (const example of admin.components.schemas["orders.Search"]!.examples!) {
      expect(Result.isSuccess(searchRequest(example as Json))).toBe(true)
    }
  })

  it("of an aggregate in a body are those in a query, and name what may be asked", () => {
    const { properties = {}, examples = [] } = admin.components.schemas["orders.Aggregate"]!
    const asked = parametersOf(admin, "/api/v1/orders:aggregate", "get").map((parameter) => parameter.name).sort()
    expect(Object.keys(properties).sort()).toEqual(asked)
    for (const example of examples) expect(Result.isSuccess(groupsBodyRequest(example as Json))).toBe(true)
    const { restricted } = resolverOf(shop, open).resolve(callerOf("admin"), "orders")!
    const orders = restricted.model
    // Whatever the patterns take is taken, and nothing else.
    const texts = [...orders.fields.map(({ name }) => name), "nope"].flatMap((name) => [
      name,
      ...[...granularities, ...Object.keys(measurable), "x"].map((word) => `${word}(${name})`)
    ])
    for (const [parameter, schema] of [["group_by", "orders.Group"], ["measures", "orders.Measure"]] as const) {
      const { pattern } = admin.components.schemas[schema]! as { readonly pattern: string }
      for (const text of ["count", ...texts]) {
        const request = Result.getOrThrow(groupsRequest([[parameter, text]]))
        const taken = Result.isSuccess(
          readGroups(() => null, { model: restricted.model, restricted } as Access, request)
        )
        expect([schema, text, new RegExp(pattern).test(text)]).toEqual([schema, text, taken])
      }
    }
    // A field that the caller does not see is in none of them.
    const { schemas } = documentOf(requestOf(callerOf("clerk"))).components
    const clerk = JSON.stringify([schemas["orders.Group"], schemas["orders.Measure"], schemas["orders.Aggregate"]])
    expect(clerk).toContain("status")
    expect(clerk).not.toContain("total")
  })

  it("names fields that can be filtered and sorted, with an example that reads", () => {
    const { description } = admin.components.parameters["orders.filter"]!
    expect(description).toContain("`total`, `amount` (for `total`)")
    expect(description).toContain("look into `note`")
    expect(admin.components.parameters["orders.order_by"]!.description).not.toContain("note")
    const { restricted } = resolverOf(shop, open).resolve(callerOf(), "kinds")!
    for (const field of restricted.fields) {
      const only = makeModel({ name: "kinds", fields: [field] })
      const doc = documentOf(requestOf(callerOf(), open, new Map([["kinds", only]])))
      const example = /Example: `([^`]*)`/.exec(doc.components.parameters["kinds.filter"]!.description!)![1]!
      const scope = { names: restricted.names, searched: [], caller: false }
      expect([example, Result.isSuccess(readFilter(example, scope))]).toEqual([example, true])
      const sortable = doc.components.parameters["kinds.order_by"] !== undefined
      expect(Result.isSuccess(readOrder(field.name, scope))).toBe(sortable)
    }
  })
})

describe("examples", () => {
  it("are values of their field, the same in and out", () => {
    const model = makeModel({ fields: everyKind })
    for (const field of model.fields) {
      const cell = Result.getOrThrow(cellFromJson(field, exampleOf(field)))
      expect([field.name, wireFromCell(field, cell)]).toEqual([field.name, exampleOf(field)])
    }
  })

  it("of bodies are accepted", () => {
    const resolver = resolverOf(shop, open)
    let seen = 0
    for (const name of shop.keys()) {
      const access = resolver.resolve({ ...callerOf(), tenant: "1" }, name)!
      const doc = documentOf(requestOf({ ...callerOf(), tenant: "1" }, open))
      for (const example of doc.components.schemas[`${name}.Create`]!.examples!) {
        expect(Result.isSuccess(readCreate(access, example as Json))).toBe(true)
        seen++
      }
      for (const example of doc.components.schemas[`${name}.Update`]!.examples!) {
        expect(Result.isSuccess(readPatch(access, example as Json))).toBe(true)
        seen++
      }
    }
    expect(seen).toBe(2 * shop.size)
  })

  it("of batches are accepted", () => {
    const operations = ["create", "update", "delete", "reorder"].map((op) =>
      admin.components.schemas[`BatchWrite.${op}`]!.examples![0]
    )
    expect(Result.isSuccess(readBatch({ ops: operations as readonly Json[] }))).toBe(true)
    expect(Result.isSuccess(readBatch(admin.components.schemas["BatchWrite"]!.examples![0] as Json))).toBe(true)
  })
})

describe("what is hidden", () => {
  it("has no name in the document, for random models, rules and roles", () => {
    let state = 11
    const random = (): number => {
      state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff
      return state / 0x80000000
    }
    const pick = <A>(items: readonly A[]): A => items[Math.floor(random() * items.length)]!
    const some = <A>(items: readonly A[], share = 0.5): A[] => items.filter(() => random() < share)
    let hiddenFields = 0
    let hiddenResources = 0
    let shownResources = 0
    for (let round = 0; round < 300; round++) {
      const resources = ["r1x", "r2x", "r3x"]
      const fieldNames = (resource: string) => Array.from({ length: 6 }, (_, i) => `${resource}_f${i}z`)
      const models: ReadonlyMap<string, RuledModel> = new Map(resources.map((resource) => {
        const target = pick(resources)
        const names = fieldNames(resource)
        return [
          resource,
          makeModel({
            name: resource,
            fields: names.map((name, i) => ({
              ...pick(everyKind),
              name,
              alias: `${name}_alias`,
              relation: i === 1 ? target : null,
              searched: random() < 0.5,
              default: random() < 0.3 ? { db: true } as const : null
            })),
            key: some(names, 0.4).length === 2 ? [names[0]!, names[5]!] : [names[0]!],
            owner: `${resource}_f2z`,
            version: random() < 0.5 ? `${resource}_f3z` : `${resource}_versionz`,
            softDelete: `${resource}_deletedz`,
            ...(random() < 0.2 ? { tenant: `${resource}_tenantz` } : {}),
            rules: {
              fields: Object.fromEntries(
                some(names, 0.3).map((name) => [name, { read: { of: "constant", allow: false } }])
              )
            },
            relations: [
              {
                name: `${resource}_f1z_to_${target}`,
                target,
                many: random() < 0.5,
                from: `${resource}_f1z`,
                to: `${target}_f4z`
              }
            ]
          })
        ] as const
      }))
      const texts = some(resources, 0.7).map((resource) => {
        const list = some(fieldNames(resource))
        const operation = pick(["read", "create", "update", "delete", "*"])
        return `${resource}.${operation}${pick(["", ".own"])}${
          list.length === 0 || operation === "delete" ? "" : `(${list.join()})`
        }`
      })
      const request = requestOf(callerOf("r"), rolesOf({ r: texts }), models)
      const text = JSON.stringify(openapiDocument(request))
      for (const [name, model] of models) {
        const access = request.resolve(name)
        expect(text).not.toMatch(new RegExp(`${name}_(?:version|deleted|tenant)z`))
        if (access === null || access.tenantMissing) {
          expect(text).not.toContain(name)
          hiddenResources++
          continue
        }
        shownResources++
        for (const field of model.fields) {
          if (access.restricted.byName.has(field.name)) continue
          expect(text).not.toContain(field.name)
          hiddenFields++
        }
      }
    }
    expect(Math.min(hiddenFields, hiddenResources, shownResources)).toBeGreaterThan(100)
  })
})

describe("size", () => {
  it("stays below 27.5 kB for each wide resource with every operation", () => {
    const name = (i: number) => `resource_${i % 20}`
    const models: ReadonlyMap<string, RuledModel> = new Map(Array.from({ length: 20 }, (_, i) => [
      name(i),
      makeModel({
        name: name(i),
        fields: [
          { name: "id", kind: "integer", readOnly: true, default: { db: true } },
          { name: "next_id", kind: "integer", relation: name(i + 1) },
          ...everyKind.slice(2, 14)
        ],
        softDelete: "deleted_at",
        relations: [
          { name: "next", target: name(i + 1), many: false, from: "next_id", to: "id" },
          { name: name(i + 19), target: name(i + 19), many: true, from: "id", to: "next_id" }
        ]
      })
    ]))
    const text = JSON.stringify(openapiDocument(requestOf(callerOf("admin"), open, models)))
    expect(Object.keys((JSON.parse(text) as ReturnType<typeof documentOf>).paths).length).toBe(20 * 10 + 18)
    // What every document has, however many resources there are, is no part of the bound.
    const others = JSON.stringify(openapiDocument(requestOf(callerOf("admin"), open, new Map())))
    expect(text.length - others.length).toBeLessThan(20 * 27_500)
  })
})
