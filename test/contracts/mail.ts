/**
 * The contract of the mail port, one suite for every implementation. A harness says what was taken, as its receivers read it. Sign-in, TLS and servers that
 * are silent need a real server: test/mail has those.
 */

import { describe, expect, layer } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import { MailError, type MailMessage, type MailService } from "../../core/ports/mail.ts"
import type { Letter } from "../support/smtp.ts"

/** A mail that was taken. */
export interface TakenLetter extends Letter {
  /** Whom it went to, as plain addresses. */
  readonly recipients: readonly string[]
}

/** A server that can refuse. */
export interface RefusingServer {
  readonly refuse: (address: string, how: "refused" | "later") => void
  /** How often a mail was begun with the server. */
  readonly tries: () => number
  /** Mail to a server that is not there. */
  readonly unreachable: MailService
}

export interface MailHarness {
  readonly mail: MailService
  /** Oldest first. */
  readonly taken: () => readonly TakenLetter[]
  /** Null where there is no server that could refuse anything. */
  readonly server: RefusingServer | null
}

class Harness extends Context.Service<Harness, MailHarness>()("test/contracts/mail/Harness") {}

const usual: MailMessage = { to: "ada@example.com", subject: "Hello", text: "Hello" }

/** Sends, and fails with the port's error. */
const send = (mail: MailService, message: MailMessage): Effect.Effect<void, MailError> =>
  Effect.catch(
    Effect.tryPromise({ try: () => mail.send(message), catch: (error) => error }),
    (error) => error instanceof MailError ? Effect.fail(error) : Effect.die(error)
  )
const reason = (mail: MailService, message: MailMessage): Effect.Effect<MailError["reason"] | "sent"> =>
  Effect.match(send(mail, message), { onFailure: (error) => error.reason, onSuccess: () => "sent" })

/** Runs the suite. `refuses`: whether the harness has a server that can refuse. */
export const mailContract = (
  name: string,
  refuses: boolean,
  make: Effect.Effect<MailHarness, never, Scope.Scope>
): void =>
  layer(Layer.effect(Harness, make), { excludeTestServices: true })(`mail: ${name}`, (it) => {
    /** Sends a mail, and gives what was taken of it. */
    const delivered = Effect.fnUntraced(function*(message: MailMessage) {
      const { mail, taken } = yield* Harness
      const before = taken().length
      yield* send(mail, message)
      expect(taken()).toHaveLength(before + 1)
      return taken().at(-1)!
    })

    it.effect("is taken for every recipient, with its subject, its bodies and its files as they are", () =>
      Effect.gen(function*() {
        const bytes = new Uint8Array(3 * 1024 * 1024).map((_, index) => index % 251)
        const text = "Schöne Grüße\n\n.\n..two\nFrom here\n" + "a long line ".repeat(200)
        const letter = yield* delivered({
          to: ["Ada Löwe <ada@example.com>", "bo@example.com"],
          cc: "cy@example.com",
          bcc: ["hidden@example.com", "Also Hidden <gone@example.com>"],
          replyTo: "help@example.com",
          subject: "Grüße 👋 שלום",
          text,
          html: "<p>Schöne <b>Grüße</b></p>",
          attachments: [
            { filename: "Übersicht.bin", content: bytes },
            { filename: "a \"b\" c.txt", content: "plain\ntext", contentType: "text/plain" }
          ]
        })
        expect(letter.recipients.toSorted()).toEqual([
          "ada@example.com",
          "bo@example.com",
          "cy@example.com",
          "gone@example.com",
          "hidden@example.com"
        ])
        expect(letter.headers.get("subject")).toBe("Grüße 👋 שלום")
        expect(letter.headers.get("reply-to")).toBe("help@example.com")
        for (const part of ["Löwe", "ada@example.com", "bo@example.com"]) {
          expect(letter.headers.get("to")).toContain(part)
        }
        expect(letter.headers.get("cc")).toContain("cy@example.com")
        for (const value of letter.headers.values()) expect(value).not.toMatch(/hidden|gone@/i)
        expect([letter.text?.trimEnd(), letter.html?.trimEnd()]).toEqual([
          text.trimEnd(),
          "<p>Schöne <b>Grüße</b></p>"
        ])
        expect(letter.files.map(({ filename }) => filename)).toEqual(["Übersicht.bin", "a \"b\" c.txt"])
        expect(Buffer.compare(letter.files[0]!.bytes, bytes)).toBe(0)
        expect(Buffer.from(letter.files[1]!.bytes).toString().replaceAll("\r\n", "\n")).toBe("plain\ntext")
      }))

    it.effect("has the bodies that it was given and no others", () =>
      Effect.gen(function*() {
        const plain = yield* delivered(usual)
        expect([plain.text?.trimEnd(), plain.html, plain.files]).toEqual(["Hello", null, []])
        const { text: _, ...bare } = usual
        const page = yield* delivered({ ...bare, html: "<p>Hello</p>" })
        expect([page.text, page.html?.trimEnd()]).toEqual([null, "<p>Hello</p>"])
      }))

    it.effect("has no header, recipient or end that its text made", () =>
      Effect.gen(function*() {
        const text = "x\r\n.\r\nMAIL FROM:<eve@example.com>\r\nRCPT TO:<eve@example.com>\r\nSubject: evil\r\n\r\nevil"
        const letter = yield* delivered({ ...usual, text })
        expect(letter.recipients).toEqual(["ada@example.com"])
        expect(letter.headers.get("subject")).toBe("Hello")
        for (const value of letter.headers.values()) expect(value).not.toMatch(/eve|evil/)
        expect(letter.text?.trimEnd()).toBe(text.replaceAll("\r\n", "\n"))
      }))

    const invalid: ReadonlyArray<readonly [what: string, more: Partial<MailMessage>]> = [
      ["a line in an address", { to: "a@b.c\r\nBcc: eve@example.com" }],
      ["a line in a name", { to: "Ada\nBcc: eve@example.com <ada@example.com>" }],
      ["a line in a copy", { cc: ["cy@example.com", "a@b.c\nX: y"] }],
      ["a line in a hidden copy", { bcc: "a@b.c\rX: y" }],
      ["a line in where to answer", { replyTo: "a@b\r\nX: y" }],
      ["a line in the subject", { subject: "a\nBcc: eve@example.com" }],
      ["a line in the name of a file", { attachments: [{ filename: "a\r\nX: y", content: "" }] }],
      ["a line in the type of a file", { attachments: [{ filename: "a", content: "", contentType: "a/b\r\nX: y" }] }],
      ["a line in the id of a file", { attachments: [{ filename: "a", content: "", cid: "a\r\nX: y" }] }],
      ["two addresses in one", { to: "ada@example.com, eve@example.com" }],
      ["no address", { to: [] }],
      ["no subject", { subject: " " }]
    ]
    it.effect.each(invalid)("is invalid with %s, and then goes to nobody", ([, more]) =>
      Effect.gen(function*() {
        const { mail, server, taken } = yield* Harness
        const before = [taken().length, server?.tries()]
        expect(yield* reason(mail, { ...usual, ...more })).toBe("invalid")
        expect([taken().length, server?.tries()]).toEqual(before)
      }))

    it.effect("is taken once each, where many are sent at once", () =>
      Effect.gen(function*() {
        const { mail, taken } = yield* Harness
        const before = taken().length
        const subjects = Array.from({ length: 12 }, (_, i) => `Number ${i}`)
        yield* Effect.all(subjects.map((subject) => send(mail, { ...usual, subject })), { concurrency: "unbounded" })
        const got = taken().slice(before).map(({ headers }) => headers.get("subject")!)
        expect(got.toSorted()).toEqual(subjects.toSorted())
      }))

    // An outbox of a developer takes whatever is valid: there is nobody who could refuse.
    if (!refuses) return

    describe("where the server refuses", () => {
      const refusing = Effect.gen(function*() {
        const { mail, server, taken } = yield* Harness
        server!.refuse("no@example.com", "refused")
        server!.refuse("never@example.com", "refused")
        server!.refuse("busy@example.com", "later")
        return { mail, server: server!, taken }
      })
      const refused: ReadonlyArray<readonly [to: readonly string[], reason: MailError["reason"]]> = [
        [["no@example.com"], "refused"],
        [["no@example.com", "never@example.com"], "refused"],
        [["busy@example.com"], "later"],
        [["ada@example.com", "no@example.com"], "refused"],
        [["no@example.com", "ada@example.com"], "refused"],
        [["ada@example.com", "busy@example.com"], "later"],
        [["ada@example.com", "no@example.com", "busy@example.com"], "later"]
      ]
      it.effect.each(refused)("a mail to %j fails as %s, and is tried once", ([to, expected]) =>
        Effect.gen(function*() {
          const { mail, server, taken } = yield* refusing
          const before = [taken().length, server.tries()] as const
          expect(yield* reason(mail, { ...usual, to })).toBe(expected)
          expect(server.tries()).toBe(before[1] + 1)
          // Whoever was not refused may have got it; nobody else has.
          const others = to.filter((address) => address === "ada@example.com")
          for (const { recipients } of taken().slice(before[0])) expect(recipients).toEqual(others)
        }))

      it.effect("a copy counts as a recipient, seen or hidden", () =>
        Effect.gen(function*() {
          const { mail } = yield* refusing
          expect(yield* reason(mail, { ...usual, cc: "no@example.com" })).toBe("refused")
          expect(yield* reason(mail, { ...usual, bcc: "busy@example.com" })).toBe("later")
        }))

      it.effect("others are sent as before", () =>
        Effect.gen(function*() {
          const { server } = yield* refusing
          const before = server.tries()
          expect((yield* delivered(usual)).recipients).toEqual(["ada@example.com"])
          expect(server.tries()).toBe(before + 1)
        }))
    })

    it.effect("fails as unreachable where no server answers", () =>
      Effect.gen(function*() {
        const { server } = yield* Harness
        expect(yield* reason(server!.unreachable, usual)).toBe("unreachable")
        expect(yield* reason(server!.unreachable, { ...usual, to: [] })).toBe("invalid")
      }))
  })
