// What a URL of somebody else may not reach: hosts and notations, resolvers that change their mind, TLS, receivers that are not what they say.
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import { createServer } from "node:http"
import { createServer as createHttps } from "node:https"
import { createServer as createTcp } from "node:net"
import type { AddressInfo, Server } from "node:net"
import { afterAll, describe, expect, it } from "vitest"
import { isPublic } from "../../adapters/outbound/address.ts"
import { makeOutbound } from "../../adapters/outbound/outbound.ts"
import type { OutboundOptions } from "../../adapters/outbound/outbound.ts"
import type { OutboundRequest } from "../../core/ports/outbound.ts"
import { makeAuthority } from "../support/certificate.ts"

const servers: Server[] = []
const closers: Array<() => void> = []
afterAll(() => {
  for (const close of closers) close()
  for (const server of servers) server.close()
})

const open = async (server: Server): Promise<number> => {
  servers.push(server)
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  return (server.address() as AddressInfo).port
}

const outbound = (options: OutboundOptions = {}) => {
  const made = makeOutbound(options)
  closers.push(made.close)
  return made
}

const reasonOf = async <A>(effect: Effect.Effect<A, { readonly reason: string }>): Promise<string | A> =>
  Result.match(await Effect.runPromise(Effect.result(effect)), {
    onFailure: ({ reason }) => reason,
    onSuccess: (answer) => answer
  })

const request = (url: string, more: Partial<OutboundRequest> = {}): OutboundRequest => ({
  url,
  headers: { "content-type": "application/json" },
  body: "{}",
  anyAddress: false,
  timeoutMs: 3_000,
  ...more
})

describe("addresses", () => {
  it.each([
    "0.0.0.0",
    "0.1.2.3",
    "10.0.0.1",
    "10.255.255.255",
    "100.64.0.1",
    "100.127.255.255",
    "127.0.0.1",
    "127.255.255.254",
    "169.254.0.1",
    "169.254.169.254",
    "168.63.129.16",
    "172.16.0.1",
    "172.31.255.255",
    "192.0.0.1",
    "192.0.0.170",
    "192.0.2.1",
    "192.88.99.1",
    "192.168.0.1",
    "192.168.255.255",
    "198.18.0.1",
    "198.19.255.255",
    "198.51.100.7",
    "203.0.113.9",
    "224.0.0.1",
    "239.255.255.255",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "::7f00:1",
    "::ffff:127.0.0.1",
    "::ffff:10.0.0.1",
    "::ffff:8.8.8.8",
    "::ffff:0:127.0.0.1",
    "64:ff9b::7f00:1",
    "64:ff9b::8.8.8.8",
    "64:ff9b:1::1",
    "100::1",
    "2001::1",
    "2001:0:4136:e378::1",
    "2001:2::1",
    "2001:10::1",
    "2001:20::1",
    "2001:db8::1",
    "2002:7f00:1::1",
    "2002:a00:1::",
    "3fff::1",
    "4000::1",
    "5f00::1",
    "fc00::1",
    "fd00:ec2::254",
    "fe80::1",
    "fe80::1%eth0",
    "febf::1",
    "fec0::1",
    "ff02::1",
    "ff0e::1",
    "2606:4700::1%1",
    "",
    "localhost",
    "127.1",
    "0x7f000001"
  ])("%s is not public", (address) => {
    expect(isPublic(address)).toBe(false)
  })

  it.each([
    "1.1.1.1",
    "8.8.8.8",
    "9.255.255.255",
    "11.0.0.1",
    "100.63.255.255",
    "100.128.0.1",
    "126.255.255.255",
    "128.0.0.1",
    "168.63.129.15",
    "168.63.129.17",
    "172.15.255.255",
    "172.32.0.1",
    "192.167.255.255",
    "198.17.255.255",
    "198.20.0.1",
    "223.255.255.255",
    "2001:200::1",
    "2001:4860:4860::8888",
    "2606:4700:4700::1111",
    "2a00:1450::1"
  ])("%s is public", (address) => {
    expect(isPublic(address)).toBe(true)
  })
})

describe("URLs to places inside", () => {
  // Nobody is asked for a name: every host here is an address in some notation, or has one in the table.
  const names: { readonly [host: string]: readonly string[] } = {
    "localhost": ["127.0.0.1", "::1"],
    "localhost.": ["127.0.0.1"],
    "metadata.google.internal": ["169.254.169.254"],
    "127.0.0.1.nip.example": ["127.0.0.1"],
    "both.example": ["93.184.216.34", "10.0.0.1"],
    "six.example": ["::ffff:10.0.0.1"],
    "nat.example": ["64:ff9b::a00:1"]
  }
  const guarded = outbound({
    resolve: async (host) => {
      const found = names[host]
      if (found === undefined) throw new Error(`unexpected question for ${host}`)
      return found.map((address) => ({ address, family: address.includes(":") ? 6 : 4 }))
    }
  })

  it.each([
    "http://127.0.0.1/",
    "http://127.0.0.1:8080/",
    "http://127.1/",
    "http://127.0.1/",
    "http://0/",
    "http://0.0.0.0/",
    "http://2130706433/",
    "http://0x7f000001/",
    "http://0x7f.0x0.0x0.0x1/",
    "http://0x7f.1/",
    "http://017700000001/",
    "http://0177.0.0.1/",
    "http://0177.0.0.01/",
    "http://127.0.0.1./",
    "http://%31%32%37.0.0.1/",
    "http://127。0。0。1/",
    "http://１２７.0.0.1/",
    "http://①②⑦.0.0.1/",
    "http://10.0.0.1/",
    "http://167772161/",
    "http://012.0.0.1/",
    "http://172.16.0.1/",
    "http://192.168.1.1/",
    "http://3232235777/",
    "http://169.254.169.254/latest/meta-data/",
    "http://2852039166/",
    "http://0xa9fea9fe/",
    "http://[::1]/",
    "http://[::]/",
    "http://[0:0:0:0:0:0:0:1]/",
    "http://[::ffff:127.0.0.1]/",
    "http://[::ffff:7f00:1]/",
    "http://[::127.0.0.1]/",
    "http://[64:ff9b::7f00:1]/",
    "http://[2002:7f00:1::]/",
    "http://[fe80::1]/",
    "http://[fd00::1]/",
    "http://[fd00:ec2::254]/",
    "http://[ff02::1]/",
    "https://[::1]:8443/",
    "http:127.0.0.1/",
    "http:/127.0.0.1/",
    "http:\\\\127.0.0.1/",
    "http://localhost/",
    "http://LOCALHOST/",
    "http://localhost./",
    "http://localhost:5432/",
    "http://ⓛocalhost/",
    "http://metadata.google.internal/",
    "http://127.0.0.1.nip.example/",
    "http://both.example/",
    "http://six.example/",
    "http://nat.example/",
    "http://example.com@127.0.0.1/",
    "http://user:secret@example.com/",
    "http://example.com:25/",
    "http://example.com:6667/",
    "https://example.com:22/",
    "http://[fe80::1%25eth0]/",
    "http://[::1",
    "http://1.2.3.4.5/",
    "http://256.1.1.1/",
    "http://example.com:99999/",
    "gopher://127.0.0.1/",
    "file:///etc/passwd",
    "data:text/plain,x",
    "javascript:alert(1)",
    "//127.0.0.1/",
    "http://",
    ""
  ])("%s", async (url) => {
    expect(["address", "url"]).toContain(await reasonOf(guarded.check(url)))
    expect(["address", "url"]).toContain(await reasonOf(guarded.post(request(url))))
  })
})

describe("a resolver that changes its mind", () => {
  it("is asked once a request, and only what was checked is connected to", async () => {
    let reached = 0
    const port = await open(createServer((_, response) => {
      reached++
      response.end()
    }))
    let asked = 0
    const rebinding = outbound({
      // Public when asked first, inside from then on: the classic.
      resolve: async () => [{ address: ++asked === 1 ? "192.0.2.0" : "127.0.0.1", family: 4 }]
    })
    expect(await reasonOf(rebinding.post(request(`http://rebind.example:${port}/`)))).toBe("address")
    expect(asked).toBe(1)
    expect(await reasonOf(rebinding.post(request(`http://rebind.example:${port}/`)))).toBe("address")
    expect(reached).toBe(0)
  })

  it("does not decide where an allowed request goes", async () => {
    let asked = 0
    const port = await open(createServer((_, response) => void response.end()))
    const once = outbound({
      resolve: async () => {
        asked++
        return [{ address: "127.0.0.1", family: 4 }]
      }
    })
    const answer = await reasonOf(once.post(request(`http://somewhere.example:${port}/`, { anyAddress: true })))
    expect(answer).toMatchObject({ status: 200 })
    expect(asked).toBe(1)
  })

  it("uses no connection that was made for the operator, whose URLs may lead to any host", async () => {
    let connections = 0
    const server = createServer((_, response) => void response.end())
    server.on("connection", () => void connections++)
    const port = await open(server)
    let judged = 0
    // Public where it is judged first; all later questions give what this machine can reach.
    const shared = outbound({
      resolve: async () => [{
        get address() {
          return judged++ === 0 ? "8.8.8.8" : "127.0.0.1"
        },
        family: 4
      }]
    })
    const url = `http://somewhere.example:${port}/`
    const send = async (anyAddress: boolean) => {
      judged = anyAddress ? 1 : 0
      expect(await reasonOf(shared.post(request(url, { anyAddress })))).toMatchObject({ status: 200 })
      return connections
    }
    expect([await send(true), await send(true), await send(false), await send(false)]).toEqual([1, 1, 2, 2])
  })

  it("and gives nothing, or fails", async () => {
    const url = "http://nowhere.example/"
    expect(await reasonOf(outbound({ resolve: async () => [] }).post(request(url)))).toBe("unknown-host")
    const broken = outbound({ resolve: () => Promise.reject(new Error("SERVFAIL")) })
    expect(await reasonOf(broken.post(request(url)))).toBe("unknown-host")
  })

  it("or never answers", async () => {
    const silent = outbound({ resolve: () => new Promise(() => {}) })
    expect(await reasonOf(silent.post(request("http://slow.example/", { timeoutMs: 50 })))).toBe("timeout")
  })
})

describe("receivers", () => {
  const free = { anyAddress: true }

  it("that redirect to a place inside lead nowhere", async () => {
    let reached = 0
    const inside = await open(createServer((_, response) => {
      reached++
      response.end()
    }))
    const port = await open(createServer((_, response) => {
      response.writeHead(302, { location: `http://127.0.0.1:${inside}/` }).end()
    }))
    expect(await reasonOf(outbound().post(request(`http://127.0.0.1:${port}/`, free)))).toMatchObject({ status: 302 })
    expect(reached).toBe(0)
  })

  it.each<[string, string, string]>([
    ["that speak no HTTP", "SSH-2.0-OpenSSH_9.2\r\n", "answer"],
    ["with a broken head", "HTTP/1.1 200 OK\r\nbad header\r\n\r\n", "answer"],
    [
      "that change the protocol",
      "HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n",
      "answer"
    ],
    ["that end in the middle", "HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf", "unreachable"]
  ])("%s are failures", async (_, bytes, reason) => {
    const port = await open(createTcp((socket) => {
      socket.on("error", () => {})
      socket.once("data", () => socket.end(bytes))
    }))
    expect(await reasonOf(outbound().post(request(`http://127.0.0.1:${port}/`, free)))).toBe(reason)
  })

  it("that trickle are cut off in time", async () => {
    const timers: NodeJS.Timeout[] = []
    const port = await open(createServer((_, response) => {
      timers.push(setInterval(() => response.write("x"), 5))
    }))
    const outcome = await reasonOf(outbound().post(request(`http://127.0.0.1:${port}/`, { ...free, timeoutMs: 100 })))
    for (const timer of timers) clearInterval(timer)
    expect(outcome).toBe("timeout")
  })

  it("that never stop are left after 64 KiB", async () => {
    let written = 0
    const closed = Promise.withResolvers<void>()
    const port = await open(createServer((_, response) => {
      const more = (): void => {
        while (!response.destroyed && response.write("x".repeat(16_384))) written += 16_384
      }
      response.on("drain", more)
      response.on("close", () => closed.resolve())
      more()
    }))
    const answer = await reasonOf(outbound().post(request(`http://127.0.0.1:${port}/`, free)))
    expect(answer).toMatchObject({ status: 200, text: "x".repeat(2_048) })
    // What the two ends' buffers hold was sent before anybody could say stop.
    await closed.promise
    expect(written).toBeLessThan(16 * 2 ** 20)
  })

  it("that close a kept connection are asked again", async () => {
    let count = 0
    const port = await open(createServer((request_, response) => {
      count++
      if (count === 2) request_.socket.destroy()
      else response.end()
    }))
    const client = outbound()
    for (const _ of [1, 2]) {
      expect(await reasonOf(client.post(request(`http://127.0.0.1:${port}/`, free)))).toMatchObject({ status: 200 })
    }
    expect(count).toBe(3)
  })

  it("are known by their certificate", async () => {
    const authority = makeAuthority("test authority")
    const { certificate, key } = authority.forServer(["hooks.example"])
    const port = await open(createHttps({ cert: certificate, key }, (_, response) => void response.end()))
    const resolve = async () => [{ address: "127.0.0.1", family: 4 }]
    const trusting = outbound({ resolve, ca: authority.certificate })
    const post = (host: string, client = trusting) => reasonOf(client.post(request(`https://${host}:${port}/`, free)))
    expect(await post("hooks.example")).toMatchObject({ status: 200 })
    expect(await post("other.example")).toBe("certificate")
    expect(await post("hooks.example", outbound({ resolve }))).toBe("certificate")
  })

  it("that nobody runs cannot be reached", async () => {
    const server = createServer()
    const port = await open(server)
    await new Promise((resolve) => server.close(resolve))
    expect(await reasonOf(outbound().post(request(`http://127.0.0.1:${port}/`, free)))).toBe("unreachable")
  })
})
