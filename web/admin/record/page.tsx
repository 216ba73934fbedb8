/**
 * The page of one record: its fields, related records, history and actions. Drafts, saving and merging are in `use-record.ts`; this page joins the parts.
 */

import { lazy, type ReactNode, Suspense, useRef, useState } from "react"
import type { MetaField } from "../../client/index.ts"
import { linksFor } from "../action/link.ts"
import { RecordLinks } from "../action/links.tsx"
import { NowProvider } from "../field/value.tsx"
import { useShortcut } from "../ground/keys.ts"
import { go } from "../ground/location.ts"
import { useVersions } from "../ground/makers.ts"
import { Missing, Problem } from "../ground/problem.tsx"
import { useTitle } from "../ground/title.ts"
import { say } from "../ground/toasts.tsx"
import { MergeDialog } from "../merge/merge-dialog.tsx"
import { useLocale } from "../messages/locale.tsx"
import { fieldLabel, type Resource, titleOf } from "../model/catalogue.ts"
import type { AnyRecord } from "../model/client.ts"
import { isMissing } from "../model/outcome.ts"
import { isolated } from "../model/plain.ts"
import shell from "../style/frame.module.css"
import { CreatePage, keepTemplate } from "./create.tsx"
import { backTo, Crumbs } from "./crumbs.tsx"
import { DeleteDialog } from "./delete-dialog.tsx"
import { Fields, focusProblem } from "./fields.tsx"
import { RecordHead } from "./head.tsx"
import { History } from "./history.tsx"
import { LeaveGuard } from "./leaving.tsx"
import style from "./record.module.css"
import { RelatedCount, RelatedRows, splitRelations, useManyRelations } from "./related.tsx"
import { SaveBar } from "./save-bar.tsx"
import { type RecordEdit, useRecordEdit } from "./use-record.ts"

/** The most relations that follow changes by others. Each watches with a connection of its own, and a browser has six to a host. */
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

/** The page until the record is there: a wait, a failure, or the note that there is none. */
const Unread = ({ edit, resource }: { readonly edit: RecordEdit; readonly resource: Resource }): ReactNode => {
  const { t } = useLocale()
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

const useBringBack = (edit: RecordEdit, title: string): () => Promise<void> => {
  const { t } = useLocale()
  return async () => {
    if (await edit.bringBack()) say(t.record.broughtBack(isolated(title)))
  }
}

/** Notes above the fields, about the record as it was found: it is deleted or locked, or a draft was found. */
const StateNotes = (
  { deleted, edit, locked, resource, title }: Pick<NotesProps, "deleted" | "edit" | "resource" | "title"> & {
    readonly locked: boolean
  }
): ReactNode => {
  const { t } = useLocale()
  const bringBack = useBringBack(edit, title)
  return (
    <>
      {deleted && (
        <div className={`note ${style.notes}`}>
          <span className="grow">{t.record.deletedNote}</span>
          {resource.may.update && (
            <button type="button" className="btn" onClick={() => void bringBack()}>{t.record.undelete}</button>
          )}
        </div>
      )}
      {locked && !deleted && <div className={`note ${style.notes}`} data-tone="info">{t.record.locked}</div>}
      {edit.restored && (
        <div className={`note ${style.notes}`} data-tone="info" role="status">{t.record.draftFound}</div>
      )}
    </>
  )
}

interface NotesProps {
  readonly resource: Resource
  readonly edit: RecordEdit
  readonly keyText: string
  readonly title: string
  readonly deleted: boolean
  readonly gone: boolean
  readonly onDuplicate: () => void
}

/** What comes while somebody works: others changed or deleted the record, a save was refused. It stands below the form, so that nothing moves under the hands. */
const News = ({ edit, gone, keyText, onDuplicate, resource, title }: Omit<NotesProps, "deleted">): ReactNode => {
  const { t } = useLocale()
  const bringBack = useBringBack(edit, title)
  const typed = edit.count > 0
  return (
    <div className={style.news}>
      {gone && (
        <div className={`note ${style.notes}`} data-tone="bad" role="alert">
          <span className="grow">
            <b>{t.record.goneTitle}</b> {typed && t.record.goneText}
          </span>
          {edit.loaded?.deleted === true && resource.may.update && (
            <button
              type="button"
              className="btn"
              onClick={() => void bringBack()}
            >
              {t.record.undelete}
            </button>
          )}
          {typed && resource.may.create && (
            <button type="button" className="btn" onClick={onDuplicate}>{t.record.createFromIt}</button>
          )}
        </div>
      )}
      {(resource.model.events?.length ?? 0) > 0 && resource.may.read && (
        <Suspense fallback={null}>
          <LiveRecord resource={resource} keyText={keyText} edit={edit} gone={gone} />
        </Suspense>
      )}
      {edit.refusal !== null && <Problem error={edit.refusal} />}
    </div>
  )
}

/** The bar that saves, the guard on leaving, and the merge after somebody else has saved. */
const Saving = (
  { edit, gone, onSave, resource }: {
    readonly edit: RecordEdit
    readonly gone: boolean
    readonly onSave: () => void
    readonly resource: Resource
  }
): ReactNode => {
  const { format, t } = useLocale()
  return (
    <>
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
          problems={Object.keys({ ...edit.problems, ...edit.rowProblems }).length}
          saving={edit.saving}
          waits={edit.waits}
          label={t.record.save}
          discardLabel={t.record.discard}
          onSave={onSave}
          onDiscard={edit.discard}
        />
      )}
      <LeaveGuard dirty={edit.count > 0 && !gone} />
      {edit.conflict !== null && (
        <MergeDialog
          resource={resource}
          conflict={edit.conflict}
          onBack={() => edit.endConflict(null)}
          onDiscard={edit.discard}
          onSave={(changes, base) => void edit.save({ changes, base })}
        />
      )}
    </>
  )
}

const useRecordKeys = (resource: Resource, edit: RecordEdit, save: () => void, mayUpdate: boolean): void => {
  useShortcut("mod+s", save, edit.count > 0)
  useShortcut("Escape", () => {
    if (document.activeElement instanceof HTMLElement && document.activeElement !== document.body) {
      document.activeElement.blur()
    } else go(backTo(resource), { back: true })
  })
  useShortcut("e", () => {
    const first = document.querySelector<HTMLElement>(`.${style.body} :is(input, select, textarea)`)
    if (first === null) return false
    first.focus()
    return undefined
  }, mayUpdate)
}

/** The form of the record, with the rows of related records that are edited in it. */
const Body = (
  { edit, keyText, mayUpdate, record, relations, resource, children }: {
    readonly edit: RecordEdit
    readonly keyText: string
    readonly mayUpdate: boolean
    readonly record: AnyRecord
    readonly relations: ReturnType<typeof splitRelations>
    readonly resource: Resource
    readonly children: ReactNode
  }
): ReactNode => {
  const asked = useRef<Promise<unknown> | null>(null)
  // A picture fails once for each address, so reads of a file that no longer exists end. Several pictures ask for one read.
  const expired = async (): Promise<void> => {
    await (asked.current ??= edit.reload().finally(() => asked.current = null))
  }
  const writable = (field: MetaField): boolean =>
    mayUpdate && field.writable.update && (record.permissions?.fields?.[field.name] ?? "edit") === "edit"
  const followed = relations.inline.filter(({ target }) => (target.model.events?.length ?? 0) > 0)
    .slice(0, mostFollowed)
  return (
    <div className={style.body}>
      {children}
      <Fields
        resource={resource}
        record={record}
        drafts={edit.drafts}
        problems={edit.problems}
        writable={writable}
        onChange={edit.change}
        onExpired={expired}
        locked={!mayUpdate}
      >
        {relations.inline.map((of) => (
          <RelatedRows
            key={of.relation.name}
            live={followed.includes(of)}
            of={of}
            owner={[resource.name, keyText]}
            rows={edit.rows}
            problems={edit.rowProblems}
            editable={mayUpdate}
            onRows={edit.setRows}
          />
        ))}
      </Fields>
    </div>
  )
}

const Loaded = ({ keyText, resource }: { readonly resource: Resource; readonly keyText: string }): ReactNode => {
  const { t } = useLocale()
  const edit = useRecordEdit(resource, keyText)
  const versions = useVersions(resource)
  const [deleting, setDeleting] = useState(false)
  const { base: record, loaded } = edit
  const relations = splitRelations(useManyRelations(resource, record ?? null))
  const title = record === undefined ? "" : titleOf(resource, record)
  useTitle(title === "" ? resource.view.label.singular : title)

  const removed = loaded?.deleted === true
  // If somebody deletes the record meanwhile, typed values stay in the form.
  const gone = edit.gone || (removed && edit.count > 0) || isMissing(edit.error)
  const deleted = removed && !gone
  const mayUpdate = resource.may.update && !deleted && record?.permissions?.update !== false
  const mayDelete = resource.may.delete && !deleted && record?.permissions?.delete !== false
  const save = async (): Promise<void> => {
    if (!await edit.save()) focusProblem({ ...edit.problems, ...edit.rowProblems })
  }
  useRecordKeys(resource, edit, () => void save(), mayUpdate)
  if (record === undefined) return <Unread edit={edit} resource={resource} />

  const duplicate = (): void => {
    keepTemplate(resource, { ...record, ...edit.changes })
    go(`/${resource.name}/new?from=${encodeURIComponent(keyText)}`)
  }
  const { links } = resource.view
  const aside = relations.counted.length > 0 || versions !== undefined || linksFor(links, record).length > 0
  return (
    <>
      <RecordHead
        resource={resource}
        keyText={keyText}
        record={record}
        title={title}
        deleted={deleted}
        onReload={() => void edit.reload()}
        onDuplicate={duplicate}
        onDelete={mayDelete ? () => setDeleting(true) : null}
      />
      <div className={style.record} data-aside={aside ? "" : undefined}>
        <Body
          edit={edit}
          keyText={keyText}
          mayUpdate={mayUpdate}
          record={record}
          relations={relations}
          resource={resource}
        >
          <StateNotes
            resource={resource}
            edit={edit}
            title={title}
            deleted={deleted}
            locked={resource.may.update && record.permissions?.update === false}
          />
        </Body>
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
      <News
        resource={resource}
        edit={edit}
        keyText={keyText}
        title={title}
        gone={gone}
        onDuplicate={duplicate}
      />
      <Saving edit={edit} gone={gone} onSave={() => void save()} resource={resource} />
      {deleting && (
        <DeleteDialog
          resource={resource}
          record={record}
          keyText={keyText}
          onClose={() => setDeleting(false)}
        />
      )}
    </>
  )
}
