/**
 * Which addresses of the internet are public: those of the registries of special-purpose addresses (RFC 6890 and its successors) are not. It judges
 * numbers; it resolves no name and opens no connection.
 */

import { BlockList, isIP } from "node:net"

const special = new BlockList()
for (
  const [network, bits] of [
    ["0.0.0.0", 8],
    ["10.0.0.0", 8],
    ["100.64.0.0", 10],
    ["127.0.0.0", 8],
    // A public number, but in Azure it is the machine's own host, which hands out its configuration.
    ["168.63.129.16", 32],
    ["169.254.0.0", 16],
    ["172.16.0.0", 12],
    ["192.0.0.0", 24],
    ["192.0.2.0", 24],
    ["192.88.99.0", 24],
    ["192.168.0.0", 16],
    ["198.18.0.0", 15],
    ["198.51.100.0", 24],
    ["203.0.113.0", 24],
    // Multicast, reserved and the limited broadcast.
    ["224.0.0.0", 3]
  ] as const
) special.addSubnet(network, bits, "ipv4")

/** Global unicast. All else is special, the forms that carry an IPv4 address (mapped, NAT64) included. */
const unicast = new BlockList()
unicast.addSubnet("2000::", 3, "ipv6")

for (
  const [network, bits] of [
    // Addresses of protocols: Teredo, benchmarking, ORCHID and others.
    ["2001::", 23],
    ["2001:db8::", 32],
    // 6to4: such an address leads to the IPv4 address inside it.
    ["2002::", 16],
    ["3fff::", 20]
  ] as const
) special.addSubnet(network, bits, "ipv6")

/** Whether an address in text is public. What is no address is not. */
export const isPublic = (address: string): boolean => {
  const family = isIP(address)
  if (family === 4) return !special.check(address, "ipv4")
  // A zone names an interface of this machine.
  if (family !== 6 || address.includes("%")) return false
  return unicast.check(address, "ipv6") && !special.check(address, "ipv6")
}

/** Ports of other protocols, whose servers might take a request for their own (the list of the Fetch standard, 2.9). */
const otherPorts = new Set(
  (`1 7 9 11 13 15 17 19 20 21 22 23 25 37 42 43 53 69 77 79 87 95 101 102 103 104 109 110 111 113 115 117 119 123 135 137 139 143 161 179 389 427 ` +
    `465 512 513 514 515 526 530 531 532 540 548 554 556 563 587 601 636 989 990 993 995 1719 1720 1723 2049 3659 4045 4190 5060 5061 6000 6566 6665 ` +
    `6666 6667 6668 6669 6679 6697 10080`).split(" ")
)

/** A URL that a request may be sent to, or why not. */
export const readTarget = (text: string): URL | string => {
  if (!/^https?:\/\//i.test(text) || !URL.canParse(text)) return "it is not an http(s) URL"
  const url = new URL(text)
  if (url.username !== "" || url.password !== "") return "it has a name or password; send them in a header"
  if (otherPorts.has(url.port)) return `port ${url.port} is of another protocol`
  return url
}

/** The host of a URL without the brackets of an IPv6 address. */
export const hostOf = ({ hostname }: URL): string => hostname.replace(/^\[(.*)\]$/, "$1")
