/**
 * One mail: what `mail.send` takes, and what is checked before it goes to a server. Headers are never built by joining texts. A line break in an
 * address or subject is refused. It sends nothing.
 */

import * as Result from "effect/Result"
import { type Bag, isBag, isList } from "../bag.ts"
import { isOneOf } from "../value/table.ts"

/** A file that goes with a mail. `content` is text or bytes. */
export interface Attachment {
  readonly filename: string
  readonly content: string | Uint8Array
  /** Media type; default by the name's ending. */
  readonly contentType?: string
  /** Makes it a part that HTML refers to as `cid:<id>`. */
  readonly cid?: string
}

/** A mail to one or more addresses. It needs `text` or `html`. */
export interface MailMessage {
  readonly to: string | readonly string[]
  readonly subject: string
  readonly text?: string
  readonly html?: string
  readonly cc?: string | readonly string[]
  readonly bcc?: string | readonly string[]
  readonly replyTo?: string
  readonly attachments?: readonly Attachment[]
}

/** Sends mails. Rejects when the server refuses a mail or any of its recipients. */
export interface Mail {
  readonly send: (message: MailMessage) => Promise<void>
}

/** A checked message: lists in place of single addresses, both bodies known or null. */
export interface CheckedMessage {
  readonly to: readonly string[]
  readonly cc: readonly string[]
  readonly bcc: readonly string[]
  readonly replyTo: string | null
  readonly subject: string
  readonly text: string | null
  readonly html: string | null
  readonly attachments: readonly Attachment[]
}

/** Most recipients of one mail, most attachments, and most bytes of the whole content. */
const mailLimits = { recipients: 100, attachments: 20, bytes: 25 * 1024 * 1024, subject: 998 } as const

const names = ["to", "subject", "text", "html", "cc", "bcc", "replyTo", "attachments"] as const

/** One address, `ada@example.com` or `Ada <ada@example.com>`. A comma would make several addresses. A line break would make another header. */
const addressPattern = /^(?:[^<>\p{Cc},;]*<[^\s<>\p{Cc},;@]+@[^\s<>\p{Cc},;@]+>|[^\s<>\p{Cc},;@]+@[^\s<>\p{Cc},;@]+)$/u

/** Whether a text is one address of a mail. */
export const isMailAddress = (value: unknown): value is string =>
  typeof value === "string" && value.length <= 320 && addressPattern.test(value.trim())

const encoder = new TextEncoder()
const sizeOf = (content: string | Uint8Array): number =>
  typeof content === "string" ? encoder.encode(content).length : content.byteLength

const readAttachment = (raw: unknown): Attachment | null => {
  if (!isBag(raw)) return null
  const { cid, content, contentType, filename } = raw
  return typeof filename === "string" && filename !== "" && filename.length <= 255 && !/\p{Cc}/u.test(filename) &&
      (typeof content === "string" || content instanceof Uint8Array) &&
      (contentType === undefined ||
        (typeof contentType === "string" && /^[\w.+-]+\/[\w.+-]+(?:; ?[\w=."'-]+)*$/.test(contentType))) &&
      (cid === undefined || (typeof cid === "string" && /^[\w.@-]{1,200}$/.test(cid)))
    ? {
      filename,
      content,
      ...(contentType === undefined ? {} : { contentType }),
      ...(cid === undefined ? {} : { cid })
    }
    : null
}

const isTextOrNone = (value: unknown): value is string | undefined => value === undefined || typeof value === "string"

/** Checks a message. Fails with a sentence that names the part. The sentence contains only values that are short and harmless. */
export const checkMessage = (raw: unknown): Result.Result<CheckedMessage, string> => {
  if (!isBag(raw)) return Result.fail("A mail is an object: { to, subject, text, html }.")
  const unknown = Object.keys(raw).find((name) => !isOneOf(names, name))
  if (unknown !== undefined) return Result.fail(`A mail has no "${unknown}". Use ${names.join(", ")}.`)
  const { attachments, html, replyTo, subject, text }: Bag = raw
  const lists = (["to", "cc", "bcc"] as const).map((name): readonly string[] | null => {
    const value = raw[name]
    const all = value === undefined ? [] : isList(value) ? value : [value]
    return all.every(isMailAddress) ? all.map((address) => address.trim()) : null
  })
  const [to, cc, bcc] = lists
  if (!to || !cc || !bcc) return Result.fail("to, cc and bcc take one address each, or a list of them.")
  if (to.length === 0) return Result.fail("A mail needs an address in `to`.")
  if (to.length + cc.length + bcc.length > mailLimits.recipients) {
    return Result.fail(`A mail goes to at most ${mailLimits.recipients} addresses.`)
  }
  if (replyTo !== undefined && !isMailAddress(replyTo)) return Result.fail("replyTo is not one address.")
  if (typeof subject !== "string" || subject.trim() === "") return Result.fail("A mail needs a subject.")
  if (subject.length > mailLimits.subject || /\p{Cc}/u.test(subject)) {
    return Result.fail("The subject is one line of at most 998 characters.")
  }
  if (!isTextOrNone(text)) return Result.fail("text is not a text.")
  if (!isTextOrNone(html)) return Result.fail("html is not a text.")
  if (text === undefined && html === undefined) return Result.fail("A mail needs `text` or `html`.")
  const given = attachments === undefined ? [] : isList(attachments) ? attachments : [null]
  const files = given.flatMap((each) => readAttachment(each) ?? [])
  if (given.length > mailLimits.attachments || files.length < given.length) {
    return Result.fail(
      `attachments is not a list of at most ${mailLimits.attachments} { filename, content, contentType?, cid? } with a plain name.`
    )
  }
  const checked: CheckedMessage = {
    to,
    cc,
    bcc,
    replyTo: replyTo ?? null,
    subject: subject.toWellFormed(),
    text: text?.toWellFormed() ?? null,
    html: html?.toWellFormed() ?? null,
    attachments: files
  }
  const bytes = sizeOf(checked.text ?? "") + sizeOf(checked.html ?? "") +
    checked.attachments.reduce((sum, { content }) => sum + sizeOf(content), 0)
  return bytes <= mailLimits.bytes
    ? Result.succeed(checked)
    : Result.fail(`The mail has ${bytes} bytes; at most ${mailLimits.bytes} are sent.`)
}
