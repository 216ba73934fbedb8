/**
 * What a change of an account ends. The triggers of the store do it, whichever code writes; what they cannot see, the adapter does by this table.
 * It ends nothing itself, and it knows no store.
 */

/**
 * What somebody may hold of an account. `waiting`: sign-ins that wait for their second factor · `devices`: trusted for the second factor · `links`: mailed,
 * for a new password. API keys are not among them: they follow the roles and the bans of their maker, and end with the account (see api-key.ts).
 */
export type CredentialKind = "sessions" | "tokens" | "waiting" | "devices" | "links"

/** `factor-off`: by its owner, who gave the password · `factor-taken`, `passkeys-taken`: by an admin · `revocation`: somebody else may have the account. */
export type AccountChange =
  | "address"
  | "ban"
  | "unban"
  | "role"
  | "password"
  | "factor-off"
  | "factor-taken"
  | "passkeys-taken"
  | "revocation"
  | "deletion"

const everything: readonly CredentialKind[] = ["sessions", "tokens", "waiting", "devices", "links"]

/** What each change ends. Whatever ends tokens raises the epoch of the account by one, so that older ones are told from newer ones. */
export const endings: { readonly [change in AccountChange]: readonly CredentialKind[] } = {
  // A link was mailed to whoever had the address then.
  address: ["links"],
  ban: everything,
  // No session outlived the ban. Nothing that was made before it comes back.
  unban: ["tokens", "waiting", "devices", "links"],
  // A session has no roles of its own: its next token has those of the account.
  role: ["tokens", "waiting", "devices"],
  password: everything,
  // A device is trusted for the factor that it replaces, not for the next one.
  "factor-off": ["devices"],
  "factor-taken": everything,
  "passkeys-taken": everything,
  revocation: everything,
  deletion: everything
}

export const ends = (change: AccountChange, held: CredentialKind): boolean => endings[change].includes(held)

/** By how much a change raises the epoch of its account; null: a request that changes nothing. */
export const raisedBy = (change: AccountChange | null): bigint => change !== null && ends(change, "tokens") ? 1n : 0n
