/**
 * The palette: matching records of every resource, actions of the page, saved views, and pages. It searches with few requests at once, and is usable by
 * keyboard alone (WAI-ARIA combobox with a list).
 */

import { keepPreviousData, useQueries } from "@tanstack/react-query"
import { ListFilter, Plus, Settings2, Zap } from "lucide-react"
import { type KeyboardEvent, type ReactNode, useDeferredValue, useEffect, useId, useRef, useState } from "react"
import { Dialog, Modal, ModalOverlay } from "react-aria-components"
import { config } from "../config.ts"
import { detailFields, detailOf } from "../field/titles.ts"
import { useReader } from "../field/value.tsx"
import { useApp } from "../ground/app.ts"
import { Icon } from "../ground/icons.tsx"
import { shownKeys } from "../ground/keys.ts"
import { listAddress } from "../ground/last-address.ts"
import { go, usePlace, withinApp } from "../ground/location.ts"
import { useOffers } from "../ground/offers.ts"
import { openShortcuts } from "../ground/overlays.ts"
import { leave } from "../ground/session.ts"
import { languageChoices, setLanguage, useLocale } from "../messages/locale.tsx"
import { setPreferences } from "../messages/preferences.ts"
import { aboutOf, addressOf, isHistory, keyOf, type Resource, titleNeeds, titleOf } from "../model/catalogue.ts"
import { type AnyRecord, resourceClient } from "../model/client.ts"
import { textOfSimple } from "../model/conditions.ts"
import { isolated, short } from "../model/plain.ts"
import { usePlaces } from "../place/places.ts"
import style from "./palette.module.css"

interface Entry {
  readonly id: string
  readonly group: string
  readonly icon: ReactNode
  readonly label: string
  readonly more?: string
  readonly keys?: readonly string[]
  readonly run: () => void
}

/** The most records of each resource, and the most resources to search. */
const mostOfOne = 4
const mostResources = 12

const matches = (text: string, ...words: readonly string[]): boolean => {
  const wanted = text.toLowerCase().split(/\s+/).filter((word) => word !== "")
  const all = words.join(" ").toLowerCase()
  return wanted.every((word) => all.includes(word))
}

/** The filter for a text: a search, or the key if the text can be one. Null if neither is possible. */
const filterFor = (resource: Resource, text: string): string | null => {
  const [key, ...more] = resource.model.primaryKey
  const field = key === undefined ? undefined : resource.fields.get(key)
  const number = text.replace(/^#/, "").replaceAll(/\s/g, "")
  if (more.length === 0 && field?.kind === "integer" && field.filterable && /^\d{1,18}$/.test(number)) {
    return textOfSimple({ field: field.name, is: "is", values: [number] }, resource)
  }
  return resource.model.fields.some(({ searched }) => searched)
    ? textOfSimple({ field: "", is: "search", values: [text] }, resource)
    : null
}

export const Palette = ({ onClose }: { readonly onClose: () => void }): ReactNode => {
  const { t } = useLocale()
  const reader = useReader()
  const { catalogue } = useApp()
  const { parts } = usePlace()
  const [text, setText] = useState("")
  const [at, setAt] = useState(0)
  const id = useId()
  const list = useRef<HTMLDivElement>(null)
  const asked = useDeferredValue(text.trim())
  const current = catalogue.resources.get(parts[0] ?? "")
  const readable = [...catalogue.resources.values()].filter(({ may, view }) => may.read && view.nav !== null)

  const searches = (asked.length < 2 && !/^\d+$/.test(asked) ? [] : readable).flatMap((resource) => {
    const filter = filterFor(resource, asked)
    return filter === null ? [] : [{ resource, filter }]
  }).slice(0, mostResources)

  const found = useQueries({
    queries: searches.map(({ filter, resource }) => ({
      queryKey: ["palette", resource.name, filter],
      staleTime: 30_000,
      placeholderData: keepPreviousData,
      queryFn: ({ signal }: { readonly signal: AbortSignal }) =>
        resourceClient(resource.name).list({
          filter,
          page_size: mostOfOne,
          ...titleNeeds(resource),
          fields: [...new Set([...titleNeeds(resource).fields, ...detailFields(resource).map(({ name }) => name)])]
        }, { signal })
    }))
  })

  const recordEntry = (resource: Resource, record: AnyRecord): readonly Entry[] => {
    const key = keyOf(resource, record)
    if (key === null) return []
    const detail = detailOf(resource, record, reader)
    return [{
      id: `${resource.name}/${key}`,
      group: t.palette.records,
      icon: <Icon name={resource.view.nav?.icon ?? null} />,
      label: titleOf(resource, record),
      more: [resource.view.label.singular, ...(detail === "" ? [] : [detail])].join(" · "),
      run: () => go(addressOf(resource, key))
    }]
  }

  const letterOf = new Map([...catalogue.letters].map(([letter, resource]) => [resource, letter]))
  const filters: readonly Entry[] = (current === undefined || asked === "" ? [] : [current]).flatMap((resource) => {
    const search = textOfSimple({ field: "", is: "search", values: [asked] }, resource)
    return search === null || !resource.model.fields.some(({ searched }) => searched) ? [] : [{
      id: "filter",
      group: t.palette.actions,
      icon: <ListFilter className="icon" aria-hidden="true" />,
      label: t.palette.filterBy(resource.view.label.plural, isolated(short(asked, 100))),
      run: () => go(`/${resource.name}?filter=${encodeURIComponent(search.toWellFormed())}`)
    }]
  })
  const creates: readonly Entry[] = [...catalogue.resources.values()].filter(({ may }) => may.create).map((
    resource
  ) => ({
    id: `new ${resource.name}`,
    group: t.palette.actions,
    icon: <Plus className="icon" aria-hidden="true" />,
    label: t.list.newOne(resource.view.label.singular),
    ...(resource === current ? { keys: ["N"] } : {}),
    run: () => go(`/${resource.name}/new`)
  }))
  // What can be done with the record or the selection behind the palette.
  const offers = useOffers().map(({ label, onAction }, index): Entry => ({
    id: `offer ${index}`,
    group: t.palette.actions,
    icon: <Zap className="icon" aria-hidden="true" />,
    label,
    run: onAction
  }))
  const own = usePlaces()
  const places: readonly Entry[] = [
    ...catalogue.meta.pages.map(({ href, label, name }): Entry => {
      const inside = withinApp(href)
      return {
        id: `page ${name}`,
        group: t.palette.goTo,
        icon: <Icon name="file" />,
        label,
        run: () => inside === null ? void window.open(href, "_blank", "noreferrer") : go(inside)
      }
    }),
    ...catalogue.groups.flatMap(({ entries }) => entries).map((resource): Entry => {
      const about = aboutOf(resource)
      return {
        id: `go ${resource.name}`,
        group: t.palette.goTo,
        icon: <Icon name={resource.view.nav?.icon ?? (isHistory(resource) ? "history" : null)} />,
        label: resource.view.label.plural,
        ...(about === null ? {} : { more: short(about, 200) }),
        ...(letterOf.has(resource) ? { keys: ["G", letterOf.get(resource)!.toUpperCase()] } : {}),
        run: () => go(listAddress(resource.name))
      }
    }),
    ...own.map(({ icon: Place, label, name, outside, to }): Entry => ({
      id: `place ${name}`,
      group: t.palette.goTo,
      icon: <Place className="icon" aria-hidden="true" />,
      label,
      run: () => outside ? void window.open(to, "_blank", "noreferrer") : go(to)
    })),
    ...[...catalogue.resources.values()].flatMap((resource) =>
      resource.view.filters.map((view): Entry => ({
        id: `view ${resource.name} ${view.name}`,
        group: t.palette.views,
        icon: <ListFilter className="icon" aria-hidden="true" />,
        label: view.name,
        more: resource.view.label.plural,
        run: () => go(`/${resource.name}?filter=${encodeURIComponent(view.filter.toWellFormed())}`)
      }))
    )
  ]
  const settings = <Settings2 className="icon" aria-hidden="true" />
  const actions: readonly Entry[] = [
    ...(["system", "light", "dark"] as const).map((theme): Entry => ({
      id: `theme ${theme}`,
      group: t.palette.actions,
      icon: settings,
      label: `${t.shell.theme}: ${t.shell.themes[theme]}`,
      run: () => setPreferences({ theme })
    })),
    ...(["normal", "comfortable", "compact"] as const).map((density): Entry => ({
      id: `density ${density}`,
      group: t.palette.actions,
      icon: settings,
      label: `${t.shell.density}: ${t.shell.densities[density]}`,
      run: () => setPreferences({ density })
    })),
    ...languageChoices.map(({ language, name }): Entry => ({
      id: `language ${language}`,
      group: t.palette.actions,
      icon: settings,
      label: `${t.shell.language}: ${name}`,
      run: () => setLanguage(language)
    })),
    { id: "keys", group: t.palette.actions, icon: settings, label: t.shell.shortcuts, keys: ["?"], run: openShortcuts },
    {
      id: "reference",
      group: t.palette.actions,
      icon: settings,
      label: t.shell.reference,
      run: () => void window.open(`${config.api}/docs`, "_blank", "noreferrer")
    },
    { id: "leave", group: t.palette.actions, icon: settings, label: t.shell.signOut, run: () => void leave() }
  ]

  const records = found.flatMap(({ data }, index) =>
    data?.items.flatMap((record) => recordEntry(searches[index]!.resource, record)) ?? []
  )
  const entries: readonly Entry[] = asked === ""
    ? [...places.filter(({ group }) => group === t.palette.goTo), ...offers, ...creates.slice(0, 6)]
    : [
      ...records.slice(0, 12),
      ...filters,
      ...offers.filter(({ label }) => matches(asked, label)),
      ...creates.filter(({ label }) => matches(asked, label)),
      ...places.filter(({ label, more = "" }) => matches(asked, label, more)),
      ...actions.filter(({ label }) => matches(asked, label))
    ]
  const chosen = entries[Math.min(at, entries.length - 1)]
  const busy = found.some(({ isFetching }) => isFetching)

  useEffect(() => setAt(0), [asked])
  useEffect(() => {
    list.current?.querySelector("[aria-selected=true]")?.scrollIntoView({ block: "nearest" })
  }, [chosen?.id])

  const run = (entry: Entry): void => {
    onClose()
    entry.run()
  }
  const onKeyDown = (event: KeyboardEvent): void => {
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0
    if (step !== 0) {
      event.preventDefault()
      setAt((Math.min(at, entries.length - 1) + step + entries.length) % Math.max(1, entries.length))
    } else if (event.key === "Enter" && !event.nativeEvent.isComposing && chosen !== undefined) {
      event.preventDefault()
      run(chosen)
    }
  }

  return (
    <ModalOverlay className="scrim" isOpen isDismissable onOpenChange={(open) => !open && onClose()}>
      <Modal className={`float ${style.palette}`}>
        <Dialog aria-label={t.shell.search} className={style.palette ?? ""}>
          <input
            autoFocus
            className={style.input}
            role="combobox"
            aria-expanded="true"
            aria-controls={`${id}-list`}
            aria-activedescendant={chosen === undefined ? undefined : `${id}-${entries.indexOf(chosen)}`}
            aria-label={t.palette.placeholder}
            placeholder={t.palette.placeholder}
            autoComplete="off"
            spellCheck={false}
            value={text}
            onChange={({ target }) => setText(target.value)}
            onKeyDown={onKeyDown}
          />
          <div ref={list} id={`${id}-list`} role="listbox" aria-label={t.palette.placeholder} className={style.list}>
            {entries.map((entry, index) => (
              <div key={entry.id} role="presentation">
                {entry.group !== entries[index - 1]?.group && <h3 role="presentation">{entry.group}</h3>}
                <div
                  id={`${id}-${index}`}
                  role="option"
                  tabIndex={-1}
                  aria-selected={entry === chosen}
                  className={style.item}
                  onMouseMove={() => setAt(index)}
                  onClick={() => run(entry)}
                  onKeyDown={() => {}}
                >
                  {entry.icon}
                  <bdi className="cut">{entry.label}</bdi>
                  {entry.more !== undefined && <bdi className="dim cut">{entry.more}</bdi>}
                  <span className={style.keys} aria-hidden="true">
                    {(entry === chosen ? shownKeys("Enter") : entry.keys ?? []).map((key) => <kbd key={key}>{key}
                    </kbd>)}
                  </span>
                </div>
              </div>
            ))}
          </div>
          {entries.length === 0 && (
            <p className={style.none} role="status">{busy ? t.palette.searching : t.palette.nothing}</p>
          )}
        </Dialog>
      </Modal>
    </ModalOverlay>
  )
}
