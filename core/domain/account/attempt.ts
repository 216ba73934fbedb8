/**
 * What counts as an attempt at an account, and how many there may be. Every request of a limited route counts, successful or not: whoever guesses right
 * has guessed, too. It counts nothing itself.
 */

/**
 * Whose attempts a route counts: those of the client, and those of the account that the body names, of the session's user, or of the user whose sign-in
 * waits for a second factor.
 */
export type Limited = "client" | "account" | "session" | "challenge"

/** Most attempts a minute. */
export interface AttemptLimits {
  readonly perClient: number
  /** From all clients together: it stops guesses from many addresses, and leaves room for the owner beside one who guesses. */
  readonly perAccount: number
}

/** Attempts a minute and client when nothing is said. */
export const attemptsPerMinute = 5

export const attemptLimits = (perClient: number): AttemptLimits => ({ perClient, perAccount: 2 * perClient })

/** The account that a body names, as attempts at it are counted: also one that cannot be, or an answer would tell which there are. */
export const accountNamed = (email: unknown): string | null =>
  typeof email === "string" ? email.trim().toLowerCase() : null
