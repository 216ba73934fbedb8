/** What the OpenAPI document tells admins of the audit: its entries in pages. Nobody else sees this path. */

import { auditActs, auditGroups, auditKinds, mostSearchedEntries } from "../audit/entry.ts"
import { headersOf, jsonContent, refusals } from "./openapi-resource.ts"
import { closedObject, type Doc } from "./openapi-schema.ts"

const text: Doc = { type: "string" }
const orNull = (schema: Doc): Doc => ({ anyOf: [schema, { type: "null" }] })
const whole = (properties: { readonly [name: string]: Doc }): Doc => closedObject(properties, Object.keys(properties))

const entry = whole({
  id: text,
  at: { type: "string", format: "date-time" },
  act: { enum: auditActs },
  who: {
    ...orNull(whole({ id: text, name: orNull(text) })),
    description: "Who did it, with the name of that time. Null: nobody who is known, such as a program on the host."
  },
  key: { ...orNull(text), description: "The id of the API key that was used." },
  subject: {
    ...orNull(whole({ kind: { enum: auditKinds }, id: text, name: orNull(text) })),
    description: "What it was done to. Null: nothing, or a resource that you do not see."
  },
  details: {
    type: "object",
    description:
      "More about it: texts, numbers and lists of texts, such as the names of changed fields, or roles before and after.",
    additionalProperties: {
      anyOf: [{ type: ["string", "number", "boolean", "null"] }, { type: "array", items: text }]
    }
  },
  request: { ...orNull(text), description: "The id of the request, as `X-Request-Id` and the log have it." }
})

/** The path beside `/api/jobs`. */
export const auditPath = (parent: string, tag: string): Doc => {
  const query = (name: string, description: string, schema: Doc): Doc => ({
    name,
    in: "query",
    required: false,
    description,
    schema
  })
  return {
    [`${parent}/audit`]: {
      get: {
        operationId: "audit.list",
        tags: [tag],
        summary: "Who did what, newest first",
        parameters: [
          query("who", "Only what this user did, by id.", { type: "string", maxLength: 200 }),
          query("what", `One act, or all of a group: ${auditGroups.join(", ")}.`, {
            enum: [...auditGroups, ...auditActs]
          }),
          query("since", "From this time on.", { type: "string", format: "date-time" }),
          query("until", "Before this time.", { type: "string", format: "date-time" }),
          query(
            "search",
            `A part of a name or id of who did it or of what it was done to, ignoring case; or the whole id of a request or key. The next ${mostSearchedEntries} entries are searched.`,
            { type: "string", maxLength: 200 }
          ),
          query("page_size", "0 or absent: 50. At most 500.", { type: "integer", minimum: 0 }),
          query("page_token", "`next_page_token` of the page before.", text)
        ],
        responses: {
          "200": {
            description: "A page.",
            headers: headersOf(),
            content: jsonContent(whole({ entries: { type: "array", items: entry }, next_page_token: orNull(text) }))
          },
          ...refusals(400, 401, 403)
        }
      }
    }
  }
}
