// How large the meta document of many tables is, as it is sent, and that its reader makes the whole document of it.
import * as Context from "effect/Context"
import { brotliDecompressSync, gunzipSync } from "node:zlib"
import { createClient } from "resource-admin/client"
import { afterAll, beforeAll, expect, it } from "vitest"
import { makeFetch } from "../../adapters/http/fetch.ts"
import { defineConfig, defineResource, defineView, f, relation } from "../../composition/index.ts"
import type { MetaDocument } from "../../core/domain/meta/meta.ts"
import { type ShortMeta, shortMeta, wholeMeta } from "../../core/domain/meta/short.ts"
import { type Fixture, startService, type TestCaller, type TestService, tokenOf } from "../support/composed.ts"
import type { OpenapiDoc } from "../support/openapi.ts"
import { checker } from "../support/schema.ts"
import { callers, shop } from "../support/shop.ts"

const subjects = `order invoice shipment customer supplier ticket contract payment delivery asset
  employee vehicle building project task budget account journal stock batch`.split(/\s+/)
const tables = subjects.flatMap((first) => subjects.map((second) => `${first}_${second}s`))

/** 400 tables of nine columns and two foreign keys, declared as `introspect` writes them. */
const wide = (): Fixture => {
  const resources = tables.map((name, at) => {
    const to = (distance: number) => {
      const target = tables[(at + distance) % tables.length]!
      return { [target.replace(/s$/, "_id")]: relation(target).filterable().sortable() }
    }
    return defineResource(name, {
      primaryKey: "id",
      version: "updated_at",
      fields: {
        id: f.integer().bits(64).readOnly().dbDefault().filterable().sortable(),
        code: f.text().max(20 + at % 7).filterable().sortable().searched(),
        name: f.text().max(120).filterable().sortable().searched(),
        description: f.text().optional().filterable().searched(),
        status: f.enum(["draft", "active", "closed"]).default("draft").filterable(),
        ...to(1),
        ...to(200),
        amount: f.decimal({ precision: 12, scale: 2 }).dbDefault().filterable().sortable(),
        quantity: f.integer().optional().filterable().sortable(),
        created_at: f.timestamp().readOnly().dbDefault().filterable().sortable(),
        updated_at: f.timestamp().readOnly().dbDefault().filterable().sortable()
      }
    })
  })
  const icons = ["cart", "truck", "building", "inbox", "list"]
  const views = resources.map((resource, at) =>
    defineView(resource, { title: "{name}||{code}", nav: { icon: icons[at % icons.length]! } })
  )
  return { config: defineConfig({ resources, views }), schema: "", rows: {} }
}

const admin: TestCaller = { id: "ann", roles: ["admin"] }

let service: TestService
let fetch: (request: Request) => Promise<Response>
beforeAll(async () => {
  service = await startService("fake", wide())
  fetch = makeFetch(service.edge, Context.empty())
})
afterAll(() => service?.close())

/** The answer as it is on the wire. */
const ask = async (headers: { readonly [name: string]: string }) => {
  const authorization = `Bearer ${tokenOf(admin)}`
  const response = await fetch(
    new Request("http://service.test/api/meta", { headers: { authorization, ...headers } })
  )
  return { status: response.status, headers: response.headers, bytes: Buffer.from(await response.arrayBuffer()) }
}

it("400 tables take at most 300,000 bytes, and 60,000 with gzip", async () => {
  const plain = await ask({})
  expect(plain.headers.get("content-encoding")).toBeNull()
  expect(plain.bytes.length).toBeLessThanOrEqual(300_000)
  const packed = await ask({ "accept-encoding": "gzip" })
  expect(packed.headers.get("content-encoding")).toBe("gzip")
  expect(packed.bytes.length).toBeLessThanOrEqual(60_000)
  expect(gunzipSync(packed.bytes)).toEqual(plain.bytes)
  const best = await ask({ "accept-encoding": "gzip, br" })
  expect(brotliDecompressSync(best.bytes)).toEqual(plain.bytes)
})

it("each coding has an ETag, and vary names what it depends on", async () => {
  const tags = new Set<string>()
  for (const coding of ["identity", "gzip", "br"]) {
    const { headers } = await ask({ "accept-encoding": coding })
    const etag = headers.get("etag")!
    tags.add(etag)
    expect(headers.get("vary")).toBe("Authorization, Accept-Encoding")
    expect(await ask({ "accept-encoding": coding, "if-none-match": etag })).toMatchObject({ status: 304 })
  }
  expect(tags.size).toBe(3)
})

it("the client reads the whole document, with all that was left out", async () => {
  const client = createClient({
    baseUrl: "http://service.test",
    token: tokenOf(admin),
    fetch: (url, init) => fetch(new Request(url, init))
  })
  const meta = await client.meta()
  expect(JSON.stringify(meta).length).toBeGreaterThan(1_400_000)
  const sent = JSON.parse((await ask({})).bytes.toString()) as ShortMeta
  expect(sent.models[0]).not.toHaveProperty("primaryKey")
  expect(meta.models[1]!.fields[0]).toEqual({
    name: "id",
    kind: "integer",
    bits: 64,
    default: { db: true },
    optional: false,
    readOnly: true,
    writable: { create: false, update: false },
    filterable: true,
    sortable: true,
    searched: false,
    sensitive: false
  })
  const [first, second] = tables
  expect(meta.models[1]!.relations).toContainEqual({
    name: first,
    resource: first,
    many: true,
    field: "id",
    targetField: second!.replace(/s$/, "_id")
  })
  expect(meta.permissions[first!]).toEqual({ read: true, create: true, update: true, delete: true, conditional: [] })
  expect(meta.transfers[first!]).toEqual({ export: true, bulk: [], import: [] })
  expect(meta.views[first!]!.nav).toEqual({ group: null, order: 0, icon: "cart", bottom: false, recent: null })
})

it("the OpenAPI document describes the short form", async () => {
  const doc = (await service.get(admin, "/api/openapi.json")).json as unknown as OpenapiDoc
  const { json } = await service.get(admin, "/api/meta")
  const { check, refuse } = checker(doc)
  check("/components/schemas/MetaDocumentShort", json)
  refuse("/components/schemas/MetaDocument", json)
})

it.each(Object.values(callers))("a document of few tables is sent whole: $id", async (caller) => {
  const few = await startService("fake", shop())
  const { json } = await few.get(caller, "/api/meta")
  const document = json as unknown as MetaDocument
  expect(document).not.toHaveProperty("shapes")
  expect(wholeMeta(JSON.parse(JSON.stringify(shortMeta(document))) as ShortMeta)).toEqual(document)
  await few.close()
})
