/**
 * Watches requests and answers of the auth routes. It logs, and ends a session that began although its account changed meanwhile or its
 * code was used before. It never changes a request or an answer, and logs ids and hashes only.
 */

import * as Result from "effect/Result"
import { readEmail } from "../../core/domain/account/account.ts"
import { accountNamed } from "../../core/domain/account/attempt.ts"
import { raisedBy } from "../../core/domain/account/ending.ts"
import { isOvertaken } from "../../core/domain/account/session.ts"
import { isBag, isTextList } from "../../core/domain/bag.ts"
import type { AuthCall } from "./asked.ts"
import type { Body } from "./auth-body.ts"
import type { AccountChanged, AuthEvent, AuthEventName } from "./auth-log.ts"
import { type OwnCookies, ownCookies, signedIn } from "./cookies.ts"
import type { AuthInternals } from "./internals.ts"
import type { Limits } from "./limits.ts"
import { barred } from "./migration.ts"
import { passkeyAdding, passkeySignIn, passwordSignIn } from "./routes.ts"

/** The account that a password was sent for, as it was before; or the accounts that the request's cookies name. */
export interface Seen {
  readonly epochs: ReadonlyMap<string, bigint>
  readonly barred: boolean
  /** The account that an admin's request is about, as it was before. */
  readonly target?: Target | undefined
  /** The owner of the request's session, which the request may end. */
  readonly actor?: string | null | undefined
}

interface Target {
  readonly id: string
  readonly name: string
  readonly role: string
}

interface SeenRow {
  readonly id: string
  readonly epoch: string
  readonly barred: boolean
}

interface CookieRow extends Pick<SeenRow, "id" | "epoch"> {
  readonly inSession: boolean | null
}

/** What better-auth answered, below 400. */
export interface Answered {
  readonly body: Body
  readonly cookies: readonly string[]
}

export interface Witness {
  /** Looks at the accounts that a request may be about, before better-auth does. */
  readonly before: (asked: AuthCall) => Promise<Seen | null>
  /** The user of the request's session, if it is one. */
  readonly owner: (cookies: OwnCookies) => Promise<string | null>
  /** The user whose sign-in waits for its second factor, if the request is about one. */
  readonly challenged: (cookies: OwnCookies) => Promise<string | null>
  /** Whether an answer may be sent. If not, what it began is undone already. */
  readonly stands: (asked: AuthCall, seen: Seen | null, answer: Answered) => Promise<boolean>
  readonly refused: (asked: AuthCall, seen: Seen | null) => void
  /** Gives who signed in, if somebody did. */
  readonly accepted: (asked: AuthCall, seen: Seen | null, answer: Answered) => Promise<string | null>
}

const sessionCookie = "service.session_token"
const challengeCookie = "service.two_factor"

/** The session that a `Set-Cookie` text begins. */
const tokenIn = (cookie: string): string | null => {
  const [text = ""] = cookie.split(";", 1)
  return signedIn(ownCookies(text, text.startsWith("__Secure-")), sessionCookie)
}

/** The session that an answer begins. */
const begun = (answer: Answered): string | null =>
  answer.cookies.map(tokenIn).findLast((token) => token !== null) ?? null

/** Only the end of a sign-in with a second factor takes the waiting cookie away. */
const endsChallenge = (answer: Answered): boolean =>
  answer.cookies.some((cookie) => /^(?:__Secure-)?service\.two_factor=;/.test(cookie))

/** The passkey that an accepted request added or removed. */
const passkeyIn = (path: string, body: Body, answer: Answered): string | null => {
  const id = path === passkeyAdding ? answer.body["id"] : path === "/passkey/delete-passkey" ? body["id"] : null
  return typeof id === "string" ? id : null
}

const credentialIn = ({ response }: Body): string =>
  typeof response === "object" && response !== null && "id" in response ? String(response.id) : ""

const userIn = (body: Body): string | null => {
  const { user } = body
  const id = typeof user === "object" && user !== null && "id" in user ? user.id : undefined
  return typeof id === "string" ? id : null
}

const textIn = (body: Body, name: string): string => {
  const value = body[name]
  return typeof value === "string" ? value : ""
}

const listed = (roles: string): readonly string[] => roles.split(",").filter((role) => role !== "")

/** Roles as a request names them. */
const rolesIn = ({ role }: Body): readonly string[] =>
  typeof role === "string" ? listed(role) : isTextList(role) ? role : []

/** What a request changed, for whoever notes changes: of roles, those before and after; of other changes, the names of the fields. */
const changedBy = (
  event: AuthEventName,
  body: Body,
  target: Target | undefined,
  { body: { user } }: Answered
): AccountChanged => {
  const made = isBag(user) ? user : {}
  const name = target?.name ?? made["name"]
  const named = typeof name === "string" ? { name } : {}
  switch (event) {
    case "account-created":
    case "account-invited":
      return { ...named, after: typeof made["role"] === "string" ? listed(made["role"]) : rolesIn(body) }
    case "role-changed":
      return { ...named, before: listed(target?.role ?? ""), after: rolesIn(body) }
    case "account-changed":
      return { ...named, fields: isBag(body["data"]) ? Object.keys(body["data"]) : [] }
    default:
      return named
  }
}

const totp = "/two-factor/verify-totp"

/** Where an admin ends one session of somebody. */
const sessionEnding = "/admin/revoke-user-session"

const isByAdmin = ({ path }: AuthCall): boolean => path.startsWith("/admin/")

export const makeWitness = (internals: AuthInternals, limits: Limits): Witness => {
  const { hashOf, log, onError, store, table } = internals
  const [users, sessions, verification] = [table("user"), table("session"), table("verification")]

  const ownerOf = async (token: string | null): Promise<string | null> => {
    if (token === null) return null
    const [row] = await store.query<{ readonly userId: string }>(
      `select "userId" from ${sessions} where "token" = $1`,
      [token]
    )
    return row?.userId ?? null
  }

  /** The owner of a session for the log. The request is done by then, so a failure to look the owner up must not fail it. */
  const knownOwner = (token: string | null): Promise<string | null> =>
    ownerOf(token).catch((cause: unknown) => {
      onError(cause)
      return null
    })

  const who = ({ body, client, path, route }: AuthCall): Pick<AuthEvent, "client" | "account" | "method"> => {
    const email = path === passwordSignIn ? accountNamed(body["email"]) : null
    return {
      client: hashOf("client", client.group),
      method: route.signsIn ?? "session",
      ...(email === null ? {} : { account: hashOf("account", email) })
    }
  }

  /** Whether there is such a row, once changes of it that are under way have ended. */
  const isThere = async (rows: string, values: readonly unknown[]): Promise<boolean> =>
    (await store.query(`select 1 from ${rows} for share`, values)).length > 0

  /** The epoch that an account has now. Waits for a change that is under way; a later change ends the session itself. */
  const epochOf = async (user: string | null): Promise<bigint | undefined> => {
    const [now] = await store.query<{ readonly epoch: string }>(
      `select "tokenEpoch"::text as epoch from ${users} where "id" = $1 for share`,
      [user]
    )
    return now === undefined ? undefined : BigInt(now.epoch)
  }

  const end = async (token: string | null): Promise<void> => {
    if (token !== null) await store.query(`delete from ${sessions} where "token" = $1`, [token])
  }

  /** Ends what an overtaken sign-in began; gives false, as it does not stand. */
  const overtaken = async (answer: Answered, user: string | null): Promise<false> => {
    await end(begun(answer))
    log({ level: "warn", event: "sign-in-overtaken", ...(user === null ? {} : { user }) })
    return false
  }

  const passwordStands = async (seen: Seen | null, answer: Answered): Promise<boolean> => {
    const [[id, epoch] = ["", undefined]] = seen?.epochs ?? []
    if (!isOvertaken(epoch, await epochOf(id), 0n)) return true
    await store.query(`delete from ${verification} where "value" = $1 and "identifier" like '2fa-%'`, [id])
    return overtaken(answer, id === "" ? null : id)
  }

  /** A session that came of another one, or of a challenge: its account has changed by this request alone. */
  const renewalStands = async ({ route }: AuthCall, seen: Seen | null, answer: Answered): Promise<boolean> => {
    const token = begun(answer)
    if (route.renews !== true || token === null) return true
    const user = await ownerOf(token)
    const epoch = user === null ? undefined : seen?.epochs.get(user)
    return !isOvertaken(epoch, await epochOf(user), raisedBy(route.changes ?? null)) || overtaken(answer, user)
  }

  /** A code is good for a minute and a half, but only once (RFC 6238, 5.2). */
  const codeStands = async ({ body }: AuthCall, answer: Answered): Promise<boolean> => {
    const user = userIn(answer.body) ?? ""
    const fresh = await limits.once(`totp:${user}:${String(body["code"])}`)
    if (fresh || !endsChallenge(answer)) return true
    await end(begun(answer))
    log({ level: "warn", event: "second-factor-failed", method: "totp", user })
    return false
  }

  /** A passkey that was removed meanwhile opens nothing. A later removal ends the session itself where it must. */
  const passkeyStands = async ({ body }: AuthCall, answer: Answered): Promise<boolean> => {
    const user = userIn(answer.body) ?? ""
    return await isThere(`${table("passkey")} where "credentialID" = $1 and "userId" = $2`, [credentialIn(body), user])
      || overtaken(answer, user)
  }

  /** Whoever removed all passkeys meanwhile has ended the session, too. */
  const newPasskeyStands = async ({ body, cookies, path }: AuthCall, answer: Answered): Promise<boolean> => {
    if (await isThere(`${sessions} where "token" = $1`, [signedIn(cookies, sessionCookie)])) return true
    await store.query(`delete from ${table("passkey")} where "id" = $1`, [passkeyIn(path, body, answer)])
    return overtaken(answer, null)
  }

  /** The accounts that a session or a challenge of the cookies belongs to. */
  const seenByCookies = async (cookies: OwnCookies): Promise<Seen> => {
    const owner = `(select "userId" from ${sessions} where "token" = $1)`
    const rows = await store.query<CookieRow>(
      `select "id", "tokenEpoch"::text as epoch, "id" = ${owner} as "inSession" from ${users}`
        + ` where "id" = ${owner} or "id" in (select "value" from ${verification} where "identifier" = $2)`,
      [signedIn(cookies, sessionCookie), signedIn(cookies, challengeCookie)]
    )
    return {
      epochs: new Map(rows.map(({ epoch, id }) => [id, BigInt(epoch)])),
      barred: false,
      actor: rows.find(({ inSession }) => inSession === true)?.id ?? null
    }
  }

  const seenByEmail = async (given: unknown): Promise<Seen | null> => {
    const email = typeof given === "string" ? Result.getOrNull(readEmail(given)) : null
    if (email === null) return null
    const [user] = await store.query<SeenRow>(
      `select "id", "tokenEpoch"::text as epoch, ${barred("u")} as barred from ${users} u where "email" = $1`,
      [email]
    )
    // For an account that may sign in, its password is read next. For any other account as much is read, so that the time is the same.
    if (user?.barred !== false) {
      await store.query(`select * from ${table("account")} where "userId" = $1 limit 1`, [user?.id ?? ""])
    }
    return user === undefined ? null : { epochs: new Map([[user.id, BigInt(user.epoch)]]), barred: user.barred }
  }

  /** Logs the end of a request that may begin a session; gives who signed in. */
  const noteSignIn = async (asked: AuthCall, answer: Answered): Promise<string | null> => {
    const token = begun(answer)
    if (token === null) {
      const waits = answer.body["twoFactorRedirect"] === true
      if (waits) log({ level: "info", event: "second-factor-wanted", ...who(asked) })
      else if (typeof asked.route.provider === "object") log({ level: "warn", event: "sign-in-failed", ...who(asked) })
      return null
    }
    const user = userIn(answer.body) ?? await knownOwner(token)
    const event = asked.path === totp && !endsChallenge(answer) ? "second-factor-on" : "sign-in-ok"
    log({ level: "info", event, ...who(asked), ...(user === null ? {} : { user }) }, { own: true })
    return event === "sign-in-ok" ? user : null
  }

  /**
   * The account that an admin's request is about, by the member of its body that better-auth goes by: no other member may decide whom the log names. A request
   * that makes an account is about none that is there.
   */
  const targetOf = async ({ body, path, route: { event } }: AuthCall): Promise<Target | undefined> => {
    if (event === "account-created" || event === "account-invited") return undefined
    const bySession = path === sessionEnding
    const id = bySession ? `(select "userId" from ${sessions} where "token" = $1)` : "$1"
    const [target] = await store.query<Target>(
      `select "id", "name", coalesce("role", '') as role from ${users} where "id" = ${id}`,
      [textIn(body, bySession ? "sessionToken" : "userId")]
    )
    return target
  }

  /** Who asks, and about whom. Both are looked at before, because the request may delete either, and end the session. */
  const seenActors = async (asked: AuthCall): Promise<Seen> => ({
    epochs: new Map(),
    barred: false,
    actor: await ownerOf(signedIn(asked.cookies, sessionCookie)),
    target: isByAdmin(asked) ? await targetOf(asked) : undefined
  })

  /** Logs the effect of a request on an account: of an admin's request the account that it is about, else the session's own. */
  const noteChange = (
    asked: AuthCall,
    seen: Seen | null,
    answer: Answered
  ): void => {
    const { body, path, route: { event } } = asked
    if (event === undefined) return
    const byAdmin = isByAdmin(asked)
    const actor = seen?.actor ?? null
    const user = seen?.target?.id ?? userIn(answer.body) ?? (byAdmin ? null : actor)
    const passkey = passkeyIn(path, body, answer)
    log({
      level: "info",
      event,
      ...(user === null ? {} : { user }),
      ...(passkey === null ? {} : { passkey }),
      ...(byAdmin && actor !== null ? { by: actor } : {})
    }, { ...changedBy(event, body, seen?.target, answer), own: !byAdmin })
  }

  return {
    owner: (cookies) => ownerOf(signedIn(cookies, sessionCookie)),
    challenged: async (cookies) => {
      const challenge = signedIn(cookies, challengeCookie)
      if (challenge === null) return null
      const [row] = await store.query<{ readonly userId: string }>(
        `select u."id" as "userId" from ${verification} v join ${users} u on u."id" = v."value"`
          + ` where v."identifier" = $1`,
        [challenge]
      )
      return row?.userId ?? null
    },
    before: async (asked) => {
      const { body, cookies, path, route } = asked
      return route.renews === true
        ? seenByCookies(cookies)
        : path === passwordSignIn
        ? seenByEmail(body["email"])
        : route.event !== undefined
        ? seenActors(asked)
        : null
    },
    stands: async (asked, seen, answer) => {
      const { path } = asked
      if (path === passwordSignIn) return passwordStands(seen, answer)
      if (!await renewalStands(asked, seen, answer)) return false
      if (path === totp) return codeStands(asked, answer)
      if (path === passkeySignIn) return passkeyStands(asked, answer)
      return path !== passkeyAdding || newPasskeyStands(asked, answer)
    },
    refused: (asked, seen) => {
      const { client, path, route } = asked
      const secondFactor = path.startsWith("/two-factor/")
      if (path !== "/change-password" && !(secondFactor && route.signsIn !== undefined)) {
        if (route.signsIn !== undefined) log({ level: "warn", event: "sign-in-failed", ...who(asked) })
        return
      }
      // A caller without a session and without the password has guessed nothing.
      const [user] = seen?.epochs.keys() ?? []
      if (user === undefined) return
      if (secondFactor) log({ level: "warn", event: "second-factor-failed", ...who(asked), user })
      else log({ level: "warn", event: "password-change-failed", client: hashOf("client", client.group), user })
    },
    accepted: async (asked, seen, answer) => {
      if (asked.route.signsIn !== undefined) return noteSignIn(asked, answer)
      noteChange(asked, seen, answer)
      return null
    }
  }
}
