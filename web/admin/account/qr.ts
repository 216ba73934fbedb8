/**
 * Computes the QR code (ISO/IEC 18004) of a short text: byte mode, error correction level M, versions 1 to 20, at most 666 bytes. Pure. The page draws the
 * modules.
 */

/** By version at level M: error correction codewords per block, and the number of blocks. */
const correction =
  "10,1 16,1 26,1 18,2 24,2 16,4 18,4 22,4 22,5 26,5 30,5 22,8 22,9 24,9 24,10 28,10 28,11 26,13 26,14 26,16".split(" ")
    .map((pair) => pair.split(",").map(Number) as [perBlock: number, blocks: number])

/** Modules for data and error correction: the square without finder, timing, alignment, format and version patterns. */
const capacity = (version: number): number => {
  const aligned = version === 1 ? 0 : Math.floor(version / 7) + 2
  const alignment = aligned === 0 ? 0 : (25 * aligned - 10) * aligned - 55
  return (16 * version + 128) * version + 64 - alignment - (version >= 7 ? 36 : 0)
}

/** Centres of the alignment patterns along one side. */
const centresOf = (version: number): readonly number[] => {
  if (version === 1) return []
  const count = Math.floor(version / 7) + 2
  const last = version * 4 + 10
  const step = Math.ceil((last - 6) / (count - 1) / 2) * 2
  return [6, ...Array.from({ length: count - 1 }, (_, at) => last - (count - 2 - at) * step)]
}

/** The product of two elements of GF(256), the field of QR codes. */
const times = (a: number, b: number): number => {
  let product = 0
  for (let bit = 7; bit >= 0; bit--) product = (product << 1) ^ ((product >> 7) * 0x11d) ^ (((b >> bit) & 1) * a)
  return product & 0xff
}

/** The Reed-Solomon codewords of a block. */
const remainderOf = (data: readonly number[], degree: number): readonly number[] => {
  const divisor = Array.from({ length: degree }, (_, at): number => at === degree - 1 ? 1 : 0)
  for (let n = 0, root = 1; n < degree; n++, root = times(root, 2)) {
    for (let at = 0; at < degree; at++) divisor[at] = times(divisor[at]!, root) ^ (divisor[at + 1] ?? 0)
  }
  const rest = Array.from({ length: degree }, () => 0)
  for (const byte of data) {
    const factor = byte ^ rest.shift()!
    rest.push(0)
    for (let at = 0; at < degree; at++) rest[at]! ^= times(divisor[at]!, factor)
  }
  return rest
}

/** The final codewords: data with mode, length and padding, split into blocks, with error correction, interleaved. */
const codewordsOf = (bytes: Uint8Array, version: number): readonly number[] => {
  const [perBlock, blocks] = correction[version - 1]!
  const room = (capacity(version) >> 3) - perBlock * blocks
  const bits: number[] = []
  const put = (value: number, length: number): void => {
    for (let bit = length - 1; bit >= 0; bit--) bits.push((value >> bit) & 1)
  }
  put(4, 4)
  put(bytes.length, version < 10 ? 8 : 16)
  for (const byte of bytes) put(byte, 8)
  put(0, Math.min(4, room * 8 - bits.length))
  put(0, (8 - bits.length % 8) % 8)
  for (let pad = 0xec; bits.length < room * 8; pad ^= 0xfd) put(pad, 8)
  const data = Array.from({ length: room }, (_, at) => Number.parseInt(bits.slice(at * 8, at * 8 + 8).join(""), 2))
  const short = Math.floor(room / blocks)
  const longFrom = blocks - room % blocks
  const parts = Array.from({ length: blocks }, (_, at) => {
    const start = at * short + Math.max(0, at - longFrom)
    return data.slice(start, start + short + (at >= longFrom ? 1 : 0))
  })
  const interleaved = (lists: ReadonlyArray<readonly number[]>, length: number): readonly number[] =>
    Array.from({ length }, (_, at) => lists.flatMap((each) => each[at] ?? [])).flat()
  return [
    ...interleaved(parts, short + 1),
    ...interleaved(parts.map((part) => remainderOf(part, perBlock)), perBlock)
  ]
}

const masks: ReadonlyArray<(x: number, y: number) => boolean> = [
  (x, y) => (x + y) % 2 === 0,
  (_, y) => y % 2 === 0,
  (x) => x % 3 === 0,
  (x, y) => (x + y) % 3 === 0,
  (x, y) => (Math.floor(x / 3) + Math.floor(y / 2)) % 2 === 0,
  (x, y) => (x * y) % 2 + (x * y) % 3 === 0,
  (x, y) => ((x * y) % 2 + (x * y) % 3) % 2 === 0,
  (x, y) => ((x + y) % 2 + (x * y) % 3) % 2 === 0
]

/** Appends the remainder of a division by a generator polynomial, for format and version information. */
const withCheck = (value: number, generator: number, length: number): number => {
  let rest = value
  for (let n = 0; n < length; n++) rest = (rest << 1) ^ ((rest >> (length - 1)) * generator)
  return (value << length) | rest
}

type Grid = boolean[][]

/** The penalty of a mask, by the four rules of the standard. */
const penaltyOf = (grid: Grid): number => {
  const across = grid.map((row) => row.map((dark) => dark ? "1" : "0").join(""))
  const down = across.map((_, x) => across.map((row) => row[x]).join(""))
  let penalty = 0
  for (const line of [...across, ...down]) {
    for (const [run] of line.matchAll(/1{5,}|0{5,}/g)) penalty += run.length - 2
    for (const pattern of ["10111010000", "00001011101"]) {
      for (let at = line.indexOf(pattern); at >= 0; at = line.indexOf(pattern, at + 1)) penalty += 40
    }
  }
  for (let y = 1; y < grid.length; y++) {
    for (let x = 1; x < grid.length; x++) {
      const dark = grid[y]![x]
      if (grid[y]![x - 1] === dark && grid[y - 1]![x] === dark && grid[y - 1]![x - 1] === dark) penalty += 3
    }
  }
  const twentieths = across.join("").replaceAll("0", "").length * 20 / grid.length ** 2
  return penalty + Math.max(0, Math.ceil(Math.abs(twentieths - 10)) - 1) * 10
}

/** The modules of a code, row by row: true is dark. Without the quiet zone of four modules. Throws for a text of more than 666 bytes. */
export const qrCode = (text: string): ReadonlyArray<readonly boolean[]> => {
  const bytes = new TextEncoder().encode(text)
  const version =
    correction.findIndex(([perBlock, blocks], at) =>
      bytes.length * 8 + (at < 9 ? 12 : 20) <= ((capacity(at + 1) >> 3) - perBlock * blocks) * 8
    ) + 1
  if (version === 0) throw new RangeError("The text is too long for a code.")
  const size = version * 4 + 17
  const grid: Grid = Array.from({ length: size }, () => Array.from({ length: size }, () => false))
  const fixed: Grid = grid.map((row) => [...row])
  const set = (x: number, y: number, dark: boolean): void => {
    if (grid[y]?.[x] === undefined) return
    grid[y][x] = dark
    fixed[y]![x] = true
  }
  const square = (cx: number, cy: number, radius: number, dark: (far: number) => boolean): void => {
    for (let dy = -radius; dy <= radius; dy++) {
      for (let dx = -radius; dx <= radius; dx++) set(cx + dx, cy + dy, dark(Math.max(Math.abs(dx), Math.abs(dy))))
    }
  }
  for (let at = 0; at < size; at++) {
    set(6, at, at % 2 === 0)
    set(at, 6, at % 2 === 0)
  }
  for (const [cx, cy] of [[3, 3], [size - 4, 3], [3, size - 4]] as const) {
    square(cx, cy, 4, (far) => far !== 2 && far !== 4)
  }
  const centres = centresOf(version)
  const end = centres.at(-1)
  for (const cx of centres) {
    for (const cy of centres) {
      // Three of the corners have finder patterns instead.
      const corner = (cx === 6 || cx === end) && (cy === 6 || cy === end)
      if (!corner || (cx === end && cy === end)) square(cx, cy, 2, (far) => far !== 1)
    }
  }
  const format = (mask: number): void => {
    // Level M has the number 0.
    const bits = withCheck(mask, 0x537, 10) ^ 0x5412
    const bit = (n: number): boolean => ((bits >> n) & 1) === 1
    for (let n = 0; n < 6; n++) set(8, n, bit(n))
    set(8, 7, bit(6))
    set(8, 8, bit(7))
    set(7, 8, bit(8))
    for (let n = 9; n < 15; n++) set(14 - n, 8, bit(n))
    for (let n = 0; n < 8; n++) set(size - 1 - n, 8, bit(n))
    for (let n = 8; n < 15; n++) set(8, size - 15 + n, bit(n))
    set(8, size - 8, true)
  }
  format(0)
  if (version >= 7) {
    const bits = withCheck(version, 0x1f25, 12)
    for (let n = 0; n < 18; n++) {
      const [a, b] = [size - 11 + n % 3, Math.floor(n / 3)]
      set(a, b, ((bits >> n) & 1) === 1)
      set(b, a, ((bits >> n) & 1) === 1)
    }
  }
  const words = codewordsOf(bytes, version)
  let next = 0
  for (let right = size - 1; right >= 1; right -= right === 8 ? 3 : 2) {
    for (let step = 0; step < size; step++) {
      const upward = right > 6 ? ((size - 1 - right) & 2) === 0 : ((size - right) & 2) === 0
      const y = upward ? size - 1 - step : step
      for (const x of [right, right - 1]) {
        if (fixed[y]![x] === true) continue
        grid[y]![x] = ((words[next >> 3] ?? 0) >> (7 - (next & 7)) & 1) === 1
        next++
      }
    }
  }
  const flip = (mask: number): void => {
    const turns = masks[mask]!
    for (let y = 0; y < size; y++) {
      for (let x = 0; x < size; x++) if (fixed[y]![x] !== true && turns(x, y)) grid[y]![x] = grid[y]![x] !== true
    }
  }
  let best = { mask: 0, penalty: Number.POSITIVE_INFINITY }
  for (let mask = 0; mask < 8; mask++) {
    flip(mask)
    format(mask)
    const penalty = penaltyOf(grid)
    if (penalty < best.penalty) best = { mask, penalty }
    flip(mask)
  }
  flip(best.mask)
  format(best.mask)
  return grid
}
