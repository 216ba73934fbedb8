/** What was asked for when the session had ended goes on once the user has signed in again. */

import { useEffect, useEffectEvent, useRef } from "react"
import { useSession } from "./session.ts"

/** Gives a function that has `work` run after the next sign-in in this page. */
export const useAgain = (work: () => void): () => void => {
  const session = useSession()
  const ended = session.state === "in" && session.ended
  const asked = useRef(false)
  const latest = useEffectEvent(work)
  useEffect(() => {
    if (ended || !asked.current) return
    asked.current = false
    latest()
  }, [ended])
  return () => {
    asked.current = true
  }
}
