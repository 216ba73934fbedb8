/** A process that dispatches and delivers until it is killed. It says "ready" when it does. */

import { openEvents } from "../support/events.ts"
import { eventsConfig, eventsSchema } from "./events-stage.ts"
import type { EventsSettings } from "./events-stage.ts"

const { database, ...settings } = JSON.parse(process.env["WORKER"] ?? "{}") as EventsSettings & {
  readonly database: string
}
await openEvents({ config: eventsConfig(settings), schema: eventsSchema, database: { url: database } as never })
process.stdout.write("ready\n")
