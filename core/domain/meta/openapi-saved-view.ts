/** What the OpenAPI document tells of saved views: everybody with a credential has them. */

import { ownNameMax } from "../own-name.ts"
import { headersOf, jsonContent, refusals } from "./openapi-resource.ts"
import { anyObject, closedObject, type Doc, ref } from "./openapi-schema.ts"

const text: Doc = { type: "string" }

const values: { readonly [member: string]: Doc } = {
  name: { ...text, minLength: 1, maxLength: ownNameMax },
  filter: { ...text, maxLength: 10_000 },
  order_by: { ...text, maxLength: 1_000 },
  columns: { type: "array", items: text, maxItems: 200 },
  chart: {
    anyOf: [anyObject, { type: "null" }],
    description: "`{ of, field }` with the parameters of `:series`, `:histogram` or `:facets`."
  },
  layout: {
    anyOf: [anyObject, { type: "null" }],
    description:
      "`{ of }`, where `of` is `list`, `board`, `calendar` or `gallery`, with the fields that records are laid out by."
  },
  shared_with: {
    anyOf: [{ const: "me" }, { type: "array", items: text, minItems: 1, maxItems: 20 }],
    description: "`me`, or the roles whose holders see it. Only admins name roles that they do not have."
  }
}

const view = closedObject(
  {
    id: text,
    resource: text,
    ...values,
    owner: { ...text, description: "The user's id." },
    incomplete: { type: "boolean", description: "Something was left out that the caller may not see." },
    etag: ref("schemas", "EntityTag")
  },
  ["id", "resource", ...Object.keys(values), "owner", "incomplete", "etag"]
)

const id: Doc = { name: "id", in: "path", required: true, schema: text }

/** The paths below `/api/saved-views`. */
export const savedViewPaths = (parent: string, tag: string): Doc => ({
  [`${parent}/saved-views`]: {
    get: {
      operationId: "savedViews.list",
      tags: [tag],
      summary: "Saved views of the caller, and those shared with them",
      parameters: [
        { name: "resource", in: "query", required: false, description: "Only views of this resource.", schema: text }
      ],
      responses: {
        "200": {
          description: "The caller's own first, each part by name; at most 500.",
          headers: headersOf(),
          content: jsonContent(closedObject({ items: { type: "array", items: view } }, ["items"]))
        },
        ...refusals(400, 401)
      }
    },
    post: {
      operationId: "savedViews.create",
      tags: [tag],
      summary: "Saves a view",
      requestBody: {
        required: true,
        content: jsonContent(closedObject({ resource: text, ...values }, ["resource", "name"]))
      },
      responses: {
        "201": { description: "The view.", headers: headersOf("ETag", "Location"), content: jsonContent(view) },
        ...refusals(400, 401, 409, 413, 415)
      }
    }
  },
  [`${parent}/saved-views/{id}`]: {
    parameters: [id],
    patch: {
      operationId: "savedViews.update",
      tags: [tag],
      summary: "Changes a saved view: its owner, or an admin where it is shared",
      parameters: [ref("parameters", "If-Match-Required")],
      requestBody: { required: true, content: jsonContent(closedObject(values, [])) },
      responses: {
        "200": { description: "The view.", headers: headersOf("ETag"), content: jsonContent(view) },
        ...refusals(400, 401, 403, 404, 409, 412, 413, 415, 428)
      }
    },
    delete: {
      operationId: "savedViews.delete",
      tags: [tag],
      summary: "Removes a saved view: its owner, or an admin where it is shared",
      parameters: [ref("parameters", "If-Match")],
      responses: { "204": ref("responses", "204"), ...refusals(400, 401, 403, 404, 412) }
    }
  }
})
