/** A service with versions, changes, functions and second factors, for the client to call from Node and from a browser. */

import { defineConfig, defineFunction, defineResource, f, history } from "../../composition/index.ts"

const notes = defineResource("notes", {
  table: "notes",
  primaryKey: "id",
  fields: {
    id: f.integer().bits(64).readOnly().dbDefault(),
    text: f.text().filterable(),
    secret: f.text().optional().sensitive()
  },
  events: { created: true, updated: true, deleted: true }
})

export const config = defineConfig({
  resources: [notes],
  functions: {
    greet: defineFunction({ roles: true, run: (input, { caller }) => ({ input, user: caller().id }) })
  },
  auth: { twoFactor: true },
  extends: [history({ resources: ["notes"] })]
})

export const schema =
  "create table notes (id bigint generated always as identity primary key, text text not null, secret text)"

export type Whole = typeof config
