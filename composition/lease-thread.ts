/**
 * The thread of `lease-guard.ts`. It looks how long the event loop of the process has been silent. After half a lease it connects to the database and renews
 * what the process holds, until the loop is heard of again. A process that is frozen freezes this thread, too.
 */

import { parentPort, workerData } from "node:worker_threads"
import type { Client } from "pg"
import { partsOf, renewAllSql, silenceOf } from "../adapters/queue/renewal.ts"
import { ownSchema } from "../adapters/queue/sql.ts"
import type { ThreadData } from "./lease-guard.ts"

const { leaseMs, memory, schema, url }: ThreadData = workerData
const { againMs, lookMs, renewMs, silentMs } = partsOf(leaseMs)
const statement = renewAllSql(ownSchema(schema))

let owners: readonly string[] = []
parentPort?.on("message", (given: readonly string[]) => {
  owners = given
})

let client: Client | null = null
let failing = false

const connect = async (): Promise<Client> => {
  // Loaded with the first need: most threads never have one.
  const { default: pg } = await import("pg")
  const { pgAddressOf } = await import("../adapters/postgres/socket.ts")
  const made = new pg.Client({
    ...pgAddressOf(url),
    connectionTimeoutMillis: 5_000,
    query_timeout: 5_000,
    application_name: "service"
  })
  // A broken connection fails its statement, which tells.
  made.on("error", () => {})
  await made.connect()
  return made
}

const close = (): void => {
  // A server that does not answer must not hold up the next connection.
  void client?.end().catch(() => {})
  client = null
}

/** Milliseconds until the next look. */
const look = async (): Promise<number> => {
  const silence = silenceOf(memory)
  if (silence === null || silence < silentMs) {
    close()
    return lookMs
  }
  try {
    client ??= await connect()
    await client.query(statement, [`${leaseMs} milliseconds`, owners])
    failing = false
    return renewMs
  } catch (error) {
    const code = error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : null
    if (!failing) parentPort?.postMessage(code)
    failing = true
    close()
    return againMs
  }
}

for (;;) {
  const milliseconds = await look()
  await new Promise((resolve) => setTimeout(resolve, milliseconds))
}
