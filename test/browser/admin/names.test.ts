// Records are called by names where nobody declared a title: in lists, headings, pickers, filters, the palette and joins.
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { defineConfig, defineResource, defineView, f } from "../../../composition/index.ts"
import { openDatabase } from "../../support/postgres.ts"
import { chromiumPath } from "../chromium.ts"
import { goWithin } from "./pages/app.ts"
import { opener, type Stage, startStage } from "./stage.ts"

const id = () => f.integer().readOnly().dbDefault().filterable().sortable()

const customers = defineResource("customers", {
  primaryKey: "id",
  fields: {
    id: id(),
    first_name: f.text().max(40).filterable().searched(),
    last_name: f.text().max(40).filterable(),
    city: f.text().max(40).filterable()
  }
})
const genres = defineResource("genres", {
  primaryKey: "id",
  fields: { id: id(), label: f.text().max(40).filterable() }
})
const orders = defineResource("orders", {
  primaryKey: "id",
  fields: {
    id: id(),
    customer_id: f.relation("customers").filterable(),
    note: f.text().optional().searched()
  }
})
const tastes = defineResource("tastes", {
  primaryKey: ["customer_id", "genre_id"],
  fields: {
    customer_id: f.relation("customers").filterable(),
    genre_id: f.relation("genres").filterable(),
    rank: f.integer()
  }
})
const staff = defineResource("staff", {
  primaryKey: "id",
  fields: { id: id(), given: f.text().max(40), family: f.text().max(40), born: f.date().optional() }
})

const config = defineConfig({
  resources: [customers, genres, orders, tastes, staff],
  views: [defineView(staff, { title: "{family}, {given} ({born})" })]
})

const schema = `
  create table customers (id integer generated always as identity primary key, first_name varchar(40) not null, last_name varchar(40) not null, city varchar(40) not null);
  create table genres (id integer generated always as identity primary key, label varchar(40) not null);
  create table orders (id integer generated always as identity primary key, customer_id integer not null references customers, note text);
  create table tastes (customer_id integer references customers, genre_id integer references genres, rank integer not null, primary key (customer_id, genre_id));
  create table staff (id integer generated always as identity primary key, given varchar(40) not null, family varchar(40) not null, born date);
  create index on orders (customer_id); create index on tastes (genre_id);
  insert into customers (first_name, last_name, city) values ('Tara', 'Albrecht', 'Kiel'), ('Ann', 'Lee', 'Oslo'), ('Ann', 'Lee', 'Rome');
  insert into genres (label) values ('Jazz');
  insert into orders (customer_id, note) values (1, 'a remark'), (2, null);
  insert into tastes values (1, 1, 5);
  insert into staff (given, family, born) values ('Mira', 'Voss', '1990-02-03'), ('Bo', 'Rask', null);
`

let stage: Stage
beforeAll(async () => {
  if (chromiumPath !== null) stage = await startStage({ project: { config, database: await openDatabase(schema) } })
})
afterAll(() => stage?.stop())
const using = opener(() => stage, () => [])

describe.skipIf(chromiumPath === null)("names instead of numbers", () => {
  it("stand in cells and headings, and a remark is no name", () =>
    using({}, async (page) => {
      await page.goto(`${stage.url}/orders`)
      await page.getByRole("link", { name: "Tara Albrecht" }).waitFor()
      expect(await page.getByRole("main").innerText()).not.toMatch(/#\d/)
      for (
        const [path, heading] of [
          ["customers/1", "Tara Albrecht"],
          ["orders/1", "#1"],
          ["tastes/1,1", "Tara Albrecht · Jazz"],
          ["staff/1", "Voss, Mira (1990-02-03)"],
          ["staff/2", "Rask, Bo"]
        ] as const
      ) {
        await goWithin(page, `/${path}`)
        await page.getByRole("heading", { name: heading, exact: true }).waitFor()
      }
    }))

  it("stand in filters", () =>
    using({}, async (page) => {
      await page.goto(`${stage.url}/orders?filter=${encodeURIComponent("customer_id = 1")}`)
      await page.getByRole("button", { name: /^Customer\s*is\s*Tara Albrecht$/ }).waitFor()
    }))

  it("are told apart in a picker, and found by the palette", () =>
    using({}, async (page) => {
      await page.goto(`${stage.url}/orders/new`)
      const picker = page.getByRole("combobox", { name: /^Customer/ })
      await picker.click()
      await picker.fill("Ann")
      await expect.poll(() => page.getByRole("option").allInnerTexts()).toEqual([
        expect.stringMatching(/^Ann Lee\s+Oslo\s+#2$/),
        expect.stringMatching(/^Ann Lee\s+Rome\s+#3$/)
      ])
      await page.getByRole("option", { name: /Rome/ }).click()
      await expect.poll(() => picker.inputValue()).toBe("Ann Lee")
      await page.keyboard.press("Escape")
      await page.getByRole("button", { name: /Search or jump to/ }).click()
      await page.getByRole("combobox").last().fill("Tara")
      await page.getByRole("option", { name: /Tara Albrecht/ }).waitFor()
    }))
})
