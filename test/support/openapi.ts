/** A shop of models with every kind of field, and the OpenAPI document of a caller over it. It decides nothing. */

import type { Access } from "../../core/domain/access/access.ts"
import type { Caller } from "../../core/domain/access/caller.ts"
import type { AccessDefaults, Capability } from "../../core/domain/access/rules.ts"
import { parseCapability } from "../../core/domain/declare/roles.ts"
import { openapiDocument } from "../../core/domain/meta/openapi.ts"
import type { OpenapiRequest } from "../../core/domain/meta/openapi.ts"
import { accessOf, resolverOf } from "./access.ts"
import { type FieldParts, makeModel, type RuledModel } from "./model.ts"

/** One field of every kind and width, each once as it is and once optional. */
export const everyKind: readonly FieldParts[] = ([
  { name: "small", kind: "integer", bits: 16 },
  { name: "medium", kind: "integer", bits: 32 },
  { name: "large", kind: "integer", bits: 64 },
  { name: "words" },
  { name: "short", max: 2 },
  { name: "paid", kind: "boolean" },
  { name: "made_at", kind: "timestamp" },
  { name: "due_on", kind: "date" },
  { name: "price", kind: "decimal", precision: 12, scale: 2 },
  { name: "share", kind: "decimal", precision: 3, scale: 3 },
  { name: "pieces", kind: "decimal", precision: 1, scale: 0 },
  { name: "rounded", kind: "decimal", precision: 3, scale: -2 },
  { name: "exact", kind: "decimal" },
  { name: "ratio", kind: "float" },
  { name: "state", kind: "enum", values: ["draft", "paid"] },
  { name: "token", kind: "uuid" },
  { name: "extra", kind: "json" },
  { name: "currency", kind: "currency" },
  { name: "country", kind: "country" },
  { name: "tags", kind: "list", of: { kind: "text", max: 9 }, max: 5 },
  { name: "marks", kind: "list", of: { kind: "decimal", precision: 12, scale: 2 }, nulls: true },
  { name: "sizes", kind: "list", of: { kind: "integer", bits: 64 } },
  { name: "opens", kind: "time" },
  { name: "lasts", kind: "interval" },
  { name: "address", kind: "inet" },
  { name: "network", kind: "cidr" },
  { name: "device", kind: "macaddr" },
  { name: "content", kind: "bytes", max: 100 },
  { name: "fee", kind: "money", scale: 2 },
  { name: "seats", kind: "range", type: "integer" },
  { name: "place", kind: "native", type: "point" }
] as const satisfies readonly FieldParts[]).flatMap((field): FieldParts[] => [
  field,
  { ...field, name: `${field.name}_or_null`, optional: true }
])

export const shop: ReadonlyMap<string, RuledModel> = new Map([
  makeModel({
    name: "orders",
    fields: [
      { name: "id", kind: "integer", bits: 64, readOnly: true, default: { db: true } },
      { name: "customer_id", kind: "integer", bits: 64, relation: "customers" },
      { name: "owner_id" },
      { name: "status", kind: "enum", values: ["draft", "paid"], default: { value: "draft" } },
      { name: "total", kind: "decimal", precision: 12, scale: 2, alias: "amount" },
      { name: "margin", kind: "decimal", precision: 12, scale: 2, optional: true },
      { name: "note", max: 2000, optional: true, searched: true, filterable: false, sortable: false },
      { name: "position", kind: "integer", bits: 32, default: { value: 1 } },
      { name: "created_at", kind: "timestamp", readOnly: true }
    ],
    owner: "owner_id",
    softDelete: "deleted_at",
    version: "changed_at",
    rules: { delete: { of: "function", run: ({ record }) => record["status"] === "draft" } },
    relations: [
      { name: "customer", target: "customers", many: false, from: "customer_id", to: "id" },
      { name: "lines", target: "lines", many: true, from: "id", to: "order_id" }
    ]
  }),
  makeModel({
    name: "customers",
    fields: [{ name: "id", kind: "integer", bits: 64 }, { name: "title" }],
    relations: [{ name: "orders", target: "orders", many: true, from: "id", to: "customer_id" }]
  }),
  makeModel({
    name: "lines",
    fields: [
      { name: "order_id", kind: "integer", bits: 64, relation: "orders" },
      { name: "line", kind: "integer", bits: 16 },
      { name: "sku" }
    ],
    key: ["order_id", "line"],
    relations: [{ name: "order", target: "orders", many: false, from: "order_id", to: "id" }]
  }),
  makeModel({ name: "kinds", fields: [{ name: "id", kind: "uuid" }, ...everyKind] }),
  makeModel({ name: "tenanted", fields: [{ name: "id" }], tenant: "tenant_id" })
].map((model) => [model.name, model]))

export const open: AccessDefaults = { roles: null, defaultAccess: null }

/** Roles as they are compiled, without a look at any model. */
export const rolesOf = (declared: { readonly [role: string]: readonly string[] }): AccessDefaults => ({
  roles: new Map(
    Object.entries(declared).map(([role, texts]) => [
      role,
      texts.map((text): Capability => {
        const parts = parseCapability(text)!
        return { ...parts, operation: parts.operation as Capability["operation"] }
      })
    ])
  ),
  defaultAccess: null
})

/** Callers who see different parts of the shop. */
export const shopRoles = rolesOf({
  admin: ["*"],
  clerk: ["orders.read(id,status,note)", "orders.update(note)", "customers.read"],
  seller: ["orders.*.own", "lines.read"],
  maker: ["orders.create(status,total)"]
})

export const callerOf = (...roles: readonly string[]): Caller => ({ id: "u1", roles, tenant: null })

/** Some access of the caller, for what only looks whether there is one. */
export const anyAccess = (caller: Caller): Access => accessOf(shop.get("kinds")!, caller, open)

export const requestOf = (
  caller: Caller,
  defaults: AccessDefaults = shopRoles,
  models: ReadonlyMap<string, RuledModel> = shop,
  parts: Partial<OpenapiRequest> = {}
): OpenapiRequest => {
  const resolver = resolverOf(models, defaults)
  return {
    models,
    resolve: (resource) => resolver.resolve(caller, resource),
    caller,
    basePath: "/api/v1",
    title: "Shop",
    version: "1.2.3",
    serverUrl: "http://localhost:5173",
    authPath: "/api/auth",
    signIn: { twoFactor: false, passkeys: false, mails: null },
    ...parts
  }
}

export interface OpenapiOperation {
  readonly operationId: string
  readonly parameters?: ReadonlyArray<{ readonly $ref: string } | OpenapiParameter>
  readonly requestBody?: { readonly content: { readonly "application/json": { readonly schema: OpenapiSchema } } }
  readonly responses: { readonly [status: string]: unknown }
  readonly security?: readonly unknown[]
  readonly description?: string
}

export interface OpenapiParameter {
  readonly name: string
  readonly in: string
  readonly required?: boolean
  readonly description?: string
  readonly schema: OpenapiSchema
}

export interface OpenapiSchema {
  readonly $ref?: string
  readonly type?: string | readonly string[]
  readonly enum?: readonly string[]
  readonly required?: readonly string[]
  readonly properties?: { readonly [name: string]: OpenapiSchema }
  readonly examples?: readonly unknown[]
  readonly description?: string
}

/** As much of a document's type as tests look into. */
export interface OpenapiDoc {
  readonly openapi: string
  readonly tags: ReadonlyArray<{ readonly name: string }>
  readonly paths: { readonly [path: string]: { readonly [method: string]: OpenapiOperation } }
  readonly components: {
    readonly schemas: { readonly [name: string]: OpenapiSchema }
    readonly parameters: { readonly [name: string]: OpenapiParameter }
    readonly responses: { readonly [name: string]: { readonly description: string } }
    readonly securitySchemes: { readonly [name: string]: { readonly [member: string]: string } }
  }
}

/** A document as it is after the wire. */
export const documentOf = (request: OpenapiRequest): OpenapiDoc =>
  JSON.parse(JSON.stringify(openapiDocument(request))) as OpenapiDoc

const methods = ["get", "post", "patch", "delete", "put"]

/** Every operation as `[method and path, operation]`. */
export const operationsOf = (doc: OpenapiDoc): ReadonlyArray<readonly [at: string, operation: OpenapiOperation]> =>
  Object.entries(doc.paths).flatMap(([path, item]) =>
    Object.entries(item).filter(([method]) => methods.includes(method))
      .map(([method, operation]) => [`${method.toUpperCase()} ${path}`, operation] as const)
  )

/** An operation's own parameters and those of its path, references followed. */
export const parametersOf = (doc: OpenapiDoc, path: string, method: string): readonly OpenapiParameter[] => {
  const item = doc.paths[path]!
  const shared = item["parameters"] as unknown as OpenapiOperation["parameters"]
  return [...shared ?? [], ...item[method]!.parameters ?? []].map((parameter) =>
    "$ref" in parameter ? doc.components.parameters[parameter.$ref.split("/").at(-1)!]! : parameter
  )
}
