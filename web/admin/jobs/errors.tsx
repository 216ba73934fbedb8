/** The last errors of a job, each with its try, its time and its stack, in a fold. */

import type { ReactNode } from "react"
import type { JobError } from "../../../core/domain/job/state.ts"
import { useReader } from "../field/value.tsx"
import { useLocale, useMessages } from "../messages/locale.tsx"
import { Moment } from "../place/parts.tsx"
import style from "../place/place.module.css"

export const Errors = ({ errors }: { readonly errors: readonly JobError[] }): ReactNode => {
  const w = useMessages().jobs
  const { format } = useLocale()
  const { now } = useReader()
  return errors.length === 0 ? null : (
    <details className={style.folded}>
      <summary>{w.errors(errors.length, format.count(errors.length))}</summary>
      {errors.map(({ at, attempt, message, stack }, index) => {
        const label = w.errorOf(format.count(attempt))
        return (
          <section key={errors.length - index} aria-label={label}>
            <p className="dim">
              {label} · <Moment at={at} now={now} />
            </p>
            <pre className={`code ${style.bad}`} dir="auto" tabIndex={0} aria-label={label}>{message}</pre>
            {stack !== null && <pre className="code" dir="ltr" tabIndex={0} aria-label={w.stack}>{stack}</pre>}
          </section>
        )
      })}
    </details>
  )
}
