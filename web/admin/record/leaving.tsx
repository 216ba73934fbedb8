/** Asks before the user leaves a page with unsaved changes. In both cases the changes stay in the tab as a draft. */

import { type ReactNode, useEffect, useState } from "react"
import { guardLeaving } from "../ground/location.ts"
import { Dialog } from "../ground/parts.tsx"
import { useMessages } from "../messages/locale.tsx"

interface Question {
  readonly answer: (leave: boolean) => void
}

export const LeaveGuard = ({ dirty }: { readonly dirty: boolean }): ReactNode => {
  const t = useMessages()
  const [question, setQuestion] = useState<Question | null>(null)
  useEffect(() => {
    if (!dirty) return
    return guardLeaving(() => new Promise<boolean>((resolve) => setQuestion({ answer: resolve })))
  }, [dirty])
  if (question === null) return null
  const answer = (leave: boolean): void => {
    setQuestion(null)
    question.answer(leave)
  }
  return (
    <Dialog
      title={t.record.leaveTitle}
      text={t.record.leaveText}
      onClose={() => answer(false)}
      footer={
        <>
          <button type="button" className="btn quiet" onClick={() => answer(false)}>{t.record.stay}</button>
          <button type="button" className="btn primary" onClick={() => answer(true)}>{t.record.leave}</button>
        </>
      }
    />
  )
}
