/** What buttons of the admin app do besides writing fields. Each works with the caller's own rights. */

import * as Schema from "effect/Schema"
import { defineFunction } from "resource-admin"
import { messages } from "./resources/messages.ts"

export const functions = {
  /** Called for the messages that somebody selected; their keys come as they stand in addresses. */
  answered: defineFunction({
    description: "Marks messages as done.",
    input: Schema.toStandardSchemaV1(Schema.Struct({ resource: Schema.String, keys: Schema.Array(Schema.String) })),
    roles: ["admin", "sales"],
    run: async ({ keys }, { records }) => {
      for (const key of keys) await records(messages).update(key, { done: true }, "*")
      return { message: keys.length === 1 ? "One message is done" : `${keys.length} messages are done` }
    }
  })
}
