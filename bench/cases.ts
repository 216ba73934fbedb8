/**
 * What is measured: one request of each kind, as the service and as the reference understand it. Both get the same choice of records and
 * values in the same order, and a system only ever writes to rows that the other cases do not count.
 */

import { callers, categories } from "./data.ts"
import type { Keys } from "./keys.ts"
import { type Answer, headerOf, once, type Request } from "./load.ts"

/** What a request is made of besides its case. */
export interface World {
  readonly keys: Keys
  readonly orders: number
  /** Row number that `seek` asks for. */
  readonly seekTo: number
  /** Ids of live orders in no order. The last of them are those that are changed. */
  readonly ids: readonly string[]
  /** Position before the 2,000th page (fewer where there are fewer orders) of the filtered list. */
  readonly deep: { readonly page: number; readonly createdAt: string; readonly id: string }
  /** Position before the page of the same number of lines by the names of their products. */
  readonly line: { readonly name: string; readonly id: string }
}

/** How one kind of system is asked. */
export interface Dialect {
  readonly name: string
  /** Makes the requests of a case; null where the system has no such thing. `cheap`: one of those that {@link cheaper} describes. */
  readonly request: (kind: Case, state: State, slot: number, cheap?: boolean) => Request | null
  /** Goes to where the deep pages among these cases begin. */
  readonly walk: (state: State, kinds: readonly Case[]) => Promise<void>
  /** Where a record is. */
  readonly record: (id: string) => string
}

export const cases = {
  get: "get one record",
  list: "list of 50, filtered and ordered",
  deep: "the same list, page 2,000",
  count: "the same list with its exact count",
  own: "the same list as a role with a row filter and hidden fields",
  facets: "facets of a field over 2 % of the rows",
  series: "series by day over 90 days",
  groups: "groups by two fields over 90 days, with sums, averages and a condition",
  search: "search for a word, newest first",
  seek: "50 rows at row 900,000 of 1,000,000",
  expand: "50 users, each with the newest 10 orders",
  related: "50 lines of products of a category",
  sorted: "50 lines in the order of their products' names",
  sortedDeep: "the same lines, page 2,000",
  exists: "50 orders with a line of a product, newest first",
  relatedGroups: "20,000 lines in groups by the category of their product, with sums",
  patch: "PATCH with If-Match",
  create: "create",
  batch: "batch of 100 creates"
} as const

export type Case = keyof typeof cases

/**
 * Cases that the database answers too rarely to warm a compiler, and what warms the server's side of them instead: the same route with the same
 * parameters, so the same code in every system, asking for so little that the database has it at once.
 */
export const cheaper: { readonly [kind in Case]?: string } = {
  count: "of a status that fewer orders have",
  facets: "of half a day",
  series: "over a week",
  groups: "over a week",
  search: "for four digits of a gate",
  seek: "to one of the first 100 rows",
  relatedGroups: "of 100 lines",
  batch: "of ten creates"
}

const words = ["alder", "birch", "cedar", "elm", "hazel", "larch", "maple", "rowan"]
const filterStatus = "paid"
const rareStatus = "refunded"
const seriesEnd = "2026-06-30T00:00:00Z"
const seriesStart = (cheap: boolean): string => cheap ? "2026-06-24T00:00:00Z" : "2026-04-01T00:00:00Z"
const facetsStart = (cheap: boolean): string => cheap ? "2026-06-29T12:00:00Z" : "2026-06-15T00:00:00Z"
const filterTotal = 100
const changedPerSlot = 20

/** What a system's run remembers: its own random numbers, page token and ETags. */
export class State {
  readonly world: World
  readonly port: number
  token = ""
  /** Where the deep page of lines begins. */
  lineToken = ""
  readonly etags = new Map<string, string>()
  #seed = 20_260_101
  readonly #turns: number[] = []

  constructor(world: World, port: number) {
    this.world = world
    this.port = port
  }

  below(limit: number): number {
    this.#seed = (this.#seed * 1_103_515_245 + 12_345) & 0x7fffffff
    return this.#seed % limit
  }

  id(): string {
    return this.world.ids[this.below(this.world.ids.length - 1_000)]!
  }

  /** The next record that this connection may change: no two connections have one in common. */
  changed(slot: number): string {
    const turn = this.#turns[slot] = ((this.#turns[slot] ?? 0) + 1) % changedPerSlot
    return this.world.ids[this.world.ids.length - 1 - slot * changedPerSlot - turn]!
  }

  word(cheap: boolean): string {
    if (cheap) return (4_096 + this.below(61_440)).toString(16)
    const most = this.world.orders >= 1_000_000 ? 2_000 : 20
    return `${words[this.below(8)]}-${this.below(most)}`
  }

  /** One of the ten tenants. */
  tenant(): number {
    return 1 + this.below(10)
  }

  /** One of twenty products that are not deleted, and a category: so few that what is kept of a query, such as its number of rows, serves them. */
  product(): number {
    return 1 + this.below(20)
  }

  category(): string {
    return `category ${this.below(categories)}`
  }

  /** Ids of lines, from one to before another. */
  lines(cheap: boolean): { readonly from: number; readonly to: number } {
    const many = cheap ? 100 : this.world.orders / 50
    const from = 1 + this.below(this.world.orders - many)
    return { from, to: from + many }
  }

  row(cheap: boolean): number {
    return cheap ? 1 + this.below(100) : this.world.seekTo
  }

  /** The creates of a batch. */
  orders(cheap: boolean): ReadonlyArray<ReturnType<State["order"]>> {
    return Array.from({ length: cheap ? 10 : 100 }, () => this.order())
  }

  order(): { readonly [column: string]: unknown } {
    return {
      tenant_id: callers.admin.tenant,
      owner_id: callers.admin.sub,
      customer_id: String(1 + this.below(this.world.orders / 10)),
      status: "pending",
      total: (this.below(200_000) / 100 + 1).toFixed(2),
      currency: "EUR",
      note: this.note()
    }
  }

  note(): string {
    return `Please ring twice, gate ${this.below(65_536).toString(16)}, lot new-${this.below(2_000)}`
  }

  /** Remembers the ETag of a record that was changed. */
  remember(request: Request, answer: Answer): void {
    const etag = headerOf(answer, "etag")
    const id = request.path.slice(request.path.lastIndexOf("/") + 1)
    if (answer.status === 200 && etag !== null) this.etags.set(id, etag)
  }
}

const bearer = (state: State, caller: keyof typeof callers = "admin") => ({
  Authorization: `Bearer ${state.world.keys.tokens[caller]}`
})

/** Reads the ETags of all records that so many connections change. */
export const readEtags = async (dialect: Dialect, state: State, slots: number): Promise<void> => {
  for (const id of state.world.ids.slice(-slots * changedPerSlot)) {
    const path = dialect.record(id)
    const answer = await once(state.port, { method: "GET", path, headers: bearer(state) })
    const etag = headerOf(answer, "etag")
    if (etag === null) throw new Error(`GET ${path} answered ${answer.status} without an ETag`)
    state.etags.set(id, etag)
  }
}

const query = (parameters: { readonly [name: string]: string | number }): string =>
  Object.entries(parameters).map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join("&")

/** The API of the service. */
export const serviceDialect: Dialect = (() => {
  const base = "/api/v1"
  const filterOf = (status: string): string => `status = "${status}" AND total > ${filterTotal}`
  const filter = filterOf(filterStatus)
  const order = "created_at desc, id desc"
  const list = (
    state: State,
    more: { readonly [name: string]: string | number } = {},
    caller: keyof typeof callers = "admin"
  ): Request => ({
    method: "GET",
    path: `${base}/orders?${query({ filter, order_by: order, page_size: 50, ...more })}`,
    headers: bearer(state, caller)
  })
  const get = (state: State, path: string): Request => ({ method: "GET", path: base + path, headers: bearer(state) })
  const lines = (state: State, more: { readonly [name: string]: string | number }): Request =>
    get(state, `/lines?${query({ page_size: 50, ...more })}`)
  const sorted = { order_by: "product.name, id" }
  /** As a client gets there: by tokens, in pages as big as they may be. */
  const walked = async (state: State, ask: (more: { readonly [name: string]: string | number }) => Request) => {
    let token = ""
    for (let left = (state.world.deep.page - 1) * 50; left > 0;) {
      const size = left >= 500 ? 500 : 50
      const more = token === "" ? {} : { page_token: token }
      const answer = await once(state.port, ask({ ...more, page_size: size, fields: "id" }))
      token = (JSON.parse(answer.body.toString()) as { readonly next_page_token: string }).next_page_token
      left -= size
    }
    return token
  }
  const send = (state: State, method: "POST" | "PATCH", path: string, body: unknown, headers = {}): Request => ({
    method,
    path: base + path,
    headers: { ...bearer(state), ...headers },
    body: JSON.stringify(body)
  })
  return {
    name: "service",
    request: (kind, state, slot, cheap = false) => {
      switch (kind) {
        case "get":
          return get(state, `/orders/${state.id()}`)
        case "list":
          return list(state)
        case "deep":
          return list(state, { page_token: state.token })
        case "count":
          return list(state, { count: "exact", ...cheap ? { filter: filterOf(rareStatus) } : {} })
        case "own":
          return list(state, {}, "seller")
        case "facets":
          return get(
            state,
            `/orders:facets?${query({ field: "status", filter: `created_at >= "${facetsStart(cheap)}"` })}`
          )
        case "series":
          return get(
            state,
            `/orders:series?${
              query({
                field: "created_at",
                from: seriesStart(cheap),
                to: seriesEnd,
                granularity: "day"
              })
            }`
          )
        case "groups":
          return get(
            state,
            `/orders:aggregate?${
              query({
                group_by: "currency,status",
                measures: "count,sum(total),avg(total)",
                having: "sum(total) > 1000",
                order_by: "sum(total) desc",
                filter: `created_at >= "${seriesStart(cheap)}" AND created_at < "${seriesEnd}"`
              })
            }`
          )
        case "search":
          return send(state, "POST", "/orders:search", {
            filter: `search('${state.word(cheap)}')`,
            order_by: order,
            page_size: 50
          })
        case "seek":
          return get(
            state,
            `/orders:seek?${query({ position: state.row(cheap), order_by: order, page_size: 50 })}`
          )
        case "expand": {
          const own = `tenant_id = ${state.tenant()}`
          const expand = `orders(filter: "${own}", order_by: "${order}", page_size: 10)`
          return get(state, `/users?${query({ filter: own, page_size: 50, expand })}`)
        }
        case "related":
          return lines(state, { filter: `product.category = "${state.category()}"`, order_by: "id" })
        case "sorted":
          return lines(state, sorted)
        case "sortedDeep":
          return lines(state, { ...sorted, page_token: state.lineToken })
        case "exists":
          return list(state, { filter: `lines.product_id = ${state.product()}` })
        case "relatedGroups": {
          const { from, to } = state.lines(cheap)
          return get(
            state,
            `/lines:aggregate?${
              query({
                group_by: "product.category",
                measures: "count,sum(quantity)",
                order_by: "sum(quantity) desc",
                filter: `id >= ${from} AND id < ${to}`
              })
            }`
          )
        }
        case "patch": {
          const id = state.changed(slot)
          return send(state, "PATCH", `/orders/${id}`, { note: state.note() }, { "If-Match": state.etags.get(id) })
        }
        case "create":
          return send(state, "POST", "/orders", state.order())
        case "batch":
          return send(state, "POST", ":batchWrite", {
            ops: state.orders(cheap).map((data) => ({ op: "create", resource: "orders", data }))
          })
      }
    },
    record: (id) => `${base}/orders/${id}`,
    walk: async (state, kinds) => {
      if (kinds.includes("deep")) state.token = await walked(state, (more) => list(state, more))
      if (kinds.includes("sortedDeep")) {
        state.lineToken = await walked(state, (more) => lines(state, { ...sorted, ...more }))
      }
    }
  }
})()

/** The plain API of hand-written references. One that is brought along may lack the cases named. */
export const referenceDialect = (name: string, lacks: readonly Case[]): Dialect => {
  const filter = { status: filterStatus, min_total: filterTotal }
  const get = (state: State, path: string, caller: keyof typeof callers = "admin"): Request => ({
    method: "GET",
    path,
    headers: bearer(state, caller)
  })
  const send = (state: State, method: "POST" | "PATCH", path: string, body: unknown, headers = {}): Request => ({
    method,
    path,
    headers: { ...bearer(state), ...headers },
    body: JSON.stringify(body)
  })
  return {
    name,
    request: (kind, state, slot, cheap = false) => {
      if (lacks.includes(kind)) return null
      switch (kind) {
        case "get":
          return get(state, `/orders/${state.id()}`)
        case "list":
          return get(state, `/orders?${query(filter)}`)
        case "deep": {
          const { createdAt, id } = state.world.deep
          return get(
            state,
            `/orders?${query({ ...filter, after: Buffer.from(`${createdAt},${id}`).toString("base64url") })}`
          )
        }
        case "count":
          return get(state, `/orders?${query({ ...filter, ...cheap ? { status: rareStatus } : {}, count: "exact" })}`)
        case "own":
          return get(state, `/orders?${query(filter)}`, "seller")
        case "facets":
          return get(state, `/orders/facets?${query({ from: facetsStart(cheap) })}`)
        case "series":
          return get(state, `/orders/series?${query({ from: seriesStart(cheap), to: seriesEnd })}`)
        case "groups":
          return get(state, `/orders/groups?${query({ from: seriesStart(cheap), to: seriesEnd, least: 1000 })}`)
        case "search":
          return get(state, `/orders/search?${query({ q: state.word(cheap) })}`)
        case "seek":
          return get(state, `/orders/seek?${query({ position: state.row(cheap) })}`)
        case "expand":
          return get(state, `/users?${query({ tenant: state.tenant() })}`)
        case "related":
          return get(state, `/lines?${query({ category: state.category() })}`)
        case "sorted":
          return get(state, "/lines/sorted")
        case "sortedDeep":
          return get(state, `/lines/sorted?${query(state.world.line)}`)
        case "exists":
          return get(state, `/orders/exists?${query({ product: state.product() })}`)
        case "relatedGroups":
          return get(state, `/lines/groups?${query(state.lines(cheap))}`)
        case "patch": {
          const id = state.changed(slot)
          return send(state, "PATCH", `/orders/${id}`, { note: state.note() }, { "If-Match": state.etags.get(id) })
        }
        case "create":
          return send(state, "POST", "/orders", state.order())
        case "batch":
          return send(state, "POST", "/orders/batch", { ops: state.orders(cheap) })
      }
    },
    record: (id) => `/orders/${id}`,
    // Its tokens say in plain text where they stand.
    walk: () => Promise.resolve()
  }
}
