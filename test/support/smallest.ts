/** The smallest project: one table and accounts. Nothing else is declared, so its database has no queue, no history and no events. */

import { defineConfig, defineResource, f } from "../../composition/index.ts"

export const smallest = defineConfig({
  resources: [
    defineResource("notes", {
      primaryKey: "id",
      fields: { id: f.integer().readOnly().dbDefault().filterable().sortable(), title: f.text() }
    })
  ]
})

/** Its table, with one record. */
export const smallestSchema = `
  create table notes (id integer generated always as identity primary key, title text not null);
  insert into notes (title) values ('First');
`
