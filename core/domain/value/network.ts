/**
 * Addresses of networks as exact text: `inet` and `cidr` of PostgreSQL in the form that the database prints, their order, and `macaddr`. It resolves no
 * name.
 */

/** An address: 4 or 16 bytes, and the length of its network's prefix. */
interface Address {
  readonly bytes: readonly number[]
  readonly bits: number
}

const longest = 64

const v4Of = (text: string): readonly number[] | null => {
  const parts = text.split(".")
  if (parts.length !== 4 || !parts.every((part) => /^(?:0|[1-9]\d{0,2})$/.test(part) && Number(part) < 256)) return null
  return parts.map(Number)
}

const groupsOf = (text: string): readonly number[] | null => {
  if (text === "") return []
  const groups = text.split(":")
  const bytes: number[] = []
  for (const [at, group] of groups.entries()) {
    const inner = at === groups.length - 1 && group.includes(".") ? v4Of(group) : null
    if (inner !== null) bytes.push(...inner)
    else if (/^[0-9a-fA-F]{1,4}$/.test(group)) {
      const value = Number.parseInt(group, 16)
      bytes.push(value >> 8, value & 255)
    } else return null
  }
  return bytes
}

const v6Of = (text: string): readonly number[] | null => {
  const halves = text.split("::")
  if (halves.length > 2) return null
  const [left, right] = [groupsOf(halves[0]!), halves.length === 1 ? [] : groupsOf(halves[1]!)]
  if (left === null || right === null) return null
  if (halves.length === 1) return left.length === 16 ? left : null
  // In front of the gap no address of version 4 stands.
  const missing = 16 - left.length - right.length
  if (missing < 2 || halves[0]!.includes(".")) return null
  return [...left, ...Array.from({ length: missing }, () => 0), ...right]
}

const addressOf = (text: string): Address | null => {
  if (text.length > longest) return null
  const slash = text.indexOf("/")
  const host = slash === -1 ? text : text.slice(0, slash)
  const bytes = host.includes(":") ? v6Of(host) : v4Of(host)
  if (bytes === null) return null
  const most = bytes.length * 8
  const length = slash === -1 ? String(most) : text.slice(slash + 1)
  return /^(?:0|[1-9]\d{0,2})$/.test(length) && Number(length) <= most ? { bytes, bits: Number(length) } : null
}

/** The longest run of at least two groups of zeros, the first of equally long ones. */
const zeros = (groups: readonly number[]): { readonly from: number; readonly length: number } => {
  let best = { from: -1, length: 1 }
  for (let at = 0; at < groups.length; at++) {
    let end = at
    while (groups[end] === 0) end++
    if (end - at > best.length) best = { from: at, length: end - at }
    at = Math.max(at, end)
  }
  return best
}

const hostText = (bytes: readonly number[]): string => {
  if (bytes.length === 4) return bytes.join(".")
  const groups = Array.from({ length: 8 }, (_, at) => bytes[at * 2]! * 256 + bytes[at * 2 + 1]!)
  const { from, length } = zeros(groups)
  const hex = (part: readonly number[]): string => part.map((group) => group.toString(16)).join(":")
  if (from === -1) return hex(groups)
  // The database writes the last four bytes of such addresses as one of version 4.
  const mapped = from === 0 && (length === 6 || (length === 5 && groups[5] === 0xffff))
  const rest = groups.slice(length)
  if (mapped) return `${rest.length === 3 ? "::ffff:" : "::"}${bytes.slice(12).join(".")}`
  return `${hex(groups.slice(0, from))}::${hex(groups.slice(from + length))}`
}

const bitOf = ({ bytes }: Address, at: number): number => (bytes[at >> 3]! >> (7 - (at & 7))) & 1

/** The canonical text of an address with or without a prefix: `10.0.0.1`, `10.0.0.1/8`, `2001:db8::1`. Null for anything else. */
export const inetCell = (text: string): string | null => {
  const address = addressOf(text)
  if (address === null) return null
  const { bits, bytes } = address
  return hostText(bytes) + (bits === bytes.length * 8 ? "" : `/${bits}`)
}

/** The canonical text of a network: `10.0.0.0/8`. Null for anything else, and where bits beyond the prefix are set. */
export const cidrCell = (text: string): string | null => {
  const address = addressOf(text)
  if (address === null) return null
  const { bits, bytes } = address
  for (let at = bits; at < bytes.length * 8; at++) if (bitOf(address, at) === 1) return null
  return `${hostText(bytes)}/${bits}`
}

/** Orders two addresses as PostgreSQL does: version 4 first, then the common part of both networks, then the shorter prefix, then the host. */
export const compareNetworks = (a: string, b: string): number => {
  if (a === b) return 0
  const [left, right] = [addressOf(a)!, addressOf(b)!]
  if (left.bytes.length !== right.bytes.length) return left.bytes.length - right.bytes.length
  const differ = (most: number): number => {
    for (let at = 0; at < most; at++) {
      const difference = bitOf(left, at) - bitOf(right, at)
      if (difference !== 0) return difference
    }
    return 0
  }
  return differ(Math.min(left.bits, right.bits)) || left.bits - right.bits || differ(left.bytes.length * 8)
}

/** The canonical text of a MAC address, `08:00:2b:01:02:03`, given with colons or hyphens; null for anything else. */
export const macaddrCell = (text: string): string | null =>
  /^[0-9a-fA-F]{2}(?::[0-9a-fA-F]{2}){5}$|^[0-9a-fA-F]{2}(?:-[0-9a-fA-F]{2}){5}$/.test(text)
    ? text.replaceAll("-", ":").toLowerCase()
    : null
