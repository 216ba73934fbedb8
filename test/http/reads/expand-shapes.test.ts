// Shapes of `expand` and paths of `fields`: what of the related records is answered, under the target's own access, on the records fake and on PostgreSQL.
import { expect, it } from "vitest"
import { where } from "../../../core/domain/access/where.ts"
import { defineConfig } from "../../../core/domain/declare/config.ts"
import { f, relation } from "../../../core/domain/declare/field.ts"
import { defineResource } from "../../../core/domain/declare/resource.ts"
import type { ProblemError } from "../../../core/domain/problem.ts"
import { at } from "../../support/answer.ts"
import type { Query } from "../../support/answer.ts"
import type { Answer, Fixture, TestCaller } from "../../support/composed.ts"
import { onBoth } from "../writes/scenes.ts"

const boss: TestCaller = { id: "u-boss", roles: ["admin"] }
const clerk: TestCaller = { id: "u-clerk", roles: ["clerk"] }
const id = () => f.integer().filterable().sortable()
const onlyBoss = { read: ["admin"] }

const folders = defineResource("folders", {
  primaryKey: "id",
  softDelete: "gone_at",
  fields: {
    id: id(),
    parent_id: f.relation("folders").optional().filterable().as("parent").inverse("children"),
    name: f.text().filterable().sortable(),
    closed: f.boolean().filterable(),
    secret: f.text().optional().filterable().sortable(),
    vault_id: f.relation("vaults").optional().as("vault").inverse("folders"),
    gone_at: f.timestamp().optional()
  },
  access: {
    read: ({ caller }) => caller.roles.includes("admin") || where`closed = false`,
    fields: { secret: onlyBoss, closed: onlyBoss }
  }
})
const papers = defineResource("papers", {
  primaryKey: "id",
  fields: {
    id: id(),
    folder_id: relation(folders).optional().filterable(),
    about_id: f.relation("folders").optional().as("about").inverse(false),
    title: f.text().filterable().sortable(),
    size: f.decimal({ precision: 12, scale: 2 }).optional().filterable().sortable(),
    secret: f.text().optional().filterable().sortable()
  },
  access: {
    read: ({ caller }) => caller.roles.includes("admin") || where`title != "private"`,
    fields: { secret: onlyBoss }
  }
})
const vaults = defineResource("vaults", {
  primaryKey: "id",
  fields: { id: id(), name: f.text() },
  access: { read: ["admin"] }
})

const titles = ["note", "private", "letter", "bill", "=sum"] as const

/** A tree of folders: 1 over 2 and 3, 2 over 4, 4 over 5, 5 over 6; 4 is closed; 8 and 9 are over each other; 10 is deleted. */
const parents: readonly (number | null)[] = [null, 1, 1, 2, 4, 5, null, 9, 8, 1]
const fixture: Fixture = {
  config: defineConfig({ resources: [folders, papers, vaults] }),
  schema: `
    create table vaults (id integer primary key, name text not null);
    create table folders (
      id integer primary key, parent_id integer, name text not null, closed boolean not null, secret text, vault_id integer, gone_at timestamptz
    );
    create table papers (id integer primary key, folder_id integer, about_id integer, title text not null, size numeric(12, 2), secret text);
    create index on folders (parent_id);
    create index on papers (folder_id)`,
  rows: {
    vaults: [{ id: 1, name: "deep" }],
    folders: parents.map((parent_id, i) => ({
      id: i + 1,
      parent_id,
      name: `folder ${i + 1}`,
      closed: i === 3,
      secret: `s${i}`,
      vault_id: i === 0 ? 1 : null,
      gone_at: i === 9 ? "2026-01-01T00:00:00Z" : null
    })),
    papers: Array.from({ length: 40 }, (_, i) => ({
      id: i + 1,
      folder_id: i === 39 ? null : [1, 1, 1, 2, 4][i % 5]!,
      // Some are about a closed folder, a deleted one, or one that is not there.
      about_id: [3, 4, null, 10, 7, 99, 1][i % 7]!,
      title: titles[i % 7] ?? `paper ${i}`,
      size: i % 4 === 0 ? null : `${i}.50`,
      secret: `p${i}`
    }))
  }
}

type Item = { readonly [name: string]: unknown }

onBoth("shapes of expand", () => fixture, (use) => {
  const list = (resource: string, query: Query = {}, caller: TestCaller = boss): Promise<Answer> =>
    use().get(caller, at(resource, query))
  const items = (answer: Answer): readonly Item[] => {
    expect(answer.status, answer.text).toBe(200)
    return answer.json["items"] as unknown as readonly Item[]
  }
  /** The records of a list, without permissions. */
  const records = async (resource: string, query: Query, caller: TestCaller = boss): Promise<readonly Item[]> =>
    items(await list(resource, { page_size: 500, ...query }, caller)).map(({ permissions: _permissions, ...item }) =>
      item
    )
  /** What `expand` answers of each folder. */
  const expanded = async (expand: string, query: Query = {}, caller: TestCaller = boss): Promise<Map<unknown, Item>> =>
    new Map(
      items(await list("folders", { expand, ...query }, caller)).map((item) => [item["id"], item["expand"] as Item])
    )
  const refusal = async (expand: string, query: Query = {}, caller: TestCaller = boss, resource = "folders") => {
    const answer = await list(resource, { ...(expand === "" ? {} : { expand }), ...query }, caller)
    expect([answer.status, answer.json["type"]], answer.text).toEqual([400, "urn:service:problem:invalid-parameter"])
    return answer.json.errors![0]! as unknown as ProblemError
  }

  it("answers the first records of each parent, and whether there are more", async () => {
    for (const caller of [boss, clerk]) {
      for (const filter of ["", "size > 10"]) {
        for (
          const order of [
            "",
            "title desc",
            "size,title",
            "about.name desc",
            "about.parent.id, title desc",
            "size,about.name"
          ]
        ) {
          const shape = `page_size: 2, filter: "${filter}", order_by: "${order}"`
          for (const [folder, expand] of await expanded(`papers(${shape})`, {}, caller)) {
            const own = `folder_id = ${String(folder)}${filter === "" ? "" : ` AND ${filter}`}`
            const all = await records("papers", { filter: own, order_by: order }, caller)
            expect(expand, `${String(folder)} ${shape}`).toEqual({
              papers: { items: all.slice(0, 2), more: all.length > 2 }
            })
          }
        }
      }
    }
  })

  it("takes filter, order and fields without a page, and answers a plain list then", async () => {
    const found = await expanded("papers(filter: \"size > 10\", order_by: \"size desc\", fields: \"title, size\")")
    for (const [folder, { papers: given }] of found) {
      const filter = `folder_id = ${String(folder)} AND size > 10`
      expect(given).toEqual(
        await records("papers", { filter, order_by: "size desc", fields: "title,size" })
      )
    }
    const [paper] = items(await list("papers", { filter: "id = 1", expand: "folder(fields: \"name\")" }))
    expect(Object.keys((paper!["expand"] as { readonly folder: Item }).folder)).toEqual(["name", "etag"])
    const none = items(await list("papers", { filter: "id = 1", expand: "folder(filter: \"name = x\")" }))
    expect(none[0]!["expand"]).toEqual({ folder: null })
  })

  it("sorts all related records, and levels of a tree, through relations", async () => {
    for (const caller of [boss, clerk]) {
      for (const [folder, expand] of await expanded("papers(order_by: \"about.name desc\")", {}, caller)) {
        const all = await records(
          "papers",
          { filter: `folder_id = ${String(folder)}`, order_by: "about.name desc" },
          caller
        )
        expect(expand, String(folder)).toEqual({ papers: all })
      }
    }
    const ids = (found: Map<unknown, Item>) => (found.get(1)!["children"] as readonly Item[]).map((item) => item["id"])
    const tree = "children(depth: 2, fields: \"id\", order_by: \"parent.name, id desc\")"
    expect(ids(await expanded(tree))).toEqual([3, 2])
  })

  it("counts without rows, and only what the caller sees", async () => {
    for (const caller of [boss, clerk]) {
      for (const filter of ["", "size > 10"]) {
        const shape = filter === "" ? "count" : `count, filter: "${filter}"`
        for (const [folder, expand] of await expanded(`papers(${shape}), children(count)`, {}, caller)) {
          const own = `folder_id = ${String(folder)}${filter === "" ? "" : ` AND ${filter}`}`
          const below = `parent_id = ${String(folder)}`
          expect(expand).toEqual({
            papers: { count: (await records("papers", { filter: own }, caller)).length },
            children: { count: (await records("folders", { filter: below }, caller)).length }
          })
        }
      }
    }
  })

  it("follows a relation of a resource to itself, down and up", async () => {
    type Node = {
      readonly id: number
      readonly expand?: { readonly children?: readonly Node[]; readonly parent?: Node }
    }
    const down = (nodes: readonly Node[]): string =>
      nodes.map(({ expand, id }) => expand?.children === undefined ? id : `${id}(${down(expand.children)})`).join(" ")
    const up = (node: Node | null): string =>
      node === null ? "-" : node.expand === undefined ? String(node.id) : `${node.id} ${up(node.expand.parent ?? null)}`
    const tree = async (depth: number, folder: number, caller = boss) => {
      const found = await expanded(`children(depth: ${depth})`, {}, caller)
      return down(found.get(folder)!["children"] as readonly Node[])
    }
    expect(await tree(1, 1)).toBe("2 3")
    expect(await tree(3, 1)).toBe("2(4(5)) 3()")
    expect(await tree(10, 1)).toBe("2(4(5(6()))) 3()")
    expect(await tree(10, 7)).toBe("")
    // The folder in between is not there for the clerk, and so nothing below it.
    expect(await tree(10, 1, clerk)).toBe("2() 3()")
    expect(await tree(3, 8)).toBe("9(8(9))")
    const above = await expanded("parent(depth: 10, fields: \"id\")")
    expect(up(above.get(6)!["parent"] as Node)).toBe("5 4 2 1 -")
    expect(up(above.get(1)!["parent"] as Node | null)).toBe("-")
    const own = await expanded("parent(depth: 10, fields: \"id\")", {}, clerk)
    expect(up(own.get(6)!["parent"] as Node)).toBe("5 -")
  })

  it("goes on from each level of a tree, and filters each", async () => {
    const found = await expanded("children(depth: 2, filter: \"id != 3\", fields: \"id\").papers(count)")
    const etag: unknown = expect.any(String)
    const count = async (folder: number) => ({
      count: (await records("papers", { filter: `folder_id = ${folder}` })).length
    })
    expect(found.get(1)!["children"]).toEqual([{
      id: 2,
      etag,
      expand: {
        children: [{ id: 4, etag, expand: { papers: await count(4) } }],
        papers: await count(2)
      }
    }])
  })

  it("nests four deep, with a shape on each step", async () => {
    const expand =
      "folder(fields: \"id\").parent(fields: \"id\").children(order_by: \"id desc\", page_size: 1, fields: \"id\")" +
      ".papers(fields: \"id\", page_size: 2)"
    const [paper] = items(await list("papers", { filter: "folder_id = 4", page_size: 1, expand }))
    const etag: unknown = expect.any(String)
    const folder = (id: number, expand: Item) => ({ id, etag, expand })
    expect(paper!["expand"]).toEqual({
      folder: folder(4, {
        parent: folder(2, {
          children: {
            items: [folder(4, { papers: { items: [{ id: 5, etag }, { id: 10, etag }], more: true } })],
            more: false
          }
        })
      })
    })
  })

  it("works on get and :search, and leaves page tokens alone", async () => {
    const expand = "papers(page_size: 1)"
    const whole = (await expanded(expand)).get(1)
    expect((await list("folders/1", { expand })).json["expand"]).toEqual(whole)
    const searched = await use().call(boss, "POST", at("folders:search"), {
      body: { filter: "id = 1", expand: [expand] }
    })
    expect(items(searched)[0]!["expand"]).toEqual(whole)
    const first = await list("folders", { page_size: 1, expand })
    const next = await list("folders", {
      page_size: 1,
      expand: "papers(count)",
      page_token: first.json["next_page_token"] as unknown as string
    })
    expect(items(next).map((item) => [item["id"], Object.keys(item["expand"] as Item)])).toEqual([[2, ["papers"]]])
  })

  it("is one statement a relation and page", async () => {
    const { fake } = use()
    if (fake === null) return
    const statements = async (query: Query): Promise<readonly string[]> => {
      const before = fake.calls.length
      items(await list("folders", { page_size: 500, ...query }))
      return fake.calls.slice(before).filter((name) => name === "page" || name === "related")
    }
    expect(await statements({ expand: "papers(page_size: 3)" })).toEqual(["page", "related"])
    expect(await statements({ expand: "papers(count),children(depth: 5).papers(page_size: 1)" }))
      .toEqual(["page", "related", "related", "related"])
    expect(await statements({ fields: "id,parent.name,parent.parent.name" })).toEqual(["page", "page", "page"])
  })

  it("reads fields of related records by paths", async () => {
    const etag: unknown = expect.any(String)
    const answer = await list("papers", { filter: "id = 16", fields: "title,folder.name,folder.parent.name" })
    expect(items(answer)).toMatchObject([{
      title: "private",
      expand: { folder: { name: "folder 1", etag, expand: { parent: null } } }
    }])
    expect(Object.keys(items(answer)[0]!)).toEqual(["title", "etag", "permissions", "expand"])
    const only = await list("papers", { filter: "id = 16", fields: "folder.name" })
    expect(Object.keys(items(only)[0]!)).toEqual(["etag", "permissions", "expand"])
    const both = await list("papers", { filter: "id = 16", fields: "id,folder.name", expand: "folder(fields: \"id\")" })
    expect(items(both)[0]!["expand"]).toEqual({ folder: { id: 1, name: "folder 1", etag } })
    const many = await list("folders", { filter: "id = 2", fields: "papers.id" })
    const ids = (await records("papers", { filter: "folder_id = 2", fields: "id" })).map(({ id }) => id)
    expect(items(many)[0]!["expand"]).toEqual({ papers: ids.map((id) => ({ id, etag })) })
  })

  it("answers no 304 where related records are in the answer", async () => {
    const plain = await list("papers/1")
    for (const query of [{ fields: "folder.name" }, { expand: "folder(fields: \"name\")" }]) {
      const answer = await use().get(boss, at("papers/1", query), { "if-none-match": plain.headers.get("etag")! })
      expect([answer.status, answer.headers.get("cache-control")]).toEqual([200, "no-store"])
    }
  })

  it("exports columns through relations to one", async () => {
    const query = { fields: "folder.name,id,folder.parent.id,size", filter: "id <= 5 OR id = 40" }
    const csv = async (caller: TestCaller) => (await list("papers:export", query, caller)).text.replace("\uFEFF", "")
    expect(await csv(boss)).toBe(
      "folder.name,id,folder.parent.id,size\r\nfolder 1,1,,\r\nfolder 1,2,,1.50\r\nfolder 1,3,,2.50\r\nfolder 2,4,1,3.50\r\n" +
        "folder 4,5,2,\r\n,40,,39.50\r\n"
    )
    // The paper is there; its folder is not.
    expect(await csv(clerk)).toContain("\r\n,5,,\r\n")
    const lines = await list("papers:export", { ...query, format: "ndjson", filter: "id = 4" })
    expect(lines.text).toBe(
      "{\"id\":4,\"size\":\"3.50\",\"expand\":{\"folder\":{\"name\":\"folder 2\",\"expand\":{\"parent\":{\"id\":1}}}}}\n"
    )
    const path = await list("papers:export", { fields: "folder.name", format: "ndjson", filter: "id = 4" })
    expect(path.text).toBe("{\"expand\":{\"folder\":{\"name\":\"folder 2\"}}}\n")
    const formula = await list("papers:export", { fields: "id,folder.name", filter: "id = 40", format: "csv" })
    expect(formula.text).toContain("id,folder.name\r\n40,\r\n")
    expect((await refusal("", { fields: "id,papers.id" }, boss, "folders:export")).message).toBe(
      "\"papers\" leads to several records. A path of an export leads to one."
    )
  })

  it.each<readonly [expand: string, message: string, part: string]>([
    ["parent(page_size: 2)", "\"parent\" is one record: page_size, count and order_by are for several.", "2"],
    ["parent(count)", "\"parent\" is one record: page_size, count and order_by are for several.", "count"],
    ["papers(count, fields: \"id\")", "count gives no records: it stands alone or with a filter.", "count"],
    ["papers(count).folder", "count gives no records: it stands alone or with a filter.", "count"],
    ["papers(depth: 2)", "\"papers\" does not lead to the same resource, so it has no depth.", "2"],
    ["children(depth: 2, page_size: 3)", "depth and page_size do not go together.", "3"],
    ["children(depth: 2).children", "depth follows \"children\" already.", "2"],
    ["papers(page_size: 0)", "page_size must be a whole number of at least 1.", "0"]
  ])("refuses %s", async (expand, message, part) => {
    const { message: said, parameter, span } = await refusal(expand)
    expect([said, parameter, expand.slice(span!.start, span!.end)]).toEqual([message, "expand", part])
  })

  it("shows where in the whole parameter an inner text is wrong", async () => {
    for (
      const [expand, part] of [
        ["parent,papers(filter: \"size > \\\"x\\\" AND nope = 1\")", "\\\"x\\\""],
        ["papers(filter: 'title = \"a\" AND nope = 1')", "nope"],
        ["papers(order_by: \"title, nope\")", "nope"],
        ["papers(order_by: \"about.nope\")", "about.nope"],
        ["papers(order_by: \"about.name, folder.name\")", "folder.name"],
        ["children(order_by: \"papers.title\")", "papers.title"],
        ["children.papers(filter: \"regex(title, '[')\")", "regex(title, '[')"]
      ] as const
    ) {
      const { parameter, span } = await refusal(expand)
      expect([parameter, expand.slice(span!.start, span!.end)]).toEqual(["expand", part])
    }
  })

  it("knows nothing hidden, at any depth and in any text", async () => {
    const forms: ReadonlyArray<readonly [string, Query]> = [
      ["vaulT", {}],
      ["parent.vaulT", {}],
      ["papers(page_size: 1).folder.parent.vaulT", {}],
      ["children(depth: 3).vaulT(count)", {}],
      ["vaulT(fields: \"name\")", {}],
      ["papers(fields: \"secreT\")", {}],
      ["papers.folder.children(fields: \"secreT\")", {}],
      ["papers(fields: \"folder.secreT\")", {}],
      ["papers(fields: \"folder.vaulT.name\")", {}],
      ["papers(filter: \"secreT = p1\")", {}],
      ["papers(count, filter: \"secreT = p1\")", {}],
      ["papers.folder(filter: \"secreT = p1\")", {}],
      ["papers(order_by: \"secreT\")", {}],
      ["papers(page_size: 1, order_by: \"secreT desc\")", {}],
      ["papers(order_by: \"about.secreT\")", {}],
      ["papers(page_size: 1, order_by: \"about.vaulT.id\")", {}],
      ["children(depth: 2, filter: \"closeD = true\")", {}],
      ["", { fields: "id,parent.secreT" }],
      ["", { fields: "id,vaulT.name" }],
      ["", { fields: "parent.vaulT.name" }],
      ["", { fields: "papers.secreT" }],
      // Also where the whole record is shown anyway.
      ["papers(fields: \"folder.secreT\"),papers.folder", {}],
      ["parent", { fields: "parent.secreT" }]
    ]
    for (const [expand, query] of forms) {
      const asked = (lower: boolean) => {
        const given = (text: string) =>
          lower ? text.replace("T", "t").replace("D", "d") : text.replace("T", "z").replace("D", "z")
        const all = { ...(expand === "" ? {} : { expand }), ...query }
        return list(
          "folders",
          Object.fromEntries(Object.entries(all).map(([name, text]) => [name, given(String(text))])),
          clerk
        )
      }
      const [hidden, unknown] = await Promise.all([asked(true), asked(false)])
      expect(hidden.status, `${expand} ${hidden.text}`).toBe(400)
      const bare = (answer: Answer) =>
        answer.text.replaceAll(/vaul[tz]/g, "vault").replaceAll(/secre[tz]/g, "secret").replaceAll(
          /close[dz]/g,
          "closed"
        )
      expect(bare(hidden)).toBe(bare(unknown))
      expect(unknown.text).not.toMatch(/vault|secret|closed/)
    }
  })

  it("bounds what it reads before it reads it", async () => {
    const many = await list("papers", { page_size: 40, expand: "folder.papers(page_size: 500).folder" })
    expect(many.status, many.text).toBe(200)
    const { message: bound } = await refusal("papers(page_size: 100000)", { show_deleted: true })
    expect(bound).toBe(
      "This page could have more than 5000 records of \"papers\". Ask for a smaller page, or for a smaller page_size of the relation."
    )
    for (
      const hostile of [
        "papers,".repeat(1_000),
        "papers.".repeat(1_000),
        "papers(".repeat(1_000),
        `papers(filter: "${"(".repeat(1_000)}")`,
        `papers(fields: "${"folder.".repeat(1_000)}id")`,
        "papers(filter: \"size > 1)",
        "papers(filter: 'a\" OR \"')",
        ")))(((",
        "papers(page_size: 99999999999999999999999)"
      ]
    ) {
      expect((await list("folders", { expand: hostile })).status, hostile.slice(0, 40)).toBe(400)
    }
  })
})
