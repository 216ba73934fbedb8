/** Deliveries that wait or have failed, with a button to send them again. And the log of all attempts, if it is kept. */

import { useInfiniteQuery, useQueryClient } from "@tanstack/react-query"
import type { ReactNode } from "react"
import { isKeyOf } from "../../../core/domain/value/table.ts"
import { type RecordName, type RecordNames, useRecordNames } from "../field/titles.ts"
import { useApp } from "../ground/app.ts"
import { Link } from "../ground/link.tsx"
import { usePlace } from "../ground/location.ts"
import { Problem } from "../ground/problem.tsx"
import { say } from "../ground/toasts.tsx"
import { useLocale, useMessages } from "../messages/locale.tsx"
import type { Resource } from "../model/catalogue.ts"
import { type AnyPage, type AnyRecord, resourceClient } from "../model/client.ts"
import { plain, short } from "../model/plain.ts"
import { type Column, Empty, Facts, More, mostShown, Split, Table, useAct } from "../place/parts.tsx"
import style from "../place/place.module.css"
import { Attempt, Attempts, Block, Outcome, Time } from "./attempt.tsx"
import { type Narrowing, NarrowingBar, ShowAll, useNarrowing } from "./narrowing.tsx"
import { attemptsName, deliveriesName, doVerb, idOf, useSubscriptions } from "./subscriptions.ts"

const useRows = (resource: string, filter: string, order: string) =>
  useInfiniteQuery({
    queryKey: ["webhooks", resource, filter],
    queryFn: ({ pageParam, signal }): Promise<AnyPage> =>
      resourceClient(resource).list({
        filter,
        order_by: order,
        page_size: 50,
        ...(pageParam === "" ? {} : { page_token: pageParam })
      }, { signal }),
    initialPageParam: "",
    getNextPageParam: ({ next_page_token }) => next_page_token === "" ? undefined : next_page_token,
    refetchInterval: ({ state }) => (state.data?.pages.length ?? 1) > 2 ? false : 5_000
  })

const stateTones = { waiting: undefined, running: "info", retrying: "warn", failed: "bad" } as const

/** The record that a delivery or a try is about. Null for tries from before it was kept. */
const recordOf = (each: AnyRecord): RecordName | null =>
  typeof each["resource"] === "string" && typeof each["key"] === "string"
    ? { resource: each["resource"], key: each["key"] }
    : null

/** What the rows name: subscriptions with their URLs, and records with their addresses. */
interface RowNames {
  readonly subscription: (row: AnyRecord) => { readonly id: string; readonly name: string; readonly url: string }
  readonly record: (row: AnyRecord) => string
  readonly records: RecordNames
}

const useNamed = (rows: readonly AnyRecord[]): RowNames => {
  const subscriptions = new Map((useSubscriptions().data ?? []).map((each) => [idOf(each), each]))
  const records = useRecordNames(rows.flatMap((each) => recordOf(each) ?? []))
  return {
    records,
    subscription: (row) => {
      const id = plain(row["subscription_id"])
      const of = subscriptions.get(id)
      // A try went to the URL that the subscription had then.
      return { id, name: of === undefined ? `#${id}` : plain(of["name"]), url: plain(row["url"] ?? of?.["url"]) }
    },
    record: (row) => {
      const of = recordOf(row)
      return of === null ? "" : records.nameOf(of)
    }
  }
}

const nameOf = (each: AnyRecord): string => plain(each["event_type"]) || plain(each["delivery_id"])

/** The columns that both pages have first. */
const firstColumns = (
  named: RowNames,
  w: { readonly event: string; readonly record: string; readonly subscription: string }
): ReadonlyArray<Column<AnyRecord>> => [
  { name: "event", label: w.event, cell: nameOf },
  { name: "record", label: w.record, cell: named.record },
  {
    name: "subscription",
    label: w.subscription,
    wide: true,
    spare: true,
    cell: (each) => named.subscription(each).name
  }
]

/** What both pages say of a row first. */
const factsOf = (
  row: AnyRecord,
  named: RowNames,
  w: { readonly subscription: string; readonly url: string; readonly record: string }
): ReadonlyArray<readonly [label: string, value: ReactNode] | null> => {
  const { id, name, url } = named.subscription(row)
  const of = recordOf(row)
  const address = of === null ? undefined : named.records.addressOf(of)
  const title = short(named.record(row), mostShown)
  return [
    [
      w.subscription,
      <Link key="of" to={`/-/webhooks?id=${encodeURIComponent(id)}`} dir="auto">{short(name, mostShown)}</Link>
    ],
    url === "" ? null : [w.url, <bdi key="url">{short(url, mostShown)}</bdi>],
    of === null
      ? null
      : [
        w.record,
        address === undefined
          ? <bdi key="record">{title}</bdi>
          : <Link key="record" to={address} dir="auto">{title}</Link>
      ]
  ]
}

interface RowsProps {
  readonly resource: string
  readonly narrowing: Narrowing
  readonly order: string
  readonly label: string
  readonly empty: ReactNode
  readonly columns: (named: RowNames) => ReadonlyArray<Column<AnyRecord>>
  readonly nameOf: (row: AnyRecord) => string
  readonly beside: (row: AnyRecord, named: RowNames) => ReactNode
}

const Rows = ({ beside, columns, empty, label, nameOf, narrowing, order, resource }: RowsProps): ReactNode => {
  const pw = useMessages().place
  const w = useMessages().webhooks
  const open = usePlace().query.get("id")
  const { data, error, fetchNextPage, hasNextPage, isFetchingNextPage, refetch } = useRows(
    resource,
    narrowing.filter,
    order
  )
  const all = data?.pages.flatMap(({ items }) => items) ?? []
  const named = useNamed(all)
  if (error !== null && data === undefined) return <Problem error={error} onRetry={() => void refetch()} />
  if (data === undefined) return null
  if (all.length === 0) {
    return narrowing.filter === "" ? empty : (
      <Empty title={w.noMatch}>
        <ShowAll />
      </Empty>
    )
  }
  const shown = all.find((each) => idOf(each) === open)
  return (
    <Split
      label={shown === undefined ? label : nameOf(shown)}
      beside={shown === undefined ? null : beside(shown, named)}
    >
      <Table label={label} rows={all} columns={columns(named)} idOf={idOf} nameOf={nameOf} />
      {hasNextPage && <More label={pw.older} busy={isFetchingNextPage} onPress={() => void fetchNextPage()} />}
    </Split>
  )
}

export const Deliveries = ({ resource }: { readonly resource: Resource }): ReactNode => {
  const w = useMessages().webhooks
  const { format } = useLocale()
  const { catalogue } = useApp()
  const act = useAct()
  const queries = useQueryClient()
  const narrowing = useNarrowing(resource, "state")
  const logged = catalogue.resources.get(attemptsName)?.may.read === true
  const stateOf = (each: AnyRecord): ReactNode => {
    const state = plain(each["state"])
    return (
      <span className="badge" data-tone={isKeyOf(stateTones, state) ? stateTones[state] : undefined}>
        {isKeyOf(w.states, state) ? w.states[state] : state}
      </span>
    )
  }
  const resend = async (each: AnyRecord): Promise<void> => {
    if (await act(() => doVerb(deliveriesName, each, "resend"))) say(w.resent(1, format.count(1)))
    await queries.invalidateQueries({ queryKey: ["webhooks"] })
  }
  return (
    <>
      <NarrowingBar narrowing={narrowing} stateLabel={w.state} states={Object.entries(w.states)} />
      <Rows
        resource={deliveriesName}
        narrowing={narrowing}
        order="id desc"
        label={w.deliveries}
        empty={
          <Empty title={w.noDeliveries} text={w.noDeliveriesText} guide="webhooks">
            {logged
              ? <Link className="btn" to="/-/webhooks/log">{w.log}</Link>
              : <Link className="btn" to="/-/webhooks">{w.subscriptions}</Link>}
          </Empty>
        }
        nameOf={nameOf}
        columns={(named) => [
          ...firstColumns(named, w),
          { name: "state", label: w.state, cell: stateOf },
          { name: "error", label: w.error, wide: true, spare: true, cell: (each) => plain(each["last_error"]) },
          {
            name: "next",
            label: w.next,
            wide: true,
            spare: true,
            end: true,
            cell: (each) => <Time at={each["next_try_at"]} />
          }
        ]}
        beside={(each, named) => (
          <>
            <div className={style.head}>
              <h2 className={style.title}>{nameOf(each)}</h2>
              {resource.may.update && each["state"] === "failed" && (
                <button
                  type="button"
                  className="btn"
                  onClick={() => void resend(each)}
                >
                  {w.resend}
                </button>
              )}
            </div>
            {plain(each["last_error"]) !== "" && <Block wrong label={w.error} text={plain(each["last_error"])} />}
            <Facts
              facts={[
                [w.state, stateOf(each)],
                ...factsOf(each, named, w),
                [w.tries, plain(each["tries"])],
                [w.status, plain(each["last_status"]) || "–"],
                [w.next, <Time key="next" at={each["next_try_at"]} />],
                [w.created, <Time key="since" at={each["created_at"]} />],
                ["webhook-id", <bdi key="id" className="mono">{plain(each["event_id"])}</bdi>]
              ]}
            />
            {logged ? <Attempts key={idOf(each)} of={each} /> : <p className="hint">{w.notLogged}</p>}
          </>
        )}
      />
    </>
  )
}

export const Log = ({ resource }: { readonly resource: Resource }): ReactNode => {
  const w = useMessages().webhooks
  const { format } = useLocale()
  const narrowing = useNarrowing(resource, "outcome")
  const took = (each: AnyRecord): string => w.took(format.count(Number(each["duration_ms"])))
  return (
    <>
      <NarrowingBar narrowing={narrowing} stateLabel={w.outcome} states={Object.entries(w.outcomes)} />
      <Rows
        resource={attemptsName}
        narrowing={narrowing}
        order="id desc"
        label={w.log}
        empty={
          <Empty title={w.noLog} text={w.noLogText} guide="webhooks">
            <Link className="btn" to="/-/webhooks">{w.subscriptions}</Link>
          </Empty>
        }
        nameOf={nameOf}
        columns={(named) => [
          ...firstColumns(named, w),
          { name: "outcome", label: w.outcome, cell: (each) => <Outcome of={each} /> },
          { name: "status", label: w.status, end: true, wide: true, cell: (each) => plain(each["status"]) },
          { name: "took", label: w.duration, end: true, wide: true, spare: true, cell: took },
          { name: "at", label: w.at, end: true, wide: true, cell: (each) => <Time at={each["at"]} /> }
        ]}
        beside={(each, named) => (
          <>
            <div className={style.head}>
              <h2 className={style.title}>{nameOf(each)}</h2>
            </div>
            <Facts
              facts={[
                ...factsOf(each, named, w),
                ["webhook-id", <bdi key="id" className="mono">{plain(each["delivery_id"])}</bdi>]
              ]}
            />
            <Attempt key={idOf(each)} of={each} />
          </>
        )}
      />
    </>
  )
}
