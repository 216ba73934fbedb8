/** The entries of the palette: records that match, filters, actions of the page and of the app, saved views, and pages. */

import { useQueries } from "@tanstack/react-query"
import { ListFilter, Plus, Settings2, Zap } from "lucide-react"
import { type ReactNode, useEffect, useRef } from "react"
import { config } from "../config.ts"
import { detailFields, detailOf } from "../field/titles.ts"
import { useReader } from "../field/value.tsx"
import { useApp } from "../ground/app.ts"
import { Icon } from "../ground/icons.tsx"
import { listAddress } from "../ground/last-address.ts"
import { go, usePlace, withinApp } from "../ground/location.ts"
import { useOffers } from "../ground/offers.ts"
import { openShortcuts } from "../ground/overlays.ts"
import { signOut } from "../ground/session.ts"
import { languageChoices, setLanguage, useMessages } from "../messages/locale.tsx"
import { setPreferences } from "../messages/preferences.ts"
import { aboutOf, addressOf, isHistory, keyOf, type Resource, titleNeeds, titleOf } from "../model/catalogue.ts"
import { type AnyPage, type AnyRecord, resourceClient } from "../model/client.ts"
import { textOfSimple } from "../model/conditions.ts"
import { isolated, short } from "../model/plain.ts"
import { usePlaces } from "../place/places.ts"

export interface Entry {
  readonly id: string
  readonly group: string
  readonly icon: ReactNode
  readonly label: string
  readonly more?: string
  readonly keys?: readonly string[]
  /** A record: whether an answer to the text has it. Until that answer comes, records of an earlier text stay. */
  readonly found?: boolean
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

/** Records that match the text, of several resources at once. */
const useRecords = (asked: string): { readonly records: readonly Entry[]; readonly searching: boolean } => {
  const t = useMessages()
  const reader = useReader()
  const { catalogue } = useApp()
  const readable = [...catalogue.resources.values()].filter(({ may, model, view }) =>
    may.read && view.nav !== null && model.arguments === undefined
  )

  const searches = (asked.length < 2 && !/^\d+$/.test(asked) ? [] : readable).flatMap((resource) => {
    const filter = filterFor(resource, asked)
    return filter === null ? [] : [{ resource, filter }]
  }).slice(0, mostResources)

  /** The last records of each resource. Without them, the list would be empty for a moment after each letter. */
  const earlier = useRef(new Map<string, AnyPage>())
  const answers = useQueries({
    queries: searches.map(({ filter, resource }) => ({
      queryKey: ["palette", resource.name, filter],
      staleTime: 30_000,
      placeholderData: () => earlier.current.get(resource.name),
      queryFn: ({ signal }: { readonly signal: AbortSignal }) =>
        resourceClient(resource.name).list({
          filter,
          page_size: mostOfOne,
          ...titleNeeds(resource),
          fields: [...new Set([...titleNeeds(resource).fields, ...detailFields(resource).map(({ name }) => name)])]
        }, { signal })
    }))
  })

  const found = searches.flatMap(({ resource }, index) => {
    const answer = answers[index]
    return answer === undefined ? [] : [{ resource, answer }]
  })
  useEffect(() => {
    if (found.length === 0) earlier.current.clear()
    for (const { answer, resource } of found) if (answer.data) earlier.current.set(resource.name, answer.data)
  })

  const recordEntry = (resource: Resource, record: AnyRecord, found: boolean): readonly Entry[] => {
    const key = keyOf(resource, record)
    if (key === null) return []
    const detail = detailOf(resource, record, reader)
    return [{
      id: `${resource.name}/${key}`,
      found,
      group: t.palette.records,
      icon: <Icon name={resource.view.nav?.icon ?? null} />,
      label: titleOf(resource, record),
      more: [resource.view.label.singular, ...(detail === "" ? [] : [detail])].join(" · "),
      run: () => go(addressOf(resource, key))
    }]
  }

  return {
    records: found.flatMap(({ answer: { data, isPlaceholderData }, resource }) =>
      data?.items.flatMap((record) => recordEntry(resource, record, !isPlaceholderData)) ?? []
    ),
    searching: answers.some(({ data, isFetching, isPlaceholderData }) =>
      isFetching && (data === undefined || isPlaceholderData)
    )
  }
}

/** The filter of the shown list by the text. */
const useFilters = (asked: string, current: Resource | undefined): readonly Entry[] => {
  const t = useMessages()
  return (current === undefined || asked === "" ? [] : [current]).flatMap((resource) => {
    const search = textOfSimple({ field: "", is: "search", values: [asked] }, resource)
    return search === null || !resource.model.fields.some(({ searched }) => searched) ? [] : [{
      id: "filter",
      group: t.palette.actions,
      icon: <ListFilter className="icon" aria-hidden="true" />,
      label: t.palette.filterBy(resource.view.label.plural, isolated(short(asked, 100))),
      run: () => go(`/${resource.name}?filter=${encodeURIComponent(search.toWellFormed())}`)
    }]
  })
}

/** New records. The entry of the shown list has a key. */
const useCreates = (current: Resource | undefined): readonly Entry[] => {
  const t = useMessages()
  const { catalogue } = useApp()
  return [...catalogue.resources.values()].filter(({ may }) => may.create).map((
    resource
  ) => ({
    id: `new ${resource.name}`,
    group: t.palette.actions,
    icon: <Plus className="icon" aria-hidden="true" />,
    label: t.list.newOne(resource.view.label.singular),
    ...(resource === current ? { keys: ["N"] } : {}),
    run: () => go(`/${resource.name}/new`)
  }))
}

/** Actions on the record or the selection behind the palette. */
const useActions = (): readonly Entry[] => {
  const t = useMessages()
  return useOffers().map(({ label, onAction }, index): Entry => ({
    id: `offer ${index}`,
    group: t.palette.actions,
    icon: <Zap className="icon" aria-hidden="true" />,
    label,
    run: onAction
  }))
}

/** Pages, lists, the app's own pages, and saved views. */
const useTargets = (): readonly Entry[] => {
  const t = useMessages()
  const { catalogue } = useApp()
  const letterOf = new Map([...catalogue.letters].map(([letter, resource]) => [resource, letter]))
  const own = usePlaces()
  return [
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
}

/** Settings, help, and the way out. */
const useSettings = (): readonly Entry[] => {
  const t = useMessages()
  const settings = <Settings2 className="icon" aria-hidden="true" />
  return [
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
    { id: "guides", group: t.palette.actions, icon: settings, label: t.guide.title, run: () => go("/-/guides") },
    {
      id: "reference",
      group: t.palette.actions,
      icon: settings,
      label: t.shell.reference,
      run: () => void window.open(`${config.api}/docs`, "_blank", "noreferrer")
    },
    { id: "leave", group: t.palette.actions, icon: settings, label: t.shell.signOut, run: signOut }
  ]
}

/** The entries for a text, the best first. `searching`: records may still come. */
export const useEntries = (asked: string): { readonly entries: readonly Entry[]; readonly searching: boolean } => {
  const t = useMessages()
  const { catalogue } = useApp()
  const { parts } = usePlace()
  const current = catalogue.resources.get(parts[0] ?? "")
  const { records, searching } = useRecords(asked)
  const filters = useFilters(asked, current)
  const creates = useCreates(current)
  const actions = useActions()
  const targets = useTargets()
  const settings = useSettings()
  const entries = asked === ""
    ? [...targets.filter(({ group }) => group === t.palette.goTo), ...actions, ...creates.slice(0, 6)]
    : [
      ...records.slice(0, 12),
      ...filters,
      ...actions.filter(({ label }) => matches(asked, label)),
      ...creates.filter(({ label }) => matches(asked, label)),
      ...targets.filter(({ label, more = "" }) => matches(asked, label, more)),
      ...settings.filter(({ label }) => matches(asked, label))
    ]
  return { entries, searching }
}
