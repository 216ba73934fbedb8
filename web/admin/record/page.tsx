/**
 * The page of one record: its fields, related records, history and actions. Drafts, saving and merging are in `use-record.ts`; this page joins the parts.
 */

import { useQueryClient } from "@tanstack/react-query"
import { ChevronRight, Copy, MoreHorizontal } from "lucide-react"
import { lazy, type ReactNode, Suspense, useRef, useState } from "react"
import type { MetaField } from "../../client/index.ts"
import { Actions } from "../action/actions.tsx"
import { linksFor } from "../action/link.ts"
import { RecordLinks } from "../action/links.tsx"
import { config } from "../config.ts"
import { isState } from "../field/kind.ts"
import { NowProvider, State } from "../field/value.tsx"
import { useShortcut } from "../ground/keys.ts"
import { listAddress } from "../ground/last-address.ts"
import { Link } from "../ground/link.tsx"
import { currentPlace, go, usePlace } from "../ground/location.ts"
import { useVersions } from "../ground/makers.ts"
import { type Offer, Offers } from "../ground/offers.ts"
import { Cancel, Dialog, Menu, type MenuEntry } from "../ground/parts.tsx"
import { copyText, Missing, Problem, sayProblem } from "../ground/problem.tsx"
import { useTitle } from "../ground/title.ts"
import { say } from "../ground/toasts.tsx"
import { toCurl } from "../list/copied.ts"
import { useLocale } from "../messages/locale.tsx"
import { fieldLabel, keyPartsOf, type Resource, titleOf } from "../model/catalogue.ts"
import { type AnyRecord, clientOf, resourceClient } from "../model/client.ts"
import { isMissing } from "../model/outcome.ts"
import { isolated, plain } from "../model/plain.ts"
import shell from "../style/frame.module.css"
import { CreatePage, keepTemplate } from "./create.tsx"
import { Fields, focusProblem } from "./fields.tsx"
import { History } from "./history.tsx"
import { LeaveGuard } from "./leaving.tsx"
import { MergeDialog } from "./merge-dialog.tsx"
import { Neighbours } from "./neighbours.tsx"
import style from "./record.module.css"
import { RelatedCount, RelatedRows, splitRelations, useManyRelations } from "./related.tsx"
import { rowProblems } from "./rows.ts"
import { SaveBar } from "./save-bar.tsx"
import { useRecordEdit } from "./use-record.ts"

const PluginActions = lazy(() =>
  import("../plugin/actions.tsx").then(({ PluginActions }) => ({ default: PluginActions }))
)
/** Relations that follow what others do. Each watches with a connection of its own, and a browser has six to a host. */
const mostFollowed = 2

const LiveRecord = lazy(() => import("./live.tsx").then(({ LiveRecord }) => ({ default: LiveRecord })))

export const RecordPage = (
  { keyText, resource }: { readonly resource: Resource; readonly keyText: string | null }
): ReactNode => (
  <NowProvider>
    {keyText === null
      ? <CreatePage resource={resource} />
      : <Loaded key={keyText} resource={resource} keyText={keyText} />}
  </NowProvider>
)

/** The address of the list that the page was opened from, with its last state. */
const backTo = (resource: Resource): string => {
  const { list } = currentPlace().memory
  return typeof list === "string" && list.startsWith(`/${resource.name}`) ? list : listAddress(resource.name)
}

const Crumbs = ({ children, resource }: { readonly resource: Resource; readonly children: ReactNode }): ReactNode => (
  <nav className={style.crumbs} aria-label="Breadcrumb">
    <Link to={backTo(resource)} dir="auto" className="dim">{resource.view.label.plural}</Link>
    <ChevronRight className="icon" data-flips="" aria-hidden="true" />
    {children}
  </nav>
)

const DeleteDialog = (
  { onClose, record, resource, keyText }: {
    readonly resource: Resource
    readonly record: AnyRecord
    readonly keyText: string
    readonly onClose: () => void
  }
): ReactNode => {
  const { t } = useLocale()
  const queries = useQueryClient()
  const title = isolated(titleOf(resource, record))
  const routes = resourceClient(resource.name)
  const key = keyPartsOf(keyText)
  const remove = async (): Promise<void> => {
    onClose()
    try {
      await routes.delete(key as never, { etag: record.etag })
      void queries.invalidateQueries({ queryKey: ["list", resource.name] })
      queries.removeQueries({ queryKey: ["record", resource.name, keyText] })
      const undelete = async (): Promise<void> => {
        try {
          await routes.undelete(key)
          void queries.invalidateQueries({ queryKey: ["list", resource.name] })
          say(t.record.broughtBack(title))
        } catch (problem) {
          sayProblem(problem, t)
        }
      }
      say(t.record.deletedNow(title), resource.model.softDelete ? { undo: undelete } : {})
      go(backTo(resource), { force: true })
    } catch (problem) {
      sayProblem(problem, t)
      void queries.invalidateQueries({ queryKey: ["record", resource.name, keyText] })
    }
  }
  return (
    <Dialog
      alert
      title={t.record.deleteTitle(title)}
      text={resource.model.softDelete ? t.record.deleteSoft : t.record.deleteHard}
      onClose={onClose}
      footer={
        <>
          <Cancel onPress={onClose} />
          <button type="button" className="btn danger primary" autoFocus onClick={() => void remove()}>
            {t.record.delete}
          </button>
        </>
      }
    />
  )
}

const Loaded = ({ keyText, resource }: { readonly resource: Resource; readonly keyText: string }): ReactNode => {
  const { format, t } = useLocale()
  const place = usePlace()
  const queries = useQueryClient()
  const edit = useRecordEdit(resource, keyText)
  const versions = useVersions(resource)
  const [deleting, setDeleting] = useState(false)
  const [plugged, setPlugged] = useState<readonly Offer[]>([])
  const asked = useRef<Promise<unknown> | null>(null)
  const { base: record, loaded } = edit
  const relations = splitRelations(useManyRelations(resource, record ?? null))
  const title = record === undefined ? "" : titleOf(resource, record)
  useTitle(title === "" ? resource.view.label.singular : title)

  const removed = loaded?.deleted === true
  // If somebody deletes the record meanwhile, typed values stay in the form.
  const gone = edit.gone || (removed && edit.count > 0)
  const deleted = removed && !gone
  const mayUpdate = resource.may.update && !deleted && record?.permissions?.update !== false
  const mayDelete = resource.may.delete && !deleted && record?.permissions?.delete !== false
  const writable = (field: MetaField): boolean =>
    mayUpdate && field.writable.update && (record?.permissions?.fields?.[field.name] ?? "edit") === "edit"

  const save = async (): Promise<void> => {
    if (!await edit.save()) focusProblem(edit.problems)
  }
  useShortcut("mod+s", () => void save(), edit.count > 0)
  useShortcut("Escape", () => {
    if (document.activeElement instanceof HTMLElement && document.activeElement !== document.body) {
      document.activeElement.blur()
    } else go(backTo(resource))
  })
  useShortcut("e", () => {
    const first = document.querySelector<HTMLElement>(`.${style.body} :is(input, select, textarea)`)
    if (first === null) return false
    first.focus()
    return undefined
  }, mayUpdate)

  if (record === undefined) {
    return (
      <>
        <header className={shell.top}>
          <Crumbs resource={resource}>
            {edit.error !== null && !isMissing(edit.error) && <h1 className="cut">{resource.view.label.singular}</h1>}
          </Crumbs>
        </header>
        {isMissing(edit.error)
          ? <Missing text={t.missing.record} />
          : edit.error === null
          ? (
            <div className="missing late" aria-busy="true">
              <span className="spinner" />
            </div>
          )
          : <Problem error={edit.error} onRetry={() => void edit.reload()} />}
      </>
    )
  }

  // A picture fails once for each address, so reads of a file that no longer exists end. Several pictures ask for one read.
  const expired = async (): Promise<void> => {
    await (asked.current ??= edit.reload().finally(() => asked.current = null))
  }
  const state = resource.model.fields.find((field) => field.kind === "enum" && isState(field))
  const undelete = async (): Promise<void> => {
    try {
      await resourceClient(resource.name).undelete(keyPartsOf(keyText))
      say(t.record.broughtBack(isolated(title)))
      void edit.reload()
      void queries.invalidateQueries({ queryKey: ["list", resource.name] })
    } catch (problem) {
      sayProblem(problem, t)
    }
  }
  const duplicate = (values: { readonly [field: string]: unknown }): void => {
    keepTemplate(resource, values)
    go(`/${resource.name}/new?from=${encodeURIComponent(keyText)}`)
  }
  const curl = (): string => toCurl(resource, [record], new URL(clientOf(resource.name).baseUrl, location.href).href)
  const more: readonly MenuEntry[] = [
    ...(resource.may.create
      ? [{ label: t.record.duplicate, onAction: () => duplicate({ ...record, ...edit.changes }) }]
      : []),
    { label: t.record.copyLink, onAction: () => copyText(location.href, t) },
    {
      label: t.record.copyJson,
      onAction: () => copyText(JSON.stringify({ ...record, expand: undefined, permissions: undefined }, null, 2), t)
    },
    { label: t.record.copyCurl, onAction: () => copyText(curl(), t) },
    ...(plugged.length === 0 ? [] : ["line" as const, ...plugged]),
    ...(mayDelete
      ? ["line" as const, { label: t.record.delete, danger: true, onAction: () => setDeleting(true) }]
      : [])
  ]
  const followed = relations.inline.filter(({ target }) => (target.model.events?.length ?? 0) > 0).slice(
    0,
    mostFollowed
  )
  const problems = Object.keys({ ...edit.problems, ...rowProblems(edit.rows) }).length
  const { links } = resource.view
  const aside = relations.counted.length > 0 || versions !== undefined || linksFor(links, record).length > 0
  return (
    <>
      <header className={shell.top}>
        <Crumbs resource={resource}>
          <h1 className="cut">
            <bdi>{title}</bdi>
          </h1>
        </Crumbs>
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
              void edit.reload()
              void queries.invalidateQueries({ queryKey: ["list", resource.name] })
            }}
          />
        )}
        {resource.may.create && (
          <button
            type="button"
            className={`btn ${style.wideOnly}`}
            onClick={() => duplicate({ ...record, ...edit.changes })}
          >
            <Copy className="icon" aria-hidden="true" /> {t.record.duplicate}
          </button>
        )}
        {config.plugins !== undefined && (
          <Suspense>
            <PluginActions
              resource={resource}
              read={() => [record]}
              onEntries={setPlugged}
              onDone={() => void edit.reload()}
            />
          </Suspense>
        )}
        <Offers entries={more} />
        <Menu label={t.list.more} name={t.list.more} className="btn quiet bare" entries={more}>
          <MoreHorizontal className="icon" aria-hidden="true" />
        </Menu>
      </header>
      <div className={style.record} data-aside={aside ? "" : undefined}>
        <div className={style.body}>
          {deleted && (
            <div className={`note ${style.notes}`}>
              <span className="grow">{t.record.deletedNote}</span>
              {resource.may.update && (
                <button type="button" className="btn" onClick={() => void undelete()}>{t.record.undelete}</button>
              )}
            </div>
          )}
          {gone && (
            <div className={`note ${style.notes}`} data-tone="bad" role="alert">
              <span className="grow">
                <b>{t.record.goneTitle}</b> {t.record.goneText}
              </span>
              {resource.may.create && (
                <button
                  type="button"
                  className="btn"
                  onClick={() => duplicate({ ...record, ...edit.changes })}
                >
                  {t.record.createFromIt}
                </button>
              )}
            </div>
          )}
          {(resource.model.events?.length ?? 0) > 0 && resource.may.read && (
            <Suspense fallback={null}>
              <LiveRecord resource={resource} keyText={keyText} edit={edit} />
            </Suspense>
          )}
          {edit.found && (
            <div className={`note ${style.notes}`} data-tone="info" role="status">{t.record.draftFound}</div>
          )}
          {edit.refusal !== null && <Problem error={edit.refusal} />}
          <Fields
            resource={resource}
            record={record}
            drafts={edit.drafts}
            problems={edit.problems}
            writable={writable}
            onChange={edit.change}
            onExpired={expired}
          />
          {relations.inline.map((of) => (
            <RelatedRows
              key={of.relation.name}
              live={followed.includes(of)}
              of={of}
              owner={[resource.name, keyText]}
              rows={edit.rows}
              problems={rowProblems(edit.rows)}
              editable={mayUpdate}
              onRows={edit.setRows}
            />
          ))}
        </div>
        {aside && (
          <aside className={style.aside}>
            <RecordLinks links={links} record={record} />
            {relations.counted.length > 0 && (
              <section>
                <h2>{t.record.related}</h2>
                {relations.counted.map((of) => (
                  <RelatedCount key={of.relation.name} of={of} owner={[resource.name, keyText]} />
                ))}
              </section>
            )}
            {versions !== undefined && (
              <section>
                <h2>{t.record.history}</h2>
                <History resource={resource} versions={versions} keyText={keyText} record={loaded?.record ?? record} />
              </section>
            )}
          </aside>
        )}
      </div>
      {edit.count > 0 && (
        <SaveBar
          text={
            <>
              <b>{t.record.changes(edit.count, format.count(edit.count))}</b>{" "}
              <span className="dim">
                {Object.keys(edit.drafts).map((name) => fieldLabel(resource, name)).join(", ")}
              </span>
              {" "}
            </>
          }
          problems={problems}
          saving={edit.saving}
          label={t.record.save}
          discardLabel={t.record.discard}
          onSave={() => void save()}
          onDiscard={edit.discard}
        />
      )}
      <LeaveGuard dirty={edit.count > 0 && !gone} />
      {deleting && (
        <DeleteDialog
          resource={resource}
          record={record}
          keyText={keyText}
          onClose={() => setDeleting(false)}
        />
      )}
      {edit.conflict !== null && (
        <MergeDialog
          resource={resource}
          conflict={edit.conflict}
          onBack={() => edit.settle(null)}
          onDiscard={edit.discard}
          onSave={(changes, base) => void edit.save({ changes, base })}
        />
      )}
    </>
  )
}
