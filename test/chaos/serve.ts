/**
 * The server process of the chaos tests: what `service serve` runs, with the fixture's configuration. It ends with the test that started it,
 * and answers that test what it holds in memory.
 */

import { runServer } from "../../composition/server.ts"
import { config } from "./fixture.ts"

process.on("disconnect", () => process.exit(9))
process.on("message", (asked) => {
  if (asked === "measure") {
    for (let i = 0; i < 3; i++) globalThis.gc?.()
    const { heapUsed, rss } = process.memoryUsage()
    process.send?.({ heapUsed, rss, resources: process.getActiveResourcesInfo().length })
  } else if (asked === "reject") {
    void Promise.reject(new Error("nobody waits for this, and its text is secret"))
  }
})

// A server that did not start ends by itself; the channel to the test must not keep it.
process.channel?.unref()

await runServer(config)
