/**
 * The URL of a mail server: `smtp://user:password@host:587`, or `smtps://` for TLS from the first byte. It checks the URL and decides whether the
 * connection has to be encrypted. It opens no connection.
 */

import * as Result from "effect/Result"

/** A mail server. */
export interface MailServer {
  readonly host: string
  readonly port: number
  /** TLS from the first byte. */
  readonly secure: boolean
  /** Whether TLS is required to send mail. True, except on loopback and with `?tls=optional`. `?tls=required` also requires it on loopback. */
  readonly requireTls: boolean
  readonly loopback: boolean
  /** Whether the server's certificate is checked: true, except with `?verify=false`. */
  readonly verify: boolean
  readonly user: { readonly name: string; readonly password: string } | null
}

const isLoopback = (host: string): boolean =>
  host === "localhost" || host === "[::1]" || /^127(?:\.\d{1,3}){3}$/.test(host)

interface Wrong {
  readonly message: string
  readonly fix: string
}

const usual =
  "Write smtp://user:password@mail.example.com:587, or smtps://… for TLS from the first byte; percent-encode special characters."

/** Reads the URL. Messages about mistakes never repeat it, because it contains a password. */
export const readMailServer = (text: string): Result.Result<MailServer, Wrong> => {
  const wrong = (message: string, fix = usual): Result.Result<MailServer, Wrong> => Result.fail({ message, fix })
  if (!/^smtps?:\/\/./i.test(text) || !URL.canParse(text)) return wrong("is not the URL of a mail server.")
  const url = new URL(text)
  if (url.hostname === "") return wrong("names no host.")
  if (!["", "/"].includes(url.pathname) || url.hash !== "") return wrong("has a path or a fragment.")
  const secure = url.protocol === "smtps:"
  const options = { tls: "usual", verify: "true" }
  for (const [name, value] of url.searchParams) {
    if (name === "tls" && ["required", "optional"].includes(value)) options.tls = value
    else if (name === "verify" && ["true", "false"].includes(value)) options.verify = value
    else {return wrong(
        "has a parameter that is not known.",
        "Use tls=optional to allow a connection without TLS, verify=false to trust any certificate, or no parameter."
      )}
  }
  let user: MailServer["user"] = null
  try {
    if (url.username !== "") {
      user = { name: decodeURIComponent(url.username), password: decodeURIComponent(url.password) }
    }
  } catch {
    return wrong("has a name or password that is not percent-encoded.")
  }
  return Result.succeed({
    host: url.hostname.replace(/^\[(.*)\]$/, "$1"),
    port: url.port === "" ? secure ? 465 : 587 : Number(url.port),
    secure,
    requireTls: options.tls === "required" || (options.tls === "usual" && !isLoopback(url.hostname)),
    loopback: isLoopback(url.hostname),
    verify: options.verify === "true",
    user
  })
}

/** What is wrong with the URL; null: nothing. */
export const smtpProblem = (text: string): Wrong | null => {
  const read = readMailServer(text)
  return Result.isFailure(read) ? read.failure : null
}
