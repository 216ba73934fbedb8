/** Shows the errors of a filter text at their place, with their hints. */

import type { ReactNode } from "react"
import type { FilterError } from "../../../core/domain/filter/read.ts"
import style from "./filter.module.css"

/** The text with its mistakes underlined. */
export const Marked = (
  { errors, text }: { readonly text: string; readonly errors: readonly FilterError[] }
): ReactNode => {
  let done = 0
  const parts = errors.toSorted((a, b) => a.span.start - b.span.start).flatMap(({ span }) => {
    if (span.start < done) return []
    const before = text.slice(done, span.start)
    done = Math.max(span.end, span.start + 1)
    return [before, <mark key={span.start}>{text.slice(span.start, done) || " "}</mark>]
  })
  return [...parts, text.slice(done)]
}

/** The mistakes. */
export const Wrong = ({ errors }: { readonly errors: readonly FilterError[] }): ReactNode =>
  errors.map(({ hint, message, span }) => (
    <p key={`${span.start}-${message}`} className={style.wrong} role="alert">
      {message} {hint}
    </p>
  ))
