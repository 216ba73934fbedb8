/** The bar below a form: the number of changes, the problems, and the buttons to save and to discard. */

import type { ReactNode } from "react"
import { shownKeys } from "../ground/keys.ts"
import { useLocale } from "../messages/locale.tsx"
import style from "./record.module.css"

interface SaveBarProps {
  readonly text: ReactNode
  readonly problems: number
  readonly saving: boolean
  /** A file is on its way. */
  readonly waits: boolean
  readonly label: string
  readonly discardLabel: string
  readonly onSave: () => void
  readonly onDiscard: () => void
  readonly children?: ReactNode
}

export const SaveBar = (
  { children, discardLabel, label, onDiscard, onSave, problems, saving, text, waits }: SaveBarProps
): ReactNode => {
  const { format, t } = useLocale()
  return (
    <div className={style.save}>
      <span className="grow cut">
        {text}
        {waits && <span className="dim">{t.file.underWay}</span>}
        {problems > 0 && <span className={style.bad}>{t.record.fixFields(problems, format.count(problems))}</span>}
      </span>
      <button type="button" className="btn quiet" onClick={onDiscard} disabled={saving}>{discardLabel}</button>
      {children}
      <button
        type="button"
        className="btn primary"
        onClick={onSave}
        disabled={saving || waits}
        aria-keyshortcuts="Control+S"
      >
        {saving ? t.record.saving : label} <kbd>{shownKeys("mod+s").join(" ")}</kbd>
      </button>
    </div>
  )
}
