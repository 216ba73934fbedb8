// Nothing hidden leaves the service: a matrix of routes × roles × names. Every name of a resource is put into every parameter of every route, by every
// role; whatever the role may not see must be nowhere in the answer, and asking for it must be answered byte for byte like asking for nothing.
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { functionNames } from "../../core/domain/filter/parse.ts"
import { nearest } from "../../core/domain/filter/scope.ts"
import type { MetaDocument } from "../../core/domain/meta/meta.ts"
import type { Model } from "../../core/domain/model/model.ts"
import { quickly } from "../support/answer.ts"
import { startService } from "../support/composed.ts"
import type { Answer, Fixture, TestService } from "../support/composed.ts"
import { callers, hiddenFrom, roles, shop } from "../support/shop.ts"
import type { Role } from "../support/shop.ts"

const everyRole = Object.keys(roles) as readonly Role[]

/** The shop with little in the big table: here every row is read thousands of times. */
const smallShop = (): Fixture => {
  const fixture = shop()
  return { ...fixture, rows: { ...fixture.rows, samples: fixture.rows["samples"]!.slice(0, 20) } }
}

/** A record's key that every resource of the fixture has, as a path segment. */
const keyOf: { readonly [resource: string]: string } = {
  lines: "2,plain",
  tags: "plain",
  meta: "00000000-0000-4000-8000-000000000001"
}

interface Probe {
  readonly method: string
  readonly path: string
  readonly body?: object
}

const q = encodeURIComponent

/** Every way in which a name can go into a request about a resource. */
const probes = (resource: string, name: string): readonly Probe[] => {
  const base = `/api/v1/${resource}`
  const key = keyOf[resource] ?? "1"
  const get = (path: string): Probe => ({ method: "GET", path })
  const post = (path: string, body: object): Probe => ({ method: "POST", path, body })
  const filters = [
    `${name} = 1`,
    `${name}:*`,
    `${name} != "abc-0001"`,
    `isNull(${name})`,
    `${name} > 0`,
    `in(${name}, 1, "a")`,
    `regex(${name}, 'ZQ')`,
    `similar(${name}, 'zq')`,
    `NOT (id = 1 OR ${name}:"zq")`,
    `search(${name})`,
    `"${name}"`,
    name,
    `id = ${name}`,
    `${name}(1)`
  ]
  return [
    ...filters.map((filter) => get(`${base}?page_size=2&filter=${q(filter)}`)),
    ...[name, `${name} desc`, `id, ${name}`, `${name} nope`].map((order) =>
      get(`${base}?page_size=2&order_by=${q(order)}`)
    ),
    get(`${base}?page_size=2&fields=${name}`),
    get(`${base}?page_size=2&fields=nothing,${name}`),
    get(`${base}?page_size=2&expand=${name}`),
    get(`${base}?page_size=2&expand=${name}.customer`),
    get(`${base}?page_size=2&expand=customer.${name},order.${name}`),
    get(`${base}?page_size=2&count=${name}`),
    get(`${base}?page_size=2&page_token=${name}`),
    get(`${base}?page_size=${name}&show_deleted=${name}`),
    get(`${base}?${name}=1`),
    post(`${base}:search`, { page_size: 2, filter: `${name}:*`, order_by: name }),
    post(`${base}:search`, { page_size: 2, fields: [name], expand: [name] }),
    post(`${base}:search`, { [name]: 1 }),
    get(`${base}/${key}?fields=${name}`),
    get(`${base}/${key}?expand=${name}`),
    get(`${base}/${name}`),
    get(`${base}:${name}`),
    get(`${base}:facets?field=${name}`),
    get(`${base}:facets?field=id&filter=${name}:1`),
    get(`${base}:histogram?field=${name}`),
    get(`${base}:series?field=${name}&range=all`),
    get(`${base}:series?field=placed_at&range=all&measure=sum:${name}`),
    get(`${base}:series?field=placed_at&range=${name}&granularity=${name}&time_zone=${name}`),
    get(`${base}:seek?position=0&page_size=2&order_by=${name}`),
    get(`${base}:seek?position=${name}`),
    post(base, { [name]: {} }),
    { method: "PATCH", path: `${base}/${key}`, body: { [name]: {} } },
    post("/api/v1:batchWrite", { ops: [{ op: "create", resource, data: { [name]: {} } }] }),
    post("/api/v1:batchWrite", { ops: [{ op: "update", resource, key: "1", etag: "*", data: { [name]: {} } }] }),
    post("/api/v1:batchWrite", { ops: [{ op: "reorder", resource, field: name, keys: ["1"], etags: { 1: "*" } }] }),
    post("/api/v1:batchWrite", { ops: [{ op: "create", resource: name, data: {} }] }),
    get(`/api/v1/${name}`),
    get(`/api/v1/${name}/1`)
  ]
}

const escaped = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")

/** The name as a whole word. */
const word = (name: string, flags = ""): RegExp =>
  new RegExp(name.endsWith(".") ? escaped(name) : `(?<![A-Za-z0-9_])${escaped(name)}(?![A-Za-z0-9_])`, flags)

/** What looks like a token or a tag, decoded. */
const decoded = (text: string): string =>
  (text.match(/[\w-]{20,}/g) ?? []).map((token) => Buffer.from(token, "base64url").toString("latin1")).join("\n")

interface Forbidden {
  readonly names: readonly RegExp[]
  readonly values: readonly RegExp[]
}

const forbiddenFor = (role: Role): Forbidden => ({
  names: hiddenFrom[role].flatMap(({ names }) => names.map((name) => word(name))),
  values: hiddenFrom[role].flatMap(({ values }) => values === null ? [] : [values])
})

/** What an answer tells that it must not. `echo` was sent by the client and may come back in quotes and in `instance`. */
const leaks = (answer: Answer, forbidden: Forbidden, echo: string | null): readonly string[] => {
  // Request ids are random, so that in time one looks like any number.
  const headers = [...answer.headers].filter(([name]) => name !== "x-request-id").map(([name, value]) =>
    `${name}: ${value}`
  ).join("\n")
  const whole = `${headers}\n${answer.text}`
  const unquoted = echo === null
    ? whole
    : whole
      .replace(/"instance":"[^"]*"/, "")
      .replaceAll(new RegExp(`\\\\?"(?:[\\w]+\\.)?${escaped(echo)}(?:\\.\\w+)?\\\\?"`, "g"), "")
  const tokens = decoded(whole)
  return [
    ...forbidden.names.filter((name) => name.test(unquoted) || name.test(tokens)),
    ...forbidden.values.filter((value) => value.test(whole) || value.test(tokens))
  ].map(String)
}

/** Names of a resource, whoever may see them: fields, aliases, columns, relations. */
const namesOf = (model: Model): readonly string[] => [
  ...new Set([
    ...model.columns.flatMap((field) => [field.name, field.column, ...(field.alias === null ? [] : [field.alias])]),
    ...model.relations.keys()
  ])
]

/** A name as long as the other that nothing has and nothing is like. */
const unknownFor = (name: string): string => "zkjwvx".repeat(12).slice(0, name.length)

/** An answer without what differs from one to the next, and with the name replaced. */
const comparable = (answer: Answer, name: string, hints: boolean): unknown => {
  const text = answer.text.replaceAll(word(name, "g"), unknownFor(name))
  return {
    status: answer.status,
    headers: [...answer.headers].filter(([header]) =>
      header !== "x-request-id" && (hints || header !== "content-length")
    ),
    text: (hints ? text : text.replaceAll(/"hint":"(?:[^"\\]|\\.)*"/g, "")).replaceAll(
      /"(next|prev)_page_token":"[^"]+"/g,
      "\"$1\""
    )
  }
}

interface Tally {
  requests: number
  compared: number
}

/** Sends every probe of a role about a resource; fails with the first request that tells too much. */
const sweep = async (
  service: TestService,
  role: Role,
  resource: string,
  extra: readonly string[],
  tally: Tally
): Promise<void> => {
  const caller = callers[role]
  const model = service.compiled.models.get(resource)!
  const document = (await service.get(caller, "/api/meta")).json as unknown as MetaDocument
  const seen = document.models.find(({ name }) => name === resource)
  const visible = new Set(
    seen === undefined
      ? []
      : [
        ...seen.fields.flatMap(({ alias, name }) => alias === undefined ? [name] : [name, alias]),
        ...seen.relations.map(({ name }) => name)
      ]
  )
  const visibleElsewhere = new Set(document.models.map(({ name }) => name))
  const forbidden = forbiddenFor(role)
  for (const name of new Set([...namesOf(model), ...extra])) {
    const hidden = !visible.has(name) && !visibleElsewhere.has(name)
    const hints = nearest(name, [...visible, ...functionNames]) === null
    const replaced = probes(resource, unknownFor(name))
    for (const [i, probe] of probes(resource, name).entries()) {
      const send = ({ body, method, path }: Probe) =>
        service.call(caller, method, path, {
          ...(body === undefined ? {} : { body }),
          ...(method === "PATCH" ? { headers: { "if-match": "*" } } : {})
        })
      const answer = await quickly(() => send(probe))
      tally.requests++
      const at = `${role}: ${probe.method} ${decodeURIComponent(probe.path)} ${JSON.stringify(probe.body ?? "")}`
      if (answer.status === 500) expect.fail(`${at} is a 500`)
      const found = leaks(answer, forbidden, name)
      if (found.length > 0) expect.fail(`${at} tells ${found.join(" ")}: ${answer.text}`)
      if (!hidden) continue
      tally.compared++
      const other = await quickly(() => send(replaced[i]!))
      expect(comparable(answer, name, hints), at).toEqual(comparable(other, name, hints))
    }
  }
}

describe("hidden names and values on the fake", () => {
  let service: TestService
  beforeAll(async () => {
    service = await startService("fake", smallShop())
  })
  afterAll(async () => {
    expect(service.unhandled).toEqual([])
    await service.close()
  })

  it("would be found: what admins see is forbidden to others", async () => {
    for (const path of ["customers", "orders", "lines", "accounts", "feedback", "samples", "vaultzq", "meta"]) {
      const answer = await service.get(callers.admin, `/api/v1/${path}`)
      expect(leaks(answer, forbiddenFor("nobody"), null).length, path).toBeGreaterThan(0)
    }
    const meta = await service.get(callers.admin, "/api/meta")
    for (const role of everyRole) {
      if (role !== "admin") expect(leaks(meta, forbiddenFor(role), null).length, role).toBeGreaterThan(5)
    }
    const token = Buffer.from(JSON.stringify(["zq_code", "1"])).toString("base64url").padEnd(24, "A")
    expect(
      leaks(
        { status: 200, headers: new Headers({ a: token }), text: "", json: undefined as never },
        forbiddenFor("sales"),
        null
      )
    ).toHaveLength(1)
  })

  it.each(everyRole)("%s finds none in whole resources and documents", async (role) => {
    const forbidden = forbiddenFor(role)
    const paths = [
      "/api/meta",
      "/api/openapi.json",
      ...[...service.compiled.models.keys()].flatMap((name) => {
        const key = keyOf[name] ?? "1"
        return ["", "?count=exact", "?show_deleted=true", `/${key}`, ":seek?position=99999"].map((rest) =>
          `/api/v1/${name}${rest}`
        )
      }),
      "/api/v1/orders?expand=customer,lines",
      "/api/v1/orders?expand=customer",
      "/api/v1/customers?expand=orders",
      "/api/v1/customers?expand=account",
      "/api/v1/lines?expand=order.customer"
    ]
    for (const path of paths) {
      const answer = await service.get(callers[role], path)
      expect(answer.status, path).not.toBe(500)
      expect(
        leaks(answer, forbidden, answer.status === 200 ? null : path.split(/[/?:]/)[3] ?? null),
        `${path}: ${answer.text}`
      ).toEqual([])
    }
  })

  it.each(everyRole.filter((role) => role !== "admin"))(
    "%s finds none by asking for every name everywhere",
    async (role) => {
      const tally: Tally = { requests: 0, compared: 0 }
      const visible = ((await service.get(callers[role], "/api/meta")).json as unknown as MetaDocument).models.map((
        { name }
      ) => name)
      for (const [i, resource] of visible.entries()) {
        // Names of other resources once, on the first.
        const elsewhere = i === 0
          ? hiddenFrom[role].flatMap(({ names }) => names).filter((name) => /^\w+$/.test(name))
          : []
        await sweep(service, role, resource, elsewhere, tally)
      }
      if (visible.length > 0) {
        expect(tally.requests).toBeGreaterThan(200)
        expect(tally.compared).toBeGreaterThan(100)
      }
    },
    60_000
  )

  it("keeps values out of the log", () => {
    const values = forbiddenFor("nobody").values
    for (const line of service.log) {
      const { id: _, ms: __, ...rest } = JSON.parse(line) as { readonly [member: string]: unknown }
      for (const value of values) if (value.test(JSON.stringify(rest))) expect.fail(line)
    }
  })
})

describe("hidden names and values on PostgreSQL", () => {
  let service: TestService
  beforeAll(async () => {
    service = await startService("postgres", smallShop())
  })
  afterAll(async () => {
    expect(service.unhandled).toEqual([])
    await service.close()
  })

  it.each<readonly [Role, string]>([["clerk", "lines"], ["sales", "feedback"], ["regional", "accounts"], [
    "auditor",
    "customers"
  ]])(
    "%s finds none by asking for every name of %s",
    async (role, resource) => {
      const tally: Tally = { requests: 0, compared: 0 }
      await sweep(service, role, resource, [], tally)
      expect(tally.compared).toBeGreaterThan(40)
    },
    60_000
  )
})
