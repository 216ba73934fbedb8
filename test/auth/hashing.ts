/**
 * Makes password hashing cheap in the process of a test: at its real cost it would be most of the time that these tests take. What is
 * hashed, and that it is, stays the same; one test hashes at the real cost and says so.
 */

import { createRequire, syncBuiltinESMExports } from "node:module"

type Scrypt = (word: unknown, salt: unknown, length: unknown, options: { readonly N: number }, done: unknown) => void

const crypto = createRequire(import.meta.url)("node:crypto") as { scrypt: Scrypt }
const { scrypt } = crypto

/** Divides the cost of every hash that is made or checked from now on; 1 is the real cost. */
export const divideHashing = (by: number): void => {
  crypto.scrypt = by === 1
    ? scrypt
    : (word, salt, length, options, done) => scrypt(word, salt, length, { ...options, N: options.N / by }, done)
  syncBuiltinESMExports()
}
