/**
 * The routes that mails about accounts need and that better-auth does not answer here: asking for a link, setting a password with it, sending one to
 * somebody. It knows no HTTP: it gets bodies, gives bodies, and throws a `Problem` to refuse.
 */

import * as Result from "effect/Result"
import { checkPassword, readEmail } from "../../core/domain/account/account.ts"
import { type Problem, problem } from "../../core/domain/problem.ts"
import type { Body } from "./auth-body.ts"
import type { AuthInternals } from "./internals.ts"
import { resetAsking } from "./routes.ts"

/** A request of these routes. */
export interface MailRequest {
  readonly body: Body
  /** The client as the log names it. */
  readonly client: string
  /** Who asks, by a session; throws a 401 where there is none. */
  readonly session: () => Promise<{ readonly id: string }>
  /** Gives the account that an admin's session asks about; throws the refusal of a caller who is none, or of an unknown account. */
  readonly account: (id: string) => Promise<Body>
}

const invalid = (message: string, code = "VALIDATION_ERROR"): Problem => problem("invalid-record", message, { code })

const badLink = (): Problem =>
  invalid("The link has expired, was used before, or is not whole. Ask for a new one.", "INVALID_TOKEN")

const textOf = (body: Body, name: string): string => {
  const value = body[name]
  if (typeof value !== "string" || value === "") throw invalid(`The value of ${name} is not valid.`)
  return value
}

const passwordOf = (body: Body): string => {
  const checked = checkPassword(textOf(body, "newPassword"))
  if (Result.isSuccess(checked)) return checked.success
  const { code, message } = checked.failure
  throw invalid(message, code === "long-password" ? "PASSWORD_TOO_LONG" : "PASSWORD_TOO_SHORT")
}

/** The routes by path; none where no mail is sent about accounts. */
export const makeMailRoutes = (
  { engine, hashOf, links, log, mailer }: Pick<AuthInternals, "engine" | "hashOf" | "links" | "log" | "mailer">
): ReadonlyMap<string, (request: MailRequest) => Promise<Body>> => {
  if (mailer === null) return new Map()
  return new Map([
    [resetAsking, async ({ body, client }) => {
      const email = readEmail(textOf(body, "email"))
      if (Result.isFailure(email)) throw invalid("Invalid email", "INVALID_EMAIL")
      await mailer.askReset(email.success)
      log({
        level: "info",
        event: "reset-asked",
        client: hashOf("client", client),
        account: hashOf("account", email.success)
      })
      return { status: true, message: "If there is an account with this address, a link has been sent to it." }
    }],
    ["/reset-password", async ({ body, client }) => {
      const [password, token] = [passwordOf(body), textOf(body, "token")]
      const refused = (): Problem => {
        log({ level: "warn", event: "link-refused", client: hashOf("client", client) })
        return badLink()
      }
      // Hashing is expensive, so nobody has it done without a link.
      if (!await links.isGood(token)) throw refused()
      const { hash, newId } = await engine()
      const set = await links.use(token, await hash(password), newId)
      if (set === null) throw refused()
      log({ level: "info", event: "password-set", user: set.user, method: set.kind, client: hashOf("client", client) })
      return { status: true }
    }],
    ["/admin/send-password-link", async ({ account, body, session }) => {
      const { banned, id } = await account(textOf(body, "userId"))
      if (typeof id !== "string") throw problem("not-found", "User not found", { code: "USER_NOT_FOUND" })
      if (banned === true) throw problem("conflict", "The user is banned.", { code: "BANNED_USER" })
      // Known before the mail is on its way: what is done is then noted, whatever happens to the session meanwhile.
      const { id: by } = await session()
      await mailer.checkRoom(id)
      await mailer.invite(id)
      log({ level: "info", event: "link-asked", user: id, by })
      return { status: true }
    }]
  ])
}
