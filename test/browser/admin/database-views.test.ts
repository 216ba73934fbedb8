// Functions of the database and materialized views in a real browser: arguments above the list, the age of the data, and its refresh.
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { defineConfig } from "../../../core/domain/declare/config.ts"
import { fn } from "../../../core/domain/declare/database-function.ts"
import { f } from "../../../core/domain/declare/field.ts"
import { defineResource } from "../../../core/domain/declare/resource.ts"
import { openDatabase } from "../../support/postgres.ts"
import { chromiumPath } from "../chromium.ts"
import { opener, type Stage, startStage } from "./stage.ts"

const numbers = defineResource("numbers", {
  from: fn("public.numbers", { first: f.integer().label("From"), last: f.integer().default(3) }),
  primaryKey: "n",
  fields: { n: f.integer().sortable(), text: f.text() }
})
const totals = defineResource("totals", {
  materialized: true,
  primaryKey: "id",
  fields: { id: f.integer(), n: f.integer().optional() },
  access: { read: true, refresh: ["admin"] }
})

let stage: Stage
beforeAll(async () => {
  if (chromiumPath === null) return
  stage = await startStage({
    project: {
      config: defineConfig({ resources: [numbers, totals] }),
      database: await openDatabase(`
        create function numbers(first int, last int) returns table (n int, text text) language sql stable
          as $$ select i, 'number ' || i from generate_series(first, last) i $$;
        create materialized view totals as select 1 as id, 2 as n;`)
    }
  })
})
afterAll(() => stage?.stop())

const using = opener(() => stage, () => [])

describe.skipIf(chromiumPath === null)("functions and materialized views", () => {
  it("ask for arguments, keep them in the address, and list the rows without links", async () => {
    await using({}, async (page, sent, quiet) => {
      await page.goto(`${stage.url}/numbers`)
      await page.getByText("Fill in the values above").waitFor()
      await page.getByLabel("From").fill("2")
      await page.getByRole("button", { name: "Show" }).click()
      await page.getByText("number 3").waitFor()
      expect(new URL(page.url()).searchParams.get("args.first")).toBe("2")
      expect(await page.getByText(/^number \d$/).allTextContents()).toEqual(["number 2", "number 3"])
      expect(await page.getByRole("main").getByRole("link", { name: /number/ }).count()).toBe(0)
      await page.getByLabel("Last").fill("5")
      await page.getByRole("button", { name: "Show" }).click()
      await page.getByText("number 5").waitFor()
      await quiet()
      expect(sent.filter((each) => each.includes("numbers:search")).at(-1)).toContain(
        "\"args\":{\"first\":\"2\",\"last\":\"5\"}"
      )
    })
  })

  it("show the age of data, nothing to edit, and a button that has it refreshed", async () => {
    await using({}, async (page, sent, quiet) => {
      await page.goto(`${stage.url}/totals`)
      await page.getByText("Age of the data unknown").waitFor()
      expect(await page.getByRole("link", { name: /New/ }).count()).toBe(0)
      await page.getByRole("button", { name: "Refresh the data" }).click()
      await page.getByText("The data is being refreshed").waitFor()
      await quiet()
      expect(sent.filter((each) => each.includes("/totals:refresh"))).toHaveLength(1)
    })
  })
})
