import { describe, expect, it } from "vitest"
import { clientOf } from "./client.ts"

describe("the client of a request", () => {
  it.each<readonly [string, string | null, string | null, number, string | null]>([
    ["its socket", "192.0.2.1", null, 0, "192.0.2.1"],
    ["its socket where nobody is trusted, whatever it says", "192.0.2.1", "198.51.100.7", 0, "192.0.2.1"],
    [
      "what the one proxy has added, not what came with it",
      "192.0.2.1",
      "203.0.113.9, 198.51.100.7",
      1,
      "198.51.100.7"
    ],
    ["what the first of two proxies has added", "192.0.2.1", "203.0.113.9, 198.51.100.7, 192.0.2.8", 2, "198.51.100.7"],
    ["its socket where the header is too short", "192.0.2.1", "198.51.100.7", 2, "192.0.2.1"],
    ["its socket where the header cannot be read", "192.0.2.1", "198.51.100.7, unknown", 1, "192.0.2.1"],
    ["an address with a port", null, "198.51.100.7:4711", 1, "198.51.100.7"],
    ["an address of IPv6 with a port", null, "[2001:db8::7]:4711", 1, "2001:db8::7"],
    ["an address of IPv4 within one of IPv6", "::ffff:192.0.2.1", null, 0, "192.0.2.1"],
    ["nobody", null, null, 0, null],
    ["nobody where the socket has no address", "a pipe", null, 0, null]
  ])("is %s", (_, socket, forwarded, proxies, address) => {
    expect(clientOf(socket, forwarded, proxies).address).toBe(address)
  })

  it("counts with its network of 64 bits, and with no other", () => {
    const groupOf = (address: string) => clientOf(address, null, 0).group
    expect(groupOf("2001:db8:0:1::1")).toBe(groupOf("2001:db8:0:1:ffff:ffff:ffff:ffff%eth0"))
    expect(groupOf("2001:db8:0:2::1")).not.toBe(groupOf("2001:db8:0:1::1"))
    expect(groupOf("192.0.2.1")).not.toBe(groupOf("192.0.2.2"))
    expect(groupOf("::ffff:c000:201")).toBe(groupOf("192.0.2.1"))
    // Whoever has no address is one client.
    expect(clientOf(null, null, 0).group).toBe(groupOf("no address"))
  })
})
