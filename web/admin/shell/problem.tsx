/** What people read about a refusal or a failure: what happened, what next, and the request's id to copy. One place for every page. */

import { CircleAlert } from "lucide-react"
import type { ReactNode } from "react"
import { ConnectionError, ProblemError } from "../../client/index.ts"
import { type Messages, useMessages } from "../messages/locale.tsx"
import { say } from "./toasts.tsx"

/** The sentence about an error. What the service says about itself is shown as it is; what it cannot say is said here. */
export const problemText = (error: unknown, t: Messages): string => {
  if (error instanceof ConnectionError) return t.problem.offline
  if (!(error instanceof ProblemError)) return t.problem.unexpected
  switch (error.slug) {
    case "statement-timeout":
      return t.problem.slow
    case "internal-error":
      return t.problem.unexpected
    default: {
      const [first] = error.errors
      const more = first === undefined || error.slug === "invalid-filter" ? "" : ` ${first.message}`
      const wait = error.retryAfter === null ? "" : ` ${t.problem.wait(String(Math.ceil(error.retryAfter / 1000)))}`
      return `${error.detail || error.title}${more}${wait}`
    }
  }
}

/** Says an error in a toast. */
export const sayProblem = (error: unknown, t: Messages): void => {
  const id = error instanceof ProblemError ? error.requestId : null
  say(problemText(error, t), { tone: "bad", ...(id === null ? {} : { detail: `${t.problem.requestId} ${id}` }) })
}

export const copyText = (text: string, t: Messages): void => {
  navigator.clipboard.writeText(text).then(
    () => say(t.shell.copied),
    (error: unknown) => say(String(error), { tone: "bad" })
  )
}

interface ProblemProps {
  readonly error: unknown
  readonly onRetry?: () => void
  readonly children?: ReactNode
}

/** A failure in the place of what should be there, with a way on. */
export const Problem = ({ children, error, onRetry }: ProblemProps): ReactNode => {
  const t = useMessages()
  const id = error instanceof ProblemError ? error.requestId : null
  const suggestion = error instanceof ProblemError ? error.document["suggestion"] : undefined
  return (
    <div className="problem" role="alert">
      <CircleAlert className="icon" aria-hidden="true" />
      <div className="grow">
        <p>{problemText(error, t)}</p>
        {typeof suggestion === "string" && (
          <>
            <p className="dim">{t.problem.index}</p>
            <pre className="code">{suggestion}</pre>
          </>
        )}
        {children}
        <div className="problem-ways">
          {onRetry !== undefined && <button type="button" className="btn" onClick={onRetry}>{t.shell.retry}</button>}
          {typeof suggestion === "string" && (
            <button
              type="button"
              className="btn quiet"
              onClick={() => copyText(suggestion, t)}
            >
              {t.shell.copy}
            </button>
          )}
          {id !== null && (
            <button type="button" className="btn quiet" onClick={() => copyText(id, t)}>
              {t.problem.requestId} <span className="mono">{id.slice(0, 8)}</span>
            </button>
          )}
        </div>
      </div>
    </div>
  )
}

/** The page of an address that leads nowhere. */
export const Missing = ({ text }: { readonly text?: string }): ReactNode => {
  const t = useMessages()
  return (
    <div className="missing">
      <h1>{t.missing.title}</h1>
      <p className="dim">{text ?? t.missing.text}</p>
    </div>
  )
}
