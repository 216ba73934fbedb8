// Every page of the app by keyboard alone, and in every look: no violation that axe knows, nothing that scrolls sideways or is cut off, a focus that can be
// seen, no error in the console, no report against the policy. One server for all of it.
import { createServer, type Server } from "node:http"
import type { AddressInfo } from "node:net"
import { afterAll, beforeAll, describe, it } from "vitest"
import { createUser, history, webhooks } from "../../../composition/index.ts"
import { chromiumPath } from "../chromium.ts"
import { type PluginHost, startPluginHost } from "./plugin-host.ts"
import { components, edges, pluginsOf } from "./reach/edges.ts"
import { operations, type Surroundings } from "./reach/operations.ts"
import { kim, people } from "./reach/people.ts"
import { records } from "./reach/records.ts"
import { visitOf } from "./reach/scene.ts"
import { opener, type Stage, startStage } from "./stage.ts"
import { startStranger } from "./stranger.ts"

let stage: Stage
let receiver: Server
let host: PluginHost
let around: Surroundings

/** Enough of them that a change of all can be stopped before it ends. */
const messages = `insert into shop.messages (tenant_id, name, email, topic, message)
  select 1, 'Visitor ' || n, 'visitor@example.org', 'other', 'Hello' from generate_series(1, 20000) n`

beforeAll(async () => {
  if (chromiumPath === null) return
  const answer = { url: "", status: 204 }
  receiver = createServer((request, response) => {
    request.resume().on("end", () => response.writeHead(answer.status).end())
  })
  await new Promise<void>((resolve) => receiver.listen(0, "127.0.0.1", resolve))
  answer.url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/hook`
  around = { receiver: answer, stranger: await startStranger(["gadgets"]) }
  const source = { url: around.stranger.url, label: "Stranger", resources: ["gadgets"], roles: ["viewer"] }
  host = await startPluginHost()
  const plugins = await pluginsOf(host)
  stage = await startStage({
    mail: true,
    twoFactor: true,
    passkeys: true,
    change: (config) => ({
      ...config,
      extends: [
        webhooks({ deliveryLog: true, allowPrivateAddresses: true }),
        history({ resources: ["orders", "customers", "products"] })
      ]
    }),
    env: { SERVICE_SOURCES: JSON.stringify([source]), SERVICE_PLUGINS: JSON.stringify(plugins) },
    components,
    schema: messages
  })
  await createUser(stage.server.auth!, { ...kim, name: "Kim", role: "sales" })
})
afterAll(async () => {
  await stage?.stop()
  await around?.stranger.close()
  await host?.close()
  receiver?.close()
})

const using = opener(
  () => stage,
  async (page, url) => {
    // The browser asks whether a page may call this machine, where plugins and sources are: here it may.
    await page.context().grantPermissions(["local-network-access"], { origin: url })
    return []
  }
)

describe.skipIf(chromiumPath === null)("by keyboard alone, in every look", () => {
  const scenes = [...records, ...people, ...operations(() => around), ...edges].map((scene, place) => ({
    ...scene,
    place
  }))
  it.each(scenes)("$name", async ({ options = {}, place, work }) => {
    await using(options, (page, sent, quiet) => work(visitOf(stage, page, sent, quiet, place)))
  })
})
