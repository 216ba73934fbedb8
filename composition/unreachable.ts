/**
 * Why a database cannot be used, told to whoever started the server: which of the usual reasons it is, and whether trying again can help. It
 * names host, port, database and user, never a password, and repeats no message of the server.
 */

import type { Refusal } from "../core/domain/model/refusal.ts"

/** SQLSTATEs and system error codes of a failure and of what caused it, outermost first. */
const codesOf = (error: unknown): readonly string[] => {
  const codes: string[] = []
  const look = (value: unknown, depth: number): void => {
    if (depth > 8 || typeof value !== "object" || value === null) return
    if ("code" in value && typeof value.code === "string") codes.push(value.code)
    if (value instanceof AggregateError) {
      for (const each of value.errors as readonly unknown[]) {
        look(each, depth + 1)
      }
    }
    if ("cause" in value) look(value.cause, depth + 1)
    if ("reason" in value) look(value.reason, depth + 1)
  }
  look(error, 0)
  return codes
}

interface Address {
  /** `host:port`, or the folder of a socket. */
  readonly place: string
  readonly database: string
  readonly user: string
}

const addressOf = (url: string): Address => {
  const parsed = new URL(url.replace(/^(postgres(?:ql)?:\/\/[^/@?]*@?)\//, "$1localhost/"))
  const socket = parsed.searchParams.get("host")
  const plain = (text: string): string => {
    try {
      return decodeURIComponent(text)
    } catch {
      return text
    }
  }
  const port = parsed.searchParams.get("port") ?? (parsed.port === "" ? "5432" : parsed.port)
  return {
    place: socket !== null && socket.startsWith("/") ? socket : `${socket ?? parsed.hostname}:${port}`,
    database: plain(parsed.pathname.slice(1)),
    user: plain(parsed.username)
  }
}

const variables = "DATABASE_URL (or ADMIN_DATABASE_URL)"

/** What to tell about a failure to use the database of `url`. `final`: another try meets the same. */
export const refusalOf = (error: unknown, url: string): { readonly final: boolean; readonly refusal: Refusal } => {
  const codes = codesOf(error)
  const has = (...wanted: readonly string[]): boolean => codes.some((code) => wanted.includes(code))
  const { database, place, user } = addressOf(url)
  const told = (final: boolean, message: string, fix: string) => ({
    final,
    refusal: { resource: null, field: null, message, fix }
  })
  if (has("28P01", "28000")) {
    return told(
      true,
      `The database server at ${place} refuses the user "${user}".`,
      `Check user and password in ${variables}; percent-encode special characters of the password. Else see pg_hba.conf of the server.`
    )
  }
  if (has("3D000")) {
    return told(
      true,
      `The database server at ${place} has no database "${database}".`,
      `Create it, or correct its name in ${variables}.`
    )
  }
  if (has("ENOTFOUND", "EAI_AGAIN")) {
    return told(
      false,
      `The host of the database, ${place}, is not known.`,
      `Check the host in ${variables}, and name resolution here.`
    )
  }
  if (has("53300")) {
    return told(
      false,
      `The database server at ${place} has no connection left.`,
      "Raise its max_connections, put a pooler in between, or lower SERVICE_READ_CONNECTIONS, SERVICE_WRITE_CONNECTIONS and SERVICE_AUTH_CONNECTIONS."
    )
  }
  return told(
    false,
    `The database at ${place} cannot be reached.`,
    `Check ${variables}, and whether the server runs and takes connections from here.`
  )
}
