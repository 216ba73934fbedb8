/** The page of a remote resource whose source has not answered: a note that it loads, or the error with a button to try again. */

import { CircleAlert } from "lucide-react"
import type { ReactNode } from "react"
import { ConnectionError, ProblemError } from "../../client/problem.ts"
import { problemText } from "../ground/problem.tsx"
import { useTitle } from "../ground/title.ts"
import { type Messages, useMessages } from "../messages/locale.tsx"
import { labelOf } from "../model/catalogue.ts"
import type { SourceState } from "../sources/states.ts"

/** The reason why a source cannot be read, as text. */
export const reasonOf = (error: unknown, t: Messages): string => {
  if (error instanceof ProblemError) {
    return error.status === 401
      ? t.sources.refused
      : error.status === 403
      ? t.sources.noRole
      : problemText(error, t)
  }
  if (error instanceof ConnectionError) return t.sources.silent
  return error instanceof DOMException && error.name === "TimeoutError" ? t.sources.slow : t.sources.unsafe
}

export const SourceNotice = ({ name, of }: { readonly name: string; readonly of: SourceState }): ReactNode => {
  const t = useMessages()
  useTitle(labelOf(name))
  if (of.state !== "error") {
    return (
      <div className="missing" aria-busy="true">
        <h1>{labelOf(name)}</h1>
        <p role="status">
          <span className="spinner" aria-hidden="true" /> {t.sources.loading(of.source.label)}
        </p>
      </div>
    )
  }
  return (
    <div className="problem" role="alert">
      <CircleAlert className="icon" aria-hidden="true" />
      <div className="grow">
        <h1>{t.sources.unreachable(of.source.label)}</h1>
        <p>{reasonOf(of.error, t)}</p>
        <div className="problem-ways">
          <button type="button" className="btn" onClick={of.retry}>{t.shell.retry}</button>
        </div>
      </div>
    </div>
  )
}
