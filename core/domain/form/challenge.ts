/**
 * Proof of work (docs/guides/forms.md#the-proof-of-work): a sealed challenge for one form, and whether a solution solves it. It keeps no record of challenges;
 * the port to submissions ensures that each is used once.
 */

import { isBag } from "../bag.ts"
import type { Json } from "../value/kind.ts"

/** How long a challenge may be used, in milliseconds. */
export const challengeMs = 5 * 60_000

/** A challenge that was opened: when it expires, and how many zero bits it asks for. */
export interface Challenge {
  /** Milliseconds since 1970. */
  readonly expires: number
  readonly difficulty: number
}

/** The context that a challenge of a form is sealed with, so that it is not valid for another form. */
export const challengeContext = (form: string): string => `form challenge ${form}`

export const printChallenge = ({ difficulty, expires }: Challenge): string => `${expires}.${difficulty}`

/** Reads an opened challenge; null when it has expired. */
export const readChallenge = (text: string, now: number): Challenge | null => {
  const [, expires, difficulty] = /^([0-9]{1,16})\.([0-9]{1,2})$/.exec(text) ?? []
  const challenge = { expires: Number(expires), difficulty: Number(difficulty) }
  return challenge.expires > now ? challenge : null
}

/** What a submission brings as proof. */
export interface Proof {
  readonly challenge: string
  /** A decimal number. */
  readonly solution: string
}

/** Longest sealed challenge that is accepted. */
const longest = 256

/** The proof in a body, or null where the body has no valid one. */
export const readProof = (proof: Json | undefined): Proof | null => {
  if (!isBag(proof) || Object.keys(proof).length !== 2) return null
  const { challenge, solution } = proof
  if (typeof challenge !== "string" || challenge.length > longest) return null
  const number = typeof solution === "number" ? String(solution) : solution
  return typeof number === "string" && /^(?:0|[1-9][0-9]{0,15})$/.test(number) ? { challenge, solution: number } : null
}

/** The text whose SHA-256 has to begin with the zero bits. */
export const provenText = ({ challenge, solution }: Proof): string => `${challenge}.${solution}`

/** Whether a digest (hexadecimal) begins with so many zero bits. */
export const hasZeroBits = (digest: string, bits: number): boolean => {
  const whole = bits >> 2
  if (digest.length <= whole) return false
  for (let at = 0; at < whole; at++) if (digest[at] !== "0") return false
  return Number.parseInt(digest[whole]!, 16) < 2 ** (4 - (bits & 3))
}
