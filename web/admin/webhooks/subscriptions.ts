/** Subscriptions and deliveries from the extension's resources, and the code of an example receiver. */

import { useQuery, type UseQueryResult } from "@tanstack/react-query"
import { isObject } from "../../client/problem.ts"
import { type AnyRecord, client, resourceClient } from "../model/client.ts"
import { plain } from "../model/plain.ts"

import { subscriptionsName } from "../place/places.ts"

export { subscriptionsName }
export const deliveriesName = "webhook_deliveries"
export const attemptsName = "webhook_attempts"

export const idOf = (record: AnyRecord): string => plain(record["id"])

/** The subscriptions that the user sees, at most 500, by name. */
export const useSubscriptions = (): UseQueryResult<readonly AnyRecord[]> =>
  useQuery({
    queryKey: ["webhooks", "subscriptions"],
    refetchInterval: 5_000,
    queryFn: async ({ signal }) =>
      (await resourceClient(subscriptionsName).list({ page_size: 500, order_by: "name" }, { signal })).items
  })

/** The tone of an outcome. */
export const tones = { delivered: "ok", failed: "bad", skipped: "warn" } as const

/** JSON on several lines. Another text stays. */
export const pretty = (body: string): string => {
  try {
    return JSON.stringify(JSON.parse(body), null, 2)
  } catch {
    // A body from the configuration may be other text than JSON.
    return body
  }
}

/** Calls an action of a record, such as `test`. */
export const doVerb = async <T>(resource: string, record: AnyRecord, verb: string, body?: object): Promise<T> =>
  (await client.request<T>({
    method: "POST",
    path: `/${resource}/${encodeURIComponent(idOf(record))}:${verb}`,
    ...(body === undefined ? {} : { json: body })
  })).data

/** Headers as lines of text. Null is empty. */
export const headerLines = (headers: unknown): string =>
  isObject(headers) ? Object.entries(headers).map(([name, value]) => `${name}: ${plain(value)}`).join("\n") : ""

/** Parses lines of text as headers. Null if there are none. A line without a colon becomes a name without a value, which the service refuses. */
export const readHeaderLines = (text: string): { readonly [name: string]: string } | null => {
  const lines = text.split("\n").map((line) => line.trim()).filter((line) => line !== "")
  return lines.length === 0 ? null : Object.fromEntries(lines.map((line) => {
    const [, name = line, value = ""] = /^([^:]*):\s*(.*)$/.exec(line) ?? []
    return [name.trim(), value]
  }))
}

/** Seconds of a schedule, separated by spaces. Null is empty. */
export const waitsText = (waits: unknown): string => Array.isArray(waits) ? waits.map(plain).join(" ") : ""

/** Parses a schedule. Null if there is none. A part that is no number stays a text, which the service refuses. */
export const readWaits = (text: string): ReadonlyArray<number | string> | null => {
  const parts = text.split(/[\s,;]+/).filter((part) => part !== "")
  return parts.length === 0 ? null : parts.map((part) => /^\d+$/.test(part) ? Number(part) : part)
}

/** The names of events in a subscription's text. */
export const readEvents = (text: unknown): readonly string[] => plain(text).split(/\s+/).filter((name) => name !== "")

/** The resources of events such as `orders.created` and `orders.*`. All resources for `*`. */
export const resourcesOf = (events: readonly string[], all: readonly string[]): readonly string[] =>
  events.includes("*") ? all : [...new Set(events.map((name) => name.slice(0, name.lastIndexOf("."))))]

export const receiver = `import { createServer } from "node:http"
import { Webhook } from "standardwebhooks"

const webhook = new Webhook(process.env["WEBHOOK_SECRET"] ?? "")
const seen = new Set()

createServer((request, response) => {
  const chunks = []
  request.on("data", (chunk) => chunks.push(chunk))
  request.on("end", () => {
    const body = Buffer.concat(chunks).toString()
    try {
      webhook.verify(body, request.headers)
    } catch {
      return response.writeHead(401).end()
    }
    const id = request.headers["webhook-id"]
    if (!seen.has(id)) {
      seen.add(id)
      const event = JSON.parse(body)
      console.log(event.type, event.data.key)
    }
    response.writeHead(204).end()
  })
}).listen(3000)
`
