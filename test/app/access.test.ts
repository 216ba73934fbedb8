// A rule function is asked once in a request for each resource, however many steps and operations need its answer.
import { beforeEach, describe, expect, it } from "vitest"
import { makeFetch } from "../../adapters/http/fetch.ts"
import { compileOrThrow } from "../../composition/create-admin.ts"
import { makeService } from "../../composition/edge.ts"
import { defineConfig } from "../../core/domain/declare/config.ts"
import { f } from "../../core/domain/declare/field.ts"
import { defineResource } from "../../core/domain/declare/resource.ts"
import { makeFakeRecords } from "../fakes/records.ts"
import { testAuthenticator, testSecret, tokenOf } from "../support/composed.ts"

let asked = { read: 0, create: 0, update: 0, name: 0 }

const node = (id: number, parent?: number) => ({ id, name: `node ${id}`, ...(parent === undefined ? {} : { parent }) })

const nodes = defineResource("nodes", {
  primaryKey: "id",
  fields: {
    id: f.integer().filterable().sortable(),
    parent: f.relation("nodes").optional().filterable().as("above"),
    name: f.text()
  },
  access: {
    read: () => ++asked.read > 0,
    create: () => ++asked.create > 0,
    update: () => ++asked.update > 0,
    fields: { name: { read: () => ++asked.name > 0 } }
  }
})

describe("rule functions", () => {
  const fetch = makeFetch(makeService({
    compiled: compileOrThrow(defineConfig({ resources: [nodes] })),
    records: makeFakeRecords().service,
    authenticator: testAuthenticator,
    secret: testSecret,
    publicUrl: "http://service.test"
  }))
  const send = async (
    method: string,
    path: string,
    body?: unknown,
    headers: { readonly [name: string]: string } = {}
  ) => {
    const answer = await fetch(
      new Request(`http://service.test/api/v1${path}`, {
        method,
        headers: {
          authorization: `Bearer ${tokenOf({ id: "u1", roles: [] })}`,
          "content-type": "application/json",
          ...headers
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) })
      })
    )
    expect(answer.status, await answer.clone().text()).toBeLessThan(300)
    return answer
  }
  beforeEach(async () => {
    asked = { read: 0, create: 0, update: 0, name: 0 }
  })

  it.each([
    ["POST", "/nodes", node(1), {}],
    [
      "POST",
      ":batchWrite",
      { ops: [2, 3, 4].map((id) => ({ op: "create", resource: "nodes", data: node(id, 1) })) },
      {}
    ],
    ["GET", "/nodes/2?expand=above", undefined, {}],
    ["GET", "/nodes?expand=above.above&order_by=id&filter=parent=1", undefined, {}],
    ["GET", "/nodes:seek?position=1&expand=above", undefined, {}],
    ["PATCH", "/nodes/2", { name: "other" }, { "if-match": "*" }],
    ["POST", ":batchWrite", {
      ops: [
        { op: "update", resource: "nodes", key: 3, etag: "*", data: { name: "third" } },
        { op: "create", resource: "nodes", data: node(5) },
        { op: "update", resource: "nodes", key: 4, etag: "*", data: { name: "fourth" } }
      ]
    }, {}]
  ])("%s %s asks each of them once", async (method, path, body, headers) => {
    await send(method, path, body, headers)
    expect(asked).toEqual({ read: 1, create: 1, update: 1, name: 1 })
  })
})
