/**
 * What somebody cannot see makes no difference to what they are answered: two services hold the same visible data and very different hidden fields,
 * rows and resources, and random requests, writes among them, get the same answers from both, byte for byte. What may differ, because a database keeps
 * it for everybody (unique values, rows that are referred to), is not asked for.
 */

import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { compileOrThrow } from "../../composition/create-admin.ts"
import { historyMigrations } from "../../composition/migrations.ts"
import { where } from "../../core/domain/access/where.ts"
import { defineConfig } from "../../core/domain/declare/config.ts"
import { f, relation } from "../../core/domain/declare/field.ts"
import { history } from "../../core/domain/declare/history.ts"
import { defineResource } from "../../core/domain/declare/resource.ts"
import { defineRoles } from "../../core/domain/declare/roles.ts"
import type { Json } from "../../core/domain/value/kind.ts"
import { property } from "../generators/property.ts"
import type { Random } from "../generators/random.ts"
import { quickly } from "../support/answer.ts"
import { startService } from "../support/composed.ts"
import type { Answer, Fixture, TestCaller, TestService } from "../support/composed.ts"

const id = () => f.integer().bits(64).readOnly().dbDefault().filterable().sortable()
const boss = { read: ["boss"] }

/** Rows by tenant and by a rule over a hidden field, rules over the record, ETags of the readable fields. */
const projects = defineResource("projects", {
  primaryKey: "id",
  tenant: "tenant_id",
  owner: "owner_id",
  softDelete: "deleted_at",
  fields: {
    id: id(),
    owner_id: f.text().filterable().sortable(),
    name: f.text().max(60).filterable().sortable().searched(),
    status: f.enum(["open", "won", "lost"]).filterable().sortable().default("open"),
    rank: f.integer().optional().filterable().sortable(),
    value: f.decimal({ precision: 12, scale: 2 }).optional().filterable().sortable(),
    due: f.date().optional().filterable().sortable(),
    at: f.timestamp().optional().filterable().sortable(),
    budget: f.decimal({ precision: 12, scale: 2 }).optional().filterable().sortable(),
    comment: f.text().optional().filterable().sortable().searched(),
    confidential: f.boolean().default(false).filterable(),
    deleted_at: f.timestamp().optional()
  },
  validate: [({ name }) => name === "bad" ? [{ field: "name", message: "Is bad." }] : null],
  access: {
    read: ({ caller }) =>
      caller.roles.includes("boss")
        ? true
        : caller.roles.includes("staff")
        ? where`confidential = false OR owner_id = caller.id`
        : where`owner_id = caller.id`,
    create: ["boss", "staff"],
    update: ({ caller, record }) =>
      record.status !== "lost" && (caller.roles.includes("staff") || where`owner_id = caller.id`),
    delete: where`status = "open"`,
    fields: {
      budget: boss,
      comment: boss,
      confidential: boss,
      deleted_at: boss,
      rank: { write: ({ record }) => record.status === "open" },
      value: { write: ["boss"] }
    }
  }
})

/** A composite key, a version, relations to resources of every access. */
const tasks = defineResource("tasks", {
  primaryKey: ["project_id", "no"],
  version: "rev",
  fields: {
    project_id: relation(projects).filterable().sortable(),
    no: f.integer().filterable().sortable(),
    title: f.text().filterable().sortable().searched(),
    place: f.integer().default(0).filterable().sortable(),
    person_id: relation("people").optional().filterable(),
    vault_id: relation("vault").optional().filterable().inverse("guarded"),
    cost: f.integer().optional().filterable().sortable(),
    hidden: f.boolean().default(false),
    rev: f.integer()
  },
  access: {
    read: ({ caller }) => caller.roles.includes("boss") || where`hidden = false`,
    create: ["staff"],
    update: ["staff"],
    delete: ["staff"],
    fields: { cost: boss, hidden: boss, vault_id: boss }
  }
})

const people = defineResource("people", {
  primaryKey: "id",
  fields: {
    id: f.text().filterable().sortable(),
    name: f.text().filterable().sortable().searched(),
    salary: f.integer().optional().filterable().sortable()
  },
  access: {
    read: ({ caller }) => caller.roles.includes("boss") || where`id = caller.id OR name = "public"`,
    create: false,
    update: false,
    delete: false,
    fields: { salary: boss }
  }
})

const vault = defineResource("vault", {
  primaryKey: "id",
  fields: { id: id(), word: f.text().filterable() },
  access: { read: ["boss"], create: ["boss"], update: false, delete: false }
})

const configured = () =>
  defineConfig({
    resources: [projects, tasks, people, vault],
    roles: defineRoles({ boss: [], staff: [], own: [] }),
    options: { scanGuard: { mode: "off" } },
    extends: [history({ resources: ["projects"] })]
  })

const tables = `
create table projects (
  id bigint generated by default as identity primary key, tenant_id text not null, owner_id text not null, name text not null,
  status text not null default 'open', rank integer, value numeric(12,2), due date, at timestamptz, budget numeric(12,2), comment text,
  confidential boolean not null default false, deleted_at timestamptz
);
create table people (id text primary key, name text not null, salary integer);
create table vault (id bigint generated by default as identity primary key, word text not null);
create table tasks (
  project_id bigint references projects, no integer, title text not null, place integer not null default 0, person_id text references people,
  vault_id bigint references vault, cost integer, hidden boolean not null default false, rev integer not null default 1,
  primary key (project_id, no)
);
alter table projects alter id restart with 5000;
`

type Row = { readonly [name: string]: Json }

const many = <A>(count: number, make: (index: number) => A): readonly A[] =>
  Array.from({ length: count }, (_, i) => make(i))

/** The rows of a world; `rich`: the one with much to hide. */
const rowsOf = (rich: boolean): Fixture["rows"] => {
  const project = (n: number, more: Row = {}): Row => ({
    id: String(n),
    tenant_id: "t1",
    owner_id: n % 3 === 0 ? "eve" : "ann",
    name: `project ${n % 100}`,
    status: ["open", "won", "lost"][n % 3]!,
    rank: n % 4,
    value: `${n % 100}.50`,
    due: `2026-01-${10 + (n % 15)}`,
    at: `2026-02-${10 + (n % 15)}T0${n % 9}:00:00Z`,
    budget: rich ? `${900 + n}.25` : "1.00",
    comment: rich ? `zebra ${n}` : null,
    confidential: false,
    deleted_at: n % 5 === 0 ? "2026-01-01T00:00:00Z" : null,
    ...more
  })
  const task = (n: number, more: Row): Row => ({
    project_id: String((n % 4) + 1),
    no: n,
    title: `task ${n % 100}`,
    place: n,
    person_id: n % 2 === 0 ? "ann" : "pub",
    vault_id: null,
    cost: rich ? n * 7 : 0,
    hidden: false,
    rev: 1,
    ...more
  })
  return {
    projects: [
      ...many(12, (i) => project(i + 1)),
      ...rich
        ? [
          ...many(
            40,
            (i) =>
              project(100 + i, { owner_id: "zoe", confidential: true, rank: 77, value: "99999.00", due: "2031-01-01" })
          ),
          ...many(40, (i) => project(200 + i, { tenant_id: "t2", rank: 99, at: "2001-01-01T00:00:00Z" }))
        ]
        : []
    ],
    people: [
      ...["ann", "eve"].map((name, i): Row => ({ id: name, name, salary: rich ? 90_000 + i : null })),
      { id: "pub", name: "public", salary: null },
      ...many(rich ? 20 : 0, (i) => ({ id: `p${i}`, name: "project 3", salary: i }))
    ],
    vault: many(rich ? 9 : 0, (i) => ({ id: String(i + 1), word: "project 3" })),
    tasks: [
      ...many(10, (i) => task(i, rich && i % 3 === 0 ? { vault_id: String((i % 9) + 1) } : {})),
      ...many(rich ? 30 : 0, (i) => task(100 + i, { hidden: true, person_id: "p1", place: 1_000 + i }))
    ]
  }
}

const eve: TestCaller = { id: "eve", roles: ["staff"], tenant: "t1" }
const callers: readonly TestCaller[] = [
  eve,
  eve,
  eve,
  eve,
  eve,
  eve,
  { ...eve, roles: ["own"] },
  { ...eve, roles: ["own", "staff", "own"] },
  { ...eve, roles: [] },
  { ...eve, roles: ["__proto__", "constructor", "toString"] },
  { ...eve, tenant: "t3" },
  { id: "eve", roles: ["staff"] }
]

interface Ask {
  readonly method: string
  readonly path: string
  readonly body?: unknown
  readonly headers?: { readonly [name: string]: string }
}

interface Asked {
  readonly shown: readonly string[]
  readonly hidden: readonly string[]
  readonly keys: readonly string[]
  readonly ways: readonly string[]
}

const asked = {
  projects: {
    shown: ["id", "owner_id", "name", "status", "rank", "value", "due", "at"],
    hidden: ["budget", "comment", "confidential", "deleted_at", "tenant_id"],
    keys: ["1", "2", "3", "4", "5", "6", "7", "9", "101", "205", "9999", "5000", "5001"],
    ways: ["tasks", "tasks.person", "tasks.vault"]
  },
  tasks: {
    shown: ["project_id", "no", "title", "place", "person_id", "rev"],
    hidden: ["cost", "hidden", "vault_id"],
    keys: ["1,0", "2,1", "3,2", "1,100", "2,101", "9,9", "1"],
    ways: ["project", "project.tasks", "person", "vault", "person.tasks"]
  },
  people: {
    shown: ["id", "name"],
    hidden: ["salary"],
    keys: ["ann", "eve", "pub", "p1", "no"],
    ways: ["tasks", "tasks.project"]
  },
  vault: { shown: ["id"], hidden: ["word"], keys: ["1", "77"], ways: ["guarded"] },
  projects_history: {
    shown: ["history_id", "history_by", "history_operation", "id", "name", "status", "rank"],
    hidden: ["budget", "confidential"],
    keys: ["1", "2", "3", "50"],
    ways: []
  }
} satisfies { readonly [resource: string]: Asked }

type Resource = keyof typeof asked
const resources: readonly Resource[] = [
  "projects",
  "projects",
  "projects",
  "tasks",
  "tasks",
  "people",
  "vault",
  "projects_history"
]

/** Values that fit the field, of visible rows and of hidden ones. */
const valueFor = (random: Random, field: string): string => {
  if (["due", "at"].includes(field)) {
    return random.pick(["\"2026-01-15\"", "\"2026-02-15T00:00:00Z\"", "\"2031-01-01\"", "null"])
  }
  if (field === "status") return random.pick(["open", "won", "lost"])
  return ["owner_id", "name", "title", "person_id", "comment", "word", "history_by"].includes(field)
    ? random.pick(["\"project 3\"", "\"*3\"", "eve", "zoe", "p1", "\"zebra 3\"", "\"project*\""])
    : random.pick(["1", "3", "77", "99", "1000", "null"])
}

const fieldOf = (random: Random, resource: Resource): string =>
  random.pick(random.chance(10) ? asked[resource].hidden : asked[resource].shown)

const conditionOf = (random: Random, resource: Resource): string => {
  const field = fieldOf(random, resource)
  const value = () => valueFor(random, field)
  return random.pick([
    () => `${field} = ${value()}`,
    () => `${field} != ${value()}`,
    () => `${field} >= ${value()}`,
    () => `NOT ${field} = ${value()}`,
    () => `in(${field}, ${value()}, ${value()})`,
    () => `isNull(${field})`,
    () => `regex(${resource === "tasks" ? "title" : "name"}, '[0-9]$')`,
    () => random.pick(["project", "zebra", "\"task 3\""])
  ])()
}

const filterOf = (random: Random, resource: Resource): string =>
  encodeURIComponent(random.many(0, 3, () => conditionOf(random, resource)).join(random.pick([" AND ", " OR "])))

/** A relation, mostly with a shape; its texts name fields of any resource. */
const wayOf = (random: Random, ways: readonly string[]): string => {
  const other = random.pick(resources)
  const shape = random.pick([
    () => "",
    () => "(count)",
    () => `(count, filter: '${conditionOf(random, other).replaceAll("'", "\"")}')`,
    () => `(page_size: ${random.pick([1, 2])}, order_by: "${fieldOf(random, other)} desc")`,
    () => `(fields: "${fieldOf(random, other)}")`,
    () => `(filter: '${conditionOf(random, other).replaceAll("'", "\"")}')`
  ])()
  const further = random.chance(3) ? `.${random.pick(["project", "tasks", "person", "vault", "guarded"])}(count)` : ""
  return encodeURIComponent(random.pick(ways) + shape + further)
}

/** A body that mostly fits; `ref`: it may refer to what a batch created. */
const bodyOf = (random: Random, resource: Resource, creates: boolean, ref = false): object => {
  const named = (name: string, field: string) => ref && random.chance(3) ? { $ref: "r", field } : name
  const visible: object = resource === "tasks"
    ? {
      ...creates ? { project_id: named(random.pick(["1", "2"]), "id"), no: 500 + random.below(40) } : {},
      title: named("made", random.pick(["name", "name", "budget"])),
      person_id: random.pick(["ann", "pub", "pub", "no"])
    }
    : {
      name: random.pick(["made", "made", "bad", "project 3"]),
      owner_id: random.pick(["eve", "eve", "ann", "zoe"]),
      status: random.pick(["open", "open", "won"]),
      ...random.chance(4) ? { rank: random.below(3) } : {}
    }
  return random.chance(8)
    ? { ...visible, [random.pick(asked[resource].hidden)]: random.pick(["1", true, null]) }
    : visible
}

const operationOf = (random: Random): object => {
  const resource = random.pick(["projects", "projects", "tasks", "tasks", "people"] as const)
  const { keys } = asked[resource]
  const key = random.chance(3) ? { $ref: "r" } : random.pick(keys)
  return random.pick<() => object>([
    () => ({ op: "create", resource, data: bodyOf(random, resource, true, true), ref: "r" }),
    () => ({ op: "update", resource, key, etag: "*", data: bodyOf(random, resource, false, true) }),
    () => ({ op: "delete", resource, key }),
    () => ({
      op: "reorder",
      resource,
      field: random.pick(["rank", "place", "cost"]),
      keys: [key, random.pick(keys)],
      etags: Object.fromEntries(keys.map((each) => [each, "*"]))
    })
  ])()
}

const askOf = (random: Random): Ask => {
  const resource = random.pick(resources)
  const { keys, ways } = asked[resource]
  const base = `/api/v1/${resource}`
  const key = `${base}/${random.pick(keys)}`
  // Writes go mostly to what can be written.
  const target = random.pick<Resource>(["projects", "projects", "tasks", resource])
  const row = `/api/v1/${target}/${random.pick<string>(asked[target].keys)}`
  const dry = random.chance(4) ? "?dry_run=true" : ""
  const headers = {
    ...random.pick<Record<string, string>>([{}, { "if-match": "\"x\"" }, { "if-match": "*" }, { "if-match": "*" }]),
    ...random.pick<Record<string, string>>([{}, { prefer: "return=representation" }, { prefer: "return=minimal" }])
  }
  const page = () =>
    [
      `page_size=${random.pick([1, 3, 50])}`,
      ...random.chance(2) ? [`filter=${filterOf(random, resource)}`] : [],
      ...random.chance(2) ? [`order_by=${fieldOf(random, resource)}${random.pick(["", "%20desc"])}`] : [],
      ...random.chance(3)
        ? [
          `fields=${random.chance(3) ? `${random.pick(["project", "person", "vault", "tasks"])}.` : ""}${
            fieldOf(random, resource)
          }`
        ]
        : [],
      ...random.chance(3) && resource === "projects" ? ["show_deleted=true"] : [],
      ...random.chance(3) && ways.length > 0 ? [`expand=${wayOf(random, ways)}`] : []
    ].join("&")
  const get = (path: string): Ask => ({ method: "GET", path })
  const list = () => get(`${base}?${page()}${random.pick(["", "&count=exact"])}`)
  return random.pick<() => Ask>([
    list,
    list,
    list,
    () => get(`${base}:seek?position=${random.pick([1, 3, 8, 60])}&${page()}`),
    () => get(`${base}:facets?field=${fieldOf(random, resource)}&filter=${filterOf(random, resource)}`),
    () => get(`${base}:histogram?field=${fieldOf(random, resource)}&buckets=3&filter=${filterOf(random, resource)}`),
    () =>
      get(
        random.chance(2)
          ? `${base}:aggregate?group_by=${fieldOf(random, resource)}&measures=count,max(${
            fieldOf(random, resource)
          })&having=${random.pick(["", "count%20%3E%201"])}&filter=${filterOf(random, resource)}`
          : `${base}:series?field=${random.pick(["due", "at"])}&range=all&granularity=month&measure=${
            random.pick(["count", "sum:value", "max:rank"])
          }`
      ),
    () => get(`${key}${random.pick(["", resource === "projects" ? "?show_deleted=true" : ""])}`),
    () => get(random.pick(["/api/meta", "/api/openapi.json"])),
    () => ({ method: random.pick(["HEAD", "PUT"]), path: key }),
    () => ({ method: "POST", path: `/api/v1/${target}${dry}`, body: bodyOf(random, target, true), headers }),
    () => ({ method: "PATCH", path: `${row}${dry}`, body: bodyOf(random, target, false), headers }),
    () => ({ method: "DELETE", path: `${row}${dry}`, headers }),
    () => ({ method: "POST", path: `${row}:undelete${dry}`, headers }),
    () => ({ method: "POST", path: `${row}:restore`, body: { version: random.pick(["1", "2", "3"]) }, headers }),
    () => ({
      method: "POST",
      path: `/api/v1:batchWrite${dry}`,
      body: { ops: random.many(1, 3, () => operationOf(random)) },
      headers
    })
  ])()
}

/** An answer without what is another one each time: ids of requests, tokens (but their lengths), and of versions the instant, which is in their ETags. */
const comparable = (answer: Answer, path: string): string => {
  const versions = path.includes("_history")
  const headers = [...answer.headers].filter(([name]) =>
    name !== "x-request-id" && !(versions && ["etag", "content-length"].includes(name))
  )
  const text = answer.text
    .replaceAll(/"(next|prev)_page_token":"([^"]+)"/g, (_, way: string, token: string) => `"${way}":${token.length}`)
    .replaceAll(versions ? /"history_at":"[^"]*"|"etag":"\\"[^"]*"/g : /"history_at":"[^"]*"/g, "\"\"")
  return JSON.stringify([answer.status, headers, text])
}

describe.each(["fake", "postgres"] as const)("hidden data, %s", (backend) => {
  const worlds: TestService[] = []
  beforeAll(async () => {
    const config = configured()
    const schema = tables + historyMigrations(compileOrThrow(config)).map(({ statements }) => statements).join("\n")
    for (const rich of [false, true]) {
      let last = 5_000
      const defaultOf: NonNullable<Fixture["defaultOf"]> = (_, { column }) =>
        column === "history_at"
          ? "2026-01-01T00:00:00Z"
          : ["id", "history_id"].includes(column)
          ? String(last++)
          : undefined
      worlds.push(await startService(backend, { config, schema, rows: rowsOf(rich), defaultOf }))
    }
  })
  afterAll(async () => {
    for (const world of worlds) {
      await world.close()
      expect(world.unhandled).toEqual([])
    }
  })

  /** The answers of all worlds to one request; with `token`, to the page after theirs. */
  const answersTo = async (caller: TestCaller, { body, headers, method, path }: Ask, before?: readonly Answer[]) => {
    const answers: Answer[] = []
    for (const [i, world] of worlds.entries()) {
      const token = before === undefined ? "" : `&page_token=${before[i]!.json["next_page_token"] as unknown as string}`
      answers.push(
        await quickly(() =>
          world.call(caller, method, path + token, {
            ...body === undefined ? {} : { body },
            ...headers === undefined ? {} : { headers }
          })
        )
      )
    }
    return answers
  }

  const expectSame = (answers: readonly Answer[], caller: TestCaller, ask: Ask): void => {
    const [poor, rich] = answers.map((answer) => comparable(answer, ask.path))
    expect(rich, `${JSON.stringify(caller)} ${JSON.stringify(ask)}`).toBe(poor)
  }

  it("is there to be seen", async () => {
    for (const path of ["projects", "projects/1", "tasks", "people", "vault", "projects:facets?field=rank"]) {
      const ask = { method: "GET", path: `/api/v1/${path}` }
      const [poor, rich] = (await answersTo({ ...eve, roles: ["boss"] }, ask)).map((answer) => comparable(answer, path))
      expect(rich, path).not.toBe(poor)
    }
  })

  const perCase = 20
  let written = 0
  property(
    "makes no difference to anybody else",
    // Both worlds change alike, so that one sequence may begin where another ended.
    {
      asks: (random) => random.many(perCase, perCase, () => ({ caller: random.pick(callers), ask: askOf(random) }), 1)
    },
    { cases: 30, reaches: (runs) => expect(written).toBeGreaterThan(runs * perCase / 50) },
    async ({ asks }) => {
      for (const { ask, caller } of asks) {
        const answers = await answersTo(caller, ask)
        expectSame(answers, caller, ask)
        const { json, status } = answers[0]!
        if (!["GET", "HEAD"].includes(ask.method) && status < 300) written++
        const more = ask.method === "GET" && status === 200 && typeof json["next_page_token"] === "string" &&
          json["next_page_token"] !== ""
        if (more && !ask.path.includes(":seek")) expectSame(await answersTo(caller, ask, answers), caller, ask)
      }
    }
  )
})
