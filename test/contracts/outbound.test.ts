// Runs the contract of the outbound port on the fake and on Node's HTTP client.
import { createServer } from "node:http"
import type { Server } from "node:http"
import type { AddressInfo } from "node:net"
import { makeOutbound } from "../../adapters/outbound/outbound.ts"
import { makeFakeOutbound } from "../fakes/outbound.ts"
import { outboundContract } from "./outbound.ts"

outboundContract("in memory", async () => {
  const fake = makeFakeOutbound()
  let port = 10_000
  return {
    outbound: fake.service,
    receive: async (receiver) => {
      const origin = `http://localhost:${++port}`
      fake.listen(origin, receiver)
      return origin
    },
    close: async () => {}
  }
})

outboundContract("over HTTP", async () => {
  const outbound = makeOutbound()
  const servers: Server[] = []
  return {
    outbound,
    receive: async (receiver) => {
      const server = createServer((request, response) => {
        const chunks: Buffer[] = []
        request.on("data", (chunk: Buffer) => chunks.push(chunk))
        request.on("end", () => {
          const reaction = receiver({
            url: `http://localhost${request.url}`,
            headers: request.headers as { readonly [name: string]: string },
            body: Buffer.concat(chunks).toString(),
            anyAddress: true,
            timeoutMs: 0
          })
          if (reaction === "reset") request.socket.destroy()
          else if (reaction !== "silence") {
            response.writeHead(reaction.status, {
              ...(reaction.status >= 300 && reaction.status < 400 ? { location: "http://localhost:1/elsewhere" } : {}),
              ...reaction.headers
            }).end(reaction.body)
          }
        })
      })
      servers.push(server)
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
      return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    },
    close: async () => {
      outbound.close()
      for (const server of servers) {
        server.closeAllConnections()
        server.close()
      }
    }
  }
})
