/** Work of a dialog or page that the service takes part in. It ends with what has begun it. */

import { useEffect, useRef } from "react"
import { noticeFailure } from "./session.ts"

/**
 * `run` does a piece of work, whose failure goes to `failed`. `end` breaks the last one off, as does leaving the dialog: what was broken off
 * has not failed.
 */
export const useRun = (failed: (error: unknown) => void) => {
  const ending = useRef(new AbortController())
  const end = (): void => ending.current.abort()
  useEffect(() => end, [])
  const run = async (work: (signal: AbortSignal) => Promise<void>): Promise<void> => {
    const { signal } = ending.current = new AbortController()
    try {
      await work(signal)
    } catch (error) {
      if (signal.aborted) return
      noticeFailure(error)
      failed(error)
    }
  }
  return { run, end }
}
