/** The sidebar: search, the groups of resources with recent records, and the person's menu. On phones it is a sheet behind the bottom bar. */

import { useQuery } from "@tanstack/react-query"
import { ChevronsUpDown, Menu as MenuIcon, Search } from "lucide-react"
import { lazy, type ReactNode, Suspense, useEffect, useRef, useState } from "react"
import { config } from "../config.ts"
import { useApp } from "../ground/app.ts"
import { Boundary } from "../ground/boundary.tsx"
import { useFirstPage } from "../ground/first-page.ts"
import { Icon } from "../ground/icons.tsx"
import { shownKeys } from "../ground/keys.ts"
import { listAddress } from "../ground/last-address.ts"
import { Link } from "../ground/link.tsx"
import { go, usePlace, withinApp } from "../ground/location.ts"
import { Menu, type MenuEntry } from "../ground/parts.tsx"
import { signOut } from "../ground/session.ts"
import { type Size, sizeOf } from "../ground/sizes.ts"
import { languageChoices, setLanguage, useLocale } from "../messages/locale.tsx"
import { type Preferences, setPreferences, usePreferences } from "../messages/preferences.ts"
import { addressOf, isHistory, keyOf, recentNeeds, type Resource, titlesOf } from "../model/catalogue.ts"
import { resourceClient } from "../model/client.ts"
import { short } from "../model/plain.ts"
import style from "../style/frame.module.css"
import { Group } from "./group.tsx"

const PlaceEntries = lazy(() => import("./place-entries.tsx").then(({ PlaceEntries }) => ({ default: PlaceEntries })))
const PluginEntries = lazy(() =>
  import("../plugin/entries.tsx").then(({ PluginEntries }) => ({ default: PluginEntries }))
)
const AwayGroup = lazy(() => import("./source-group.tsx").then(({ AwayGroup }) => ({ default: AwayGroup })))

const Recents = ({ resource }: { readonly resource: Resource }): ReactNode => {
  const { path } = usePlace()
  const recent = resource.view.nav?.recent ?? null
  const hasFirstPage = useFirstPage()
  const { data } = useQuery({
    queryKey: ["recent", resource.name],
    enabled: hasFirstPage && recent !== null && resource.may.read,
    staleTime: 60_000,
    queryFn: ({ signal }) =>
      resourceClient(resource.name).list({
        order_by: recent!.sort,
        page_size: recent!.limit,
        ...recentNeeds(resource)
      }, { signal })
  })
  return data?.items.map((record) => {
    const key = keyOf(resource, record)
    if (key === null) return null
    const address = addressOf(resource, key)
    return (
      <Link key={key} to={address} className={style.sub} aria-current={path === address ? "page" : undefined}>
        {titlesOf(resource, record).map((text, at) => <bdi key={at}>{at === 0 ? text : ` ${text}`}</bdi>)}
      </Link>
    )
  })
}

/** The number of records. It is asked for once its place comes into sight: a long sidebar shows few of its entries. */
const Count = ({ resource }: { readonly resource: Resource }): ReactNode => {
  const { format } = useLocale()
  const hasFirstPage = useFirstPage()
  const place = useRef<HTMLSpanElement>(null)
  const [seen, setSeen] = useState(false)
  useEffect(() => {
    const element = place.current
    if (element === null) return
    const observer = new IntersectionObserver((entries) => {
      if (!entries.some(({ isIntersecting }) => isIntersecting)) return
      setSeen(true)
      observer.disconnect()
    })
    observer.observe(element)
    return () => observer.disconnect()
  }, [])
  const { data } = useQuery({
    queryKey: ["size", resource.name],
    enabled: hasFirstPage && seen && resource.may.read,
    staleTime: 300_000,
    retry: false,
    queryFn: ({ signal }): Promise<Size | null> =>
      resource.source === null
        ? sizeOf(resource.name)
        // A source may be of an earlier version.
        : resourceClient(resource.name).list({ page_size: 1, fields: resource.model.primaryKey.slice(0, 1) }, {
          signal
        })
  })
  const more = data?.total_size_accuracy === "counting" ? "+" : ""
  return (
    <span ref={place} className={style.count} aria-hidden="true">
      {data != null && `${format.short(data.total_size_estimate)}${more}`}
    </span>
  )
}

const Entry = ({ resource }: { readonly resource: Resource }): ReactNode => {
  const { parts } = usePlace()
  const current = parts[0] === resource.name
  return (
    <>
      <Link
        to={listAddress(resource.name)}
        className={style.nav}
        aria-current={current ? (parts.length === 1 ? "page" : "true") : undefined}
      >
        <Icon name={resource.view.nav?.icon ?? (isHistory(resource) ? "history" : null)} />
        <span className="cut">{resource.view.label.plural}</span>
        <Count resource={resource} />
      </Link>
      <Recents resource={resource} />
    </>
  )
}

/** Characters of the person's name that are drawn. What does not fit is measured, too. */
const mostNamed = 80

const initials = (name: string): string =>
  name.split(/[\s@.]+/).filter((word) => word !== "").slice(0, 2).map((word) => word[0]!.toUpperCase()).join("")

const Person = (): ReactNode => {
  const { catalogue, user } = useApp()
  const { t } = useLocale()
  const preferences = usePreferences()
  const choices = <K extends "theme" | "density">(
    name: K,
    labels: Readonly<Record<Preferences[K], string>>
  ): readonly MenuEntry[] =>
    (Object.keys(labels) as Preferences[K][]).map((value) => ({
      label: labels[value],
      chosen: preferences[name] === value,
      onAction: () => setPreferences({ [name]: value })
    }))
  const name = short(user.name, mostNamed)
  const own = catalogue.meta.userMenu.map(({ href, label }): MenuEntry => {
    const inside = withinApp(href)
    return inside === null ? { label, href } : { label, onAction: () => go(inside) }
  })
  const reference = `${config.api}/docs`
  const entries: readonly MenuEntry[] = [
    ...own,
    ...(own.length > 0 ? ["line" as const] : []),
    { section: t.shell.theme, entries: choices("theme", t.shell.themes) },
    { section: t.shell.density, entries: choices("density", t.shell.densities) },
    {
      section: t.shell.language,
      entries: [
        {
          label: t.shell.languageAuto,
          chosen: preferences.language === "auto",
          onAction: () => setLanguage("auto")
        },
        ...languageChoices.map(({ language, name }) => ({
          label: name,
          lang: language,
          chosen: preferences.language === language,
          onAction: () => setLanguage(language)
        }))
      ]
    },
    "line",
    ...(config.signIn === "password" ? [{ label: t.shell.account, onAction: () => go("/-/account") }] : []),
    { label: t.guide.title, onAction: () => go("/-/guides") },
    ...(catalogue.meta.userMenu.some(({ href }) => href === reference)
      ? []
      : [{ label: t.shell.reference, href: reference }]),
    { label: t.shell.signOut, onAction: signOut }
  ]
  return (
    <Menu label={t.shell.user} placement="top start" className={style.me} entries={entries}>
      <span className="hush">{t.shell.user}</span>
      <span className="avatar" aria-hidden="true">{initials(name)}</span>
      <span className="grow cut">
        <b className="cut">{name}</b>
        <small className="cut">{short(user.roles.join(", "), mostNamed)}</small>
      </span>
      <ChevronsUpDown className="icon" aria-hidden="true" />
    </Menu>
  )
}

export const Sidebar = ({ onSearch, open }: { readonly open: boolean; readonly onSearch: () => void }): ReactNode => {
  const { catalogue, sources } = useApp()
  const { parts } = usePlace()
  const { t } = useLocale()
  return (
    <nav className={style.side} aria-label={t.shell.navigation} data-open={open ? "" : undefined}>
      <div className={style.brand}>
        <span className="mark" aria-hidden="true">{config.name.slice(0, 1)}</span>
        <span className="cut">{config.name}</span>
      </div>
      <button type="button" className={style.find} onClick={onSearch} aria-keyshortcuts="Control+K">
        <Search className="icon" aria-hidden="true" />
        <span className="grow cut">{t.shell.search}</span>
        <kbd>{shownKeys("mod+k").join(" ")}</kbd>
      </button>
      <div className={style.scroll}>
        {catalogue.meta.pages.length > 0 && (
          <div role="group" className={style.group}>
            {catalogue.meta.pages.map((page) => <PageEntry key={page.name} href={page.href} label={page.label} />)}
          </div>
        )}
        {catalogue.groups.map(({ entries, history = false, label, source }) => {
          const id = source?.url ?? (history ? "-history" : label ?? "")
          return (
            <Group
              key={id}
              id={id}
              label={history ? t.record.history : label}
              {...(history ? { icon: <Icon name="history" /> } : {})}
              entries={entries}
              isCurrent={({ name }) => name === parts[0]}
            >
              {(resource) =>
                source === null
                  ? <Entry key={resource.name} resource={resource} />
                  // A wrong answer of a source breaks only its own entry.
                  : (
                    <Boundary key={resource.name} at="" fallback={null}>
                      <Entry resource={resource} />
                    </Boundary>
                  )}
            </Group>
          )
        })}
        {sources.map((of) =>
          of.state === "ready" ? null : (
            <Suspense key={of.source.url} fallback={null}>
              <AwayGroup of={of} />
            </Suspense>
          )
        )}
        {config.plugins !== undefined && (
          <Suspense>
            <PluginEntries />
          </Suspense>
        )}
        <Suspense>
          <PlaceEntries />
        </Suspense>
      </div>
      <Person />
    </nav>
  )
}

const PageEntry = ({ href, label }: { readonly href: string; readonly label: string }): ReactNode => {
  const { path } = usePlace()
  const inside = withinApp(href)
  return inside === null
    ? (
      <a className={style.nav} href={href} target="_blank" rel="noreferrer">
        <Icon name="file" />
        <span className="cut">{label}</span>
      </a>
    )
    : (
      <Link to={inside} className={style.nav} aria-current={path === inside ? "page" : undefined}>
        <Icon name="file" />
        <span className="cut">{label}</span>
      </Link>
    )
}

/** The bottom bar on phones: the first lists, and More for the rest. */
export const BottomBar = ({ onMore, open }: { readonly open: boolean; readonly onMore: () => void }): ReactNode => {
  const { catalogue } = useApp()
  const { parts } = usePlace()
  const { t } = useLocale()
  const total = catalogue.groups.reduce((sum, { entries }) => sum + entries.length, 0)
  return (
    <nav className={style.bottom} aria-label={t.shell.goTo}>
      {catalogue.bottom.map((resource) => (
        <Link
          key={resource.name}
          to={listAddress(resource.name)}
          className={style.tab}
          aria-current={!open && parts[0] === resource.name ? "page" : undefined}
        >
          <Icon name={resource.view.nav?.icon ?? null} />
          <span>{resource.view.label.plural}</span>
        </Link>
      ))}
      {(total > catalogue.bottom.length || total <= 4) && (
        <button type="button" className={style.tab} aria-expanded={open} onClick={onMore}>
          <MenuIcon className="icon" aria-hidden="true" />
          <span>{t.shell.more}</span>
        </button>
      )}
    </nav>
  )
}
