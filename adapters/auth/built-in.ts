/**
 * The authenticator for tokens of the built-in sign-in, with its keys, issuer and audience, the configured tenant, and the revocations of
 * the shared database. It verifies API keys, too, which need that database. It adds nothing to what the credential says of a user.
 */

import type { Auth } from "./auth.ts"
import { type Authenticator, bearerOf } from "./authenticator.ts"
import { makeVerifier, type TokenCache } from "./jwt.ts"
import { isKeyText, makeKeyVerifier } from "./key-verifier.ts"
import { fetchKeys } from "./keys.ts"
import { type TrustedApp, withTrustedApps } from "./trusted.ts"

/** Whose tokens `builtInAuthenticator` accepts, and what they allow. */
export interface BuiltInOptions {
  /** The auth server in this process. Without it `jwksUrl` and `issuer` name one elsewhere; revocations then show after 15 minutes. */
  readonly auth?: Auth | undefined
  /** The tenant of every user; default the one `auth` was made with. */
  readonly tenant?: string | number | undefined
  readonly cache?: TokenCache | undefined
  readonly jwksUrl?: string | undefined
  readonly issuer?: string | undefined
  readonly apps?: readonly TrustedApp[] | undefined
}

/**
 * Verifies tokens of `GET /api/auth/token` and of `issueToken` (docs/guides/authentication.md#tokens), those of trusted apps, and, where `auth`
 * is given, API keys.
 */
export const builtInAuthenticator = (options: BuiltInOptions): Authenticator => {
  const { apps = [], auth, cache } = options
  const issuer = options.issuer ?? auth?.url
  if (issuer === undefined || (auth === undefined && options.jwksUrl === undefined)) {
    throw new Error("builtInAuthenticator needs either auth, or jwksUrl and issuer.")
  }
  const tenant = options.tenant ?? auth?.tenant
  const revocations = auth?.internals.revocations
  const own = makeVerifier({
    load: options.jwksUrl !== undefined || auth === undefined
      ? fetchKeys(options.jwksUrl ?? "")
      : auth.internals.publicKeys,
    mayBeEmpty: options.jwksUrl === undefined && auth !== undefined,
    issuer,
    audience: issuer,
    algorithms: ["EdDSA", "Ed25519"],
    rolesClaim: "role",
    cache,
    admit: ({ payload, roles, subject }) => {
      const { epoch: given } = payload
      const epoch = typeof given === "number" && Number.isSafeInteger(given) ? given : 0
      const session = typeof payload["sid"] === "string" ? payload["sid"] : undefined
      return {
        identity: Object.freeze({
          user: Object.freeze({ id: subject, roles }),
          ...(tenant === undefined ? {} : { tenant })
        }),
        ...(revocations === undefined ? {} : { counts: () => revocations.counts(subject, epoch, session) })
      }
    }
  })
  const signed = withTrustedApps(own, issuer, apps, cache)
  if (auth === undefined) return signed
  const verifyKey = makeKeyVerifier(auth.internals, tenant)
  return (request) => {
    const text = bearerOf(request)
    return isKeyText(text) ? verifyKey(text) : signed(request)
  }
}
