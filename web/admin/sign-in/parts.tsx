/** Components of the sign-in forms: a labelled field, a password that can be shown, and the wait after too many attempts. */

import { type ReactNode, type Ref, useEffect, useId, useState } from "react"
import { Line } from "../ground/line.tsx"
import { useEntryLocale } from "../messages/locale.tsx"
import style from "./sign-in.module.css"

interface FieldProps {
  readonly label: string
  readonly children: (id: string, describedBy: string | undefined) => ReactNode
  readonly problem: string | null
}

export const Field = ({ children, label, problem }: FieldProps): ReactNode => {
  const id = useId()
  return (
    <div className={style.field}>
      <label className="label" htmlFor={id}>{label}</label>
      {children(id, problem === null ? undefined : `${id}-problem`)}
      {problem !== null && <p className="hint" data-bad="" id={`${id}-problem`} role="alert">{problem}</p>}
    </div>
  )
}

/** An eye, open and crossed out, as Lucide draws them. */
const open =
  "M2.06 12.35a1 1 0 0 1 0-.7 10.75 10.75 0 0 1 19.88 0 1 1 0 0 1 0 .7 10.75 10.75 0 0 1-19.88 0M15 12a3 3 0 1 1-6 0 3 3 0 0 1 6 0"
const closed =
  "M10.73 5.08a10.74 10.74 0 0 1 11.21 6.57 1 1 0 0 1 0 .7 10.75 10.75 0 0 1-1.45 2.49m-6.41-.68a3 3 0 0 1-4.24-4.24m7.64 7.58a10.75 10.75 0 0 1-15.42-5.15 1 1 0 0 1 0-.7 10.75 10.75 0 0 1 4.45-5.14M2 2l20 20"

interface SecretProps {
  readonly id: string
  readonly value: string
  readonly onChange: (value: string) => void
  readonly autoComplete: "current-password" | "new-password" | "off"
  readonly describedBy: string | undefined
  readonly invalid: boolean
  readonly minLength?: number
  readonly ref?: Ref<HTMLInputElement> | undefined
}

/** A password input with a button to show the text. */
export const Secret = ({
  autoComplete,
  describedBy,
  id,
  invalid,
  minLength,
  onChange,
  ref,
  value
}: SecretProps): ReactNode => {
  const t = useEntryLocale().t
  const [shown, setShown] = useState(false)
  return (
    <div className="input" data-invalid={invalid ? "" : undefined}>
      <input
        id={id}
        ref={ref}
        type={shown ? "text" : "password"}
        name="password"
        autoComplete={autoComplete}
        value={value}
        onChange={({ target }) => onChange(target.value)}
        aria-describedby={describedBy}
        aria-invalid={invalid}
        minLength={minLength}
        required
      />
      <button
        type="button"
        className={style.eye}
        aria-pressed={shown}
        aria-label={shown ? t.signIn.hide : t.signIn.show}
        onClick={() => setShown(!shown)}
      >
        <Line d={shown ? closed : open} />
      </button>
    </div>
  )
}

/** Counts down the seconds until the next allowed attempt. 0 if there is no wait. */
export const useWait = (): readonly [seconds: number, wait: (milliseconds: number) => void] => {
  const [until, setUntil] = useState(0)
  const [now, setNow] = useState(0)
  useEffect(() => {
    if (until === 0) return
    const timer = setInterval(() => {
      setNow(Date.now())
      if (Date.now() >= until) setUntil(0)
    }, 250)
    return () => clearInterval(timer)
  }, [until])
  return [until === 0 ? 0 : Math.max(0, Math.ceil((until - now) / 1000)), (milliseconds) => {
    setNow(Date.now())
    setUntil(Date.now() + milliseconds)
  }]
}
