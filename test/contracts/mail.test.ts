// Runs the contract of the mail port on the fake, on the outbox of a developer, and on SMTP with a real server in this process.
import * as Effect from "effect/Effect"
import { createServer } from "node:net"
import { makeOutbox } from "../../adapters/mail/outbox.ts"
import { smtpMail } from "../../adapters/mail/smtp.ts"
import type { CheckedMessage } from "../../core/domain/mail/message.ts"
import { makeFakeMail, plainAddress } from "../fakes/mail.ts"
import { readLetter, serveMail } from "../support/smtp.ts"
import { mailContract, type TakenLetter } from "./mail.ts"

/** A kept message as its receivers would read it. */
const letterOf = (message: CheckedMessage, recipients: readonly string[]): TakenLetter => {
  const { attachments, cc, html, replyTo, subject, text, to } = message
  return {
    recipients,
    headers: new Map([
      ["to", to.join(", ")],
      ["cc", cc.join(", ")],
      ["subject", subject],
      ...(replyTo === null ? [] : [["reply-to", replyTo] as const])
    ]),
    text: text?.replaceAll("\r\n", "\n") ?? null,
    html,
    files: attachments.map(({ content, filename }) => ({
      filename,
      bytes: typeof content === "string" ? Buffer.from(content) : content
    }))
  }
}

mailContract(
  "in memory",
  true,
  Effect.sync(() => {
    const fake = makeFakeMail()
    const gone = makeFakeMail()
    gone.away(true)
    return {
      mail: fake,
      taken: () => fake.taken().map((mail) => letterOf(mail, mail.recipients)),
      server: { refuse: fake.refuse, tries: fake.tries, unreachable: gone }
    }
  })
)

mailContract(
  "the outbox of a developer",
  false,
  Effect.sync(() => {
    const outbox = makeOutbox()
    return {
      mail: outbox,
      taken: () =>
        outbox.mails().toReversed().map((mail) =>
          letterOf(mail, [...mail.to, ...mail.cc, ...mail.bcc].map(plainAddress))
        ),
      server: null
    }
  })
)

/** A port of loopback on which nobody listens. */
const freePort = Effect.promise(async () => {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const address = server.address()
  await new Promise((resolve) => server.close(resolve))
  return typeof address === "object" && address !== null ? address.port : 0
})

mailContract(
  "SMTP",
  true,
  Effect.gen(function*() {
    const refused = new Map<string, "refused" | "later">()
    let tries = 0
    // Each is read once, when it is asked for.
    const letters: TakenLetter[] = []
    const server = yield* Effect.acquireRelease(
      Effect.promise(() =>
        serveMail({
          onMailFrom: (_, __, done) => {
            tries++
            done()
          },
          onRcptTo: ({ address }, _, done) => {
            const how = refused.get(address)
            const responseCode = how === "later" ? 451 : 550
            done(how === undefined ? null : Object.assign(new Error("no such box"), { responseCode }))
          }
        })
      ),
      ({ close }) => Effect.promise(close)
    )
    const mailTo = (port: number) => smtpMail({ url: `smtp://127.0.0.1:${port}`, from: "Shop <shop@example.com>" })
    return {
      mail: mailTo(server.port),
      taken: () => {
        for (const { raw, to } of server.mails.slice(letters.length)) {
          letters.push({ ...readLetter(raw), recipients: to })
        }
        return [...letters]
      },
      server: {
        refuse: (address, how) => void refused.set(address, how),
        tries: () => tries,
        unreachable: mailTo(yield* freePort)
      }
    }
  })
)
