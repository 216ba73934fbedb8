/** What a session may do, by when it began, and what overtakes it while it begins. It reads no clock and no store. */

/** Seconds after its beginning in which a session may make what outlives it: API keys and passkeys. */
const recentSeconds = 15 * 60

/** Whether a session that began at `since` may make what outlives it. Whoever finds an open page later may not. */
export const isRecent = (since: Date, now: Date): boolean => now.getTime() - since.getTime() <= recentSeconds * 1_000

/**
 * Whether a sign-in, or a request that renews a session, may be answered: since its first look at the account nobody else has changed it. Epochs tell,
 * not clocks. `raised`: by how much the request itself raised the epoch. `undefined`: there was, or there is, no such account.
 */
export const isOvertaken = (before: bigint | undefined, now: bigint | undefined, raised: bigint): boolean =>
  before === undefined || now === undefined || now !== before + raised
