/** A mail server for tests, on a free port of loopback, and what a mail says as its receiver reads it: headers, bodies and files, decoded (RFC 2045 to 2047, 2231). */

import { Buffer } from "node:buffer"
import { SMTPServer, type SMTPServerOptions } from "smtp-server"

/** A mail as it arrived. */
export interface Arrived {
  readonly from: string
  /** Whom the envelope names. */
  readonly to: readonly string[]
  readonly raw: string
  readonly secure: boolean
  readonly user: string | undefined
}

export interface MailServer {
  readonly port: number
  /** Oldest first. */
  readonly mails: readonly Arrived[]
  readonly close: () => Promise<void>
}

/** Starts a server. It takes every mail, in clear text and from anybody, unless the options say otherwise. */
export const serveMail = async (options: SMTPServerOptions = {}): Promise<MailServer> => {
  const mails: Arrived[] = []
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: options.secure === true || options.key !== undefined ? [] : ["STARTTLS"],
    logger: false,
    onData: (stream, session, done) => {
      const chunks: Buffer[] = []
      stream.on("data", (chunk: Buffer) => chunks.push(chunk))
      stream.on("end", () => {
        const { mailFrom, rcptTo } = session.envelope
        mails.push({
          from: mailFrom === false ? "" : mailFrom.address,
          to: rcptTo.map(({ address }) => address),
          raw: Buffer.concat(chunks).toString("latin1"),
          secure: session.secure,
          user: session.user as string | undefined
        })
        done()
      })
    },
    ...options
  })
  server.on("error", () => {})
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const address = server.server.address()
  return {
    port: typeof address === "object" && address !== null ? address.port : 0,
    mails,
    close: () => new Promise((resolve) => server.close(() => resolve()))
  }
}

/** What a mail says to who reads it. Lines end with `\n`. */
export interface Letter {
  /** By name in small letters. */
  readonly headers: ReadonlyMap<string, string>
  readonly text: string | null
  readonly html: string | null
  readonly files: ReadonlyArray<{ readonly filename: string; readonly bytes: Uint8Array }>
}

const utf8 = (latin: string): string => Buffer.from(latin, "latin1").toString("utf8")

const quotedPrintable = (text: string): string =>
  text.replaceAll(/=\r?\n/g, "").replaceAll(
    /=([0-9A-F]{2})/gi,
    (_, hex: string) => String.fromCharCode(parseInt(hex, 16))
  )

/** Decodes words of another script (RFC 2047). Between two of them blanks mean nothing. */
const readWords = (text: string): string =>
  text.replaceAll(/(\?=)\s+(?==\?)/g, "$1").replaceAll(
    /=\?utf-8\?([BQ])\?([^?]*)\?=/gi,
    (_, how: string, word: string) =>
      how.toUpperCase() === "B"
        ? Buffer.from(word, "base64").toString("latin1")
        : quotedPrintable(word.replaceAll("_", " "))
  )

const split = (raw: string): readonly [headers: ReadonlyMap<string, string>, body: string] => {
  const end = raw.indexOf("\r\n\r\n")
  const head = end < 0 ? raw : raw.slice(0, end)
  const headers = new Map<string, string>()
  for (const line of head.replaceAll(/\r\n[ \t]+/g, " ").split("\r\n")) {
    const colon = line.indexOf(":")
    const name = line.slice(0, colon).toLowerCase()
    if (headers.has(name)) throw new Error(`The header ${name} stands there twice.`)
    headers.set(name, utf8(readWords(line.slice(colon + 1).trim())))
  }
  return [headers, end < 0 ? "" : raw.slice(end + 4)]
}

/** A parameter of a header, also of one that goes over several parts (RFC 2231). */
const parameter = (header: string, name: string): string | null => {
  const parts = [...header.matchAll(/;\s*([\w*-]+)=(?:"((?:[^"\\]|\\.)*)"|([^;\s]*))/g)]
    .map(([, key, quoted, bare]) => [key!.toLowerCase(), quoted ?? bare ?? ""] as const)
    .filter(([key]) => key === name || key.startsWith(`${name}*`))
  if (parts.length === 0) return null
  const whole = parts.map(([, value]) => value).join("")
  return parts[0]![0].endsWith("*") ? decodeURIComponent(whole.replace(/^utf-8'[^']*'/i, "")) : whole
}

const decode = (body: string, encoding: string): string =>
  encoding === "base64"
    ? Buffer.from(body, "base64").toString("latin1")
    : encoding === "quoted-printable"
    ? quotedPrintable(body)
    : body

/** Lines that a sender broke are whole again (RFC 3676). */
const unfold = (text: string): string => text.replaceAll(/^ /gm, "").replaceAll(/ \n/g, " ")

/** Reads a mail as it went over the wire, in Latin-1: one character a byte. */
export const readLetter = (raw: string): Letter => {
  let text: string | null = null
  let html: string | null = null
  const files: Array<Letter["files"][number]> = []
  const read = (part: string): ReadonlyMap<string, string> => {
    const [headers, body] = split(part)
    const type = headers.get("content-type") ?? "text/plain"
    const boundary = parameter(type, "boundary")
    if (boundary !== null) {
      for (const inner of `\r\n${body}`.split(`\r\n--${boundary}`).slice(1, -1)) read(inner.replace(/^\r\n/, ""))
      return headers
    }
    const content = decode(body, (headers.get("content-transfer-encoding") ?? "7bit").toLowerCase())
    const filename = parameter(headers.get("content-disposition") ?? "", "filename")
    if (filename !== null) files.push({ filename, bytes: Buffer.from(content, "latin1") })
    else {
      const lines = utf8(content).replaceAll("\r\n", "\n")
      if (type.startsWith("text/html")) html = lines
      else text = /format=flowed/i.test(type) ? unfold(lines) : lines
    }
    return headers
  }
  const headers = read(raw)
  return { headers, text, html, files }
}
