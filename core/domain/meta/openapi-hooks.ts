/**
 * The routes of hooks as the OpenAPI document has them, for admins: they tell senders the address. Who may send is a matter of signatures, of which the
 * document names the headers and nothing else.
 */

import { type Hook, type Hooks, largestBody } from "../hook/declaration.ts"
import { schemeHeaders } from "../hook/signature.ts"
import { headersOf, refusals } from "./openapi-resource.ts"
import type { Doc } from "./openapi-schema.ts"

const idOf = (name: string): string => name.replaceAll("-", "_")

const headersOfHook = ({ verifier }: Hook): readonly Doc[] =>
  verifier.of === "function" ? [] : schemeHeaders[verifier.scheme].map((name) => ({
    name,
    in: "header",
    required: true,
    schema: { type: "string" }
  }))

/** The route of each hook. */
export const hookPaths = (parent: string, hooks: Hooks, tag: string): Doc =>
  Object.fromEntries(
    Array.from(hooks.values(), (hook) => [`${parent}/hooks/${hook.name}`, {
      post: {
        security: [],
        operationId: `receive.${idOf(hook.name)}`,
        tags: [tag],
        summary: hook.description ?? `Takes a message for ${hook.name}`,
        description:
          "Verifies the signature and enqueues a job. The same message is answered alike within 24 hours, and runs once.",
        parameters: headersOfHook(hook),
        requestBody: {
          required: true,
          content: { "*/*": { schema: { description: `At most ${largestBody} bytes, not compressed.` } } }
        },
        responses: {
          "202": { description: "It was taken.", headers: headersOf() },
          ...refusals(400, 401, 404, 413, 415, 429, 431, 503)
        }
      }
    }])
  )
