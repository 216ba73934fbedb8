/** Decides what to show: the sign-in page, the page for a new password, the app, or an error. The app is loaded during the sign-in. */

import { lazy, type ReactNode, Suspense, useEffect } from "react"
import { config } from "../config.ts"
import { enter, isReset, useSession } from "../ground/session.ts"
import { useEntryLocale, useLoadedLocale } from "../messages/locale.tsx"
import style from "../sign-in/sign-in.module.css"
import { SignIn } from "../sign-in/sign-in.tsx"
import { Frame } from "./begin.ts"

const Reset = lazy(() => import("../sign-in/reset.tsx").then(({ Reset }) => ({ default: Reset })))

const Waiting = (): ReactNode => {
  const t = useEntryLocale().t
  return (
    <main className={style.center} aria-busy="true">
      <span className="late" role="status">
        <span className="spinner" aria-hidden="true" /> <span className="hush">{t.shell.loading}</span>
      </span>
    </main>
  )
}

const Entrance = (): ReactNode => {
  const session = useSession()
  const texts = useLoadedLocale()
  const t = useEntryLocale().t
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
      // The texts may still be loaded if another language was chosen meanwhile.
      return Frame === undefined || texts === null ? <Waiting /> : <Frame session={session} />
  }
}

export const Gate = (): ReactNode => {
  useEffect(() => {
    document.title = config.name
  }, [])
  if (!isReset) return <Entrance />
  return (
    <Suspense fallback={<Waiting />}>
      <Reset />
    </Suspense>
  )
}
