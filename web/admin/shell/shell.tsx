/** The frame around every page: sidebar, banners, the page of the address, palette, toasts. It knows where pages are, and nothing of what is on them. */

import { MutationCache, QueryCache, QueryClient, QueryClientProvider } from "@tanstack/react-query"
import { lazy, type ReactNode, Suspense, useEffect, useMemo, useState } from "react"
import { I18nProvider } from "react-aria-components"
import { useLocale } from "../messages/locale.tsx"
import { SignIn } from "../sign-in/sign-in.tsx"
import { type App, AppContext, personOf, useApp } from "./app.ts"
import { Boundary } from "./boundary.tsx"
import { catalogueOf } from "./catalogue.ts"
import { useShortcut } from "./keys.ts"
import { go, usePlace } from "./location.ts"
import { openOverlay, openPalette, openShortcuts, useOverlay } from "./overlays.ts"
import { Dialog } from "./parts.tsx"
import { usePreferences } from "./preferences.ts"
import { Missing } from "./problem.tsx"
import { enter, noticeFailure, type Session } from "./session.ts"
import style from "./shell.module.css"
import { BottomBar, listAddress, Sidebar } from "./sidebar.tsx"
import { Toasts } from "./toasts.tsx"

const ListPage = lazy(() => import("../list/page.tsx").then(({ ListPage }) => ({ default: ListPage })))
const RecordPage = lazy(() => import("../record/page.tsx").then(({ RecordPage }) => ({ default: RecordPage })))

const Palette = lazy(() => import("../palette/palette.tsx").then(({ Palette }) => ({ default: Palette })))
const Shortcuts = lazy(() => import("../palette/shortcuts.tsx").then(({ Shortcuts }) => ({ default: Shortcuts })))

const queries = new QueryClient({
  queryCache: new QueryCache({ onError: noticeFailure }),
  mutationCache: new MutationCache({ onError: noticeFailure }),
  defaultOptions: {
    queries: {
      staleTime: 10_000,
      // The client has tried again already what may be tried again.
      retry: false,
      networkMode: "always",
      refetchOnWindowFocus: (query) => query.state.error === null
    },
    mutations: { networkMode: "always" }
  }
})

/** Whether the browser believes that it is connected. */
const useOnline = (): boolean => {
  const [online, setOnline] = useState(navigator.onLine)
  useEffect(() => {
    const change = (): void => setOnline(navigator.onLine)
    addEventListener("online", change)
    addEventListener("offline", change)
    return () => {
      removeEventListener("online", change)
      removeEventListener("offline", change)
    }
  }, [])
  return online
}

/** Whether the service now serves another build than the one that runs: a file of this one is gone. */
const useNewVersion = (): boolean => {
  const [found, setFound] = useState(false)
  useEffect(() => {
    const notice = (): void => setFound(true)
    addEventListener("vite:preloadError", notice)
    return () => removeEventListener("vite:preloadError", notice)
  }, [])
  return found
}

const Banners = (): ReactNode => {
  const { t } = useLocale()
  const online = useOnline()
  const newer = useNewVersion()
  return (
    <>
      {!online && <div className={style.banner} role="status">{t.shell.offline}</div>}
      {newer && (
        <div className={style.banner} data-tone="info" role="status">
          {t.shell.newVersion}
          <button type="button" onClick={() => location.reload()}>{t.shell.reload}</button>
        </div>
      )}
    </>
  )
}

const Home = (): ReactNode => {
  const { catalogue } = useApp()
  const { start } = usePreferences()
  const { t } = useLocale()
  const first = catalogue.groups[0]?.entries[0]
  useEffect(() => {
    if (start !== "") go(start, { replace: true })
    else if (first !== undefined) go(listAddress(first.name), { replace: true })
  }, [first, start])
  return first === undefined ? <Missing text={t.shell.empty} /> : null
}

/** The page of the address. */
const Page = (): ReactNode => {
  const { catalogue } = useApp()
  const { parts } = usePlace()
  const [name = "", key, ...more] = parts
  if (name === "") return <Home />
  if (name === "-" && key === "sign-in") return <Home />
  const resource = catalogue.resources.get(name)
  if (resource === undefined || more.length > 0) return <Missing />
  if (key === undefined) return <ListPage key={name} resource={resource} />
  return <RecordPage key={parts.join("/")} resource={resource} keyText={key === "new" ? null : key} />
}

const Overlays = (): ReactNode => {
  const overlay = useOverlay()
  useShortcut("mod+k", () => openOverlay(overlay === "palette" ? null : "palette"))
  useShortcut("?", openShortcuts)
  const close = (): void => openOverlay(null)
  return (
    <Suspense fallback={null}>
      {overlay === "palette" && <Palette onClose={close} />}
      {overlay === "shortcuts" && <Shortcuts onClose={close} />}
    </Suspense>
  )
}

const GoKeys = (): ReactNode => {
  const { catalogue } = useApp()
  return [...catalogue.letters].map(([letter, resource]) => <GoKey key={letter} letter={letter} to={resource.name} />)
}

const GoKey = ({ letter, to }: { readonly letter: string; readonly to: string }): ReactNode => {
  useShortcut(`g ${letter}`, () => go(listAddress(to)))
  return null
}

const SignInAgain = ({ email }: { readonly email: string }): ReactNode => {
  const { t } = useLocale()
  return (
    <Dialog title={t.signIn.again} text={t.signIn.ended} dismissable={false} onClose={() => {}}>
      <SignIn
        email={email}
        onDone={async () => {
          await enter(true)
          await queries.invalidateQueries({ predicate: ({ state }) => state.error !== null })
        }}
      />
    </Dialog>
  )
}

export const Shell = ({ session }: { readonly session: Extract<Session, { state: "in" }> }): ReactNode => {
  const { format, t } = useLocale()
  const { path, turn } = usePlace()
  const [menuOpen, setMenuOpen] = useState(false)
  const app = useMemo((): App => ({
    catalogue: catalogueOf(session.meta),
    user: personOf(session.meta, session.user),
    isAdmin: session.meta.user.roles.includes("admin")
  }), [session.meta, session.user])
  useEffect(() => setMenuOpen(false), [turn])
  return (
    <QueryClientProvider client={queries}>
      <I18nProvider locale={format.locale}>
        <AppContext value={app}>
          <div className={style.app}>
            <a className={`btn ${style.skip}`} href="#main">{t.shell.skip}</a>
            <Sidebar open={menuOpen} onSearch={openPalette} />
            <main className={style.main} id="main" tabIndex={-1}>
              <Banners />
              <Suspense
                fallback={
                  <div className="missing late" aria-busy="true">
                    <span className="spinner" />
                  </div>
                }
              >
                <Boundary at={path}>
                  <Page />
                </Boundary>
              </Suspense>
            </main>
            <BottomBar open={menuOpen} onMore={() => setMenuOpen(!menuOpen)} />
          </div>
          <GoKeys />
          <Overlays />
          <Toasts />
          {session.ended && <SignInAgain email={app.user.email} />}
        </AppContext>
      </I18nProvider>
    </QueryClientProvider>
  )
}
