/**
 * Why a database cannot be used, for the person who started the server: which of the usual reasons it is, and whether trying again can
 * help. It names host, port, database and user, never a password, and repeats no message of the server.
 */

import { readAddress } from "../adapters/postgres/address.ts"
import type { Refusal } from "../core/domain/declare/refusal.ts"
import { outageOf } from "../core/domain/outage.ts"

/** Whether a database cannot be reached, or has no connection for us, so that another try may succeed. */
export const isDown = (error: unknown): boolean => {
  const outage = outageOf(error)
  return outage !== null && outage !== "ReadOnly" && outage !== "DiskFull"
}

/** SQLSTATEs and system error codes of a failure and of what caused it, outermost first. */
const codesOf = (error: unknown): readonly string[] => {
  const codes: string[] = []
  const look = (value: unknown, depth: number): void => {
    if (depth > 8 || typeof value !== "object" || value === null) return
    if ("code" in value && typeof value.code === "string") codes.push(value.code)
    if (value instanceof AggregateError) {
      for (const each of value.errors) look(each, depth + 1)
    }
    if ("cause" in value) look(value.cause, depth + 1)
    if ("reason" in value) look(value.reason, depth + 1)
  }
  look(error, 0)
  return codes
}

/** OpenSSL's reasons, by Node's names, why a chain of certificates ends without a trusted one. */
const untrusted = [
  "DEPTH_ZERO_SELF_SIGNED_CERT",
  "SELF_SIGNED_CERT_IN_CHAIN",
  "UNABLE_TO_GET_ISSUER_CERT",
  "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
  "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
  "CERT_SIGNATURE_FAILURE",
  "CERT_UNTRUSTED",
  "INVALID_CA"
]

const variables = "DATABASE_URL (or ADMIN_DATABASE_URL)"

/** The explanation of a failure to use the database of `url`. `final`: another try would fail in the same way. */
export const refusalOf = (error: unknown, url: string): { readonly final: boolean; readonly refusal: Refusal } => {
  const codes = codesOf(error)
  const has = (...wanted: readonly string[]): boolean => codes.some((code) => wanted.includes(code))
  const address = readAddress(url)
  const { encryption, host } = address
  const user = address.user ?? ""
  const database = address.database ?? user
  const place = host.startsWith("/") ? host : `${host}:${address.port}`
  const told = (final: boolean, message: string, fix: string) => ({
    final,
    refusal: { resource: null, field: null, message, fix }
  })
  if (has("28P01", "28000")) {
    return told(
      true,
      `The database server at ${place} refuses the user "${user}".`,
      `Check user and password in ${variables}; percent-encode special characters of the password. Else see pg_hba.conf of the server${
        encryption === null && !host.startsWith("/")
          ? "; where it takes encrypted connections only, add sslmode=require"
          : ""
      }.`
    )
  }
  if (has("ERR_TLS_REFUSED")) {
    return told(
      true,
      `The database server at ${place} offers no TLS.`,
      `Turn ssl on in its configuration; or write sslmode=disable in ${variables}, where nobody else reaches the network in between.`
    )
  }
  if (has("ERR_TLS_CERT_ALTNAME_INVALID")) {
    return told(
      true,
      `The certificate of the database server at ${place} is for another host name.`,
      `Write the host in ${variables} as the certificate has it, or sslmode=verify-ca where its authority signs for this server only.`
    )
  }
  if (has("CERT_HAS_EXPIRED", "CERT_NOT_YET_VALID")) {
    return told(
      true,
      `The certificate of the database server at ${place} is not valid at this time.`,
      "Renew it, and check the clocks of both machines."
    )
  }
  if (has(...untrusted)) {
    return told(
      true,
      `The certificate of the database server at ${place} is signed by nobody who is trusted here.`,
      `Add sslrootcert=<file of the authority's certificate> to ${variables}, or sslmode=no-verify where anybody may answer.`
    )
  }
  if (codes.some((code) => code.startsWith("ERR_SSL_") || code.startsWith("ERR_TLS_") || code === "EPROTO")) {
    return told(
      true,
      `The database server at ${place} and this program cannot agree on TLS.`,
      "It must speak TLS 1.2 or newer; where it wants a certificate of the client, name one in sslcert and sslkey."
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
      "Raise its max_connections, put a pooler in between, or set SERVICE_CONNECTIONS."
    )
  }
  return told(
    false,
    `The database at ${place} cannot be reached.`,
    `Check ${variables}, and whether the server runs and takes connections from here.`
  )
}
