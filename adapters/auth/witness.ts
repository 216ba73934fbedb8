/**
 * Watches requests and answers of the auth routes. It logs, and ends a session that began although its account changed meanwhile or its
 * code was used before. It never changes a request or an answer, and logs ids and hashes only.
 */

import * as Result from "effect/Result"
import { readEmail } from "../../core/domain/account/account.ts"
import { accountNamed } from "../../core/domain/account/attempt.ts"
import { isOvertaken } from "../../core/domain/account/session.ts"
import { type OwnCookies, ownCookies, signedIn } from "./cookies.ts"
import type { AuthEvent, AuthEventName } from "./events.ts"
import type { AuthInternals } from "./internals.ts"
import type { Limits } from "./limits.ts"
import { type AuthRoute, type Body, inviting, passkeySignIn } from "./routes.ts"

/** The account that a password was sent for, as it was before; or the accounts that the request's cookies name. */
export interface Seen {
  readonly epochs: ReadonlyMap<string, bigint>
  readonly barred: boolean
}

interface SeenRow {
  readonly id: string
  readonly epoch: string
  readonly barred: boolean
}

export interface Answered {
  readonly body: Body
  readonly cookies: readonly string[]
  readonly location: string
}

export interface Witness {
  readonly before: (path: string, body: Body, cookies: OwnCookies) => Promise<Seen | null>
  /** The user of the request's session, if it is one. */
  readonly owner: (cookies: OwnCookies) => Promise<string | null>
  /** The user whose sign-in waits for its second factor, if the request is about one. */
  readonly challenged: (cookies: OwnCookies) => Promise<string | null>
  /** Whether an answer may be sent. If not, what it began is undone already. */
  readonly stands: (
    seen: Seen | null,
    path: string,
    body: Body,
    answer: Answered,
    cookies: OwnCookies
  ) => Promise<boolean>
  readonly refused: (seen: Seen | null, path: string, route: AuthRoute, client: string, body: Body) => void
  /** Gives who signed in, if somebody did. */
  readonly accepted: (
    path: string,
    route: AuthRoute,
    client: string,
    body: Body,
    answer: Answered,
    cookies: OwnCookies
  ) => Promise<string | null>
}

/** What an accepted request of a route means for an account; the account is the session's own or the one named in `userId`. */
const events: { readonly [path: string]: AuthEventName } = {
  "/change-password": "password-changed",
  "/two-factor/disable": "second-factor-off",
  "/two-factor/generate-backup-codes": "recovery-codes-made",
  "/passkey/verify-registration": "passkey-added",
  "/passkey/delete-passkey": "passkey-removed",
  "/admin/create-user": "account-created",
  [inviting]: "account-invited",
  "/admin/update-user": "account-changed",
  "/admin/set-role": "role-changed",
  "/admin/ban-user": "account-banned",
  "/admin/unban-user": "account-unbanned",
  "/admin/remove-user": "account-deleted",
  "/admin/set-user-password": "password-set",
  "/admin/revoke-user-sessions": "tokens-revoked"
}

const methods: { readonly [path: string]: string } = {
  "/sign-in/email": "password",
  "/two-factor/verify-totp": "totp",
  "/two-factor/verify-backup-code": "recovery-code",
  [passkeySignIn]: "passkey"
}

/** Routes that make a session from another one or from a challenge, and by how much each raises the user's epoch itself. */
const renewing: ReadonlyMap<string, bigint> = new Map([
  ["/change-password", 1n],
  ["/two-factor/verify-totp", 0n],
  ["/two-factor/verify-backup-code", 0n],
  ["/two-factor/disable", 0n]
])

const sessionCookie = "service.session_token"
const challengeCookie = "service.two_factor"

/** The session that a `Set-Cookie` text begins. */
const tokenIn = (cookie: string): string | null => {
  const [text = ""] = cookie.split(";", 1)
  return signedIn(ownCookies(text, text.startsWith("__Secure-")), sessionCookie)
}

/** The passkey that an accepted request added or removed. */
const passkeyIn = (path: string, body: Body, answer: Answered): string | null => {
  const id = path === "/passkey/verify-registration"
    ? answer.body["id"]
    : path === "/passkey/delete-passkey"
    ? body["id"]
    : null
  return typeof id === "string" ? id : null
}

const credentialIn = ({ response }: Body): string =>
  typeof response === "object" && response !== null && "id" in response ? String(response.id) : ""

const userIn = (body: Body): string | null => {
  const { user } = body
  const id = typeof user === "object" && user !== null && "id" in user ? user.id : undefined
  return typeof id === "string" ? id : null
}

export const makeWitness = (internals: AuthInternals, limits: Limits): Witness => {
  const { hashOf, log, onError, store, table } = internals

  const ownerOf = async (token: string | null): Promise<string | null> => {
    if (token === null) return null
    const [row] = await store.query<{ readonly userId: string }>(
      `select "userId" from ${table("session")} where "token" = $1`,
      [token]
    )
    return row?.userId ?? null
  }

  /** The same for the log of what was done already: it is done, whether its owner can still be looked up or not. */
  const knownOwner = (token: string | null): Promise<string | null> =>
    ownerOf(token).catch((cause: unknown) => {
      onError(cause)
      return null
    })

  const methodOf = (path: string, route: AuthRoute): string =>
    typeof route.provider === "object" ? route.provider.id : methods[path] ?? "session"

  const who = (
    path: string,
    route: AuthRoute,
    client: string,
    body: Body
  ): Pick<AuthEvent, "client" | "account" | "method"> => {
    const email = path === "/sign-in/email" ? accountNamed(body["email"]) : null
    return {
      client: hashOf("client", client),
      method: methodOf(path, route),
      ...(email === null ? {} : { account: hashOf("account", email) })
    }
  }

  const begun = (answer: Answered): string | null =>
    answer.cookies.map(tokenIn).findLast((token) => token !== null) ?? null

  /** Only the end of a sign-in with a second factor takes the waiting cookie away. */
  const endsChallenge = (answer: Answered): boolean =>
    answer.cookies.some((cookie) => /^(?:__Secure-)?service\.two_factor=;/.test(cookie))

  const end = async (token: string | null): Promise<void> => {
    if (token !== null) await store.query(`delete from ${table("session")} where "token" = $1`, [token])
  }

  /** Ends what an overtaken sign-in began; gives false, as it does not stand. */
  const overtaken = async (answer: Answered, user: string | null): Promise<false> => {
    await end(begun(answer))
    log({ level: "warn", event: "sign-in-overtaken", ...(user === null ? {} : { user }) })
    return false
  }

  /** The epoch that an account has now. Waits for a change that is under way; a later change ends the session itself. */
  const epochOf = async (user: string | null): Promise<bigint | undefined> => {
    const [now] = await store.query<{ readonly epoch: string }>(
      `select "tokenEpoch"::text as epoch from ${table("user")} where "id" = $1 for share`,
      [user]
    )
    return now === undefined ? undefined : BigInt(now.epoch)
  }

  return {
    owner: (cookies) => ownerOf(signedIn(cookies, sessionCookie)),
    challenged: async (cookies) => {
      const challenge = signedIn(cookies, challengeCookie)
      if (challenge === null) return null
      const [row] = await store.query<{ readonly userId: string }>(
        `select u."id" as "userId" from ${table("verification")} v join ${table("user")} u on u."id" = v."value"`
          + ` where v."identifier" = $1`,
        [challenge]
      )
      return row?.userId ?? null
    },
    before: async (path, body, cookies) => {
      if (renewing.has(path)) {
        const users = await store.query<SeenRow>(
          `select "id", "tokenEpoch"::text as epoch from ${table("user")} where "id" in (`
            + `select "userId" from ${table("session")} where "token" = $1`
            + ` union all select "value" from ${table("verification")} where "identifier" = $2)`,
          [signedIn(cookies, sessionCookie), signedIn(cookies, challengeCookie)]
        )
        return { epochs: new Map(users.map(({ epoch, id }) => [id, BigInt(epoch)])), barred: false }
      }
      if (path !== "/sign-in/email" || typeof body["email"] !== "string") return null
      const email = readEmail(body["email"])
      if (Result.isFailure(email)) return null
      const [user] = await store.query<SeenRow>(
        `select "id", "tokenEpoch"::text as epoch,`
          + ` coalesce("banned", false) and ("banExpires" is null or "banExpires" > now()) as barred`
          + ` from ${table("user")} where "email" = $1`,
        [email.success]
      )
      // For an account that may sign in, its password is read next. For any other account as much is read, so that the time is the same.
      if (user?.barred !== false) {
        await store.query(`select * from ${table("account")} where "userId" = $1 limit 1`, [user?.id ?? ""])
      }
      return user === undefined
        ? null
        : { epochs: new Map([[user.id, BigInt(user.epoch)]]), barred: user.barred }
    },
    stands: async (seen, path, body, answer, cookies) => {
      if (path === "/sign-in/email") {
        const [[id, epoch] = ["", undefined]] = seen?.epochs ?? []
        if (!isOvertaken(epoch, await epochOf(id), 0n)) return true
        await store.query(
          `delete from ${table("verification")} where "value" = $1 and "identifier" like '2fa-%'`,
          [id]
        )
        return overtaken(answer, id === "" ? null : id)
      }
      const raised = renewing.get(path)
      const token = begun(answer)
      if (raised !== undefined && token !== null) {
        const user = await ownerOf(token)
        const epoch = user === null ? undefined : seen?.epochs.get(user)
        if (isOvertaken(epoch, await epochOf(user), raised)) return overtaken(answer, user)
      }
      if (path === "/two-factor/verify-totp") {
        // A code is good for a minute and a half, but only once (RFC 6238, 5.2).
        const fresh = await limits.once(`totp:${userIn(answer.body) ?? ""}:${String(body["code"])}`)
        if (fresh || !endsChallenge(answer)) return true
        await end(begun(answer))
        log({ level: "warn", event: "second-factor-failed", method: "totp", user: userIn(answer.body) ?? "" })
        return false
      }
      if (path === passkeySignIn) {
        // A passkey that was removed meanwhile opens nothing. A later removal ends the session itself where it must.
        const user = userIn(answer.body) ?? ""
        const known = await store.query(
          `select 1 from ${table("passkey")} where "credentialID" = $1 and "userId" = $2 for share`,
          [credentialIn(body), user]
        )
        return known.length === 1 || overtaken(answer, user)
      }
      if (path === "/passkey/verify-registration") {
        // Whoever removed all passkeys meanwhile has ended the session, too.
        const session = await store.query(
          `select 1 from ${table("session")} where "token" = $1 for share`,
          [signedIn(cookies, sessionCookie)]
        )
        if (session.length === 1) return true
        await store.query(`delete from ${table("passkey")} where "id" = $1`, [passkeyIn(path, body, answer)])
        return overtaken(answer, null)
      }
      return true
    },
    refused: (seen, path, route, client, body) => {
      const secondFactor = path.startsWith("/two-factor/")
      if (path !== "/change-password" && !(secondFactor && route.signsIn === true)) {
        if (route.signsIn === true) log({ level: "warn", event: "sign-in-failed", ...who(path, route, client, body) })
        return
      }
      // A caller without a session and without the password has guessed nothing.
      const [user] = seen?.epochs.keys() ?? []
      if (user === undefined) return
      if (secondFactor) log({ level: "warn", event: "second-factor-failed", ...who(path, route, client, body), user })
      else log({ level: "warn", event: "password-change-failed", client: hashOf("client", client), user })
    },
    accepted: async (path, route, client, body, answer, cookies) => {
      if (route.signsIn === true) {
        const token = begun(answer)
        if (token !== null) {
          const user = userIn(answer.body) ?? await knownOwner(token)
          const event = path === "/two-factor/verify-totp" && !endsChallenge(answer) ? "second-factor-on" : "sign-in-ok"
          log({ level: "info", event, ...who(path, route, client, body), ...(user === null ? {} : { user }) })
          return event === "sign-in-ok" ? user : null
        } else if (answer.body["twoFactorRedirect"] === true) {
          log({ level: "info", event: "second-factor-wanted", ...who(path, route, client, body) })
        } else if (typeof route.provider === "object") {
          log({ level: "warn", event: "sign-in-failed", ...who(path, route, client, body) })
        }
        return null
      }
      const event = events[path]
      if (event === undefined) return null
      const byAdmin = path.startsWith("/admin/")
      const actor = await knownOwner(begun(answer) ?? signedIn(cookies, sessionCookie))
      const named = byAdmin && typeof body["userId"] === "string" ? body["userId"] : null
      const user = named ?? userIn(answer.body) ?? (byAdmin ? null : actor)
      const passkey = passkeyIn(path, body, answer)
      log({
        level: "info",
        event,
        ...(user === null ? {} : { user }),
        ...(passkey === null ? {} : { passkey }),
        ...(byAdmin && actor !== null ? { by: actor } : {})
      })
      return null
    }
  }
}
