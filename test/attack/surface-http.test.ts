/** HTTP that two readers understand differently, and senders that never finish: over real sockets. */

import { connect } from "node:net"
import type { Socket } from "node:net"
import { afterEach, describe, expect, it } from "vitest"
import { mounted, viaNode } from "../http/edge-app.ts"
import type { NodeStage } from "../http/edge-app.ts"

type Start = Parameters<typeof viaNode>

const open: NodeStage[] = []
const sockets: Socket[] = []
const start = async (...given: Start): Promise<NodeStage> => {
  const stage = await viaNode(...given)
  open.push(stage)
  return stage
}
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy()
  await Promise.all(open.splice(0).map((stage) => stage.listener.close()))
})

const dial = (port: number): Promise<Socket> =>
  new Promise((resolve, reject) => {
    const socket = connect(port, "127.0.0.1", () => resolve(socket))
    sockets.push(socket)
    socket.once("error", reject)
  })

/** Everything that comes back until the other side closes. */
const exchange = async (port: number, bytes: string): Promise<string> => {
  const socket = await dial(port)
  let text = ""
  socket.on("error", () => undefined)
  socket.on("data", (chunk) => {
    text += chunk.toString()
  })
  socket.write(bytes)
  await new Promise<void>((resolve) => socket.once("close", () => resolve()))
  return text
}

const statuses = (text: string): readonly number[] =>
  [...text.matchAll(/HTTP\/1\.1 (\d{3})/g)].map((match) => Number(match[1]))

const lines = (...all: readonly string[]): string => `${all.join("\r\n")}\r\n\r\n`
const ada = "Authorization: Bearer user-ada"
const bob = "Authorization: Bearer user-bob"
const json = "Content-Type: application/json"
const last = "Connection: close"

describe("heads with two meanings", () => {
  it.each([
    ["two credentials", ["Host: x", ada, bob]],
    ["two credentials in other letters", ["Host: x", ada, bob.toUpperCase()]],
    ["the same credential twice", ["Host: x", ada, ada]],
    ["two hosts", ["Host: x", "Host: y", ada]],
    ["no host", [ada]]
  ])("are refused: %s", async (_, headers) => {
    const stage = await start()
    const text = await exchange(stage.listener.port, lines("GET /api/v1/orders HTTP/1.1", ...headers, last))
    expect(statuses(text)).toEqual([400])
    expect(text).toContain("urn:service:problem:malformed-request")
    expect(stage.routed).toEqual([])
  })

  it.each([
    ["both lengths", ["Content-Length: 4", "Transfer-Encoding: chunked"]],
    ["two lengths", ["Content-Length: 4", "Content-Length: 5"]],
    ["a signed length", ["Content-Length: +4"]],
    ["another coding", ["Transfer-Encoding: xchunked"]],
    ["chunked not last", ["Transfer-Encoding: chunked, identity"]],
    ["a blank before the colon", ["Transfer-Encoding : chunked"]],
    ["a folded line", ["X-A: 1", " Transfer-Encoding: chunked", "Content-Length: 4"]]
  ])("smuggle no second request: %s", async (_, headers) => {
    const stage = await start()
    const second = lines("GET /api/v1/orders/smuggled HTTP/1.1", "Host: x", bob, last)
    const first = lines("POST /api/v1/orders HTTP/1.1", "Host: x", ada, json, ...headers)
    const text = await exchange(stage.listener.port, `${first}0\r\n\r\n${second}`)
    expect(statuses(text).filter((status) => status !== 400)).toEqual([])
    expect(stage.routed).toEqual([])
  })

  it("keep the body of a GET apart from the request behind it", async () => {
    const stage = await start()
    const inner = lines("GET /api/v1/orders/inner HTTP/1.1", "Host: x", bob)
    const bytes = `${
      lines("GET /api/v1/orders/outer HTTP/1.1", "Host: x", ada, `Content-Length: ${inner.length}`)
    }${inner}${lines("GET /api/v1/orders/next HTTP/1.1", "Host: x", ada, last)}`
    const text = await exchange(stage.listener.port, bytes)
    expect(statuses(text)).toEqual([200, 200])
    expect(stage.routed.map(({ key }) => key)).toEqual(["outer", "next"])
  })

  it("override no method and believe no other path", async () => {
    const stage = await start()
    const extra = [
      "X-HTTP-Method-Override: DELETE",
      "X-Original-URL: /api/v1/orders/2",
      "X-Rewrite-URL: /api/v1/orders/2",
      "X-Forwarded-Prefix: /x"
    ]
    const text = await exchange(
      stage.listener.port,
      lines("GET /api/v1/orders/1 HTTP/1.1", "Host: x", ada, ...extra, last)
    )
    expect(statuses(text)).toEqual([200])
    expect(stage.routed).toMatchObject([{ use: "get", key: "1" }])
  })
})

describe("the sign-in routes", () => {
  it("refuse TRACE like any other method that they do not take, and nobody is alarmed", async () => {
    const methods: string[] = []
    const handler = async (request: Request): Promise<Response> => {
      methods.push(request.method)
      return new Response(null, { status: 405, headers: { allow: "POST" } })
    }
    const stage = await start({ auth: mounted(handler) })
    for (const method of ["TRACE", "PUT"]) {
      const bytes = lines(`${method} /api/auth/sign-in/email HTTP/1.1`, "Host: x", "Content-Length: 2", last)
      const text = await exchange(stage.listener.port, `${bytes}{}`)
      expect(statuses(text)).toEqual([405])
      expect(text).toMatch(/^allow: POST\r$/m)
    }
    expect(methods).toEqual(["UNKNOWN", "PUT"])
    expect(stage.errors).toEqual([])
  })

  it("refuse a compressed body before they read it", async () => {
    let asked = 0
    const handler = async (): Promise<Response> => {
      asked++
      return new Response("{}")
    }
    const stage = await start({ auth: mounted(handler) })
    const head = ["POST /api/auth/sign-in/email HTTP/1.1", "Host: x", json, "Content-Length: 2", last]
    const text = await exchange(stage.listener.port, `${lines(...head, "Content-Encoding: gzip")}{}`)
    expect(statuses(text)).toEqual([415])
    expect(text).toMatch(/^accept-encoding: identity\r$/m)
    expect(text).toContain("urn:service:problem:unsupported-media-type")
    expect(asked).toBe(0)
    expect(statuses(await exchange(stage.listener.port, `${lines(...head, "Content-Encoding: identity")}{}`))).toEqual([
      200
    ])
    expect(asked).toBe(1)
  })
})

describe("bodies that never come", () => {
  const stuck = async (stage: NodeStage, path: string, ...headers: readonly string[]): Promise<Socket> => {
    const socket = await dial(stage.listener.port)
    socket.on("error", () => undefined)
    socket.write(lines(`POST ${path} HTTP/1.1`, "Host: x", json, "Content-Length: 10", ...headers))
    return socket
  }
  const status = async (stage: NodeStage, ...request: readonly string[]): Promise<number | undefined> =>
    statuses(
      await exchange(
        stage.listener.port,
        `${lines(...request, "Host: x", last)}${request.includes("Content-Length: 2") ? "{}" : ""}`
      )
    )[0]
  const read = (stage: NodeStage) => status(stage, "GET /api/v1/orders HTTP/1.1", ada)
  const write = (stage: NodeStage) => status(stage, "POST /api/v1/orders HTTP/1.1", ada, json, "Content-Length: 2")

  it("from strangers keep nobody from reading and writing", async () => {
    const stage = await start({ maxInFlight: 2, auth: mounted(async () => new Response("{}")) })
    for (let i = 0; i < 2; i++) await stuck(stage, "/api/auth/sign-in/email")
    await expect.poll(
      () => status(stage, "POST /api/auth/sign-in/email HTTP/1.1", json, "Content-Length: 2")
    ).toBe(503)
    expect(await read(stage)).toBe(200)
    expect(await write(stage)).toBe(200)
  })

  it("from callers keep nobody from reading, and give their places back", async () => {
    const stage = await start({ maxInFlight: 2 })
    const held = [await stuck(stage, "/api/v1/orders", ada), await stuck(stage, "/api/v1/orders", bob)]
    await expect.poll(() => write(stage)).toBe(503)
    expect(await read(stage)).toBe(200)
    for (const socket of held) socket.destroy()
    await expect.poll(() => write(stage)).toBe(200)
    expect(await read(stage)).toBe(200)
  })
})
