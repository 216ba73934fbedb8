/**
 * What the URL of a database says, in one reading for everything that connects: where the server is, who asks, and how the connection is
 * encrypted. An unknown setting of encryption is refused, so that nobody believes in a protection that is not there. It connects to
 * nothing; certificates are read when they are needed.
 */

import { readFileSync } from "node:fs"
import * as tls from "node:tls"
import { type Place, type Target, targets } from "./hosts.ts"

/** How a connection is encrypted, and which files that takes. */
export interface Encryption {
  /** `full`: a trusted certificate for this very host; `ca`: a trusted certificate; `none`: any. */
  readonly verify: "full" | "ca" | "none"
  /** File of the certificates to trust instead of Node's own, or `system`. */
  readonly root: string | null
  /** The client's own certificate and its key, as files. */
  readonly own: { readonly certificate: string; readonly key: string } | null
}

/** A database as its URL names it. */
export interface Address {
  /** A name or address, or the folder of a socket: the first where there are several. */
  readonly host: string
  readonly port: number
  /** All servers, in their order. */
  readonly places: readonly Place[]
  /** Which of them fit. */
  readonly target: Target
  readonly user: string | null
  readonly password: string | null
  readonly database: string | null
  /** Command-line options for the server, such as `-c search_path=shop`. */
  readonly options: string | null
  /** Null: not encrypted. */
  readonly encryption: Encryption | null
}

/**
 * A URL that cannot be used. `problem` continues a sentence that begins with the URL's name ("DATABASE_URL has …"); `fix` says what to
 * write. Neither repeats a password.
 */
export class AddressError extends Error {
  override readonly name = "AddressError"
  readonly problem: string
  readonly fix: string
  constructor(problem: string, fix: string) {
    super(`The database's URL ${problem} ${fix}`)
    this.problem = problem
    this.fix = fix
  }
}

/** The hosts between `@` and the path, as libpq writes several: `host:port,host:port`. */
const authority = /^(postgres(?:ql)?:\/\/(?:[^/@?#]*@)?)([^/@?#]*)/

/** A text that `URL` can read: one host, and a host where `user@/database?host=/folder`, libpq's way to write a socket, has none. */
export const withOneHost = (url: string): string =>
  url.replace(authority, (_, before: string, hosts: string) => before + (hosts.split(",")[0] || "localhost"))

const parse = (url: string): URL => {
  const written = withOneHost(url)
  const parsed = /^postgres(?:ql)?:\/\//.test(written) ? URL.parse(written) : null
  // A password with a special character is cut there. What follows it must not be read, or shown, as a host or database.
  const cut = parsed === null || parsed.hash !== "" || /[@/]/.test(parsed.pathname.slice(1)) ||
    [...parsed.searchParams.keys()].some((name) => /\W/.test(name))
  if (!cut) return parsed
  throw new AddressError(
    "is not the URL of a PostgreSQL database.",
    "Write postgres://user:password@host:5432/database; percent-encode special characters of the password."
  )
}

const decoded = (text: string, what: string): string => {
  try {
    return decodeURIComponent(text)
  } catch {
    throw new AddressError(`has a ${what} with a % that encodes nothing.`, "Write %25 for a percent sign.")
  }
}

const modes: { readonly [mode: string]: Encryption["verify"] | null } = {
  "disable": null,
  "no-verify": "none",
  "verify-ca": "ca",
  "verify-full": "full",
  // Encryption without a check of the certificate would be only half a protection.
  "require": "full"
}

const understood = ["sslmode", "sslrootcert", "sslcert", "sslkey"]

const encryptionOf = (params: URLSearchParams): Encryption | null => {
  const strange = [...params.keys()].find((name) => /^ssl/i.test(name) && !understood.includes(name))
  if (strange !== undefined) {
    throw new AddressError(
      `has the parameter ${strange}, which is not understood.`,
      `Remove it; TLS is asked for by ${understood.join(", ")}, such as sslmode=require.`
    )
  }
  if (params.getAll("channel_binding").includes("require")) {
    throw new AddressError(
      "has channel_binding=require, which no connection of the service can do.",
      "Remove it; with sslmode=require nobody between the two ends can pass for the server, as its certificate and name are checked."
    )
  }
  const all = params.getAll("sslmode")
  const mode = all[0] ?? "disable"
  if (all.length > 1 || !Object.hasOwn(modes, mode)) {
    throw new AddressError(
      all.length > 1
        ? "has sslmode more than once."
        : mode === "prefer" || mode === "allow"
        ? `has sslmode=${mode}, which leaves it to the network whether anything is encrypted.`
        : "has an sslmode that is not understood.",
      "Write sslmode=verify-full or require (encrypted, certificate and host name checked), verify-ca (any host name), no-verify (nothing checked), or disable."
    )
  }
  const verify = modes[mode] ?? null
  const root = params.get("sslrootcert")
  const certificate = params.get("sslcert")
  const key = params.get("sslkey")
  if (verify === null) {
    if (root === null && certificate === null && key === null) return null
    throw new AddressError("names certificates and does not ask for TLS.", "Add sslmode=verify-full, or remove them.")
  }
  if (verify === "none" && root !== null) {
    throw new AddressError(
      "has sslrootcert beside sslmode=no-verify, which checks no certificate.",
      "Write sslmode=verify-full, or remove sslrootcert."
    )
  }
  if ((certificate === null) !== (key === null)) {
    throw new AddressError(
      "has only one of sslcert and sslkey.",
      "Name the client's certificate and its key, or neither."
    )
  }
  return { verify, root, own: certificate === null || key === null ? null : { certificate, key } }
}

const portOf = (text: string): number => {
  const port = Number(text === "" ? "5432" : text)
  if (Number.isInteger(port) && port >= 1 && port <= 65_535) return port
  throw new AddressError("has a port that is none.", "Write a whole number from 1 to 65535.")
}

/** Most servers of one URL: all of them are asked at once. */
const mostPlaces = 16

/** The servers of a URL: those of its parameters `host` and `port`, else those before its path. */
const placesOf = (
  url: string,
  params: URLSearchParams,
  host: string | null,
  port: string
): readonly [Place, ...Place[]] => {
  const listed = params.get("host")?.split(",")
  const between = authority.exec(url)?.[2] ?? ""
  const ports = params.get("port")?.split(",")
  const named = (text: string): string => decoded(text, "host").replace(/^\[|\]$/g, "")
  const written = listed?.map((each) => [each, ""] as const) ??
    (between.includes(",")
      ? between.split(",").map((each) => {
        const [, name = "", number = ""] = /^(.*?)(?::(\d*))?$/.exec(each) ?? []
        // An address of version 6 has colons of its own.
        return each.endsWith("]") ? [named(each), ""] as const : [named(name), number] as const
      })
      : [[host ?? "localhost", port] as const])
  if (ports !== undefined && ports.length > 1 && ports.length !== written.length) {
    throw new AddressError("has not as many ports as hosts.", "Write one port for all hosts, or one for each.")
  }
  const places = written.map(([name, number], at): Place => ({
    host: name || "localhost",
    port: portOf(ports === undefined ? number : (ports.length === 1 ? ports[0] : ports[at]) ?? "")
  }))
  const [first, ...more] = places
  if (first === undefined || more.length >= mostPlaces) {
    throw new AddressError(`names ${places.length} hosts.`, `Write at most ${mostPlaces}.`)
  }
  return [first, ...more]
}

const isTarget = (text: string): text is Target => targets.some((each) => each === text)

/** Which servers fit. Of several, it is the one that takes writes unless the URL says otherwise; libpq would take any. */
const targetOf = (params: URLSearchParams, count: number): Target => {
  const [text, ...more] = params.getAll("target_session_attrs")
  if (text === undefined) return count > 1 ? "read-write" : "any"
  if (more.length === 0 && isTarget(text)) return text
  throw new AddressError("has a target_session_attrs that is not understood.", `Write one of ${targets.join(", ")}.`)
}

/**
 * Reads a URL. Parameters win over what stands before them, as with libpq. Unknown parameters are ignored unless they are about encryption,
 * or choose the schema that other libraries look for tables in.
 */
export const readAddress = (url: string): Address => {
  const { hostname, password, pathname, port: written, searchParams: params, username } = parse(url)
  const text = (name: string, part: string, what: string): string | null =>
    (params.get(name) ?? decoded(part, what)) || null
  const places = placesOf(url, params, text("host", hostname.replace(/^\[|\]$/g, ""), "host"), written)
  const [{ host, port }] = places
  const encryption = encryptionOf(params)
  if (params.has("schema")) {
    throw new AddressError(
      "has the parameter schema, which PostgreSQL does not know.",
      "Name the schema with each table (table: \"shop.orders\"), or write options=-c%20search_path%3Dshop instead."
    )
  }
  return {
    host,
    port,
    places,
    target: targetOf(params, places.length),
    user: text("user", username, "user"),
    password: text("password", password, "password"),
    database: text("dbname", pathname.slice(1), "database"),
    options: params.get("options"),
    // On a socket of one machine nobody can listen in, and PostgreSQL has no TLS there.
    encryption: places.every((place) => place.host.startsWith("/")) ? null : encryption
  }
}

/** The greatest weight of a replica. */
const mostWeight = 100

/** A replica as its URL names it: one server, and its share of the reads, `weight`. Positions of the log are those of one server, so it may not be several. */
export const readReplica = (url: string): { readonly address: Address; readonly weight: number } => {
  const address = readAddress(url)
  if (address.places.length > 1) {
    throw new AddressError(
      `names ${address.places.length} servers, and a replica is one.`,
      "Write a URL for each server, separated by spaces."
    )
  }
  const [text = "1", ...more] = parse(url).searchParams.getAll("weight")
  const weight = /^\d{1,3}$/.test(text) ? Number(text) : 0
  if (more.length > 0 || weight < 1 || weight > mostWeight) {
    throw new AddressError(
      "has a weight that is none.",
      `Write weight= with a whole number from 1 to ${mostWeight}, once.`
    )
  }
  return { address, weight }
}

const readPem = (parameter: string, path: string, kind: string): string => {
  const refuse = (problem: string) =>
    new AddressError(problem, `Name a PEM file in ${parameter}, best by its full path.`)
  let text: string
  try {
    text = readFileSync(path, "utf8")
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : "unknown"
    throw refuse(`has ${parameter}=${path}, which cannot be read (${code}).`)
  }
  if (new RegExp(`-----BEGIN [A-Z ]*${kind}-----`).test(text)) return text
  throw refuse(`has ${parameter}=${path}, which holds no ${kind.toLowerCase()}.`)
}

/** What `tls.connect` needs besides a socket; reads the files. Null: the connection is not encrypted. */
export const tlsOptionsOf = ({ encryption, host }: Address): tls.ConnectionOptions | null => {
  if (encryption === null) return null
  const { own, root, verify } = encryption
  return {
    host,
    ...(root === null
      ? {}
      : {
        ca: root === "system"
          ? [...tls.getCACertificates("default"), ...tls.getCACertificates("system")]
          : readPem("sslrootcert", root, "CERTIFICATE")
      }),
    ...(own === null
      ? {}
      : { cert: readPem("sslcert", own.certificate, "CERTIFICATE"), key: readPem("sslkey", own.key, "PRIVATE KEY") }),
    // Set explicitly, so that no environment variable turns the check off.
    rejectUnauthorized: verify !== "none",
    ...(verify === "full" ? {} : { checkServerIdentity: () => undefined })
  }
}
