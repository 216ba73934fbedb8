/** Deliveries that wait or have failed, with a button to send them again. And the log of all attempts, if it is kept. */

import { useInfiniteQuery, useQueryClient } from "@tanstack/react-query"
import type { ReactNode } from "react"
import { isKeyOf } from "../../../core/domain/value/table.ts"
import { type RecordName, useNames } from "../field/titles.ts"
import { useReader } from "../field/value.tsx"
import { useApp } from "../ground/app.ts"
import { Link } from "../ground/link.tsx"
import { usePlace } from "../ground/location.ts"
import { Problem } from "../ground/problem.tsx"
import { say } from "../ground/toasts.tsx"
import { useLocale, useMessages } from "../messages/locale.tsx"
import { addressOf } from "../model/catalogue.ts"
import { type AnyPage, type AnyRecord, resourceClient } from "../model/client.ts"
import { plain } from "../model/plain.ts"
import { type Column, Empty, Facts, Moment, More, Split, Table, useAct } from "../place/parts.tsx"
import style from "../place/place.module.css"
import { tones } from "./detail.tsx"
import { attemptsName, deliveriesName, doVerb, idOf } from "./subscriptions.ts"

const useRows = (resource: string, order: string) =>
  useInfiniteQuery({
    queryKey: ["webhooks", resource],
    queryFn: ({ pageParam, signal }): Promise<AnyPage> =>
      resourceClient(resource).list({
        order_by: order,
        page_size: 50,
        ...(pageParam === "" ? {} : { page_token: pageParam })
      }, { signal }),
    initialPageParam: "",
    getNextPageParam: ({ next_page_token }) => next_page_token === "" ? undefined : next_page_token,
    refetchInterval: ({ state }) => (state.data?.pages.length ?? 1) > 2 ? false : 5_000
  })

const stateTones = { waiting: undefined, running: "info", retrying: "warn", failed: "bad" } as const

const Time = ({ at }: { readonly at: unknown }): ReactNode => {
  const { now } = useReader()
  return typeof at === "string" ? <Moment at={at} now={now} /> : <span className="dim">–</span>
}

/** The record that a delivery is about. */
const recordOf = (each: AnyRecord): RecordName => ({ resource: plain(each["resource"]), key: plain(each["key"]) })

const RecordLink = ({ of, title }: { readonly of: RecordName; readonly title: string }): ReactNode => {
  const resource = useApp().catalogue.resources.get(of.resource)
  return resource === undefined
    ? <bdi>{title}</bdi>
    : <Link to={addressOf(resource, of.key.split(",").map(encodeURIComponent).join(","))} dir="auto">{title}</Link>
}

interface RowsProps {
  readonly resource: string
  readonly order: string
  readonly label: string
  readonly empty: { readonly title: string; readonly text?: string }
  readonly columns: (titleOf: (row: AnyRecord) => string) => ReadonlyArray<Column<AnyRecord>>
  readonly nameOf: (row: AnyRecord) => string
  readonly beside: (row: AnyRecord, titleOf: (row: AnyRecord) => string) => ReactNode
}

const Rows = ({ beside, columns, empty, label, nameOf, order, resource }: RowsProps): ReactNode => {
  const pw = useMessages().place
  const open = usePlace().query.get("id")
  const { data, error, fetchNextPage, hasNextPage, refetch } = useRows(resource, order)
  const records = data?.pages.flatMap(({ items }) => items.flatMap((each) => "key" in each ? [recordOf(each)] : []))
  const called = useNames(records ?? [])
  const titleOf = (each: AnyRecord): string => called(recordOf(each))
  if (error !== null && data === undefined) return <Problem error={error} onRetry={() => void refetch()} />
  if (data === undefined) return null
  const all = data.pages.flatMap(({ items }) => items)
  if (all.length === 0) return <Empty {...empty} />
  const delivery = all.find((each) => idOf(each) === open)
  return (
    <Split
      label={delivery === undefined ? label : nameOf(delivery)}
      beside={delivery === undefined ? null : beside(delivery, titleOf)}
    >
      <Table label={label} rows={all} columns={columns(titleOf)} idOf={idOf} nameOf={nameOf} />
      {hasNextPage && <More label={pw.older} onPress={() => void fetchNextPage()} />}
    </Split>
  )
}

export const Deliveries = (): ReactNode => {
  const w = useMessages().webhooks
  const { format } = useLocale()
  const { catalogue } = useApp()
  const act = useAct()
  const queries = useQueryClient()
  const may = catalogue.resources.get(deliveriesName)?.may.update === true
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
  const nameOf = (each: AnyRecord): string => plain(each["event_type"])
  return (
    <Rows
      resource={deliveriesName}
      order="created_at desc"
      label={w.deliveries}
      empty={{ title: w.noDeliveries, text: w.noDeliveriesText }}
      nameOf={nameOf}
      columns={(titleOf) => [
        { name: "event", label: w.event, cell: nameOf },
        { name: "record", label: w.record, cell: titleOf },
        { name: "state", label: w.state, cell: stateOf },
        { name: "error", label: w.error, wide: true, cell: (each) => plain(each["last_error"]) },
        { name: "next", label: w.next, wide: true, end: true, cell: (each) => <Time at={each["next_try_at"]} /> }
      ]}
      beside={(each, titleOf) => (
        <>
          <div className={style.head}>
            <h2 className={style.title}>{nameOf(each)}</h2>
            {may && each["state"] === "failed" && (
              <button
                type="button"
                className="btn"
                onClick={() => void resend(each)}
              >
                {w.resend}
              </button>
            )}
          </div>
          <h2>{w.error}</h2>
          <pre
            className={`code ${style.bad}`}
            dir="auto"
            tabIndex={0}
            aria-label={w.error}
          >{plain(each["last_error"])}</pre>
          <Facts
            facts={[
              [w.state, stateOf(each)],
              [w.record, <RecordLink key="key" of={recordOf(each)} title={titleOf(each)} />],
              [w.tries, plain(each["tries"])],
              [w.status, plain(each["last_status"]) || "–"],
              [w.next, <Time key="next" at={each["next_try_at"]} />],
              [w.created, <Time key="since" at={each["created_at"]} />],
              ["webhook-id", <bdi key="id" className="mono">{plain(each["event_id"])}</bdi>]
            ]}
          />
        </>
      )}
    />
  )
}

export const Attempts = (): ReactNode => {
  const w = useMessages().webhooks
  const { catalogue } = useApp()
  const { format } = useLocale()
  const outcomeOf = (each: AnyRecord): ReactNode => {
    const outcome = plain(each["outcome"])
    return (
      <span className="badge" data-tone={isKeyOf(tones, outcome) ? tones[outcome] : undefined}>
        {isKeyOf(w.outcomes, outcome) ? w.outcomes[outcome] : outcome}
      </span>
    )
  }
  const took = (each: AnyRecord): string => w.took(format.count(Number(each["duration_ms"])))
  return (
    <Rows
      resource={attemptsName}
      order="at desc"
      label={w.log}
      empty={{ title: w.noLog }}
      nameOf={(each) => plain(each["delivery_id"])}
      columns={() => [
        {
          name: "id",
          label: "webhook-id",
          cell: (each) => <bdi className="mono cut">{plain(each["delivery_id"])}</bdi>
        },
        { name: "outcome", label: w.outcome, cell: outcomeOf },
        { name: "status", label: w.status, end: true, cell: (each) => plain(each["status"]) },
        { name: "took", label: w.duration, end: true, wide: true, cell: took },
        { name: "at", label: w.at, end: true, cell: (each) => <Time at={each["at"]} /> }
      ]}
      beside={(each) => (
        <>
          <div className={style.head}>
            <span className={style.title}>{outcomeOf(each)}</span>
          </div>
          <Facts
            facts={[
              [w.at, <Time key="at" at={each["at"]} />],
              [w.tries, plain(each["try"])],
              [w.status, plain(each["status"]) || "–"],
              [w.duration, took(each)],
              ["webhook-id", <bdi key="id" className="mono">{plain(each["delivery_id"])}</bdi>]
            ]}
          />
          {plain(each["error"]) !== "" && (
            <>
              <h2>{w.error}</h2>
              <pre
                className={`code ${style.bad}`}
                dir="auto"
                tabIndex={0}
                aria-label={w.error}
              >{plain(each["error"])}</pre>
            </>
          )}
          {catalogue.resources.get(attemptsName)?.fields.has("answer") === true && (
            <>
              <h2>{w.answer}</h2>
              <pre
                className="code"
                dir="ltr"
                tabIndex={0}
                aria-label={w.answer}
              >{plain(each["answer"]) || w.noAnswer}</pre>
            </>
          )}
        </>
      )}
    />
  )
}
