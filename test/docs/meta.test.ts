/** The reference of the meta document is true: its excerpt is what the example shop answers, and its tables name every member. */

import { afterAll, beforeAll, expect, it } from "vitest"
import type { MetaDocument, MetaField } from "../../core/domain/meta/meta.ts"
import type { TestCaller, TestService } from "../support/composed.ts"
import { examplesOf } from "./blocks.ts"
import { readPage, startShop } from "./shop.ts"

const page = readPage("meta")
const sales: TestCaller = { id: "ann", roles: ["sales"], tenant: "1" }
const admin: TestCaller = { id: "eve", roles: ["admin"], tenant: "1" }

let service: TestService
beforeAll(async () => {
  service = await startShop("")
})
afterAll(() => service.close())

const ask = async (caller: TestCaller = sales): Promise<MetaDocument> =>
  JSON.parse((await service.call(caller, "GET", "/api/meta")).text) as MetaDocument

/** Names in the first column of the table below a heading. */
const named = (heading: string): readonly string[] => {
  const [, text = ""] = page.split(`\n## ${heading}\n`)
  const rows = text.split("\n## ")[0]!.split("\n").filter((line) => line.startsWith("| `"))
  return rows.flatMap((row) => [...row.split("|")[1]!.matchAll(/`(\w+)`/g)].map(([, name]) => name!)).sort()
}

it("the excerpt is part of the answer", async () => {
  const excerpt = JSON.parse(examplesOf("docs/reference/meta.md", "json")[0]!.text) as MetaDocument
  const actual = await ask()
  const { models, ...rest } = excerpt
  expect(actual).toMatchObject(rest)
  expect(models.length).toBeGreaterThan(0)
  for (const { fields, ...model } of models) {
    const found = actual.models.find(({ name }) => name === model.name)
    expect(found).toMatchObject(model)
    for (const field of fields) expect(found!.fields).toContainEqual(field)
  }
})

it("the tables name every member, and no other", async () => {
  const { models, permissions, ...rest } = await ask()
  const keysOf = (values: readonly object[]) => [...new Set(values.flatMap((value) => Object.keys(value)))].sort()
  // Some is for admins only.
  expect(named("The document")).toEqual(keysOf([{ models, permissions, ...rest }, await ask(admin)]))
  expect(named("A model")).toEqual(keysOf(models))
  expect(named("A relation")).toEqual(keysOf(models.flatMap(({ relations }) => relations)))
  expect(named("Permissions")).toEqual(keysOf(Object.values(permissions)))
  // The shop has neither ranges nor types without a kind.
  const further = { of: "date", type: "point" } satisfies Partial<MetaField>
  expect(named("A field")).toEqual(keysOf([...models.flatMap(({ fields }) => fields), further]))
})
