/** Webhooks: subscriptions, deliveries, and the log of attempts if it is kept. The service decides what the user may do. */

import { useQueryClient } from "@tanstack/react-query"
import { Plus } from "lucide-react"
import { lazy, type ReactNode, Suspense, useState } from "react"
import { useApp } from "../ground/app.ts"
import { useShortcut } from "../ground/keys.ts"
import { usePlace } from "../ground/location.ts"
import { Missing, Problem } from "../ground/problem.tsx"
import { useLocale, useMessages } from "../messages/locale.tsx"
import type { Resource } from "../model/catalogue.ts"
import type { AnyRecord } from "../model/client.ts"
import { plain } from "../model/plain.ts"
import { type Column, Empty, type PageProps, Part, Sheet, Shown, Split, Table, Tabs, Top } from "../place/parts.tsx"
import { Deliveries, Log } from "./deliveries.tsx"
import { SubscriptionDetail } from "./detail.tsx"
import { attemptsName, deliveriesName, idOf, receiver, subscriptionsName, useSubscriptions } from "./subscriptions.ts"

const Edit = lazy(() => import("./edit.tsx").then(({ EditSubscription }) => ({ default: EditSubscription })))

interface SubscriptionsProps {
  readonly mayCreate: boolean
  /** Null: a new one. */
  readonly onEdit: (record: AnyRecord | null) => void
}

const Subscriptions = ({ mayCreate, onEdit }: SubscriptionsProps): ReactNode => {
  const w = useMessages().webhooks
  const { catalogue } = useApp()
  const open = usePlace().query.get("id")
  const queries = useQueryClient()
  const { data, error, refetch } = useSubscriptions()
  if (error !== null && data === undefined) return <Problem error={error} onRetry={() => void refetch()} />
  if (data === undefined) return null
  const resource = catalogue.resources.get(subscriptionsName)!
  const subscription = data.find((each) => idOf(each) === open)
  const columns: ReadonlyArray<Column<AnyRecord>> = [
    { name: "name", label: w.name, cell: (each) => plain(each["name"]) },
    ...(resource.fields.has("events")
      ? [{ name: "events", label: w.events, cell: (each: AnyRecord) => plain(each["events"]) }]
      : []),
    ...(resource.fields.has("url")
      ? [{ name: "url", label: w.url, wide: true, cell: (each: AnyRecord) => plain(each["url"]) }]
      : []),
    {
      name: "state",
      label: w.state,
      cell: ({ enabled }) => (
        <span className="badge" data-tone={enabled === true ? "ok" : "bad"}>
          {enabled === true ? w.enabled : w.disabled}
        </span>
      )
    }
  ]
  const changed = (): Promise<void> => queries.invalidateQueries({ queryKey: ["webhooks"] })
  return (
    <Split
      label={subscription === undefined ? w.subscriptions : plain(subscription["name"])}
      beside={subscription === undefined ?
        null :
        (
          <SubscriptionDetail
            key={idOf(subscription)}
            record={subscription}
            onEdit={() => onEdit(subscription)}
            onChanged={changed}
          />
        )}
    >
      {data.length === 0
        ? (
          <Empty title={w.noneTitle} text={w.noneText} guide="webhooks">
            {mayCreate && <button type="button" className="btn primary" onClick={() => onEdit(null)}>{w.add}</button>}
          </Empty>
        )
        : (
          <Table
            label={w.subscriptions}
            rows={data}
            columns={columns}
            idOf={idOf}
            nameOf={(each) => plain(each["name"])}
          />
        )}
      <Sheet>
        <Part title={w.receiver} text={w.receiverText}>
          <Shown label={w.receiver} text={receiver} />
        </Part>
      </Sheet>
    </Split>
  )
}

export const WebhooksPage = ({ part }: PageProps): ReactNode => {
  const w = useMessages().webhooks
  const pw = useMessages().place
  const { t } = useLocale()
  const { catalogue } = useApp()
  const queries = useQueryClient()
  /** The subscription in the form. Null for a new one; undefined if the form is closed. */
  const [editing, setEditing] = useState<AnyRecord | null | undefined>(undefined)
  const readable = (name: string): Resource | undefined => {
    const resource = catalogue.resources.get(name)
    return resource?.may.read === true ? resource : undefined
  }
  const deliveries = readable(deliveriesName)
  const attempts = readable(attemptsName)
  const mayCreate = catalogue.resources.get(subscriptionsName)?.may.create === true
  useShortcut("n", () => setEditing(null), mayCreate && part === null)
  const parts = [
    { part: null, to: "/-/webhooks", label: w.subscriptions },
    ...(deliveries !== undefined ? [{ part: "deliveries", to: "/-/webhooks/deliveries", label: w.deliveries }] : []),
    ...(attempts !== undefined ? [{ part: "log", to: "/-/webhooks/log", label: w.log }] : [])
  ]
  if (!parts.some((each) => each.part === part)) return <Missing />
  return (
    <>
      <Top title={pw.webhooks}>
        {mayCreate && part === null && (
          <button type="button" className="btn primary" onClick={() => setEditing(null)}>
            <Plus className="icon" aria-hidden="true" /> {w.add} <kbd aria-hidden="true">N</kbd>
          </button>
        )}
      </Top>
      {parts.length > 1 && <Tabs label={pw.webhooks} tabs={parts} />}
      {part === null
        ? <Subscriptions mayCreate={mayCreate} onEdit={setEditing} />
        : part === "deliveries"
        ? deliveries !== undefined && <Deliveries resource={deliveries} />
        : attempts !== undefined && <Log resource={attempts} />}
      {editing !== undefined && (
        <Suspense fallback={<span className="hush" role="status">{t.shell.loading}</span>}>
          <Edit
            record={editing}
            onClose={() => setEditing(undefined)}
            onSaved={() => queries.invalidateQueries({ queryKey: ["webhooks"] })}
          />
        </Suspense>
      )}
    </>
  )
}
