/** The answers of a worker: `/livez` and `/readyz` on a port of its own, for whoever watches over processes. It serves nothing else. */

import { createServer } from "node:http"
import type { Server as HttpServer } from "node:http"

const answer = (
  response: Parameters<NonNullable<Parameters<typeof createServer>[1]>>[1],
  ready: boolean,
  paused = false
): void => {
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
): Promise<{ readonly port: number; readonly close: () => Promise<void> }> =>
  new Promise((resolve, reject) => {
    const server: HttpServer = createServer(
      { requestTimeout: 5_000, headersTimeout: 5_000, maxHeaderSize: 8_192 },
      (request, response) => {
        const path = request.url?.split("?", 1)[0]
        if (path === "/livez") answer(response, true)
        else if (path === "/readyz") {
          ready().then((yes) => answer(response, yes, paused()), () => answer(response, false))
        } else {
          response.writeHead(404)
          response.end()
        }
      }
    )
    server.once("error", reject)
    server.listen(port, host, () => {
      const address = server.address()
      resolve({
        port: typeof address === "object" && address !== null ? address.port : port,
        close: () =>
          new Promise((closed) => {
            server.closeAllConnections()
            server.close(() => closed())
          })
      })
    })
  })
