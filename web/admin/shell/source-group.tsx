/** A source in the sidebar that has not answered: its dimmed resources, the reason, and a button to try again. */

import type { ReactNode } from "react"
import { Icon } from "../ground/icons.tsx"
import { Link } from "../ground/link.tsx"
import { usePlace } from "../ground/location.ts"
import { useMessages } from "../messages/locale.tsx"
import { labelOf } from "../model/catalogue.ts"
import type { SourceState } from "../sources/states.ts"
import style from "../style/frame.module.css"
import { reasonOf } from "./source-notice.tsx"

export const AwayGroup = ({ of }: { readonly of: SourceState }): ReactNode => {
  const t = useMessages()
  const { parts } = usePlace()
  const { error, retry, source, state } = of
  const failed = state === "error"
  return (
    <div role="group" aria-label={source.label} className={style.group}>
      <h2>{source.label}</h2>
      {source.resources.map((name) => (
        <Link
          key={name}
          to={`/${name}`}
          className={`${style.nav} ${style.away}`}
          aria-current={parts[0] === name ? "page" : undefined}
        >
          <Icon name={null} />
          <span className="cut">{labelOf(name)}</span>
          <span className={style.count}>{failed ? t.sources.away : t.sources.waiting}</span>
        </Link>
      ))}
      {failed && (
        <p className={style.reason}>
          {reasonOf(error, t)}{" "}
          <button type="button" onClick={retry}>
            {t.shell.retry} <span className="hush">({source.label})</span>
          </button>
        </p>
      )}
    </div>
  )
}
