/** The second factor of the user's account: set-up with a QR code, recovery codes, and turning it off. Each step needs the password. */

import { type FormEvent, type ReactNode, useId, useState } from "react"
import { encode } from "uqr"
import { ProblemError } from "../../client/problem.ts"
import { Cancel, Dialog } from "../ground/parts.tsx"
import { say } from "../ground/toasts.tsx"
import { useMessages } from "../messages/locale.tsx"
import { client } from "../model/client.ts"
import { Field, Part, Shown, useAct } from "../place/parts.tsx"
import style from "../place/place.module.css"

/** The QR code as one SVG path, so that it is sharp at every size. It is black on white in every theme, because scanners need that. */
const Qr = ({ label, text }: { readonly text: string; readonly label: string }): ReactNode => {
  const rows = encode(text, { ecc: "M", border: 0 }).data
  const path = rows.flatMap((row, y) => row.flatMap((dark, x) => dark ? [`M${x} ${y}h1v1h-1z`] : [])).join("")
  return (
    <svg
      className={style.qr}
      role="img"
      aria-label={label}
      viewBox={`0 0 ${rows.length} ${rows.length}`}
      shapeRendering="crispEdges"
    >
      <path d={path} fill="currentColor" />
    </svg>
  )
}

type Step =
  | {
    readonly at: "password"
    readonly of: "/two-factor/enable" | "/two-factor/generate-backup-codes" | "/two-factor/disable"
  }
  | { readonly at: "code"; readonly uri: string; readonly codes: readonly string[] }
  | { readonly at: "codes"; readonly codes: readonly string[] }

interface SecondFactorProps {
  readonly on: boolean
  readonly onChanged: () => void
}

export const SecondFactor = ({ on, onChanged }: SecondFactorProps): ReactNode => {
  const w = useMessages().account
  const pw = useMessages().place
  const act = useAct()
  const form = useId()
  const [step, setStep] = useState<Step | null>(null)
  const [text, setText] = useState("")
  const [problem, setProblem] = useState<string | null>(null)
  const go = (next: Step | null): void => {
    setStep(next)
    setText("")
    setProblem(null)
  }
  const run = async (): Promise<void> => {
    if (step?.at === "password") {
      const answer = await client.auth.post<{ readonly totpURI?: string; readonly backupCodes?: readonly string[] }>(
        step.of,
        {
          password: text
        }
      )
      if (step.of === "/two-factor/disable") {
        say(w.turnedOff)
        go(null)
      } else if (answer.totpURI === undefined) go({ at: "codes", codes: answer.backupCodes ?? [] })
      else go({ at: "code", uri: answer.totpURI, codes: answer.backupCodes ?? [] })
    } else if (step?.at === "code") {
      await client.auth.post("/two-factor/verify-totp", { code: text.replaceAll(/\s/g, "") })
      say(w.turnedOn)
      go({ at: "codes", codes: step.codes })
    }
    onChanged()
  }
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    void act(async () => {
      try {
        await run()
      } catch (error) {
        if (!(error instanceof ProblemError) || error.status === 429) throw error
        // A wrong code or password does not end the session.
        setProblem(error.detail)
        setText("")
      }
    })
  }
  return (
    <Part title={w.factor} text={w.factorText}>
      <p>
        <span className="badge" data-tone={on ? "ok" : undefined}>{on ? w.factorOn : w.factorOff}</span>
      </p>
      <div className={style.buttons}>
        {on
          ? (
            <>
              <button
                type="button"
                className="btn"
                onClick={() => go({ at: "password", of: "/two-factor/generate-backup-codes" })}
              >
                {w.newCodes}
              </button>
              <button
                type="button"
                className="btn danger"
                onClick={() => go({ at: "password", of: "/two-factor/disable" })}
              >
                {w.turnOff}
              </button>
            </>
          )
          : (
            <button type="button" className="btn" onClick={() => go({ at: "password", of: "/two-factor/enable" })}>
              {w.setUp}
            </button>
          )}
      </div>
      {step !== null && (
        <Dialog
          title={step.at === "codes" ? w.codes : w.factor}
          {...(step.at === "codes" ? { text: w.codesText } : step.at === "code" ? { text: w.scan } : {})}
          dismissable={step.at !== "codes"}
          onClose={() => go(null)}
          footer={step.at === "codes"
            ? <button type="button" className="btn primary" onClick={() => go(null)}>{pw.done}</button>
            : (
              <>
                <Cancel onPress={() => go(null)} />
                <button className="btn primary" form={form}>{step.at === "code" ? w.verify : pw.go}</button>
              </>
            )}
        >
          {step.at === "codes"
            ? <Shown once label={w.codes} text={step.codes.join("\n")} />
            : (
              <form id={form} onSubmit={submit}>
                {step.at === "code" && (
                  <>
                    <Qr label={w.qr} text={step.uri} />
                    <p className="label">{w.byHand}</p>
                    <Shown label={w.byHand} text={new URL(step.uri).searchParams.get("secret") ?? ""} />
                  </>
                )}
                <Field label={step.at === "code" ? w.code : w.confirm} problem={problem}>
                  {(id, described) => (
                    <input
                      {...described}
                      key={step.at}
                      id={id}
                      autoFocus
                      required
                      type={step.at === "code" ? "text" : "password"}
                      inputMode={step.at === "code" ? "numeric" : undefined}
                      autoComplete={step.at === "code" ? "one-time-code" : "current-password"}
                      maxLength={128}
                      value={text}
                      onChange={({ target }) => setText(target.value)}
                    />
                  )}
                </Field>
              </form>
            )}
        </Dialog>
      )}
    </Part>
  )
}
