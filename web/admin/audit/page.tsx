/** The audit, for admins: who did what to accounts, keys, webhooks, jobs and many records. The address says what of it is shown. */

import { X } from "lucide-react"
import { type ReactNode, useId } from "react"
import { useReader } from "../field/value.tsx"
import { useApp } from "../ground/app.ts"
import { Link } from "../ground/link.tsx"
import { setQuery, usePlace } from "../ground/location.ts"
import { Missing, Problem } from "../ground/problem.tsx"
import { useLocale, useMessages } from "../messages/locale.tsx"
import { short } from "../model/plain.ts"
import { type Column, Empty, Facts, Moment, More, type PageProps, Split, Table, Top } from "../place/parts.tsx"
import style from "../place/place.module.css"
import { usePlaces } from "../place/places.ts"
import { SearchBar } from "../place/search.tsx"
import { type AuditEntry, spans, useAudit } from "./entries.ts"

/** A text of the app for a name that the service gives. A name that a newer service has is shown as it is. */
const worded = (texts: { readonly [name: string]: string }, name: string): string =>
  Object.hasOwn(texts, name) ? texts[name] ?? name : name

/** Where what an entry is about can be seen; null: nowhere, or not by this person. */
const usePlaceOf = (): (subject: NonNullable<AuditEntry["subject"]>) => string | null => {
  const { catalogue } = useApp()
  const places = usePlaces()
  const has = (name: string): boolean => places.some((place) => place.name === name)
  return ({ id, kind }) => {
    const key = encodeURIComponent(id)
    switch (kind) {
      case "account":
        return has("users") ? `/-/users?id=${key}` : null
      case "subscription":
        return has("webhooks") ? `/-/webhooks?id=${key}` : null
      case "delivery":
        return has("webhooks") ? `/-/webhooks/deliveries?id=${key}` : null
      case "job":
        return has("jobs") ? `/-/jobs?search=${key}&id=${key}` : null
      case "jobs":
        return has("jobs") ? `/-/jobs?name=${key}` : null
      case "resource":
        return catalogue.resources.has(id) ? `/${key}` : null
      default:
        return null
    }
  }
}

const whoOf = ({ who }: AuditEntry, nobody: string): string => who === null ? nobody : who.name ?? who.id

const useSubject = (): (subject: AuditEntry["subject"]) => string => {
  const { catalogue } = useApp()
  return (subject) =>
    subject === null
      ? "–"
      : subject.kind === "resource"
      ? catalogue.resources.get(subject.id)?.view.label.plural ?? subject.id
      : subject.name ?? subject.id
}

/** A detail as text: lists by their members, times and numbers as people write them. */
const useDetail = (): (value: unknown) => string => {
  const w = useMessages().audit
  const { format } = useLocale()
  return (value) =>
    Array.isArray(value)
      ? value.length === 0 ? "–" : value.join(", ")
      : typeof value === "number"
      ? format.count(value)
      : typeof value === "boolean"
      ? value ? w.yes : w.no
      : typeof value === "string" && value !== ""
      ? value
      : "–"
}

const Detail = ({ entry }: { readonly entry: AuditEntry }): ReactNode => {
  const w = useMessages().audit
  const { format } = useLocale()
  const placeOf = usePlaceOf()
  const subjectOf = useSubject()
  const detail = useDetail()
  const { act, at, details, key, request, subject, who } = entry
  const person = who === null ? null : placeOf({ kind: "account", id: who.id, name: null })
  const to = subject === null ? null : placeOf(subject)
  const mono = (text: string): ReactNode => <bdi className="mono">{text}</bdi>
  return (
    <>
      <div className={style.head}>
        <h2 className={style.title}>{worded(w.acts, act)}</h2>
        {who !== null && (
          <button type="button" className="btn" onClick={() => setQuery({ who: who.id, id: null })}>
            {w.onlyThis}
          </button>
        )}
      </div>
      <Facts
        facts={[
          [w.at, <time key="at" dateTime={at}>{format.exactTime(at)}</time>],
          [
            w.who,
            person === null
              ? <bdi key="who">{whoOf(entry, w.nobody)}</bdi>
              : (
                <Link key="who" to={person}>
                  <bdi>{whoOf(entry, w.nobody)}</bdi>
                </Link>
              )
          ],
          who === null || who.name === null ? null : [w.whoId, mono(who.id)],
          key === null ? null : [w.key, mono(key)],
          subject === null ? null : [
            worded(w.kinds, subject.kind),
            to === null
              ? <bdi key="of">{subjectOf(subject)}</bdi>
              : (
                <Link key="of" to={to}>
                  <bdi>{subjectOf(subject)}</bdi>
                </Link>
              )
          ],
          subject === null || subject.name === null ? null : [w.id, mono(subject.id)],
          ...Object.entries(details).map(([name, value]) =>
            [worded(w.details, name), <bdi key={name}>{detail(value)}</bdi>] as const
          ),
          request === null ? null : [w.request, mono(request)]
        ]}
      />
    </>
  )
}

/** What is narrowed by, and the search. */
const Narrowing = ({ found }: { readonly found: readonly AuditEntry[] }): ReactNode => {
  const w = useMessages().audit
  const { query } = usePlace()
  const [what, when] = [useId(), useId()]
  const who = query.get("who")
  const whoName = found.find((entry) => entry.who?.id === who)?.who?.name ?? who
  return (
    <div className={style.filter} role="group" aria-label={w.filter}>
      <label htmlFor={what}>{w.what}</label>
      <div className="input">
        <select
          id={what}
          value={query.get("what") ?? ""}
          onChange={({ target }) => setQuery({ what: target.value || null, id: null })}
        >
          <option value="">{w.everything}</option>
          {Object.entries(w.groups).map(([group, label]) => (
            <optgroup key={group} label={label}>
              <option value={group}>{w.allOf(label)}</option>
              {Object.entries(w.acts).filter(([act]) => act.startsWith(`${group}.`)).map(([act, text]) => (
                <option key={act} value={act}>{text}</option>
              ))}
            </optgroup>
          ))}
        </select>
      </div>
      <label htmlFor={when}>{w.when}</label>
      <div className="input">
        <select
          id={when}
          value={query.get("days") ?? ""}
          onChange={({ target }) => setQuery({ days: target.value || null, id: null })}
        >
          <option value="">{w.always}</option>
          {spans.map((days) => <option key={days} value={days}>{w.days(Number(days), days)}</option>)}
        </select>
      </div>
      <SearchBar label={w.search} hint={w.searchHint} />
      {who !== null && (
        <button type="button" className="btn" onClick={() => setQuery({ who: null, id: null })}>
          <bdi className="cut">{w.only(short(whoName ?? "", 60))}</bdi>
          <X className="icon" aria-hidden="true" />
        </button>
      )}
    </div>
  )
}

const Entries = (): ReactNode => {
  const w = useMessages().audit
  const pw = useMessages().place
  const { now } = useReader()
  const { query } = usePlace()
  const subjectOf = useSubject()
  const days = spans.find((each) => each === query.get("days"))
  const asked = { who: query.get("who"), what: query.get("what"), search: query.get("search") }
  const { data, error, fetchNextPage, hasNextPage, isFetchingNextPage, refetch } = useAudit({
    ...asked,
    days: days === undefined ? null : Number(days)
  })
  if (error !== null && data === undefined) return <Problem error={error} onRetry={() => void refetch()} />
  const all = data?.pages.flatMap(({ entries }) => entries) ?? []
  const open = all.find(({ id }) => id === query.get("id"))
  const isNarrowed = days !== undefined || Object.values(asked).some((text) => text !== null)
  const columns: ReadonlyArray<Column<AuditEntry>> = [
    { name: "what", label: w.what, cell: ({ act }) => worded(w.acts, act) },
    { name: "subject", label: w.subject, cell: ({ subject }) => subjectOf(subject) },
    { name: "who", label: w.who, wide: true, cell: (entry) => whoOf(entry, w.nobody) },
    { name: "when", label: w.at, end: true, cell: ({ at }) => <Moment at={at} now={now} /> }
  ]
  return (
    <>
      {(isNarrowed || all.length > 0) && <Narrowing found={all} />}
      {data === undefined ? null : all.length === 0
        ? isNarrowed
          ? (
            <Empty title={w.noneFound} text={w.noneFoundText}>
              <button
                type="button"
                className="btn"
                onClick={() => setQuery({ who: null, what: null, search: null, days: null, id: null })}
              >
                {w.showAll}
              </button>
            </Empty>
          )
          : <Empty title={w.noneTitle} text={w.noneText} guide="audit" />
        : (
          <Split
            label={open === undefined ? w.title : worded(w.acts, open.act)}
            beside={open === undefined ? null : <Detail entry={open} />}
          >
            <Table
              label={w.title}
              rows={all}
              columns={columns}
              idOf={({ id }) => id}
              nameOf={({ act }) => worded(w.acts, act)}
            />
            {hasNextPage && <More label={pw.older} busy={isFetchingNextPage} onPress={() => void fetchNextPage()} />}
          </Split>
        )}
    </>
  )
}

export const AuditPage = ({ part }: PageProps): ReactNode => {
  const w = useMessages().audit
  if (part !== null) return <Missing />
  return (
    <>
      <Top title={w.title} />
      <Entries />
    </>
  )
}
