/**
 * The stages after better-auth has answered: they read its answer, decide whether it may be sent, do the remaining work and send it. They decide
 * nothing about rights.
 */

import { passkeysMax } from "../../core/domain/account/passkey.ts"
import { isBag } from "../../core/domain/bag.ts"
import { outageProblem } from "../../core/domain/outage.ts"
import { type AuthAddress, type AuthCall, isSecure } from "./asked.ts"
import { deviceCookie, deviceIn } from "./cookies.ts"
import type { Store } from "./database.ts"
import { endHeld } from "./ending.ts"
import type { AuthInternals } from "./internals.ts"
import type { AccountListing } from "./listing.ts"
import { everywhere, overtakenAt, parsed, refusalOf, send, tooManyPasskeys, unverified } from "./refusals.ts"
import { inviting, passkeyAdding } from "./routes.ts"
import type { Answered, Seen, Witness } from "./witness.ts"

/** The parts that these stages need. */
export interface AnswerParts extends AuthAddress {
  readonly internals: AuthInternals
  readonly witness: Witness
}

/** What better-auth answered to a request. */
export interface AuthReply extends Answered {
  readonly response: Response
  readonly text: string
  /** Its status; 400 where better-auth took a passkey that it could not verify for a failure of its own. */
  readonly status: number
}

/**
 * Refuses what met a database that is away, or takes no changes, whatever better-auth made of it: for better-auth a session that cannot be read does not
 * exist. Nobody must be signed out because the database is away.
 */
export const refuseAway = (store: Store): void => {
  const met = store.met()
  if (met !== null) throw outageProblem(met)
}

/** The options for using a passkey. The plugin would leave it to authenticators whether they verify their user. */
const verifying = (text: string): string => JSON.stringify({ ...parsed(text), userVerification: "required" })

/** Reads what better-auth answered; throws where it met an outage, or failed. The page of a callback is told of both by its address. */
export const readGiven = async (store: Store, { path, route }: AuthCall, response: Response): Promise<AuthReply> => {
  if (typeof route.provider !== "object") refuseAway(store)
  const given = await response.text()
  const body = parsed(given)
  const refusedPasskey = path === passkeyAdding && body["code"] === unverified
  if (response.status >= 500 && !refusedPasskey) {
    throw Object.assign(new Error(`better-auth answered ${response.status} at ${path}`), { response })
  }
  const text = path === "/passkey/generate-authenticate-options" && response.ok ? verifying(given) : given
  const cookies = response.headers.getSetCookie()
  return { response, text, body, status: refusedPasskey ? 400 : response.status, cookies }
}

/** Throws for a listing that better-auth answered with an empty list, because it, or the database, could not read the query. */
export const checkListing = (listing: AccountListing, { body }: Answered): void => {
  if (listing.refusal !== null) throw listing.refusal
  if (body["limit"] === undefined) throw listing.failed
}

/** Whether the account of a session has as many passkeys as it may. */
const hasAllPasskeys = async (
  { internals: { store, table }, witness }: AnswerParts,
  { cookies }: AuthCall
): Promise<boolean> => {
  const [row] = await store.query<{ readonly count: number }>(
    `select count(*)::int as count from ${table("passkey")} where "userId" = $1`,
    [await witness.owner(cookies)]
  )
  return (row?.count ?? 0) >= passkeysMax
}

/** A refusal of better-auth as it is sent. */
export const refuse = async (
  parts: AnswerParts,
  asked: AuthCall,
  seen: Seen | null,
  { body, cookies, status, text }: AuthReply
): Promise<Response> => {
  const { path } = asked
  parts.witness.refused(asked, seen)
  // The trigger that keeps the limit reports to better-auth only.
  if (path === passkeyAdding && body["code"] === unverified && await hasAllPasskeys(parts, asked)) {
    throw tooManyPasskeys()
  }
  return send(refusalOf(path, status, text), `${parts.basePath}${path}`, cookies)
}

/** Sends the link for an account that was just made. An account whose link cannot be sent is deleted: nobody could ever use it. */
const invite = async ({ links, mailer, store, table }: AuthInternals, { body: { user } }: Answered): Promise<void> => {
  const id = isBag(user) ? String(user["id"]) : ""
  try {
    await links.await(id)
    await mailer?.invite(id)
  } catch (cause) {
    await store.query(`delete from ${table("user")} where "id" = $1`, [id])
    throw cause
  }
}

/** Does what better-auth and the triggers leave undone. A session that should not have begun ends here, and its cookie is never sent. */
export const complete = async (
  { internals, witness }: AnswerParts,
  asked: AuthCall,
  seen: Seen | null,
  given: AuthReply
): Promise<void> => {
  const { body, path, route: { changes, unseen } } = asked
  const { store, table } = internals
  if (!await witness.stands(asked, seen, given)) throw overtakenAt(path)
  if (changes !== undefined && unseen === true) {
    await store.transaction((queries) => endHeld(queries, table, changes, String(body["userId"])))
  }
  if (path === inviting) await invite(internals, given)
}

/** Sends an alert of an unexpected sign-in to its account; gives the new name of the browser, if it got one. A failed alert does not fail the sign-in. */
const noticeSignIn = async (
  { mailer, onError }: AuthInternals,
  user: string,
  { client, cookies, headers }: AuthCall
): Promise<string | null> => {
  if (mailer?.mails.signInAlerts !== true) return null
  try {
    return await mailer.notice({ user, device: deviceIn(cookies), agent: headers.get("user-agent"), ...client })
  } catch (cause) {
    onError(cause)
    return null
  }
}

/** The answer as it is sent, once it is logged. */
export const present = async (
  parts: AnswerParts,
  asked: AuthCall,
  seen: Seen | null,
  given: AuthReply
): Promise<Response> => {
  const { response, text } = given
  const user = await parts.witness.accepted(asked, seen, given)
  const device = user === null ? null : await noticeSignIn(parts.internals, user, asked)
  const headers = new Headers(response.headers)
  if (device !== null) headers.append("set-cookie", deviceCookie(device, parts.basePath, isSecure(parts)))
  for (const [name, value] of Object.entries(everywhere)) headers.set(name, value)
  headers.set("cache-control", asked.path === "/jwks" ? "public, max-age=60" : "no-store")
  return new Response(response.body === null ? null : text, { status: response.status, headers })
}
