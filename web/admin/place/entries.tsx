/** The sidebar's entries for the app's own pages, with the number of failed jobs. */

import type { ReactNode } from "react"
import { useQueues } from "../jobs/queues.ts"
import { useLocale } from "../messages/locale.tsx"
import { Boundary } from "../shell/boundary.tsx"
import { Link } from "../shell/link.tsx"
import { usePlace } from "../shell/location.ts"
import { useSettled } from "../shell/settled.ts"
import shell from "../shell/shell.module.css"
import { type Place, usePlaces } from "./places.ts"
import { usePlaceWords } from "./words.ts"

const Failed = (): ReactNode => {
  const { format } = useLocale()
  const w = usePlaceWords()
  const { data } = useQueues(60_000)
  const failed = data?.reduce((sum, queue) => sum + queue.failed, 0) ?? 0
  if (failed === 0) return null
  return (
    <span className={shell.count}>
      <span className="badge" data-tone="bad" title={w.failedJobs(format.count(failed))}>{format.short(failed)}</span>
    </span>
  )
}

const Entry = ({ place }: { readonly place: Place }): ReactNode => {
  const { parts, path } = usePlace()
  const settled = useSettled()
  const { icon: Icon, label, name, outside, to } = place
  const inner = (
    <>
      <Icon className="icon" aria-hidden="true" />
      <span className="cut">{label}</span>
      {name === "jobs" && settled && (
        // A wrong answer breaks only its own number.
        <Boundary at={path} fallback={null}>
          <Failed />
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
  const w = usePlaceWords()
  const places = usePlaces()
  return (["operations", "people"] as const).map((group) => {
    const entries = places.filter((place) => place.group === group)
    return entries.length === 0 ? null : (
      <div key={group} role="group" aria-label={w[group]} className={shell.group}>
        <h2>{w[group]}</h2>
        {entries.map((place) => <Entry key={place.name} place={place} />)}
      </div>
    )
  })
}
