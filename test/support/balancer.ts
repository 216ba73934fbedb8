/**
 * A plain load balancer: it gives each request to the next process in turn, asks `/readyz` of each four times a second, and leaves a process out after two
 * failures. Nobody tells it of deployments, it repeats no request, and a request that breaks is a 502.
 */

import { Agent, createServer, get, request as send } from "node:http"
import type { AddressInfo } from "node:net"

interface Backend {
  readonly port: number
  readonly agent: Agent
  failures: number
}

export interface Balancer extends AsyncDisposable {
  readonly port: number
  readonly add: (port: number) => void
  readonly remove: (port: number) => void
  /** Requests that each process answered, by its port. */
  readonly answered: ReadonlyMap<number, number>
}

const hopByHop = new Set(["connection", "keep-alive", "transfer-encoding"])

export const openBalancer = async (): Promise<Balancer> => {
  const backends: Backend[] = []
  const answered = new Map<number, number>()
  let turn = 0
  const server = createServer((incoming, outgoing) => {
    const ready = backends.filter(({ failures }) => failures < 2)
    const backend = ready[turn++ % ready.length]
    const broken = (reason: string): void => {
      if (!outgoing.headersSent) outgoing.writeHead(502, { "x-reason": reason })
      outgoing.end()
    }
    if (backend === undefined) return broken("nobody is ready")
    const { headers, method, url: path } = incoming
    const passed = send(
      {
        host: "127.0.0.1",
        port: backend.port,
        agent: backend.agent,
        method,
        path,
        headers: { ...headers, connection: "keep-alive" }
      },
      (answer) => {
        answered.set(backend.port, (answered.get(backend.port) ?? 0) + 1)
        const kept = Object.entries(answer.headers).filter(([name]) => !hopByHop.has(name))
        outgoing.writeHead(answer.statusCode ?? 502, Object.fromEntries(kept))
        answer.pipe(outgoing)
        answer.once("error", () => outgoing.destroy())
      }
    )
    passed.once("error", (error) => broken(`${backend.port} ${error.message}`))
    incoming.pipe(passed)
  })
  const check = (backend: Backend): void => {
    get({ host: "127.0.0.1", port: backend.port, path: "/readyz", timeout: 2_000, agent: false }, (answer) => {
      answer.resume()
      backend.failures = answer.statusCode === 200 ? 0 : backend.failures + 1
    }).on("error", () => backend.failures++)
  }
  const checks = setInterval(() => backends.forEach(check), 250)
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  return {
    port: (server.address() as AddressInfo).port,
    add: (port) => void backends.push({ port, agent: new Agent({ keepAlive: true }), failures: 0 }),
    remove: (port) => {
      const at = backends.findIndex((each) => each.port === port)
      const [gone] = at < 0 ? [] : backends.splice(at, 1)
      gone?.agent.destroy()
    },
    answered,
    [Symbol.asyncDispose]: async () => {
      clearInterval(checks)
      for (const { agent } of backends) agent.destroy()
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    }
  }
}
