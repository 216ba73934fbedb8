/**
 * A source that behaves as a test tells it: it hangs, fails, refuses, lies. It keeps every request that it got. What is not told is answered as a service
 * would, with one record.
 */

import { createServer } from "node:http"
import type { AddressInfo } from "node:net"

export interface StrangerAnswer {
  readonly status?: number
  readonly headers?: { readonly [name: string]: string }
  readonly body?: unknown
  /** Never answers. */
  readonly hangs?: boolean
}

export interface Stranger {
  readonly origin: string
  /** Its resources API. */
  readonly url: string
  /** `at`: when, in milliseconds. */
  readonly got: { readonly method: string; readonly path: string; readonly token: string | null; readonly at: number }[]
  /** By what a path begins with; later ones first. */
  readonly answers: Map<string, StrangerAnswer | (() => StrangerAnswer)>
  readonly close: () => Promise<void>
}

/** A model as `/api/meta` has it, of a resource with a key, a name and whatever else. */
export const strangeModel = (name: string, more: object = {}, fields: readonly object[] = []) => ({
  name,
  primaryKey: ["id"],
  fields: [
    { name: "id", kind: "integer", filterable: true, sortable: true, writable: { create: false, update: false } },
    {
      name: "name",
      kind: "text",
      searched: true,
      filterable: true,
      sortable: true,
      writable: { create: true, update: true }
    },
    ...fields
  ],
  relations: [],
  softDelete: false,
  tenantScoped: false,
  owner: null,
  version: null,
  ...more
})

export const strangeView = (name: string, more: object = {}) => ({
  name,
  label: { singular: name, plural: name },
  columns: ["id", "name"],
  sort: "id",
  filters: [],
  search: ["name"],
  layout: [{ label: null, fields: ["id", "name"] }],
  chart: null,
  title: "name",
  nav: { group: null, order: 1, icon: null, recent: { sort: "id", limit: 3 } },
  ...more
})

const everything = { read: true, create: true, update: true, delete: true, conditional: [] }

export const strangeMeta = (models: ReadonlyArray<{ readonly name: string }>, views: object) => ({
  models,
  views,
  permissions: Object.fromEntries(models.map(({ name }) => [name, everything])),
  pages: [],
  userMenu: [],
  sources: [],
  user: { id: "stranger", roles: ["admin"] }
})

export const startStranger = async (resources: readonly string[]): Promise<Stranger> => {
  const got: Stranger["got"] = []
  const record = { id: 1, name: "one", etag: "\"1\"", permissions: { update: true, delete: true } }
  const answers: Stranger["answers"] = new Map<string, StrangerAnswer | (() => StrangerAnswer)>([
    ["/", { status: 404, body: { status: 404, title: "Not found" } }],
    ...resources.map((name) =>
      [
        `/api/v1/${name}`,
        { body: { items: [record], next_page_token: "", prev_page_token: "", total_size_estimate: 1, position: 0 } }
      ] as const
    ),
    ["/api/meta", {
      body: strangeMeta(
        resources.map((name) => strangeModel(name)),
        Object.fromEntries(resources.map((name) => [name, strangeView(name)]))
      )
    }]
  ])
  const server = createServer((request, response) => {
    const { headers, method = "", url = "/" } = request
    const cors = {
      "access-control-allow-origin": headers.origin ?? "*",
      "access-control-allow-headers": "authorization, content-type, if-match, if-none-match, idempotency-key",
      "access-control-allow-methods": "GET, POST, PATCH, DELETE",
      "access-control-expose-headers": "etag, x-meta-version, retry-after",
      "vary": "origin"
    }
    if (method === "OPTIONS") return void response.writeHead(204, cors).end()
    got.push({ method, path: url, token: headers.authorization ?? null, at: performance.now() })
    const found = [...answers].toReversed().find(([path]) => url.startsWith(path))?.[1]
    const answer = typeof found === "function" ? found() : found ?? {}
    if (answer.hangs === true) return
    response.writeHead(answer.status ?? 200, { "content-type": "application/json", ...cors, ...answer.headers })
    response.end(answer.body === undefined ? "" : JSON.stringify(answer.body))
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const origin = `http://localhost:${(server.address() as AddressInfo).port}`
  return {
    origin,
    url: `${origin}/api/v1`,
    got,
    answers,
    close: () => {
      server.closeAllConnections()
      return new Promise((resolve) => server.close(() => resolve()))
    }
  }
}
