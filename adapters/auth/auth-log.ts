/**
 * What the auth server writes to a log: who signed in or could not, which accounts and keys changed. An entry holds ids and keyed hashes,
 * never a password, token, cookie, code, key or address. Texts of callers are written as hashes only.
 */

import { createHmac } from "node:crypto"

export type AuthEventName =
  | "sign-in-ok"
  | "sign-in-failed"
  | "sign-in-limited"
  | "sign-in-overtaken"
  | "second-factor-wanted"
  | "second-factor-failed"
  | "second-factor-on"
  | "second-factor-off"
  | "recovery-codes-made"
  | "passkey-added"
  | "passkey-removed"
  | "password-changed"
  | "password-change-failed"
  | "reset-asked"
  | "link-sent"
  | "link-refused"
  | "sign-in-alerted"
  | "owner-notified"
  | "account-invited"
  | "account-created"
  | "account-deleted"
  | "account-changed"
  | "account-banned"
  | "account-unbanned"
  | "role-changed"
  | "password-set"
  | "tokens-revoked"
  | "token-minted"
  | "link-asked"
  | "sessions-ended"
  | "key-created"
  | "key-revoked"
  | "key-used-first"

/** One thing that happened. */
export interface AuthEvent {
  /** `warn` is for events that somebody should look at when they come often. */
  readonly level: "info" | "warn"
  readonly event: AuthEventName
  /** Id of the user it happened to, when known. */
  readonly user?: string
  /** Keyed hash of the email address: the same for the same address, and no way back. */
  readonly account?: string
  /** Keyed hash of the client's address, as limits see it. */
  readonly client?: string
  /** Id of the admin who did it over HTTP; absent on the host. */
  readonly by?: string
  /** Id of an API key: the part of its text that is no secret. */
  readonly key?: string
  /** Id of a passkey: of its row, which nobody signs in with. */
  readonly passkey?: string
  /** `password`, `totp`, `recovery-code`, `passkey`, or the id of a provider; `reset` or `invitation` of a mailed link. */
  readonly method?: string
  /** Seconds that a minted token lives, or that a limited client waits. */
  readonly seconds?: number
}

/** Is told of everything as it happens. What it throws goes to `onError`. */
export type AuthLog = (entry: AuthEvent) => void

/** What a change is about, for whoever notes changes. It is in no log: it has names. */
export interface AccountChanged {
  /** What the account or key was called. */
  readonly name?: string
  /** Roles before and after. */
  readonly before?: readonly string[]
  readonly after?: readonly string[]
  /** Names of what was changed. */
  readonly fields?: readonly string[]
  /** Whether it was done over HTTP by the user it happened to. Absent: by whoever `by` names, or by nobody who is known. */
  readonly own?: boolean
}

/** Takes entries, inside of this adapter. */
export type Told = (entry: AuthEvent, changed?: AccountChanged) => void

/** Is told of the same, with what a change is about. `request`: the id of the HTTP request that did it, null where it has none; undefined: a program did. */
export type AccountWatch = (
  entry: AuthEvent,
  changed: AccountChanged,
  request: string | null | undefined
) => void

/** Hashes for log entries, from a key that only this deployment has. */
export const makeHashes = (secret: string): (kind: "account" | "client", value: string) => string => {
  const key = createHmac("sha256", secret).update("log").digest()
  return (kind, value) => createHmac("sha256", key).update(`${kind}:${value}`).digest("base64url").slice(0, 16)
}
