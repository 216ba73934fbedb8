/** The frame around every page: sidebar, banners, the page of the address, palette, toasts. It knows the routes, but not the content of pages. */

import { MutationCache, QueryCache, QueryClient, QueryClientProvider } from "@tanstack/react-query"
import { lazy, type ReactNode, Suspense, useEffect, useMemo, useState } from "react"
import { I18nProvider } from "react-aria-components"
import { config } from "../config.ts"
import { type App, AppContext, personOf, useApp } from "../ground/app.ts"
import { Boundary } from "../ground/boundary.tsx"
import { useShortcut } from "../ground/keys.ts"
import { listAddress } from "../ground/last-address.ts"
import { currentPlace, go, usePlace } from "../ground/location.ts"
import { useNarrow } from "../ground/narrow.ts"
import { openOverlay, openPalette, openShortcuts, useOverlay } from "../ground/overlays.ts"
import { part } from "../ground/part.tsx"
import { Dialog, prepareFloats } from "../ground/parts.tsx"
import { Missing } from "../ground/problem.tsx"
import { enter, leave, noticeFailure, type Session } from "../ground/session.ts"
import { Toasts } from "../ground/toasts.tsx"
import { isPage, readLayout } from "../list/layout.ts"
import { useLocale } from "../messages/locale.tsx"
import { usePreferences } from "../messages/preferences.ts"
import { catalogueOf, isKeyText } from "../model/catalogue.ts"
import { SignIn } from "../sign-in/sign-in.tsx"
import { useSources } from "../sources/states.ts"
import style from "../style/frame.module.css"
import { BottomBar, Sidebar } from "./sidebar.tsx"

const { load: loadList, Part: ListPage } = part(() => import("../list/page.tsx"), ({ ListPage }) => ListPage)
const { load: loadPeek, Part: Peek } = part(() => import("../record/peek.tsx"), ({ Peek }) => Peek)
const { load: loadRecord, Part: RecordPage } = part(() => import("../record/page.tsx"), ({ RecordPage }) => RecordPage)
const { load: loadPalette, Part: Palette } = part(() => import("../palette/palette.tsx"), ({ Palette }) => Palette)
const LayoutPage = lazy(() => import("../layout/page.tsx").then(({ LayoutPage }) => ({ default: LayoutPage })))
const BoardPage = lazy(() => import("../board/page.tsx").then(({ BoardPage }) => ({ default: BoardPage })))
const PlacePage = lazy(() => import("./place-page.tsx").then(({ PlacePage }) => ({ default: PlacePage })))
const SourceNotice = lazy(() => import("./source-notice.tsx").then(({ SourceNotice }) => ({ default: SourceNotice })))

const PluginsPage = lazy(() => import("../plugin/page.tsx").then(({ PluginsPage }) => ({ default: PluginsPage })))
const Shortcuts = lazy(() => import("../palette/shortcuts.tsx").then(({ Shortcuts }) => ({ default: Shortcuts })))

const [first, ...below] = currentPlace().parts
/** Ends when the code of the page at this address is there, or cannot be loaded. It begins while the app still finds out who is signed in. */
export const ready: Promise<unknown> = first === "-"
  ? Promise.resolve()
  : (below.length === 0 ? loadList : loadRecord)().catch(() => undefined)

/** Loads code that is probably needed next, after the first page has requested its data. It then opens at once, also without a connection. */
const prepare = (): void => {
  prepareFloats()
  for (const load of [loadList, loadRecord, loadPeek, loadPalette]) load().catch(() => undefined)
}

const queries = new QueryClient({
  queryCache: new QueryCache({ onError: noticeFailure }),
  mutationCache: new MutationCache({ onError: noticeFailure }),
  defaultOptions: {
    queries: {
      staleTime: 10_000,
      // The client retries by itself.
      retry: false,
      networkMode: "always",
      refetchOnWindowFocus: (query) => query.state.error === null
    },
    mutations: { networkMode: "always" }
  }
})

/** Forgets the answers that a page that crashed was drawn from. It would crash again before it asks for them anew. */
const forgetPage = (): void => queries.removeQueries({ type: "inactive" })

/** Whether the browser reports a connection. */
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

/** Whether the service has another build than the running one: a file of this build no longer exists. */
const useNewVersion = (): boolean => {
  const [found, setFound] = useState(false)
  useEffect(() => {
    const notice = (): void => {
      if (navigator.onLine) setFound(true)
    }
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
  const { catalogue, sources } = useApp()
  const { start } = usePreferences()
  const { t } = useLocale()
  const first = catalogue.groups[0]?.entries[0]
  useEffect(() => {
    if (start !== "") go(start, { replace: true })
    else if (first !== undefined) go(listAddress(first.name), { replace: true })
  }, [first, start])
  return first === undefined && !sources.some(({ state }) => state === "loading")
    ? <Missing text={t.shell.empty} />
    : null
}

/** The page of the address. */
const Page = (): ReactNode => {
  const { catalogue, sources } = useApp()
  const { parts, query } = usePlace()
  const [name = "", key, ...more] = parts
  if (name === "") return <Home />
  if (name === "-" && key === "sign-in") return <Home />
  if (name === "-" && key === "plugins" && config.plugins !== undefined && more.length < 2) {
    return <PluginsPage part={more[0] ?? null} />
  }
  if (name === "-" && key !== undefined && more.length < 2) return <PlacePage name={key} part={more[0] ?? null} />
  const board = key === undefined ? catalogue.meta.pages.find((page) => page.name === name) : undefined
  if (board !== undefined && board.blocks !== null) return <BoardPage key={name} page={board} />
  const resource = catalogue.resources.get(name)
  const away = resource !== undefined ?
    undefined :
    sources.find(({ source, state }) => state !== "ready" && source.resources.includes(name))
  if (away !== undefined) return <SourceNotice name={name} of={away} />
  if (resource === undefined || more.length > 0) return <Missing />
  if (key === undefined && isPage(readLayout(query, resource))) {
    return <LayoutPage key={name} resource={resource} panel={Peek} />
  }
  if (key === undefined) return <ListPage key={name} resource={resource} panel={Peek} />
  if (!isKeyText(key)) return <Missing />
  return <RecordPage key={parts.join("/")} resource={resource} keyText={key === "new" ? null : key} />
}

/** Asks before drafts are lost with the session. */
const SignOut = ({ onClose }: { readonly onClose: () => void }): ReactNode => {
  const { t } = useLocale()
  return (
    <Dialog
      alert
      title={t.record.signOutTitle}
      text={t.record.signOutText}
      onClose={onClose}
      footer={
        <>
          <button type="button" className="btn quiet" autoFocus onClick={onClose}>{t.record.stay}</button>
          <button type="button" className="btn primary" onClick={() => void leave()}>{t.shell.signOut}</button>
        </>
      }
    />
  )
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
      {overlay === "sign-out" && <SignOut onClose={close} />}
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
  const [menuAsked, setMenuOpen] = useState(false)
  // In a wide window the sidebar stands beside the page.
  const menuOpen = useNarrow() && menuAsked
  useShortcut("Escape", () => setMenuOpen(false), menuOpen)
  const { meta, sourceOf, states } = useSources(session.meta, !session.ended)
  const app = useMemo((): App => ({
    catalogue: catalogueOf(meta, sourceOf),
    user: personOf(session.meta, session.user),
    isAdmin: session.meta.user.roles.includes("admin"),
    sources: states
  }), [meta, sourceOf, states, session.meta, session.user])
  useEffect(() => setMenuOpen(false), [turn])
  useEffect(() => {
    const timer = setTimeout(prepare, 500)
    return () => clearTimeout(timer)
  }, [])
  return (
    <QueryClientProvider client={queries}>
      <I18nProvider locale={format.locale}>
        <AppContext value={app}>
          <div className={style.app}>
            <a
              className={`btn ${style.skip}`}
              href="#main"
              onClick={(event) => {
                // The address is the app's state, and stays as it is.
                event.preventDefault()
                document.getElementById("main")?.focus()
              }}
            >
              {t.shell.skip}
            </a>
            <Sidebar open={menuOpen} onSearch={openPalette} />
            <main className={style.main} id="main" tabIndex={-1} inert={menuOpen}>
              <Banners />
              <Suspense
                fallback={
                  <div className="missing late" aria-busy="true">
                    <span className="spinner" />
                  </div>
                }
              >
                <Boundary at={path} heading onRetry={forgetPage}>
                  <Page />
                </Boundary>
              </Suspense>
            </main>
            <BottomBar open={menuOpen} onMore={() => setMenuOpen(!menuOpen)} />
          </div>
          <GoKeys />
          <Boundary at={path}>
            <Overlays />
            {session.ended && <SignInAgain email={app.user.email} />}
          </Boundary>
          <Toasts />
        </AppContext>
      </I18nProvider>
    </QueryClientProvider>
  )
}
