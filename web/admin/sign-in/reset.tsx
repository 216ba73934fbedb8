/**
 * The page of mailed links. It sets a password with the link's token, or requests a link if there is no token. The token is removed from the address at
 * once, and is sent to the service only together with a password.
 */

import { type FormEvent, type ReactNode, useEffect, useRef, useState } from "react"
import { ProblemError } from "../../client/problem.ts"
import { config, prefix } from "../config.ts"
import { useEntryLocale } from "../messages/locale.tsx"
import { client } from "../model/client.ts"
import { Field, Secret, useWait } from "./parts.tsx"
import style from "./sign-in.module.css"

/** The minimum length of a password, as in the service. */
const least = 12

const readLink = (): { readonly invited: boolean; readonly token: string } => {
  const [, kind, token = ""] = /^#(token|invitation)=([A-Za-z0-9_-]+)$/.exec(location.hash) ?? []
  return { invited: kind === "invitation", token }
}

/** The step of the page. `off`: users cannot request links. */
type Step = "ask" | "sent" | "set" | "done" | "bad" | "off"

const signIn = prefix === "" ? "/" : prefix

export const Reset = (): ReactNode => {
  const { format, t } = useEntryLocale()
  const [link] = useState(readLink)
  const [step, setStep] = useState<Step>(link.token === "" ? "ask" : "set")
  const [askable, setAskable] = useState(true)
  const [text, setText] = useState("")
  const [busy, setBusy] = useState(false)
  const [problem, setProblem] = useState<string | null>(null)
  const [seconds, wait] = useWait()
  const first = useRef<HTMLInputElement>(null)
  const head = useRef<HTMLHeadingElement>(null)

  useEffect(() => {
    if (location.hash !== "") history.replaceState(history.state, "", location.pathname)
    client.auth.methods().then(({ passwordReset }) => {
      setAskable(passwordReset)
      if (!passwordReset && link.token === "") setStep("off")
    }, () => undefined)
  }, [link])
  // The focus moves to each new step, so that screen readers announce it.
  useEffect(() => (first.current ?? head.current)?.focus(), [step])

  const submit = async (event: FormEvent): Promise<void> => {
    event.preventDefault()
    if (busy || seconds > 0) return
    setBusy(true)
    setProblem(null)
    try {
      if (step === "ask") await client.auth.post("/request-password-reset", { email: text.trim() })
      else await client.auth.post("/reset-password", { token: link.token, newPassword: text })
      if (step === "set") setText("")
      setStep(step === "ask" ? "sent" : "done")
    } catch (error) {
      if (!(error instanceof ProblemError)) setProblem(t.signIn.failed)
      else if (error.status === 429) wait(error.retryAfter ?? 60_000)
      else if (error.document["code"] === "INVALID_TOKEN") setStep("bad")
      else setProblem(error.detail)
    } finally {
      setBusy(false)
    }
  }

  const sayings: Readonly<Record<Step, readonly [title: string, hint: string]>> = {
    ask: [t.reset.askTitle, t.reset.askHint],
    sent: [t.reset.sentTitle, t.reset.sent(text.trim())],
    set: link.invited ? [t.reset.welcome(config.name), t.reset.welcomeHint] : [t.reset.newTitle, t.reset.newHint],
    done: [t.reset.done, t.reset.doneHint],
    bad: [t.reset.newTitle, link.invited && !askable ? t.reset.badInvitation : t.reset.bad],
    off: [t.reset.askTitle, t.reset.off]
  }
  const [title, hint] = sayings[step]
  const said = seconds > 0 ? t.signIn.wait(String(seconds)) : problem

  return (
    <main className={style.center}>
      <div className={style.card}>
        <form className={style.form} onSubmit={(event) => void submit(event)} aria-busy={busy}>
          <span className={`mark ${style.logo}`} aria-hidden="true">{config.name.slice(0, 1)}</span>
          <h1 ref={head} tabIndex={-1}>{title}</h1>
          <p className="dim" role={step === "bad" ? "alert" : undefined}>{hint}</p>
          {step === "ask" && (
            <Field label={t.signIn.email} problem={said}>
              {(id, describedBy) => (
                <div className="input" data-invalid={problem === null ? undefined : ""}>
                  <input
                    id={id}
                    ref={first}
                    type="email"
                    name="email"
                    autoComplete="username"
                    value={text}
                    onChange={({ target }) => setText(target.value)}
                    aria-describedby={describedBy}
                    required
                  />
                </div>
              )}
            </Field>
          )}
          {step === "set" && (
            <>
              <Field label={t.reset.password} problem={said}>
                {(id, describedBy) => (
                  <Secret
                    id={id}
                    ref={first}
                    value={text}
                    onChange={setText}
                    autoComplete="new-password"
                    describedBy={describedBy}
                    invalid={problem !== null}
                    minLength={least}
                  />
                )}
              </Field>
              <p className="hint">{t.reset.least(format.count(least))}</p>
            </>
          )}
          {(step === "ask" || step === "set") && (
            <button className={`btn primary ${style.wide}`} disabled={busy || seconds > 0}>
              {busy && <span className="spinner" aria-hidden="true" />}
              {step === "ask" ? t.reset.ask : t.reset.set}
            </button>
          )}
          {step === "bad" && askable && (
            <button
              type="button"
              className={`btn primary ${style.wide}`}
              onClick={() => setStep("ask")}
            >
              {t.reset.askAgain}
            </button>
          )}
          {step === "done"
            ? <a className={`btn primary ${style.wide}`} href={signIn}>{t.reset.toSignIn}</a>
            : <a className={style.link} href={signIn}>{t.reset.toSignIn}</a>}
        </form>
      </div>
    </main>
  )
}
