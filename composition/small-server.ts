/** A port for a few plain answers beside the service: whether a worker is up, and metrics. */

import { createServer } from "node:http"
import type { RequestListener } from "node:http"

/** A port that is open. */
export interface OpenPort {
  readonly port: number
  /** Ends all its connections. */
  readonly close: () => Promise<void>
}

/** Opens a port, 0 for a free one. It takes short requests without a body only. Rejects where the port is taken. */
export const openPort = (host: string, port: number, answer: RequestListener): Promise<OpenPort> =>
  new Promise((resolve, reject) => {
    const server = createServer({ requestTimeout: 5_000, headersTimeout: 5_000, maxHeaderSize: 8_192 }, answer)
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
