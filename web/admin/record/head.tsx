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
import { fieldLabel } from "../model/catalogue.ts"
import { type AnyRecord, clientOf } from "../model/client.ts"
import { plain } from "../model/plain.ts"
import shell from "../style/frame.module.css"
import { Crumbs } from "./crumbs.tsx"
import { keyInHead } from "./fields.tsx"
import { Neighbours } from "./neighbours.tsx"
import type { Opened } from "./opened.tsx"
import style from "./record.module.css"

const PluginActions = lazy(() =>
  import("../plugin/actions.tsx").then(({ PluginActions }) => ({ default: PluginActions }))
)

interface RecordHeadProps {
  readonly of: Opened
  readonly record: AnyRecord
  /** Null: the caller may not delete it. */
  readonly onDelete: (() => void) | null
}

/** The key, if the title does not say it, and the state of a record. */
export const RecordMarks = (
  { deleted, record, resource, title }: Pick<Opened, "deleted" | "resource" | "title"> & {
    readonly record: { readonly [field: string]: unknown }
  }
): ReactNode => {
  const { t } = useLocale()
  const state = resource.model.fields.find((field) => field.kind === "enum" && isState(field))
  const keyName = keyInHead(resource)
  const key = keyName === null ? null : plain(record[keyName])
  return (
    <>
      {key !== null && !title.includes(key) && (
        <span className={`dim num ${style.key}`}>
          <span className="hush">{fieldLabel(resource, keyName!)}</span> <bdi>{key}</bdi>
        </span>
      )}
      {state !== undefined && plain(record[state.name]) !== "" && <State value={plain(record[state.name])} />}
      {deleted && <span className="badge" data-tone="bad">{t.list.deleted}</span>}
    </>
  )
}

/** What can be done with a record: the view's actions, and a menu. `children` stand between them. */
export const RecordTools = (
  { children, of, onDelete, record }: RecordHeadProps & { readonly children?: ReactNode }
): ReactNode => {
  const { deleted, duplicate, edit, keyText, resource } = of
  const { t } = useLocale()
  const queries = useQueryClient()
  const [plugged, setPlugged] = useState<readonly Offer[]>([])
  const reload = (): void => void edit.reload()
  const curl = (): string => toCurl(resource, [record], new URL(clientOf(resource.name).baseUrl, location.href).href)
  const more: readonly MenuEntry[] = [
    ...(resource.may.create ? [{ label: t.record.duplicate, onAction: duplicate }] : []),
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
    <>
      {!deleted && (
        <Actions
          resource={resource}
          on="record"
          keys={[keyText]}
          onDone={() => {
            reload()
            void queries.invalidateQueries({ queryKey: ["list", resource.name] })
          }}
        />
      )}
      {children}
      {config.plugins !== undefined && (
        <Suspense>
          <PluginActions resource={resource} read={() => [record]} onEntries={setPlugged} onDone={reload} />
        </Suspense>
      )}
      <Offers entries={more} />
      <Menu label={t.list.more} name={t.list.more} className="btn quiet bare" entries={more}>
        <MoreHorizontal className="icon" aria-hidden="true" />
      </Menu>
    </>
  )
}

/** The head of a record's page. */
export const RecordHead = ({ of, onDelete, record }: RecordHeadProps): ReactNode => {
  const { deleted, duplicate, resource, title } = of
  const { t } = useLocale()
  const place = usePlace()
  return (
    <header className={shell.top}>
      <Crumbs resource={resource}>
        <h1 className="cut">
          <bdi>{title}</bdi>
        </h1>
      </Crumbs>
      <RecordMarks resource={resource} record={record} title={title} deleted={deleted} />
      <span className="grow" />
      <Neighbours resource={resource} place={place} />
      <RecordTools of={of} record={record} onDelete={onDelete}>
        {resource.may.create && (
          <button type="button" className={`btn ${style.wideOnly}`} onClick={duplicate}>
            <Copy className="icon" aria-hidden="true" /> {t.record.duplicate}
          </button>
        )}
      </RecordTools>
    </header>
  )
}
