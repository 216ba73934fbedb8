// The edge on real sockets: what only a Node listener can get wrong. Limits on heads and bodies, slow and broken clients, pipelining,
// aborts, and the drain.
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import { request as httpRequest } from "node:http"
import { connect } from "node:net"
import type { Socket } from "node:net"
import { afterEach, describe, expect, it } from "vitest"
import type { EdgeOptions } from "../../adapters/http/handle.ts"
import { listen } from "../../adapters/http/node.ts"
import type { ListenOptions } from "../../adapters/http/node.ts"
import { json } from "../../core/app/ground/call.ts"
import { hugeLength, mounted, until, viaNode } from "./edge-app.ts"
import type { NodeStage } from "./edge-app.ts"

const open: NodeStage[] = []
const start = async (options?: EdgeOptions, listening?: Partial<ListenOptions>): Promise<NodeStage> => {
  const stage = await viaNode(options, listening)
  open.push(stage)
  return stage
}
afterEach(async () => {
  await Promise.all(open.splice(0).map((stage) => stage.listener.close()))
})

const head = (method: string, target: string, ...headers: string[]): string =>
  [`${method} ${target} HTTP/1.1`, "Host: x", "Authorization: Bearer user-ada", ...headers, "", ""].join("\r\n")
const last = "Connection: close"
const jsonType = "Content-Type: application/json"

/** The responses in what a connection gave: status, lower-cased headers, body by Content-Length. */
const responses = (text: string): Array<{ status: number; headers: Map<string, string>; body: string }> => {
  const found = []
  let rest = text
  while (rest !== "") {
    const end = rest.indexOf("\r\n\r\n")
    const [statusLine = "", ...lines] = rest.slice(0, end).split("\r\n")
    const headers = new Map(lines.map((line) => {
      const colon = line.indexOf(": ")
      return [line.slice(0, colon).toLowerCase(), line.slice(colon + 2)]
    }))
    const length = Number(headers.get("content-length") ?? 0)
    found.push({ status: Number(statusLine.split(" ")[1]), headers, body: rest.slice(end + 4, end + 4 + length) })
    rest = rest.slice(end + 4 + length)
  }
  return found
}

const only = (text: string) => {
  const all = responses(text)
  expect(all).toHaveLength(1)
  return all[0]!
}

const isProblem = (text: string, status: number, type: string): void => {
  const answer = only(text)
  expect(answer.status).toBe(status)
  expect(answer.headers.get("content-type")).toBe("application/problem+json")
  expect(answer.headers.get("x-meta-version")).toBe("models")
  expect(answer.headers.get("x-request-id")).toMatch(/^[0-9a-f-]{36}$/)
  expect(answer.headers.get("x-content-type-options")).toBe("nosniff")
  expect(JSON.parse(answer.body)).toMatchObject({ type, status })
}

/** A raw connection whose received text can be waited for. */
const dial = async (port: number): Promise<{ socket: Socket; received: () => string; closed: Promise<void> }> => {
  let text = ""
  const socket = connect(port, "127.0.0.1")
  socket.on("data", (chunk) => {
    text += chunk.toString()
  })
  socket.on("error", () => undefined)
  const closed = new Promise<void>((resolve) => socket.once("close", () => resolve()))
  await new Promise<void>((resolve) => socket.once("connect", () => resolve()))
  return { socket, received: () => text, closed }
}

/**
 * A connection that was answered once. The time of its first request runs from when it was opened, which may be long before the request comes; that of
 * the next one runs from its first byte.
 */
const used = async (port: number): ReturnType<typeof dial> => {
  for (;;) {
    const client = await dial(port)
    client.socket.write(head("GET", "/livez"))
    await until(() => client.socket.closed || client.received().endsWith("}"))
    if (client.received().startsWith("HTTP/1.1 200 ")) return client
  }
}

describe("heads", () => {
  it("refuses a head past the limit with 431", async () => {
    const stage = await start()
    // By its last bytes: with more on the way the connection might break before the answer is read.
    const text = await stage.talk(head("GET", `/api/v1/orders?filter=${"a".repeat(160 * 1024)}`))
    isProblem(text, 431, "urn:service:problem:header-too-large")
    expect(stage.routed).toEqual([])
  })

  it.each([
    ["garbage", "\0\x01garbage\r\n\r\n"],
    ["a bad header name", "GET / HTTP/1.1\r\nHost: x\r\nb@d name: 1\r\n\r\n"],
    ["raw bytes in the target", "GET /api/v1/orders?x=é HTTP/1.1\r\nHost: x\r\n\r\n"],
    ["two lengths", head("POST", "/api/v1/orders", jsonType, "Content-Length: 1", "Content-Length: 2")],
    ["a length and chunks", head("POST", "/api/v1/orders", jsonType, "Content-Length: 1", "Transfer-Encoding: chunked")]
  ])("answers %s with 400 and closes", async (_, text) => {
    const stage = await start()
    isProblem(await stage.talk(text), 400, "urn:service:problem:malformed-request")
    expect(stage.routed).toEqual([])
  })

  it("answers 400 without a Host", async () => {
    const stage = await start()
    isProblem(
      await stage.talk("GET /livez HTTP/1.1\r\nConnection: close\r\n\r\n"),
      400,
      "urn:service:problem:malformed-request"
    )
  })

  it("takes HTTP/1.0, absolute and asterisk targets", async () => {
    const stage = await start()
    expect(only(await stage.talk("GET /livez HTTP/1.0\r\n\r\n")).status).toBe(200)
    expect(only(await stage.talk(head("GET", "http://evil.test/api/v1/orders?a=1", last))).status).toBe(200)
    expect(only(await stage.talk(head("OPTIONS", "*", last))).status).toBe(404)
    expect(only(await stage.talk("OPTIONS * HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")).status).toBe(401)
    expect(stage.routed).toMatchObject([{ use: "list", path: "/api/v1/orders", query: [["a", "1"]] }])
  })

  it.each(["a b", "a/b", "a?b", "a@b", "http://a", "a:b", "a,b:1:2", "[::1", "é", "a\tb"])(
    "answers 400 to the Host %j",
    async (host) => {
      const stage = await start()
      isProblem(
        await stage.talk(`GET /livez HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`),
        400,
        "urn:service:problem:malformed-request"
      )
    }
  )

  it.each([
    "",
    "a",
    "admin.example.com:443",
    "a_b.c-d.",
    "127.0.0.1:1",
    "[::1]:5173",
    "[fe80::1%25eth0]",
    "%C3%A9",
    "a:"
  ])(
    "takes the Host %j",
    async (host) => {
      const stage = await start()
      const text = await stage.talk(`GET /livez HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`)
      expect(only(text).status).toBe(200)
    }
  )

  it("does not believe the Host header", async () => {
    let seen = ""
    const stage = await start({
      publicUrl: "http://admin.example.com",
      auth: mounted(async (request) => {
        seen = request.url
        return new Response(null, { status: 204 })
      })
    })
    await stage.talk("GET /api/auth/token?a=1 HTTP/1.1\r\nHost: evil.test\r\nConnection: close\r\n\r\n")
    expect(seen).toBe("http://admin.example.com/api/auth/token?a=1")
  })
})

describe("bodies", () => {
  const chunked = (size: number): string => `${size.toString(16)}\r\n${"x".repeat(size)}\r\n`

  it("takes no more of a sign-in than the handler does", async () => {
    let asked = 0
    const handler = async (): Promise<Response> => {
      asked++
      return new Response("{}")
    }
    const stage = await start({ auth: mounted(handler, { maxBodyBytes: 100 }) })
    const client = await dial(stage.listener.port)
    client.socket.write(head("POST", "/api/auth/sign-in/email", jsonType, "Transfer-Encoding: chunked") + chunked(60))
    client.socket.write(chunked(60))
    await until(() => client.received().includes("\r\n\r\n"))
    expect(only(client.received()).status).toBe(413)
    expect(asked).toBe(0)
    client.socket.destroy()
  })

  it("refuses a body that was compressed for its way", async () => {
    const stage = await start()
    const client = await dial(stage.listener.port)
    for (const coding of ["gzip, chunked", "Chunked"]) {
      const lines = [jsonType, `Transfer-Encoding: ${coding}`, ...coding === "Chunked" ? [last] : []]
      client.socket.write(`${head("POST", "/api/v1/orders", ...lines)}2\r\n{}\r\n0\r\n\r\n`)
    }
    await client.closed
    const answers = responses(client.received())
    expect(answers.map(({ status }) => status)).toEqual([415, 200])
    expect(answers[0]!.headers.get("accept-encoding")).toBe("identity")
    expect(stage.routed.map(({ body }) => body)).toEqual(["{}"])
  })

  it("refuses a chunked body at the limit, while it is still coming", async () => {
    const stage = await start({ maxBodyBytes: 100 })
    const client = await dial(stage.listener.port)
    client.socket.write(head("POST", "/api/v1/orders", jsonType, "Transfer-Encoding: chunked") + chunked(60))
    client.socket.write(chunked(60))
    await until(() => client.received().includes("\r\n\r\n"))
    expect(only(client.received()).status).toBe(413)
    expect(stage.routed).toEqual([])
    client.socket.destroy()
  })

  it("takes a chunked body of just the limit", async () => {
    const stage = await start({ maxBodyBytes: 100 })
    const client = await dial(stage.listener.port)
    client.socket.write(head("POST", "/api/v1/orders", jsonType, "Transfer-Encoding: chunked") + chunked(60))
    client.socket.write(`${chunked(40)}0\r\n\r\n`)
    await until(() => client.received().includes("\r\n\r\n"))
    expect(only(client.received()).status).toBe(200)
    expect(stage.routed[0]?.body).toHaveLength(100)
    client.socket.destroy()
  })

  it("refuses by Content-Length before a byte has come, and lets the client finish on the same connection", async () => {
    const stage = await start({ maxBodyBytes: 100 }, { lingerMs: 60_000 })
    const client = await dial(stage.listener.port)
    client.socket.write(head("POST", "/api/v1/orders", jsonType, "Content-Length: 2000000"))
    await until(() => client.received().includes("\r\n\r\n"))
    expect(only(client.received()).status).toBe(413)
    client.socket.write("x".repeat(2_000_000))
    client.socket.write(head("GET", "/api/v1/orders", last))
    await client.closed
    expect(responses(client.received()).map((response) => response.status)).toEqual([413, 200])
  })

  it("drops the rest of a file that is refused by its beginning, and answers what follows on the connection", async () => {
    const stage = await start({}, { lingerMs: 60_000 })
    const client = await dial(stage.listener.port)
    client.socket.write(
      head("POST", "/api/v1/refused:upload?field=f", "Content-Type: image/tiff", "Content-Length: 2000000")
    )
    client.socket.write("x".repeat(2_000_000))
    await until(() => client.received().includes("}"))
    client.socket.write(head("GET", "/api/v1/orders", last))
    await client.closed
    expect(responses(client.received()).map((response) => response.status)).toEqual([415, 200])
  })

  it("cuts a client that goes on sending after the refusal", async () => {
    const stage = await start({ maxBodyBytes: 100 }, { lingerMs: 50 })
    const client = await dial(stage.listener.port)
    client.socket.write(head("POST", "/api/v1/orders", jsonType, "Content-Length: 1000000"))
    client.socket.write("x".repeat(1000))
    await client.closed
    expect(only(client.received()).status).toBe(413)
  })

  it.each(["HTTP/1.0", "HTTP/1.1"])("lets a client finish that keeps no connection, with %s", async (version) => {
    const stage = await start({ maxBodyBytes: 100 }, { lingerMs: 60_000 })
    const client = await dial(stage.listener.port)
    const headers = ["Host: x", "Authorization: Bearer user-ada", jsonType, "Content-Length: 2000000", last, "", ""]
    client.socket.write([`POST /api/v1/orders ${version}`, ...headers].join("\r\n"))
    await until(() => client.received().includes("}"))
    // By the time that another has its answer, this one would have seen the end of its connection.
    await stage.ask({ target: "/livez" })
    expect(client.socket.readableEnded).toBe(false)
    await new Promise<void>((resolve, reject) =>
      client.socket.write("x".repeat(2_000_000), (error) => error ? reject(error) : resolve())
    )
    await client.closed
    const answer = only(client.received())
    expect([answer.status, answer.headers.get("connection")]).toEqual([413, "close"])
  })

  it("answers HEAD before its body has come, and what follows on the connection", async () => {
    const stage = await start()
    const client = await dial(stage.listener.port)
    client.socket.write(head("HEAD", "/api/v1/orders", "Content-Length: 5"))
    await until(() => client.received().endsWith("\r\n\r\n"))
    client.socket.write("12345" + head("DELETE", "/api/v1/orders/1", last))
    await client.closed
    expect([...client.received().matchAll(/^HTTP\/1\.1 (\d+)/gm)].map(([, status]) => status)).toEqual(["200", "204"])
  })

  it("joins chunks", async () => {
    const stage = await start()
    const text = await stage.talk(
      `${
        head("POST", "/api/v1/orders", jsonType, "Transfer-Encoding: chunked", last)
      }3\r\n{"a\r\n4\r\n":1}\r\n0\r\n\r\n`
    )
    expect(only(text).status).toBe(200)
    expect(stage.routed[0]?.body).toBe(`{"a":1}`)
  })

  it("cuts a head that does not come when its time is over, not seconds later", async () => {
    const headersTimeoutMs = 1_000
    const stage = await start({}, { headersTimeoutMs })
    const client = await dial(stage.listener.port)
    const began = performance.now()
    client.socket.write("GET /api/v1/orders HTTP/1.1\r\nHost: x\r\n")
    await client.closed
    const took = performance.now() - began
    expect(took).toBeGreaterThan(headersTimeoutMs - 100)
    // Left to itself, Node looks every thirty seconds.
    expect(took).toBeLessThan(headersTimeoutMs + 10_000)
  })

  it("cuts off a body that does not come in time", async () => {
    const stage = await start({}, { requestTimeoutMs: 150, headersTimeoutMs: 100 })
    const client = await used(stage.listener.port)
    const before = client.received().length
    client.socket.write(head("POST", "/api/v1/orders", jsonType, "Content-Length: 10") + "{")
    await client.closed
    isProblem(client.received().slice(before), 408, "urn:service:problem:request-timeout")
    await until(() => stage.lines.some((line) => line.includes("/api/v1/orders")))
    expect(stage.routed).toEqual([])
  })

  it.each([150, 60_000])("cuts off a head that does not come in time, of %i ms for all", async (requestTimeoutMs) => {
    const stage = await start({}, { requestTimeoutMs, headersTimeoutMs: 100 })
    const client = await dial(stage.listener.port)
    client.socket.write("GET / HTTP/1.1\r\nHost:")
    await client.closed
    isProblem(client.received(), 408, "urn:service:problem:request-timeout")
  })

  it("answers a broken chunk with 400", async () => {
    const stage = await start()
    const text = await stage.talk(`${head("POST", "/api/v1/orders", jsonType, "Transfer-Encoding: chunked")}zz\r\n`)
    isProblem(text, 400, "urn:service:problem:malformed-request")
  })

  it("continues a client that waits only when the body is wanted", async () => {
    const stage = await start({ maxBodyBytes: 100 })
    const wanted = await dial(stage.listener.port)
    wanted.socket.write(head("POST", "/api/v1/orders", jsonType, "Content-Length: 2", "Expect: 100-continue", last))
    await until(() => wanted.received().includes("\r\n\r\n"))
    expect(wanted.received()).toBe("HTTP/1.1 100 Continue\r\n\r\n")
    wanted.socket.write("{}")
    await wanted.closed
    expect(responses(wanted.received()).map((response) => response.status)).toEqual([100, 200])
    for (const [headers, status] of [[[jsonType, "Content-Length: 101"], 413], [["Content-Length: 2"], 415]] as const) {
      const answer = only(await stage.talk(head("POST", "/api/v1/orders", ...headers, "Expect: 100-continue")))
      expect(answer.status).toBe(status)
      expect(answer.headers.get("connection")).toBe("close")
    }
  })
})

describe("connections", () => {
  it("answers pipelined requests in order on one connection", async () => {
    const stage = await start()
    const sent = ["/api/v1/orders/slow", "/api/v1/orders/1", "/api/v1/hidden", "/livez"]
    const client = await dial(stage.listener.port)
    client.socket.write(
      sent.map((target, at) => head("GET", target, `X-Request-Id: r${at}`, ...at === 3 ? [last] : [])).join("")
    )
    await until(() => stage.lines.length === 3)
    expect(client.received()).toBe("")
    Deferred.doneUnsafe(stage.gate, Effect.void)
    await client.closed
    const answers = responses(client.received())
    expect(answers.map((answer) => answer.status)).toEqual([200, 200, 404, 200])
    expect(answers.map((answer) => answer.headers.get("x-request-id"))).toEqual(["r0", "r1", "r2", "r3"])
  })

  it("answers nothing to what follows a write in a pipeline before the write is done, nor a write before what precedes it", async () => {
    const stage = await start()
    const client = await dial(stage.listener.port)
    const body = [jsonType, "Content-Length: 2"]
    const sent = [
      `${head("PATCH", "/api/v1/orders/slow", ...body)}{}`,
      head("GET", "/api/v1/orders/1"),
      head("GET", "/api/v1/orders/2"),
      `${head("PATCH", "/api/v1/orders/3", ...body)}{}`,
      head("DELETE", "/api/v1/orders/4", last)
    ]
    client.socket.write(sent.join(""))
    await until(() => stage.slow.started === 1)
    // Others are not kept waiting.
    expect((await stage.ask({ method: "DELETE", target: "/api/v1/orders/5" })).status).toBe(204)
    expect(stage.routed.map(({ key }) => key)).toEqual(["slow", "5"])
    Deferred.doneUnsafe(stage.gate, Effect.void)
    await client.closed
    expect(responses(client.received()).map(({ status }) => status)).toEqual([200, 200, 200, 200, 204])
    expect(stage.routed.map(({ key }) => key)).toEqual(["slow", "5", "1", "2", "3", "4"])
  })

  it("lets a write wait for the reads before it", async () => {
    const stage = await start()
    const client = await dial(stage.listener.port)
    client.socket.write(head("GET", "/api/v1/orders/slow") + head("DELETE", "/api/v1/orders/1", last))
    await until(() => stage.slow.started === 1)
    expect((await stage.ask({ target: "/api/v1/orders/2" })).status).toBe(200)
    expect(stage.routed.map(({ key }) => key)).toEqual(["slow", "2"])
    Deferred.doneUnsafe(stage.gate, Effect.void)
    await client.closed
    expect(stage.routed.map(({ key }) => key)).toEqual(["slow", "2", "1"])
  })

  it("never begins what waits in a pipeline whose client goes away", async () => {
    const stage = await start()
    const client = await dial(stage.listener.port)
    client.socket.write(head("DELETE", "/api/v1/orders/slow") + head("DELETE", "/api/v1/orders/1").repeat(3))
    await until(() => stage.slow.started === 1)
    client.socket.destroy()
    await until(() => stage.slow.interrupted === 1)
    expect((await stage.ask({ target: "/api/v1/orders/2" })).status).toBe(200)
    expect(stage.routed.map(({ key }) => key)).toEqual(["slow", "2"])
  })

  it("cuts a client that lets more and more wait", async () => {
    const stage = await start()
    const client = await dial(stage.listener.port)
    client.socket.write(head("DELETE", "/api/v1/orders/slow") + head("DELETE", "/api/v1/orders/1").repeat(100))
    await client.closed
    expect(client.received()).toBe("")
    await until(() => stage.slow.interrupted === 1)
    expect(stage.routed.map(({ key }) => key)).toEqual(["slow"])
  })

  it("does not answer in another request's place when garbage follows", async () => {
    const stage = await start()
    const client = await dial(stage.listener.port)
    client.socket.write(`${head("GET", "/api/v1/orders/slow")}\0garbage\r\n\r\n`)
    await client.closed
    expect(client.received()).toBe("")
    await until(() => stage.slow.interrupted === 1)
  })

  it("answers a request whose body is followed by garbage, and then the garbage", async () => {
    const stage = await start()
    const client = await dial(stage.listener.port)
    client.socket.write(`${head("PATCH", "/api/v1/orders/1", jsonType, "Content-Length: 2")}{}\0garbage\r\n\r\n`)
    await client.closed
    expect(responses(client.received()).map(({ status }) => status)).toEqual([200, 400])
    expect(stage.routed.map(({ key, body }) => [key, body])).toEqual([["1", "{}"]])
  })

  it("takes a body that comes with its head for what it is, and goes on", async () => {
    const stage = await start()
    const client = await dial(stage.listener.port)
    const patch = (key: string, body: string, ...more: string[]) =>
      head("PATCH", `/api/v1/orders/${key}`, jsonType, ...more) + body
    const large = `"${"x".repeat(200_000)}"`
    client.socket.write(patch("1", "{\"a\":1}", "Content-Length: 7"))
    await until(() => responses(client.received()).length === 1)
    client.socket.write(
      patch("2", "2\r\n[]\r\n0\r\n\r\n", "Transfer-Encoding: chunked") +
        patch("3", large, `Content-Length: ${large.length}`) + patch("4", "{", "Content-Length: 2")
    )
    await until(() => responses(client.received()).length === 3)
    client.socket.write(`}${patch("5", "", "Content-Length: 0", last)}`)
    await client.closed
    expect(responses(client.received()).map(({ status }) => status)).toEqual([200, 200, 200, 200, 200])
    expect(stage.routed.map(({ key, body }) => [key, body])).toEqual([
      ["1", "{\"a\":1}"],
      ["2", "[]"],
      ["3", large],
      ["4", "{}"],
      ["5", ""]
    ])
  })

  it.each([
    ["another request", head("GET", "/api/v1/orders/1")],
    ["garbage", "\0garbage\r\n\r\n"]
  ].flatMap(([name, behind]) => [
    [`${name} behind it`, head("DELETE", "/api/v1/orders/slow", last), behind!],
    [
      `${name} behind its body`,
      `${head("PATCH", "/api/v1/orders/slow", jsonType, "Content-Length: 2", last)}{}`,
      behind!
    ]
  ]))("answers the last request of a connection, and nothing of %s", async (_, request, behind) => {
    const stage = await start()
    const client = await dial(stage.listener.port)
    client.socket.write(request! + behind)
    await until(() => stage.slow.started === 1)
    // By the time that another has its answer, what came behind has been read.
    await stage.ask({ target: "/livez" })
    client.socket.write(behind)
    await stage.ask({ target: "/livez" })
    Deferred.doneUnsafe(stage.gate, Effect.void)
    await client.closed
    expect(only(client.received()).status).toBe(200)
    expect(stage.slow).toEqual({ started: 1, interrupted: 0, finished: 1 })
    expect(stage.routed.map(({ key }) => key)).toEqual(["slow"])
  })

  it("interrupts the work when the client goes away, and tells nobody", async () => {
    const stage = await start()
    const client = await dial(stage.listener.port)
    client.socket.write(head("GET", "/api/v1/orders/slow"))
    await until(() => stage.slow.started === 1)
    client.socket.destroy()
    await until(() => stage.slow.interrupted === 1)
    await until(() => stage.lines.length === 1)
    expect(JSON.parse(stage.lines[0]!)).toMatchObject({ status: 499, path: "/api/v1/orders/slow" })
    expect(stage.errors).toEqual([])
    expect((await stage.ask({ target: "/api/v1/orders" })).status).toBe(200)
  })

  it("interrupts every request of a pipeline", async () => {
    const stage = await start()
    const client = await dial(stage.listener.port)
    client.socket.write(head("GET", "/api/v1/orders/slow").repeat(3))
    await until(() => stage.slow.started === 3)
    client.socket.destroy()
    await until(() => stage.slow.interrupted === 3)
    expect(stage.errors).toEqual([])
  })

  it("interrupts a request whose body stops half way when the client goes away", async () => {
    const stage = await start({ maxInFlight: 1 })
    const client = await dial(stage.listener.port)
    client.socket.write(`${head("POST", "/api/v1/orders", jsonType, "Content-Length: 10")}{`)
    await until(() => stage.authenticated.count === 1)
    client.socket.destroy()
    await until(() => stage.lines.length === 1)
    expect(JSON.parse(stage.lines[0]!).status).toBe(499)
    expect(stage.routed).toEqual([])
    expect((await stage.ask({ target: "/api/v1/orders" })).status).toBe(200)
  })

  it("stay open while their clients wait for work, however long it takes", async () => {
    const stage = await start({}, { idleTimeoutMs: 1_000 })
    let waiting: Awaited<ReturnType<typeof dial>>
    do {
      // Where the machine stands still between these two lines, the connection is idle and cut.
      waiting = await dial(stage.listener.port)
      waiting.socket.write(head("GET", "/api/v1/orders/slow", last))
      await until(() => stage.slow.started === 1 || waiting.socket.closed)
    } while (stage.slow.started === 0)
    // This one is idle and was opened later: when it has been cut, the time of the first is over too.
    const idle = await dial(stage.listener.port)
    await idle.closed
    expect(stage.slow.interrupted).toBe(0)
    Deferred.doneUnsafe(stage.gate, Effect.void)
    await waiting.closed
    expect(only(waiting.received()).status).toBe(200)
  })

  it("tells routes the peer's address", async () => {
    const stage = await start({
      extraRoutes: [{
        prefix: "/who",
        access: "public",
        handle: (visit) => Effect.succeed(json(200, JSON.stringify(visit.address)))
      }]
    })
    expect((await stage.ask({ target: "/who" })).text).toBe(`"127.0.0.1"`)
  })

  it("rejects when the port is taken", async () => {
    const stage = await start()
    await expect(listen(stage.edge, { port: stage.listener.port })).rejects.toMatchObject({ code: "EADDRINUSE" })
  })
})

describe("drain", () => {
  it("answers on, says so to load balancers, and takes every connection with it that has asked", async () => {
    const stage = await start({}, { graceMs: 10_000 })
    const idle = await dial(stage.listener.port)
    const kept = await dial(stage.listener.port)
    kept.socket.write(head("GET", "/livez"))
    await until(() => kept.received() !== "")
    void stage.listener.drain(600_000)
    expect((await stage.ask({ target: "/readyz" })).status).toBe(503)
    // A connection of before the drain still brings a request, and a new one is taken.
    for (const client of [kept, idle, await dial(stage.listener.port)]) {
      client.socket.write(head("GET", "/api/v1/orders/1"))
      await client.closed
      const last = responses(client.received()).at(-1)!
      expect([last.status, last.headers.get("connection")]).toEqual([200, "close"])
    }
  })

  it("leaves a connection open whose answer was under way when it began", async () => {
    const stage = await start({}, { graceMs: 10_000 })
    const reader = await dial(stage.listener.port)
    reader.socket.write(head("GET", "/api/v1/orders/huge"))
    await until(() => reader.received() !== "")
    void stage.listener.drain(600_000)
    await until(() => reader.received().length > hugeLength)
    reader.socket.write(head("GET", "/api/v1/orders/1"))
    await reader.closed
    expect(responses(reader.received()).map(({ headers, status }) => [status, headers.get("connection")])).toEqual([
      [200, "keep-alive"],
      [200, "close"]
    ])
  })
})

describe("close", () => {
  it("lets running requests finish, refuses new connections and closes idle ones", async () => {
    const stage = await start({}, { graceMs: 10_000 })
    const idle = await dial(stage.listener.port)
    const kept = await dial(stage.listener.port)
    kept.socket.write(head("GET", "/livez"))
    await until(() => kept.received() !== "")
    const running = await dial(stage.listener.port)
    running.socket.write(head("GET", "/api/v1/orders/slow"))
    await until(() => stage.slow.started === 1)
    const closing = stage.listener.close()
    expect(stage.listener.close()).toBe(closing)
    await Promise.all([idle.closed, kept.closed])
    await expect(stage.ask({ target: "/livez" })).rejects.toMatchObject({ code: "ECONNREFUSED" })
    expect(stage.slow.interrupted).toBe(0)
    Deferred.doneUnsafe(stage.gate, Effect.void)
    await closing
    await running.closed
    const answer = only(running.received())
    expect([answer.status, answer.headers.get("connection")]).toEqual([200, "close"])
  })

  it("answers what has arrived, though nobody has read it yet", async () => {
    const stage = await start({}, { graceMs: 10_000 })
    const kept = await dial(stage.listener.port)
    kept.socket.write(head("GET", "/api/v1/orders/1"))
    await until(() => kept.received().endsWith("}"))
    kept.socket.write(head("DELETE", "/api/v1/orders/2"))
    await stage.listener.close()
    await kept.closed
    const answers = responses(kept.received())
    expect(answers.map(({ headers, status }) => [status, headers.get("connection")])).toEqual([
      [200, "keep-alive"],
      [204, "close"]
    ])
  })

  it("sends all of an answer that was handed over before", async () => {
    const stage = await start({}, { graceMs: 10_000 })
    const reader = await dial(stage.listener.port)
    reader.socket.write(head("GET", "/api/v1/orders/huge"))
    await until(() => reader.received() !== "")
    reader.socket.pause()
    const closing = stage.listener.close()
    await new Promise((resolve) => setImmediate(resolve))
    reader.socket.resume()
    await closing
    await reader.closed
    expect(only(reader.received()).body).toHaveLength(hugeLength)
  })

  it("does not wait for a connection whose early refusal was sent before", async () => {
    const stage = await start({ maxBodyBytes: 100 }, { graceMs: 600_000 })
    const client = await dial(stage.listener.port)
    client.socket.write(head("POST", "/api/v1/orders", jsonType, "Content-Length: 1000") + "x".repeat(500))
    await until(() => client.received().includes("payload-too-large"))
    const closing = stage.listener.close()
    for (let turns = 0; turns < 20; turns++) await new Promise((resolve) => setImmediate(resolve))
    client.socket.write("x".repeat(500))
    await closing
    await client.closed
    expect(only(client.received()).status).toBe(413)
  })

  it("does not begin what waits behind a running request, as nobody would see its answer", async () => {
    const stage = await start({}, { graceMs: 10_000 })
    const client = await dial(stage.listener.port)
    client.socket.write(head("DELETE", "/api/v1/orders/slow") + head("DELETE", "/api/v1/orders/1"))
    await until(() => stage.slow.started === 1)
    const closing = stage.listener.close()
    Deferred.doneUnsafe(stage.gate, Effect.void)
    await closing
    await client.closed
    expect(only(client.received()).status).toBe(200)
    expect(stage.routed.map(({ key }) => key)).toEqual(["slow"])
  })

  it("cuts what does not finish within the grace time, and waits for its cleanup", async () => {
    const stage = await start({}, { graceMs: 50 })
    const running = await dial(stage.listener.port)
    running.socket.write(head("GET", "/api/v1/orders/slow"))
    await until(() => stage.slow.started === 1)
    await stage.listener.close()
    expect(stage.slow).toEqual({ started: 1, interrupted: 1, finished: 0 })
    await running.closed
    expect(running.received()).toBe("")
  })
})

describe("a large upload refused early", () => {
  it("reaches an ordinary client as the answer, not as a broken connection", async () => {
    const stage = await start({ maxBodyBytes: 1000 }, { lingerMs: 60_000 })
    const status = await new Promise<number>((resolve, reject) => {
      const req = httpRequest({
        port: stage.listener.port,
        host: "127.0.0.1",
        method: "POST",
        path: "/api/v1/orders",
        headers: {
          "authorization": "Bearer user-ada",
          "content-type": "application/json",
          "transfer-encoding": "chunked"
        }
      }, (res) => {
        res.resume()
        resolve(res.statusCode!)
      })
      req.on("error", reject)
      req.end(Buffer.alloc(8_000_000, 120))
    })
    expect(status).toBe(413)
  })
})

describe("an answer that streams", () => {
  it("lets go of its source as soon as the client is gone, not with the next piece", async () => {
    const { promise: letGo, resolve } = Promise.withResolvers<unknown>()
    const bytes: AsyncIterable<Uint8Array> = {
      [Symbol.asyncIterator]: () => {
        let begun = false
        return {
          // One piece, and then none for good.
          next: () => {
            if (begun) return new Promise(() => {})
            begun = true
            return Promise.resolve({ done: false, value: new TextEncoder().encode("first") })
          },
          return: async () => {
            resolve(undefined)
            return { done: true, value: undefined }
          }
        }
      }
    }
    const { listener } = await start({
      extraRoutes: [{
        prefix: "/news",
        access: "public",
        handle: () => Effect.succeed({ status: 200, headers: {}, body: null, stream: { length: null, bytes } })
      }]
    })
    const client = await dial(listener.port)
    client.socket.write(head("GET", "/news"))
    await until(() => client.received().includes("first"))
    client.socket.destroy()
    await letGo
  })
})
