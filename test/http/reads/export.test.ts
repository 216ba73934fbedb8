// `:export` over HTTP, on both backends: what a list shows, as a file; the same refusals as a list; bounds, and what happens when either side leaves.
import { expect, it } from "vitest"
import { makeFetch } from "../../../adapters/http/fetch.ts"
import { defineConfig, defineResource, defineRoles, f, where } from "../../../composition/index.ts"
import { type Fixture, testAuthenticator, type TestCaller, tokenOf } from "../../support/composed.ts"
import { on, onBoth } from "../writes/scenes.ts"

const notes = defineResource("notes", {
  table: "notes",
  primaryKey: "id",
  owner: "owner",
  softDelete: "deleted_at",
  fields: {
    id: f.integer().bits(64).filterable().sortable(),
    title: f.text().filterable().sortable().optional(),
    amount: f.decimal({ precision: 12, scale: 2 }).optional(),
    secret: f.text().filterable().optional(),
    data: f.json().optional(),
    owner: f.text().filterable()
  },
  access: {
    read: ({ caller }) => caller.roles.includes("boss") || (caller.roles.includes("clerk") && where`owner = caller.id`),
    fields: { secret: { read: ["boss"] } }
  }
})

const config = defineConfig({
  resources: [notes],
  roles: defineRoles({ clerk: ["notes.read"], writer: ["notes.create"], boss: ["*"] }),
  options: { scanGuard: { mode: "off" } }
})

const boss: TestCaller = { id: "bob", roles: ["boss"] }
const clerk: TestCaller = { id: "ann", roles: ["clerk"] }

const many = (count: number): Fixture => ({
  config,
  schema:
    "create table notes (id bigint primary key, title text, amount numeric(12,2), secret text, data json, owner text not null, deleted_at timestamptz)",
  rows: {
    notes: [
      { id: "1", title: "=cmd|' /C calc'!A0", amount: "-1.50", secret: "s1", data: { a: [1, "x"] }, owner: "ann" },
      { id: "2", title: "a \"b\", c\nd", amount: null, secret: "s2", data: null, owner: "bob" },
      { id: "3", title: "", amount: "0.10", secret: null, data: null, owner: "ann" },
      {
        id: "4",
        title: null,
        amount: null,
        secret: null,
        data: null,
        owner: "ann",
        deleted_at: "2026-01-01T00:00:00Z"
      },
      ...Array.from({ length: count }, (_, i) => ({ id: String(100 + i), title: `note ${i}`, owner: "bob" }))
    ]
  }
})

const path = "/api/v1/notes:export"

onBoth("exports", () => many(1_203), (use) => {
  it("write a table as spreadsheets read it", async () => {
    const answer = await use().get(clerk, `${path}?fields=title,id,amount,data`)
    expect(answer.status).toBe(200)
    expect(answer.headers.get("content-type")).toBe("text/csv; charset=utf-8; header=present")
    expect(answer.headers.get("content-disposition")).toBe("attachment; filename=\"notes.csv\"")
    expect(answer.headers.get("cache-control")).toBe("no-store")
    expect(answer.text.replace("\uFEFF", "")).toBe(
      "title,id,amount,data\r\n'=cmd|' /C calc'!A0,1,-1.50,\"{\"\"a\"\":[1,\"\"x\"\"]}\"\r\n\"\",3,0.10,\r\n"
    )
    const raw = await use().get(
      boss,
      `${path}?fields=title,id&filter=id<3&formulas=raw&delimiter=semicolon&order_by=id+desc`
    )
    expect(raw.text.replace("\uFEFF", "")).toBe("title;id\r\n\"a \"\"b\"\", c\nd\";2\r\n=cmd|' /C calc'!A0;1\r\n")
  })

  it("write lines of JSON, as the items of a list", async () => {
    const answer = await use().get(boss, `${path}?format=ndjson&filter=id<4&show_deleted=true`)
    expect(answer.headers.get("content-type")).toBe("application/x-ndjson; charset=utf-8")
    const list = await use().get(boss, "/api/v1/notes?filter=id<4&show_deleted=true")
    const items = list.json["items"] as unknown as ReadonlyArray<{ readonly [name: string]: unknown }>
    const lines = answer.text.trimEnd().split("\n").map((line) => JSON.parse(line) as unknown)
    expect(lines).toEqual(items.map(({ etag: _etag, permissions: _permissions, ...rest }) => rest))
    expect(lines).toHaveLength(3)
  })

  it("go through all pages, each row once and in order", async () => {
    const answer = await use().get(boss, `${path}?format=ndjson&fields=id&order_by=title,id`)
    const ids = answer.text.trimEnd().split("\n").map((line) => (JSON.parse(line) as { readonly id: string }).id)
    expect(new Set(ids).size).toBe(1_206)
    expect(ids).toHaveLength(1_206)
    expect(ids.at(0)).toBe("3")
  })

  it("answer an empty table with its head", async () => {
    const answer = await use().get(boss, `${path}?filter=id=0&fields=id`)
    expect(answer.text).toBe("\uFEFFid\r\n".replace("\uFEFF", answer.text.startsWith("\uFEFF") ? "\uFEFF" : ""))
    expect((await use().get(boss, `${path}?filter=id=0&format=ndjson`)).text).toBe("")
  })

  it("refuse as a list does: hidden fields, filters on them, callers who may not read", async () => {
    for (const query of ["fields=secret", "filter=secret=%22s1%22", "order_by=secret"]) {
      const [own, unknown] = await Promise.all([
        use().get(clerk, `${path}?${query}`),
        use().get(clerk, `${path}?${query.replace("secret", "nosuch")}`)
      ])
      expect(own.status).toBe(400)
      expect(own.text.replaceAll("secret", "nosuch")).toBe(unknown.text)
    }
    expect((await use().get(clerk, path)).text).not.toMatch(/secret|s1|bob/)
    expect((await use().get({ id: "wes", roles: ["writer"] }, path)).status).toBe(403)
    expect((await use().get({ id: "eve", roles: [] }, path)).status).toBe(404)
    expect((await use().get(null, path)).status).toBe(401)
    expect((await use().call(boss, "POST", path)).status).toBe(405)
    for (
      const query of [
        "format=xlsx",
        "page_size=3",
        "page_token=x",
        "count=exact",
        "expand=owner",
        "format=ndjson&formulas=raw",
        "delimiter=%7C"
      ]
    ) {
      expect([query, (await use().get(boss, `${path}?${query}`)).status]).toEqual([query, 400])
    }
  })
})

on("postgres", "an export that lasts", () => many(3_000), (use) => {
  const open = (caller: TestCaller, signal?: AbortSignal) =>
    makeFetch(use().edge)(
      new Request(`http://service.test${path}?format=ndjson`, {
        headers: { authorization: `Bearer ${tokenOf(caller)}` },
        ...(signal === undefined ? {} : { signal })
      })
    )

  it("is bounded for each caller, and makes room when a client leaves or has all", async () => {
    const first = await open(boss)
    const second = await open(boss)
    const third = await open(boss)
    expect(third.status).toBe(429)
    expect(third.headers.get("retry-after")).toBe("10")
    expect((await open(clerk)).status).toBe(200)
    const reader = first.body!.getReader()
    await reader.read()
    await reader.cancel()
    const again = await open(boss)
    expect(again.status).toBe(200)
    await again.body!.cancel()
    expect((await second.text()).split("\n")).toHaveLength(3_004)
  })

  it("reads no further than the client takes", async () => {
    const answer = await open({ id: "slow", roles: ["boss"] })
    const reader = answer.body!.getReader()
    const { value } = await reader.read()
    // The first page is there, and the second that was read with it; no more.
    await use().database!.execute("delete from notes where id > 2000")
    let text = new TextDecoder().decode(value)
    for (;;) {
      const next = await reader.read()
      if (next.done) break
      text += new TextDecoder().decode(next.value)
    }
    const ids = text.trimEnd().split("\n").map((line) => Number((JSON.parse(line) as { readonly id: string }).id))
    expect(ids.length).toBeGreaterThan(1_500)
    expect(ids.length).toBeLessThan(2_500)
  })
})

let roles: readonly string[] = ["boss"]
on("postgres", "an export of a caller whose role changes", () => many(3_000), (use) => {
  it("is cut off, and is no defect", async () => {
    const answer = await makeFetch(use().edge)(
      new Request(`http://service.test${path}?format=ndjson`, { headers: { authorization: `Bearer ${tokenOf(boss)}` } })
    )
    const reader = answer.body!.getReader()
    await reader.read()
    roles = ["clerk"]
    await expect((async () => {
      for (;;) if ((await reader.read()).done) return
    })()).rejects.toThrow()
    roles = ["boss"]
  })
}, {
  parts: {
    authenticator: (request) => ({
      ...(testAuthenticator(request) as { readonly user: object }),
      user: { id: "bob", roles }
    })
  }
})
