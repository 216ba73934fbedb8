/**
 * A process with the API, dispatch and deliveries until it is killed, or until it kills itself at a place of its choice. It says "ready" when it serves.
 */

import * as Effect from "effect/Effect"
import { createServer } from "node:http"
import { makeOutbound } from "../../adapters/outbound/outbound.ts"
import type { OutboundService } from "../../core/ports/outbound.ts"
import { openEvents } from "../support/events.ts"
import { eventsConfig, eventsSchema } from "./events-stage.ts"
import type { EventsSettings } from "./events-stage.ts"

const { database, dies = null, port = null, ...settings } = JSON.parse(process.env["WORKER"] ?? "{}") as
  & EventsSettings
  & {
    readonly database: string
    /** Where the API is served; null: nowhere. */
    readonly port?: number | null
    /** Before its so manieth request goes out, or after the answer came and before anybody knows of it. */
    readonly dies?: { readonly when: "before" | "after"; readonly at: number } | null
  }

const real = makeOutbound()
let posts = 0
const die = (when: "before" | "after"): Effect.Effect<void> =>
  Effect.sync(() => {
    if (dies?.when === when && posts >= dies.at) process.kill(process.pid, "SIGKILL")
  })
const outbound: OutboundService = {
  check: real.check,
  post: (request) =>
    Effect.suspend(() => {
      posts++
      return Effect.andThen(die("before"), Effect.tap(real.post(request), () => die("after")))
    })
}

const service = await openEvents({
  config: eventsConfig(settings),
  schema: eventsSchema,
  database: { url: database } as never,
  more: { outbound }
})
if (port !== null) {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on("data", (chunk: Buffer) => chunks.push(chunk))
    request.on("end", () => {
      service.call(
        { id: "ann", roles: [] },
        request.method ?? "GET",
        request.url ?? "/",
        JSON.parse(Buffer.concat(chunks).toString())
      )
        .then(({ status, text }) => response.writeHead(status).end(text), () => response.writeHead(500).end())
    })
  })
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve))
}
process.stdout.write("ready\n")
