/**
 * The routes of public forms as the OpenAPI document has them: open to everybody, so they stand in every caller's document. They are made of what a
 * visitor may write, and of nothing else.
 */

import type { Access } from "../access/access.ts"
import type { Form } from "../form/form.ts"
import { headersOf, jsonContent, refusals } from "./openapi-resource.ts"
import { anyObject, closedObject, createSchema, type Doc, openObject } from "./openapi-schema.ts"

/** A form, and what a visitor may do with its resource. */
export interface OpenForm {
  readonly form: Form
  /** That of `formAccess`. */
  readonly access: Access
}

const text: Doc = { type: "string" }

const challenge = openObject(
  {
    challenge: { ...text, description: "Good for one submission of this form until it expires." },
    difficulty: {
      type: "integer",
      description: "Zero bits that the SHA-256 of `challenge`, a period and the solution has to begin with."
    },
    expires: { ...text, format: "date-time" }
  },
  ["challenge", "difficulty", "expires"]
)

const proof = closedObject({
  challenge: text,
  solution: { ...text, pattern: "^(0|[1-9][0-9]{0,15})$", description: "A decimal number." }
}, ["challenge", "solution"])

const visible = openObject({
  name: text,
  title: text,
  fields: { type: "array", items: text },
  thanks: text,
  resource: anyObject,
  view: anyObject
}, ["name", "fields", "thanks", "resource", "view"])

/** For everybody. */
const open: Doc = { security: [] }

const idOf = (name: string): string => name.replaceAll("-", "_")

/** The three routes of each form. */
export const formPaths = (parent: string, forms: readonly OpenForm[], tag: string): Doc =>
  Object.fromEntries(forms.flatMap(({ access, form: { name } }) => {
    const path = `${parent}/forms/${name}`
    const answer = (description: string, schema: Doc): Doc => ({
      description,
      headers: headersOf(),
      content: jsonContent(schema)
    })
    const asked = (id: string, summary: string, what: Doc): Doc => ({
      ...open,
      operationId: `${id}.${idOf(name)}`,
      tags: [tag],
      summary,
      responses: { "200": what, ...refusals(404) }
    })
    return [
      [path, {
        get: asked("readForm", `What the form "${name}" asks for`, answer("The form.", visible)),
        post: {
          ...open,
          operationId: `submitForm.${idOf(name)}`,
          tags: [tag],
          summary: `Send the form "${name}"`,
          description: "Creates a record as a visitor. The answer has no data of this or any other record.",
          requestBody: {
            required: true,
            content: jsonContent(closedObject({ values: createSchema(access), proof }, ["values", "proof"]))
          },
          responses: {
            "204": { description: "It was taken.", headers: headersOf() },
            ...refusals(400, 404, 413, 415, 429)
          }
        }
      }],
      [`${path}:challenge`, {
        get: asked(
          "challengeForm",
          `A challenge for the form "${name}"`,
          answer("A new challenge for the bot check.", challenge)
        )
      }]
    ]
  }))
