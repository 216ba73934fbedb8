/**
 * The sign-in form, with the methods of the service: password, second factor, passkey, identity providers, or a pasted token. It shows the wait after too
 * many attempts, and what to do if no account exists. It does not depend on the app.
 */

import { type FormEvent, type ReactNode, type Ref, type RefObject, useEffect, useRef, useState } from "react"
import { ProblemError } from "../../client/problem.ts"
import type { SignInMethods } from "../../client/session.ts"
import { config, prefix } from "../config.ts"
import { Line } from "../ground/line.tsx"
import { type EntryMessages, useEntryLocale } from "../messages/locale.tsx"
import { client, pasteToken } from "../model/client.ts"
import { Field, Secret, useWait } from "./parts.tsx"
import { withPasskey } from "./passkey.ts"
import style from "./sign-in.module.css"

/** A fingerprint, as Lucide draws it. */
const fingerprint =
  "M12 10a2 2 0 0 0-2 2c0 1-.1 2.5-.26 4M14 13.12c0 2.38 0 6.38-1 8.88m4.29-.98c.12-.6.43-2.3.5-3M2 12a10 10 0 0 1 18-6M2 16h0m19.8 0c.2-2 .13-5.35 0-6M5 19.5C5.5 18 6 15 6 12a6 6 0 0 1 .34-2m2.31 12c.2-.66.45-1.32.57-2M9 6.8a6 6 0 0 1 9 5.2v2"

type Step = "password" | "app-code" | "backup-code" | "no-admin"

const noMethods: SignInMethods = {
  providers: [],
  twoFactor: false,
  passkeys: false,
  passwordReset: false,
  invitations: false
}

/** What to do where no account exists. */
const NoAdmin = ({ onRetry }: { readonly onRetry: () => void }): ReactNode => {
  const { t } = useEntryLocale()
  return (
    <div className={style.form}>
      <span className={`mark ${style.logo}`} aria-hidden="true">{config.name.slice(0, 1)}</span>
      <h1>{t.signIn.noAdminTitle}</h1>
      <p className="dim">{t.signIn.noAdmin}</p>
      <pre className={`code ${style.say}`}>service users create you@example.org --generate-password</pre>
      <button type="button" className={`btn primary ${style.wide}`} onClick={onRetry}>{t.signIn.retry}</button>
    </div>
  )
}

interface OtherWaysProps {
  readonly methods: SignInMethods
  readonly busy: boolean
  readonly onPasskey: () => void
  readonly onProvider: (id: string) => void
}

/** Passkeys and identity providers, where the service has them. */
const OtherWays = ({ busy, methods, onPasskey, onProvider }: OtherWaysProps): ReactNode => {
  const { t } = useEntryLocale()
  if (!methods.passkeys && methods.providers.length === 0) return null
  return (
    <>
      <div className={style.or}>{t.signIn.or}</div>
      {methods.passkeys && (
        <button type="button" className={`btn ${style.wide}`} disabled={busy} onClick={onPasskey}>
          <Line d={fingerprint} /> {t.signIn.passkey}
        </button>
      )}
      {methods.providers.map(({ id, name }) => (
        <button
          key={id}
          type="button"
          className={`btn ${style.wide}`}
          disabled={busy}
          onClick={() => onProvider(id)}
        >
          {t.signIn.with(name)}
        </button>
      ))}
    </>
  )
}

/** Runs what somebody tries: one at a time, with its refusal as a text, and the seconds to wait after too many. */
const useAttempt = (onFailed: () => void) => {
  const { t } = useEntryLocale()
  const [busy, setBusy] = useState(false)
  const [problem, setProblem] = useState<string | null>(null)
  const [seconds, wait] = useWait()
  const attempt = async (work: () => Promise<void>): Promise<void> => {
    setBusy(true)
    setProblem(null)
    try {
      await work()
    } catch (error) {
      if (error instanceof ProblemError && error.status === 429) wait(error.retryAfter ?? 60_000)
      else if (error instanceof ProblemError) setProblem(error.detail)
      else if (!(error instanceof DOMException)) setProblem(t.signIn.failed)
      onFailed()
    } finally {
      setBusy(false)
    }
  }
  return { attempt, busy, problem, seconds }
}

const hintOf = (step: Step, local: boolean, { signIn }: EntryMessages): string =>
  step === "app-code"
    ? signIn.codeHint
    : step === "backup-code"
    ? signIn.backupHint
    : local
    ? signIn.hint
    : signIn.tokenHint

interface PasswordFieldsProps {
  /** The first field that is empty. */
  readonly ref: RefObject<HTMLInputElement | null>
  /** The password, which is typed again after a refusal. */
  readonly secretRef: RefObject<HTMLInputElement | null>
  /** The email address that is known already. */
  readonly given: string
  readonly email: string
  readonly secret: string
  readonly problem: string | null
  readonly invalid: boolean
  readonly onEmail: (email: string) => void
  readonly onSecret: (secret: string) => void
}

/** Email address and password, or the token where other servers have the accounts. */
const PasswordFields = (
  { email, given, invalid, onEmail, onSecret, problem, ref, secret, secretRef }: PasswordFieldsProps
): ReactNode => {
  const { t } = useEntryLocale()
  const local = config.signIn === "password"
  return (
    <>
      {local && (
        <Field label={t.signIn.email} problem={null}>
          {(id) => (
            <div className="input">
              <input
                id={id}
                ref={given === "" ? ref : undefined}
                type="email"
                name="email"
                autoComplete="username"
                value={email}
                onChange={({ target }) => onEmail(target.value)}
                required
              />
            </div>
          )}
        </Field>
      )}
      <Field label={local ? t.signIn.password : t.signIn.token} problem={problem}>
        {(id, describedBy) => (
          <Secret
            id={id}
            ref={(input) => {
              secretRef.current = input
              if (!local || given !== "") ref.current = input
            }}
            value={secret}
            onChange={onSecret}
            autoComplete={local ? "current-password" : "off"}
            describedBy={describedBy}
            invalid={invalid}
          />
        )}
      </Field>
    </>
  )
}

interface CodeFieldProps {
  readonly ref: Ref<HTMLInputElement>
  readonly numeric: boolean
  readonly value: string
  /** How long to wait, as a text. */
  readonly waiting: string | null
  readonly problem: string | null
  readonly onChange: (code: string) => void
}

const CodeField = ({ numeric, onChange, problem, ref, value, waiting }: CodeFieldProps): ReactNode => {
  const { t } = useEntryLocale()
  return (
    <Field label={t.signIn.code} problem={waiting ?? problem}>
      {(id, describedBy) => (
        <div className="input" data-invalid={problem === null ? undefined : ""}>
          <input
            id={id}
            ref={ref}
            value={value}
            onChange={({ target }) => onChange(target.value)}
            inputMode={numeric ? "numeric" : "text"}
            autoComplete="one-time-code"
            aria-describedby={describedBy}
            aria-invalid={problem !== null}
            required
          />
        </div>
      )}
    </Field>
  )
}

/** The form, with the methods that the service has. */
export const SignIn = (
  { email: given = "", onDone }: { readonly email?: string; readonly onDone: () => Promise<void> }
): ReactNode => {
  const t = useEntryLocale().t
  const [step, setStep] = useState<Step>("password")
  const [email, setEmail] = useState(given)
  const [secret, setSecret] = useState("")
  const [methods, setMethods] = useState(noMethods)
  const first = useRef<HTMLInputElement>(null)
  const secretInput = useRef<HTMLInputElement>(null)
  const { attempt, busy, problem, seconds } = useAttempt(() => {
    setSecret("") // A code has one input. Of email and password, the password was emptied.
    ;(secretInput.current ?? first.current)?.focus()
  })
  const local = config.signIn === "password"

  useEffect(() => {
    if (!local) return
    // The form with a password works without these answers.
    client.auth.methods().then(setMethods, () => undefined)
    client.auth.status().then(({ needsAdmin }) => needsAdmin && setStep("no-admin"), () => undefined)
  }, [local])
  useEffect(() => first.current?.focus(), [step])

  const submit = (event: FormEvent): void => {
    event.preventDefault()
    if (busy || seconds > 0) return
    void attempt(async () => {
      if (!local) {
        pasteToken(secret.trim())
        return onDone()
      }
      if (step === "password") {
        const answer = await client.auth.signIn({ email: email.trim(), password: secret })
        if (answer.twoFactorRedirect === true) {
          setSecret("")
          setStep("app-code")
          return
        }
      } else {
        const route = step === "app-code" ? "/two-factor/verify-totp" : "/two-factor/verify-backup-code"
        await client.auth.post(route, { code: secret.replaceAll(/\s/g, "") })
      }
      setSecret("")
      await onDone()
    })
  }

  const provider = (id: string): Promise<void> =>
    attempt(async () => {
      const { url } = await client.auth.post<{ readonly url: string }>("/sign-in/social", {
        provider: id,
        callbackURL: location.href,
        errorCallbackURL: location.href
      })
      location.assign(url)
    })

  const waiting = seconds > 0 ? t.signIn.wait(String(seconds)) : null

  if (step === "no-admin") {
    return (
      <NoAdmin
        onRetry={() =>
          void attempt(async () => {
            if (!(await client.auth.status()).needsAdmin) setStep("password")
          })}
      />
    )
  }

  const coded = step === "app-code" || step === "backup-code"
  return (
    <form className={style.form} onSubmit={submit} aria-busy={busy}>
      <span className={`mark ${style.logo}`} aria-hidden="true">{config.name.slice(0, 1)}</span>
      <h1>{coded ? t.signIn.codeTitle : t.signIn.title(config.name)}</h1>
      <p className="dim">
        {hintOf(step, local, t)}
      </p>
      {coded
        ? (
          <CodeField
            ref={first}
            numeric={step === "app-code"}
            value={secret}
            waiting={waiting}
            problem={problem}
            onChange={setSecret}
          />
        )
        : (
          <PasswordFields
            ref={first}
            secretRef={secretInput}
            given={given}
            email={email}
            secret={secret}
            problem={waiting ?? problem}
            invalid={problem !== null}
            onEmail={setEmail}
            onSecret={setSecret}
          />
        )}
      <button className={`btn primary ${style.wide}`} disabled={busy || seconds > 0}>
        {busy && <span className="spinner" aria-hidden="true" />}
        {coded ? t.signIn.verify : t.signIn.submit}
      </button>
      {!coded && methods.passwordReset && <a className={style.link} href={`${prefix}/-/reset`}>{t.signIn.forgot}</a>}
      {coded
        ? (
          <>
            <button
              type="button"
              className={style.link}
              onClick={() => setStep(step === "app-code" ? "backup-code" : "app-code")}
            >
              {step === "app-code" ? t.signIn.useBackup : t.signIn.useApp}
            </button>{" "}
            <button type="button" className={style.link} onClick={() => setStep("password")}>{t.signIn.back}</button>
          </>
        )
        : (
          <OtherWays
            methods={methods}
            busy={busy}
            onPasskey={() => void attempt(() => withPasskey(client.auth).then(onDone))}
            onProvider={(id) => void provider(id)}
          />
        )}
    </form>
  )
}
