/**
 * Routes about accounts that better-auth does not have: API keys of one's own, and what admins do about the factors and roles of others. Like
 * `mail-routes.ts` it knows no HTTP; the functions of the host do the work.
 */

import { AccountError } from "../../core/domain/account/account.ts"
import { type ApiKey, keysMax } from "../../core/domain/account/api-key.ts"
import { type AccountAct, type ActRefusal, judgeAct, type Standing } from "../../core/domain/account/authority.ts"
import { isRecent } from "../../core/domain/account/session.ts"
import { isBag } from "../../core/domain/bag.ts"
import { type Problem, problem } from "../../core/domain/problem.ts"
import { createKey, listKeys, revokeKey } from "./api-keys.ts"
import type { Body } from "./auth-body.ts"
import type { AuthHost, AuthInternals } from "./internals.ts"
import { removePasskeys, resetSecondFactor } from "./users.ts"

/** Who asks, by a session that holds. */
export interface Asker extends Standing {
  readonly email: string
  /** The session's token and when it began. */
  readonly token: string
  readonly since: Date
}

/** A request of these routes. */
export interface OwnRequest {
  readonly body: Body
  /** The session of the request; throws a 401 where there is none. */
  readonly session: () => Promise<Asker>
  /** Gives the account that an admin's session asks about; throws the refusal of a caller who is none, or of an unknown account. */
  readonly account: (id: string) => Promise<Body>
}

export interface OwnRoutesSettings {
  readonly internals: AuthInternals
  readonly twoFactor: boolean
  readonly passkeys: boolean
}

/** Who asks, out of better-auth's answer about a session; null: nobody. */
export const askerIn = ({ session, user }: Body): Asker | null => {
  if (!isBag(session) || !isBag(user)) return null
  const { createdAt, token } = session
  const { email, id, role } = user
  return typeof id === "string" && typeof email === "string" && typeof token === "string" &&
      typeof createdAt === "string"
    // Who is barred has no session.
    ? { id, email, role: typeof role === "string" ? role : "", barred: false, token, since: new Date(createdAt) }
    : null
}

const invalid = (message: string): Problem => problem("invalid-record", message, { code: "VALIDATION_ERROR" })

const textOf = (body: Body, name: string): string => {
  const value = body[name]
  if (typeof value !== "string" || value === "") throw invalid(`The value of ${name} is not valid.`)
  return value
}

/** Most accounts that are asked about at once: as many as a listing gives. */
const askedMax = 500

const idsOf = (body: Body, name: string): readonly string[] => {
  const value = body[name]
  const ids: readonly unknown[] = Array.isArray(value) ? value : [null]
  if (ids.length > askedMax || !ids.every((id) => typeof id === "string")) {
    throw invalid(`The value of ${name} is not valid.`)
  }
  return ids
}

/** Runs a host function. Its refusals become problems. */
const asked = async <A>(work: () => Promise<A>): Promise<A> => {
  try {
    return await work()
  } catch (cause) {
    if (!(cause instanceof AccountError)) throw cause
    const code = cause.code.toUpperCase().replaceAll("-", "_")
    switch (cause.code) {
      case "unknown-user":
      case "unknown-key":
        throw problem("not-found", cause.message, { code })
      case "banned-user":
      case "role-not-held":
        throw problem("access-denied", cause.message, { code })
      default:
        throw problem("invalid-record", cause.message, { code })
    }
  }
}

const notAllowed = (refusal: ActRefusal): Problem =>
  refusal === "own-account"
    ? problem("access-denied", "Your own is turned off in your account.", { code: "OWN_ACCOUNT" })
    : problem("access-denied", "You are no longer an admin.", { code: "FORBIDDEN" })

const shownKey = ({ createdAt, expiresAt, id, lastUsedAt, name, revokedAt, role }: ApiKey): Body => ({
  id,
  name,
  role,
  createdAt: createdAt.toISOString(),
  expiresAt: expiresAt.toISOString(),
  revokedAt: revokedAt?.toISOString() ?? null,
  lastUsedAt: lastUsedAt?.toISOString() ?? null
})

/** The routes by path. */
export const makeOwnRoutes = (
  { internals, passkeys, twoFactor }: OwnRoutesSettings
): ReadonlyMap<string, (request: OwnRequest) => Promise<Body>> => {
  const { log, roles, store, table } = internals
  const auth: AuthHost = { internals, passkeys, twoFactor, roles: roles.choices }

  const ended = (): Problem =>
    problem("unauthenticated", "The session has ended. Sign in again.", { code: "UNAUTHORIZED" })

  /** Takes something from another's account by a function of the host; the log names the admin. */
  const takeFrom =
    (act: AccountAct, take: (by: AuthHost, email: string) => Promise<void>) =>
    async ({ account, body, session }: OwnRequest): Promise<Body> => {
      const { email, id } = await account(textOf(body, "userId"))
      const asker = await session()
      const refusal = judgeAct(act, asker, String(id))
      if (refusal !== null) throw notAllowed(refusal)
      const named = {
        ...auth,
        internals: {
          ...internals,
          log: (entry, changed) => log({ ...entry, by: asker.id }, changed)
        } satisfies AuthInternals
      }
      await asked(() => take(named, String(email)))
      return { status: true }
    }

  const routes: Array<readonly [string, (request: OwnRequest) => Promise<Body>]> = [
    ["/admin/roles", async ({ account, session }) => {
      await account((await session()).id)
      return { roles: roles.choices, defaultRole: roles.defaultRole ?? null }
    }],
    ["/admin/invited", async ({ account, body, session }) => {
      await account((await session()).id)
      return { users: await internals.links.awaited(idsOf(body, "users")) }
    }],
    ["/api-keys/list", async ({ session }) => {
      const { email } = await session()
      return { keys: (await listKeys(auth, email)).map(shownKey) }
    }],
    ["/api-keys/create", async ({ body, session }) => {
      const { email, id, since, token } = await session()
      if (!isRecent(since, new Date())) {
        throw problem("access-denied", "Sign in again: this session began too long ago to make a key.", {
          code: "SESSION_NOT_FRESH"
        })
      }
      const name = textOf(body, "name")
      const role = textOf(body, "role")
      const expires = body["expires"] === undefined ? undefined : textOf(body, "expires")
      const [open] = await store.query<{ readonly count: number }>(
        `select count(*)::int as count from ${
          table("apiKey")
        } where "userId" = $1 and "revokedAt" is null and "expiresAt" > now()`,
        [id]
      )
      if ((open?.count ?? 0) >= keysMax) {
        throw problem("conflict", `An account has at most ${keysMax} keys. Revoke one.`, { code: "TOO_MANY_KEYS" })
      }
      const made = await asked(() => createKey(auth, { email, name, role: role.split(","), expires }))
      // Whatever ended the session meanwhile must not be outlived by a key of it.
      const held = await store.query(`select 1 from ${table("session")} where "token" = $1 for share`, [token])
      if (held.length === 0) {
        await revokeKey(auth, made.id)
        throw ended()
      }
      return { ...shownKey(made), text: made.text }
    }],
    ["/api-keys/revoke", async ({ body, session }) => {
      const { email } = await session()
      const id = textOf(body, "id")
      // Another's key does not exist for the caller.
      if (!(await listKeys(auth, email)).some((key) => key.id === id)) {
        throw problem("not-found", "There is no such key.", { code: "UNKNOWN_KEY" })
      }
      return shownKey(await asked(() => revokeKey(auth, id)))
    }],
    ...(twoFactor ? [["/admin/reset-second-factor", takeFrom("take-factor", resetSecondFactor)] as const] : []),
    ...(passkeys ? [["/admin/remove-passkeys", takeFrom("take-passkeys", removePasskeys)] as const] : [])
  ]
  return new Map(routes)
}
