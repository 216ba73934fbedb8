/**
 * Mail templates: subject, text and HTML made from data, with HTML that escapes what is put into it. A template knows no mail server; it is given one to
 * send with.
 */

import * as Result from "effect/Result"
import { isBag } from "../bag.ts"
import { issuesText, type StandardSchema } from "../value/standard-schema.ts"
import type { Mail, MailMessage } from "./message.ts"

/** HTML that was made by `html`, and so is safe to put into other HTML. */
export interface Html {
  readonly _tag: "Html"
  readonly text: string
}

const entities: { readonly [character: string]: string } = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  "\"": "&quot;",
  "'": "&#39;",
  "`": "&#96;"
}

/** A text as HTML, in quoted attributes too. */
export const escapeHtml = (text: string): string => text.replace(/[&<>"'`]/g, (character) => entities[character]!)

const isHtml = (value: unknown): value is Html => isBag(value) && value["_tag"] === "Html" && made.has(value)

/** HTML that `html` made. An object of the same form from elsewhere, such as parsed JSON, does not count. */
const made = new WeakSet<object>()

const make = (text: string): Html => {
  const value: Html = { _tag: "Html", text }
  made.add(value)
  return value
}

/** Whether the text before a value makes the value an address that is followed. */
const beforeAddress = /(?:href|src|action|background)\s*=\s*["']?$/i

/** Addresses that cannot run code. */
const harmless = /^(?:https?:|mailto:|tel:|cid:|[/#?]|$)/i

const htmlOf = (value: unknown, before: string): string => {
  if (value === null || value === undefined || typeof value === "boolean") return ""
  if (Array.isArray(value)) return value.map((each) => htmlOf(each, "")).join("")
  if (isHtml(value)) return value.text
  if (typeof value !== "string" && typeof value !== "number" && typeof value !== "bigint") {
    throw new TypeError("html takes texts, numbers, HTML made by html, and lists of them")
  }
  const text = String(value)
  return beforeAddress.test(before) && !harmless.test(text.trim()) ? "#" : escapeHtml(text)
}

/**
 * HTML from a template literal. Every value is escaped. A list is joined. Null, undefined and booleans give nothing. Write values only into
 * elements and quoted attributes. An address (`href`, `src`) other than http(s), mailto, tel, cid or a path becomes `#`.
 *
 * @example
 * html`<p>Dear ${name},</p><ul>${lines.map((line) => html`<li>${line}</li>`)}</ul>`
 */
export const html = (texts: TemplateStringsArray, ...values: readonly unknown[]): Html =>
  make(texts.map((text, index) => index < values.length ? text + htmlOf(values[index], text) : text).join(""))

/** What `defineTemplate` takes. Functions get the data as the schema made it. */
export interface TemplateDeclaration<Input, Output> {
  /** Letters, digits, `_`, `-`, `.` and `/`. */
  readonly name: string
  /** A Standard Schema of the data; without it, data is taken as it is. */
  readonly data?: StandardSchema<Input, Output>
  readonly subject: string | ((data: Output) => string)
  readonly text?: (data: Output) => string
  readonly html?: (data: Output) => Html
  /** Data for the preview at `/-/mail` of the `dev` command. */
  readonly example?: Input
}

/** A mail template. */
export interface Template<Input = unknown> {
  readonly _tag: "Template"
  readonly name: string
  /** Whether there is data for a preview. */
  readonly hasExample: boolean
  /** The mail without its recipient. Rejects when the data is refused. */
  readonly render: (data: Input) => Promise<Pick<MailMessage, "subject" | "text" | "html">>
  /** The same with the example. */
  readonly preview: () => Promise<Pick<MailMessage, "subject" | "text" | "html">>
  /**
   * Sends it. `more` may add `cc`, `bcc`, `replyTo` and attachments. Rejects when the data or the mail is refused, and when there is no mail server
   * (`mail` undefined).
   */
  readonly send: (
    to: MailMessage["to"],
    data: Input,
    mail: Mail | undefined,
    more?: Pick<MailMessage, "cc" | "bcc" | "replyTo" | "attachments">
  ) => Promise<void>
}

const namePattern = /^[A-Za-z0-9_./-]{1,128}$/

/** Without a schema the data are what the template takes. */
const validated = async <Input, Output>(
  { data: schema, name }: Pick<TemplateDeclaration<Input, Output>, "data" | "name">,
  data: unknown
): Promise<Output> => {
  if (schema === undefined) return data as Output
  const checked = await schema["~standard"].validate(data)
  if (checked.issues !== undefined) {
    throw new TypeError(`The data of the template "${name}" is refused: ${issuesText(checked.issues)}.`)
  }
  return checked.value
}

/**
 * Declares a template. Throws a `TypeError` for one that cannot make a mail.
 *
 * @example
 * const welcome = defineTemplate<{ name: string }>({
 *   name: "welcome",
 *   subject: ({ name }) => `Welcome, ${name}`,
 *   text: ({ name }) => `Dear ${name}, …`,
 *   html: ({ name }) => html`<p>Dear ${name}, …</p>`
 * })
 * // in a job: await welcome.send(customer.email, { name: customer.name }, mail)
 */
export const defineTemplate = <Input = unknown, Output = Input>(
  declaration: TemplateDeclaration<Input, Output>
): Template<Input> => {
  const { example, html: page, name, subject, text } = declaration
  if (typeof name !== "string" || !namePattern.test(name)) {
    throw new TypeError("The name of a template has 1 to 128 letters, digits, \"_\", \"-\", \".\" and \"/\".")
  }
  if (text === undefined && page === undefined) throw new TypeError(`The template "${name}" needs text or html.`)
  const render: Template<Input>["render"] = async (data) => {
    const given = await validated(declaration, data)
    const body = page?.(given)
    if (body !== undefined && !isHtml(body)) {
      throw new TypeError(
        `html of the template "${name}" must give what html\`…\` made: a plain text would not be escaped.`
      )
    }
    return {
      subject: (typeof subject === "function" ? subject(given) : subject).replace(/\s+/g, " ").trim(),
      ...(text === undefined ? {} : { text: text(given) }),
      ...(body === undefined ? {} : { html: body.text })
    }
  }
  return {
    _tag: "Template",
    name,
    hasExample: example !== undefined,
    render,
    preview: () => render(example as Input),
    send: async (to, data, mail, more = {}) => {
      const rendered = await render(data)
      if (mail === undefined) {
        throw new Error("No mail server is configured: set SERVICE_SMTP_URL and SERVICE_MAIL_FROM.")
      }
      await mail.send({ ...more, ...rendered, to })
    }
  }
}

/** Whether a value is a template. */
const isTemplate = (value: unknown): value is Template<never> => isBag(value) && value["_tag"] === "Template"

/** Checks a list of templates: gives them by name, or what is wrong. */
export const readTemplates = (raw: unknown): Result.Result<ReadonlyMap<string, Template<never>>, string> => {
  const templates = new Map<string, Template<never>>()
  if (raw === undefined) return Result.succeed(templates)
  if (!Array.isArray(raw) || !raw.every(isTemplate)) return Result.fail("templates is not a list of templates.")
  for (const template of raw) {
    if (templates.has(template.name)) return Result.fail(`Two templates have the name "${template.name}".`)
    templates.set(template.name, template)
  }
  return Result.succeed(templates)
}
