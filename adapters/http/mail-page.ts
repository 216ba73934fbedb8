/**
 * The page `/-/mail` of the `dev` command: mails that were kept instead of sent, and previews of templates. Whoever does not sit at this machine gets no
 * such page: mails hold links that open accounts.
 */

import * as Effect from "effect/Effect"
import { clientOf } from "../../core/domain/account/client.ts"
import type { CheckedMessage } from "../../core/domain/mail/message.ts"
import { escapeHtml, type Template } from "../../core/domain/mail/template.ts"
import { notFound } from "../../core/domain/problem.ts"
import type { Problem } from "../../core/domain/problem.ts"
import type { ExtraRoute, Visit } from "./handle.ts"
import { methodNotAllowed } from "./problem.ts"
import { decodePercent } from "./request.ts"
import type { EdgeAnswer } from "./request.ts"

/** A mail to show. */
export type ShownMail = Pick<CheckedMessage, "to" | "subject" | "text" | "html" | "attachments"> & {
  readonly number: number
  readonly at: Date
}

export interface MailPageOptions {
  readonly mails: () => readonly ShownMail[]
  readonly templates: readonly Template<never>[]
  /** Whether mails go to a mail server, so that none is kept. */
  readonly sent?: boolean
}

/** Where the page is. */
export const mailPath = "/-/mail"

const prefix = mailPath

/** The page itself, and a mail in a frame without scripts, forms and links to this origin. */
const pagePolicy =
  "default-src 'none'; style-src 'unsafe-inline'; frame-src 'self'; base-uri 'none'; frame-ancestors 'none'"
const mailPolicy =
  "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data: https:; base-uri 'none'; frame-ancestors 'self'"

const page = (body: string, policy = pagePolicy): EdgeAnswer => ({
  status: 200,
  headers: { "content-type": "text/html; charset=utf-8", "content-security-policy": policy },
  body
})

const style =
  ":root{color-scheme:light dark}body{background:Canvas;color:CanvasText;font:15px/1.6 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;" +
  "overflow-wrap:anywhere}table{border-collapse:collapse;width:100%}td,th{text-align:start;vertical-align:top;padding:.3rem .6rem .3rem 0;" +
  "border-bottom:1px solid #8884}a{display:inline-block;min-width:24px;min-height:24px}pre a{display:inline}iframe{box-sizing:border-box;width:100%;" +
  "height:28rem;border:1px solid #8884;background:#fff;color-scheme:light}pre{white-space:pre-wrap;border:1px solid #8884;padding:.8rem}"

const frame = (title: string, body: string): EdgeAnswer =>
  page(
    `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${
      escapeHtml(title)
    }</title><style>${style}</style><body><main>${body}</main>`
  )

const overview = ({ mails, sent = false, templates }: MailPageOptions): EdgeAnswer => {
  const rows = mails().map(({ at, number, subject, to }) =>
    `<tr><td>${at.toISOString().slice(11, 19)}<td>${escapeHtml(to.join(", "))}<td><a href="${prefix}/${number}">${
      escapeHtml(subject)
    }</a>`
  )
  const previews = templates.map(({ hasExample, name }) =>
    `<li>${
      hasExample
        ? `<a href="${prefix}/templates/${encodeURIComponent(name)}">${escapeHtml(name)}</a>`
        : `${escapeHtml(name)} (no example)`
    }`
  )
  return frame(
    "Mail",
    `<h1>Mail</h1>${
      sent
        ? "<p>Mails are sent: <code>SERVICE_SMTP_URL</code> names a mail server. None is kept here.</p>"
        : `<p>Mails that were not sent: this is <code>service dev</code>. They are kept until it ends.</p>${
          rows.length === 0
            ? "<p>There are none yet.</p>"
            : `<table><tr><th>UTC<th>To<th>Subject${rows.join("")}</table>`
        }`
    }${previews.length === 0 ? "" : `<h2>Templates</h2><ul>${previews.join("")}</ul>`}`
  )
}

/** A mail's text, with addresses that can be followed: in HTML's frame no link leads anywhere. */
const linked = (text: string): string =>
  text.split(/(https?:\/\/[^\s<>"']+[^\s<>"'.,;:!?)])/).map((part, index) => {
    const text = escapeHtml(part)
    return index % 2 === 0 ? text : `<a href="${text}" rel="noreferrer">${text}</a>`
  }).join("")

const single = (
  mail: { readonly subject: string; readonly text?: string | null; readonly html?: string | null },
  to: readonly string[],
  files: readonly string[],
  address: string
): EdgeAnswer =>
  frame(
    mail.subject,
    `<p><a href="${prefix}">All mails</a></p><h1>${escapeHtml(mail.subject)}</h1>${
      to.length === 0 ? "" : `<p>To ${escapeHtml(to.join(", "))}</p>`
    }${files.length === 0 ? "" : `<p>Files: ${escapeHtml(files.join(", "))}</p>`}${
      typeof mail.html === "string" ? `<iframe sandbox title="HTML" src="${address}/html"></iframe>` : ""
    }${typeof mail.text === "string" ? `<h2>Text</h2><pre>${linked(mail.text)}</pre>` : ""}`
  )

/**
 * Whether the request was made on this machine, by no tunnel that ends here, and by no page that took the name of its host for this machine's. Whoever
 * reaches the port from elsewhere can write any Host header, so the connection itself must begin here.
 */
const isLocal = ({ request }: Visit): boolean => {
  const { address } = clientOf(request.address, null, 0)
  const host = request.headers.get("host") ?? ""
  return address !== null && /^(?:127\.|::1$)/.test(address) &&
    /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d+)?$/i.test(host) &&
    ["x-forwarded-for", "x-forwarded-host", "forwarded", "cf-connecting-ip"].every((name) =>
      request.headers.get(name) === null
    )
}

const answer = async (options: MailPageOptions, path: string): Promise<EdgeAnswer | null> => {
  if (path === "") return overview(options)
  const [, number, part] = /^\/(\d{1,9})(\/html)?$/.exec(path) ?? []
  if (number !== undefined) {
    const mail = options.mails().find((each) => each.number === Number(number))
    if (mail === undefined) return null
    if (part === undefined) {
      return single(mail, mail.to, mail.attachments.map(({ filename }) => filename), `${prefix}/${number}`)
    }
    return mail.html === null ? null : page(mail.html, mailPolicy)
  }
  const [, encoded, whole] = /^\/templates\/([^/]+)(\/html)?$/.exec(path) ?? []
  const name = encoded === undefined ? null : decodePercent(encoded)
  const template = options.templates.find((each) => each.name === name && each.hasExample)
  if (template === undefined) return null
  const rendered = await template.preview()
  if (whole === undefined) return single(rendered, [], [], `${prefix}/templates/${encodeURIComponent(template.name)}`)
  return rendered.html === undefined ? null : page(rendered.html, mailPolicy)
}

/** The route. */
export const mailRoute = (options: MailPageOptions): ExtraRoute => ({
  prefix,
  access: "public",
  handle: (visit): Effect.Effect<EdgeAnswer, Problem> => {
    if (!isLocal(visit)) return Effect.fail(notFound())
    if (visit.method !== "GET") return Effect.fail(methodNotAllowed("GET, HEAD"))
    return Effect.flatMap(
      Effect.promise(() => answer(options, visit.path.slice(prefix.length))),
      (page) => page === null ? Effect.fail(notFound()) : Effect.succeed(page)
    )
  }
})
