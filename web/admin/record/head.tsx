/** The head of a record: its title and state, the records beside it, and what can be done with it. */

import { useQueryClient } from "@tanstack/react-query"
import { Copy, MoreHorizontal } from "lucide-react"
import { lazy, type ReactNode, Suspense, useState } from "react"
import { Actions } from "../action/actions.tsx"
import { config } from "../config.ts"
import { isState } from "../field/kind.ts"
import { State } from "../field/value.tsx"
import { usePlace } from "../ground/location.ts"
import { type Offer, Offers } from "../ground/offers.ts"
import { Menu, type MenuEntry } from "../ground/parts.tsx"
import { copyText } from "../ground/problem.tsx"
import { toCurl } from "../list/copied.ts"
import { useLocale } from "../messages/locale.tsx"
import { fieldLabel, type Resource } from "../model/catalogue.ts"
import { type AnyRecord, clientOf } from "../model/client.ts"
import { plain } from "../model/plain.ts"
import shell from "../style/frame.module.css"
import { Crumbs } from "./crumbs.tsx"
import { keyInHead } from "./fields.tsx"
import { Neighbours } from "./neighbours.tsx"
import style from "./record.module.css"

const PluginActions = lazy(() =>
  import("../plugin/actions.tsx").then(({ PluginActions }) => ({ default: PluginActions }))
)

interface RecordHeadProps {
  readonly resource: Resource
  readonly keyText: string
  readonly record: AnyRecord
  readonly title: string
  /** Whether the record is shown as a deleted one. */
  readonly deleted: boolean
  readonly onReload: () => void
  /** Opens the form for a record with the same values. */
  readonly onDuplicate: () => void
  /** Null: the caller may not delete it. */
  readonly onDelete: (() => void) | null
}

export const RecordHead = (props: RecordHeadProps): ReactNode => {
  const { deleted, keyText, onDelete, onDuplicate, onReload, record, resource, title } = props
  const { t } = useLocale()
  const place = usePlace()
  const queries = useQueryClient()
  const [plugged, setPlugged] = useState<readonly Offer[]>([])
  const state = resource.model.fields.find((field) => field.kind === "enum" && isState(field))
  const keyName = keyInHead(resource)
  const key = keyName === null ? null : plain(record[keyName])
  const curl = (): string => toCurl(resource, [record], new URL(clientOf(resource.name).baseUrl, location.href).href)
  const more: readonly MenuEntry[] = [
    ...(resource.may.create ? [{ label: t.record.duplicate, onAction: onDuplicate }] : []),
    { label: t.record.copyLink, onAction: () => copyText(location.href, t) },
    {
      label: t.record.copyJson,
      onAction: () => copyText(JSON.stringify({ ...record, expand: undefined, permissions: undefined }, null, 2), t)
    },
    { label: t.record.copyCurl, onAction: () => copyText(curl(), t) },
    ...(plugged.length === 0 ? [] : ["line" as const, ...plugged]),
    ...(onDelete === null ? [] : ["line" as const, { label: t.record.delete, danger: true, onAction: onDelete }])
  ]
  return (
    <header className={shell.top}>
      <Crumbs resource={resource}>
        <h1 className="cut">
          <bdi>{title}</bdi>
        </h1>
      </Crumbs>
      {key !== null && !title.includes(key) && (
        <span className={`dim num ${style.key}`}>
          <span className="hush">{fieldLabel(resource, keyName!)}</span> <bdi>{key}</bdi>
        </span>
      )}
      {state !== undefined && plain(record[state.name]) !== "" && <State value={plain(record[state.name])} />}
      {deleted && <span className="badge" data-tone="bad">{t.list.deleted}</span>}
      <span className="grow" />
      <Neighbours resource={resource} place={place} />
      {!deleted && (
        <Actions
          resource={resource}
          on="record"
          keys={[keyText]}
          onDone={() => {
            onReload()
            void queries.invalidateQueries({ queryKey: ["list", resource.name] })
          }}
        />
      )}
      {resource.may.create && (
        <button type="button" className={`btn ${style.wideOnly}`} onClick={onDuplicate}>
          <Copy className="icon" aria-hidden="true" /> {t.record.duplicate}
        </button>
      )}
      {config.plugins !== undefined && (
        <Suspense>
          <PluginActions resource={resource} read={() => [record]} onEntries={setPlugged} onDone={onReload} />
        </Suspense>
      )}
      <Offers entries={more} />
      <Menu label={t.list.more} name={t.list.more} className="btn quiet bare" entries={more}>
        <MoreHorizontal className="icon" aria-hidden="true" />
      </Menu>
    </header>
  )
}
