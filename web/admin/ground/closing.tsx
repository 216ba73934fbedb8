/** Asks before a dialog with changes closes, and before the app leaves its page. Nothing of it is kept. */

import { type ReactNode, useEffect, useState } from "react"
import { useMessages } from "../messages/locale.tsx"
import { guardLeaving } from "./location.ts"
import { Dialog } from "./parts.tsx"

/** What asks. `close`: for the dialog's ways out. */
export interface Closing {
  readonly close: () => void
  readonly question: ReactNode
}

/** `changed`: whether the dialog holds what would be lost. */
export const useClosing = (changed: boolean, onClose: () => void): Closing => {
  const w = useMessages().place
  const [answer, setAnswer] = useState<((close: boolean) => void) | null>(null)
  useEffect(() => {
    if (!changed) return
    return guardLeaving(() => new Promise((resolve) => setAnswer(() => resolve)))
  }, [changed])
  const give = (close: boolean): void => {
    setAnswer(null)
    answer?.(close)
  }
  return {
    close: () => {
      if (!changed) return onClose()
      setAnswer(() => (close: boolean): void => {
        if (close) onClose()
      })
    },
    question: answer === null ? null : (
      <Dialog
        alert
        title={w.closeTitle}
        text={w.closeText}
        onClose={() => give(false)}
        footer={
          <>
            <button type="button" className="btn quiet" autoFocus onClick={() => give(false)}>{w.goOn}</button>
            <button type="button" className="btn danger primary" onClick={() => give(true)}>{w.discard}</button>
          </>
        }
      />
    )
  }
}
