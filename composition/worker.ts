/** The answers of a worker: `/livez` and `/readyz` on a port of its own, for whoever watches over processes. It serves nothing else. */

import type { ServerResponse } from "node:http"
import { type OpenPort, openPort } from "./small-server.ts"

const answer = (response: ServerResponse, ready: boolean, paused = false): void => {
  response.writeHead(ready ? 200 : 503, {
    "content-type": "application/json; charset=utf-8",
    "cache-control": "no-store"
  })
  response.end(JSON.stringify({ status: ready ? "ok" : "unavailable", ...(ready && paused ? { jobs: "paused" } : {}) }))
}

/** Whether a worker is up, for whoever watches over processes. It takes no body and tells no detail. */
export const openHealth = (
  host: string,
  port: number,
  ready: () => Promise<boolean>,
  paused: () => boolean
): Promise<OpenPort> =>
  openPort(host, port, (request, response) => {
    const path = request.url?.split("?", 1)[0]
    if (path === "/livez") answer(response, true)
    else if (path === "/readyz") {
      ready().then((yes) => answer(response, yes, paused()), () => answer(response, false))
    } else {
      response.writeHead(404)
      response.end()
    }
  })
