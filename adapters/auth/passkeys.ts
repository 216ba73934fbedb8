/**
 * Passkeys for better-auth: its plugin, with the gaps closed that the plugin leaves. Loaded only where passkeys are configured. Every use
 * must have verified its user (fingerprint, PIN), which makes a passkey two factors. A new passkey needs a recent sign-in, so that a
 * session left open does not become a lasting key.
 */

import { passkey } from "@better-auth/passkey"
import type { BetterAuthPlugin } from "better-auth"
import { APIError, createAuthMiddleware, getSessionFromCtx } from "better-auth/api"
import { type Passkeys, passkeysMax } from "../../core/domain/account/passkey.ts"
import { isRecent } from "../../core/domain/account/session.ts"
import type { Store } from "./database.ts"

export interface PasskeySettings {
  readonly passkeys: Passkeys
  readonly appName: string
  readonly store: Store
  readonly table: (name: string) => string
}

/** What adds a passkey. */
const adding: ReadonlySet<string | undefined> = new Set([
  "/passkey/generate-register-options",
  "/passkey/verify-registration"
])

/** The plugin only asks that somebody is present. The handler words the refusal like all others. */
const unverified = () =>
  new APIError("BAD_REQUEST", { code: "AUTHENTICATION_FAILED", message: "The authenticator did not verify its user." })

/** The plugin, and before it the one that asks for a recent sign-in, on the session that better-auth itself trusts. */
export const passkeyPlugins = ({ appName, passkeys, store, table }: PasskeySettings) => {
  const { origins, rpId, rpName } = passkeys
  const recent = {
    id: "recent-sign-in",
    hooks: {
      before: [{
        matcher: ({ path }) => adding.has(path),
        handler: createAuthMiddleware(async (context) => {
          const session = await getSessionFromCtx(context)
          if (session === null) throw new APIError("UNAUTHORIZED", { code: "UNAUTHORIZED", message: "Unauthorized" })
          if (isRecent(new Date(session.session.createdAt), new Date())) return
          throw new APIError("FORBIDDEN", {
            code: "SESSION_NOT_FRESH",
            message: "Sign in again: a passkey can be added only soon after signing in."
          })
        })
      }]
    }
  } satisfies BetterAuthPlugin
  return [
    recent,
    passkey({
      rpID: rpId,
      rpName: rpName ?? appName,
      // Always set: without it the plugin trusts the request's own Origin.
      origin: [...origins],
      authenticatorSelection: { residentKey: "required", userVerification: "required" },
      advanced: { webAuthnChallengeCookie: "passkey" },
      registration: {
        afterVerification: async ({ user, verification }) => {
          if (verification.registrationInfo?.userVerified !== true) throw unverified()
          // A clear message before anything is judged. The trigger on the table keeps the limit.
          const [row] = await store.query<{ readonly count: number }>(
            `select count(*)::int as count from ${table("passkey")} where "userId" = $1`,
            [user.id]
          )
          if ((row?.count ?? 0) < passkeysMax) return
          throw new APIError("CONFLICT", {
            code: "TOO_MANY_PASSKEYS",
            message: `An account has at most ${passkeysMax} passkeys.`
          })
        }
      },
      authentication: {
        afterVerification: async ({ verification }) => {
          if (!verification.authenticationInfo.userVerified) throw unverified()
        }
      }
    })
  ]
}
