/** The text of a refusal or a failure, for every page: what happened, what to do next, and the request's id to copy. */

import { CircleAlert } from "lucide-react"
import type { ReactNode } from "react"
import { ConnectionError, ProblemError } from "../../client/index.ts"
import { type EntryMessages, useMessages } from "../messages/locale.tsx"
import { Link } from "./link.tsx"
import { noticeFailure } from "./session.ts"
import { say } from "./toasts.tsx"

/** The text of an error. A problem's own text is shown unchanged. For other failures, the app has a text. */
export const problemText = (error: unknown, t: EntryMessages): string => {
  if (error instanceof ConnectionError) return t.problem.offline
  if (!(error instanceof ProblemError)) return t.problem.unexpected
  switch (error.slug) {
    case "statement-timeout":
      return t.problem.slow
    case "internal-error":
      return t.problem.unexpected
    default: {
      const [first] = error.errors
      const more = first === undefined || error.slug === "invalid-filter" || error.detail.includes(first.message)
        ? ""
        : ` ${first.message}`
      const wait = error.retryAfter === null ? "" : ` ${t.problem.wait(String(Math.ceil(error.retryAfter / 1000)))}`
      return `${error.detail || error.title}${more}${wait}`
    }
  }
}

/** Shows an error as a toast. */
export const sayProblem = (error: unknown, t: EntryMessages): void => {
  noticeFailure(error)
  const id = error instanceof ProblemError ? error.requestId : null
  say(problemText(error, t), { tone: "bad", ...(id === null ? {} : { detail: `${t.problem.requestId} ${id}` }) })
}

export const copyText = (text: string, t: EntryMessages): void => {
  navigator.clipboard.writeText(text).then(
    () => say(t.shell.copied),
    (error: unknown) => say(String(error), { tone: "bad" })
  )
}

interface ProblemProps {
  readonly error: unknown
  /** Whether the page has no other heading. */
  readonly heading?: boolean
  readonly onRetry?: () => void
  readonly children?: ReactNode
}

/** Shows a failure instead of the content, with a button to try again. */
export const Problem = ({ children, error, heading = false, onRetry }: ProblemProps): ReactNode => {
  const t = useMessages()
  const Text = heading ? "h1" : "p"
  const id = error instanceof ProblemError ? error.requestId : null
  const suggestion = error instanceof ProblemError ? error.document["suggestion"] : undefined
  return (
    <div className="problem" role="alert">
      <CircleAlert className="icon" aria-hidden="true" />
      <div className="grow">
        <Text>
          {/* The service's own sentence is English, whatever the page's language is. */}
          <bdi>{problemText(error, t)}</bdi>
        </Text>
        {typeof suggestion === "string" && (
          <>
            <p className="dim">{t.problem.index}</p>
            <pre className="code" dir="ltr">{suggestion}</pre>
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
              {t.problem.requestId} <span dir="ltr" className="mono">{id.slice(0, 8)}</span>
            </button>
          )}
        </div>
      </div>
    </div>
  )
}

/** The page for an address that does not exist. */
export const Missing = ({ text }: { readonly text?: string }): ReactNode => {
  const t = useMessages()
  return (
    <div className="missing">
      <h1>{t.missing.title}</h1>
      <p className="dim">{text ?? t.missing.text}</p>
      <Link to="/" className="btn">{t.missing.home}</Link>
    </div>
  )
}
