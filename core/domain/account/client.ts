/**
 * Who a request comes from, for limits: the socket's address, or the one that trusted proxies report. It never believes a header that
 * the configured number of proxies did not write.
 */

/**
 * A client as limits know it. `address` is its address. `group` is what one limit counts together: the address, or an IPv6 network of 64
 * bits.
 */
export interface Client {
  readonly address: string | null
  readonly group: string
}

const strip = (text: string): string => {
  const value = text.trim()
  if (value.startsWith("[")) return value.slice(1, value.indexOf("]"))
  const port = /^([0-9.]+):[0-9]+$/.exec(value)
  return port?.[1] ?? value
}

const ipv4 = /^(?:(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])(?:\.(?!$)|$)){4}$/

/** The eight groups of an IPv6 address, or null for anything else. */
const groupsOf = (text: string): readonly number[] | null => {
  let address = text
  const tail = address.slice(address.lastIndexOf(":") + 1)
  if (tail.includes(".")) {
    if (!ipv4.test(tail)) return null
    const [a = 0, b = 0, c = 0, d = 0] = tail.split(".").map(Number)
    address = address.slice(0, -tail.length) + (a * 256 + b).toString(16) + ":" + (c * 256 + d).toString(16)
  }
  const halves = address.split("::")
  if (halves.length > 2 || !address.includes(":")) return null
  const parts = halves.map((half) => half === "" ? [] : half.split(":"))
  const [left = [], right = []] = parts
  const missing = 8 - left.length - right.length
  if (halves.length === 1 ? missing !== 0 : missing < 1) return null
  const groups = [...left, ...Array.from({ length: missing }, () => "0"), ...right]
  return groups.every((group) => /^[0-9a-fA-F]{1,4}$/.test(group)) ? groups.map((group) => parseInt(group, 16)) : null
}

/** Reads one address; null when it is none. An IPv4 address inside an IPv6 one is that IPv4 address. */
const readClient = (text: string): Client | null => {
  const [address = ""] = strip(text).split("%", 1)
  if (ipv4.test(address)) return { address, group: address }
  const groups = groupsOf(address)
  if (groups === null) return null
  if (groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff) {
    const [high = 0, low = 0] = groups.slice(6)
    const mapped = `${high >> 8}.${high & 255}.${low >> 8}.${low & 255}`
    return { address: mapped, group: mapped }
  }
  return { address, group: `${groups.slice(0, 4).map((group) => group.toString(16)).join(":")}::/64` }
}

/**
 * The client of a request. With n trusted proxies it is the n-th address from the right of `X-Forwarded-For`. With none, or when that
 * header is too short or unreadable, it is the socket's address. Requests without a known address count as one client.
 */
export const clientOf = (
  socket: string | null,
  forwardedFor: string | null,
  trustedProxies: number
): Client => {
  if (trustedProxies > 0 && forwardedFor !== null) {
    const forwarded = forwardedFor.split(",").at(-trustedProxies)
    const client = forwarded === undefined ? null : readClient(forwarded)
    if (client !== null) return client
  }
  return (socket === null ? null : readClient(socket)) ?? { address: null, group: "unknown" }
}
