/** The sidebar's entries for the app's own pages, with the numbers of failed jobs and of disabled webhooks. */

import { useQuery } from "@tanstack/react-query"
import type { ReactNode } from "react"
import { useApp } from "../ground/app.ts"
import { Boundary } from "../ground/boundary.tsx"
import { useFirstPage } from "../ground/first-page.ts"
import { Link } from "../ground/link.tsx"
import { usePlace } from "../ground/location.ts"
import { useQueues } from "../jobs/queues.ts"
import { useLocale, useMessages } from "../messages/locale.tsx"
import { resourceClient } from "../model/client.ts"
import { type Place, subscriptionsName, usePlaces } from "../place/places.ts"
import shell from "../style/frame.module.css"
import { Group } from "./group.tsx"

const Badge = ({ count, title }: { readonly count: number; readonly title: (count: string) => string }): ReactNode => {
  const { format } = useLocale()
  return count === 0 ? null : (
    <span className={shell.count}>
      <span className="badge" data-tone="bad" title={title(format.count(count))}>{format.short(count)}</span>
    </span>
  )
}

const Failed = (): ReactNode => {
  const { data } = useQueues(60_000)
  return (
    <Badge count={data?.reduce((sum, queue) => sum + queue.failed, 0) ?? 0} title={useMessages().place.failedJobs} />
  )
}

/** The user's own subscriptions that the service has disabled, at most a hundred. The page of webhooks has them counted again with every change. */
const Disabled = (): ReactNode => {
  const { user } = useApp()
  const { data } = useQuery({
    queryKey: ["webhooks", "disabled"],
    staleTime: 60_000,
    refetchInterval: 300_000,
    retry: false,
    queryFn: ({ signal }) =>
      resourceClient(subscriptionsName).list({
        filter: `enabled = false AND disabled_reason != null AND owner_id = ${JSON.stringify(user.id)}`,
        page_size: 100,
        fields: "id"
      }, { signal })
  })
  return <Badge count={data?.items.length ?? 0} title={useMessages().place.disabledHooks} />
}

/** The numbers of pages that have one. */
const numbers: { readonly [name in Place["name"]]?: () => ReactNode } = { jobs: Failed, webhooks: Disabled }

const Entry = ({ place }: { readonly place: Place }): ReactNode => {
  const { parts, path } = usePlace()
  const hasFirstPage = useFirstPage()
  const { icon: Icon, label, name, outside, to } = place
  const Number = numbers[name]
  const inner = (
    <>
      <Icon className="icon" aria-hidden="true" />
      <span className="cut">{label}</span>
      {Number !== undefined && hasFirstPage && (
        // A wrong answer breaks only its own number.
        <Boundary at={path} fallback={null}>
          <Number />
        </Boundary>
      )}
    </>
  )
  if (outside) return <a className={shell.nav} href={to} target="_blank" rel="noreferrer">{inner}</a>
  const current = parts[0] === "-" && parts[1] === name
  return (
    <Link to={to} className={shell.nav} aria-current={current ? (path === to ? "page" : "true") : undefined}>
      {inner}
    </Link>
  )
}

export const PlaceEntries = (): ReactNode => {
  const w = useMessages().place
  const { parts } = usePlace()
  const places = usePlaces()
  return (["operations", "people"] as const).map((group) => {
    const entries = places.filter((place) => place.group === group)
    return entries.length === 0 ? null : (
      <Group
        key={group}
        id={`-${group}`}
        label={w[group]}
        entries={entries}
        isCurrent={({ name }) => parts[0] === "-" && parts[1] === name}
      >
        {(place) => <Entry key={place.name} place={place} />}
      </Group>
    )
  })
}
