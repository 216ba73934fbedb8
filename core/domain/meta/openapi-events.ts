/** What the OpenAPI document tells of events: `:watch` of resources that declare some, and the record verbs of the extension `webhooks`. */

import { attemptsName, deliveriesName, readVerbs, subscriptionsName } from "../declare/webhooks.ts"
import { headersOf, mayFilter, operation, parameter, refusals, respond } from "./openapi-resource.ts"
import { closedObject, type Doc, ref, type Subject } from "./openapi-schema.ts"

const whole = (properties: { readonly [name: string]: Doc }): Doc => closedObject(properties, Object.keys(properties))

const stream = `Server-Sent Events. Their kinds:

- \`change\`: \`data\` is \`{ "key": …, "operation": …, "sequence": …, "kind": … }\` of a record that the caller sees and that passes \`filter\`. \`kind\`: it \`entered\`, \`changed\` or \`left\`.
- \`reset\`: changes may have been missed. Read everything again.

Each event has an \`id\`. Sent as \`Last-Event-ID\` within ten minutes, it takes the stream up again. A comment comes every ten seconds.`

/** `:watch`, for who may read a resource with events. */
const watchPath = (subject: Subject, collection: string): Doc => {
  const { access: { model }, permissions } = subject
  if (!permissions.read || model.events.length === 0) return {}
  return {
    [`${collection}:watch`]: {
      get: operation(subject, "watch", {
        rule: "read",
        summary: "Changes as they happen",
        parameters: [
          ...(mayFilter(subject) ? [parameter(`${model.name}.filter`)] : []),
          {
            name: "Last-Event-ID",
            in: "header",
            description: "The `id` of the last event that was received.",
            schema: { type: "string" }
          }
        ],
        responses: {
          "200": {
            description: stream,
            headers: headersOf(),
            content: { "text/event-stream": { schema: { type: "string" } } }
          },
          ...refusals(400, 401, 429)
        }
      })
    }
  }
}

const text: Doc = { type: "string" }
const count: Doc = { type: "integer", minimum: 0 }
const orNull = (type: string): Doc => ({ type: [type, "null"] })

const tried = whole({
  event_id: text,
  event: text,
  outcome: { type: "string", enum: ["delivered", "failed", "skipped"] },
  status: { ...orNull("integer"), description: "The HTTP status, where there was one." },
  error: orNull("string"),
  request: {
    type: ["object", "null"],
    description: "What was sent: `url`, `headers`, `body`. Null where nothing was."
  },
  answer: { ...orNull("string"), description: "The beginning of what the receiver answered." },
  headers: { ...orNull("object"), description: "Headers of the answer that help to find a fault." },
  duration_ms: { type: "number", minimum: 0 }
})

const resent: Doc = respond("How many there were.", whole({ resent: count }))
const time: Doc = { type: "string", format: "date-time" }
const range: Doc = closedObject({
  since: { ...time, description: "Events from this time on." },
  until: { ...time, description: "Events before this time. Default: now." },
  failedOnly: {
    type: "boolean",
    default: false,
    description: "Only deliveries that have failed for good, which are retried now."
  }
}, ["since"])
const sent: Doc = whole({
  body: { type: "string", maxLength: 8_192, description: "The body of the request, or its beginning." },
  whole: { type: "boolean", description: "Whether `body` is all of it." }
})
const begun: Doc = respond("A job sends them.", whole({ resent: { type: "null" } }))
const nothing: Doc = ref("responses", "204")

/** Each verb with its summary and what it answers. */
const verbs: {
  readonly [resource: string]: { readonly [verb: string]: readonly [summary: string, answer: Doc, body?: Doc] }
} = {
  [subscriptionsName]: {
    test: ["Send a test event, made of the newest record that the owner may read", respond("What came of it.", tried)],
    revealSecret: ["Show the secret; it is logged", respond("The secret.", whole({ secret: text }))],
    rotateSecret: ["Make a new secret; for 24 hours requests are signed with both", nothing],
    disable: ["Deliver nothing more; waiting deliveries fail when their turn comes", nothing],
    enable: ["Deliver again, from now on", nothing],
    resendFailed: ["Give each failed delivery one more try", resent],
    replay: ["Send kept events of a time range again, or its failed deliveries", resent, range]
  },
  [deliveriesName]: {
    resend: ["Give a failed delivery one more try", resent]
  },
  [attemptsName]: {
    payload: ["Show what was sent; for the owner of the subscription and admins", respond("What was sent.", sent)]
  }
}

const verbPaths = (subject: Subject, collection: string): Doc => {
  const { access: { model: { name } }, permissions } = subject
  if (!Object.hasOwn(verbs, name)) return {}
  const ruleOf = (verb: string): "read" | "update" => readVerbs.has(verb) ? "read" : "update"
  return Object.fromEntries(
    Object.entries(verbs[name]!).filter(([verb]) => permissions[ruleOf(verb)]).map((
      [verb, [summary, answer, body]]
    ) => [
      `${collection}/{key}:${verb}`,
      {
        parameters: [parameter(`${name}.key`)],
        post: operation(subject, verb, {
          rule: ruleOf(verb),
          summary,
          ...(body === undefined ? {} : { body }),
          responses: {
            [answer === nothing ? "204" : "200"]: answer,
            ...(body === undefined ? {} : { "202": begun }),
            ...refusals(400, 401, 403, 404, 409)
          }
        })
      }
    ])
  )
}

/** The paths of a resource that events bring. `webhooks`: whether the extension is there. */
export const eventPaths = (subject: Subject, collection: string, webhooks: boolean): Doc => ({
  ...watchPath(subject, collection),
  ...(webhooks ? verbPaths(subject, collection) : {})
})
