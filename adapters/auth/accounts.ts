/** The `Accounts` port over the host functions. It only translates their failures. */

import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { AccountError } from "../../core/domain/account/account.ts"
import { Accounts, AccountsUnavailable } from "../../core/ports/accounts.ts"
import { createKey, listKeys, revokeKey } from "./api-keys.ts"
import type { Auth } from "./auth.ts"
import { isUnavailable } from "./database.ts"
import {
  createUser,
  deleteUser,
  hasUsers,
  issueToken,
  listUsers,
  removePasskeys,
  resetSecondFactor,
  revokeUser,
  setUserBanned,
  setUserPassword,
  setUserRole
} from "./users.ts"

type Failure = AccountError | AccountsUnavailable

const failed = (cause: unknown): Effect.Effect<never, Failure> => {
  if (cause instanceof AccountError) return Effect.fail(cause)
  return isUnavailable(cause) ? Effect.fail(new AccountsUnavailable({ cause })) : Effect.die(cause)
}

const attempt = <A>(work: () => Promise<A>): Effect.Effect<A, Failure> =>
  Effect.catch(Effect.tryPromise({ try: work, catch: (cause) => cause }), failed)

export const accountsOf = (auth: Auth): Accounts["Service"] => ({
  create: (account) => attempt(() => createUser(auth, account)),
  any: attempt(() => hasUsers(auth)),
  list: attempt(() => listUsers(auth)),
  setRole: (email, role) => attempt(() => setUserRole(auth, { email, role })),
  setBanned: (email, banned) => attempt(() => setUserBanned(auth, { email, banned })),
  setPassword: (email, password) => attempt(() => setUserPassword(auth, { email, password })),
  remove: (email) => attempt(() => deleteUser(auth, email)),
  revoke: (email) => attempt(() => revokeUser(auth, email)),
  issueToken: (email, ttlSeconds) => attempt(() => issueToken(auth, { email, ttlSeconds })),
  createKey: (key) => attempt(() => createKey(auth, key)),
  listKeys: (email) => attempt(() => listKeys(auth, email)),
  revokeKey: (id) => attempt(() => revokeKey(auth, id)),
  resetSecondFactor: (email) => attempt(() => resetSecondFactor(auth, email)),
  removePasskeys: (email) => attempt(() => removePasskeys(auth, email))
})

export const accountsLayer = (auth: Auth): Layer.Layer<Accounts> => Layer.succeed(Accounts, accountsOf(auth))
