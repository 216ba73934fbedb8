/** Decides what a visitor gets: the sign-in page, the app, or why neither can be. The app itself is loaded while somebody signs in. */

import { lazy, type ReactNode, Suspense, useEffect } from "react"
import { config } from "../config.ts"
import { useMessages } from "../messages/locale.tsx"
import { enter, useSession } from "../shell/session.ts"
import style from "./sign-in.module.css"
import { SignIn } from "./sign-in.tsx"

const loadShell = () => import("../shell/shell.tsx").then(({ Shell }) => ({ default: Shell }))
const Shell = lazy(loadShell)

const Waiting = (): ReactNode => {
  const t = useMessages()
  return (
    <main className={style.center} aria-busy="true">
      <span className="late" role="status">
        <span className="spinner" aria-hidden="true" /> <span className="hush">{t.shell.loading}</span>
      </span>
    </main>
  )
}

export const Gate = (): ReactNode => {
  const session = useSession()
  const t = useMessages()
  useEffect(() => {
    void enter()
    // What comes next is known: it is fetched while the first question is answered.
    void loadShell()
  }, [])
  useEffect(() => {
    document.title = config.name
  }, [])
  switch (session.state) {
    case "checking":
      return <Waiting />
    case "out":
      return (
        <main className={style.center}>
          <div className={style.card}>
            <SignIn onDone={() => enter(true)} />
          </div>
        </main>
      )
    case "failed":
      return (
        <main className={style.center}>
          <div className={style.card} role="alert">
            <h1>{t.problem.offline}</h1>
            <p className="dim">{t.signIn.failed}</p>
            <button type="button" className={`btn ${style.wide}`} onClick={() => void enter()}>{t.shell.retry}</button>
          </div>
        </main>
      )
    case "in":
      return (
        <Suspense fallback={<Waiting />}>
          <Shell session={session} />
        </Suspense>
      )
  }
}
