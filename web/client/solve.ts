/**
 * The proof of work of public forms: finds a decimal number such that SHA-256 of `challenge + "." + number` begins with enough zero bits. It uses plain
 * arithmetic, because an asynchronous digest for each try costs much more than the hash itself. It makes no request and reads no clock.
 */

const roots = new Int32Array(64)
const start = new Int32Array(8)

/** The constants of SHA-256 (FIPS 180-4): the fractional bits of cube and square roots of the first primes. */
const prepare = (): void => {
  const bits = (root: number): number => ((root - Math.floor(root)) * 2 ** 32) | 0
  let count = 0
  for (let n = 2; count < 64; n++) {
    let prime = true
    for (let d = 2; d * d <= n; d++) if (n % d === 0) prime = false
    if (!prime) continue
    if (count < 8) start[count] = bits(Math.sqrt(n))
    roots[count++] = bits(Math.cbrt(n))
  }
}
prepare()

const words = new Int32Array(64)

/** Updates a hash state with a block of 64 bytes. */
const compress = (state: Int32Array, bytes: DataView, at: number): void => {
  for (let i = 0; i < 16; i++) words[i] = bytes.getInt32(at + 4 * i)
  for (let i = 16; i < 64; i++) {
    const x = words[i - 15]!
    const y = words[i - 2]!
    const small = ((x >>> 7) | (x << 25)) ^ ((x >>> 18) | (x << 14)) ^ (x >>> 3)
    const large = ((y >>> 17) | (y << 15)) ^ ((y >>> 19) | (y << 13)) ^ (y >>> 10)
    words[i] = (words[i - 16]! + small + words[i - 7]! + large) | 0
  }
  let a = state[0]!
  let b = state[1]!
  let c = state[2]!
  let d = state[3]!
  let e = state[4]!
  let f = state[5]!
  let g = state[6]!
  let h = state[7]!
  for (let i = 0; i < 64; i++) {
    const high = ((e >>> 6) | (e << 26)) ^ ((e >>> 11) | (e << 21)) ^ ((e >>> 25) | (e << 7))
    const one = (h + high + ((e & f) ^ (~e & g)) + roots[i]! + words[i]!) | 0
    const low = ((a >>> 2) | (a << 30)) ^ ((a >>> 13) | (a << 19)) ^ ((a >>> 22) | (a << 10))
    const two = (low + ((a & b) ^ (a & c) ^ (b & c))) | 0
    h = g
    g = f
    f = e
    e = (d + one) | 0
    d = c
    c = b
    b = a
    a = (one + two) | 0
  }
  state[0]! += a
  state[1]! += b
  state[2]! += c
  state[3]! += d
  state[4]! += e
  state[5]! += f
  state[6]! += g
  state[7]! += h
}

/** Returns a function that tries the next numbers, from 0. It gives the solution, or null if it has to be called again. */
export const solver = (challenge: string, difficulty: number): (tries: number) => string | null => {
  const prefix = new TextEncoder().encode(`${challenge}.`)
  // Whole blocks of the challenge are the same for every try.
  const whole = prefix.length - prefix.length % 64
  const middle = start.slice()
  const head = new DataView(prefix.buffer, prefix.byteOffset)
  for (let at = 0; at < whole; at += 64) compress(middle, head, at)
  const state = new Int32Array(8)
  const rest = prefix.length - whole
  const tail = new Uint8Array(128)
  const blocks = new DataView(tail.buffer)
  let next = 0
  return (tries) => {
    for (const end = next + tries; next < end; next++) {
      const digits = String(next)
      tail.fill(0)
      tail.set(prefix.subarray(whole))
      for (let i = 0; i < digits.length; i++) tail[rest + i] = digits.charCodeAt(i)
      const length = rest + digits.length
      tail[length] = 128
      const size = length + 9 > 64 ? 128 : 64
      blocks.setInt32(size - 4, (whole + length) * 8)
      state.set(middle)
      for (let at = 0; at < size; at += 64) compress(state, blocks, at)
      const zeros = Math.clz32(state[0]!)
      if ((zeros < 32 ? zeros : 32 + Math.clz32(state[1]!)) >= difficulty) return digits
    }
    return null
  }
}
