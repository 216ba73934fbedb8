/** Shows the errors of a filter text where they stand in it, with their hints. */

import type { ReactNode } from "react"
import type { FilterError } from "../../../core/domain/filter/read.ts"
import style from "./filter.module.css"

/** Where in a text something is wrong, and what. */
export const Wrong = (
  { errors, text }: { readonly text: string; readonly errors: readonly FilterError[] }
): ReactNode =>
  errors.map(({ hint, message, span }) => (
    <p key={`${span.start}-${message}`} className={style.wrong} role="alert">
      {text.slice(Math.max(0, span.start - 24), span.start)}
      <mark>{text.slice(span.start, span.end) || " "}</mark>
      {text.slice(span.end, span.end + 24)} — {message} {hint}
    </p>
  ))
